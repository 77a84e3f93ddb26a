"""caveats_test.py - what a measurement lacks is said in one clear line: `sonde report` on measurements with one flaw each.

Programs are compiled here, without debug information, stripped, or anew after the "run".
"""
import errno
import glob
import json
import os
import re
import shutil
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import cli  # noqa: E402
import live  # noqa: E402
import zoo  # noqa: E402

SOURCE = os.path.join(HERE, "../unit/analyze/symbols/fixtures/inline.c")


class Case(cli.Case):
    def caveats(self, path):
        """{kind: [sentence...]} of the ledger."""
        found = {}
        for caveat in json.loads(self.ok("report", path, "ledger", "--json").out)["caveats"]:
            found.setdefault(caveat["kind"], []).append(caveat["text"])
        return found

    def notes(self, path, view):
        """The sentences after the text of a view, each on one line."""
        out = self.ok("report", path, view, env={"COLUMNS": "1000"}).out
        return [line[len("note: "):] for line in out.splitlines() if line.startswith("note: ")]


class Flaws(Case):
    def test_none(self):
        p = zoo.program()
        zoo.launch(p, p.start_ns + zoo.MS)
        p.cpu.update(rate_hz=199, sampling=1, samples=1, threads=1)
        path = zoo.written(self.folder, "none", p)
        self.assertEqual(self.caveats(path), {})
        for view in ("summary", "profile", "kernels", "lanes", "memory", "ledger"):
            self.assertEqual(self.notes(path, view), [])

    def test_cut_trace(self):
        path = zoo.cut_trace(self.folder)
        said = ["the trace is incomplete: 90 operations, 5 API calls, 7 waits are missing (--max-size was reached); "
                "numbers from the trace do not include them"]
        self.assertEqual(self.caveats(path)["trace"], said)
        self.assertEqual(self.notes(path, "lanes"), said)
        self.assertEqual(self.notes(path, "kernels"), [])  # which reads the profile
        self.assertIn("(buffer full)", self.caveats(zoo.cut_trace(self.folder, "trace_full"))["trace"][0])

    def test_no_trace(self):
        self.assertEqual(self.caveats(zoo.profile_only(self.folder))["trace"],
                         ["there is no trace (record --profile): numbers from the trace are unknown"])
        self.assertEqual(self.caveats(zoo.partly_traced(self.folder))["trace"],
                         ["there is no trace (record --profile) in 1 of 3 processes: numbers from the trace are unknown"])

    def test_tables_of_a_later_version(self):
        p = zoo.program()
        zoo.launch(p, p.start_ns)
        p.cpu.update(rate_hz=199, sampling=1, samples=1, threads=1)
        path = zoo.written(self.folder, "later", p)
        with open(glob.glob(path + "/*/live.sonde")[0], "r+b") as file:
            file.seek(0, os.SEEK_END)
            file.write(struct.pack("<IHHIIQI36s", 0x47455353, 63, 0, 1, 7, 0, 24, b"").ljust(live.SEGMENT, b"\1"))
        self.assertEqual(self.caveats(path)["trace"], ["7 rows were skipped: their tables are unknown to this version of Sonde; "
                                                       "read the measurement with the version that recorded it"])

    def test_cpu_side(self):
        rest = ": host code between API calls is unknown"
        self.assertEqual(self.caveats(zoo.plain(self.folder))["cpu"], ["the CPU side was not sampled (record --cpu 0)" + rest])
        self.assertEqual(self.caveats(zoo.no_cpu_side(self.folder))["cpu"],
                         ["the CPU side was not sampled (neither perf events nor timers are available; "
                          "see the notes of the ledger)" + rest])
        self.assertEqual(self.caveats(zoo.odd_cpu_side(self.folder))["cpu"],
                         ["2 threads of 3 ended before they could be sampled",
                          "3 samples of the CPU side were lost: the time is in the thread's next sample"])

    def test_what_samples_lack(self):
        """In each view that shows host code, and only there; what is below 1 % in none."""
        p = zoo.program()
        zoo.launch(p, p.start_ns + zoo.MS)
        p.sample(p.main, p.code, p.start_ns + 2 * zoo.MS, 5 * zoo.MS)
        p.cpu.update(rate_hz=199, sampling=2, switches_known=1, samples=1000, lost=11, threads=3, threads_missed=37, handler_ns=2 * zoo.MS,
                     process_ns=600 * zoo.MS, sampled_ns=520 * zoo.MS, sleep_rows=5)
        path = zoo.written(self.folder, "lacks", p)
        said = ["78.0 ms of 600 ms of CPU time (13.0 %) was not sampled (37 threads of 40 ended before they could be sampled): "
                "its code is unknown",
                "11 samples of the CPU side were lost: the time is in the thread's next sample",
                "5 waits of 5 in C library functions are missing: that time has no function name"]
        self.assertEqual(self.caveats(path)["cpu"], said)
        for view in ("summary", "blame", "profile", "statistics", "critical", "ledger"):
            self.assertEqual(self.notes(path, view)[:3], said, view)
        for view in ("kernels", "copies", "api", "objects", "memory", "lanes", "overlap"):
            self.assertEqual(self.notes(path, view), [], view)

    def test_little_that_samples_lack(self):
        p = zoo.program()
        zoo.launch(p, p.start_ns + zoo.MS)
        p.cpu.update(rate_hz=199, sampling=2, switches_known=1, samples=1000, lost=10, threads=999, threads_missed=1,
                     process_ns=5000 * zoo.MS, sampled_ns=4950 * zoo.MS)
        self.assertNotIn("cpu", self.caveats(zoo.written(self.folder, "little", p)))
        p.cpu.update(process_ns=60 * zoo.MS, sampled_ns=41 * zoo.MS)  # a few threads' last periods
        self.assertNotIn("cpu", self.caveats(zoo.written(self.folder, "short", p)))

    def test_python_that_cannot_be_read(self):
        """The agent's note, which stood in the ledger alone."""
        note = "Python stacks are not recorded: this is CPython 3.8; 3.9 to 3.14 are supported"
        p = zoo.program()
        zoo.launch(p, p.start_ns)
        p.note(note)
        path = zoo.written(self.folder, "python", p)
        said = note + "; call paths show the interpreter's own frames instead"
        self.assertEqual(self.caveats(path)["python"], [said])
        for view in ("summary", "profile", "contexts", "kernels", "api", "ledger"):
            self.assertIn(said, self.notes(path, view), view)
        self.assertNotIn(said, self.notes(path, "lanes"))

    @staticmethod
    def views_that_disagree():
        """A second on the CPU between two calls, of which ten samples of 5 ms were taken: seven at one place, three at another."""
        p = zoo.program()
        for second in range(2):
            zoo.launch(p, p.start_ns + 1000 * zoo.MS * second)
        other = p.node(0, p.frame(live.PYTHON, p.python("load", "/home/user/main.py", 30)))
        for i in range(10):
            p.sample(p.main, other if i > 6 else p.code, p.start_ns + (100 * i + 50) * zoo.MS, 5 * zoo.MS)
        p.cpu.update(rate_hz=199, sampling=2, switches_known=1, samples=10, threads=1)
        return p

    def test_views_disagree(self):
        path = zoo.written(self.folder, "disagree", self.views_that_disagree())
        said, = self.caveats(path)["views"]
        self.assertRegex(said, r"^step\(\) main.py: \d.* from the times between API calls, but 35.0 ms from samples \(± .*\)"
                               ": blame, critical and statistics use the former, profile the latter, and one of them is wrong$")
        for view in ("summary", "blame", "critical", "profile", "advice"):
            self.assertEqual(self.notes(path, view).count(said), 1, view)
        for view in ("kernels", "memory", "lanes", "statistics"):  # the last says it of each row
            self.assertNotIn(said, self.notes(path, view), view)
        self.assertNotIn("views", self.caveats(zoo.plain(self.folder)))

    def test_a_long_trace_is_not_read_for_a_note(self):
        """Marks make it long; the view of idle devices reads it anyway."""
        p = self.views_that_disagree()
        mark = struct.pack(live.ROWS["RANGE"], p.start_ns + zoo.MS, 0, 0, p.string("mark"), 0, 0, 0, live.MARK)
        p.owned["RANGE", p.main] = [mark] * (1 << 20)
        path = zoo.written(self.folder, "long", p)
        said = [note for note in self.notes(path, "blame") if "one of them is wrong" in note]
        self.assertEqual(len(said), 1)
        self.assertNotIn(said[0], self.notes(path, "profile"))
        self.assertNotIn("views", self.caveats(path))

    def test_clocks(self):
        path = zoo.clocks_that_jump(self.folder)
        said = ["the clock of device 0 Test GPU jumped by 2.00 s between 1.00 s and 2.00 s of the run: "
                "times near that may be wrong by as much",
                "the clock of device 0 Test GPU was set back by 5.00 s between 2.00 s and 3.00 s of the run: "
                "times near that may be wrong by as much"]
        self.assertEqual(self.caveats(path)["clock"], said)
        self.assertEqual(self.notes(path, "summary"), said)

    def test_clocks_that_drift(self):
        """50 ppm, read to within a microsecond: no jump."""
        p = zoo.program()
        zoo.launch(p, p.start_ns)
        for second in range(20):
            p.clock(p.gpu, p.start_ns + second * 10**9, second * (10**9 + 50000) + (second % 3) * 900, bound_ns=1000)
        self.assertNotIn("clock", self.caveats(zoo.written(self.folder, "drift", p)))

    def test_many_jumps(self):
        p = zoo.program()
        zoo.launch(p, p.start_ns)
        for second in range(12):
            p.clock(p.gpu, p.start_ns + second * 10**9, second * 3 * 10**9)
        said = self.caveats(zoo.written(self.folder, "jumps", p))["clock"]
        self.assertEqual((len(said), said[-1]), (6, "device clocks jumped 6 more times"))

    def test_empty_lanes(self):
        path = zoo.empty_lanes(self.folder)
        self.assertEqual(self.caveats(path)["lanes"], ["6 lanes of 8 are empty"])
        self.assertEqual(self.notes(path, "lanes"), self.caveats(path)["lanes"])
        rows = [row for row in self.ok("report", path, "lanes").out.splitlines() if row.startswith(("thread", "queue"))]
        self.assertEqual(len(rows), 8)
        self.assertTrue(all(re.search(r" (0|-) .* - *$", row) for row in rows if re.match(r"thread 10\d|queue [3-9]", row)), rows)


