"""Fixed amounts of work in Python at call depth 20, for the cost of samples: for each line of
standard input, a number of rounds, the CPU time that so many took, in seconds, by the thread's own clock.

usage: /usr/bin/python3 bench/cpu.py
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
for line in sys.stdin:
    begin = time.thread_time()
    rounds(int(line))
    print("%.9f" % (time.thread_time() - begin), flush=True)
