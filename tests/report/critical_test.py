"""critical_test.py - `sonde report DIR critical` and `overlap`: of made-up measurements, whose answers stand here,
and of tests/programs/critical.c, recorded here on PoCL and compared with a walk of our own over the exported trace.
"""
import json
import os
import re

import views  # first: it knows where the next are
import cli
import live
import scenes
import sums
from views import PROGRAMS

PROGRAM = os.path.join(PROGRAMS, "critical")
GROUPS = {"kernel": "kernel", "read": "copy", "write": "copy", "map": "copy", "unmap": "copy"}


class Case(views.Case):
    def paths(self, path, *more):
        found = self.json(path, "critical", *more)
        for p in found:
            self.hold(sums.critical_path(p))
        return found


def program(name, pid, kernel_ns, waits=True, **more):
    """main enqueues one kernel at 1000 and waits for it; `waits`: the measurement says for what."""
    p = live.Process(name, pid, **more)
    thread, queue, t = p.thread(pid), p.queue(p.device("GPU")), p.start_ns
    p.enqueue(thread, queue, "clEnqueueNDRangeKernel", scenes.stack(p), "kernel", t + 1000, t + 1100, t + 1300,
              t + 1300 + kernel_ns, name="work")
    p.call(thread, "clFinish", scenes.stack(p), t + 1400, t + 1350 + kernel_ns)
    if waits:
        p.wait(thread, t + 1400, queue=queue)
    return p


