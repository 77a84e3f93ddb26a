"""arrays.py - pyopencl's higher layers: generated element-wise and reduction kernels, images, shared virtual memory."""
import numpy as np
import pyopencl as cl
import pyopencl.array as array
from pyopencl.elementwise import ElementwiseKernel
from pyopencl.reduction import ReductionKernel

context = cl.Context(cl.get_platforms()[0].get_devices())
queue = cl.CommandQueue(context)
host = (np.arange(10000) % 97).astype(np.float32)
a = array.to_device(queue, host)
b = array.zeros_like(a)
combine = ElementwiseKernel(context, "float k, const float *a, float *b", "b[i] = b[i] + k * a[i]", "combine")
total = ReductionKernel(context, np.float32, neutral="0", reduce_expr="a+b", map_expr="x[i]", arguments="const float *x")
for step in range(20):
    combine(np.float32(step), a, b)
print("sum", float(total(b).get()))
print("dot", float(array.dot(a, b).get()), "max", float(array.max(b).get()))
print("slices", float((a[10:2000] * 2 + 1).get().sum()))
picture = cl.image_from_array(context, np.arange(64 * 64 * 4, dtype=np.uint8).reshape(64, 64, 4), 4)
back = np.empty((64, 64, 4), np.uint8)
cl.enqueue_copy(queue, back, picture, origin=(0, 0), region=(64, 64))
print("image", int(back.astype(np.int64).sum()))
memory = cl.SVM(cl.csvm_empty(context, 1000, np.float32))
with memory.map_rw(queue) as view:
    view[...] = 3
program = cl.Program(context, "kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }").build()
program.twice(queue, (1000,), None, memory)
with memory.map_ro(queue) as view:
    print("svm", float(view.sum()))
queue.finish()
