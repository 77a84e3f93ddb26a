"""A PyTorch program whose operators launch OpenCL kernels, in both directions. run.py knows the counts.

The tensors are the CPU's; custom autograd functions launch the kernels.

    operators.py plain      three operators forward, three backward, 20 times
    operators.py quiet      with one that launches nothing in the forward pass
    operators.py threads    in two threads, whose sequence numbers are the same
    operators.py profiler   with PyTorch's own profiler coming and going
    operators.py twice      with the gradient's gradient
    operators.py device     on a thread named as autograd's own are
"""
import ctypes
import sys
import threading

try:
    import numpy
    import pyopencl
    import torch
except ImportError as missing:
    print(missing)
    sys.exit(77)

torch.set_num_threads(1)
context = pyopencl.create_some_context(interactive=False)
queue = pyopencl.CommandQueue(context)
program = pyopencl.Program(context, "kernel void add(global int *a) { a[get_global_id(0)] += 1; }").build()
add = program.add
array = numpy.zeros(64, dtype=numpy.int32)
buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE | pyopencl.mem_flags.COPY_HOST_PTR, hostbuf=array)


launching = threading.Lock()  # a kernel's arguments are shared


def launch(times):
    for _ in range(times):
        with launching:
            add(queue, array.shape, None, buffer)


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        launch(2)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        launch(3)
        return grad * 2


class Shift(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        launch(1)
        return x + 1

    @staticmethod
    def backward(ctx, grad):
        launch(1)
        return grad.clone()


class Quiet(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, grad):
        launch(4)
        return grad * 3


def layer(x):
    return Scale.apply(x)


def train():
    weight = torch.ones(64, requires_grad=True)
    for _ in range(20):
        x = layer(weight)  # first
        if MODE == "quiet":
            x = Quiet.apply(x)
        x = layer(x)  # second
        x = Shift.apply(x)  # third
        x.sum().backward()
        weight.grad = None


def other():
    weight = torch.ones(64, requires_grad=True)
    for _ in range(20):
        x = Shift.apply(weight)  # other first
        x = layer(x)  # other second
        x.sum().backward()


def in_threads():
    all_threads = [threading.Thread(target=train), threading.Thread(target=other)]
    for thread in all_threads:
        thread.start()
    for thread in all_threads:
        thread.join()


def on_device_thread():
    def backward():
        ctypes.CDLL(None).prctl(15, b"pt_autograd_7", 0, 0, 0)  # PR_SET_NAME
        for loss in losses:
            loss.backward()
            launch(2)  # between nodes

    weight = torch.ones(64, requires_grad=True)
    losses = []
    for _ in range(20):
        losses.append(layer(Shift.apply(weight)).sum())  # the only
    thread = threading.Thread(target=backward)
    thread.start()
    thread.join()


def profiled():
    train()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        train()
    with torch.autograd.profiler.profile():
        train()


def gradient_of_gradient():
    for _ in range(20):
        x = torch.ones(64, requires_grad=True)
        y = (Scale.apply(x) ** 3).sum()
        (grad,) = torch.autograd.grad(y, x, create_graph=True)
        grad.sum().backward()


def main():
    {"plain": train, "quiet": train, "threads": in_threads, "profiler": profiled,
     "twice": gradient_of_gradient, "device": on_device_thread}[MODE]()
    with torch.no_grad():
        layer(torch.ones(64))
    queue.finish()


MODE = sys.argv[1]
main()
pyopencl.enqueue_copy(queue, array, buffer)
print(array[0])
