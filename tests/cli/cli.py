"""cli.py - runs the built commands and compares what a user sees with expected text.

    UPDATE=1 ctest -L cli       rewrites tests/cli/expected/*.txt; read the diff before committing

A test script ends with cli.main(). Its status is 77 when the rest passed but a
test skipped itself: what was not tested in full is never shown as passed.
"""
import difflib
import os
import random
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("SONDE_BUILD", os.path.join(HERE, "../../build")))
SONDE = os.path.join(BUILD, "bin", "sonde")
POCL_CACHE = os.environ.get("POCL_CACHE_DIR", os.path.join(BUILD, "tests", "pocl-cache"))
SKIP = 77
SANITIZED = os.environ.get("SANITIZED", "")  # address or thread: what this build is instrumented with

# Applied in this order. What a run decides becomes a word; what must not change stays.
NORMALIZE = [
    (re.compile(r"\b\d[\d,.]*(\.\d+)? (ns|µs|ms|s|min|h)(?![\w/])"), "TIME"),
    (re.compile(r"\b\d[\d,.]* [kMGT]?B\b"), "SIZE"),
    (re.compile(r"(?<![\d,.])<?\d+(\.\d+)? %"), "SHARE"),
    (re.compile(r"\d\d:\d\d:\d\d"), "CLOCK"),
    (re.compile(r" +TIME"), " TIME"), (re.compile(r" +SHARE"), " SHARE"), (re.compile(r" +SIZE"), " SIZE"),
]


def run(*args, cwd=None, env=None, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=600, program=SONDE,
        user=None, most=None):
    """Runs `sonde ARGS`; text in and out. COLUMNS and TERM are fixed. `most`: no file may become larger."""
    if most is not None and SANITIZED == "thread":
        raise unittest.SkipTest("the limit holds for ThreadSanitizer's own files, too")
    limit = None if most is None else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    full = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_") or k == "SONDE_BUILD"}
    full.update({"COLUMNS": "100", "TERM": "dumb", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}, **(env or {}))
    done = subprocess.run([program, *map(str, args)], cwd=cwd, env=full, stdin=stdin, stdout=stdout,
                          stderr=subprocess.PIPE, timeout=timeout, user=user, preexec_fn=limit)
    done.out = (done.stdout or b"").decode("utf-8", "replace")
    done.err = done.stderr.decode("utf-8", "replace")
    return done


def free_port():
    """One that the kernel gives nobody who asks for any, so that it is still free when a program takes it that cannot ask."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        first = int(file.read().split()[0])
    for _ in range(100):
        with socket.socket() as taken:
            port = random.randrange(first // 2, first)
            try:
                taken.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass
    raise AssertionError(f"no port below {first} is free")


class Case(unittest.TestCase):
    """A test with a folder of its own, `self.folder`."""
    maxDiff = None

    def setUp(self):
        if not os.access(SONDE, os.X_OK):
            self.fail("there is no %s: build first, or set SONDE_BUILD" % SONDE)
        self.folder = tempfile.mkdtemp(prefix="sonde-cli-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def ok(self, *args, **kw):
        done = run(*args, cwd=kw.pop("cwd", self.folder), **kw)
        self.assertEqual(done.returncode, 0, "sonde %s: %s" % (" ".join(map(str, args)), done.err))
        return done

    def fails(self, *args, status=1, **kw):
        """Fails with `status` and one sentence that begins with "sonde"."""
        done = run(*args, cwd=kw.pop("cwd", self.folder), **kw)
        self.assertEqual(done.returncode, status, done.out + done.err)
        self.assertRegex(done.err, r"\Asonde[ :].+\n\Z")
        return done

    def expect(self, name, text, normalize=False):
        """`text` equals expected/NAME.txt; the test's folder reads as DIR."""
        text = text.replace(self.folder, "DIR")
        for pattern, word in NORMALIZE if normalize else []:
            text = pattern.sub(word, text)
        path = os.path.join(HERE, "expected", name + ".txt")
        if os.environ.get("UPDATE") == "1":
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        try:
            with open(path, encoding="utf-8") as file:
                expected = file.read()
        except FileNotFoundError:
            self.fail("%s is missing; UPDATE=1 writes it" % path)
        if text != expected:
            diff = difflib.unified_diff(expected.splitlines(True), text.splitlines(True), "expected", "got")
            self.fail("differs from expected/%s.txt:\n%s" % (name, "".join(diff)))


def main():
    program = unittest.main(module="__main__", exit=False, verbosity=1)
    result = program.result
    if not result.wasSuccessful():
        sys.exit(1)
    for test, why in result.skipped:
        print("skipped: %s: %s" % (test, why))
    if result.skipped:
        sys.exit(SKIP)
