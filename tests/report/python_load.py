"""A Python program whose functions keep the device waiting, each in its own way: `words` by what the interpreter does
for it (dictionaries, texts, the clock), `sort` by an extension's own code."""
import sys
import time

import numpy as np
import pyopencl as cl


def words(seconds):
    found = {}
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        key = str(len(found) % 1000) + "x"
        found[key] = found.get(key, 0) + 1
    return found


def sort(numbers):
    return np.sort(numbers)


def launch(queue, kernel):
    cl.enqueue_nd_range_kernel(queue, kernel, (64,), (64,))


def main():
    platforms = cl.get_platforms()
    context = cl.Context(platforms[0].get_devices())
    queue = cl.CommandQueue(context)
    kernel = cl.Kernel(cl.Program(context, "kernel void add(global int *a) { a[get_global_id(0)]++; }").build(), "add")
    buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=np.zeros(64, np.int32))
    kernel.set_arg(0, buffer)
    numbers = np.random.rand(100000)
    for _ in range(20):
        words(float(sys.argv[1]) / 20)
        sort(numbers)
        launch(queue, kernel)
    queue.finish()


if __name__ == "__main__":
    main()
