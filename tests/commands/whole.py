"""What one recorded run of an OpenCL program leaves behind: its wall time in the ledger, no secret in
any file, and the reason when nothing could be recorded."""
import ctypes
import ctypes.util
import json
import os
import re
import resource
import subprocess
import time
import unittest

from common import InFolder, SONDE, main, run

PROGRAM = os.path.join(os.environ["BUILD"], "bin", "examples", "vector_add")
EXITS = os.path.join(os.environ["BUILD"], "tests", "programs", "exits")
WITH_ARGUMENTS = ("sh", "-c", 'exec "$0"', PROGRAM)  # it takes none itself


class OpenCL(InFolder):
    def setUp(self):
        super().setUp()
        if not os.access(PROGRAM, os.X_OK) or subprocess.run([PROGRAM], capture_output=True).returncode:
            self.skipTest("no OpenCL device here, or the examples are not built")


class Wall(OpenCL):
    """The ledger's wall time of record against a clock around it. What lies between the two is the loading of
    sonde and its exit, which a run of sonde that does nothing has, too: by how much a machine stretches either is its
    business, so the best of some runs is asked."""

    def clocked(self, *command):
        begin = time.monotonic_ns()
        subprocess.run([SONDE, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return time.monotonic_ns() - begin

    def recorded(self, *options):
        wall = self.clocked("record", "-f", "-o", "x.sonde", *options, "--", PROGRAM)
        book = json.loads(run("report", "x.sonde", "ledger", "--json").stdout)
        return wall, book, book["record"]

    def check(self, *options):
        rests, nothings = [], []
        for _ in range(20):
            wall, book, own = self.recorded(*options)
            nothings.append(self.clocked("--version"))
            rests.append(wall - own["before_ns"] - own["program_ns"] - own["after_ns"])
            for key in own:
                if key != "code_ns" and not (key == "summary_ns" and options):
                    self.assertGreater(own[key], 0, key)
            self.assertGreaterEqual(rests[-1], 0)
            self.assertLessEqual(own["seal_ns"] + own["symbols_ns"] + own["code_ns"] + own["summary_ns"], own["after_ns"])
            self.assertLessEqual(book["process_wall_ns"], own["program_ns"])
            if min(rests) <= 2 * max(nothings):
                return
        self.fail("%s ns are in no line, where sonde --version takes %s" % (rests, nothings))

    def test_sum(self):
        self.check()

    def test_sum_without_the_line(self):
        self.check("-q")

    def test_lines(self):
        _, _, own = self.recorded()
        text = run("report", "x.sonde", "ledger").stdout
        for name in ("before the run", "the run", "after the run", "total"):
            self.assertRegex(text, r"(?m)^record: %s +\d" % name)

    def test_held(self):
        """Work is in flight when main returns; until it has ended, the program stands still for Sonde."""
        for _ in range(10):
            run("record", "-q", "-f", "-o", "x.sonde", "--", EXITS, "flight-return")
            book = json.loads(run("report", "x.sonde", "ledger", "--json").stdout)
            out = json.loads(run("export", "x.sonde", "--to", "json", "-o", "-").stdout)
            last_call, last_end = max(row["leave_ns"] for row in out["calls"]), max(row["end_ns"] for row in out["operations"])
            self.assertGreater(book["held_ns"], 0)
            self.assertLess(book["held_ns"], book["process_wall_ns"] + book["record"]["program_ns"])
            if book["held_ns"] > 0.8 * (last_end - last_call) > 5e6:
                self.assertIn("overhead: start, exit", run("report", "x.sonde", "ledger").stdout)
                return
        self.fail(f"held {book['held_ns']} ns, work was in flight for {last_end - last_call} ns")

    def test_manifest_without_timings(self):
        self.recorded()
        with open("x.sonde/manifest.json", encoding="utf-8") as file:
            manifest = json.load(file)
        for timings in (None, {}, [], {"before_ns": -1, "after_ns": 2}, {"before_ns": "1", "after_ns": 2}, {"before_ns": 1}):
            manifest["timings"] = timings
            with open("x.sonde/manifest.json", "w", encoding="utf-8") as file:
                json.dump(manifest, file)
            self.assertIsNone(json.loads(run("report", "x.sonde", "ledger", "--json").stdout)["record"])
            self.assertRegex(run("report", "x.sonde", "ledger").stdout, r"(?m)^record: before the run +- +not stored")


class Frames:
    """The zstd frames within bytes, unpacked."""

    def __init__(self):
        self.zstd = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
        for name in ("ZSTD_findFrameCompressedSize", "ZSTD_decompress"):
            getattr(self.zstd, name).restype = ctypes.c_size_t
        self.zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong

    def unpack(self, data):
        found = []
        for match in re.finditer(rb"\x28\xb5\x2f\xfd", data):
            frame = data[match.start():]
            packed = self.zstd.ZSTD_findFrameCompressedSize(frame, ctypes.c_size_t(len(frame)))
            if self.zstd.ZSTD_isError(ctypes.c_size_t(packed)):
                continue
            size = self.zstd.ZSTD_getFrameContentSize(frame, ctypes.c_size_t(len(frame)))
            size = 1 << 20 if size > 1 << 30 else size  # not said: a chunk's payload is smaller
            room = ctypes.create_string_buffer(size + 1)
            got = self.zstd.ZSTD_decompress(room, ctypes.c_size_t(size), frame, ctypes.c_size_t(packed))
            if not self.zstd.ZSTD_isError(ctypes.c_size_t(got)):
                found.append(room.raw[:got])
        return found


class Secrets(OpenCL):
    SECRET = "hunter2squared"

    def files_with(self, folder, secret):
        frames, found, unpacked = Frames(), [], 0
        for where, _, names in os.walk(folder):
            for name in names:
                with open(os.path.join(where, name), "rb") as file:
                    data = file.read()
                parts = frames.unpack(data)
                unpacked += len(parts)
                if any(secret.encode() in part for part in [data, *parts]):
                    found.append(name)
        self.assertGreater(unpacked, 3)  # or nothing was looked at
        return found

    def command(self, *arguments, pattern=None):
        options = () if pattern is None else ("--hide-arguments", pattern)
        r = run("record", "-f", "-o", "x.sonde", *options, "--", *WITH_ARGUMENTS, *arguments)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertNotIn(self.SECRET, r.stderr)
        with open("x.sonde/manifest.json", encoding="utf-8") as file:
            manifest = json.load(file)
        self.assertIs(manifest["options"]["hide_arguments"], pattern is not None)
        self.assertEqual(manifest["command"][:4], list(WITH_ARGUMENTS))
        return manifest["command"][4:]

    def test_in_no_file(self):
        s = self.SECRET
        self.assertEqual(self.command("--password=" + s), ["--password=" + s])
        self.assertEqual(self.files_with("x.sonde", s), ["manifest.json"])
        shown = self.command("--password=" + s, "--Token", s, "-v", "-p" + s, "DB_PASSWORD=" + s, "https://me:%s@host/" % s,
                             "curl --token %s" % s, "--size=3", pattern="password,token,*_password,p*,*://*:*@*")
        self.assertEqual(shown, ["--password=***", "--Token", "***", "-v", "***", "***", "***", "***", "--size=3"])
        self.assertEqual(self.files_with("x.sonde", s), [])
        for view in ("summary", "ledger"):
            self.assertNotIn(s, run("report", "x.sonde", view).stdout)
        self.assertIn("--password=***", run("report", "x.sonde").stdout)
        for form in ("json", "csv", "perfetto"):
            self.assertEqual(run("export", "x.sonde", "--to", form, "-o", "out." + form).returncode, 0)
            with open("out." + form, "rb") as file:
                self.assertNotIn(s.encode(), file.read())

    def test_rules(self):
        x = self.SECRET
        for pattern, given, shown in (
                ("token", ["--token", x, "--tokens", "3"], ["--token", "***", "--tokens", "3"]),
                ("--token", ["--token", x], ["--token", "***"]),
                ("TOKEN", ["-token", x, "token=" + x], ["-token", "***", "token=***"]),
                ("*token*", ["--api-token", x, "-token", x], ["--api-token", "***", "***", "***"]),
                ("hf_*", ["hf_" + x, "model"], ["***", "model"]),
                ("token,password", ["--token", "--password", x], ["--token", "***", "***"]),
                ("token", ["--token"], ["--token"]),
                ("token", ["--a=b c --token %s" % x], ["***"]),
                ("a,b", ["a", "b=c", "ab"], ["***", "b=***", "ab"]),
                ("", ["--token", "x"], ["--token", "x"]),
                (",,", ["--token", "x"], ["--token", "x"])):
            self.assertEqual(self.command(*given, pattern=pattern), shown, (pattern, given))

    def test_before_the_end(self):
        """A record that is killed leaves the manifest of its start."""
        r = run("record", "-q", "-o", "y.sonde", "--hide-arguments", "token", "--", "sh", "-c", 'cat "$SONDE_OUT/manifest.json"',
                "sh", "--token=" + self.SECRET)
        self.assertEqual(json.loads(r.stdout)["command"][-1], "--token=***")
        self.assertNotIn(self.SECRET, r.stdout)


class FileLimit(OpenCL):
    """ulimit -f: who writes more gets SIGXFSZ, which ends a process."""

    def limited(self, limit, *command):
        return run("record", "-o", "x.sonde", "--", *command,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))

    def test_too_small_for_a_measurement(self):
        r = self.limited(1 << 20, PROGRAM)
        self.assertEqual(r.returncode, 0)  # the program's
        self.assertOneLine(r.stderr)
        self.assertRegex(r.stderr, r"ulimit -f\) is 1048 kB, but a measurement of \w+ needs at least \d+ kB")
        self.assertFalse(os.path.exists("x.sonde"))

    def test_the_program_ran_into_it(self):
        r = self.limited(1 << 20, "sh", "-c", '"$0"; exec dd if=/dev/zero of=big bs=1M count=2', PROGRAM)
        self.assertEqual(r.returncode, -25)
        said = [line for line in r.stderr.splitlines() if line.startswith("sonde:")]
        self.assertEqual(len(said), 1, r.stderr)
        self.assertIn("ulimit -f", said[0])
        self.assertIn("terminated by signal 25, File size limit exceeded", said[0])

    def test_the_end_by_a_signal_is_said(self):
        r = run("record", "--", "sh", "-c", "kill -SEGV $$")
        self.assertIn("terminated by signal 11, Segmentation fault", r.stderr)

    def test_not_even_for_the_manifest(self):
        for limit in (0, 512, 4096):
            r = self.limited(limit, PROGRAM)
            self.assertOneLine(r.stderr)  # of record, which lives
            self.assertIn(r.returncode, (0, 125) if "terminated by" not in r.stderr else (-25,), r.stderr)
            self.assertFalse(os.path.exists("x.sonde"), r.stderr)

    def test_the_program_gets_the_signal(self):
        r = self.limited(8 << 20, "sh", "-c", "trap 'echo caught; exit 3' XFSZ; dd if=/dev/zero of=big bs=1M count=9 2>/dev/null; "
                                             "kill -XFSZ $$; sleep 9")
        self.assertEqual((r.returncode, r.stdout), (3, "caught\n"))


main()
