"""python_test.py - routines of Python programs, in every view that sums up by routine: what the interpreter does for a
Python function is the function's, an extension's code is its own (docs/profile.md, "Routines").
"""
import glob
import hashlib
import json
import os
import shutil
import subprocess

import views  # first: it knows where the next are
import cli
import live
from views import HERE

MS = 10**6
PYTHON = "/usr/bin/python3"
C_LIBRARY = "libc.so", "libm.so", "ld-linux", "linux-vdso"


def base(module):
    return os.path.basename(module) if module else None


def is_interpreter(module):
    return (module or "").startswith(("python3", "libpython"))


class Case(views.Case):
    def by_function(self, path, side="exclusive"):
        """CPU time by (label, module)."""
        rows = self.json(path, "profile", "--by", "function", "--metric", "cpu", "--min-percent", "0")["rows"][1:]
        return {(row["label"], base(row["module"])): row[side]["cpu"] for row in rows}

    def blamed(self, path):
        routines = self.json(path, "blame", "--limit", "0")["scopes"][0]["routines"]
        return {(r["name"], base(r["module"])): r["waiting_ns"] + r["computing_ns"] for r in routines}, routines

    def shares(self, path, *more):
        rows = self.json(path, "statistics", "--lane", "threads", "--limit", "0", *more)["rows"]
        return {(row["label"], base(row["module"])): row["thread_ns"] for row in rows if row["kind"] == "routine"}


