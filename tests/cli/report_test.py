"""report_test.py - every view of `sonde report` as a user sees it, on a measurement whose content is known."""
import glob
import json
import re

import cli
import live
import scenes
import zoo

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

    def nameless(self):
        """main.py calls a library without names in two places, through three frames each; and that calls it again."""
        p = live.Process("alpha-4711-0", 4711)
        thread, queue = p.thread(4711), p.queue(p.device("Test GPU"))
        library, other = p.module("/opt/solver/libsolve.so"), p.module("/opt/solver/libother.so")
        top = p.node(0, p.frame(live.PYTHON, p.python("main", "/home/user/main.py", 10)))
        t = p.start_ns + 1000
        for i, offsets in enumerate(((0x100, 0x200, 0x300), (0x100, 0x250, 0x300), (0x180, 0x200, 0x350))):
            node = top
            for offset in offsets:
                node = p.node(node, p.frame(live.NATIVE, library, offset))
            at = t + 10000 * i
            p.enqueue(thread, queue, "clEnqueueNDRangeKernel", node, "kernel", at, at + 500, at + 1000, at + 2000, name="k")
        node = p.node(top, p.frame(live.NATIVE, other, 0x40))
        p.enqueue(thread, queue, "clEnqueueNDRangeKernel", node, "kernel", t + 50000, t + 50500, t + 51000, t + 53000, name="k")
        live.write_manifest(self.path("m.sonde"), ["m"])
        p.write(self.path("m.sonde"))

    def test_nameless_frames_of_one_library_are_one_row(self):
        self.nameless()
        out = self.ok("report", "m", "profile", "--min-percent", "0").out
        self.assertEqual(len(re.findall(r" libsolve.so \(no names\)$", out, re.M)), 1, out)
        self.assertNotIn("libsolve.so+", out)
        self.assertEqual(len(re.findall(r" libother.so\+0x40$", out, re.M)), 1, out) # there it still says where
        self.assertEqual(len(re.findall(r"kernel k$", out, re.M)), 2, out)
        self.assertRegex(out, r"(?m)^ *60.0 % .* libsolve.so")
        callers = self.ok("report", "m", "profile", "--bottom-up", "--min-percent", "0").out
        self.assertNotRegex(callers, r"libsolve.so.*\n.*libsolve.so") # called by itself
        self.assertIn("libsolve.so (no names)", self.ok("report", "m", "blame", "--min-percent", "0").out)
        # Every offset for who asks for lines, and in JSON.
        lines = self.ok("report", "m", "profile", "--top-down", "--by", "line", "--min-percent", "0").out
        self.assertEqual(set(re.findall(r"libsolve.so\+(0x\w+)$", lines, re.M)), {"0x100", "0x180", "0x200", "0x250", "0x300", "0x350"})
        rows = json.loads(self.ok("report", "m", "profile", "--json").out)["rows"]
        self.assertEqual(sum(row["label"].startswith("libsolve.so+0x") for row in rows), 8)

    def test_rows_of_one_parent_never_read_alike(self):
        """Files of one name, and work that was prepared at one place in two contexts."""
        p = live.Process("alpha-4711-0", 4711)
        thread, queue = p.thread(4711), p.queue(p.device("Test GPU"))
        code = lambda function, file, line: p.frame(live.PYTHON, p.python(function, file, line))
        main = p.node(0, code("main", "/home/user/main.py", 10))
        nodes = [p.node(main, code("run", "/home/user/%s/model.py" % folder, 5)) for folder in ("a", "b")]
        for outer in ("encode", "decode"):
            prepared = p.node(p.node(0, code(outer, "/home/user/main.py", 20)), code("forward", "/home/user/layer.py", 7))
            nodes.append(p.node(main, p.frame(live.LINK, offset=prepared)))
        t = p.start_ns + 1000
        for i, node in enumerate(nodes):
            at = t + 10000 * i
            p.enqueue(thread, queue, "clEnqueueNDRangeKernel", node, "kernel", at, at + 500, at + 1000, at + 2000, name="k")
        live.write_manifest(self.path("m.sonde"), ["m"])
        p.write(self.path("m.sonde"))
        out = self.ok("report", "m", "profile", "--min-percent", "0", env={"COLUMNS": "160"}).out
        for text in ("run /home/user/a/model.py:5", "run /home/user/b/model.py:5",
                     "prepared in forward() layer.py:7 \u2190 encode() main.py:20", "prepared in forward() layer.py:7 \u2190 decode() main.py:20"):
            self.assertEqual(out.count(text), 1, out)
        flat = self.ok("report", "m", "profile", "--by", "function", "--min-percent", "0", env={"COLUMNS": "160"}).out
        for text in ("run /home/user/a/model.py", "run /home/user/b/model.py"):
            self.assertEqual(flat.count(text), 1, flat)

    def test_rows_that_look_alike_are_printed_once(self):
        """Two kinds of kernel of one name; three call paths whose difference is in nameless outer frames: in every table."""
        p = live.Process("alpha-4711-0", 4711)
        thread, queue = p.thread(4711), p.queue(p.device("Test GPU"))
        t = p.start_ns + 1000
        for i in range(3):
            outer = p.node(0, p.frame(live.NATIVE, p.module("/opt/demo/lib%d.so" % i), 0x10))
            code = p.node(outer, p.frame(live.PYTHON, p.python("step", "/home/user/main.py", 7)))
            p.object(1, p.node(code, p.frame(live.API, offset=2, name="clCreateBuffer")), 4096, t)
        for i, kind in enumerate(("kernel", "native")):
            at = t + 10000 * i
            p.enqueue(thread, queue, "clEnqueueNDRangeKernel", code, kind, at, at + 500, at + 1000, at + 2000, name="k")
        live.write_manifest(self.path("m.sonde"), ["m"])
        p.write(self.path("m.sonde"))
        for view, row, number in (("summary", "k  .*step", 2), ("kernels", "k  .*step", 2), ("objects", "buffer ", 3), ("memory", "buffer ", 3)):
            with self.subTest(view):
                out = self.ok("report", "m", view).out
                self.assertRegex(out, r"(?m)^%s.*  \u00d7%d$" % (row, number))
                lines = [line for line in out.splitlines() if line]
                self.assertTrue(all(one != next_one for one, next_one in zip(lines, lines[1:])), out)
                for width in range(40, 110, 3):  # numbers are never cut
                    said = self.ok("report", "m", view, env={"COLUMNS": str(width)}).out
                    wide = [line for line in said.splitlines() if "\u00d7" in line and len(line) > width]
                    self.assertTrue(width < 64 or not wide, wide)
        self.assertEqual(len(json.loads(self.ok("report", "m", "kernels", "--json").out)), 2)

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

    def warnings(self, path):
        """The lines above the summary's title; nothing else may say so."""
        out = self.ok("report", path, env={"COLUMNS": "400"}).out
        lines = out.splitlines()
        count = next(i for i, line in enumerate(lines) if line.startswith("zoo ·"))
        self.assertEqual(out.count("warning:"), count, out)
        self.assertTrue(all(line.startswith("warning: ") for line in lines[:count]), out)
        return lines[:count]

    def one_warning(self, path, text):
        lines = self.warnings(path)
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], "^warning: " + text)

    def launches(self, count=100):
        p = zoo.program()
        for i in range(count):
            zoo.launch(p, p.start_ns + 10000 * i)
        return p

    def test_operations_in_flight(self):
        self.one_warning(zoo.killed(self.folder), r"5 operations \(33\.3 %\) .* when the program ended$")

    def test_operations_missing_in_the_trace(self):
        self.one_warning(zoo.cut_trace(self.folder), r"90 of 100 operations \(90\.0 %\) .* the trace: --max-size was reached; record with")

    def test_operations_of_no_known_call(self):
        p = self.launches()
        p.ledger["unplaced"] = 4
        self.one_warning(zoo.written(self.folder, "unplaced", p), r"4 operations .* below$")

    def test_damage(self):
        for parts, text in (1, "a part of the measurement is damaged"), (2, "parts of the measurement are damaged"):
            path = zoo.written(self.folder, "damaged%d" % parts, self.launches())
            with open(glob.glob(path + "/*/live.sonde")[0], "ab") as file:
                file.write(b"\1" * live.SEGMENT * parts)
            self.one_warning(path, text)

    def test_up_to_a_hundredth_is_no_warning(self):
        p = self.launches()
        p.state = 1
        p.ledger["seen"] += 1  # in flight
        p.ledger["unplaced"] = p.ledger["dropped%d" % live.DROPS.index("max_size")] = 1
        self.assertEqual(self.warnings(zoo.written(self.folder, "little", p)), [])

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
