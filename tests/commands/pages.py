"""Help, manual pages and completion say the same, because they come from the same tables; and links between the pages of docs/ lead somewhere."""
import os
import re
import shutil
import subprocess
import unittest

from common import InFolder, SONDE, SOURCE, main, run

COMMANDS = re.findall(r"^  (\w+) ", run("--help").stdout, re.M)


def help_options(command):
    return set(re.findall(r"^ {1,8}(?:-\w, )?(--[\w-]+)", run(command, "--help").stdout, re.M))


class Help(InFolder):
    def test_overview(self):
        self.assertIn("record", COMMANDS)
        self.assertIn("doctor", COMMANDS)
        self.assertEqual(run("help").stdout, run("--help").stdout)
        self.assertRegex(run("--version").stdout, r"^sonde \d+\.\d+\.\d+\n$")

    def test_every_command(self):
        for command in COMMANDS:
            page = run(command, "--help")
            self.assertEqual((page.returncode, page.stderr), (0, ""))
            self.assertEqual(run(command, "-h").stdout, page.stdout)
            self.assertEqual(run("help", command).stdout, page.stdout)
            self.assertLessEqual(max(len(line) for line in page.stdout.splitlines()), 100)

    def test_unknown(self):
        for arguments in (["frobnicate"], ["help", "frobnicate"], ["doctor", "--frobnicate"], ["doctor", "extra"], ["completion", "tcsh"]):
            r = run(*arguments)
            self.assertEqual((r.returncode, r.stdout), (2, ""), arguments)
            self.assertOneLine(r.stderr)

    def test_lost_output_is_said(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w") as full:
            r = subprocess.run([SONDE, "help"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(r.returncode, 1)
        self.assertOneLine(r.stderr)


class Manual(InFolder):
    def test_pages_hold_every_option(self):
        self.assertEqual(run("man", "--all", ".").returncode, 0)
        self.assertEqual(set(os.listdir(".")), {"sonde.1"} | {f"sonde-{name}.1" for name in COMMANDS})
        for command in COMMANDS:
            with open(f"sonde-{command}.1") as file:
                plain = file.read().replace("\\-", "-")
            for option in help_options(command):
                self.assertIn(option, plain)

    @unittest.skipUnless(shutil.which("man"), "man is not installed")
    def test_pages_are_clean_roff(self):
        run("man", "--all", ".")
        for name in os.listdir("."):
            r = subprocess.run(["man", "--warnings=all", "-l", "-Tutf8", name], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env=dict(os.environ, LC_ALL="C.UTF-8", MANROFFSEQ="", MANWIDTH="80"))
            self.assertEqual((r.returncode, r.stderr), (0, ""), name)
            self.assertIn("NAME", re.sub(".\x08", "", r.stdout))


class Completion(InFolder):
    def complete(self, line):
        """What bash offers at the end of a line."""
        words = line.split(" ")
        script = (f"source <('{SONDE}' completion bash)\n_command_offset() {{ COMPREPLY=(the-programs-own); }}\ncompopt() {{ :; }}\n"
                  f"COMP_WORDS=({' '.join(repr(w) for w in words)})\nCOMP_CWORD={len(words) - 1}\nCOMPREPLY=()\n_sonde\n"
                  'printf "%s\\n" "${COMPREPLY[@]}"\n')
        r = subprocess.run(["bash", "--norc", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(r.stderr, "")
        return set(r.stdout.split())

    def test_commands_and_options(self):
        self.assertEqual(self.complete("sonde rec"), {"record"})
        for command in COMMANDS:
            self.assertEqual(self.complete(f"sonde {command} --"), help_options(command))

    def test_words(self):
        self.assertEqual(self.complete("sonde help doc"), {"doctor"})
        self.assertIn("kernels", self.complete("sonde report some.sonde "))
        self.assertEqual(self.complete("sonde export some.sonde --to perf"), {"perfetto"})

    def test_folders(self):
        os.mkdir("run.sonde")
        with open("run.txt", "w"):
            pass
        self.assertEqual(self.complete("sonde report run"), {"run.sonde"})
        self.assertEqual(self.complete("sonde record -o run"), {"run.sonde"})

    def test_the_program_completes_by_itself(self):
        self.assertEqual(self.complete("sonde record -q -o x.sonde -- git che"), {"the-programs-own"})
        self.assertEqual(self.complete("sonde record git che"), {"the-programs-own"})


class Documentation(unittest.TestCase):
    def test_links_lead_somewhere(self):
        broken, looked = [], 0
        for folder, folders, names in os.walk(SOURCE):
            folders[:] = [name for name in folders if not name.startswith((".", "build", "node_modules"))]
            for path in (os.path.join(folder, name) for name in names if name.endswith(".md")):
                with open(path, encoding="utf-8") as file:
                    text = re.sub("```.*?```", "", file.read(), flags=re.S)
                for link in re.findall(r"\]\(([^)\s]+)\)", text):
                    target, _, heading = link.partition("#")
                    there = os.path.join(folder, target) if target else path
                    looked += 1
                    if not link.startswith("http") and (not os.path.exists(there) or (heading and heading not in self.headings(there))):
                        broken.append(f"{os.path.relpath(path, SOURCE)}: {link}")
        self.assertEqual(broken, [])
        self.assertGreater(looked, 100)

    @staticmethod
    def headings(path):
        """The headings of a page as links name them."""
        with open(path, encoding="utf-8") as file:
            found = re.findall("^#+ (.*)$", file.read(), re.M)
        return {re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).lower()).replace(" ", "-") for text in found}

    def test_pages_that_the_sources_name_are_there(self):
        missing = []
        for part in ("src", "include", "tests", "bench", "examples", "tools"):
            for folder, _, names in os.walk(os.path.join(SOURCE, part)):
                for path in (os.path.join(folder, name) for name in names if name.endswith((".c", ".h", ".cu", ".cc", ".py", ".sh", ".txt"))):
                    with open(path, encoding="utf-8", errors="replace") as file:
                        missing += [f"{os.path.relpath(path, SOURCE)}: {page}" for page in re.findall(r"\bdocs/[\w/-]+\.md", file.read())
                                    if not os.path.exists(os.path.join(SOURCE, page))]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    main()