class Made(Case):
    """A sample each millisecond between two calls, the first half a millisecond after the one, the last before the other."""

    def library(self, process, name, *functions):
        """A file that has these functions: its module, and a frame in each."""
        path, build_id = self.path("modules", name), hashlib.sha1(name.encode()).digest()
        os.makedirs(os.path.dirname(path), exist_ok=True)
        source = "".join("void %s(void) { __asm__(\".skip 64\"); }" % f for f in functions)
        subprocess.run(["cc", "-x", "c", "-", "-shared", "-nostdlib", "-fno-builtin", "-Wl,--build-id=0x" + build_id.hex(), "-o", path],
                       input=source, text=True, check=True)
        module = process.module(path, build_id)
        lines = subprocess.run(["nm", "-D", path], capture_output=True, text=True, check=True).stdout.splitlines()
        at = {line.split()[2]: int(line.split()[0], 16) for line in lines}
        return module, [process.frame(live.NATIVE, module, at[f] + 32) for f in functions]

    def setUp(self):
        super().setUp()
        if not shutil.which("cc") or not shutil.which("nm"):
            self.skipTest("no compiler here")
        p = live.Process("snake-1-0", 1)
        p.cpu.update(rate_hz=1000, sampling=1, switches_known=1, threads=1)
        thread, queue = p.thread(1), p.queue(p.device("Test GPU"))
        snake, (run, vectorcall, finalize) = self.library(p, "python3.12", "Py_RunMain", "PyObject_Vectorcall", "Py_FinalizeEx")
        _, (gettime, memcpy) = self.library(p, "libc.so.6", "clock_gettime", "memcpy")
        _, (npy_sort, npy_outer) = self.library(p, "site-packages/numpy.so", "npy_sort", "npy_outer")
        start = p.node(0, run)
        main = p.node(start, p.frame(live.PYTHON, p.python("main", "/home/user/train.py", 5)))
        step = p.node(main, p.frame(live.PYTHON, p.python("step", "/home/user/train.py", 15)))
        call = p.node(step, vectorcall)
        clock = p.node(call, gettime)
        vdso = p.node(clock, p.frame(live.NATIVE, p.module("linux-vdso.so.1"), 0x700))
        nameless = p.node(call, p.frame(live.NATIVE, snake, 0xf0000))
        sort = p.node(call, npy_sort)
        other = p.node(p.node(call, npy_outer), npy_sort)
        copy = p.node(sort, memcpy)
        end = p.node(start, finalize)
        leaves = [step, call, clock, vdso, nameless, nameless, sort, other, copy, end, vdso, step]
        t, span = p.start_ns, len(leaves) * MS
        for enter in t, t + 1000 + span:
            p.enqueue(thread, queue, "clEnqueueNDRangeKernel", step, "kernel", enter, enter + 1000, enter + 400,
                      enter + 900, name="work")
        for i, leaf in enumerate(leaves):
            p.sample(thread, leaf, t + 1000 + MS // 2 + i * MS, MS)
        self.range = "1us", "%gms" % (span / MS + .001)
        self.made = self.path("made.sonde")
        live.write_manifest(self.made, ["snake", "train.py"])
        p.write(self.made)

    ANSWER = {("step() train.py", None): 8 * MS, ("npy_sort() numpy.so", "numpy.so"): 2 * MS,
              ("memcpy() libc.so.6", "libc.so.6"): MS, ("Py_FinalizeEx() python3.12", "python3.12"): MS}

    def test_profile(self):
        self.assertEqual({row: ns for row, ns in self.by_function(self.made).items() if ns}, self.ANSWER)
        inclusive = self.by_function(self.made, "inclusive")
        self.assertEqual(inclusive["step() train.py", None], 11 * MS)
        self.assertNotIn(("PyObject_Vectorcall() python3.12", "python3.12"), inclusive)
        lines = self.json(self.made, "profile", "--by", "line", "--metric", "cpu", "--min-percent", "0")["rows"]
        self.assertIn("PyObject_Vectorcall", [row["name"] for row in lines])  # the frames are all there

    def test_statistics(self):
        span = "--from", self.range[0], "--to", self.range[1]
        self.assertEqual(self.shares(self.made, *span), self.ANSWER)
        deeper = self.shares(self.made, "--depth", "3", *span)  # main, step, and what step calls: the interpreter is no level
        self.assertEqual((deeper["npy_sort() numpy.so", "numpy.so"], deeper["npy_outer() numpy.so", "numpy.so"],
                          deeper["step() train.py", None]), (2 * MS, MS, 8 * MS))

    def test_blame(self):
        found, routines = self.blamed(self.made)
        found = {routine: ns for routine, ns in found.items() if ns > 1000}  # without the calls, and what is after the last
        self.assertEqual(found, {(label.split("(")[0], module): ns for (label, module), ns in self.ANSWER.items()})
        first = routines[0]
        self.assertEqual((first["name"], first["file"], first["line"], first["places"]), ("step", "/home/user/train.py", 15, 1))
        self.assertEqual(first["place"], "step() train.py:15")
        sort, = (r for r in routines if r["name"] == "npy_sort")  # two ways to it from one line of the user's
        self.assertEqual((sort["places"], sort["callers"][0]["name"], sort["callers"][0]["line"]), (1, "step", 15))

    def test_critical_path(self):
        """Wherever below a line of the user's a sample was, it is that line's."""
        contexts = self.json(self.made, "critical")[0]["contexts"]
        steps = [c for c in contexts if c["category"] == "host" and c["frames"] and c["frames"][0]["name"] == "step"]
        self.assertEqual([c["ns"] for c in steps], [11 * MS])

    def test_one_name_in_every_view(self):
        summary = json.loads(self.ok("report", self.made, "--json").out)
        self.assertEqual(summary["cpu"]["top"], {"routine": "step() train.py", "cpu_ns": 8 * MS, "error_ns": 1576453})  # 8 of 12 samples, by Wilson
        self.assertEqual([d["idle_most"]["place"] for d in summary["devices"]], ["step() train.py:15"])
        for view in ["profile", "--by", "function"], ["statistics"], ["blame"]:
            self.assertIn(" step() train.py", self.ok("report", self.made, *view).out, view)


class Recorded(Case):
    """The answer is computed a second time, from the tree with all its frames."""

    def setUp(self):
        super().setUp()
        needs = subprocess.run([PYTHON, "-c", "import numpy, pyopencl"], capture_output=True, check=False)
        if needs.returncode:
            self.skipTest("%s lacks numpy or pyopencl" % PYTHON)

    def of_words(self, leaves):
        """(what `words` has of its own, and for others) of leaves: (time, the path's (function, module) from the leaf on)."""
        own = others = 0
        for ns, path in leaves:
            depth = next((i for i, (name, _) in enumerate(path) if name == "words"), None)
            below = [base(module) or "" for _, module in path[:depth or 0]]
            if depth == 0:
                own += ns
            elif below and all(is_interpreter(m) or m.startswith(C_LIBRARY) for m in below):
                others += ns
        return own, others

    def rows_of(self, rows):
        for row in rows:
            path, at = [], row
            while at["row"]:
                path.append((at["name"], at["module"]))
                at = rows[at["parent"]]
            yield row["exclusive"]["cpu"], path

    def contexts_of(self, node, path=()):
        path = ((node["name"], node["module"]), *path)
        yield node["exclusive"]["waiting_ns"] + node["exclusive"]["computing_ns"], list(path)
        for child in node["children"]:
            yield from self.contexts_of(child, path)

    def test_a_python_with_names(self):
        """Debian's exports its functions and has no names for the rest."""
        path = self.record(PYTHON, os.path.join(HERE, "python_load.py"), "0.6", warm=True)
        own, others = self.of_words(self.rows_of(self.json(path, "profile", "--by", "line", "--metric", "cpu", "--top-down",
                                                           "--min-percent", "0")["rows"]))
        if not own + others:
            self.skipTest("the CPU side cannot be sampled here")
        self.assertGreater(others, 0)
        found = self.by_function(path)
        self.assertEqual(found["words() python_load.py", None], own + others)
        scope = self.json(path, "blame", "--limit", "0")["scopes"][0]
        own, others = self.of_words(self.contexts_of(scope["contexts"]))
        blamed = sum(r["waiting_ns"] + r["computing_ns"] for r in scope["routines"] if r["name"] == "words")
        self.assertAlmostEqual(blamed, own + others, delta=100)  # each of a few contexts is rounded
        self.assertIn(("words() python_load.py", None), self.shares(path))

    def test_a_python_that_is_too_old(self):
        """CPython 3.8 and older: no Python frames, and the views that would show them say so."""
        pythons = [p for v in ("3.8", "3.7", "3.6") for p in glob.glob(os.path.expanduser("~/.pyenv/versions/%s.*/bin/python3" % v))]
        if not pythons:
            self.skipTest("there is no CPython 3.6 to 3.8 here")
        path = self.record(pythons[0], os.path.join(HERE, "fill.py"), warm=True)
        note, = [c["text"] for c in self.json(path, "ledger")["caveats"] if c["kind"] == "python"]
        self.assertRegex(note, r"^Python stacks are not recorded: this is CPython 3\.[678]; 3\.9 to 3\.\d+ are supported")
        for view in ("summary", "profile", "contexts"):
            self.assertIn("note: " + note, self.ok("report", path, view, env={"COLUMNS": "1000"}).out)


if __name__ == "__main__":
    cli.main()
