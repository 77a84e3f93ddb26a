"""Compares the agent's walk of the Python frames with what the interpreter
says of itself, in many situations (cases.py), threads, forks and interpreters.

usage: walk.py LIBRARY        (any CPython 3.9 or later; nothing but its standard library)
"""
import ctypes
import functools
import os
import sys
import tempfile
import threading
import warnings

from cases import CALLBACK, cases, generators, plain
from compare import LIBRARY, VERSION, counts, current, fail, failures, here, kept, released

def test_threads():
    """16 threads at once, each of which must see its own frames and no other's."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    barrier = threading.Barrier(16)

    def work(i):
        def down(n):
            if n:
                return down(n - 1)
            here("thread %d" % i)
        barrier.wait()
        for round in range(40):
            down(i * 3 + round % 7)
            list(map(lambda _: here("thread in map"), [1]))
    threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    sys.setswitchinterval(interval)
    if released.test_walk_in_c_thread() != 0:
        fail("C thread", "frames in a thread without Python")
    seen = []
    callback = CALLBACK(lambda: seen.append(here("Python called in a C thread")))
    released.test_call_in_c_thread(callback)
    released.test_call_in_c_thread(callback)
    if len(seen) != 2:
        fail("C thread", "callback did not run")


def test_limits():
    def down(n):
        return down(n - 1) if n else [released.test_walk_max(m) for m in (0, 1, 2, 100, 1024)]
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20000)
    got = down(3000)
    sys.setrecursionlimit(limit)
    if got != [0, 1, 2, 100, 1024]:
        fail("limits", "a walk cut at 0, 1, 2, 100, 1024 frames gave %r" % got)


def test_fork():
    pid = os.fork()
    if pid == 0:
        before = len(failures)
        plain()
        generators()
        os._exit(0 if len(failures) == before else 1)
    if os.waitpid(pid, 0)[1] != 0:
        fail("fork", "wrong in the child")


TABLE = "co_linetable" if VERSION >= (3, 10) else "co_lnotab"
NAME = "co_qualname" if VERSION >= (3, 11) else "co_name"


def variants():
    """Code of one function, differing only in where its blank lines are."""
    made = []
    for blank in range(11):
        space = {}
        exec("def f(key):\n%s x = 1\n%s x = 2\n return key()\n" % ("\n" * blank, "\n" * (10 - blank)), space)
        made.append(space["f"].__code__)
    return made[0], [bytearray(getattr(code, TABLE)) for code in made]


def ask(code, out):
    """The key that the agent gives to this code, and what the code is, as
    text: nothing may keep the code's own strings alive."""
    type(ask)(code, globals())(functools.partial(kept.test_key, out, len(out)))
    key, name, file, first = out.value.decode().split("\t")
    if (name, file, int(first)) != (getattr(code, NAME), code.co_filename, code.co_firstlineno):
        fail("identity", "read %r of %r" % (out.value, code))
    lines = code.co_lnotab if VERSION < (3, 10) else list(code.co_lines())
    return key, repr((name, file, first, lines))


def test_identity():
    """Code made and freed 10,000 times, so that addresses are used again and
    again: equal keys must mean equal contents."""
    out = ctypes.create_string_buffer(1 << 14)
    base, tables = variants()
    fresh = {
        "table": lambda i: {TABLE: bytes(tables[i % 11])},
        "name": lambda i: {NAME: "f%05d" % (i % 700)},
        "file": lambda i: {"co_filename": "/some/where/file%05d.py" % (i % 700)},
        "line": lambda i: {"co_firstlineno": 1 + i % 700},
    }
    for what in fresh:
        seen, reused = {}, set()
        for i in range(2500):
            key, content = ask(base.replace(**fresh[what](i)), out)
            reused.add(key.split()[0])
            if seen.setdefault(key, content) != content:
                fail("identity", "one key for %s and %s" % (seen[key], content))
                break
        if len(reused) > 1250:
            fail("identity", "memory was hardly ever re-used (%d addresses): this proves nothing" % len(reused))

    def stable():
        kept.test_key(out, len(out))
        return out.value
    if len({stable() for _ in range(1000)}) != 1:
        fail("identity", "the key of a living function changed")


