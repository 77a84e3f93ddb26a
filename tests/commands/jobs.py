"""Job control: an interactive shell in a pseudo-terminal treats `sonde record PROGRAM` as it treats PROGRAM.

Every scenario runs twice, without and with record, and the shell must show the same.
"""
import os
import pty
import re
import select
import shutil
import signal
import sys
import tempfile
import time
import unittest

from common import SONDE, main

LIMIT = 300  # seconds until a scenario counts as hung

COUNTER = r"""
import signal, sys, time
count = 0
def handler(number, frame):
    global count
    count += 1
    print("interrupt", count, flush=True)
signal.signal(signal.SIGINT, handler)
print("ready", flush=True)
for line in sys.stdin:
    if line.strip() == "end":
        break
print("counted", count, flush=True)
"""

SLEEPER = r"""
import os, sys, time
print("begun", flush=True)
while not os.path.exists("go-on"):
    time.sleep(0.01)
print("finished", flush=True)
sys.exit(3)
"""


def as_from_a_shell():
    """Whoever runs the tests may ignore or block signals; a terminal's shell does not."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())


class Terminal:
    """bash -i in a pseudo-terminal."""

    def __init__(self, folder):
        self.prompts = 0
        self.text = ""
        pid, self.fd = pty.fork()
        if pid == 0:
            os.chdir(folder)
            as_from_a_shell()
            environment = dict(os.environ, PS1="$ ", TERM="dumb", HISTFILE="", BASH_SILENCE_DEPRECATION_WARNING="1")
            os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], environment)
        self.pid = pid
        self.expect(r"\$ $")

    def expect(self, pattern):
        """Text up to and with what the pattern matches."""
        end = time.monotonic() + LIMIT
        while True:
            match = re.search(pattern, self.text)
            if match:
                before, self.text = self.text[:match.end()], self.text[match.end():]
                return before
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"the terminal hangs; wanted {pattern!r}, there is {self.text!r}")
            try:
                self.text += os.read(self.fd, 65536).decode(errors="replace").replace("\r", "")
            except OSError as error:
                raise AssertionError(f"the shell ended; wanted {pattern!r}, there is {self.text!r}") from error

    def type(self, text):
        os.write(self.fd, text.encode())

    def run(self, line, pattern=None):
        """Type a line; wait for the pattern, or for the command's end."""
        self.type(line + "\n")
        if pattern:
            return self.expect(pattern)
        self.prompts += 1
        self.type(f"echo end-$((40+{self.prompts}))\n")
        return self.expect(rf"end-{40 + self.prompts}\n")

    def close(self):
        os.close(self.fd)
        try:
            os.killpg(self.pid, signal.SIGHUP)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)


