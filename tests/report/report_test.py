"""report_test.py - every view of `sonde report` against known measurements.

The measurements are written by tests/cli/live.py, which shares no code with
src/; the expected numbers are worked out here from the operations that went
in, with Python's own statistics.
"""
import json
import os
import pty
import re
import shutil
import statistics
import subprocess

from views import HERE, Case, columns  # first: it knows where the next are
import cli
import live
import scenes

VIEWS = ("summary kernels copies api profile contexts statistics lanes blame critical overlap objects memory advice "
         "ledger").split()
FROM_TRACES = {"critical", "overlap"}  # say that there is none, and fail
KERNELS = {"kernel", "native", "command_buffer"}


def union(intervals):
    total, end = 0, -1
    for start, stop in sorted(intervals):
        total += max(0, stop - max(start, end))
        end = max(end, stop)
    return total


def timed(op):
    return op["start_ns"] is not None and not op["bad_time"]


class Report(Case):
    def demo(self):
        path, processes = scenes.demo(self.folder)
        return path, [op for p in processes for op in p.truth]

    def test_every_view_fits_its_schema_and_the_terminal(self):
        profile, _ = scenes.profile_only(self.folder)
        for view in FROM_TRACES:
            self.assertIn("there is no trace in", self.fails("report", profile, view).err)
        for path, views in ((self.demo()[0], VIEWS), (profile, [v for v in VIEWS if v not in FROM_TRACES])):
            for view in views:
                self.json(path, view)
                for width in (40, 60, 80, 100, 120, 160):
                    out = self.ok("report", os.path.basename(path), view, env={"COLUMNS": str(width)}).out
                    for line in out.splitlines():
                        self.assertLessEqual(columns(line), width,
                                             "%s at %d: %s" % (view, width, line))

    def test_a_narrow_terminal_loses_the_least_important_columns(self):
        path, _ = self.demo()
        title = lambda view, width: self.ok("report", path, view, env={"COLUMNS": str(width)}).out.splitlines()[0]
        all_kernels = "Kernel count share total mean min max std dev p50 p95 p99"
        self.assertEqual(title("kernels", 200).split(), all_kernels.split())
        before = set()
        for width in range(40, 201, 8):
            shown = set(title("kernels", width).split())
            self.assertTrue(before <= shown, "%d columns lose %s" % (width, before - shown))
            self.assertTrue({"Kernel", "total"} <= shown)
            before = shown
        for view in VIEWS:  # below 40 there is no answer: as if there were 40
            out = [self.ok("report", path, view, env={"COLUMNS": str(width)}).out for width in (1, 20, 40)]
            self.assertEqual(out[0], out[2])
            self.assertEqual(out[1], out[2])
        names = [line.split("  ")[0] for line in self.ok("report", path, "kernels", env={"COLUMNS": "40"}).out.splitlines()]
        self.assertIn("vadd", names)

    def check_stat(self, got, times, where):
        self.assertEqual(got["total_ns"], sum(times), where)
        self.assertEqual(got["min_ns"], min(times), where)
        self.assertEqual(got["max_ns"], max(times), where)
        self.assertAlmostEqual(got["mean_ns"], statistics.fmean(times), delta=1e-6 * max(times) + 1e-9, msg=where)
        self.assertAlmostEqual(got["stddev_ns"], statistics.pstdev(times), delta=1e-3, msg=where)

    def test_cells_tell_processes_apart(self):
        """In 100 columns a device's cell is cut: what differs between processes is before the cut."""
        def job(name, ranks, host, pids):
            path = self.path(name)
            live.write_manifest(path, [name])
            for i, pid in enumerate(pids):
                p = live.Process("%s-%d-0" % (host, pid), pid)
                p.rank = (i + 1, i + 1, 2) if ranks else (0, 0, 0)
                thread, queue = p.thread(pid), p.queue(p.device("NVIDIA H200 with a name that is longer than any column"))
                p.enqueue(thread, queue, "clEnqueueNDRangeKernel", scenes.stack(p), "kernel", p.start_ns + 1000,
                          p.start_ns + 1100, p.start_ns + 1300, p.start_ns + 51300, name="work")
                p.write(path)
            return path
        host = "a-node-with-a-long-name.of-a-cluster.example.org"
        jobs = {("rank 0: 0 NV", "rank 1: 0 NV"): job("ranks", True, host, (4711, 4711 + 1)),
                ("4711: 0 NV", "4712: 0 NV"): job("plain", False, host, (4711, 4712))}
        for labels, path in jobs.items():
            for view in ("summary", "blame", "overlap"):
                lines = self.ok("report", path, view).out.splitlines()
                for label in labels:
                    self.assertEqual(sum(line.startswith(label) for line in lines), 1, (label, view, lines))

    def test_kernels_and_copies(self):
        path, truth = self.demo()
        for view, wanted in (("kernels", KERNELS), ("copies", {"read", "write", "fill"})):
            expected = {}
            for op in truth:
                if op["kind"] in wanted:
                    name = op["name"] if isinstance(op["name"], str) else op["name"].decode("utf-8", "replace")
                    expected.setdefault(name.translate({10: 10}), []).append(op)
            got = {row["name"]: row for row in self.json(path, view)}
            self.assertEqual(len(got), len(expected))
            for name, ops in expected.items():
                row = got[name]
                self.assertEqual(row["count"], len(ops))
                self.assertEqual(row["bytes"], sum(op["bytes"] for op in ops))
                self.assertEqual(row["failed"], sum(op["failed"] for op in ops))
                times = [op["end_ns"] - op["start_ns"] for op in ops if timed(op)]
                self.assertEqual(row["timed"], len(times))
                if times:
                    self.check_stat(row, times, name)
                    delay = row["queue_delay"]
                    self.assertEqual(sum(delay.values()), sum(op["start_ns"] - op["enter_ns"] for op in ops if timed(op)))
                else:
                    self.assertIsNone(row["mean_ns"])  # unknown is not zero
                self.assertEqual(sum(c["count"] for c in row["callers"]), len(ops))

    def test_ledger(self):
        path, truth = self.demo()
        got = self.json(path, "ledger")
        kinds = {}
        for op in truth:
            kinds[op["kind"]] = kinds.get(op["kind"], 0) + 1
        self.assertEqual(got["operations"], kinds)
        self.assertEqual(got["done"], len(truth))
        self.assertEqual(got["seen"], len(truth) + 2)
        self.assertEqual(got["dropped"], 2)
        self.assertEqual(got["dropped_by_cause"]["channel_full"], 2)
        self.assertEqual(got["trace_dropped"], 0)
        self.assertEqual(got["in_flight"], 0)
        self.assertEqual(got["bad_time"], 1)
        self.assertEqual(got["hook_ns"], 12345)
        self.assertEqual(got["agent_ns"], 12345 + 23456)
        on_disk = sum(os.path.getsize(os.path.join(folder, f)) for folder, _, files in os.walk(path) for f in files)
        self.assertEqual(got["bytes_on_disk"], on_disk)
        self.assertIn("one thing to know", [n for p in got["processes"] for n in p["notes"]])

    def test_contexts(self):
        path, truth = self.demo()
        root = self.json(path, "contexts")
        self.assertEqual(root["metrics"]["inclusive"]["operations"], len(truth))
        self.assertEqual(root["metrics"]["inclusive"]["device_ns"],
                         sum(op["end_ns"] - op["start_ns"] for op in truth if timed(op)))
        names = []

        def visit(node, above):
            metrics = node["metrics"]
            for key in ("operations", "bytes", "failed", "api_calls", "api_ns"):
                self.assertEqual(metrics["inclusive"][key], metrics["exclusive"][key] +
                                 sum(c["metrics"]["inclusive"][key] for c in node["children"]), node["label"])
            names.append(above + (node["name"],))
            times = [c["metrics"]["inclusive"]["device_ns"] or 0 for c in node["children"]]
            self.assertEqual(times, sorted(times, reverse=True))
            for child in node["children"]:
                visit(child, above + (node["name"],))

        visit(root, ())
        # Two threads and two processes ran the same code: one path each.
        self.assertEqual(len(names), len(set(names)))
        self.assertIn(("all", None, "<module>", "Solver.step", "clEnqueueNDRangeKernel", "vadd"), names)

    def test_lanes(self):
        path, processes = scenes.demo(self.folder)
        lanes = {(lane["process"], lane["lane"]): lane for lane in self.json(path, "lanes")}
        for p in processes:
            for lane in {op["lane"] for op in p.truth}:
                ops = [op for op in p.truth if op["lane"] == lane]
                spans = [(op["start_ns"], op["end_ns"]) for op in ops if timed(op)]
                got = lanes[p.name, lane]
                self.assertEqual(got["count"], len(ops))
                self.assertEqual(got["busy_ns"], union(spans))
                self.assertEqual(got["first_ns"], min(s for s, _ in spans))
                self.assertEqual(got["last_ns"], max(e for _, e in spans))
        self.ok("export", path, "--to", "json", "-o", "lanes.json")
        with open(self.path("lanes.json")) as file:
            exported = [lane["name"].split(" \u00b7 ")[0].split()[1] for p in json.load(file)["processes"] for lane in p["lanes"]
                        if lane["kind"] == "queue"]
        text = self.ok("report", path, "lanes", "--limit", "0", env={"COLUMNS": "300"}).out
        shown = re.findall(r"queue (\S+) on ", text)
        self.assertTrue(shown)
        self.assertTrue(set(shown) <= set(exported), (shown, exported))  # one number for a queue, wherever it is named
        self.assertEqual(shown.count("1"), len(processes))
        path, _ = scenes.profile_only(self.folder)
        for lane in self.json(path, "lanes"):
            self.assertIsNone(lane["busy_ns"])  # without a trace it is unknown

    def test_api(self):
        path, processes = scenes.demo(self.folder)
        expected = {}
        for call in (c for p in processes for c in p.calls):
            expected.setdefault(call["name"], []).append(call["leave_ns"] - call["enter_ns"])
        got = {row["name"]: row for row in self.json(path, "api")}
        self.assertEqual(set(got), set(expected))
        for name, times in expected.items():
            self.assertEqual(got[name]["count"], len(times))
            self.check_stat(got[name], times, name)

    def test_limits(self):
        path, _ = self.demo()
        self.assertEqual(len(self.json(path, "kernels", "--limit", "2")), 2)
        out = self.ok("report", path, "kernels", "--limit", "1").out
        self.assertIn("3 more: sonde report", out)
        few, many = (self.ok("report", path, "contexts", "--min-percent", p).out.count("\n") for p in ("50", "0"))
        self.assertLess(few, many)

    def test_foreign_names_are_harmless(self):
        path = self.path("names.sonde")
        live.write_manifest(path, ["a\x1b[31mb", "c\nd"])
        p = live.Process("host-1-0", 1)
        queue, thread = p.queue(p.device("GPU\x1b]0;title\x07")), p.thread(1)
        p.enqueue(thread, queue, "clEnqueueTask", scenes.stack(p), "kernel", p.start_ns, p.start_ns + 10,
                  p.start_ns + 1000, p.start_ns + 2000, name=b"\x1b[2Jname\r\n\xff\xfe\t" + "日本".encode())
        p.note("note \x1b[0m")
        p.write(path)
        for view in VIEWS:
            out = self.ok("report", path, view).out
            self.assertNotRegex(out, "[\x00-\x09\x0b-\x1f\x7f]", view)
            self.json(path, view)

    def test_nothing_recorded(self):
        path = self.path("empty.sonde")
        live.write_manifest(path, ["nothing"])
        p = live.Process("host-1-0", 1)
        p.call(p.thread(1), "clGetPlatformIDs", scenes.stack(p), p.start_ns, p.start_ns + 10)
        p.write(path)
        for view in VIEWS:
            done = cli.run("report", path, view)
            self.assertEqual(done.returncode, 1, view)
            self.assertRegex(done.err, r"sonde: no operations in .*empty.sonde: .+; .+")
        self.assertIn("clGetPlatformIDs", cli.run("report", path, "api").out)
        self.assertEqual(json.loads(cli.run("report", path, "ledger", "--json").out)["seen"], 0)
        bare = self.path("bare.sonde")
        live.write_manifest(bare, ["nothing"])
        done = cli.run("report", bare)
        self.assertEqual((done.returncode, done.out), (1, ""))
        self.assertIn("sonde doctor", done.err)

    def test_killed(self):
        path = self.path("killed.sonde")
        p = live.Process("host-1-0", 1, state=1)
        queue, thread = p.queue(p.device("GPU")), p.thread(1)
        p.enqueue(thread, queue, "clEnqueueTask", scenes.stack(p), "kernel", p.start_ns, p.start_ns + 10,
                  p.start_ns + 1000, p.start_ns + 2000, name="k")
        p.ledger["seen"] += 5
        p.ledger["dropped%d" % live.DROPS.index("max_size")] = 3  # loses trace rows, not operations
        p.write(path)
        out = self.ok("report", path).out
        self.assertIn("0 dropped", out)
        self.assertIn("3 missing from the trace", out)
        self.assertIn("5 in flight at exit", out)
        self.assertIn("killed", out)
        self.assertEqual(self.json(path, "ledger")["in_flight"], 5)

    def test_killed_before_the_agent_had_counted(self):
        path = self.path("early.sonde")
        p = live.Process("host-1-0", 1, state=1)
        queue, thread = p.queue(p.device("GPU")), p.thread(1)
        for i in range(7):
            p.enqueue(thread, queue, "clEnqueueTask", scenes.stack(p), "kernel", p.start_ns, p.start_ns + 10,
                      p.start_ns + 1000, p.start_ns + 2000, name="k")
        p.ledger["seen"] = 3
        p.write(path)
        ledger = self.json(path, "ledger")
        self.assertEqual((ledger["seen"], ledger["done"], ledger["in_flight"]), (7, 7, 0))
        self.assertEqual(ledger["processes"][0]["seen"], 7)
        self.assertIn("data: 7 operations", self.ok("report", path).out)

    def test_long_command(self):
        path = self.path("long.sonde")
        live.write_manifest(path, ["program"] + ["日本é"] * 5000)
        p = live.Process("host-1-0", 1)
        queue, thread = p.queue(p.device("GPU")), p.thread(1)
        p.enqueue(thread, queue, "clEnqueueTask", scenes.stack(p), "kernel", p.start_ns, p.start_ns + 10,
                  p.start_ns + 1000, p.start_ns + 2000, name="k")
        p.write(path)
        first = next(line for line in self.ok("report", path).out.splitlines() if line.startswith("program"))
        self.assertTrue(first.startswith("program 日本é 日本é") and first.endswith("…"), first)
        self.assertTrue(columns(first) <= 100 and "\ufffd" not in first, first)

    def test_deep_contexts_stay_readable(self):
        path = self.path("deep.sonde")
        p = live.Process("host-1-0", 1)
        queue, thread = p.queue(p.device("GPU")), p.thread(1)
        node = scenes.stack(p)
        for i in range(40):
            node = p.node(node, p.frame(live.PYTHON, p.python("f", "/home/user/main.py", 100 + i)), 1)
        p.enqueue(thread, queue, "clEnqueueTask", node, "kernel", p.start_ns, p.start_ns + 10,
                  p.start_ns + 1000, p.start_ns + 2000, name="deepest")
        p.write(path)
        rows = self.ok("report", path, "contexts").out.splitlines()
        self.assertTrue(any(re.search(r"\+\d+ kernel deepest$", row) for row in rows), rows[-3:])

    def test_usage(self):
        path, _ = self.demo()
        os.makedirs(self.path("none"))
        self.assertEqual(cli.run("report", cwd=self.path("none")).returncode, 1)
        done = cli.run("report", path, "kernel")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no view 'kernel'", done.err)
        for view, option, meant in (("kernels", ["--bottom-up"], "profile"), ("summary", ["--from", "1s"], "statistics"),
                                    ("profile", ["--lane", "1"], "statistics"), ("lanes", ["--depth", "2"], "profile")):
            done = self.fails("report", path, view, *option, status=2)
            self.assertIn("%s is for the view %s, not for %s" % (option[0], meant, view), done.err)
        done = cli.run("report", self.path("missing.sonde"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("missing.sonde", done.err)

    def test_colors(self):
        path, _ = self.demo()
        self.assertNotIn("\x1b", self.ok("report", path, env={"NO_COLOR": "", "TERM": "xterm"}).out)

        def on_terminal(**env):
            ours, theirs = pty.openpty()
            full = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")} | {"TERM": "xterm"} | env
            with subprocess.Popen([cli.SONDE, "report", path], stdout=theirs, stderr=theirs, env=full) as child:
                os.close(theirs)
                out = b""
                try:
                    while more := os.read(ours, 65536):
                        out += more
                except OSError:
                    pass  # Linux says so when the other end has closed
                child.wait()
            os.close(ours)
            return out.decode()

        self.assertIn("\x1b[1m", on_terminal())
        self.assertNotIn("\x1b", on_terminal(NO_COLOR="1"))

    def test_does_not_change_the_measurement(self):
        path, _ = self.demo()
        state = lambda: {os.path.join(f, n): (os.stat(os.path.join(f, n)).st_mtime_ns, os.path.getsize(os.path.join(f, n)))
                         for f, _, names in os.walk(path) for n in names}
        before = state()
        for view in VIEWS:
            self.ok("report", path, view)
        self.assertEqual(state(), before)


class Symbols(Case):
    """Native frames of a program compiled here: resolved while reading, and stored after sealing."""

    def setUp(self):
        super().setUp()
        self.program = self.path("prog")
        source = os.path.join(HERE, "../unit/analyze/symbols/fixtures/inline.c")
        if not (shutil.which("gcc") and shutil.which("nm")):
            self.skipTest("gcc or nm is missing")
        self.build = lambda kind: subprocess.run(["gcc", "-O2", "-g", "-Wl,--build-id=" + kind, "-o", self.program, source], check=True)
        self.build("none")
        rows = [row.split() for row in subprocess.run(["nm", self.program], check=True, text=True,
                                                      stdout=subprocess.PIPE).stdout.splitlines()]
        self.address = {row[2]: int(row[0], 16) for row in rows if len(row) == 3}
        os.utime(self.program, (10**9, 10**9))  # older than the run: without a build id that is the proof there is

    def measure(self):
        path = self.path("native.sonde")
        p = live.Process("host-1-0", 1)
        module = p.module(self.program)
        outer = p.node(0, p.frame(live.NATIVE, module, self.address["main"] + 1))
        inner = p.node(outer, p.frame(live.NATIVE, module, self.address["outer"] + 1))
        p.enqueue(p.thread(1), p.queue(p.device("GPU")), "clEnqueueTask", inner, "kernel", p.start_ns,
                  p.start_ns + 10, p.start_ns + 1000, p.start_ns + 2000, name="k")
        p.write(path)
        return path, os.path.join(path, p.name)

    def frames(self, path):
        found = []
        node = self.json(path, "contexts")
        while node["children"]:
            node = node["children"][0]
            if node["kind"] == "native":
                found.append((node["name"], os.path.basename(node["file"] or ""), node["module"]))
        return found

    def test_while_reading(self):
        path, _ = self.measure()
        names = [("main", "inline.c", self.program), ("outer", "inline.c", self.program)]
        self.assertEqual(self.frames(path), names)
        os.utime(self.program)  # now it may be another one
        self.assertEqual(self.frames(path), [(None, "", self.program)] * 2)

    def test_stored(self):
        path, process = self.measure()
        tool = lambda *args: subprocess.run([os.path.join(cli.BUILD, "tests", args[0]), *args[1:]], check=True)
        tool("sonde-test-seal", process)
        for _ in range(2):  # once is enough, twice does no harm
            tool("analyze-lookup", "--resolve", process)
        size = os.path.getsize(os.path.join(process, "data.sonde"))
        tool("analyze-lookup", "--resolve", process)
        self.assertEqual(os.path.getsize(os.path.join(process, "data.sonde")), size)
        os.remove(self.program)
        self.assertEqual([f[0] for f in self.frames(path)], ["main", "outer"])

    def ranks(self, count, build_id):
        """Processes of one program, whose own calls are at other places in each."""
        folders = []
        for i in range(count):
            p = live.Process("host-%d-0" % (10 + i), 10 + i)
            module = p.module(self.program, build_id)
            node = p.node(0, p.frame(live.NATIVE, module, self.address["main"] + 1))
            node = p.node(node, p.frame(live.NATIVE, module, self.address["outer"] + 1 + i % 3))
            p.enqueue(p.thread(1), p.queue(p.device("GPU")), "clEnqueueTask", node, "kernel", p.start_ns,
                      p.start_ns + 10, p.start_ns + 1000, p.start_ns + 2000, name="k")
            p.write(self.path("ranks.sonde"))
            folders.append(os.path.join(self.path("ranks.sonde"), p.name))
            subprocess.run([os.path.join(cli.BUILD, "tests", "sonde-test-seal"), folders[-1]], check=True)
        done = subprocess.run([os.path.join(cli.BUILD, "tests", "analyze-lookup"), "--resolve", *folders], stdout=subprocess.PIPE)
        return folders, done.returncode, int(done.stdout)

    def test_ranks_share_what_they_have_in_common(self):
        self.build("0x0123456789abcdef")
        os.utime(self.program, (10**9, 10**9))
        folders, status, files = self.ranks(3, bytes.fromhex("0123456789abcdef"))
        self.assertEqual((status, files), (0, 1))
        os.remove(self.program)
        for folder in folders:
            self.assertEqual([f[0] for f in self.frames(folder)], ["main", "outer"])
        shutil.rmtree(self.path("ranks.sonde"))
        # Without a build id each process's start is compared with the file's time; one that cannot be read stops no other.
        self.build("none")
        os.utime(self.program, (10**9, 10**9))
        folders, status, files = self.ranks(3, b"")
        self.assertEqual((status, files), (0, 3))
        shutil.rmtree(self.path("ranks.sonde"))
        self.ranks(40, b"") # more than are open at once
        last = self.path("ranks.sonde", "host-49-0")
        os.remove(self.program)
        self.assertEqual([f[0] for f in self.frames(last)], ["main", "outer"])
        done = subprocess.run([os.path.join(cli.BUILD, "tests", "analyze-lookup"), "--resolve", self.path("nothing"), last],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)

    def test_another_file_is_refused_and_noted(self):
        path, process = self.measure()
        os.utime(self.program)
        subprocess.run([os.path.join(cli.BUILD, "tests", "sonde-test-seal"), process], check=True)
        subprocess.run([os.path.join(cli.BUILD, "tests", "analyze-lookup"), "--resolve", process], check=True)
        notes = [n for p in self.json(path, "ledger")["processes"] for n in p["notes"]]
        self.assertEqual(len(notes), 1)
        self.assertRegex(notes[0], "no symbols for .*prog: the file differs")


class Synthetic(Case):
    """Measurements of tests/synth, through the real writer: totals are known, seals and processes vary."""

    def synth(self, *options):
        tool, path = os.path.join(cli.BUILD, "tests", "sonde-synth"), self.path("synth.sonde")
        if not os.access(tool, os.X_OK):
            self.skipTest("sonde-synth is not built")
        return path, json.loads(subprocess.run([tool, *options, path], check=True, stdout=subprocess.PIPE).stdout)

    def check(self, *options):
        path, known = self.synth("--operations", "20000", "--lanes", "5", "--threads", "3", *options)
        ledger = self.json(path, "ledger")
        self.assertEqual(ledger["operations"], {k: v for k, v in known["operations"].items() if v})
        self.assertEqual(ledger["seen"], known["seen"])
        got = {row["name"]: row for row in self.json(path, "kernels")}
        for kernel in known["kernels"]:
            for key in ("count", "total_ns", "min_ns", "max_ns"):
                self.assertEqual(got[kernel["name"]][key], kernel[key])
            self.assertGreaterEqual(got[kernel["name"]]["p99_ns"], got[kernel["name"]]["p50_ns"])
        for view in VIEWS:
            if "--profile" not in options or view not in FROM_TRACES:
                self.json(path, view)
                self.ok("report", path, view)

    def test_sealed(self):
        self.check()

    def test_unsealed(self):
        self.check("--unsealed")

    def test_processes(self):
        self.check("--processes", "3")

    def test_profile(self):
        self.check("--profile")

    def test_a_long_trace_without_advice_says_so(self):
        for operations in ("1000", "700000"):
            path, known = self.synth("--operations", operations)
            rows = known["seen"] + known["calls"]
            said = [line for line in self.ok("report", path, env={"COLUMNS": "1000"}).out.splitlines() if line.startswith("advice ")]
            self.assertEqual(said, [f"advice is not computed here for {rows:,} operations and API calls: sonde report {path} advice"] * (rows > 1 << 20))
            shutil.rmtree(path)
        self.assertGreater(rows, 1 << 20)


cli.main()
