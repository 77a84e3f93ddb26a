"""Compares the agent's decoding of line tables with the interpreter's own, for
every instruction of every code object of the standard library.

usage: lines.py LIBRARY [all]      all: also the library's own tests
"""
import ctypes
import dis
import os
import sys
import sysconfig
import types

library = ctypes.CDLL(sys.argv[1])
VERSION = sys.version_info[:2]
HEX = VERSION[0] << 8 | VERSION[1]
addr2line = ctypes.pythonapi.PyCode_Addr2Line
addr2line.argtypes = [ctypes.py_object, ctypes.c_int]


def codes_of(code):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes_of(const)


def truth(code):
    """Line per instruction unit; None where the interpreter says that there is none."""
    units = len(code.co_code) // 2
    lines = [None] * units
    if VERSION >= (3, 10):
        for start, end, line in code.co_lines():
            for unit in range(start // 2, end // 2):
                lines[unit] = line
        return lines
    line, starts = code.co_firstlineno, dict(dis.findlinestarts(code))
    for unit in range(units):
        line = starts.get(2 * unit, line)
        lines[unit] = line
    return lines


def check(code, where):
    table = code.co_lnotab if VERSION < (3, 10) else code.co_linetable
    want = truth(code)
    count = len(want)
    offsets = (ctypes.c_uint * count)(*range(0, 2 * count, 2))
    have = (ctypes.c_uint * count)()
    library.test_lines(table, ctypes.c_size_t(len(table)), HEX, code.co_firstlineno, offsets, have,
                       ctypes.c_size_t(count))
    wrong = 0
    for unit in range(count):
        expected = code.co_firstlineno if want[unit] is None else want[unit]
        if have[unit] != expected:
            wrong += 1
            if wrong == 1:
                print("FAIL %s %s offset %d: %d, the interpreter says %s" % (
                    where, code.co_name, 2 * unit, have[unit], want[unit]))
    # The C function behind every traceback agrees; asked now and then, because it is slow.
    for unit in range(0, count, 61):
        line = addr2line(code, 2 * unit)
        if line >= 0 and line != have[unit]:
            wrong += 1
            print("FAIL %s %s offset %d: %d, PyCode_Addr2Line %d" % (where, code.co_name, 2 * unit, have[unit], line))
    return count, wrong


def files(everything):
    root = sysconfig.get_paths()["stdlib"]
    for folder, folders, names in os.walk(root):
        skip = ("site-packages", "dist-packages", "__pycache__") + (() if everything else ("test", "tests", "idle_test"))
        folders[:] = [f for f in sorted(folders) if f not in skip]
        for name in sorted(names):
            if name.endswith(".py"):
                yield os.path.join(folder, name)


def main():
    sys.setrecursionlimit(10000)
    total = wrong = objects = modules = 0
    for path in files("all" in sys.argv):
        try:
            with open(path, "rb") as file:
                code = compile(file.read(), path, "exec", dont_inherit=True)
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue    # a broken link; a test that is wrong on purpose
        modules += 1
        for each in codes_of(code):
            units, bad = check(each, path)
            objects += 1
            total += units
            wrong += bad
    print("CPython %s: %d modules, %d code objects, %d instruction offsets compared, %d wrong" % (
        sys.version.split()[0], modules, objects, total, wrong))
    return 1 if wrong or not total else 0


if __name__ == "__main__":
    sys.exit(main())