class Jobs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="sonde-test-")
        with open(self.folder + "/counter.py", "w") as file:
            file.write(COUNTER)
        with open(self.folder + "/sleeper.py", "w") as file:
            file.write(SLEEPER)
        self.terminals = []

    def tearDown(self):
        for terminal in self.terminals:
            terminal.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def both(self, scenario):
        for prefix in ("", f"{SONDE} record -q -- "):
            with self.subTest(prefix=prefix or "without"):
                terminal = Terminal(self.folder)
                self.terminals.append(terminal)
                scenario(terminal, prefix)

    def test_reads_the_terminal(self):
        def scenario(t, prefix):
            t.type(prefix + "cat\n")
            t.type("hello\n")
            t.expect(r"hello\nhello\n")
            t.type("\x04")
            t.expect(r"\$ ")
            self.assertIn("status-0", t.run("echo status-$?"))
        self.both(scenario)

    def test_interrupt(self):
        def scenario(t, prefix):
            t.run(prefix + "sh -c 'echo be-\"\"gun; exec sleep 1000'", r"be-gun\n")
            t.type("\x03")
            t.expect(r"\$ ")
            self.assertIn("status-130", t.run("echo status-$?"))
        self.both(scenario)

    def test_interrupt_that_the_program_handles(self):
        def scenario(t, prefix):
            t.run(prefix + f"{sys.executable} counter.py", r"ready\n")
            t.type("\x03")
            t.expect(r"interrupt 1\n")
            t.type("\x03")
            t.expect(r"interrupt 2\n")
            t.type("end\n")
            t.expect(r"counted 2\n")
            t.expect(r"\$ ")
            self.assertIn("status-0", t.run("echo status-$?"))
        self.both(scenario)

    def test_quit(self):
        def scenario(t, prefix):
            t.run("ulimit -c 0")
            t.run(prefix + "sh -c 'echo be-\"\"gun; exec sleep 1000'", r"be-gun\n")
            t.type("\x1c")
            t.expect(r"\$ ")
            self.assertIn("status-131", t.run("echo status-$?"))
        self.both(scenario)

    def test_suspend_and_foreground(self):
        def scenario(t, prefix):
            t.type(prefix + "cat\n")
            t.type("one\n")
            t.expect(r"one\none\n")
            t.type("\x1a")
            t.expect(r"Stopped")
            t.expect(r"\$ ")
            self.assertIn("Stopped", t.run("jobs"))
            t.run("fg", r"cat\n")
            t.type("two\n")
            t.expect(r"two\ntwo\n")
            t.type("\x1a")
            t.expect(r"Stopped")
            t.expect(r"\$ ")
            t.run("fg", r"cat\n")
            t.type("three\n")
            t.expect(r"three\nthree\n")
            t.type("\x04")
            t.expect(r"\$ ")
            self.assertIn("status-0", t.run("echo status-$?"))
        self.both(scenario)

    def test_suspend_and_background(self):
        def scenario(t, prefix):
            # No shell script: dash starts a command by vfork, and a stop that comes within it stops only the child.
            t.run(prefix + f"{sys.executable} sleeper.py", r"begun\n")
            t.type("\x1a")
            t.expect(r"Stopped")
            t.expect(r"\$ ")
            t.run("bg")
            t.run("touch go-on", r"finished") # the prompt may come between it and the end of its line
            self.assertIn("status-3", t.run("wait %1; echo status-$?; rm go-on"))
        self.both(scenario)

    def test_background_reader_is_stopped_by_the_terminal(self):
        def scenario(t, prefix):
            t.type(prefix + "cat &\n")
            for _ in range(LIMIT):
                if "Stopped" in t.run("sleep 0.2; jobs"):
                    break
            else:
                self.fail("the background job was not stopped when it read the terminal")
            t.run("fg", r"cat\n")
            t.type("text\n")
            t.expect(r"text\ntext\n")
            t.type("\x04")
            t.expect(r"\$ ")
        self.both(scenario)

    def test_kill_of_the_job(self):
        def scenario(t, prefix):
            t.run(prefix + "sleep 1000 &")
            self.assertIn("status-143", t.run("kill %1; wait %1; echo status-$?"))
        self.both(scenario)

    def test_stop_of_the_job_by_signal(self):
        def scenario(t, prefix):
            t.run(prefix + "sleep 1000 &")
            t.run("kill -STOP %1")
            for _ in range(LIMIT):
                if "Stopped" in t.run("sleep 0.1; jobs"):
                    break
            else:
                self.fail("the job did not stop")
            t.run("kill -CONT %1")
            for _ in range(LIMIT):
                if "Running" in t.run("sleep 0.1; jobs"):
                    break
            else:
                self.fail("the job did not run on")
            self.assertIn("status-143", t.run("kill %1; wait %1; echo status-$?"))
        self.both(scenario)

    def test_hangup(self):
        """When the terminal goes away, so do record and the program."""
        for prefix in ([], [SONDE, "record", "-q", "--"]):
            pid, fd = pty.fork()
            if pid == 0:
                as_from_a_shell()
                os.execvp((prefix + ["sh"])[0], prefix + ["sh", "-c", "echo $$; exec sleep 1000"])
            text = b""
            while not text.endswith(b"\n"):
                text += os.read(fd, 100)
            os.close(fd)
            _, status = os.waitpid(pid, 0)
            self.assertEqual(os.WTERMSIG(status), signal.SIGHUP)
            end = time.monotonic() + LIMIT
            while time.monotonic() < end and os.path.exists(f"/proc/{int(text)}"):
                time.sleep(0.01)
            self.assertFalse(os.path.exists(f"/proc/{int(text)}"))


if __name__ == "__main__":
    if not os.path.exists("/bin/bash"):
        print("skipped: no /bin/bash")
        sys.exit(77)
    main()
