"""A Python program whose phases are named with NVIDIA's nvtx package. run.py knows the counts."""
import nvtx
import numpy
import pyopencl

context = pyopencl.create_some_context(interactive=False)
queue = pyopencl.CommandQueue(context)
program = pyopencl.Program(context, "kernel void add(global int *a) { a[get_global_id(0)] += 1; }").build()
add = program.add
array = numpy.zeros(64, dtype=numpy.int32)
buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE | pyopencl.mem_flags.COPY_HOST_PTR, hostbuf=array)


def launch(times):
    for _ in range(times):
        add(queue, array.shape, None, buffer)


def forward():
    with nvtx.annotate("layer"):
        launch(2)


def train():
    for _ in range(6):
        with nvtx.annotate(message="step", domain="py"):
            forward()
            launch(1)


@nvtx.annotate(domain="py")
def decorated():
    launch(2)


def generator():
    nvtx.push_range("inside")
    for _ in range(3):
        launch(1)
        yield
    nvtx.pop_range()


def main():
    with nvtx.annotate("epoch", domain="py"):
        train()
        decorated()
    for _ in generator():
        pass
    launch(1)
    queue.finish()


main()
pyopencl.enqueue_copy(queue, array, buffer)
print(array[0])