class Programs(Case):
    """Frames of a program that was compiled here."""

    def setUp(self):
        super().setUp()
        if not (shutil.which("gcc") and shutil.which("nm") and shutil.which("strip")):
            self.skipTest("gcc, nm or strip is missing")
        self.program = self.path("prog")

    def compile(self, *flags):
        subprocess.run(["gcc", "-O2", "-Wl,--build-id", *flags, "-o", self.program, SOURCE], check=True)
        rows = [row.split() for row in subprocess.run(["nm", self.program], check=True, text=True,
                                                      stdout=subprocess.PIPE).stdout.splitlines()]
        self.address = {row[2]: int(row[0], 16) for row in rows if len(row) == 3}
        self.read_build_id()

    def read_build_id(self):
        out = subprocess.run(["readelf", "-n", self.program], check=True, text=True, stdout=subprocess.PIPE).stdout
        self.build_id = bytes.fromhex(re.search(r"Build ID: (\w+)", out)[1])

    def measure(self):
        p = zoo.program()
        module, node = p.module(self.program, self.build_id), 0
        for function in ("main", "outer"):
            node = p.node(node, p.frame(live.NATIVE, module, self.address[function] + 1))
        p.code = node
        for i in range(3):
            zoo.launch(p, p.start_ns + zoo.MS * i)
        return zoo.written(self.folder, "native", p)

    def test_all_is_there(self):
        self.compile("-g")
        found = self.caveats(self.measure())
        self.assertFalse({"symbols", "lines", "libraries"} & set(found), found)

    def test_no_debug_information(self):
        self.compile("-g0")
        path = self.measure()
        said = ["no line information for 2 functions in prog: compile with -g"]
        self.assertEqual(self.caveats(path)["lines"], said)
        self.assertEqual(self.notes(path, "kernels"), said)
        self.assertIn("outer() prog ← main()", self.ok("report", path, "kernels").out)

    def test_stripped(self):
        self.compile("-g")
        subprocess.run(["strip", self.program], check=True)
        path = self.measure()
        said = ["no symbols for 2 frames in %s, shown as module+offset: the file is stripped" % self.program]
        self.assertEqual(self.caveats(path)["symbols"], said)
        self.assertEqual(self.notes(path, "kernels"), said)

    def test_changed_since_the_run(self):
        self.compile("-g")
        path = self.measure()
        self.compile("-g", "-O0")  # another program by the same name
        said = ["no symbols for 2 frames in %s, shown as module+offset: the file differs from the one that ran "
                "(build id or date)" % self.program]
        self.assertEqual(self.caveats(path)["symbols"], said)
        for view in ("summary", "profile", "kernels"):
            self.assertEqual(self.notes(path, view), said)
        self.assertNotIn("outer()", self.ok("report", path, "kernels").out)  # not guessed

    def test_gone_since_the_run(self):
        self.compile("-g")
        path = self.measure()
        os.remove(self.program)
        said = "no symbols for 2 frames in %s, shown as module+offset: there is no such file on this machine" % self.program
        self.assertEqual(self.caveats(path)["symbols"], [said])
        with open(os.path.join(path, "manifest.json"), encoding="utf-8") as file:
            manifest = json.load(file)
        for host, more in ((os.uname().nodename, ""), ("node-x", "; a report made on node-x, where it was recorded, may resolve them"), (7, "")):
            manifest["host"] = {"name": host}
            with open(os.path.join(path, "manifest.json"), "w", encoding="utf-8") as file:
                json.dump(manifest, file)
            self.assertEqual(self.caveats(path)["symbols"], [said + more])

    def test_not_readable(self):
        self.compile("-g")
        path = self.measure()
        os.remove(self.program)
        os.symlink(self.program, self.program)
        self.assertEqual(self.caveats(path)["symbols"], ["no symbols for 2 frames in %s, shown as module+offset: "
                                                         "the file cannot be read (%s)" % (self.program, os.strerror(errno.ELOOP))])

    def test_symbols_that_leave_places_out(self):
        """Two functions in assembler whose symbols have no size, as most have that people write."""
        with open(self.path("bare.s"), "w", encoding="utf-8") as file:
            file.write(".section .note.GNU-stack\n.text\n.globl outer\nouter: nop\nret\n.globl main\nmain: call outer\nret\n")
        subprocess.run(["gcc", "-Wl,--build-id", "-o", self.program, self.path("bare.s")], check=True)
        rows = [row.split() for row in subprocess.run(["nm", self.program], check=True, text=True,
                                                      stdout=subprocess.PIPE).stdout.splitlines()]
        self.address = {row[2]: int(row[0], 16) for row in rows if len(row) == 3}
        self.read_build_id()
        said = "no symbols for 2 frames in %s, shown as module+offset: " % self.program
        path = self.measure()
        self.assertEqual(self.caveats(path)["symbols"],
                         [said + "no symbol covers them (assembler or linker code)"])
        subprocess.run(["strip", self.program], check=True)
        self.assertEqual(self.caveats(path)["symbols"], [said + "the file is stripped"])

    def test_installed_library(self):
        found = glob.glob("/usr/lib/*/libjansson.so.4") + glob.glob("/usr/lib*/libjansson.so.4")
        if not found:
            self.skipTest("there is no libjansson.so.4 in /usr/lib")
        self.program = found[0]
        names = subprocess.run(["nm", "-D", "--defined-only", self.program], check=True, text=True, stdout=subprocess.PIPE).stdout
        self.address = {"main": int(re.search(r"(?m)^(\w+) T json_loads@?", names)[1], 16),
                        "outer": int(re.search(r"(?m)^(\w+) T json_dumps@?", names)[1], 16)}
        self.read_build_id()
        found = self.caveats(self.measure())
        if "libraries" not in found:
            self.skipTest("the debug symbols of libjansson are installed")
        self.assertEqual(found["libraries"],
                         ["no line information for 2 functions in libjansson.so.4: install the packages' debug symbols "
                          "(-dbgsym, -debuginfo) or set DEBUGINFOD_URLS"])


cli.main()
