"""report_test.py - every view of `sonde report` as a user sees it, on a measurement whose content is known."""
import json
import re

import cli
import live
import scenes

VIEWS = "summary kernels copies api contexts lanes blame objects memory ledger".split()


class Report(cli.Case):
    def test_text_of_every_view(self):
        path, _ = scenes.demo(self.folder)
        for view in VIEWS:
            with self.subTest(view):
                done = self.ok("report", "demo.sonde", view)
                self.assertEqual(done.err, "")
                self.assertLessEqual(max(map(len, done.out.splitlines())), 100)
                # How much a sparse file takes is the file system's business.
                self.expect("report-" + view, re.sub(r"(on disk +)\S+ \S+", r"\1SIZE", done.out))
        self.assertEqual(self.ok("report", "demo.sonde").out, self.ok("report", "demo.sonde", "summary").out)

    def test_narrow_terminal(self):
        scenes.demo(self.folder)
        done = self.ok("report", "demo.sonde", env={"COLUMNS": "70"})
        self.expect("report-narrow", done.out)

    def test_modules_of_one_name_are_told_apart(self):
        """What a driver compiled in many folders; and kernels whose namespaces are all that differs."""
        p = live.Process("alpha-4711-0", 4711)
        thread, queue = p.thread(4711), p.queue(p.device("Test GPU"))
        t = p.start_ns + 1000
        for i, folder in enumerate(("/cache/AB/Xdot/64-1-1", "/cache/CD/Xdot/128-1-1", "/cache/EF/Xdot/128-1-1")):
            node = p.node(0, p.frame(live.NATIVE, p.module(folder + "/Xdot.so"), 0x10))
            at = t + 10000 * i
            p.enqueue(thread, queue, "clEnqueueNDRangeKernel", node, "kernel", at, at + 500, at + 1000, at + 2000, name="void %s::scale(int)" % ("first", "second", "second")[i])
        p.module("/usr/lib/libother.so")
        live.write_manifest(self.path("m.sonde"), ["m"])
        p.write(self.path("m.sonde"))
        out = self.ok("report", "m", "profile", "--min-percent", "0").out
        for name in ("64-1-1/Xdot.so+0x10", "CD/Xdot/128-1-1/Xdot.so+0x10", "EF/Xdot/128-1-1/Xdot.so+0x10"):
            self.assertEqual(len(re.findall(r" " + re.escape(name) + r"$", out, re.M)), 1, out)
        kernels = self.ok("report", "m", "kernels").out
        self.assertIn("\nvoid first::scale(int) ", kernels)
        self.assertIn("\nvoid second::scale(int) ", kernels)

    def test_json_agrees_with_the_truth(self):
        path, processes = scenes.demo(self.folder)
        truth = [op for p in processes for op in p.truth]
        ledger = json.loads(self.ok("report", path, "ledger", "--json").out)
        for kind in {op["kind"] for op in truth}:
            self.assertEqual(ledger["operations"][kind], sum(op["kind"] == kind for op in truth))
        self.assertEqual(ledger["seen"], sum(p.ledger["seen"] for p in processes))
        self.assertEqual((ledger["unmatched"], ledger["bad_time"]), (0, 1))
        kernels = {k["name"]: k for k in json.loads(self.ok("report", path, "kernels", "--json").out)}
        for name in {op["name"] for op in truth if op["kind"] == "kernel"}:
            times = [op["end_ns"] - op["start_ns"] for op in truth if op["name"] == name]
            row = kernels[name if isinstance(name, str) else name.decode("utf-8", "replace")]
            self.assertEqual([row[k] for k in ("count", "total_ns", "min_ns", "max_ns")],
                             [len(times), sum(times), min(times), max(times)])
            self.assertAlmostEqual(row["mean_ns"], sum(times) / len(times))

    def test_lanes_with_ranges(self):
        path, p = scenes.annotated(self.folder)
        lanes = json.loads(self.ok("report", path, "lanes", "--json").out)
        self.assertEqual([(lane["tid"], lane["ranges"]) for lane in lanes], [(4711, 11), (4712, 3), (None, None)])
        out = self.ok("report", path, "lanes").out
        self.assertIn("thread 4711, 11 ranges", out)
        self.assertIn("thread 4712, 3 ranges", out)

    def test_nothing_recorded_is_an_error(self):
        live.write_manifest(self.path("empty.sonde"), ["true"])
        live.Process("alpha-1-0", 1).write(self.path("silent.sonde"))
        self.expect("report-nothing", self.fails("report", "empty.sonde").err + self.fails("report", "silent.sonde").err)

    def test_usage(self):
        scenes.demo(self.folder)
        self.expect("report-usage", self.fails("report", "demo.sonde", "kernel", status=2).err +
                    self.fails("report", "demo.sonde", "kernels", "again", status=2).err)


if __name__ == "__main__":
    cli.main()
