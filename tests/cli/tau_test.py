"""tau_test.py - `sonde export --to tau`, read by a parser of the format's description and by Hatchet's reader of TAU's profiles."""
import collections
import json
import os
import re
import shutil
import warnings

import cli
import live
import scenes
import zoo


class File:
    """One profile.N.C.T, by TAU's description of the format; anything else is an error."""

    def __init__(self, path):
        with open(path, encoding="utf-8", newline="") as file:
            lines = file.read().split("\n")
        count, self.metric = re.fullmatch(r"(\d+) templated_functions_MULTI_(\w+)", lines.pop(0)).groups()
        head = re.fullmatch(r"# Name Calls Subrs Excl Incl ProfileCalls # <metadata>(.*)</metadata>", lines.pop(0)).group(1)
        self.metadata = dict(re.findall("<attribute><name>(.*?)</name><value>(.*?)</value></attribute>", head))
        self.flat, self.paths, self.events = {}, {}, {}
        for _ in range(int(count)):
            name, calls, subrs, own, all, group = re.fullmatch(r'"([^"]*)" (\d+) (\d+) (\d+(?:\.\d+)?) (\d+(?:\.\d+)?) 0 GROUP="([^"]*)"', lines.pop(0)).groups()
            row = (int(calls), int(subrs), float(own), float(all), group.split(" | "))
            path = tuple(name.split(" => "))
            into, key = (self.paths, path) if "TAU_CALLPATH" in row[4] else (self.flat, name)
            assert key not in into, key
            assert len(path) > 1 or into is self.flat, name
            into[key] = row
        assert lines.pop(0) == "0 aggregates"
        events = int(re.fullmatch(r"(\d+) userevents", lines.pop(0)).group(1))
        assert lines.pop(0) == "# eventname numevents max min mean sumsqr"
        for _ in range(events):
            name, *values = re.fullmatch(r'"([^"]*)" (\S+) (\S+) (\S+) (\S+) (\S+)', lines.pop(0)).groups()
            self.events[name] = tuple(map(float, values))
        assert lines == [""], lines


