"""A fixed amount of work in Python at call depth 20, for the cost of samples; prints
the CPU time that it took, in seconds, by the thread's own clock.

usage: /usr/bin/python3 bench/cpu.py ROUNDS
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "sampling"))
from work import open_device  # noqa: E402


def work(depth, x):
    if depth:
        return work(depth - 1, x + depth) + 1
    for i in range(2000):
        x = (x * 3 + i) & 0xffff
    return x


def rounds(count):
    x = 1
    for _ in range(count):
        x = work(20, x)
    return x


kept = open_device()
count = int(sys.argv[1])
rounds(count // 10)
begin = time.thread_time()
rounds(count)
print("%.6f" % (time.thread_time() - begin))
