"""A Python program whose device waits for one function, which has others of its own do the work."""
import sys
import time

import numpy as np
import pyopencl as cl


def compute(seconds):
    found = {}
    begin, done, more = time.thread_time(), 0, 1000
    while more:  # the clock is read a few times only: beside other processes that costs ticks (docs/developers/sampling.md, "Timers")
        for i in range(more):
            key = str(i % 1000) + "x"
            found[key] = found.get(key, 0) + 1
        done += more
        used = time.thread_time() - begin
        more = int((seconds - used) * done / used) + 1 if used < seconds else 0
    return found


def decode(seconds):
    return compute(seconds)


def normalize(seconds):
    return compute(seconds)


def collate(seconds):
    return decode(seconds / 2), normalize(seconds / 2)


def step(queue, kernel):
    cl.enqueue_nd_range_kernel(queue, kernel, (64,), (64,))
    queue.finish()


def train(queue, kernel, seconds):
    for _ in range(20):
        collate(seconds / 20)
        step(queue, kernel)


def main():
    context = cl.Context(cl.get_platforms()[0].get_devices())
    queue = cl.CommandQueue(context)
    kernel = cl.Kernel(cl.Program(context, "kernel void add(global int *a) { a[get_global_id(0)]++; }").build(), "add")
    buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=np.zeros(64, np.int32))
    kernel.set_arg(0, buffer)
    train(queue, kernel, float(sys.argv[1]))


if __name__ == "__main__":
    main()
