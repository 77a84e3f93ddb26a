"""real_test.py - record, report and export of the examples, whose answers stand in their first comments."""
import collections
import csv
import io
import glob
import json
import os
import re
import sqlite3
import subprocess
import sys

import cli
import formats_test
import otf2_test
import tau_test

try:
    import pyarrow.parquet
except ImportError:
    pyarrow = None
try:
    import perfetto_check
except ImportError as missing:
    perfetto_check = None
    WHY = "the Python package perfetto is missing (%s)" % missing

EXAMPLES = os.path.join(cli.BUILD, "bin", "examples")
OPERATIONS = ("kernel", "copy", "set", "order")
GROUP = {"kernel": "kernel", "fill": "set"}


class Real(cli.Case):
    def record(self, *command):
        program = os.path.join(EXAMPLES, command[0])
        if not os.access(program, os.X_OK):
            self.skipTest("%s is not built" % command[0])
        plain = subprocess.run([program, *command[1:]], cwd=self.folder, capture_output=True, timeout=600)
        if plain.returncode:
            self.skipTest("%s does not run here: %s" % (command[0], plain.stderr.decode().strip()))
        done = self.ok("record", "-o", self.path("run.sonde"), "--", program, *command[1:])
        self.assertEqual(done.stdout, plain.stdout)
        return self.path("run.sonde")

    def check(self, path, counts, moved):
        """Every export and the report agree with the known answers, and with each other."""
        rows = list(csv.DictReader(io.StringIO(
            self.ok("export", path, "--to", "csv", "-o", "-").stdout.decode(), newline="")))
        self.assertEqual(collections.Counter(r["kind"] for r in rows), counts)
        copied = sum(int(r["bytes"]) for r in rows if r["kind"] not in GROUP)
        self.assertEqual(copied, moved)
        ledger = json.loads(self.ok("report", path, "ledger", "--json").out)
        self.assertEqual({k: n for k, n in ledger["operations"].items() if n}, dict(counts))
        self.assertEqual((ledger["seen"], ledger["dropped"], ledger["unmatched"]), (len(rows), 0, 0))
        document = json.loads(self.ok("export", path, "--to", "json", "-o", "-").stdout.decode())
        self.assertEqual([(o["correlation"], o["start_ns"], o["end_ns"]) for o in document["operations"]],
                         [(int(r["correlation"]), int(r["start_ns"]), int(r["end_ns"])) for r in rows])
        self.assertEqual(sum(p["ledger"]["seen"] for p in document["processes"]), len(rows))
        self.check_other_tools(path, rows, document)
        if not perfetto_check:
            self.skipTest(WHY)
        self.check_perfetto(path, rows, document)
        return rows

    def check_other_tools(self, path, rows, document):
        """One round trip: operation by operation where a format has them, else the sum."""
        at = lambda name: self.path("other." + name)
        for to in ("sqlite", "chrome", "otf2", "tau", "speedscope", "folded"):
            self.ok("export", path, "--to", to, "-q", "-f", "-o", at(to))
        operations = collections.Counter((r["name"], int(r["start_ns"]), int(r["end_ns"])) for r in rows)
        total = sum(int(r["duration_ns"]) for r in rows)
        db = sqlite3.connect(at("sqlite"))
        self.assertEqual(collections.Counter(db.execute("SELECT name, start_ns, end_ns FROM named_operation")), operations)
        self.assertEqual(db.execute("SELECT sum(device_ns) FROM context").fetchone()[0], total)
        db.close()
        with open(at("chrome"), encoding="utf-8") as file:
            events = [e for e in json.load(file)["traceEvents"] if "stream" in e.get("args", {})]
        start_ns = document["processes"][0]["start_ns"]
        times = lambda e: (start_ns + round(e["ts"] * 1000), start_ns + round(e["ts"] * 1000) + round(e["dur"] * 1000))
        self.assertEqual(collections.Counter(map(times, events)), collections.Counter((s, e) for _, s, e in operations.elements()))
        with open(at("speedscope"), encoding="utf-8") as file:
            self.assertEqual(sum(json.load(file)["profiles"][0]["weights"]), total)
        with open(at("folded"), encoding="utf-8") as file:
            self.assertEqual(sum(formats_test.folded(file.read()).values()), total)
        self.check_parquet(path, operations, at("parquet"))
        files = [tau_test.File(name) for name in glob.glob(at("tau") + "/MULTI__TIME/profile.0.[1-9]*")]
        self.assertEqual(round(1000 * sum(row[2] for file in files for row in file.flat.values())), total)
        done = subprocess.run([otf2_test.PYTHON, os.path.join(cli.HERE, "otf2_check.py"), os.path.join(at("otf2"), "traces.otf2")], capture_output=True)
        if b"No module named" in done.stderr:
            self.skipTest("OTF2's Python reader (python3-otf2) is missing")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        found = json.loads(done.stdout)
        self.assertEqual(collections.Counter((name, begin, end) for at, name, begin, end, _, _ in found["slices"]
                                             if found["locations"][at]["type"] == "GPU"), operations)

    def check_parquet(self, path, operations, folder):
        """Its times are since the run began; a sanitized library cannot be loaded into Python."""
        if not pyarrow or cli.SANITIZED:
            return
        self.ok("export", path, "--to", "parquet", "-q", "-f", "-o", folder,
                env={"SONDE_EXPORT_PYTHON": sys.executable, "SONDE_PREFIX": cli.BUILD, "PYTHONPATH": os.path.join(cli.HERE, "../../python")})
        table = pyarrow.parquet.read_table(folder, columns=["name", "start_ns", "end_ns"])
        since = lambda rows: collections.Counter((name, start - min(s for _, s, _ in rows), end - start) for name, start, end in rows)
        self.assertEqual(since([(row["name"], row["start_ns"], row["end_ns"]) for row in table.to_pylist()]), since(list(operations.elements())))

    def check_perfetto(self, path, rows, document):
        self.ok("export", path, "--to", "perfetto", "-o", self.path("t"), "-q")
        trace = perfetto_check.load(self.path("t"))
        as_set = collections.Counter(
            (s.name, s.start, s.end, s.args.get("bytes", 0), s.args["called_from"]) for s in trace.of(*OPERATIONS))
        self.assertEqual(as_set, collections.Counter(
            (r["name"], int(r["start_ns"]), int(r["end_ns"]), int(r["bytes"]), r["called_from"]) for r in rows))
        self.assertEqual(len(trace.of("api")), len(document["calls"]))
        flows, submissions = trace.flows(), trace.submissions()
        self.assertEqual(len(submissions), len(rows))
        for begin, end in flows.values():
            self.assertEqual((len(begin), len(end)), (1, 1))
        for begin, end in submissions.values():
            self.assertLessEqual(begin[0].start, end[0].start + 10**6)
        # What decided when another one began, or when a call returned: at most one each.
        waits = [(begin[0], end[0]) for flow, (begin, end) in flows.items() if flow not in submissions]
        self.assertEqual({begin.category for begin, _ in waits} - set(OPERATIONS), set())
        self.assertEqual(max(collections.Counter((end.track, end.start, end.end) for _, end in waits).values()), 1)
        for begin, end in waits:
            self.assertLess(begin.start, end.end if end.category == "api" else end.start)
        self.assertTrue([end for _, end in waits if end.name in ("clFinish", "clEnqueueReadBuffer")])
        queues = {r["queue"] for r in rows}
        self.assertEqual(queues, {trace.name(s.track) for s in trace.of(*OPERATIONS)})

    def places(self, rows, kind):
        return {re.sub(r" [\w.]+:\d+", "", r["called_from"]) for r in rows if r["kind"] == kind}

    def test_vector_add(self):
        rows = self.check(self.record("vector_add", "100000"),
                          collections.Counter(write=2, kernel=1, read=1), 2400000)
        self.assertEqual([(r["name"], r["global_size"]) for r in rows if r["kind"] == "kernel"],
                         [("vector_add", "100000")])
        for row in rows:
            self.assertTrue(row["called_from"].startswith("add() vector_add.c:"), row["called_from"])

    def test_vector_add_with_threads_and_queues(self):
        rows = self.check(self.record("vector_add", "1000", "3", "2"),
                          collections.Counter(write=12, kernel=6, read=6), 6 * 24000)
        self.assertEqual(len({r["queue"] for r in rows}), 6)

    def test_heat(self):
        rows = self.check(self.record("heat", "512", "100", "10"),
                          collections.Counter(fill=1, write=11, kernel=100, copy=10, read=11), 23089152)
        self.assertEqual({(r["name"], r["global_size"]) for r in rows if r["kind"] == "kernel"},
                         {("stencil5", "512 × 512")})
        self.assertEqual(len({r["queue"] for r in rows}), 3)
        self.assertEqual(self.places(rows, "kernel"), {"step() ← main()"})
        self.assertEqual(self.places(rows, "read"), {"save() ← main()", "finish() ← main()"})
        self.assertEqual(self.places(rows, "write"), {"start() ← main()", "boundary() ← main()"})


if __name__ == "__main__":
    cli.main()