class Tau(cli.Case):
    def export(self, path, name="out.tau"):
        self.ok("export", path, "--to", "tau", "-q", "-f", "-o", self.path(name))
        return self.path(name)

    def read(self, path):
        """{metric: {(node, context, thread): File}}"""
        folder, found = self.export(path), {}
        for metric in os.listdir(folder):
            files = {}
            for name in os.listdir(os.path.join(folder, metric)):
                number = tuple(map(int, re.fullmatch(r"profile\.(\d+)\.(\d+)\.(\d+)", name).groups()))
                files[number] = File(os.path.join(folder, metric, name))
                self.assertEqual("MULTI__" + files[number].metric, metric)
            found[metric[len("MULTI__"):]] = files
        self.assertEqual(len({tuple(sorted(files)) for files in found.values()}), 1)
        return found

    def report(self, path):
        return json.loads(cli.run("report", path, "profile", "--json", "--min-percent", "0").out)["rows"][0]["inclusive"]

    def test_golden(self):
        folder = self.export(scenes.cuda(self.folder)[0])
        text = ""
        for name in sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names):
            with open(name, encoding="utf-8") as file:
                text += "==> %s\n%s" % (os.path.relpath(name, folder), re.sub("sonde [0-9.]+", "sonde VERSION", file.read()))
        self.expect("export-tau", text)

    def test_totals(self):
        for make in (scenes.demo, scenes.sampled, scenes.profile_only, scenes.annotated, scenes.cuda):
            path, _ = make(self.folder)
            truth, found = self.report(path), self.read(path)
            total = lambda metric, device: round(1000 * sum(row[2] for number, file in found[metric].items() if (number[1] > 0) == device for row in file.flat.values()))
            self.assertEqual(total("TIME", True), truth["gpu"])
            self.assertEqual(total("TIME", False), truth["api"] + truth["slept"])
            self.assertEqual(total("QUEUE_DELAY", True), truth["queue"])
            self.assertEqual(total("BYTES", True) // 1000, truth["bytes"])
            self.assertEqual("SAMPLED_CPU_TIME" in found, truth["cpu"] is not None)
            if truth["cpu"] is not None:
                self.assertEqual(total("SAMPLED_CPU_TIME", False), truth["cpu"])
            operations = sum(row[0] for number, file in found["TIME"].items() if number[1] for row in file.flat.values())
            self.assertEqual(operations, truth["ops"])
            for view in ("kernels", "copies"):
                for row in json.loads(cli.run("report", path, view, "--json").out):
                    name = row["name"].replace('"', "'").replace("\r", " ").replace("\n", " ")
                    files = [file.flat[name] for number, file in found["TIME"].items() if number[1] and name in file.flat]
                    self.assertEqual((sum(f[0] for f in files), round(1000 * sum(f[2] for f in files))), (row["count"], row["total_ns"] or 0))

    def test_call_paths_add_up(self):
        for file in (f for files in self.read(scenes.sampled(self.folder)[0]).values() for f in files.values()):
            root = ".TAU application"
            self.assertAlmostEqual(file.flat[root][3], sum(row[2] for row in file.flat.values()), places=3)
            below = collections.defaultdict(float)
            for path, row in file.paths.items():
                below[path[:-1]] += row[3]
            for path, row in file.paths.items():
                self.assertAlmostEqual(row[3], row[2] + below.get(path, 0), places=3, msg=path)
            self.assertAlmostEqual(file.flat[root][3], below[(root,)] + file.flat[root][2], places=3)

    def test_recursion_counts_once(self):
        flat = self.read(scenes.sampled(self.folder)[0])["TIME"][0, 1, 2].flat
        self.assertEqual(flat["tree() [{/home/user/walk.py} {10}]"][3], 23000)
        self.assertEqual(flat["fold"][:4], (3, 0, 12000, 12000))

    def test_user_events(self):
        files = self.read(scenes.sampled(self.folder)[0])["TIME"]
        self.assertEqual(files[0, 1, 2].events, {"Bytes: read": (2, 1 << 20, 4096, ((1 << 20) + 4096) / 2, float((1 << 40) + 4096**2)),
                                                 "Bytes: write": (1, 64, 64, 64, 4096)})
        self.assertEqual(files[0, 0, 0].events, {"Bytes allocated: buffer": (2, 1 << 20, 4096, ((1 << 20) + 4096) / 2, float((1 << 40) + 4096**2))})
        self.assertEqual(files[0, 1, 2].metadata["Thread"], "Queue 1 · Test GPU 9000")

    def test_nodes_are_ranks(self):
        path = self.path("ranks.sonde")
        live.write_manifest(path, ["mpi"])
        for i, rank in enumerate((3, 0)):
            p = scenes.one_process() if i == 0 else scenes.other_host()
            p.rank = (rank + 1, rank + 1, 4)
            p.write(path)
        self.assertEqual({number[0] for number in self.read(path)["TIME"]}, {0, 3})

    def test_hatchet(self):
        try:
            warnings.simplefilter("ignore")
            import hatchet
        except ImportError:
            self.skipTest("the Python package llnl-hatchet is missing")
        for make in (scenes.cuda, scenes.sampled):
            path, _ = make(self.folder)
            frame = hatchet.GraphFrame.from_tau(self.export(path)).dataframe
            truth = self.report(path)
            self.assertEqual(round(1000 * frame["time"].sum()), truth["gpu"] + truth["api"] + truth["slept"])
            self.assertEqual(round(frame["BYTES"].sum()), truth["bytes"])
            by_name = frame.groupby("name")["time"].sum()
            for row in json.loads(cli.run("report", path, "kernels", "--json").out):
                self.assertEqual(round(1000 * by_name[row["name"]]), row["total_ns"])

    def test_odd_names(self):
        path, p = scenes.odd_names(self.folder)
        flat = self.read(path)["TIME"][0, 1, 2].flat
        self.assertEqual(sum(row[0] for row in flat.values()), len(p.truth))
        self.assertIn("k" * 5000, flat)

    def test_the_zoo(self):
        for make in zoo.ZOO:
            path = make(self.folder)
            done = cli.run("export", path, "--to", "tau", "-f", "-q", "-o", self.path("zoo.tau"), cwd=self.folder)
            if done.returncode:
                self.assertRegex(done.err, r"\Asonde: there (is|are) no .+\n\Z")
                self.assertFalse(os.path.exists(self.path("zoo.tau")))
            else:
                self.read(path)
                shutil.rmtree(self.path("zoo.tau"))

    def test_an_error_leaves_nothing(self):
        path = scenes.cuda(self.folder)[0]
        before = File(os.path.join(self.export(scenes.demo(self.folder)[0]), "MULTI__TIME", "profile.0.0.0")).flat
        for limit in (0, 100, 1000):
            said = self.fails("export", path, "--to", "tau", "-q", "-f", "-o", self.path("out.tau"), most=limit).err
            self.assertRegex(said, r"\Asonde: cannot write \S+out.tau: File too large\n\Z")
            self.assertEqual(File(self.path("out.tau", "MULTI__TIME", "profile.0.0.0")).flat, before)
        self.assertEqual(sorted(os.listdir(self.folder)), ["cuda.sonde", "demo.sonde", "out.tau"])


if __name__ == "__main__":
    cli.main()
