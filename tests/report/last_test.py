"""last_test.py - `sonde record --last`: what a program did last, however it ended and while it runs, beside the program's own log of each operation.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import time

from views import PROGRAMS, Case  # first: it knows where the next are
import cli
import live

TICKING = os.path.join(PROGRAMS, "ticking")
LEDGER = live.LEDGER


class Last(Case):
    def start(self, *ticking, options=()):
        """Record running; the program has logged its first operation."""
        if not os.access(TICKING, os.X_OK):
            self.skipTest(f"{TICKING} is not built")
        env = {**os.environ, "POCL_CACHE_DIR": cli.POCL_CACHE}
        self.log = self.path("log")
        seconds, *rest = ticking
        child = subprocess.Popen([cli.SONDE, "record", "-o", self.path("m.sonde"), *options, "--", TICKING, str(seconds), self.log, *rest], env=env, cwd=self.folder,
                                 text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 600
        while not (os.path.exists(self.log) and os.path.getsize(self.log)):
            if child.poll() is not None:
                out, err = child.communicate()
                if "clGetPlatformIDs" in out:
                    self.skipTest("no OpenCL platform here: " + out)
                self.fail(out + err)
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        return child

    def end(self, child, status=0):
        out, self.err = child.communicate(timeout=600)
        self.assertEqual(child.returncode, status, out + self.err)

    def operations(self):
        with open(self.log) as file:
            return [(int(before), int(after), name) for before, after, name in map(str.split, file) if after.isdigit()]

    def check(self, path, asked_s, missing_ns=0, may_drop=False):
        """The operations that were over since the recording begins, and no other: in the trace, the profile and the ledger. `missing_ns`: what the agent
        had not seen of the end of one that was killed, or still runs. `may_drop`: more came at once than there is room for; what is missing is counted as that.
        The time that it is of."""
        self.adds_up(path)
        with open(self.path("adds-up.json")) as file:
            export = json.load(file)
        [process] = export["processes"]
        begin, end = process["start_ns"], process["stop_ns"]
        rows = [op for op in export["operations"] if op["kind"] == "kernel"]
        found = sorted(op["enter_ns"] for op in rows)
        log, slack = self.operations(), 2  # one at each end may be on either side: the log has the host's times
        known = [before for before, after, _ in log if after >= begin]
        self.assertTrue(found)
        ledger = self.json(path, "ledger")
        dropped = ledger["dropped"] + ledger["trace_dropped"]
        self.assertTrue(dropped == 0 or may_drop, ledger)
        self.assertLessEqual(len([at for at in known if at <= found[-1]]) - len(found), slack + dropped)
        self.assertLessEqual(len(found) - len(known), slack)
        seen_ns = log[-1][1] if missing_ns == 0 else min(log[-1][1], end) - missing_ns
        self.assertLessEqual(len([before for before, after, _ in log if before > found[-1] and after <= seen_ns]), slack)
        profile = {row["name"]: row["count"] for row in self.json(path, "kernels")}
        names = {name: len([op for op in rows if op["name"] == name]) for name in {op["name"] for op in rows}}
        self.assertEqual(profile, names)
        self.assertEqual((ledger["done"], ledger["unmatched"]), (len(export["operations"]), 0))
        self.assertEqual(ledger["api_calls"] - ledger["calls_dropped"], len(export["calls"]))
        self.assertLessEqual((end - begin) / 1e9, asked_s * 33 / 32 + 0.4)
        return (end - begin) / 1e9

    def test_the_end(self):
        child = self.start(4, options=["--last", "1s"])
        self.end(child)
        self.assertGreater(self.check(self.path("m.sonde"), 1), 0.95)
        self.assertEqual([row["name"] for row in self.json(self.path("m.sonde"), "kernels")], ["add"])

    def test_it_is_said(self):
        self.end(self.start(2, options=["--last", "500ms"]))
        report = " ".join(self.ok("report", self.path("m.sonde")).out.split())
        said = re.search(r"of (\d+\.\d+) s the last (\d+) ms \(--last\): what ended before is in no number", report)
        self.assertTrue(said and float(said[1]) >= 2, report)
        self.assertIn(f"· {said[2]} ms", report)  # what the head says of the measurement's length
        self.assertTrue(500 <= int(said[2]) < 1000, said[0])  # of a busy machine's agent a little more than it looks each 0.1 s

    def test_all_of_a_short_run(self):
        child = self.start(0.5, options=["--last", "1m"])
        self.end(child)
        self.assertEqual(self.json(self.path("m.sonde"), "ledger")["seen"], len(self.operations()))
        self.check(self.path("m.sonde"), 60)

    def test_however_it_ends(self):
        for how, number in (("kill", signal.SIGKILL), ("abort", signal.SIGABRT)):
            child = self.start(2, how, options=["--last", "500ms"])
            self.end(child, -number)
            self.assertGreater(self.check(self.path("m.sonde"), 0.5, 3 * 10**8), 0.45)
            shutil.rmtree(self.path("m.sonde"))

    def test_while_it_runs(self):
        os.mkdir(self.path("m-1.sonde"))  # somebody's
        child = self.start(5, options=["--last", "700ms"])
        for _ in range(2):
            time.sleep(1.7)
            child.send_signal(signal.SIGUSR1)
        self.end(child)
        for number in (2, 3):
            self.assertGreater(self.check(self.path(f"m-{number}.sonde"), 0.7, 3 * 10**8), 0.65)
            self.assertTrue(self.manifest(number)["attached"]["goes_on"])
        self.check(self.path("m.sonde"), 0.7)
        self.assertIn("m-2.sonde", self.err)
        first, second = (self.json(self.path(f"m-{number}.sonde"), "kernels") for number in (2, 3))
        self.assertIn("spin", {row["name"] for row in first})
        self.assertIn("add", {row["name"] for row in second})
        self.assertEqual(os.listdir(self.path("m-1.sonde")), [])

    def test_when_nothing_ends(self):
        """Written once, a while after the last operation, and again only if others came and ended."""
        child = self.start(0.6, "hang", options=["--last", "5s", "--last-when-idle", "800ms"])
        self.end(child)
        self.assertEqual([name for name in sorted(os.listdir(self.folder)) if name.startswith("m-")], ["m-1.sonde"])
        self.check(self.path("m-1.sonde"), 5)
        self.assertEqual(self.json(self.path("m-1.sonde"), "ledger")["seen"], len(self.operations()))
        idle = (self.manifest(1)["end_ns"] - self.operations()[-1][1]) / 1e9
        self.assertTrue(0.75 <= idle <= 2.8, idle)  # after 3 s the program ends
        self.assertIn("for --last", self.fails("record", "--last-when-idle", "1s", "--", TICKING, status=2).err)

    def test_a_hang_that_is_longer_than_it(self):
        """Nothing has ended for longer than the last seconds: what is in flight is told."""
        child = self.start(0.3, "stuck", options=["--last", "400ms", "--last-when-idle", "1500ms"])
        self.end(child, -signal.SIGKILL)
        path = self.path("m-1.sonde")
        [queue] = [lane for lane in json.loads(self.fails("report", path, "lanes", "--json").out) if lane["kind"] == "queue"]
        self.assertEqual((queue["in_flight"], queue["count"], queue["oldest"]), (1, 0, "write"))
        self.assertTrue(1.3e9 <= queue["oldest_for_ns"] <= 2.9e9, queue)
        self.assertRegex(self.fails("report", path, "ledger").out, r"(?m)^in flight +1 ")
        self.assertIn("none had completed when the recording ended", self.fails("report", path, "kernels").err)

    def test_asked_at_any_moment(self):
        """Before the first call, while it runs and when it has ended: record itself goes on to the end."""
        child = self.start(0.3, options=["--last", "5s"])
        while child.poll() is None:
            child.send_signal(signal.SIGUSR1)
            time.sleep(0.003)
        self.end(child)
        self.check(self.path("m.sonde"), 5)

    def test_queues_that_come_and_go(self):
        """A few rows of each of thousands: what is old goes all the same. There is room for a thousand or so of the 12,000 operations."""
        for attempt in range(6): # that is less than a tenth of a second, so that now and then nothing ends in it (docs/last.md)
            try:
                path = self.record(os.path.join(PROGRAMS, "queues"), "churn", "4000", options=["--last", "10s", "--memory", "128M"])
                break
            except AssertionError as error:
                if "no operations in" not in str(error) or attempt == 5:
                    raise
        ledger = self.json(path, "ledger")
        self.assertTrue(0 < ledger["seen"] < 12000, ledger["seen"])
        self.assertEqual((ledger["done"], ledger["trace_dropped"]), (ledger["seen"] - ledger["dropped"], 0))

    def attach(self, *ticking, options):
        """Ticking runs by itself; record has been attached to it. Both."""
        env = {**os.environ, "POCL_CACHE_DIR": cli.POCL_CACHE}
        self.log = self.path("log")
        seconds, *rest = ticking
        program = subprocess.Popen([TICKING, str(seconds), self.log, *rest], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        self.wait(lambda: program.poll() is not None or os.path.exists(self.log) and os.path.getsize(self.log))
        if program.poll() is not None:
            self.skipTest(program.communicate()[0])
        child = subprocess.Popen([cli.SONDE, "record", "-o", self.path("m.sonde"), "--pid", str(program.pid), *options], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        said = child.stderr.readline()
        if "recording process" not in said:
            program.kill()
            self.skipTest(said + child.communicate()[1])
        return program, child

    def wait(self, condition):
        deadline = time.monotonic() + 600
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def test_a_program_that_runs_already(self):
        """While it runs, and when it has ended by itself; of what was before the attach there is nothing."""
        program, child = self.attach(6, options=["--last", "700ms"])
        time.sleep(1.5)
        child.send_signal(signal.SIGUSR1)
        self.end(child)
        self.assertEqual(program.wait(), 0)
        self.assertGreater(self.check(self.path("m-1.sonde"), 0.7, 3 * 10**8), 0.65)
        self.assertTrue(self.manifest(1)["attached"]["goes_on"])
        self.assertGreater(self.check(self.path("m.sonde"), 0.7), 0.65)
        self.assertEqual([row["name"] for row in self.json(self.path("m.sonde"), "kernels")], ["add"])

    def test_it_is_left_and_goes_on(self):
        program, child = self.attach(600, options=["--last", "300ms"])
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        self.end(child)
        at_end = len(self.operations())
        with open(self.path("m.sonde", "manifest.json")) as file:
            end = json.load(file)["end_ns"]
        self.wait(lambda: len(self.operations()) > at_end)
        program.kill()
        program.wait()
        whole, self.log = self.operations(), self.path("until")
        with open(self.log, "w") as file:
            file.writelines(f"{before} {after} {name}\n" for before, after, name in whole if after < end)
        self.assertGreater(self.check(self.path("m.sonde"), 0.3, 3 * 10**8), 0.25)

    def test_it_hangs(self):
        _, child = self.attach(6, "hang", options=["--last", "2s", "--last-when-idle", "800ms"])
        self.end(child)
        self.assertEqual([name for name in sorted(os.listdir(self.folder)) if name.startswith("m-")], ["m-1.sonde"])
        self.check(self.path("m-1.sonde"), 2)
        idle = (self.manifest(1)["end_ns"] - self.operations()[-1][1]) / 1e9
        self.assertTrue(0.75 <= idle <= 2.8, idle)

    def manifest(self, number):
        try:
            with open(self.path(f"m-{number}.sonde", "manifest.json")) as file:
                return json.load(file)
        except (FileNotFoundError, json.JSONDecodeError):
            return {}

    def test_little_memory(self):
        """More than fits: the newest stays, exactly, and it is said."""
        child = self.start(1, "exit", "0", "30000", options=["--last", "1m", "--memory", "8M"])  # 14,000 fit
        self.end(child)
        length = self.check(self.path("m.sonde"), 60, may_drop=True)
        self.assertLess(self.json(self.path("m.sonde"), "ledger")["seen"], 0.9 * len(self.operations()))
        self.assertGreater(length, 0.01)
        self.assertIn("--memory has no room", " ".join(self.ok("report", self.path("m.sonde")).out.split()))
        self.assertIn("the recording is of less", self.ok("report", self.path("m.sonde"), "ledger").out)

    def test_what_does_not_go_together(self):
        for options in (["--profile"], ["--values"], ["--comm"], ["--pc"], ["--max-size", "1G"], ["--counters", "default"]):
            self.assertIn("--last", self.fails("record", "--last", "1s", *options, "--", TICKING, status=2).err)
        self.assertIn("100 ms", self.fails("record", "--last", "10ms", "--", TICKING, status=2).err)


cli.main()
