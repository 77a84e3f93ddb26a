"""Walks stacks of a Python process: the walker and its oracle come in by ctypes.

    python.py ORACLE_LIBRARY
"""
import ctypes
import functools
import json
import re
import sys
import threading

lib = ctypes.CDLL(sys.argv[1])
lib.oracle_create.restype = ctypes.c_void_p
for name in ("oracle_check", "oracle_mismatches", "oracle_walks", "oracle_shared"):
    getattr(lib, name).argtypes = [ctypes.c_void_p]
for name in ("oracle_mismatches", "oracle_walks", "oracle_shared"):
    getattr(lib, name).restype = ctypes.c_uint64
compare_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def run():
    o = lib.oracle_create()
    check = functools.partial(lib.oracle_check, o)

    def recurse(n):
        if n:
            recurse(n - 1)
        check()

    class Item:
        def __init__(self, value):
            self.value = value

        def __lt__(self, other):
            check()
            return self.value < other.value

    def generate(n):
        for i in range(n):
            check()
            yield i

    @compare_type
    def compare(a, b):
        check()
        return 0

    libc = ctypes.CDLL(None)
    numbers = (ctypes.c_int * 5)(3, 1, 2, 5, 4)
    for i in range(20):
        recurse(i % 7)
        sorted([Item(3), Item(1), Item(2)])
        list(generate(3))
        libc.qsort(numbers, 5, 4, compare)
        re.sub("a", lambda m: check() and "b" or "c", "banana")
        json.dumps({1: object()}, default=lambda x: check() and 1)
        try:
            list(map(lambda x: check() or 1 / x, [1, 0]))
        except ZeroDivisionError:
            check()
    return o


def main():
    results = []
    thread = threading.Thread(target=lambda: results.append(run()))
    thread.start()
    results.append(run())
    thread.join()
    bad = 0
    for o in results:
        walks, mismatches = lib.oracle_walks(o), lib.oracle_mismatches(o)
        print(walks, "walks,", lib.oracle_shared(o), "frames shared,", mismatches, "mismatches")
        bad += mismatches or walks < 100 or not lib.oracle_shared(o)
    return 1 if bad else 0


sys.exit(main())
