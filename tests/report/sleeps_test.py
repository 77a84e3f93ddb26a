"""sleeps_test.py - a device that is idle while its thread waits in a function of the C library: every view names the
function and the code that waits. tests/programs/naps.c and loader.py wait in five ways, 12 times for 15 ms, recorded here
on PoCL, and loader.py for two kinds of worker processes. Places and shares, not times: how long waits last beyond what they must is the machine's."""
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

    def waited_most(self, path, chosen):
        """Of the threads that called the GPU API."""
        return max((lane for lane in self.json(path, "lanes") if lane["count"] and chosen(lane)), key=lambda lane: lane["waited_ns"] or 0)

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
            much = "mostly" if 2 * host["place_ns"] > host["ns"] else "% of it"
            self.assertIn("%s in %s in %s()" % (much, host["waits_in"], function), summary["verdict"]["sentence"])
        advice = next(a for a in self.json(path, "advice")["advice"] if a["rule"] == "host_code")
        self.assertEqual(advice["frames"][0]["name"], function)
        self.assertIn("of that was waiting, mostly in " + host["waits_in"], advice["evidence"])
        self.assertIn("avoid the wait", advice["change"])
        blame = self.json(path, "blame")
        self.hold(v for scope in blame["scopes"] for v in sums.blame_scope(scope))
        process = blame["scopes"][1]["process"]  # that has operations
        lane = self.waited_most(path, lambda lane: lane["process"] == process)
        self.assertIn(lane["waits_in"].split(" in ")[0], waits)
        self.assertTrue(lane["waits_in"].split(" in ")[1].startswith(function + "()"), lane)
        self.assertGreater(lane["waited_ns"], .9 * WAITED)
        self.assertIn("mostly in", self.ok("report", path, "lanes").out)
        slices = [s for s in self.trace(path).of("wait") if s.name in {"%s in %s()" % (name, function) for name in waits}]
        self.assertGreater(sum(s.end - s.start for s in slices), .9 * WAITED)
        critical = next(c for c in self.json(path, "critical") if c["process"] == process)
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

    def test_worker_processes(self):
        """What the main process waits for is its queue, and the code that takes from it; a worker that uses the GPU API is
        measured, too, and one that does not leaves nothing."""
        if subprocess.run([PYTHON, "-c", "import numpy, pyopencl"], capture_output=True, check=False).returncode:
            self.skipTest("%s lacks numpy or pyopencl" % PYTHON)
        for way, waits, processes in ("fork", {"read"}, 1), ("spawn", {"poll"}, 2):
            with self.subTest(way):
                self.holds_once(lambda: self.of_workers(way, waits, processes))

    def of_workers(self, way, waits, processes):
        path = self.record(PYTHON, os.path.join(HERE, "loader.py"), way)
        self.named(path, "wait", waits)
        self.assertEqual(self.json(path, "summary")["processes"], processes)
        scope = self.json(path, "blame")["scopes"][1]
        got = [child for node in self.tree(scope["contexts"]) if (node["name"] or "").split(".")[-1] == "wait"
               for child in self.tree(node) if (child["name"] or "").split(".")[-1] == "get"]
        self.assertGreater(sum(node["inclusive"]["computing_ns"] for node in got), .9 * WAITED)
        if processes > 1:
            lane = self.waited_most(path, lambda lane: lane["process"] != scope["process"])
            self.assertTrue(lane["waits_in"].startswith("clock_nanosleep in produce()"), lane)
            self.assertGreater(lane["waited_ns"], .9 * WAITED)

    def tree(self, context):
        yield context
        for child in context["children"]:
            yield from self.tree(child)


if __name__ == "__main__":
    cli.main()