def test_quiet():
    """No allocation, no lock, no system call in a walk, its keys and its reads."""
    def down(n):
        return down(n - 1) if n else [kept.test_quiet(1000, disturb) for disturb in (0, 1, 2)]
    got = down(30)
    if got[0] == -1:
        return print("note: run with counting.so preloaded to test for calls")
    if got != [0, 1, 2]:
        fail("quiet", "undisturbed, allocating, calling: %r, should be [0, 1, 2]" % got)


def interpreters_module():
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            return __import__(name)
        except ImportError:
            pass
    return None


SUB = """
import ctypes, sys
out = ctypes.create_string_buffer(1 << 16)
def work(library):
    count = library.test_walk(out, 1 << 16)
    return [count] + [line.split("\\t")[0] for line in out.value.decode().split("\\n")[:-1]]
got = repr([work(ctypes.CDLL(LIBRARY)), work(ctypes.PyDLL(LIBRARY))])
with open(RESULT, "w") as file:
    file.write(got)
"""


def test_subinterpreters():
    """The right frames or none, never another interpreter's."""
    module = interpreters_module()
    if module is None:
        return print("note: no sub-interpreters to test")
    with tempfile.NamedTemporaryFile() as result:
        script = "LIBRARY = %r\nRESULT = %r\n" % (LIBRARY, result.name) + SUB
        if VERSION >= (3, 13):
            interpreter = module.create("legacy")
        else:
            interpreter = module.create(isolated=False)
        (getattr(module, "run_string", None) or module.exec)(interpreter, script)
        got = eval(open(result.name).read() or "None")
        want = [[2, "work", "<module>"]] * 2 if VERSION >= (3, 12) else [[0]] * 2
        if got != want:
            fail("sub-interpreter", "inside: %r" % (got,))
        if VERSION < (3, 12):
            # While it exists, only the holder of the GIL is sure whose frames it sees.
            if released.test_walk_max(100) != 0 or kept.test_walk_max(100) < 2:
                fail("sub-interpreter", "outside")
        else:
            here("main beside a sub-interpreter")
        module.destroy(interpreter)
    here("main after a sub-interpreter")


def test_greenlets():
    try:
        import greenlet
    except ImportError:
        return print("note: no greenlet module to test")

    def work(n):
        here("in a greenlet", False)
        main.switch()
        list(map(lambda _: here("resumed greenlet", False), [1]))
        main.switch()
    main = greenlet.getcurrent()
    for _ in range(20):
        lets = [greenlet.greenlet(work) for _ in range(4)]
        for let in lets:
            let.switch(1)
            here("main beside greenlets", False)
        for let in lets:
            let.switch()


def test_replays():
    """What replays said at each walk, beside what the walk said (walker.c)."""
    known, current = ctypes.c_int(), ctypes.c_int()
    wrong = released.test_replays(ctypes.byref(known), ctypes.byref(current))
    free_threaded = not getattr(sys, "_is_gil_enabled", lambda: True)()
    if (wrong < 0) != (VERSION < (3, 12) or free_threaded):
        fail("replays", "this version has them, or should not")
    elif wrong > 0 or (wrong == 0 and not known.value):
        fail("replays", "%d wrong, %d moments came again" % (wrong, known.value))
    elif (current.value > 0) != (VERSION == (3, 12)):
        fail("replays", "%d told without asking the interpreter" % current.value)


def main():
    warnings.simplefilter("ignore")
    why = ctypes.create_string_buffer(1000)
    if not released.test_attach(why, 1000):
        print("FAIL attach: %s" % why.value.decode())
        return 1
    if released.test_version() != VERSION[0] << 8 | VERSION[1]:
        fail("version", hex(released.test_version()))
    for library in (kept, released):
        current["library"] = library
        for _ in range(3):
            for case in cases:
                case()
        test_threads()
    test_quiet()
    test_limits()
    test_fork()
    test_identity()
    test_subinterpreters()
    test_greenlets()
    test_replays()
    if not released.test_attached():
        fail("attached", "the walker switched itself off")
    print("CPython %s: %d walks, %d frames, %d eval calls compared, %d of them without a frame; %d wrong" % (
        sys.version.split()[0], counts["walks"], counts["frames"], counts["groups"], counts["empty"], len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
