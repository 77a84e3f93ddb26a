"""A Python program whose device waits for what a data loader hands over: `wait` sleeps, takes a lock that another thread
holds, takes an item from its queue, reads from its pipe, or selects that; or (fork, spawn) takes an item from the queue of a
worker process. Spawned, that one uses the GPU API, too. Nothing computes."""
import multiprocessing
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


def worker(asked, items):
    context = cl.Context(cl.get_platforms()[0].get_devices()) if way == "spawn" else None
    produce(asked, items)
    del context


def produce(asked, items):
    for _ in range(ROUNDS):
        asked.acquire()
        if way == "lock":
            with lock:
                held.release()
                time.sleep(SECONDS)
            continue
        time.sleep(SECONDS)
        if way in ("queue", "fork", "spawn"):
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
    if way in ("queue", "fork"):
        items.get()
        return
    if way == "spawn":
        items.get(timeout=600)  # as PyTorch's loader does
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


def begin():
    global asked, items
    if way not in ("fork", "spawn"):
        producer = threading.Thread(target=produce, args=(asked, items))
    else:
        processes = multiprocessing.get_context(way)
        asked, items = processes.Semaphore(0), processes.Queue()
        producer = processes.Process(target=worker, args=(asked, items))
    producer.start()
    return producer


def main():
    context = cl.Context(cl.get_platforms()[0].get_devices())
    commands = cl.CommandQueue(context)
    kernel = cl.Kernel(cl.Program(context, "kernel void add(global int *a) { a[get_global_id(0)]++; }").build(), "add")
    buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=np.zeros(64, np.int32))
    kernel.set_arg(0, buffer)
    producer = begin() if way != "sleep" else None
    train(commands, kernel)
    if producer:
        producer.join()


if __name__ == "__main__":
    main()