class Made(Case):
    def test_processes_the_longest_first(self):
        path = self.path("ranks.sonde")
        live.write_manifest(path, ["ranks"])
        for i, ns in enumerate((5000, 90000, 20000)):
            program("host-%d-0" % (i + 1), i + 1, ns).write(path)
        found = self.paths(path)
        self.assertEqual([p["process"] for p in found], ["host-2-0", "host-3-0", "host-1-0"])
        for p, ns in zip(found, (90000, 20000, 5000)):
            got = {name: part["ns"] for name, part in p["composition"].items() if part["ns"]}
            self.assertEqual(got, {"host": 1000, "api": 150, "launch": 200, "kernel": ns})
            self.assertEqual([t["saving_ns"] for t in p["things"] if t["name"] == "work"], [ns // 2])
            self.assertEqual((p["waits_recorded"], p["waits_inferred"]), (1, 0))
        text = self.ok("report", path, "critical").out
        rows = [line.split()[0] for line in text.splitlines() if line.startswith("host-")]
        self.assertEqual(rows, ["host-2-0", "host-3-0", "host-1-0", "host-2-0:"])
        self.assertEqual(self.ok("report", path, "critical", "--limit", "0").out.count("to the last recorded event"), 3)

    def test_events_looked_at(self):
        """3,000 rows: a kernel each microsecond and what enqueued it. Of the last 1,000 the path is that of what came last; of all that of everything."""
        p = live.Process("host-1-0", 1)
        thread, queue, t, stack = p.thread(1), p.queue(p.device("GPU")), p.start_ns, scenes.stack(p)
        for i in range(1500):
            at = t + 1000 + 1000 * i
            p.enqueue(thread, queue, "clEnqueueNDRangeKernel", stack, "kernel", at, at + 100, at + 300, at + 900, name="work")
        path = self.path("many.sonde")
        p.write(path)
        (all_of_it,), (same,), (last,) = self.paths(path), self.paths(path, "--events", "3000"), self.paths(path, "--events", "1000")
        self.assertEqual(all_of_it, same)
        self.assertEqual((all_of_it["limited"], last["limited"]), (False, True))
        self.assertEqual((all_of_it["operations"], all_of_it["calls"]), (1500, 1500))
        self.assertLessEqual(last["operations"] + last["calls"], 1000)
        self.assertGreater(last["operations"] + last["calls"], 900)
        self.assertAlmostEqual(last["length_ns"] / 1000, last["operations"], delta=2)
        self.assertIn("--events N looks at more", self.ok("report", path, "critical", "--events", "1000").out)
        self.assertIn("--events", self.fails("report", path, "kernels", "--events", "1000", status=2).err)

    def test_kernels_stand_in_their_context(self):
        path = self.path("one.sonde")
        program("host-1-0", 1, 50000).write(path)
        heaviest = self.paths(path)[0]["contexts"][0]
        self.assertEqual((heaviest["category"], heaviest["ns"]), ("kernel", 50000))
        self.assertEqual([f["name"] for f in heaviest["frames"]], ["Solver.step", "<module>"])
        self.assertIn("Solver.step() main.py:20 ← <module> main.py:10", self.ok("report", path, "critical").out)

    def test_savings_over_inferred_steps_are_marked(self):
        """What the last call waited for is recorded, or taken to be: then what lies before that may decide nothing."""
        for waits in (True, False):
            path = self.path("marked-%d.sonde" % waits)
            program("host-1-0", 1, 50000, waits=waits).write(path)
            found, = self.paths(path)
            self.assertEqual((found["waits_recorded"], found["waits_inferred"]), (waits, not waits))
            for thing in found["things"]:  # the part of the call after the kernel's end reaches the run's end by itself
                behind = 0 if waits else thing["ns"] - (50 if thing["name"] == "clFinish" else 0)
                self.assertEqual(thing["behind_inferred_ns"], behind, thing)
            text = self.ok("report", path, "critical").out
            self.assertIn("25.0 µs" if waits else "(25.0 µs)", re.search("(?m)^work .*", text)[0])
            self.assertEqual("(25.0 µs)" in text, not waits)
            sentence = "(In brackets): the saving reaches the end of the run only over an inferred step."
            self.assertEqual(sentence in " ".join(text.split()), not waits)

    def test_without_a_trace(self):
        path, _ = scenes.profile_only(self.folder)
        for view in ("critical", "overlap"):
            for more in ((), ("--json",)):
                done = cli.run("report", path, view, *more)
                self.assertEqual((done.returncode, done.out), (1, ""))
                self.assertRegex(done.err, "sonde: there is no trace in .*; record with --trace")

    def test_what_was_lost_is_said(self):
        path = self.path("lost.sonde")
        p = program("host-1-0", 1, 50000)
        p.ledger["call_rows_dropped"] = 3
        p.write(path)
        self.assertTrue(self.paths(path)[0]["dropped"])
        self.assertIn("Rows of the trace were dropped", self.ok("report", path, "critical").out)

    def test_every_width(self):
        path, _ = scenes.demo(self.folder)
        for view in ("critical", "overlap"):
            for width in (40, 60, 80, 100, 160):
                out = self.ok("report", path, view, env={"COLUMNS": str(width)}).out
                self.assertLessEqual(max(map(len, out.splitlines())), width, out)
        self.paths(path)

    def test_overlap(self):
        path = self.path("overlap.sonde")
        live.write_manifest(path, ["overlap"])
        for rank in range(2):
            p = live.Process("host-%d-0" % (rank + 1), rank + 1)
            thread, t, api, at = p.thread(rank + 1), p.start_ns, "clEnqueueTask", scenes.stack(p)
            gpus = [p.device("GPU %d" % i) for i in range(2)]
            one, two, three = p.queue(gpus[0]), p.queue(gpus[0]), p.queue(gpus[1])
            for queue, kind, name, start, end in (
                    (one, "kernel", "step", 1000, 2000), (one, "kernel", "ncclDevKernel_AllReduce(x)", 2000, 2600),
                    (two, "write", "", 1500, 1900 + 200 * rank), (two, "read", "", 2500, 2700),
                    (three, "kernel", "step", 1000, 5000)):
                p.enqueue(thread, queue, api, at, kind, t + 100, t + 200, t + start, t + end, name=name)
            p.write(path)
        value = self.json(path, "overlap")
        self.assertEqual([(d["process"], d["device"]) for d in value["devices"]],
                         [("host-%d-0" % r, d) for r in (1, 2) for d in (0, 1)])
        first, other = value["devices"][0], value["devices"][2]
        self.assertEqual((first["compute_ns"], first["span_ns"], first["idle_ns"], first["busy_ns"]), (1000, 1700, 0, 1700))
        for got, ns, hidden in ((first["communication"], 600, 0), (first["copies"], 600, 400), (other["copies"], 800, 500)):
            self.assertEqual((got["ns"], got["hidden_ns"], got["exposed_ns"]), (ns, hidden, ns - hidden))
            self.assertAlmostEqual(got["hidden_ratio"], hidden / ns)
        self.assertEqual({w["way"]: (w["count"], w["ns"], w["hidden_ns"]) for w in other["ways"]},
                         {"host_to_device": (1, 600, 500), "device_to_host": (1, 200, 0)})
        self.assertIsNone(value["devices"][1]["copies"]["hidden_ratio"])
        self.assertEqual([(p["devices"], p["compute_ns"]) for p in value["processes"]], [(2, 5000), (2, 5000)])
        text = self.ok("report", path, "overlap").out
        self.assertRegex(text, r"(?m)^1: all devices .*host-1-0")
        self.assertRegex(text, r"host → device +2 ")


# ---- recorded ------------------------------------------------------------------------------


class Walk:
    """The critical path of a trace of one process and one thread, from docs/critical-path.md."""

    def __init__(self, trace):
        main = min(trace["calls"], key=lambda c: c["enter_ns"])["lane"]
        self.calls = sorted((c for c in trace["calls"] if c["lane"] == main), key=lambda c: c["enter_ns"])
        self.ops = {o["correlation"]: o for o in trace["operations"]}
        self.sleeps = [s for s in trace["switches"] if s["lane"] == main and s["in_ns"] and not s["preempted"]]
        self.waits = trace["waits"]
        self.parts = dict.fromkeys("host off_cpu api launch gap kernel copy start_up".split(), 0)
        self.recorded = trace["processes"][0]["start_ns"]
        self.on_path = []
        self.begin = trace["begin"]

    def add(self, category, start, end):
        self.parts[category] += max(0, end - start)

    def awaited(self, enter, waiter):
        """Operations that this call (waiter None) or operation waited for."""
        for w in self.waits:
            if w["enter_ns"] != enter or w["waiter"] != waiter:
                continue
            if w["operation"]:
                yield self.ops[w["operation"]]
            elif w["queue"]:
                yield from (o for o in self.ops.values() if o["lane"] == w["queue"] and o["enter_ns"] <= enter)

    def before(self, op):
        return [o for o in self.ops.values() if o["lane"] == op["lane"] and o["enter_ns"] < op["enter_ns"]]

    def operation(self, op):
        """From its end back to when something else was the cause; what that is, or None and the time in the thread."""
        self.on_path.append(op["correlation"])
        self.add(GROUPS[op["kind"]], op["start_ns"], op["end_ns"])
        call, = (c for c in self.calls if c["enter_ns"] == op["enter_ns"])
        rest = [o for o in [*self.before(op), *self.awaited(op["enter_ns"], op["correlation"])]
                if o["end_ns"] <= op["start_ns"]]
        last = max(rest, key=lambda o: o["end_ns"], default=None)
        blocks = any(w["enter_ns"] == call["enter_ns"] and not w["waiter"] for w in self.waits)
        submitted = (call["leave_ns"] if call["leave_ns"] <= op["start_ns"] else
                     call["enter_ns"] if blocks else op["start_ns"])
        if last and last["end_ns"] >= submitted:
            self.add("gap", last["end_ns"], op["start_ns"])
            return last, None
        at = min(call["leave_ns"], op["start_ns"])
        self.add("launch", at, op["start_ns"])
        return None, at

    def host(self, start, end):
        asleep = sum(max(0, min(end, s["in_ns"]) - max(start, s["out_ns"])) for s in self.sleeps)
        before = max(0, min(end, self.recorded) - start)
        self.parts["start_up"] += before
        self.parts["off_cpu"] += asleep
        self.parts["host"] += end - start - asleep - before

    def run(self, at):
        index = len(self.calls) - 1
        while index >= 0:
            call = self.calls[index]
            if call["enter_ns"] >= at:
                index -= 1
                continue
            if call["leave_ns"] < at:
                self.host(call["leave_ns"], at)
                at = call["leave_ns"]
            done = [o for o in self.awaited(call["enter_ns"], None) if call["enter_ns"] < o["end_ns"] <= at]
            op = max(done, key=lambda o: o["end_ns"], default=None)
            if not op:
                self.add("api", call["enter_ns"], at)
                at = call["enter_ns"]
                continue
            self.add("api", op["end_ns"], at)
            while op:
                op, at = self.operation(op)
        self.host(self.begin, at)
        return self


class Recorded(Case):
    def walked(self, what):
        path = self.record(PROGRAM, what)
        self.ok("export", path, "--to", "json", "-o", self.path(what + ".json"))
        with open(self.path(what + ".json")) as file:
            trace = json.load(file)
        found, = self.paths(path)
        trace["begin"] = trace["processes"][0]["program_start_ns"]
        self.assertEqual((found["waits_inferred"], found["lost"], found["dropped"]), (0, 0, False))
        return found, trace

    def same_as_our_walk(self, found, trace):
        walk = Walk(trace).run(found["end_ns"])
        self.assertEqual({k: found["composition"][k]["ns"] for k in walk.parts}, walk.parts)
        return walk

    def test_kernel_synchronize_copy(self):
        found, trace = self.walked("nyx")
        walk = self.same_as_our_walk(found, trace)
        # The kernel of each turn whose synchronization had to wait for it is on the path.
        finishes = [c for c in trace["calls"] if c["name"] == "clFinish"]
        kernels = [o for o in trace["operations"] if o["kind"] == "kernel"]
        self.assertEqual((len(finishes), len(kernels)), (5, 5))
        for kernel, finish in zip(kernels, finishes):
            self.assertLessEqual(kernel["end_ns"], finish["leave_ns"])
            if kernel["end_ns"] > finish["enter_ns"]:
                self.assertIn(kernel["correlation"], walk.on_path)
        self.assertGreaterEqual(found["waits_recorded"], 5)

    def test_diamond(self):
        found, trace = self.walked("diamond")
        walk = self.same_as_our_walk(found, trace)
        top, left, right, bottom = sorted(trace["operations"], key=lambda o: o["enter_ns"])
        call, = (c for c in trace["calls"] if c["enter_ns"] == bottom["enter_ns"])
        later, sooner = (left, right) if left["end_ns"] > right["end_ns"] else (right, left)
        if later["end_ns"] > call["leave_ns"]:  # else the thread came too late for either to matter
            self.assertIn(later["correlation"], walk.on_path)
            if sooner["end_ns"] <= later["start_ns"]:
                return  # PoCL ran one after the other
            self.assertNotIn(sooner["correlation"], walk.on_path)

    def test_threads(self):
        found, trace = self.walked("threads")
        if not trace["switches"]:
            self.skipTest("no switches of threads are recorded here")
        main = min(trace["calls"], key=lambda c: c["enter_ns"])["lane"]
        own = [c for c in trace["calls"] if c["lane"] == main]
        other, = (o for o in trace["operations"] if o["enter_ns"] not in [c["enter_ns"] for c in own])
        finish, = (c for c in own if c["name"] == "clFinish")
        if other["end_ns"] <= finish["leave_ns"]:
            return  # the main thread came too late to have to wait
        # It slept until the other thread had ended, whose kernel is on the path.
        kernels = sum(c["ns"] for c in found["contexts"] if c["category"] == "kernel")
        self.assertGreaterEqual(kernels, other["end_ns"] - max(other["start_ns"], finish["leave_ns"]))
        self.assertGreaterEqual(found["wakes_inferred"], 1)

    def test_user_events(self):
        """The kernel could start when another thread had thought for 100 ms of CPU time: that is on the path, and no launch delay."""
        found, trace = self.walked("user-event")
        kernel, = (o for o in trace["operations"] if o["kind"] == "kernel")
        done, = (c for c in trace["calls"] if c["name"] == "clSetUserEventStatus")
        held, = (w for w in trace["waits"] if w["waiter"] == kernel["correlation"])
        self.assertIn((done["enter_ns"], held["operation"]), [(w["enter_ns"], w["waiter"]) for w in trace["waits"]])
        self.assertLessEqual(done["leave_ns"], kernel["start_ns"])
        self.assertEqual(found["composition"]["launch"]["ns"], kernel["start_ns"] - done["leave_ns"])
        self.assertEqual(found["composition"]["kernel"]["steps"], 1)
        thought = sum(c["ns"] for c in found["contexts"] if c["category"] in ("host", "off_cpu") and
                      any(f["name"] in ("think", "complete") for f in c["frames"]))
        self.assertGreaterEqual(thought, 90_000_000)

    def test_callbacks(self):
        """Ten kernels, each enqueued by the callback of the one before, while the main thread sleeps: all of them decide."""
        found, trace = self.walked("callbacks")
        if not trace["switches"]:
            self.skipTest("no switches of threads are recorded here")
        kernels = [o for o in trace["operations"] if o["kind"] == "kernel"]
        part = found["composition"]["kernel"]
        self.assertEqual((len(kernels), part["steps"]), (10, 10))
        self.assertGreaterEqual(part["ns"], sum(o["end_ns"] - o["start_ns"] for o in kernels) * 0.99)
        self.assertGreaterEqual(found["callbacks_inferred"], 9)
        # Twice as fast, they would save their half, but for what the dispatch in between takes.
        saving, = (t["saving_ns"] for t in found["things"] if t["name"] == "spin")
        self.assertGreaterEqual(saving, part["ns"] * 0.45)

    def test_compiling_beside_a_thread_that_looks(self):
        """The main thread sleeps and looks, again and again, until another has built a program: half of the building is half saved."""
        found, trace = self.walked("compile")
        if not trace["switches"]:
            self.skipTest("no switches of threads are recorded here")
        main = min(trace["calls"], key=lambda c: c["enter_ns"])["lane"]
        beside = sum(c["leave_ns"] - c["enter_ns"] for c in trace["calls"]
                     if c["name"] == "clBuildProgram" and c["lane"] != main)
        building, = (t for t in found["things"] if t["name"] == "clBuildProgram")
        self.assertGreaterEqual(building["ns"], beside * 0.9)
        self.assertGreaterEqual(building["saving_ns"], building["ns"] * 0.45)
        self.assertLessEqual(building["saving_ns"], building["half_ns"])


cli.main()
