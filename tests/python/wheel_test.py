"""wheel_test.py - the wheel in an environment that has nothing else, with each CPython from 3.9 on that is here: it installs, reads a
measurement, records a program that names its phases, and has the command."""
import glob
import os
import shutil
import subprocess
import sys
import zipfile

from common import SOURCE, Case, cli
import scenes

VERSIONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")

SCRIPT = """
import sys
import sonde

m = sonde.open(sys.argv[1])
rows = m.operations(["name", "start_ns"]).rows()
print(len(rows), rows[0]["name"], len(m.tree()), m.kernels().rows()[0]["count"], sonde.version())
for missing in ("numpy", "pandas", "pyarrow"):
    assert missing not in sys.modules
recorded = sonde.record([sys.argv[3], "-c", "import sonde\\nwith sonde.range('step'): pass"], sys.argv[2])
print([row["name"] for row in recorded.ranges().rows()])
"""


def interpreters():
    """By version: the first that runs."""
    found = {}
    for version in VERSIONS:
        pyenv = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
        fetched = os.path.join(cli.BUILD, "tests/unit/agent/stack/python/pythons", f"python{version}")
        for path in [*glob.glob(f"{pyenv}/versions/{version}.*/bin/python{version}"), fetched, shutil.which(f"python{version}") or "", f"/usr/bin/python{version}"]:
            said = "import sys; print('%d.%d' % sys.version_info[:2])"
            if os.access(path, os.X_OK) and subprocess.run([path, "-c", said], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                                           check=False).stdout.strip() == version:
                found[version] = path
                break
    return found


class Wheel(Case):
    @classmethod
    def setUpClass(cls):
        made = subprocess.run([sys.executable, os.path.join(SOURCE, "tools/wheel.py"), cli.BUILD], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
        if made.returncode:
            raise AssertionError(made.stdout)
        cls.wheel = made.stdout.strip().splitlines()[-1].split(" (")[0]

    def clean(self):
        """An environment that knows neither the build nor the source tree."""
        return {key: value for key, value in os.environ.items() if not key.startswith(("SONDE", "PYTHON", "LD_")) and key != "VIRTUAL_ENV"}

    def install(self, python, folder):
        """Its interpreter and its environment. One that can make no virtual environment gets the package in a folder of the path."""
        made = subprocess.run([python, "-m", "venv", folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.clean(), check=False)
        if made.returncode:
            shutil.rmtree(folder, ignore_errors=True)
            subprocess.run([sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--disable-pip-version-check", "--quiet", "--target", folder,
                            self.wheel], check=True)
            return python, {**self.clean(), "PYTHONPATH": folder}
        done = subprocess.run([os.path.join(folder, "bin/pip"), "install", "--no-index", "--disable-pip-version-check", self.wheel],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.clean(), check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertTrue(os.access(os.path.join(folder, "bin/sonde"), os.X_OK))
        return os.path.join(folder, "bin/python"), self.clean()

    def test_clean_environments(self):
        path, processes = scenes.demo(self.folder)
        tried = []
        for version, python in interpreters().items():
            with self.subTest(version):
                installed, environment = self.install(python, self.path("venv" + version))
                done = subprocess.run([installed, "-c", SCRIPT, path, self.path(version + ".sonde"), installed], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      text=True, env=environment, cwd=self.folder, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                first, second = done.stdout.splitlines()
                self.assertEqual(int(first.split()[0]), sum(len(p.truth) for p in processes))
                self.assertEqual(second, "['step']")
                command = [installed, "-m", "sonde"]
                if "PYTHONPATH" not in environment:
                    command = [os.path.join(os.path.dirname(installed), "sonde")]
                report = subprocess.run([*command, "report", path, "kernels", "--json"], stdout=subprocess.PIPE, text=True, env=environment, check=False)
                self.assertEqual(report.stdout, cli.run("report", path, "kernels", "--json").out)
                wrong = subprocess.run([*command, "nothing"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, check=False)
                self.assertEqual(wrong.returncode, cli.run("nothing").returncode)
                tried.append(version)
        print("tried with CPython", ", ".join(tried))
        self.assertTrue(tried)

    def test_every_library_is_inside(self):
        """What the library loads is the C library's or the wheel's, wherever it is unpacked."""
        with zipfile.ZipFile(self.wheel) as wheel:
            self.assertIsNone(wheel.testzip())
            wheel.extractall(self.path("wheel"))
        library = self.path("wheel/sonde/tree/lib/libsonde.so.1")
        said = subprocess.run(["ldd", library], stdout=subprocess.PIPE, text=True, env=self.clean(), check=True).stdout
        inside = 0
        for line in said.splitlines():
            words = line.split()
            if not words[0].startswith(("linux-vdso", "/lib64/ld-linux", "ld-linux", "libc.", "libm.", "libdl.", "librt.", "libpthread.")):
                self.assertTrue(words[2].startswith(self.path("wheel")), line)
                inside += 1
        self.assertGreater(inside, 2)

    def test_the_same_tree_gives_the_same_wheel(self):
        with open(self.wheel, "rb") as file:
            first = file.read()
        self.setUpClass()
        with open(self.wheel, "rb") as file:
            self.assertEqual(file.read(), first)


if __name__ == "__main__":
    cli.main()
