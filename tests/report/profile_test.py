"""profile_test.py - the views `profile` and `statistics` of `sonde report`, on measurements written by
tests/cli/live.py: totals agree with each other, with the ledger and with what went in, at every width and in JSON.
"""
import json
import os
import subprocess

from views import Case, columns  # first: it knows where the next are
import cli
import scenes

MS = 10**6
EVERY = "gpu,ops,bytes,api,sync,queue,cpu,blame,calls,samples,timed,failed"
SHAPES = ["--top-down", "--bottom-up", "--by line", "--by function", "--by module", "--by kernel", "--by object",
          "--top-down --by function", "--top-down --by module", "--bottom-up --by line", "--bottom-up --by module"]


class Viewed(Case):
    def rows(self, path, *more):
        """Rows by label; the first is `all`."""
        return {row["label"]: row for row in self.json(path, "profile", *more)["rows"]}


class Profile(Viewed):
    def test_totals_of_every_shape_agree(self):
        for path, _ in (scenes.demo(self.folder), scenes.annotated(self.folder), scenes.sampled(self.folder)):
            ledger = self.json(path, "ledger")
            whole = None
            for shape in SHAPES:
                value = self.json(path, "profile", *shape.split(), "-m", EVERY, "--min-percent", "0")
                all_of_it, rest = value["rows"][0], value["rows"][1:]
                for row in value["rows"]:
                    for side in "inclusive", "exclusive":  # errors are no sums
                        row[side] = {name: figure for name, figure in row[side].items() if not name.endswith("_error")}
                whole = whole or all_of_it["inclusive"]
                self.assertEqual(all_of_it["inclusive"], whole, shape)
                for name in whole:
                    own = [row["exclusive"][name] for row in rest if value["shape"] != "bottom-up" or row["depth"] == 1]
                    own += [all_of_it["exclusive"][name]] if value["shape"] == "top-down" else []
                    if whole[name] is not None:
                        self.assertAlmostEqual(sum(v or 0 for v in own), whole[name], places=2, msg=(shape, name))
            self.assertEqual(whole["ops"], ledger["done"])
            self.assertEqual(whole["ops"], sum(ledger["operations"].values()))
            self.assertEqual(whole["calls"], ledger["api_calls"])
            self.assertEqual(whole["failed"], ledger["failed"])

    def test_sampled(self):
        path, _ = scenes.sampled(self.folder)
        rows = self.rows(path, "--by", "function")
        cpu = {label: (row["inclusive"]["cpu"] // (5 * MS), row["exclusive"]["cpu"] // (5 * MS)) for label, row in rows.items()}
        # Samples: tree 2, visit 1, tree in visit 3, leaf in it 8, leaf of <module> 4, <module> in the range 1.
        self.assertEqual(cpu["tree() walk.py"], (14, 5))  # the inner tree is below the outer one: counted once
        self.assertEqual(cpu["visit() walk.py"], (12, 1))
        self.assertEqual(cpu["leaf() walk.py"], (12, 12))
        self.assertEqual(cpu["[walk]"], (19, 1))
        self.assertEqual(cpu["all"], (19, 0))
        first = self.json(path, "profile", "--bottom-up", "-m", "cpu")["rows"][1]
        self.assertEqual((first["label"], first["exclusive"]["cpu"]), ("leaf() walk.py", 12 * 5 * MS))
        self.assertEqual(first["exclusive"]["cpu_error"], self.rows(path, "--by", "function")["leaf() walk.py"]["exclusive"]["cpu_error"])
        summary = self.json(path, "summary")["cpu"]
        self.assertEqual((summary["cpu_ns"], summary["samples"], summary["rate_hz"]), (95 * MS, 19, 199))
        # 12 of 19 samples: p (1 - p) of all, by Wilson's interval (sqrt(12/19 * 7/19 / 19 + 1/(4 * 19^2)) / (1 + 1/19) of 95 ms).
        self.assertEqual(summary["top"], {"routine": "leaf() walk.py", "cpu_ns": 60 * MS, "error_ns": 10265993})
        self.assertIn("CPU side: 95.0 ms in 19 samples at 199 Hz · 63.2 % ± 10.8 % in leaf() walk.py", self.ok("report", path).out)
        self.ok("export", path, "--to", "json", "-o", "all.json")
        with open(self.path("all.json")) as file:
            contexts = json.load(file)["contexts"]
        self.assertEqual(sum(c.get("cpu_ns", 0) for c in contexts), 95 * MS)
        self.assertEqual(sum(c.get("samples", 0) for c in contexts), 19)

    def test_kernels_and_objects(self):
        path, _ = scenes.sampled(self.folder)
        rows = self.rows(path, "--by", "kernel")
        self.assertEqual(rows["kernel fold"]["inclusive"]["gpu"], (2 + 4 + 6) * MS)
        self.assertEqual(rows["kernel map_tree"]["inclusive"]["gpu"], (1 + 3 + 5) * MS)
        self.assertEqual(rows["write"]["inclusive"]["gpu"], None)  # without times it is unknown, not zero
        self.assertEqual(rows["write"]["inclusive"]["cpu"], 0)
        self.assertEqual(rows["no operation"]["inclusive"]["gpu"], 0)
        rows = [row for row in self.json(path, "profile", "--by", "object")["rows"] if row["kind"] == "object"]
        self.assertEqual([(row["object"], row["inclusive"]["gpu"], row["inclusive"]["bytes"]) for row in rows],
                         [("buffer", 2 * MS, 1 << 20), ("buffer", MS, 4096)])
        profile, _ = scenes.profile_only(self.folder)
        self.assertIn("recorded with --profile", self.ok("report", profile, "profile", "--by", "object").out)

    def test_columns(self):
        path, _ = scenes.sampled(self.folder)
        value = self.json(path, "profile", "-m", "ops,gpu", "--derive", "each=gpu/ops; none = 1/ (ops-ops);many=1e308*gpu",
                          "--sort", "each", "--by", "kernel")
        self.assertEqual([c["name"] for c in value["columns"]], ["ops", "gpu", "each", "none", "many"])
        self.assertEqual([c["formula"] for c in value["columns"]], [None, None, "gpu/ops", " 1/ (ops-ops)", "1e308*gpu"])
        known = [row["inclusive"]["each"] for row in value["rows"][1:] if row["inclusive"]["each"] is not None]
        self.assertEqual(known, sorted(known, reverse=True))
        self.assertEqual(known[0], 12 * MS / 3)
        self.assertTrue(all(row["inclusive"]["none"] is None for row in value["rows"]))
        self.assertEqual(value["rows"][0]["inclusive"]["many"], "error")
        out = self.ok("report", path, "profile", "--derive", "x=-gpu/3", "-m", "x,gpu").out
        self.assertRegex(out.splitlines()[1], r"-8,000,000 ")
        sync = self.rows(path, "--by", "function", "-m", "sync,api")
        self.assertEqual(sync["clFinish"]["exclusive"]["sync"], 7 * MS)
        self.assertEqual(sync["all"]["inclusive"]["sync"], 7 * MS)

    def test_refused_columns(self):
        path, _ = scenes.demo(self.folder)
        for option, text, column, word in (
                ("--derive", "x=gpu/(apx+1)", 7, "apx"), ("--derive", "x=gpu+", 6, "number"), ("--derive", "gpu=1", 0, "taken"),
                ("--metric", "gpu,cup", 4, "cup"), ("--sort", "gpu:x", 3, ":excl"), ("--sort", "each", 0, "each")):
            done = cli.run("report", path, "profile", option, text)
            self.assertEqual((done.returncode, done.out), (2, ""))
            sentence, shown, caret = done.err.splitlines()
            self.assertTrue(sentence.startswith("sonde report: " + option), sentence)
            self.assertIn(word, sentence)
            self.assertEqual((shown, caret), ("  " + text, "  " + " " * column + "^"))
        for more in (["--top-down", "--by", "kernel"], ["--bottom-up", "--by", "object"], ["--by", "stack"], ["--depth", "0"]):
            self.assertEqual(cli.run("report", path, "profile", *more).returncode, 2)

    def test_root(self):
        path, _ = scenes.sampled(self.folder)
        value = self.json(path, "profile", "--root", "visit", "-m", "cpu,gpu")
        self.assertEqual(value["rows"][0]["label"], "visit() walk.py:20")
        self.assertEqual(value["rows"][0]["inclusive"]["cpu"], 12 * 5 * MS)
        for text in ("tree", "walk.py:10", "/home/user/walk.py:10"):  # of two, one below the other: the outer one
            self.assertEqual(self.json(path, "profile", "--root", text)["rows"][0]["inclusive"]["cpu"], 14 * 5 * MS)
        flat = self.rows(path, "--root", "visit", "--by", "function")
        self.assertEqual(flat["tree() walk.py"]["inclusive"]["cpu"], 11 * 5 * MS)
        self.assertNotIn("[walk]", flat)
        done = cli.run("report", path, "profile", "--root", "leaf")
        self.assertEqual((done.returncode, done.out), (1, ""))
        *candidates, last = done.err.splitlines()
        self.assertIn("2 call paths match leaf", last)
        self.assertEqual(len(candidates), 2)
        for line in candidates:
            self.assertIn("leaf() walk.py:30", line)
            number = line.split()[0]
            for form in (number, number[1:]):
                self.assertEqual(self.json(path, "profile", "--root", form)["rows"][0]["label"], "leaf() walk.py:30")
        self.assertIn("no call path matches nothing", cli.run("report", path, "profile", "--root", "nothing").err)
        self.assertEqual(cli.run("report", path, "profile", "--root", "#99999").returncode, 1)
        out = self.ok("report", path, "profile", "--ids").out
        self.assertIn("#0 all", out)

    def test_the_number_of_a_row_is_that_of_its_own_call_path(self):
        """Also where the same frame is in other call paths, too: as the root it has the figures of the row."""
        path, _ = scenes.sampled(self.folder)
        rows = self.json(path, "profile")["rows"]
        self.assertEqual(len({row["node"] for row in rows}), len(rows))
        self.assertLess(len({row["label"] for row in rows}), len(rows)) # there are such frames
        for row in rows[1:]:
            root = self.json(path, "profile", "--root", "#%d" % row["node"])["rows"][0]
            self.assertEqual((root["label"], root["inclusive"], root["exclusive"]), (row["label"], row["inclusive"], row["exclusive"]))

    def test_depth_share_and_limit(self):
        path, _ = scenes.sampled(self.folder)
        for shape in ("--top-down", "--bottom-up"):
            deep = self.json(path, "profile", shape)["rows"]
            for depth in (1, 2, 3):
                rows = self.json(path, "profile", shape, "--depth", str(depth))["rows"]
                self.assertEqual([r["label"] for r in rows], [r["label"] for r in deep if r["depth"] <= depth])
        few = self.json(path, "profile", "-m", "cpu", "--min-percent", "50")["rows"]
        self.assertTrue(all(row["inclusive"]["cpu"] >= 0.5 * 95 * MS for row in few))
        self.assertEqual(len(self.json(path, "profile", "--by", "function", "--limit", "3")["rows"]), 4)

    def test_contexts_is_profile(self):
        path, _ = scenes.demo(self.folder)
        self.assertEqual(self.ok("report", path, "contexts").out, self.ok("report", path, "profile").out)
        self.assertNotIn("contexts", self.ok("report", path).out)

    def test_widths(self):
        for path, _ in (scenes.demo(self.folder), scenes.sampled(self.folder)):
            for more in [s.split() for s in SHAPES] + [["-m", EVERY], ["--ids", "--derive", "each=gpu/ops"], []]:
                for view in ("profile", "statistics") if not more else ("profile",):
                    for width in range(40, 201, 20):
                        out = self.ok("report", os.path.basename(path), view, *more, env={"COLUMNS": str(width)}).out
                        for line in out.splitlines():
                            self.assertLessEqual(columns(line), width, "%s at %d: %s" % (more, width, line))

    def test_text(self):
        scenes.sampled(self.folder)
        cases = {"profile": [], "profile-bottom-up": ["--bottom-up", "-m", "cpu,api"],
                 "profile-flat": ["--by", "function", "-m", "cpu,gpu,sync", "--derive", "each=gpu/ops"],
                 "profile-object": ["--by", "object", "-m", "gpu,bytes"],
                 "profile-root": ["--root", "visit", "--ids", "-m", "cpu,gpu,blame"]}
        for name, more in cases.items():
            self.expect("report-" + name, self.ok("report", "sampled.sonde", "profile", *more).out)
        self.expect("report-statistics", self.ok("report", "sampled.sonde", "statistics").out +
                    self.ok("report", "sampled.sonde", "statistics", "--depth", "3", "--from", "400ms", "--to", "95%").out)


class Statistics(Viewed):
    def check_sum(self, value):
        lanes = value["queues"] + value["threads"]
        total = sum(row["queue_ns"] + row["thread_ns"] for row in value["rows"])
        self.assertAlmostEqual(total, (value["to_ns"] - value["from_ns"]) * lanes, delta=1)
        self.assertAlmostEqual(sum(row["share"] for row in value["rows"]), 1, places=9)
        return {row["label"]: row for row in value["rows"]}

    def test_whole_run(self):
        path, p = scenes.sampled(self.folder)
        rows = self.check_sum(self.json(path, "statistics"))
        # The last kernel, a fold, begins 1 ms before the one before it ends: they share it.
        self.assertEqual(rows["kernel fold"]["queue_ns"], (2 + 4 + 6) * MS - MS / 2)
        self.assertEqual(rows["kernel map_tree"]["queue_ns"], (1 + 3 + 5) * MS - MS / 2)
        self.assertEqual(rows["clFinish"]["thread_ns"], 7 * MS)
        self.assertEqual(rows["read"]["queue_ns"], 3 * MS)
        self.assertEqual(rows["off the CPU"]["thread_ns"] if "off the CPU" in rows else 0, 0)  # it slept in the call
        self.assertGreater(rows["leaf() walk.py"]["sampled_ns"], 0)
        self.assertEqual(rows["leaf() walk.py"]["sampled_ns"], rows["leaf() walk.py"]["thread_ns"])

    def test_ranges_lanes_and_depth(self):
        path, _ = scenes.sampled(self.folder)
        begin = 400 * MS + MS
        value = self.json(path, "statistics", "--from", "%dms" % (begin // MS), "--to", "%.3fs" % ((begin + 4 * MS) / 1e9))
        rows = self.check_sum(value)  # the first kernel, 50 µs after the call
        self.assertEqual(rows["kernel map_tree"]["queue_ns"], MS)
        self.assertEqual(rows["idle"]["queue_ns"], 3 * MS)
        self.assertEqual(rows["clEnqueueNDRangeKernel"]["thread_ns"], 20000)
        value = self.json(path, "statistics", "--lane", "queues", "--depth", "4")
        rows = self.check_sum(value)
        self.assertEqual((value["queues"], value["threads"]), (1, 0))
        # Four frames: demo, <module>, the range, and below it tree (all kernels, one read) or leaf.
        self.assertEqual(rows["tree() walk.py"]["queue_ns"], 20 * MS + 2 * MS)
        self.assertEqual(rows["leaf() walk.py"]["queue_ns"], MS)
        for lane in ("4711", "alpha-4711-0:4711", "threads"):
            value = self.json(path, "statistics", "--lane", lane)
            self.check_sum(value)
            self.assertEqual((value["queues"], value["threads"]), (0, 1))
        half = [self.json(path, "statistics", *more) for more in (["--to", "50%"], ["--from", "50%"])]
        self.assertEqual(half[0]["to_ns"], half[1]["from_ns"])

    def test_synthetic(self):
        """Many chunks, lanes and two processes; the totals were added up while the operations were made up."""
        made = subprocess.run([os.path.join(cli.BUILD, "tests", "sonde-synth"), "--operations", "30000", "--lanes", "3",
                               "--threads", "2", "--processes", "2", "synth.sonde"], cwd=self.folder, check=True,
                              stdout=subprocess.PIPE)
        truth = json.loads(made.stdout)
        for threads in ("1", "3"):
            done = cli.run("report", "synth.sonde", "statistics", "--json", cwd=self.folder, env={"SONDE_THREADS": threads})
            rows = self.check_sum(json.loads(done.out))
            for kernel in truth["kernels"]:
                self.assertAlmostEqual(rows["kernel " + kernel["name"]]["queue_ns"], kernel["total_ns"], delta=1e-3)
            calls = sum(row["thread_ns"] for label, row in rows.items() if label.startswith("cl"))
            self.assertAlmostEqual(calls, truth["api_ns"], delta=1e-3)
        whole = self.json("synth.sonde", "profile", "--by", "kernel")["rows"]
        gpu = {row["label"]: row["inclusive"]["gpu"] for row in whole}
        for kernel in truth["kernels"]:
            self.assertEqual(gpu["kernel " + kernel["name"]], kernel["total_ns"])
        self.assertEqual((whole[0]["inclusive"]["ops"], whole[0]["inclusive"]["api"], whole[0]["inclusive"]["calls"]),
                         (truth["seen"], truth["api_ns"], truth["calls"]))

    def test_refused(self):
        path, _ = scenes.demo(self.folder)
        for more in (["--from", "x"], ["--to", "101%"], ["--from", "-1s"], ["--to", "%"]):
            self.assertEqual(cli.run("report", path, "statistics", *more).returncode, 2, more)
        done = cli.run("report", path, "statistics", "--from", "1h")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the run took", done.err)
        done = cli.run("report", path, "statistics", "--lane", "9999")
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no lane '9999'", done.err)

    def test_without_a_trace(self):
        path, _ = scenes.profile_only(self.folder)
        self.assertIn("recorded with --profile", self.ok("report", path, "statistics").out)
        self.assertFalse(self.json(path, "statistics")["traced"])


if __name__ == "__main__":
    cli.main()
