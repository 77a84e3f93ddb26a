"""advice_test.py - each rule of `sonde report DIR advice` on a program that breaks it, and on one that does not.

The measurements are made by tests/cli/live.py; the expected savings are worked
out here from docs/advice.md's definitions and the times that went in.
"""
import json
import os
import shutil
import struct
import subprocess

from views import HERE, PROGRAMS, Case  # first: it knows where the next are
import cli
import live

US = 1000
MS = 1000 * US
LAUNCH, READ, WRITE, COPY, FINISH = "clEnqueueNDRangeKernel", "clEnqueueReadBuffer", "clEnqueueWriteBuffer", "clEnqueueCopyBuffer", "clFinish"


def share_error(hits, samples):
    """Standard error of a part that `hits` of `samples` say, from Wilson's interval (docs/developers/sampling.md)."""
    part = hits / samples
    return (part * (1 - part) / samples + 1 / (4 * samples**2)) ** .5 / (1 + 1 / samples)


class Program:
    """One thread, queues on one device, and a function per place."""

    def __init__(self, queues=1, kind=2, trace=True):
        self.p = live.Process("host-1-0", 1, trace=trace)
        self.device = self.p.device("Test GPU", kind)
        self.thread = self.p.thread(1)
        self.queues = [self.p.queue(self.device) for _ in range(queues)]
        self.places = {}
        self.now = self.p.start_ns + 1000 * US

    def place(self, function):
        if function not in self.places:
            code = self.p.python(function, "/home/user/main.py", 7)
            self.places[function] = self.p.node(0, self.p.frame(live.PYTHON, code))
        return self.places[function]

    def launch(self, kind, start, end, call=5 * US, queue=0, function="step", blocking=False, api=LAUNCH, **more):
        """An operation asked for now; `start` and `end` are relative to now. Returns its node."""
        enter, leave = self.now, self.now + call
        if blocking:
            leave = max(leave, self.now + end)
        node = self.p.enqueue(self.thread, self.queues[queue], api, self.place(function), kind, enter, leave,
                              enter + start, enter + end, name=more.pop("name", "work" if kind == "kernel" else ""), **more)
        if blocking:
            self.p.wait(self.thread, enter, awaited=self.p.correlation)
        self.now = leave
        return node

    def sampled(self):
        self.p.cpu.update(rate_hz=1000, sampling=1, switches_known=1, threads=1)

    def path(self, *functions):
        """A context that these call each other to, and below it none of these."""
        at = 0
        for function in functions:
            at = self.p.node(at, self.p.frame(live.PYTHON, self.p.python(function, "/home/user/main.py", 1)))
        self.places[functions[-1]] = at
        return at

    def compute(self, *path, ms=3):
        """Host code that is sampled each millisecond, the first time after half of one."""
        for i in range(ms):
            self.p.sample(self.thread, self.path(*path), self.now + i * MS + MS // 2, MS)
        self.now += ms * MS

    def finish(self, until, queue=0, function="step"):
        """Wait until a time relative to now."""
        self.p.call(self.thread, FINISH, self.place(function), self.now, self.now + until)
        self.p.wait(self.thread, self.now, queue=self.queues[queue])
        self.now += until

    def host(self, ns):
        self.now += ns

    def calls_without_queues(self):
        """As CUDA's: which stream an operation is on is told with its times, when its call is over."""
        rows = self.p.owned["CALL", self.thread]
        for i, row in enumerate(rows):
            *rest, correlation, node, queue = struct.unpack(live.ROWS["CALL"], row)
            rows[i] = struct.pack(live.ROWS["CALL"], *rest, correlation, node, 0 if correlation else queue)


class Advice(Case):
    def advice(self, program, *more):
        path = os.path.join(self.folder, "m%d.sonde" % len(os.listdir(self.folder)))
        live.write_manifest(path, ["demo"])
        program.p.stop_ns = max(program.p.stop_ns, program.now)
        program.p.write(path)
        value = self.json(path, "advice", *more)
        self.text = self.ok("report", path, "advice", *more).out
        return value

    def found(self, program, rule):
        return [a for a in self.advice(program)["advice"] if a["rule"] == rule]

    def one(self, program, rule):
        found = self.found(program, rule)
        self.assertEqual(len(found), 1, found)
        return found[0]

    def summary(self, program):
        self.advice(program)
        path = max((os.path.join(self.folder, name) for name in os.listdir(self.folder) if name.startswith("m")), key=os.path.getmtime)
        return self.json(path, "summary")["verdict"], self.ok("report", path).out

    def rounds(self, *steps, entry=("<module>", "main"), launch_at=("epoch", "launch"), rounds=10):
        """Each round computes along these paths below the entry, and runs a kernel of 100 us that is waited for."""
        a = Program()
        a.sampled()
        a.path(*entry, *launch_at)
        for _ in range(rounds):
            for path, ms in steps:
                a.compute(*entry, *path, ms=ms)
            a.launch("kernel", 10 * US, 110 * US, function=launch_at[-1])
            a.finish(105 * US, function=launch_at[-1])
        return a

    def test_host_code_that_others_do_the_work_for(self):
        """What is named is the last on the way that has (nearly) all of it: its parts have a third each."""
        a = self.rounds((("epoch", "prepare", "split"), 3), (("epoch", "prepare", "stem"), 3), (("epoch", "prepare", "count"), 3))
        value = self.advice(a)["advice"]
        self.assertEqual((value[0]["rule"], value[0]["frames"][0]["name"]), ("host_code", "prepare"))
        self.assertEqual(len([v for v in value if v["rule"] == "host_code"]), 1)
        self.assertEqual(sorted(p["frame"]["name"] for p in value[0]["pieces"]), ["count", "split", "stem"])
        # What is next to a call, and inferred, is in the bound.
        self.assertAlmostEqual(value[0]["saving_ns"], 10 * 9 * MS, delta=MS)
        for piece in value[0]["pieces"]:
            self.assertAlmostEqual(piece["ns"], 10 * 3 * MS, delta=10 * MS)
        self.assertIn("1. host-bound: saves up to ", self.text)
        self.assertIn("in prepare() main.py:1", self.text)
        self.assertRegex(self.text, r"of which .* in (split|stem|count)\(\) main.py:1")

    def test_a_function_within_another(self):
        a = self.rounds((("epoch", "prepare", "decode", "inflate"), 9))
        self.assertEqual(self.one(a, "host_code")["frames"][0]["name"], "inflate")

    def test_host_code_in_two_functions_of_the_entry(self):
        """The entry explains nothing: each of those it called is named."""
        a = self.rounds((("load",), 6), (("augment", "flip"), 2), (("augment", "crop"), 2), launch_at=("launch",))
        found = self.found(a, "host_code")
        self.assertEqual([f["frames"][0]["name"] for f in found], ["load", "augment"])
        self.assertGreaterEqual(found[0]["saving_ns"], 9 * 5 * MS)
        self.assertGreaterEqual(found[1]["saving_ns"], 9 * 3 * MS)

    def shares(self, parts, *below, beside=False):
        """Ten rounds in which functions of `parts` compute so many milliseconds each, between a finish and a launch, from the
        start to the end; beside them, or not, a second thread. All of the host code has samples."""
        a = Program()
        a.sampled()
        a.path(*below, "launch")
        a.now = a.p.start_ns
        a.finish(US, function="launch")
        begin = a.now
        for _ in range(10):
            for function, ms in parts.items():
                a.compute(*below, *function.split(), ms=ms)
            a.launch("kernel", 10 * US, 110 * US, function="launch")
            a.finish(105 * US, function="launch")
        if beside:
            thread, code = a.p.thread(2), a.p.frame(live.PYTHON, a.p.python("other", "/home/user/main.py", 1))
            other = a.p.node(0, code, slot=2)
            a.p.call(thread, FINISH, other, begin - US, begin)
            for at in range(begin + MS // 2, a.now, MS):
                a.p.sample(thread, other, at, MS)
            a.p.call(thread, FINISH, other, a.now, a.now + US)
        return a

    def test_errors_of_host_code(self):
        """What rests on samples has Wilson's error, as in blame."""
        parts, expected = {"f": 4, "g": 3, "h": 3}, 100 * MS * share_error(40, 100)
        a = self.shares(parts, "<module>", "main")
        found = {found["frames"][0]["name"]: found for found in self.found(a, "host_code")}
        self.assertAlmostEqual(found["f"]["error_ns"], expected, delta=US)
        self.assertRegex(self.text, r"4\d\.\d ms ± %.2f ms" % (expected / MS))
        self.assertRegex(found["f"]["evidence"], r"4\d\.\d ms ± %.2f ms" % (expected / MS))
        verdict, text = self.summary(a)
        place = verdict["parts"][0]
        self.assertEqual((place["kind"], place["place"]), ("host_code", "f() main.py:1"))
        self.assertAlmostEqual(place["error_ns"], expected, delta=US)
        self.assertRegex(" ".join(text.split()), r"idle, 4\d\.\d % ± 4\.9 % of it in f\(\) main.py:1")
        self.assertRegex(text, r" 4\d\.\d ms ± %.2f ms " % (expected / MS))  # the advice below it
        # Beside a second thread its part is half of that; the bound, and its error, are of all.
        found = {found["frames"][0]["name"]: found for found in self.found(self.shares(parts, "<module>", "main", beside=True), "host_code")}
        self.assertAlmostEqual(found["f"]["error_ns"], expected, delta=US)
        self.assertRegex(found["f"]["evidence"], r"is 20\.\d ms ± %.2f ms" % (50 * share_error(20, 50)))

    def test_errors_of_pieces(self):
        a = self.shares({"prepare split": 3, "prepare stem": 2, "prepare count": 4}, "<module>", "main", "epoch")
        found = self.one(a, "host_code")
        self.assertEqual(found["frames"][0]["name"], "prepare")
        self.assertAlmostEqual(found["error_ns"], 90 * MS * share_error(90, 90), delta=US)
        self.assertEqual([piece["frame"]["name"] for piece in found["pieces"]], ["count", "split", "stem"])
        for piece, ms in zip(found["pieces"], (4, 3, 2)):
            self.assertAlmostEqual(piece["error_ns"], 90 * MS * share_error(10 * ms, 90), delta=US)
        self.assertRegex(self.text, r"4\d\.\d % ± 5\.\d % in count\(\)")

    def test_what_rests_on_no_samples_has_no_error(self):
        a = Program()
        for _ in range(100):
            a.launch("kernel", 4 * US, 7 * US)
            a.host(5 * US)
        self.assertEqual({found["error_ns"] for found in self.advice(a)["advice"]}, {0})
        self.assertNotIn("±", self.text)

    def test_host_code_of_the_entry_itself(self):
        a = self.rounds(((), 9), launch_at=("launch",))
        self.assertEqual(self.one(a, "host_code")["frames"][0]["name"], "main")

    def test_host_code_beside_a_busy_device(self):
        a = Program()
        a.sampled()
        a.path("<module>", "main", "launch")
        for _ in range(10):
            a.launch("kernel", 10 * US, 9 * MS, function="launch")
            a.compute("<module>", "main", "prepare", ms=9)
        for found in self.found(a, "host_code"):  # before the first kernel and after the last
            self.assertLess(found["saving_ns"], 2 * MS)

    def test_what_the_run_waited_for(self):
        a = self.rounds((("epoch", "prepare"), 9))
        verdict, text = self.summary(a)
        self.assertEqual((verdict["parts"][0]["kind"], verdict["parts"][0]["place"]), ("host_code", "prepare() main.py:1"))
        self.assertTrue(text.splitlines()[1].startswith("The run spent "), text)
        self.assertIn(" in host code while the device was idle, mostly in prepare() main.py:1", " ".join(text.split()))
        b = Program()
        b.launch("kernel", 10 * US, 99 * MS)
        b.now += 100 * MS
        verdict, text = self.summary(b)
        self.assertEqual((verdict["parts"][0]["kind"], verdict["parts"][0]["ns"]), ("busy", 99 * MS - 10 * US))
        self.assertTrue(text.splitlines()[1].startswith("The device was busy for 98"), text)

    def test_a_profile_does_not_know_what_the_run_waited_for(self):
        a = Program(trace=False)
        a.launch("kernel", 4 * US, 12 * US)
        a.p.owned = {key: rows for key, rows in a.p.owned.items() if key[0] == "NODE"}
        verdict, text = self.summary(a)
        self.assertIsNone(verdict)
        self.assertTrue(text.startswith("demo"), text)

    def test_launches_that_come_too_late(self):
        a = Program()
        for _ in range(100):  # 5 us to launch, 3 us of kernel, 2 us of host: idle for 7 of 10
            a.launch("kernel", 4 * US, 7 * US)
            a.host(5 * US)
        got = self.one(a, "launch_bound")
        self.assertEqual((got["count"], got["saving_ns"], got["looked_at_ns"]), (99, 99 * 7 * US, 99 * 3 * US))
        self.assertEqual(got["frames"][0]["name"], "step")
        self.assertIn("launch-bound", self.text)

    def test_launches_that_take_longer_than_kernels(self):
        a = Program()
        for _ in range(100):  # 6 us of launch, a kernel of 1 us that ends when the next launch has begun
            a.launch("kernel", 6 * US, 7 * US, call=6 * US)
        got = self.one(a, "launch_bound")
        self.assertEqual((got["count"], got["saving_ns"]), (99, 99 * 5 * US))

    def test_launches_that_run_ahead(self):
        a, end = Program(), 0
        for i in range(100):  # 5 us to launch, 20 us of kernel
            start = max(4 * US, end - a.now + a.p.start_ns)
            end = a.now + start + 20 * US - a.p.start_ns
            a.launch("kernel", start, start + 20 * US)
        self.assertEqual(self.advice(a)["advice"], [])

    def test_a_wait_before_a_copy_that_waits_itself(self):
        a = Program()
        for _ in range(50):  # the Nyx pattern: kernel, wait, small copy
            a.launch("kernel", 4 * US, 30 * US, function="step")
            a.finish(40 * US, function="sync")
            a.launch("read", 10 * US, 12 * US, blocking=True, api=READ, size=4096, function="read")
        got = self.one(a, "needless_wait")
        # The kernel ended 30 after its launch, the wait 45 after, the copy started 10 later.
        self.assertEqual((got["count"], got["saving_ns"]), (50, 50 * 25 * US))
        self.assertEqual(got["frames"][0]["name"], "sync")
        self.assertEqual(self.found(a, "launch_bound"), [])
        a.calls_without_queues()
        self.assertEqual(self.one(a, "needless_wait")["saving_ns"], 50 * 25 * US)

    def test_a_wait_saves_no_more_than_it_held(self):
        a = Program()
        for _ in range(50):
            a.launch("kernel", 4 * US, 30 * US)
            a.finish(40 * US)
            a.host(1000 * US)
            a.launch("write", 10 * US, 12 * US, blocking=True, api=WRITE, size=4096)
        self.assertEqual(self.one(a, "needless_wait")["saving_ns"], 50 * 40 * US)

    def test_a_wait_whose_data_the_host_reads(self):
        a = Program()
        for _ in range(50):
            a.launch("read", 4 * US, 30 * US, api=READ, size=4096)
            a.finish(40 * US)
            a.launch("kernel", 10 * US, 12 * US)
        self.assertEqual(self.found(a, "needless_wait"), [])

    def test_a_wait_of_another_queue(self):
        a = Program(queues=2)
        for _ in range(50):
            a.launch("kernel", 4 * US, 30 * US)
            a.finish(40 * US)
            a.launch("kernel", 10 * US, 12 * US, queue=1)
        self.assertEqual(self.found(a, "needless_wait"), [])

    def test_copies_that_the_program_waits_for(self):
        a = Program(queues=2)
        for _ in range(10):
            a.launch("kernel", 1 * US, 60 * US, queue=1)
            # Copies from 15 to 95 after it: 50 of these 80 us without a kernel, of which 10 come before the next launch.
            a.launch("write", 10 * US, 90 * US, blocking=True, api=WRITE, size=1 << 20)
        got = self.one(a, "synchronous_copies")
        self.assertEqual((got["count"], got["bytes"]), (10, 10 << 20))
        self.assertEqual(got["saving_ns"], 10 * (80 - 45) * US)
        self.assertEqual(got["looked_at_ns"], 10 * 90 * US)

    def test_copies_of_pageable_memory(self):
        a = Program()
        slow = a.p.work(source="pageable", target="device")
        fast = a.p.work(source="pinned", target="device")
        for _ in range(10):
            a.launch("write", 10 * US, 110 * US, api=WRITE, size=1 << 20, work=slow, function="slow")
            a.host(200 * US)
            a.launch("write", 10 * US, 35 * US, api=WRITE, size=1 << 20, work=fast, function="fast")
            a.host(200 * US)
        got = self.one(a, "pageable_copies")
        self.assertEqual((got["count"], got["frames"][0]["name"]), (10, "slow"))
        self.assertAlmostEqual(got["saving_ns"], 10 * 75 * US, delta=20)

    def test_small_copies_in_a_row(self):
        a = Program()
        for _ in range(32):
            a.launch("write", 5 * US, 6 * US, api=WRITE, size=1000)
        got = self.one(a, "small_copies")
        self.assertEqual((got["count"], got["bytes"]), (32, 32000))
        # From the first start to the last end, less one copy of all: the shortest, and 32,000 bytes at 1,000 a us.
        self.assertAlmostEqual(got["saving_ns"], (31 * 5 + 1 - 1 - 32) * US, delta=2)

    def test_a_row_ends_with_a_kernel(self):
        a = Program()
        for i in range(32):
            a.launch("write", 5 * US, 6 * US, api=WRITE, size=1000)
            if i % 7 == 6:
                a.launch("kernel", 4 * US, 5 * US)
        self.assertEqual(self.found(a, "small_copies"), [])

    def test_copies_to_buffers_made_for_them(self):
        """Each ends with its buffer: they cannot be one copy, but the allocations can be one."""
        a = Program()
        for _ in range(32):
            node = a.p.call(a.thread, "clCreateBuffer", a.place("grow"), a.now, a.now + 2 * US)
            a.p.object(1, node, 1000, a.now, a.now + 8 * US)
            a.host(2 * US)
            a.launch("write", 5 * US, 6 * US, api=WRITE, size=1000)
            a.p.call(a.thread, "clReleaseMemObject", a.place("grow"), a.now, a.now + US)
            a.host(US)
        self.assertEqual(self.found(a, "small_copies"), [])
        self.assertEqual(self.one(a, "allocates_in_loop")["count"], 32)

    def test_copies_on_a_queue_of_their_own_are_no_row(self):
        a = Program(queues=2)
        for _ in range(32):
            a.launch("write", 5 * US, 6 * US, api=WRITE, size=1000)
            a.launch("kernel", 4 * US, 5 * US, queue=1)
        self.assertEqual(self.found(a, "small_copies"), [])

    def queues_in_turns(self, kind=2, **work):
        a, free = Program(queues=2, kind=kind), 0
        for i in range(40):  # launched 5 us apart, each 20 us, one after the other over all queues
            start = max(a.now + 4 * US, free)
            free = start + 20 * US
            a.launch("kernel", start - a.now, free - a.now, queue=i % 2,
                     work=a.p.work((64,), (64,), **work) if work else 0)
        return a

    def test_queues_that_take_turns(self):
        got = self.one(self.queues_in_turns(), "serialized_queues")
        self.assertEqual(got["saving_ns"], 20 * 20 * US)  # the work of one of the two
        # On a CPU, and where each kernel fills the device, there is nothing to gain.
        self.assertEqual(self.found(self.queues_in_turns(kind=1), "serialized_queues"), [])
        full = self.queues_in_turns(occupancy=1000, limiter="threads")
        self.assertEqual(self.found(full, "serialized_queues"), [])
        few = self.queues_in_turns(occupancy=1000, limiter="grid")
        self.assertEqual(len(self.found(few, "serialized_queues")), 1)

    def test_queues_that_overlap(self):
        a = Program(queues=2)
        for i in range(40):
            a.launch("kernel", 4 * US, 12 * US, queue=i % 2)
        self.assertEqual(self.found(a, "serialized_queues"), [])

    def test_queues_whose_launches_are_slow(self):
        a = Program(queues=2)
        for i in range(40):  # each call lasts 30 us; its kernel starts within it, after that of the other queue
            a.launch("kernel", 15 * US, 35 * US, call=30 * US, queue=i % 2)
        self.assertEqual(self.found(a, "serialized_queues"), [])

    def test_code_compiled_in_the_run(self):
        a = Program()
        a.p.call(a.thread, "clBuildProgram", a.place("setup"), a.now, a.now + 5000 * US)
        a.host(5000 * US)
        a.launch("kernel", 4 * US, 12 * US)
        got = self.one(a, "compiles")
        self.assertEqual((got["count"], got["saving_ns"], got["frames"][0]["name"]), (1, 5000 * US, "setup"))

    def test_memory_allocated_in_the_loop(self):
        a = Program()
        for _ in range(40):
            node = a.p.call(a.thread, "clCreateBuffer", a.place("grow"), a.now, a.now + 10 * US)
            a.p.object(1, node, 1 << 20, a.now, a.now + 50 * US)
            a.host(40 * US)
            a.launch("kernel", 4 * US, 12 * US)
            a.p.call(a.thread, "clReleaseMemObject", a.place("grow"), a.now, a.now + 6 * US)
            a.host(6 * US)
        got = self.one(a, "allocates_in_loop")
        self.assertEqual((got["count"], got["bytes"]), (40, 40 << 20))
        self.assertEqual(got["looked_at_ns"], 40 * 16 * US)
        self.assertEqual(got["saving_ns"], 39 * 16 * US)

    def writes(self, kind, size, *changes, **more):
        """Ten operations of 100 ms each, and what they did to each of their objects."""
        a = Program()
        for _ in range(10):
            node = a.launch(kind, 10 * US, 10 * US + 100 * MS, size=size, function="save", **more)
            a.host(200 * MS)
        for change in changes:
            a.p.value(node, a.p.object(1, a.place("setup"), 4000, a.p.start_ns), *change)
        return a

    def test_copies_of_what_was_there(self):
        # Of 10 times 1,000 elements 6,000; that the first copy was not compared, since nobody had written there, saves nothing.
        got = self.one(self.writes("copy", 4000, (9, 9000, 6000), api=COPY), "redundant_writes")
        self.assertEqual((got["count"], got["bytes"], got["looked_at_ns"]), (10, 40000, 1000 * MS))
        self.assertAlmostEqual(got["saving_ns"], 600 * MS, delta=1)
        self.assertEqual((got["frames"][0]["name"], got["device"]), ("save", 0))
        self.assertIn("of 1.00 s in 10 operations, 600 ms wrote what was there already; times are those of a run with --values", got["evidence"])
        self.assertIn(". redundant writes: saves up to 600 ms, ", self.text)

    def test_kernels_that_write_what_was_there(self):
        # Two objects: of one nearly all, of the other, which is larger, less. What a kernel wrote is not known.
        got = self.one(self.writes("kernel", 0, (10, 10000, 9000, True), (10, 30000, 7000, True)), "redundant_writes")
        self.assertAlmostEqual(got["saving_ns"], 400 * MS, delta=1)
        self.assertIn(", at most 400 ms wrote what was there already", got["evidence"])
        # Four of ten launches were compared: of the others nothing is known.
        got = self.one(self.writes("kernel", 0, (4, 4000, 3000, True)), "redundant_writes")
        self.assertAlmostEqual(got["saving_ns"], 300 * MS, delta=1)

    def test_writes_of_something_new(self):
        self.assertEqual(self.found(self.writes("copy", 4000, (10, 10000, 3299), api=COPY), "redundant_writes"), [])
        self.assertEqual(self.found(self.writes("copy", 4000, api=COPY), "redundant_writes"), [])
        self.one(self.writes("copy", 4000, (10, 10000, 3300), api=COPY), "redundant_writes")

    def sends(self, kind, api, operations=0, size=4000):
        """Ten operations of 100 ms each, behind some of which the object that they wrote held what another did."""
        a = Program()
        for _ in range(10):
            node = a.launch(kind, 10 * US, 10 * US + 100 * MS, size=0 if kind == "kernel" else 4000, function="send", api=api)
            a.host(200 * MS)
        one, other = (a.p.object(1, a.place("setup"), size, a.p.start_ns) for _ in range(2))
        if operations:
            a.p.duplicate(node, one, other, operations, size)
        return a

    def test_copies_of_what_another_object_holds(self):
        got = self.one(self.sends("write", WRITE, 6), "duplicate_writes")
        self.assertEqual((got["count"], got["bytes"], got["looked_at_ns"]), (10, 40000, 1000 * MS))
        self.assertAlmostEqual(got["saving_ns"], 600 * MS, delta=1)
        self.assertEqual((got["frames"][0]["name"], got["device"]), ("send", 0))
        self.assertIn("of 1.00 s in 10 copies from the host, at most 600 ms brought what another object held already; times are those of a run with --values", got["evidence"])
        # Each wrote a part of its object, or all that it lacked: no more is saved than they took.
        self.assertEqual(self.one(self.sends("write", WRITE, 6, 8000), "duplicate_writes")["saving_ns"], 1000 * MS)

    def test_duplicates_that_no_copy_from_the_host_made(self):
        for kind, api in (("copy", COPY), ("kernel", LAUNCH), ("fill", "clEnqueueFillBuffer")):
            self.assertEqual(self.found(self.sends(kind, api, 10), "duplicate_writes"), [])
        self.assertEqual(self.found(self.sends("write", WRITE), "duplicate_writes"), [])

    def reads(self, *accesses):
        """Ten launches of 100 ms each, and what their accesses have read and written: (elements, any, all, least, most, ...)."""
        a = Program()
        for _ in range(10):
            node = a.launch("kernel", 10 * US, 10 * US + 100 * MS, function="step")
            a.host(200 * MS)
        for number, (values, more) in enumerate(accesses):
            a.p.access(node, a.p.object(1, a.place("setup"), 4000, a.p.start_ns), number, *values, **more)
        return a

    def test_values_that_need_no_memory(self):
        LOAD, STORE, SIGNED = 0, 1, 2
        small, zeros, any = (1000, 127, 0, 0, 100), (1000, 0, 0, 0, 0), (1000, 2**32 - 1, 0, -2**31, 2**31 - 1)
        four = lambda what, **more: dict(what=what, type=SIGNED, size=4, **more)
        # 4,000 bytes of zeros and 3,000 of 4,000 that int8_t would not have, of 12,000; what is written has to be.
        got = self.one(self.reads((zeros, four(LOAD)), (small, four(STORE)), (any, four(LOAD))), "needless_bytes")
        self.assertEqual((got["count"], got["looked_at_ns"]), (10, 1000 * MS))
        self.assertAlmostEqual(got["saving_ns"], 1000 * MS * 7 / 12, delta=1)
        self.assertEqual(got["frames"][0]["name"], "step")
        self.assertIn("of 1.00 s in 10 launches: 58.3 % of the bytes that they read and wrote hold one value, ", got["evidence"])
        self.assertIn(", or fit a narrower type, most of these int8_t; ", got["evidence"])
        self.assertEqual(self.found(self.reads((zeros, four(STORE)), (any, four(LOAD))), "needless_bytes"), [])
        # On a line, all but a few: of those compared as many as of the others.
        got = self.one(self.reads((any, four(LOAD, checked=500, lined=490, slope=3)), (any, four(STORE))), "needless_bytes")
        self.assertAlmostEqual(got["saving_ns"], 490 * MS, delta=1)
        self.assertIn(", or fit a narrower type; ", got["evidence"])
        self.assertEqual(self.found(self.reads((any, four(STORE, checked=500, lined=490, slope=3)), (any, four(LOAD))), "needless_bytes"), [])
        tenth = (124, 0, 0, 0, 0)  # 496 bytes of 4,496
        self.one(self.reads((tenth, four(LOAD)), (any, four(LOAD))), "needless_bytes")
        self.assertEqual(self.found(self.reads(((100, 0, 0, 0, 0), four(LOAD)), (any, four(LOAD))), "needless_bytes"), [])

    def test_kernels_too_small_for_the_device(self):
        a = Program(queues=2)
        a.p.tables["DEVICE"][0] = a.p.tables["DEVICE"][0][:-8] + struct.pack("<II", 100, 0)
        few, many = a.p.work((25 * 64,), (64,)), a.p.work((64 * 10, 16), (64, 1), occupancy=120, limiter="registers")
        def launch(work, start=4, queue=0):
            a.launch("kernel", start * US, (start + 400) * US, queue=queue, work=work)

        for work in few, many, 0:
            launch(work)
            a.host(900 * US)
        launch(few)
        launch(few, 200, queue=1)
        # The second fills the device with 160 blocks, of the third nothing is known, and the others run side by side.
        got = self.one(a, "small_grid")
        self.assertEqual((got["count"], got["looked_at_ns"], got["saving_ns"]), (1, 400 * US, 300 * US))
        self.assertIn("25 blocks on average for 100 multiprocessors", got["evidence"])

    def test_a_kernel_at_a_peak(self):
        """Few blocks, but the memory at its peak, or the tensor cores: more of them would save nothing."""
        for metric, share, count in (("dram__throughput", 79.0, 1), ("dram__throughput", 80.0, 0), ("dram__throughput", 92.0, 0), ("sm__pipe_tensor_cycles_active", 95.0, 0),
                                     ("sm__pipe_fma_cycles_active", 40.0, 1), ("sm__something", 95.0, 1)):
            a = Program()
            a.p.tables["DEVICE"][0] = a.p.tables["DEVICE"][0][:-8] + struct.pack("<II", 100, 0)
            a.launch("kernel", 4 * US, 404 * US, work=a.p.work((25 * 64,), (64,)))
            [op] = a.p.truth
            a.p.series(1, metric + ".avg.pct_of_peak_sustained_elapsed", "%", [(op["start_ns"], op["end_ns"], share)])
            self.assertEqual(len(self.found(a, "small_grid")), count, (metric, share))

    def test_a_device_of_unknown_size(self):
        a = Program()
        a.launch("kernel", 4 * US, 404 * US, work=a.p.work((64,), (64,), occupancy=120, limiter="registers"))
        self.assertEqual(self.found(a, "small_grid"), [])
        self.assertEqual([i["rule"] for i in self.advice(a)["advice"] if "multiprocessor" in i["evidence"]], [])  # nor for its occupancy

    def test_a_profile_has_its_rules_and_says_so(self):
        a = Program(trace=False)
        a.p.call(a.thread, "clBuildProgram", a.place("setup"), a.now, a.now + 5000 * US)
        a.host(5000 * US)
        a.launch("kernel", 4 * US, 12 * US)
        a.p.owned = {key: rows for key, rows in a.p.owned.items() if key[0] == "NODE"}
        value = self.advice(a)
        self.assertEqual([i["rule"] for i in value["advice"]], ["compiles"])
        self.assertFalse(value["traced"])
        self.assertIn("No trace: ", self.text)

    def test_small_savings_are_left_out(self):
        a = Program()
        a.p.call(a.thread, "clBuildProgram", a.place("setup"), a.now, a.now + 10 * US)
        a.host(10 * US)
        a.launch("kernel", 4 * US, 100000 * US)
        a.now += 100000 * US
        self.assertEqual(len(self.advice(a)["advice"]), 1)
        self.assertIn("No rule found a saving of 1 % of the run", self.text)


class Recorded(Case):
    """tests/programs/habits.c on PoCL: each habit is found where it is, as often as it is."""

    def test_habits(self):
        value = self.json(self.record(os.path.join(PROGRAMS, "habits")), "advice")
        self.assertTrue(value["traced"])
        found = {}
        for a in value["advice"]:
            found.setdefault((a["rule"], a["frames"][0]["name"]), []).append(a)
            self.assertLessEqual(a["saving_ns"], a["looked_at_ns"] if a["rule"] != "launch_bound" else 10**12, a)
        count = lambda rule, place: sum(a["count"] for a in found.get((rule, place), []))
        self.assertEqual(count("needless_wait", "waits_for_nothing"), 40)
        self.assertEqual(count("small_copies", "copies_piece_by_piece"), 64)
        self.assertEqual((count("small_copies", "copies_to_new_buffers"), count("allocates_in_loop", "copies_to_new_buffers")), (0, 40))
        self.assertEqual(count("synchronous_copies", "waits_for_copies"), 20)
        self.assertEqual(count("allocates_in_loop", "allocates"), 40)
        self.assertEqual([place for rule, place in found if rule == "compiles"], ["guest_open_with"])
        self.assertEqual([place for rule, place in found if rule == "serialized_queues"], [])  # one queue, and a CPU

    def named(self, value, least_ns):
        """The functions that the device waits for, which come before all but compiling: a loaded machine may do that for long."""
        found = [a for a in value["advice"] if a["rule"] == "host_code" and a["saving_ns"] >= least_ns]
        first = [a["rule"] for a in value["advice"] if a["rule"] != "compiles"]
        self.assertEqual(first[:len(found)], ["host_code"] * len(found))
        return [[f["name"] for f in a["frames"]] for a in found]

    def sampled(self, path):
        if not self.json(path, "summary")["cpu"]["samples"]:
            self.skipTest("the CPU side cannot be sampled here")
        return path

    def test_host_code(self):
        """240 ms of CPU time in prepare(), a third in each of three functions."""
        path = self.sampled(self.record(os.path.join(PROGRAMS, "host-code"), warm=True))
        self.assertEqual([frames[0] for frames in self.named(self.json(path, "advice"), 190 * MS)], ["prepare"])

    def test_host_code_in_two_places(self):
        path = self.sampled(self.record(os.path.join(PROGRAMS, "host-code"), "twice", warm=True))
        found = self.named(self.json(path, "advice"), 190 * MS)
        self.assertEqual(sorted(next(f for f in frames if f in ("prepare", "compress")) for frames in found), ["compress", "prepare"])

    def test_host_code_beside_another_thread(self):
        """The device waits for prepare() alone, between the end of a kernel and the next launch: the bound has all of that."""
        path = self.sampled(self.record(os.path.join(PROGRAMS, "host-code"), "beside", warm=True))
        self.ok("export", path, "--to", "json", "-o", self.path("beside.json"))
        with open(self.path("beside.json")) as file:
            trace = json.load(file)
        enqueues = sorted(c["enter_ns"] for c in trace["calls"] if c["name"] == "clEnqueueNDRangeKernel")
        finishes = sorted(c["leave_ns"] for c in trace["calls"] if c["name"] == "clFinish" and c["enter_ns"] > enqueues[0])
        prepared = sum(enqueue - finish for finish, enqueue in zip(finishes, enqueues[1:]))
        found, = (a for a in self.json(path, "advice")["advice"]
                  if a["rule"] == "host_code" and a["frames"][0]["name"] in ("prepare", "epoch"))
        self.assertGreaterEqual(found["saving_ns"], prepared * 0.95)
        idle = self.json(path, "blame")["scopes"][0]["idle_ns"]
        self.assertLessEqual(found["saving_ns"], idle)

    def test_host_code_in_a_thread_of_the_runtime(self):
        path = self.sampled(self.record(os.path.join(PROGRAMS, "host-code"), "called-back", warm=True))
        self.assertIn("prepare", [name for frames in self.named(self.json(path, "advice"), 190 * MS) for name in frames])

    def test_a_device_that_is_a_cpu_is_no_host_code(self):
        """PoCL's kernels and its own threads are the device: the profile has their samples, and no idle time is theirs.
        A call that the program makes of PoCL is the program's."""
        clpeak = shutil.which("clpeak")
        programs, looked_at = [(os.path.join(PROGRAMS, "critical"), "diamond"), (os.path.join(PROGRAMS, "critical"), "callbacks")], False
        for program in programs + ([(clpeak, "--kernel-latency")] if clpeak else []):
            called = lambda frames: any(os.path.realpath(f["module"] or "") == os.path.realpath(program[0]) for f in frames)
            own = lambda f, callers=(): "_pocl_kernel_" in (f["name"] or "") or ("libpocl" in (f.get("module") or "") and not called(callers))
            path = self.sampled(self.record(*program, warm=True))
            self.ok("export", path, "--to", "json", "--force", "-o", self.path("own.json"))
            with open(self.path("own.json")) as file:
                contexts = json.load(file)["contexts"]
            looked_at |= any(c.get("samples") for c in contexts if own(c))
            blame = self.json(path, "blame", "--min-percent", "0")
            for scope in blame["scopes"]:
                self.assertEqual([r for r in scope["routines"] if own(r, r["callers"])], [])
            for found in self.json(path, "advice", "--min-percent", "0")["advice"]:
                if found["rule"] == "host_code":
                    self.assertFalse(any(own(f, found["frames"]) for f in found["frames"]), found)
            verdict = self.json(path, "summary")["verdict"]
            self.assertNotRegex(verdict["sentence"] + " ".join(p["place"] or "" for p in verdict["parts"]), "_pocl_kernel_|libpocl")
        self.assertTrue(looked_at, "no sample of the device's own")  # one has a few, each 5 ms of CPU time

    def test_host_code_of_python(self):
        python = "/usr/bin/python3"
        if subprocess.run([python, "-c", "import numpy, pyopencl"], capture_output=True, check=False).returncode:
            self.skipTest("%s lacks numpy or pyopencl" % python)
        path = self.sampled(self.record(python, os.path.join(HERE, "host_code.py"), "0.4", warm=True))
        found = self.named(self.json(path, "advice"), 300 * MS)
        self.assertEqual([frames[0] for frames in found], ["collate"])
        self.assertIn("host code", self.json(path, "summary")["verdict"]["sentence"])


cli.main()
