"""sleeps_test.py - a device that is idle while its thread waits in a function of the C library: every view names the
function and the code that waits. tests/programs/naps.c and loader.py wait in five ways, 12 times for 15 ms, recorded here
on PoCL. Places and shares, not times: how long waits last beyond what they must is the machine's."""
import json
import os
import subprocess

import views  # first: it knows where the next are
import cli
import sums
from views import HERE, PROGRAMS

try:
    import perfetto_check
except ImportError:
    print("skipped: the Python package perfetto is missing")
    raise SystemExit(cli.SKIP)

MS = 1000000
WAITED = 12 * 15 * MS
PYTHON = "/usr/bin/python3"
C = {"sleep": "nanosleep", "lock": "pthread_mutex_lock", "queue": "pthread_cond_wait", "read": "read", "select": "select"}


class Recorded(views.Case):
    def trace(self, path):
        self.ok("export", path, "--to", "perfetto", "--force", "-o", self.path("t"))
        return perfetto_check.load(self.path("t"))

    def named(self, path, function, waits):
        """Of the measurement: each wait in `function` is in one of `waits`."""
        summary = self.json(path, "summary")
        host = next(p for p in summary["verdict"]["parts"] if p["kind"] == "host_code")
        self.assertEqual(host["place"].split("()")[0], function)
        self.assertIn(host["waits_in"], waits)
        self.assertGreater(host["waited_ns"], .9 * WAITED)
        self.assertLessEqual(host["waited_ns"], host["place_ns"])
        text = " ".join(self.ok("report", path).out.split())
        self.assertIn("%s in %s()" % (host["waits_in"], function), text)
        if host == summary["verdict"]["parts"][0]:  # what PoCL takes to compile is the machine's
            much = "most" if 2 * host["place_ns"] > host["ns"] else "%"
            self.assertIn("%s of it in %s in %s()" % (much, host["waits_in"], function), summary["verdict"]["sentence"])
        advice = next(a for a in self.json(path, "advice")["advice"] if a["rule"] == "host_code")
        self.assertEqual(advice["frames"][0]["name"], function)
        self.assertIn("it waited, mostly in " + host["waits_in"], advice["evidence"])
        self.assertIn("have ready sooner", advice["change"])
        blame = self.json(path, "blame")
        self.hold(v for scope in blame["scopes"] for v in sums.blame_scope(scope))
        lane = max(self.json(path, "lanes"), key=lambda lane: lane["waited_ns"] or 0 if lane["count"] else 0)
        self.assertIn(lane["waits_in"].split(" in ")[0], waits)
        self.assertTrue(lane["waits_in"].split(" in ")[1].startswith(function + "()"), lane)
        self.assertGreater(lane["waited_ns"], .9 * WAITED)
        self.assertIn("mostly in", self.ok("report", path, "lanes").out)
        slices = [s for s in self.trace(path).of("wait") if s.name in {"%s in %s()" % (name, function) for name in waits}]
        self.assertGreater(sum(s.end - s.start for s in slices), .9 * WAITED)
        critical = self.json(path, "critical")[0]
        # Where another thread is taken to have ended a wait, the path goes over to what that one slept in.
        either = waits | ({"usleep", "clock_nanosleep"} if function != "nap" else set())
        things = {t["name"]: t["ns"] for t in critical["things"] if t["category"] == "off_cpu"}
        self.assertGreater(sum(things.get(name, 0) for name in either), .9 * WAITED, things)
        at = [c for c in critical["contexts"] if c["category"] == "off_cpu" and c["frames"] and
              c["frames"][0]["name"] in (function, "produce")]
        self.assertGreater(sum(c["ns"] for c in at), .9 * WAITED)
        rows = [r for r in self.json(path, "statistics")["rows"] if r["name"] in waits]
        self.assertGreater(sum(r["thread_ns"] for r in rows), .9 * WAITED)
        self.assertTrue(any("mostly in %s()" % function in r["label"] for r in rows), rows)
        found = [r for r in blame["scopes"][0]["routines"] if r["name"] in waits and function + "()" in r["place"]]
        self.assertGreater(sum(r["exact_ns"] for r in found), .9 * WAITED)

    def test_in_c(self):
        for way, wait in C.items():
            with self.subTest(way):
                self.holds_once(lambda: self.named(self.record(os.path.join(PROGRAMS, "naps"), way, warm=True),
                                                   "nap" if way == "sleep" else "waits", {wait}))

    def test_what_need_not_wait_is_not_stored(self):
        """36,000 calls; what was stored of them lasted: the thread lost the processor there."""
        path = self.record(os.path.join(PROGRAMS, "naps"), "brief", warm=True)
        self.ok("export", path, "--to", "json", "--force", "-o", self.path("j"))
        with open(self.path("j")) as file:
            stored = json.load(file)["sleeps"]
        self.assertLess(len(stored), 360)
        for sleep in stored:
            self.assertGreaterEqual(sleep["to_ns"] - sleep["from_ns"], 100000)

    def test_in_python(self):
        if subprocess.run([PYTHON, "-c", "import numpy, pyopencl"], capture_output=True, check=False).returncode:
            self.skipTest("%s lacks numpy or pyopencl" % PYTHON)
        for way in C:
            waits = {"sleep": {"clock_nanosleep"}, "read": {"read"}, "select": {"select", "poll"}}.get(
                way, {"sem_wait", "sem_clockwait", "pthread_cond_wait", "pthread_cond_clockwait", "pthread_cond_timedwait"})
            with self.subTest(way):
                self.holds_once(lambda: self.named(self.record(PYTHON, os.path.join(HERE, "loader.py"), way, warm=True), "wait", waits))


if __name__ == "__main__":
    cli.main()
