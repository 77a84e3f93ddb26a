"""blame_test.py - `sonde report DIR blame`: of programs whose devices are idle for known reasons (tests/programs/idle.c
and team.c, recorded here on PoCL), of the examples, and of made-up measurements. Ranks, not times: the machine may be
busy with something else.
"""
import json
import os

import views  # first: it knows where the next are
import cli
import live
import scenes
import sums
from views import PROGRAMS

EXAMPLES = os.path.join(cli.BUILD, "bin", "examples")
sum_of = sums.blamed


class Case(views.Case):
    def blame(self, path, *more):
        value = self.json(path, "blame", *more)
        for scope in value["scopes"]:
            self.hold(sums.blame_scope(scope))
        return value


class Recorded(Case):
    def record(self, program, *args, options=("--trace",)):
        return super().record(program, *args, options=options, warm=True)

    def by_name(self, value):
        scope = value["scopes"][0]
        names = {}
        for routine in scope["routines"]:
            names[routine["name"]] = names.get(routine["name"], 0) + sum_of(routine)
        return scope, lambda name: names.get(name, 0)

    def is_sampled(self, value):
        if value["processes_by_rule"]["calls"]:
            self.skipTest("the CPU side cannot be sampled here")
        return value["processes_by_rule"]["switches"] == 1

    def test_what_the_host_computes_in_between(self):
        self.holds_once(self.what_the_host_computes_in_between)

    def what_the_host_computes_in_between(self):
        value = self.blame(self.record(os.path.join(PROGRAMS, "idle")))
        switches = self.is_sampled(value)
        scope, blame = self.by_name(value)
        for other in ("clFinish", "clEnqueueNDRangeKernel", "rest", "launch", "main"):
            self.assertGreater(blame("build_next"), blame(other), other)
        routine = next(r for r in scope["routines"] if r["name"] == "build_next")
        self.assertEqual((routine["waiting_ns"], routine["exact_ns"], routine["inferred_ns"]), (0, 0, 0))
        self.assertIn("build_next() idle.c:", routine["place"])
        self.assertEqual([f["name"] for f in routine["callers"]], ["build_next", "main"])
        # Asleep for 10 times 15 ms, the last time after the last call of the loop.
        asleep = next(r for r in scope["routines"] if r["name"] == "nanosleep")
        self.assertIn("rest() idle.c:", asleep["place"])
        self.assertGreater(asleep["exact_ns"], 75e6)
        self.assertEqual((asleep["sampled_ns"], asleep["inferred_ns"], asleep["waiting_ns"]), (0, 0, 0))
        if switches:
            self.assertLess(scope["no_thread_ns"], asleep["exact_ns"])

    def test_a_needless_synchronization(self):
        self.holds_once(self.a_needless_synchronization)

    def a_needless_synchronization(self):
        path = self.record(os.path.join(PROGRAMS, "idle"), "sync")
        calls = {c["name"]: c["total_ns"] for c in json.loads(self.ok("report", path, "api", "--json").out)}
        scope, blame = self.by_name(self.blame(path))
        waiting = {r["name"] for r in scope["routines"] if r["waiting_ns"] > r["computing_ns"]}
        self.assertEqual(waiting, {"clFinish", "clEnqueueReadBuffer"})
        # Not the launches: who wakes the device's thread may lose the processor to it, within the call.
        for other in ("clEnqueueReadBuffer", "launch", "fetch", "build_next"):
            if calls["clFinish"] > calls.get(other, 0):  # it reads ten times less often; but others may take the processor in these calls
                self.assertGreater(blame("clFinish"), blame(other), other)

    def test_vector_add_with_eight_threads(self):
        self.holds_once(self.vector_add_with_eight_threads)

    def vector_add_with_eight_threads(self):
        """The paper's figure 5: copies lead by time, allocation and thread start by blame."""
        path = self.record(os.path.join(PROGRAMS, "team"))
        calls = {c["name"]: c["total_ns"] for c in json.loads(self.ok("report", path, "api", "--json").out)}
        del calls["clBuildProgram"]
        self.assertEqual(max(calls, key=calls.get), "clEnqueueReadBuffer")
        self.assertGreater(calls["clEnqueueReadBuffer"], 2 * calls["clCreateBuffer"])
        value = self.blame(path)
        self.is_sampled(value)
        _, blame = self.by_name(value)
        for leading in ("clCreateBuffer", "start_team"):
            for other in ("clEnqueueReadBuffer", "clEnqueueWriteBuffer", "clReleaseMemObject", "clEnqueueNDRangeKernel", "add"):
                self.assertGreater(blame(leading), blame(other), "%s, %s" % (leading, other))

    def test_contexts_are_known(self):
        for program in (["heat"], ["vector_add"], ["vector_add", "100000", "8", "8"]):
            with self.subTest(program):
                value = self.blame(self.record(os.path.join(EXAMPLES, program[0]), *program[1:]))
                scope = value["scopes"][0]
                self.assertGreater(scope["idle_ns"], 0)
                self.assertLessEqual(scope["uncovered_ns"], .05 * sum_of(scope))
                os.rename(self.path("program.sonde"), self.path("-".join(program)))

    def test_without_samples(self):
        path = self.record(os.path.join(PROGRAMS, "idle"), options=("--trace", "--cpu", "0"))
        value = self.blame(path)
        self.assertEqual(value["processes_by_rule"], {"calls": 1, "samples": 0, "switches": 0})
        scope, blame = self.by_name(value)
        self.assertEqual((scope["sampled_ns"], scope["uncovered_ns"], blame("build_next")), (0, 0, 0))
        for other in ("clFinish", "clEnqueueNDRangeKernel"):  # it can only be said that main() was active
            self.assertGreater(blame("main"), blame(other), other)
        self.assertIn("the CPU side was not sampled", self.ok("report", path, "blame").out)

    def test_without_a_trace(self):
        path = self.record(os.path.join(PROGRAMS, "idle"), options=("--profile",))
        value = self.blame(path)
        self.assertEqual((value["traced"], value["scopes"]), (False, []))
        self.assertIn("blame needs --trace", self.ok("report", path, "blame").out)
        summary = json.loads(self.ok("report", path, "--json").out)
        self.assertEqual([d["idle_most"] for d in summary["devices"]], [None])
        self.assertEqual([d["idle_for"] for d in summary["devices"]], [None])
        self.assertNotIn("Idle during", self.ok("report", path).out)


