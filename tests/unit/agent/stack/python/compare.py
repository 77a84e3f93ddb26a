"""here(): walks the Python frames with the agent's walker, and compares with
what the interpreter itself says in the same place: names, files, lines,
instruction offsets, and which frames share one native call of the eval loop.
"""
import ctypes
import os
import subprocess
import sys
import sysconfig

LIBRARY = sys.argv[1]
VERSION = sys.version_info[:2]
SIZE = 1 << 18
released = ctypes.CDLL(LIBRARY)   # releases the GIL around each call
kept = ctypes.PyDLL(LIBRARY)      # keeps it
current = {"library": released}
counts = {"walks": 0, "frames": 0, "groups": 0, "empty": 0}
failures = []


def fail(label, text):
    failures.append(label)
    if len(failures) <= 8:
        print("FAIL %s: %s" % (label, text))


def find_cold():
    """How far from the eval loop its cold part begins; the C++ unwinder sees two functions."""
    binary = sys.executable
    if sysconfig.get_config_var("Py_ENABLE_SHARED"):
        shared = os.path.join(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "")
        binary = shared if os.path.exists(shared) else binary
    try:
        names = subprocess.run(["nm", os.path.realpath(binary)], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL).stdout.decode().split("\n")
    except OSError:
        return b""
    at = {line.split()[2]: int(line.split()[0], 16) for line in names
          if "_PyEval_EvalFrameDefault" in line and len(line.split()) == 3}
    cold = at.get("_PyEval_EvalFrameDefault.cold")
    if cold is None:
        return b""
    return b"%x" % ((cold - at["_PyEval_EvalFrameDefault"]) & (2**64 - 1))


COLD = find_cold()


def clean(text):
    """As the agent writes it: UTF-8, lone surrogates replaced."""
    return "".join("\ufffd" if 0xD800 <= ord(c) <= 0xDFFF else c for c in text)


def cut(text, size):
    return text.encode()[:size - 1].decode(errors="ignore")


def truth(frame):
    rows = []
    while frame is not None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        line = frame.f_lineno
        rows.append((cut(clean(name), 512), cut(clean(code.co_filename), 1024),
                     code.co_firstlineno if line is None else line, frame.f_lasti))
        frame = frame.f_back
    return rows


def parse(text):
    rows = []
    for line in text.decode().split("\n")[:-1]:
        name, file, number, offset, entry, stack = line.rsplit("\t", 5) if line.count("\t") == 5 else line.split("\t")
        if name == "-" and file == "-":
            counts["empty"] += 1
            continue
        rows.append((name, file, int(number), int(offset)))
    return rows


def here(label, with_evals=True):
    """Walk and compare, in this place. with_evals: compare the groups with the native
    stack; "lost": the interpreter has lost its outer frames here."""
    library = current["library"]
    out = ctypes.create_string_buffer(SIZE)
    count = library.test_walk(out, SIZE); want = truth(sys._getframe())
    have = parse(out.value)
    counts["walks"] += 1
    counts["frames"] += len(have)
    if count < 0:
        fail(label, "walk returned %d" % count)
        return 1
    # The innermost frame went on to its next instruction, on the same line.
    if have[:1]:
        have[0] = have[0][:3] + (want[0][3],)
    if have != want:
        for i, (h, w) in enumerate(zip(have + [None] * len(want), want + [None] * len(have))):
            if h != w:
                fail(label, "frame %d: walk says %r, the interpreter %r" % (i, h, w))
                return 1
    if with_evals == "lost":
        # The outermost frame seen is not the outermost of its eval call.
        if out.value.decode().split("\n")[-2].split("\t")[4] != "0":
            fail(label, "the last group should be open")
    elif with_evals:
        calls = library.test_evals(out, SIZE, COLD)
        if calls < 0:
            fail(label, out.value.decode())
            return 1
        counts["groups"] += calls
    return 1
