"""source_test.py - the request `source` (docs/developers/requests.md): files that a measurement names are shown, and nothing else."""
import os
import sys
import tempfile
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import asking  # noqa: E402
import cli  # noqa: E402
import live  # noqa: E402

ASK = os.path.join(cli.BUILD, "tests", "sonde-ask")
MS = 10**6
BEGIN = 17 * 10**17 + 10**12  # of the processes below, in wall time


class Source(cli.Case):
    def setUp(self):
        super().setUp()
        self.code = self.path("code")
        os.mkdir(self.code)

    def process(self, name, files, start_ns=10**12, length_ns=10 * MS):
        """A kernel launched from line 7 of each file."""
        p = live.Process(name, 1, start_ns=start_ns)
        queue, thread = p.queue(p.device("Test GPU")), p.thread(1)
        for i, file in enumerate(files):
            node, at = p.node(0, p.frame(live.PYTHON, p.python("step", file, 7))), p.start_ns + length_ns // 2 + 10000 * i
            p.enqueue(thread, queue, "clEnqueueNDRangeKernel", node, "kernel", at, at + 500, at + 1000, at + 2000, name="k")
        p.stop_ns = p.start_ns + length_ns
        return p

    def measured(self, files, *more, **manifest):
        path = tempfile.mkdtemp(suffix=".sonde", dir=self.folder)
        live.write_manifest(path, ["program"], **manifest)
        for p in [self.process("host-1-0", files), *more]:
            p.write(path)
        return path

    def file(self, name, data, written_ns=BEGIN - 10**9):
        path = os.path.join(self.code, name)
        with open(path, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        os.utime(path, ns=(written_ns, written_ns))
        return path

    def request(self, file, line=7, **options):
        return "source?" + urllib.parse.urlencode({"file": file, "line": line, **options})

    def one(self, path, file, line=7, **options):
        answer, = asking.ask(ASK, path, [self.request(file, line, **options)])
        self.assertEqual((answer.status, answer.type), (200, "application/json"), answer.bytes)
        return answer.json()

    def refused(self, path, file, said, status=404, line=7, **options):
        answer, = asking.ask(ASK, path, [self.request(file, line, **options)])
        self.assertEqual(answer.status, status, answer.bytes)
        error = answer.json()["error"]
        self.assertIn(said, " ".join(filter(None, [error["what"], error["where"], error["why"]])))
        return error

    # ---- what is shown ------------------------------------------------------------------------------------------------------

    def test_lines(self):
        lines = ["line %d" % i for i in range(1, 21)]
        file = self.file("step.py", "\n".join(lines) + "\n")
        path = self.measured([file])
        self.assertEqual(self.one(path, file), {"file": file, "line": 7, "first": 2, "lines": lines[1:12], "changed": False})
        self.assertEqual(self.one(path, file, around=0), {"file": file, "line": 7, "first": 7, "lines": ["line 7"], "changed": False})
        self.assertEqual(self.one(path, file, 1, around=2)["lines"], lines[:3])
        there = self.one(path, file, 19, around=1000)
        self.assertEqual((there["first"], there["lines"]), (1, lines))
        self.refused(path, file, "there is no line 21, only 20,", line=21)
        self.refused(path, file, "there is no line 4294967295", line=2**32 - 1)

    def test_odd_lines(self):
        """Empty ones, carriage returns, no line end at the end, bytes that are no UTF-8, zeros, and a line of 8 MB."""
        data = b"\n\r\na\r\n<script>\ncaf\xe9 \xff\na\0b\n" + b"x" * (8 << 20) + b"\n" + "ä".encode() * 1000 + b"\nb" + "ä".encode() * 1000 + b"\nend"
        file = self.file("odd.py", data)
        there = self.one(self.measured([file]), file, 5, around=10)
        self.assertEqual(there["lines"], ["", "", "a", "<script>", "caf\ufffd \ufffd", "a\ufffdb", "x" * 1000 + "…", "ä" * 500 + "…",
                                          "b" + "ä" * 499 + "…", "end"])

    def test_whether_it_changed(self):
        end = BEGIN + 10 * MS + 1000
        for written, changed in ((BEGIN - 1, False), (BEGIN, False), (BEGIN + MS, None), (end + 1, True), (end + 10**12, True), (-10**12, False)):
            file = self.file("step.py", "a\n" * 9, written)
            self.assertEqual(self.one(self.measured([file]), file)["changed"], changed, written)

    def test_names_relative_to_where_the_program_ran(self):
        self.file("step.py", "a\n" * 6 + "here\n")
        path = self.measured(["step.py", "code/step.py"], working_directory=self.code)
        self.assertEqual(self.one(path, "step.py")["lines"][5], "here")
        self.refused(path, "code/step.py", "No such file")
        for folder in ({}, {"working_directory": "code"}, {"working_directory": 3}, {"working_directory": ""}):
            self.refused(self.measured(["step.py"], **folder), "step.py", "working directory is unknown")

    def test_of_a_process(self):
        a, b = self.file("a.py", "a\n" * 9), self.file("b.py", "b\n" * 9)
        path = self.measured([a], self.process("host-2-0", [b], start_ns=2 * 10**12))
        self.assertEqual(self.one(path, a, process=0)["lines"][0], "a")
        self.assertEqual(self.one(path, b, process=1)["lines"][0], "b")
        self.assertEqual(self.one(path, b)["lines"][0], "b")
        self.refused(path, b, b, process=0)
        self.refused(path, a, a, process=1)
        self.refused(path, a, "there is no process 2", process=2)

    def test_of_a_kernels_access(self):
        """The line of a kernel's source is in no call path."""
        kernel, other = self.file("halo.cu", "a\n" * 9), self.file("other.cu", "b\n" * 9)
        p = self.process("host-2-0", [], start_ns=2 * 10**12)
        gpus, at = [p.device("GPU"), p.device("GPU")], p.start_ns + MS
        halo = p.enqueue(p.thread(2), p.queue(gpus[0]), "cuLaunchKernel", p.node(0, p.frame(live.PYTHON, p.python("step", "step.py", 7))), "kernel",
                         at, at + 10, at + 500, at + 1500, name="halo")
        p.remote(halo, p.object(5, 0, 1000, p.start_ns, device=gpus[1]), 1, 7, gpus[0], gpus[1], what=0, size=4, file=kernel, line=7)
        p.remote(halo, 0, 2, 7, gpus[0], gpus[1], what=0, size=4)
        path = self.measured(["a.py"], p)
        self.assertEqual(self.one(path, kernel)["lines"][0], "a")
        self.assertEqual(self.one(path, kernel, process=1)["lines"][0], "a")
        self.refused(path, kernel, kernel, process=0)
        self.refused(path, other, other)

    # ---- what is not ----------------------------------------------------------------------------------------------------------

    def test_files_that_are_not_named(self):
        file = self.file("step.py", "a\n" * 9)
        self.file("other.py", "secret\n" * 9)
        path = self.measured([file], working_directory=self.code)
        for other in ("/etc/passwd", os.path.join(self.code, "other.py"), "other.py", "step.py", self.code + "/./step.py", self.code + "//step.py",
                      self.code + "/../code/step.py", file + "/", file + "/../other.py", file.upper(), file[:-1], "/", ".", "..", "k", "step", "file://" + file):
            self.refused(path, other, "no call path of the measurement is in a source file")
        self.assertEqual(self.refused(path, "", "missing", 400)["option"], "file")
        for request, option in (("source", "file"), ("source?line=7", "file"), ("source?file=" + file, "line"), (self.request(file, 0), "line"),
                                (self.request(file, -1), "line"), (self.request(file, around=1001), "around"), (self.request(file, process=-1), "process")):
            answer, = asking.ask(ASK, path, [request])
            self.assertEqual((answer.status, answer.json()["error"]["option"]), (400, option), request)

    def test_what_is_no_regular_file(self):
        file = self.file("step.py", "a\n" * 9)
        link, pipe, folder, gone, inside = (os.path.join(self.code, name) for name in ("link.py", "pipe.py", "folder.py", "gone.py", "step.py/x"))
        os.symlink("/etc/passwd", link)
        os.mkfifo(pipe)
        os.mkdir(folder)
        path = self.measured([file, link, pipe, folder, gone, inside, "/dev/zero", "/dev/tty", "/proc/self/environ", "/proc/self/mem"])
        self.refused(path, link, "it is a symbolic link")
        for other in (pipe, folder, "/dev/zero", "/dev/tty"):
            self.refused(path, other, "it is not a regular file")
        self.refused(path, gone, "No such file or directory")
        self.refused(path, inside, "Not a directory")
        self.refused(path, "/proc/self/environ", "there is no line 7, only 0")
        self.refused(path, "/proc/self/mem", "there is no line 7, only 0")
        self.one(path, file)

    def test_sizes(self):
        largest, larger, empty = self.file("largest.py", b"\n" * (16 << 20)), self.file("larger.py", b"\n" * ((16 << 20) + 1)), self.file("empty.py", "")
        path = self.measured([largest, larger, empty])
        self.assertEqual(self.one(path, largest, 16 << 20, around=0)["lines"], [""])
        self.refused(path, larger, "it is larger than 16 MB")
        self.refused(path, empty, "there is no line 1, only 0,", line=1)

    def test_it_only_reads(self):
        file = self.file("step.py", "a\n" * 9)
        os.chmod(file, 0o400)
        before = os.stat(file)
        self.one(self.measured([file]), file)
        after = os.stat(file)
        self.assertEqual((before.st_mtime_ns, before.st_size, before.st_mode), (after.st_mtime_ns, after.st_size, after.st_mode))


if __name__ == "__main__":
    cli.main()
