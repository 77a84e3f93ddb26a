"""Long work shows progress on the terminal of standard error: a line that is gone when the work is done,
that spares what the program left on the screen, and that nobody else ever sees."""
import os
import pty
import re
import select
import subprocess
import sys
import unittest

from common import SONDE, InFolder, main

BUILD = os.environ["BUILD"]
SYNTH = os.path.join(BUILD, "tests", "sonde-synth")
LIMIT = 300  # seconds until sonde counts as hung
LINE = re.compile(rb"\x1b7\x1b\[\?7l(.*?)\x1b\[K\x1b\[\?7h\x1b8", re.S)  # saves the cursor, brings it back
GONE = b"\x1b[K"


def environment(when="now", term="xterm"):
    env = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_")} | {"TERM": term}
    return env | {"SONDE_PROGRESS": when} if when else env


def read_terminal(fd, until=None):
    """What comes out of a pseudo-terminal until its other end closes, or a pattern is there."""
    out = b""
    while not (until and until.search(out)):
        if not select.select([fd], [], [], LIMIT)[0]:
            raise AssertionError(f"sonde hangs after {out!r}")
        try:
            out += os.read(fd, 65536)
        except OSError:
            break  # Linux says so when the other end has closed
    return out


def on_terminal(*args, when="now", term="xterm", **files):
    """Run sonde in a pseudo-terminal: (what came out of it, status)."""
    ours, theirs = pty.openpty()
    files = {"stdin": subprocess.DEVNULL, "stdout": theirs, "stderr": theirs} | files
    with subprocess.Popen([SONDE, *args], env=environment(when, term), start_new_session=True, **files) as child:
        os.close(theirs)
        try:
            out = read_terminal(ours)
        except AssertionError:
            child.kill()
            raise
    os.close(ours)
    return out, child.returncode


class Progress(InFolder):
    def synth(self, *options):
        subprocess.run([SYNTH, *options, "m.sonde"], check=True, stdout=subprocess.DEVNULL)
        return "m.sonde"

    def check_line(self, out, text):
        lines = LINE.findall(out)
        self.assertTrue(lines, out)
        for line in lines:
            self.assertRegex(line.decode(), rf"\A{text} …( \d+ %)?\Z")
        self.assertIn(GONE, LINE.sub(b"", out), "the line stays on the screen")
        return LINE.sub(b"", out)

    def test_export(self):
        path = self.synth()
        for format in ("perfetto", "json", "csv"):
            with self.subTest(format):
                out, status = on_terminal("export", path, "--to", format, "-f")
                self.assertEqual(status, 0, out)
                rest = self.check_line(out, "exporting")
                self.assertRegex(rest, rb"\A\x1b\[Ksonde: [^\x1b]+ operations; [^\x1b]+\n\Z")

    def test_export_to_a_pipe_shows_it_and_to_the_terminal_does_not(self):
        path = self.synth()
        out, status = on_terminal("export", path, "--to", "csv", "-o", "-", stdout=subprocess.DEVNULL)
        self.assertEqual((self.check_line(out, "exporting"), status), (GONE, 0))
        out, status = on_terminal("export", path, "--to", "csv", "-o", "-")
        self.assertEqual(status, 0)
        self.assertNotIn(b"\x1b", out)

    def test_report(self):
        path = self.synth()
        for view in ("summary", "lanes"):
            out, status = on_terminal("report", path, view, stdout=subprocess.DEVNULL)
            self.assertEqual(status, 0, out)
            self.assertEqual(self.check_line(out, "(reading|reading the trace)").replace(GONE, b""), b"")

    def test_record(self):
        program = os.path.join(BUILD, "bin", "examples", "vector_add")
        out, status = on_terminal("record", "--", program, "1000")
        self.assertEqual(status, 0, out)
        rest = self.check_line(out, "sonde: sealing, resolving symbols")
        self.assertRegex(rest, rb"\x1b\[Ksonde: [^\x1b]*operations[^\x1b]*\n\Z")

    def test_the_programs_half_line_stays(self):
        """The program's last line has no end: the final line follows it, as it does without progress."""
        texts = [on_terminal("record", "--", "printf", "half a line", when=when)[0] for when in ("now", None)]
        self.assertTrue(LINE.search(texts[0]))
        self.assertEqual(LINE.sub(b"", texts[0]).replace(GONE, b""), texts[1])
        self.assertTrue(texts[1].startswith(b"half a line"))

    def test_nobody_looks(self):
        path = self.synth()
        quiet = ("export", path, "--to", "csv", "-f", "-q")
        self.assertEqual(on_terminal(*quiet), (b"", 0))
        self.assertNotIn(b"\x1b", on_terminal("record", "-q", "--", "true")[0])
        self.assertNotIn(b"\x1b", on_terminal(*quiet[:-1], term="dumb")[0])
        self.assertEqual(on_terminal(*quiet[:-1], stderr=subprocess.DEVNULL), (b"", 0))

    def test_percent(self):
        """Nobody reads what is exported until the terminal has said how much that was."""
        path = self.synth("--operations", "100000")
        for format in ("perfetto", "json", "csv"):
            with self.subTest(format):
                ours, theirs = pty.openpty()
                with subprocess.Popen([SONDE, "export", path, "--to", format, "-o", "-"], env=environment(when=None),
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs) as child:
                    os.close(theirs)
                    said = read_terminal(ours, re.compile(rb"\d+ %"))
                    child.stdout.read()
                    rest = read_terminal(ours)
                os.close(ours)
                self.assertEqual(child.returncode, 0)
                percent = int(re.search(rb"\d+(?= %)", said)[0])
                self.assertLess(percent, 100, said)
                self.check_line(said + rest, "exporting")

    def test_a_job_in_the_background_is_silent(self):
        path = self.synth()
        command = [SONDE, "report", path, "lanes"]
        for group, shown in ((None, True), (0, False)):
            pid, fd = pty.fork()
            if pid == 0:
                status = subprocess.call(command, env=environment(), process_group=group)
                os._exit(status)
            out = read_terminal(fd)
            os.close(fd)
            self.assertEqual(os.waitpid(pid, 0)[1], 0, out)
            self.assertEqual(bool(LINE.search(out)), shown, out)

    def test_an_error_comes_after_the_line_is_gone(self):
        path = self.synth()
        manifest = os.path.join(path, "manifest.json")
        with open(manifest, encoding="utf-8") as file:
            text = file.read()
        with open(manifest, "w", encoding="utf-8") as file:
            file.write(re.sub(r'"format_version": *\d+', '"format_version": 99', text))
        out, status = on_terminal("report", path)
        self.assertEqual(status, 1)
        self.assertRegex(self.check_line(out, "reading"), rb"\A\x1b\[Ksonde: [^\x1b]+m.sonde[^\x1b]+\n\Z")


if __name__ == "__main__":
    if not os.path.exists(SYNTH):
        print("skipped: there is no sonde-synth")
        sys.exit(77)
    unittest.TestCase.maxDiff = None
    main()
