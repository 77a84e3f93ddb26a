"""Nanoseconds per walk of the Python stack, at depth 5, 30 and 100, alone and with
the identity of every frame's code object, as each recorded operation needs them.

usage: python3.X bench/python.py BUILD/tests/unit/agent/stack/python/libpython-walker.so
"""
import ctypes
import sys

library = ctypes.PyDLL(sys.argv[1])
library.test_bench.restype = ctypes.c_double
why = ctypes.create_string_buffer(1000)
if not library.test_attach(why, len(why)):
    sys.exit("the walker does not work here: %s" % why.value.decode())


def measure(keys):
    return min(library.test_bench(20000, keys) for _ in range(9))


def calls(depth, keys):
    """Python calling Python: from 3.11 on all in one call of the eval loop."""
    return calls(depth - 1, keys) if depth > 1 else measure(keys)


def through_c(depth, keys):
    """Every second frame called by a C function."""
    return max(map(lambda _: through_c(depth - 2, keys), (0,))) if depth > 2 else measure(keys)


version = sys.version.split()[0]
for name, function in (("calls", calls), ("through C", through_c)):
    for depth in (5, 30, 100):
        print("CPython %-8s %-10s depth %3d: walk %5.0f ns, with identities %5.0f ns" % (
            version, name, depth, function(depth - 2, 0), function(depth - 2, 1)))
