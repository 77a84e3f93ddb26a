"""formats_test.py - the exports of profiles and traces for other tools, each read by a reader that shares no code with Sonde.

folded by its rule, speedscope by npm's page in Chromium, pprof by Go's, chrome by Holistic Trace Analysis. Their totals
equal the report's; what the zoo, odd names, a full disk and a measurement without a trace do to all formats alike is tested here, too.
"""
import collections
import gzip
import json
import os
import re
import shutil
import subprocess
import sys

import cli
import scenes
import zoo

NODE = os.path.join(cli.BUILD, "viewer", "node", "bin", "node")


def totals(path):
    """Of the report: the sums of all contexts."""
    done = cli.run("report", path, "profile", "--json", "--min-percent", "0")
    return json.loads(done.out)["rows"][0]["inclusive"]


def groups(path):
    """Of the report: count and time of each kernel, copy and fill by name."""
    rows = []
    for view in ("kernels", "copies"):
        rows += json.loads(cli.run("report", path, view, "--json").out)
    return rows


class Case(cli.Case):
    def exported(self, path, to, *more):
        return self.ok("export", path, "--to", to, "-o", "-", *more).stdout

    def file(self, path, to, name):
        self.ok("export", path, "--to", to, "-q", "-o", self.path(name))
        return self.path(name)


# ---- folded --------------------------------------------------------------------------------------

def folded(text):
    """{(frame, ...): value}: the last space of a line divides, semicolons within."""
    stacks = collections.Counter()
    for line in text.split("\n")[:-1]:
        stack, _, value = line.rpartition(" ")
        stacks[tuple(stack.split(";"))] += int(value)
    return stacks


class Folded(Case):
    def test_golden(self):
        self.expect("export-folded", self.exported(scenes.demo(self.folder)[0], "folded").decode("utf-8"))

    def test_totals(self):
        for path in (scenes.demo(self.folder)[0], scenes.sampled(self.folder)[0], scenes.profile_only(self.folder)[0],
                     scenes.annotated(self.folder)[0]):
            stacks = folded(self.exported(path, "folded").decode("utf-8"))
            self.assertEqual(sum(stacks.values()), totals(path)["gpu"])
            by_name = collections.Counter()
            for stack, value in stacks.items():
                by_name[stack[-1]] += value
            for row in groups(path):
                if row["total_ns"]:
                    self.assertEqual(by_name[row["name"]], row["total_ns"], row["name"])

    def test_odd_names(self):
        path, p = scenes.odd_names(self.folder)
        text = self.exported(path, "folded").decode("utf-8")
        stacks = folded(text)
        self.assertEqual(len(stacks), len(p.truth))
        self.assertEqual({len(stack) for stack in stacks}, {5})
        self.assertFalse(re.search("[\0-\x09\x0b-\x1f\x7f]", text))
        self.assertEqual(sorted(stacks.values()), [1000 + i for i in range(len(p.truth))])
        self.assertIn(": 17", {stack[-1] for stack in stacks})

    def test_no_device_time(self):
        self.assertRegex(self.fails("export", zoo.calls_only(self.folder), "--to", "folded").err, "no device time .* --to pprof")


# ---- speedscope ----------------------------------------------------------------------------------

