"""start_test.py - what came before a program's first API call, and what was not recorded: of programs that know both
themselves (tests/programs/late.c and pauses.c, recorded here on PoCL). They print between which bounds each figure lies,
by their own clocks, so that it does not matter how loaded the machine is.
"""
import json
import os
import re
import subprocess
import time

import views  # first: it knows where the next are
import cli
from views import PROGRAMS

SLACK = 2e-3  # the programs' clock is slewed by up to 500 ppm, the measurement's is not


class Case(views.Case):
    @classmethod
    def setUpClass(cls):
        """Compiling a kernel would take longer than what comes before the first call."""
        for program in "late", "pauses":
            if os.access(os.path.join(PROGRAMS, program), os.X_OK):
                subprocess.run([os.path.join(PROGRAMS, program), "0"], env={**os.environ, "POCL_CACHE_DIR": cli.POCL_CACHE}, capture_output=True, check=False)

    def record_saying(self, *args, options=()):
        """The measurement, and the numbers that the program printed."""
        os.environ.update(LATE_BORN=str(time.monotonic_ns()), LATE_BORN_CPU="0")
        path = self.record(*args, options=("--trace", *options))
        return path, [int(n) for n in re.findall(r"\d{4,}", self.said)]

    def between(self, value, least, most):
        self.assertGreaterEqual(value, least * (1 - SLACK))
        self.assertLessEqual(value, most * (1 + SLACK))

    def views_agree(self, path):
        """What blame, statistics, the critical path and the export say of one process with one thread: (before, paused)."""
        blame = self.json(path, "blame")["scopes"][1]
        statistics = self.json(path, "statistics")
        rows = {row["kind"]: row for row in statistics["rows"] if row["kind"] != "routine"}
        critical, = self.json(path, "critical")
        before = blame["before_ns"]
        self.assertEqual(rows["before"]["thread_ns"] if "before" in rows else 0, before * statistics["threads"])
        self.assertEqual(critical["composition"]["start_up"]["ns"], before)
        self.assertAlmostEqual(blame["idle_ns"], before + blame["no_thread_ns"] + blame["waiting_ns"] + blame["computing_ns"],
                               delta=4)
        self.assertLessEqual(blame["idle_ns"], blame["range_ns"])
        summary = json.loads(self.ok("report", path, "--json").out)
        self.assertAlmostEqual(summary["wall_ns"], blame["range_ns"] + blame["paused_ns"], delta=2)
        self.assertAlmostEqual(summary["devices"][0]["wall_ns"], blame["range_ns"], delta=2)
        return before, blame["paused_ns"], rows, critical, summary

    def notes(self, path, view):
        out = self.ok("report", path, view, env={"COLUMNS": "1000"}).out
        return [line for line in out.splitlines() if line.startswith("note: recording was off")]


class Late(Case):
    def check(self, *args):
        path, (least, most, least_cpu, most_cpu) = self.record_saying(os.path.join(PROGRAMS, "late"), *args)
        before, paused, _, critical, summary = self.views_agree(path)
        self.between(before, least, most)
        self.between(self.json(path, "blame")["scopes"][1]["before_cpu_ns"], least_cpu, most_cpu)
        self.assertEqual((paused, self.notes(path, "blame")), (0, []))
        self.assertEqual(summary["devices"][0]["idle_most"]["place"], "start-up (before the first API call)")
        place = next(c for c in critical["contexts"] if c["category"] == "start_up")
        self.assertEqual((place["frames"][0]["name"], place["inferred_ns"]), ("main", place["ns"]))
        return path

    def test_a_second_before_the_first_call(self):
        path = self.check("1000", "say")
        self.assertRegex(self.ok("report", path, "blame").out, r"(?m)^.* \(start-up\) +with \d.* of CPU time$")
        self.assertIn("start-up", self.ok("report", path).out)
        self.assertIn("start-up", self.ok("report", path, "statistics").out)
        self.assertIn("from the program's start", self.ok("report", path, "critical").out)

    def test_a_program_in_the_place_of_another(self):
        self.check("500", "say", "exec")

    def test_a_child(self):
        self.check("500", "say", "fork")

    def test_without_samples_and_trace(self):
        path = self.record(os.path.join(PROGRAMS, "late"), "300", options=("--profile", "--cpu", "0"))
        self.assertGreater(json.loads(self.ok("report", path, "--json").out)["devices"][0]["idle_ns"], 300e6 * (1 - SLACK))


class Pauses(Case):
    def test_by_the_program(self):
        path, (least, most) = self.record_saying(os.path.join(PROGRAMS, "pauses"), "say")
        _, paused, rows, critical, _ = self.views_agree(path)
        self.between(paused, least, most)
        self.assertAlmostEqual(rows["paused"]["queue_ns"], paused, delta=2)  # nothing is under way when a pause begins
        self.assertAlmostEqual(critical["composition"]["paused"]["ns"], paused, delta=2)
        self.assertEqual(self.exported(path), 3)
        device, = self.json(path, "overlap")["devices"]
        self.assertEqual(device["span_ns"], device["last_ns"] - device["first_ns"] - paused)
        for view in "summary", "blame", "statistics", "critical", "overlap", "lanes", "memory", "ledger":
            note, = self.notes(path, view)
            self.assertRegex(note, r"recording was off for \S+ ms of .*, 3 times")
        self.assertEqual(self.notes(path, "kernels"), [])

    def exported(self, path):
        out = self.path("out.json")
        self.ok("export", path, "--to", "json", "-o", out)
        with open(out) as file:
            process, = json.load(file)["processes"]
        return len(process["pauses"])

    def test_what_is_not_recorded_from_the_start(self):
        """The program's own word ends the pause that begins with it: the first round is not recorded, nor what came before."""
        path, (least, most) = self.record_saying(os.path.join(PROGRAMS, "pauses"), "say", options=("--start-off",))
        before, paused, *_ = self.views_agree(path)
        self.assertEqual(before, 0)
        self.assertGreater(paused, least * (1 - SLACK))
        self.assertEqual(self.exported(path), 3)

    def test_by_an_option(self):
        """Neither the delay nor what came before it counts."""
        path, (least, most) = self.record_saying(os.path.join(PROGRAMS, "pauses"), "say", options=("--delay", "1ms"))
        before, paused, *_ = self.views_agree(path)
        self.assertEqual(before, 0)
        self.assertGreater(paused, least * (1 - SLACK))


if __name__ == "__main__":
    cli.main()