class Made(Case):
    def test_devices_and_processes(self):
        path, processes = scenes.demo(self.folder)
        value = self.blame(path)
        scopes = value["scopes"]
        self.assertIsNone(scopes[0]["process"])
        for field in ("range_ns", "idle_ns", "no_thread_ns", "intervals"):
            own = [s[field] for s in scopes[1:] if s["device"] is None]
            self.assertAlmostEqual(scopes[0][field], sum(own), delta=2 * len(own))
        self.assertIn("no thread", self.ok("report", path, "blame").out)
        for threads in "1", "3", "64":
            self.assertEqual(json.loads(self.ok("report", path, "blame", "--json", env={"SONDE_THREADS": threads}).out), value)

    def test_the_text_of_a_known_one(self):
        p = live.Process("host-1-0", 1)
        thread, queue, t = p.thread(1), p.queue(p.device("GPU")), p.start_ns
        p.enqueue(thread, queue, "clEnqueueNDRangeKernel", scenes.stack(p), "kernel", t + 1000, t + 1100, t + 1300,
                  t + 51300, name="work")
        p.call(thread, "clFinish", scenes.stack(p), t + 1400, t + 71300)
        path = self.path("one.sonde")
        live.write_manifest(path, ["one"])
        p.write(path)
        scope = self.blame(path)["scopes"][1]
        self.assertEqual((scope["idle_ns"], scope["waiting_ns"]), (scope["range_ns"] - 50000, 20000))
        self.assertEqual(scope["routines"][0]["name"], "clFinish")
        text = self.ok("report", path, "blame").out
        row = next(line for line in text.splitlines() if "clFinish" in line)
        self.assertIn("20.0 µs", row)
        self.assertIn("exact", row)


if __name__ == "__main__":
    cli.main()
