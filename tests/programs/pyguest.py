"""pyguest.py - the small device program that the Python guests share; not a test of its own."""
import numpy as np
import pyopencl as cl

SOURCE = "kernel void add(global int *a) { a[get_global_id(0)] += 1; }"


class Guest:
    """A context, a queue and a buffer that counts how often `add` ran."""

    def __init__(self):
        self.context = cl.Context(cl.get_platforms()[0].get_devices())
        self.program = cl.Program(self.context, SOURCE).build()
        self.queue = cl.CommandQueue(self.context)
        self.buffer = cl.Buffer(self.context, cl.mem_flags.COPY_HOST_PTR, hostbuf=np.zeros(64, np.int32))

    def kernel(self):
        """A kernel object of the calling thread's own."""
        kernel = cl.Kernel(self.program, "add")
        kernel.set_arg(0, self.buffer)
        return kernel

    def launch(self, kernel):
        """One launch, not waited for."""
        return cl.enqueue_nd_range_kernel(self.queue, kernel, (64,), (64,))

    def ran(self):
        """How many launches have run."""
        result = np.empty(64, np.int32)
        cl.enqueue_copy(self.queue, result, self.buffer)
        self.queue.finish()
        return int(result[0])
