"""Completion in the real shells: fish answers what it would offer, zsh completes in a pseudo-terminal. (bash: pages.py)"""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time
import unittest

from common import InFolder, SONDE, main, run

COMMANDS = re.findall(r"^  (\w+) ", run("--help").stdout, re.M)
LIMIT = 120  # seconds until a shell counts as hung


def help_options(command):
    return set(re.findall(r"^ +(?:-\w, )?(--[\w-]+)", run(command, "--help").stdout, re.M))


@unittest.skipUnless(shutil.which("fish"), "fish is not installed")
class Fish(InFolder):
    def complete(self, line):
        with open("sonde.fish", "w") as file:
            file.write(run("completion", "fish").stdout)
        r = subprocess.run(["fish", "--no-config", "-c", "source sonde.fish; complete -C $argv[1]", line], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, timeout=LIMIT, env=dict(os.environ, HOME=self.folder))
        self.assertEqual((r.returncode, r.stderr), (0, ""), line)
        return {offer.split("\t")[0] for offer in r.stdout.splitlines()}

    def test_commands_and_options(self):
        self.assertEqual(self.complete("sonde rec"), {"record"})
        for command in COMMANDS:
            offers = {offer.rstrip("=") for offer in self.complete(f"sonde {command} --")}  # --values= beside --values
            self.assertEqual(offers, help_options(command))

    def test_words(self):
        os.mkdir("run.sonde")
        self.assertEqual(self.complete("sonde help doc"), {"doctor"})
        self.assertEqual(self.complete("sonde report run"), {"run.sonde/"})
        self.assertEqual(self.complete("sonde report run.sonde kern"), {"kernels"})
        self.assertEqual(self.complete("sonde report kern"), {"kernels"})
        self.assertEqual(self.complete("sonde export run.sonde --to perf"), {"perfetto"})
        self.assertEqual(self.complete("sonde record -o ru"), {"run.sonde/"})
        self.assertEqual(self.complete("sonde completion "), {"bash", "fish", "zsh"})

    def test_the_program_completes_by_itself(self):
        for line in ("sonde record -q -o x.sonde -- kill -", "sonde record --cpu 99 kill -"):
            offers = self.complete(line)
            self.assertNotIn("--graph", offers)
            self.assertEqual(offers, self.complete("kill -"))


@unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
class Zsh(InFolder):
    def setUp(self):
        super().setUp()
        os.mkdir("functions")
        with open("functions/_sonde", "w") as file:
            file.write(run("completion", "zsh").stdout)
        self.text = ""
        pid, self.fd = pty.fork()
        if pid == 0:
            os.environ.update(TERM="dumb", PS1="> ", LC_ALL="C.UTF-8", COLUMNS="200")
            os.execvp("zsh", ["zsh", "-f", "-i"])
        self.addCleanup(os.close, self.fd)
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        self.send("PS1='> '; fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -u -D; zstyle ':completion:*' list-prompt ''; "
                  "zstyle ':completion:*' list-max 0; LISTMAX=1000; unsetopt auto_menu; stty rows 200 cols 200; LINES=200; echo ready-$((1+1))\n")
        self.wait("ready-2")

    def send(self, text):
        os.write(self.fd, text.encode())

    def wait(self, text, begin=0):
        deadline = time.monotonic() + LIMIT
        while text not in self.text[begin:]:
            if not select.select([self.fd], [], [], max(0, deadline - time.monotonic()))[0]:
                self.fail(f"{text!r} does not come: {self.text[begin:]!r}")
            self.text += os.read(self.fd, 65536).decode("utf-8", "replace")

    def completed(self, line, what):
        """The line after Tab has `what`; then it is thrown away."""
        begin = len(self.text)
        self.send("\x15" + line + "\t")
        self.wait(what, begin)
        self.send("\x15")

    def test_one_way_on(self):
        os.mkdir("run.sonde")
        for line, what in (("sonde rec", "record "), ("sonde report ru", "run.sonde/"), ("sonde report run.sonde kern", "kernels "),
                           ("sonde report kern", "kernels "), ("sonde report --min-pe", "--min-percent="), ("sonde export --to perf", "perfetto "),
                           ("sonde export --to=perf", "perfetto "), ("sonde help doc", "doctor "), ("sonde completion fi", "fish "),
                           ("sonde record -o ru", "run.sonde/"), ("sonde record --gra", "--graph="), ("sonde record -q -- unset-nothing-such; sonde doc", "doctor ")):
            with self.subTest(line):
                self.completed(line, line.rsplit(" ", 1)[0] + " " + ("--to=" if "--to=" in line else "") + what)

    def test_every_option(self):
        for command in COMMANDS:
            for option in sorted(help_options(command)):
                with self.subTest(command=command, option=option):
                    self.completed(f"sonde {command} --", option)


if __name__ == "__main__":
    main()
