"""A Python program whose device waits for what a data loader hands over: `wait` sleeps, takes a lock that another thread
holds, takes an item from its queue, reads from its pipe, or selects that. Nothing computes."""
import os
import queue
import select
import sys
import threading
import time

import numpy as np
import pyopencl as cl

ROUNDS, SECONDS = 12, .015
way = sys.argv[1]
asked, held, lock, items = threading.Semaphore(0), threading.Semaphore(0), threading.Lock(), queue.Queue()
reader, writer = os.pipe()


def produce():
    for _ in range(ROUNDS):
        asked.acquire()
        if way == "lock":
            with lock:
                held.release()
                time.sleep(SECONDS)
            continue
        time.sleep(SECONDS)
        if way == "queue":
            items.put(1)
        else:
            os.write(writer, b"x")


def wait():
    if way == "sleep":
        time.sleep(SECONDS)
        return
    asked.release()
    if way == "lock":
        held.acquire()
        with lock:
            return
    if way == "queue":
        items.get()
        return
    if way == "select":
        select.select([reader], [], [])
    os.read(reader, 1)


def step(commands, kernel):
    cl.enqueue_nd_range_kernel(commands, kernel, (64,), (64,))
    commands.finish()


def train(commands, kernel):
    for _ in range(ROUNDS):
        wait()
        step(commands, kernel)


def main():
    context = cl.Context(cl.get_platforms()[0].get_devices())
    commands = cl.CommandQueue(context)
    kernel = cl.Kernel(cl.Program(context, "kernel void add(global int *a) { a[get_global_id(0)]++; }").build(), "add")
    buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=np.zeros(64, np.int32))
    kernel.set_arg(0, buffer)
    producer = threading.Thread(target=produce)
    if way != "sleep":
        producer.start()
    train(commands, kernel)
    if way != "sleep":
        producer.join()


if __name__ == "__main__":
    main()
