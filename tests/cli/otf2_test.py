"""otf2_test.py - `sonde export --to otf2`, read by otf2-print and by OTF2's own Python reader."""
import collections
import json
import os
import shutil
import subprocess

import cli
import scenes
import zoo

PYTHON = "/usr/bin/python3"  # Debian's: its package python3-otf2 is for it


class Otf2(cli.Case):
    def export(self, path, name="out.otf2"):
        self.ok("export", path, "--to", "otf2", "-q", "-f", "-o", self.path(name))
        return self.path(name, "traces.otf2")

    def print(self, file, *options):
        """By otf2-print, which warns of all that is out of order."""
        if not shutil.which("otf2-print"):
            self.skipTest("otf2-print (otf2-tools) is missing")
        done = subprocess.run(["otf2-print", *options, file], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stderr.decode()), (0, ""))
        return done.stdout.decode("utf-8")

    def read(self, path):
        done = subprocess.run([PYTHON, "-c", "import otf2"], stderr=subprocess.DEVNULL)
        if done.returncode:
            self.skipTest("OTF2's Python reader (python3-otf2) is missing")
        done = subprocess.run([PYTHON, os.path.join(cli.HERE, "otf2_check.py"), self.export(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return json.loads(done.stdout)

    def test_golden(self):
        text = self.print(self.export(scenes.cuda(self.folder)[0]), "-G") + self.print(self.path("out.otf2", "traces.otf2"))
        self.expect("export-otf2", "\n".join(line.rstrip() for line in text.split("\n")))

    def test_messages(self):
        """As many, and as many bytes, as the view has, by both ends; of what all do together, too."""
        path, _ = scenes.messages(self.folder)
        said, doc = json.loads(self.ok("report", path, "messages", "--json").out), self.read(path)
        want = {(row["from"], row["to"]): (row["count"], row["bytes"]) for row in said["pairs"]}
        self.assertEqual(len(want), 3)
        for end in ("send", "receive"):
            found = collections.defaultdict(list)
            for _, sender, receiver, _, _, size, _ in (row for row in doc["messages"] if row[0] == end):
                found[sender, receiver].append(size)
            self.assertEqual({pair: (len(sizes), sum(sizes)) for pair, sizes in found.items()}, want, end)
        self.assertEqual({(row[3], row[4]) for row in doc["messages"]}, {("3 ranks, a, 1", 7)})
        together = collections.defaultdict(list)
        for function, rank, comm, root, size, begin, end in doc["collectives"]:
            self.assertEqual((rank in range(3), root, end - begin), (True, None, 2000))
            together["MPI_" + function.capitalize(), comm].append(size)
        self.assertEqual({key: (len(sizes), sum(sizes)) for key, sizes in together.items()},
                         {(row["function"], row["comm"]): (row["count"], row["bytes"]) for row in said["collectives"]})
        # Each at the call that says so: sent when it is entered, received when it is left.
        calls = collections.Counter((region, begin, end) for _, region, begin, end, *_ in doc["slices"] if region.startswith("MPI_"))
        times = {end: {row[6] for row in doc["messages"] if row[0] == end} for end in ("send", "receive")}
        self.assertEqual(times, {"send": {begin for name, begin, _ in calls if name == "MPI_Send"}, "receive": {end for name, _, end in calls if name == "MPI_Recv"}})

    def test_every_operation_and_call(self):
        path, processes = scenes.demo(self.folder)
        doc = self.read(path)
        shift = {p.name: p.wall_offset_ns - processes[1].wall_offset_ns for p in processes}  # to the clock of the first to start
        where = doc["locations"]
        streams, threads = collections.Counter(), collections.Counter()
        for at, region, begin, end, correlation, frames in doc["slices"]:
            place = where[at]
            (streams if place["type"] == "GPU" else threads)[place["creator"] or place["group"], region, begin, end, correlation] += 1
            self.assertEqual(frames[-1][0], region)
            self.assertEqual(frames[1:3], [["<module>", "/home/user/main.py", 10], ["Solver.step()", "/home/user/main.py", 20]])
        clean = lambda s: s.decode("utf-8", "replace") if isinstance(s, bytes) else s
        self.assertEqual(streams, collections.Counter(
            (p.name, clean(op["name"]), op["start_ns"] + shift[p.name], op["end_ns"] + shift[p.name], op["correlation"])
            for p in processes for op in p.truth if op["start_ns"] is not None and op["end_ns"] >= op["start_ns"]))
        self.assertEqual(threads, collections.Counter(
            (p.name, c["name"], c["enter_ns"] + shift[p.name], c["leave_ns"] + shift[p.name], c["correlation"] or None) for p in processes for c in p.calls))
        self.assertEqual(sorted({l["host"] for l in where}), ["alpha", "beta"])
        self.assertEqual(len([l for l in where if l["name"].startswith("Queue 2")]), 4)  # four at once
        self.assertEqual(doc["clock"][0], 10**9)
        self.assertEqual(doc["clock"][3] - doc["clock"][1], processes[1].wall_offset_ns)

    def test_totals_copies_and_metrics(self):
        for make in (scenes.cuda, scenes.sampled):
            path, _ = make(self.folder)
            doc = self.read(path)
            sums, counts = collections.Counter(), collections.Counter()
            for at, region, begin, end, _, _ in doc["slices"]:
                if doc["locations"][at]["type"] == "GPU":
                    sums[region] += end - begin
                    counts[region] += 1
            report = [row for view in ("kernels", "copies") for row in json.loads(cli.run("report", path, view, "--json").out)]
            self.assertEqual(sums, {row["name"]: row["total_ns"] for row in report if row["total_ns"]})
            self.assertEqual(counts, {row["name"]: row["timed"] for row in report if row["timed"]})
            moved = sum(value for _, name, value, _ in doc["metrics"] if name == "bytes moved")
            self.assertEqual(moved, sum(row["bytes"] for row in report if row["timed"]))
            for at, way, remote, size, begin, end in doc["copies"]:
                self.assertEqual(doc["locations"][remote]["type"], "CPU_THREAD")
            found = {way: sum(c[3] for c in doc["copies"] if c[1] == way) for way in ("get", "put")}
            self.assertEqual(found, {"get": sum(r["bytes"] for r in report if r["kind"] == "write" and r["timed"]),
                                     "put": sum(r["bytes"] for r in report if r["kind"] == "read")})

    def test_ranges_nest_with_calls(self):
        path, p = scenes.annotated(self.folder)
        doc = self.read(path)
        stop_ns = json.loads(self.ok("export", path, "--to", "json", "-o", "-").stdout)["processes"][0]["stop_ns"]
        found = collections.Counter((region, begin, end) for _, region, begin, end, _, _ in doc["slices"] if region.startswith("["))
        name = lambda r: "[%s%s%s]" % (r["domain"] or "", ": " if r["domain"] else "", r["name"] or "")
        self.assertEqual(found, collections.Counter((name(r), r["begin_ns"], r["end_ns"] or stop_ns) for r in p.ranges
                                                    if (r["end_ns"] or stop_ns) >= r["begin_ns"]))

    def test_memory(self):
        path, p = scenes.sampled(self.folder)
        values = [value for _, name, value, _ in self.read(path)["metrics"] if name == "device memory"]
        self.assertEqual(values[-1], 4096 + (1 << 20))

    def test_odd_names(self):
        path, p = scenes.odd_names(self.folder)
        clean = lambda s: s.decode("utf-8", "replace") if isinstance(s, bytes) else s
        doc = self.read(path)
        self.assertEqual({s[1] for s in doc["slices"] if doc["locations"][s[0]]["type"] == "GPU"}, {clean(odd) for odd in scenes.ODD_NAMES})

    def test_the_zoo(self):
        for make in zoo.ZOO:
            path = make(self.folder)
            done = cli.run("export", path, "--to", "otf2", "-f", "-o", self.path("zoo.otf2"), cwd=self.folder)
            if done.returncode:
                self.assertRegex(done.err, r"\Asonde: there (is|are) no .+\n\Z")
            else:
                self.print(self.path("zoo.otf2", "traces.otf2"))

    def test_an_error_leaves_nothing(self):
        """Whatever the limit: all of it, or an error and what was there before."""
        path = scenes.long_run(self.folder, 5000)[0]
        old = self.export(scenes.demo(self.folder)[0], "old.otf2")
        before = self.print(old)
        fine = 0
        for limit in (0, 1, 83, 100, 1000, 4096, 50000, 100000, 200000, 1 << 30):
            # OTF2's library loses 32 bytes when it cannot open a file.
            done = cli.run("export", path, "--to", "otf2", "-q", "-f", "-o", self.path("old.otf2"), most=limit, env={"ASAN_OPTIONS": "detect_leaks=0"})
            self.assertEqual(sorted(os.listdir(self.folder)), ["demo.sonde", "long.sonde", "old.otf2"])
            if done.returncode:
                self.assertRegex(done.err, r"\Asonde: cannot write \S+old.otf2: File too large\n\Z")
                self.assertEqual(self.print(old), before)
            else:
                self.assertEqual(self.print(old).count("\nENTER"), 10000)
                fine += 1
        self.assertGreater(fine, 0)
        self.assertLess(fine, 9)

    def test_folders_that_are_not_its_own(self):
        path = scenes.demo(self.folder)[0]
        os.mkdir(self.path("mine"))
        with open(self.path("mine", "file"), "w"):
            pass
        self.expect("export-otf2-refused", "".join(self.fails("export", path, "--to", "otf2", *args).err for args in (
            ["-o", "mine"], ["-f", "-o", "mine"], ["-f", "-o", "mine/"], ["-f", "-o", "mine/file"], ["-o", "-"], ["-f", "-o", "/dev/full"], ["-o", "none/a"])))
        self.ok("export", path, "--to", "otf2", "-o", "new/")
        self.expect("export-otf2-there", self.fails("export", path, "--to", "otf2", "-o", "new").err)
        self.ok("export", path, "--to", "otf2", "-f", "-o", "new/")
        self.assertEqual(sorted(os.listdir(self.folder)), ["demo.sonde", "mine", "new"])
        self.assertEqual(os.listdir(self.path("mine")), ["file"])


if __name__ == "__main__":
    cli.main()