class Speedscope(Case):
    TITLES = {"device time": "gpu", "operations": "ops", "bytes moved": "bytes", "queue delay": "queue", "API calls": "calls",
              "host time in API calls": "api", "CPU samples": "samples", "CPU time": "cpu", "time in waits of the C library": "slept"}

    def read(self, path):
        return json.loads(self.exported(path, "speedscope").decode("utf-8"))

    def test_golden(self):
        self.expect("export-speedscope", re.sub('"sonde [0-9.]+"', '"sonde VERSION"', self.exported(scenes.demo(self.folder)[0], "speedscope").decode("utf-8")))

    def test_totals(self):
        for path in (scenes.demo(self.folder)[0], scenes.sampled(self.folder)[0], scenes.profile_only(self.folder)[0]):
            truth, file = totals(path), self.read(path)
            self.assertEqual({p["name"] for p in file["profiles"]}, {title for title, column in self.TITLES.items() if truth[column]})
            for profile in file["profiles"]:
                self.assertEqual(sum(profile["weights"]), truth[self.TITLES[profile["name"]]], profile["name"])
                self.assertEqual(profile["endValue"], sum(profile["weights"]))
                self.assertEqual(len(profile["weights"]), len(profile["samples"]))
            frames, device = file["shared"]["frames"], file["profiles"][0]
            by_name = collections.Counter()
            for stack, weight in zip(device["samples"], device["weights"]):
                by_name[frames[stack[-1]]["name"]] += weight
            for row in groups(path):
                if row["total_ns"]:
                    self.assertEqual(by_name[row["name"]], row["total_ns"])

    def test_schema_of_the_package(self):
        schema = os.path.join(cli.BUILD, "viewer/node_modules/speedscope/dist/release/file-format-schema.json")
        try:
            import jsonschema
        except ImportError:
            self.skipTest("the Python package jsonschema is missing")
        if not os.path.exists(schema):
            self.skipTest("npm's package speedscope is missing")
        with open(schema) as file:
            schema = json.load(file)
        for path in (scenes.demo(self.folder)[0], scenes.sampled(self.folder)[0], scenes.odd_names(self.folder)[0]):
            jsonschema.validate(self.read(path), schema)

    def page(self, path, name):
        """What npm's page shows of it."""
        node = NODE if os.path.exists(NODE) else shutil.which("node")
        if not node:
            self.skipTest("Node is missing")
        done = subprocess.run([node, os.path.join(cli.HERE, "speedscope_check.mjs"), cli.BUILD, self.file(path, "speedscope", name)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
        if done.returncode == cli.SKIP:
            self.skipTest(done.stdout.decode().strip())
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = json.loads(done.stdout)
        self.assertEqual(shown["failed"], [])
        return shown

    def test_in_its_own_page(self):
        shown = self.page(scenes.sampled(self.folder)[0], "sampled.json")
        self.assertEqual([name for _, name, _ in shown["profiles"]],
                         ["device time", "queue delay", "host time in API calls", "CPU time", "operations", "bytes moved", "API calls", "CPU samples"])
        self.assertEqual([total for _, _, total in shown["profiles"]][:4], ["24.00ms", "2.30ms", "7.15ms", "95.00ms"])
        self.assertEqual(shown["frames"][:3], [["12.00ms (50%)", "12.00ms (50%)", "fold"], ["9.00ms (38%)", "9.00ms (38%)", "map_tree"],
                                               ["3.00ms (13%)", "3.00ms (13%)", "read"]])
        self.assertIn(["18.00ms (75%)", "0.00ns (<0.01%)", "visit()"], shown["frames"])
        self.assertEqual(sorted(name for _, _, name in shown["frames"] if name == "tree()"), ["tree()"])  # recursion is one frame

    def test_odd_names_in_its_own_page(self):
        shown = self.page(scenes.odd_names(self.folder)[0], "odd.json")
        self.assertIn("<b onload=\"x\">&amp;</b>;'`", {name for _, _, name in shown["frames"]})


# ---- pprof ---------------------------------------------------------------------------------------

class Pprof(Case):
    COLUMNS = {"operations": "ops", "device": "gpu", "bytes": "bytes", "queue": "queue", "calls": "calls", "host": "api",
               "samples": "samples", "cpu": "cpu", "waiting": "slept"}

    def go(self, *args):
        if not shutil.which("go"):
            self.skipTest("Go's pprof is missing")
        done = subprocess.run(["go", "tool", "pprof", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                              env={**os.environ, "PPROF_TMPDIR": self.folder, "HOME": self.folder})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode("utf-8")

    def raw(self, path, name="raw.pb.gz"):
        """{value name: sum} and the texts of the locations, by Go."""
        text = self.go("-raw", self.file(path, "pprof", name))
        names = [part.split("/")[0] for part in re.search(r"Samples:\n(.*)\n", text).group(1).split()]
        rows = re.findall(r"^ +([-\d ]+): [\d ]*$", text, re.M)
        sums = [sum(column) for column in zip(*([int(v) for v in row.split()] for row in rows))]
        return dict(zip(names, sums)), text

    def test_totals(self):
        for i, path in enumerate((scenes.demo(self.folder)[0], scenes.sampled(self.folder)[0], scenes.profile_only(self.folder)[0],
                                  scenes.annotated(self.folder)[0])):
            truth, (sums, _) = totals(path), self.raw(path, "%d.pb.gz" % i)
            for name, column in self.COLUMNS.items():
                self.assertEqual(sums.get(name), truth[column], name)  # both None where the CPU was not sampled

    def test_golden(self):
        _, text = self.raw(scenes.demo(self.folder)[0])
        self.expect("export-pprof", text.replace("\r", "\\r"))

    def test_top(self):
        path = self.file(scenes.sampled(self.folder)[0], "pprof", "top.pb.gz")
        top = self.go("-top", "-unit=ms", path)
        self.assertRegex(top, r"Type: device\n")
        self.assertRegex(top, r"\n +12ms 50.00% 50.00% +12ms 50.00%  fold\n +9ms 37.50% 87.50% +9ms 37.50%  map_tree\n")
        self.assertRegex(top, r"23ms 95.83%  tree\(\)\n")  # recursion counts once
        self.assertRegex(top, r"24ms +100%  <module>\n")
        kernels = self.go("-top", "-unit=ms", "-tagfocus=operation=kernel", path)
        self.assertRegex(kernels, "for 21ms, 87.50% of 24ms")
        self.assertRegex(self.go("-top", "-unit=ms", "-sample_index=cpu", path), r"\n +60ms 63.16% 63.16% +60ms 63.16%  leaf\(\)\n")

    def test_odd_names(self):
        path, p = scenes.odd_names(self.folder)
        sums, text = self.raw(path)
        self.assertEqual(sums["operations"], len(p.truth))
        self.assertIn("k" * 5000, text)
        self.assertIn("\ufffd\ufffd broken", text)

    def test_it_is_gzip(self):
        data = self.exported(scenes.demo(self.folder)[0], "pprof")
        self.assertEqual(data[:2], b"\x1f\x8b")
        self.assertIn(b"Solver.step", gzip.decompress(data))


# ---- chrome --------------------------------------------------------------------------------------

class Chrome(Case):
    def read(self, path):
        return json.loads(self.exported(path, "chrome").decode("utf-8"))

    def test_golden(self):
        self.expect("export-chrome", re.sub('"sonde":"[0-9.]+"', '"sonde":"VERSION"', self.exported(scenes.annotated(self.folder)[0], "chrome").decode("utf-8")))

    def test_every_operation_and_call(self):
        path, processes = scenes.demo(self.folder)
        events = self.read(path)["traceEvents"]
        devices = [e for e in events if "stream" in e.get("args", {})]
        self.assertEqual(len(devices), sum(len(p.truth) for p in processes))
        self.assertEqual(len([e for e in events if e["cat"] == "cuda_runtime"]), sum(len(p.calls) for p in processes))
        begins, ends = ({e["id"] for e in events if e["ph"] == phase} for phase in "sf")
        self.assertEqual(begins - ends, {(1 << 40) ^ op["correlation"] for op in processes[0].truth if op["start_ns"] is None or op["end_ns"] < op["start_ns"]})
        self.assertEqual(ends - begins, set())
        # Slices of one track do not overlap.
        tracks = collections.defaultdict(list)
        for e in devices:
            if e["ph"] == "X":
                tracks[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
        for slices in tracks.values():
            slices.sort()
            for (_, end), (begin, _) in zip(slices, slices[1:]):
                self.assertLessEqual(end, begin + 1e-6)

    def test_holistic_trace_analysis(self):
        """The measurement of a CUDA program: kernels by name, copies, launches, and streams are as in the report."""
        try:
            import hta  # noqa: F401
        except ImportError:
            self.skipTest("the Python package HolisticTraceAnalysis is missing")
        path, _ = scenes.cuda(self.folder)
        file = self.file(path, "chrome", "trace.json")
        script = os.path.join(cli.HERE, "hta_check.py")
        done = subprocess.run([sys.executable, script, file], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, "HTA_DISABLE_NS_ROUNDING": "1"}, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout.decode().strip().split("\n")[-1])
        truth = {row["name"]: row["total_ns"] for row in json.loads(cli.run("report", path, "kernels", "--json").out)}
        self.assertEqual({name: round(us * 1000) for name, us in found["kernels"].items()},
                         {**truth, "Memcpy HtoD (pinned -> device)": 8000, "Memset (Device)": 500})
        self.assertEqual(found["types"], {"COMPUTATION": True, "COMMUNICATION": True, "MEMORY": True})
        self.assertEqual(found["launches"], 4)
        self.assertEqual(round(found["launch_delay_us"] * 1000), 4 * 3000)  # since the end of the call


# ---- all alike -----------------------------------------------------------------------------------

STREAMS = ("folded", "speedscope", "pprof", "chrome")


class All(Case):
    def check(self, to, data):
        """Is it whole, by its format?"""
        if to == "folded":
            folded(data.decode("utf-8"))
        elif to == "pprof":
            gzip.decompress(data)
        else:
            json.loads(data.decode("utf-8"))

    def test_the_zoo(self):
        for make in zoo.ZOO:
            path = make(self.folder)
            for to in STREAMS:
                done = cli.run("export", path, "--to", to, "-o", "-", cwd=self.folder)
                self.assertIn(done.returncode, (0, 1), done.err)
                if done.returncode:
                    self.assertRegex(done.err, r"\Asonde: there (is|are) no .+\n\Z")
                    self.assertEqual(done.stdout, b"")
                else:
                    self.check(to, done.stdout)
            shutil.rmtree(path)

    def test_a_full_disk(self):
        path = scenes.long_run(self.folder, 30000)[0]
        for to in STREAMS:
            self.assertRegex(self.fails("export", path, "--to", to, "-o", "/dev/full").err, "cannot write /dev/full: No space left on device")
        for limit in (0, 100):
            for to in STREAMS:
                self.assertRegex(self.fails("export", path, "--to", to, "-o", self.path("out"), most=limit).err,
                                 r"\Asonde: cannot write \S+: File too large\n\Z")
        self.assertEqual(os.listdir(self.folder), ["long.sonde"])

    def test_without_a_trace(self):
        path = scenes.profile_only(self.folder)[0]
        whole = scenes.demo(self.folder, "whole.sonde")[0]
        for to in ("folded", "speedscope", "pprof"):
            self.assertTrue(self.exported(path, to))
        self.assertRegex(self.fails("export", path, "--to", "chrome").err, "there is no trace")
        shutil.rmtree(os.path.join(whole, "beta-4711-0"))
        self.assertEqual(self.exported(path, "folded"), self.exported(whole, "folded"))


if __name__ == "__main__":
    cli.main()
