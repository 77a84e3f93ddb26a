"""The tree of `make dist` works from any folder, with the libraries that travel in it."""
import glob
import json
import os
import re
import shutil
import subprocess
import tarfile
import unittest

from common import InFolder, SOURCE, main

BUILD = os.environ["BUILD"]
C_LIBRARY = re.compile(r"^(linux-vdso|ld-linux|/lib64/ld-linux|lib(c|m|dl|rt|pthread|resolv)\.so)")


class Dist(InFolder):
    @classmethod
    def setUpClass(cls):
        made = subprocess.run([SOURCE + "/tools/dist.sh", BUILD], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if made.returncode:
            raise AssertionError(made.stdout)
        cls.archive = max(glob.glob(BUILD + "/dist/sonde-*.tar.gz"), key=os.path.getmtime)

    def setUp(self):
        super().setUp()
        os.mkdir("else where")
        with tarfile.open(self.archive) as archive:
            archive.extractall("else where")
        self.tree = glob.glob(self.folder + "/else where/sonde-*")[0]
        self.environment = {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "LD_PRELOAD")}

    def sonde(self, *args):
        return subprocess.run([self.tree + "/bin/sonde", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=self.environment, timeout=600)

    def test_every_library_is_inside(self):
        text = subprocess.run(["ldd", self.tree + "/bin/sonde"], stdout=subprocess.PIPE, text=True, env=self.environment).stdout
        lines = [line.split() for line in text.splitlines()]
        self.assertGreater(len(lines), 5)
        for words in lines:
            if not C_LIBRARY.match(words[0]):
                self.assertTrue(os.path.realpath(" ".join(words[2:-1])).startswith(os.path.realpath(self.tree)), " ".join(words))

    def test_libraries_in_the_program_need_only_the_c_library(self):
        for name in ("libsonde-agent.so", "libsonde-preload.so"):
            text = subprocess.run(["readelf", "-d", f"{self.tree}/lib/sonde/{name}"], stdout=subprocess.PIPE, text=True).stdout
            for needed in re.findall(r"NEEDED.*\[(.*)\]", text):
                self.assertRegex(needed, C_LIBRARY)

    def test_a_program_links_the_library(self):
        """As a user builds it: with what pkg-config says, and the header of the tree."""
        with open("program.c", "w", encoding="utf-8") as file:
            file.write("""#include <stdio.h>
#include <sonde/read.h>
int main(int argc, char **argv)
{
    struct sonde_read *m;
    struct sonde_read_error error;
    struct ArrowSchema schema;
    struct ArrowArray array;
    if (argc < 2 || sonde_read_open(argv[1], &m, &error) || sonde_read_rows(m, "processes", NULL, &schema, &array, &error))
        return puts(error.sentence), 1;
    printf("%s %lld %lld", sonde_read_version(), (long long)schema.n_children, (long long)array.length);
    array.release(&array);
    schema.release(&schema);
    sonde_read_close(m);
}
""")
        os.makedirs("empty.sonde")
        with open("empty.sonde/manifest.json", "w", encoding="utf-8") as file:
            json.dump({"format": "sonde", "format_version": 7, "command": ["x"]}, file)
        shutil.move(self.tree, "tree")  # compilers' options have no spaces
        environment = {**self.environment, "PKG_CONFIG_PATH": "tree/lib/pkgconfig"}
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "sonde"], stdout=subprocess.PIPE, text=True, env=environment, check=True).stdout.split()
        subprocess.run(["cc", "-std=c17", "-Wall", "-Werror", "program.c", "-o", "program", *flags, "-Wl,-rpath," + self.folder + "/tree/lib"],
                       env=environment, check=True)
        self.assertEqual(subprocess.run(["./program", "empty.sonde"], stdout=subprocess.PIPE, text=True, env=self.environment, check=True).stdout.split()[1:],
                         ["16", "0"])
        done = subprocess.run(["./program", "gone.sonde"], stdout=subprocess.PIPE, text=True, env=self.environment, check=False)
        self.assertEqual((done.returncode, "gone.sonde" in done.stdout), (1, True))

    def test_python_finds_its_tree(self):
        environment = {key: value for key, value in self.environment.items() if not key.startswith("SONDE")}
        environment["PYTHONPATH"] = self.tree + "/share/sonde/python"
        said = subprocess.run(["python3", "-B", "-c", "import sonde; print(sonde.command()); print(sonde.version())"], stdout=subprocess.PIPE, text=True,
                              env=environment, check=True).stdout.splitlines()
        self.assertEqual(said[0], os.path.realpath(self.tree) + "/bin/sonde")
        self.assertEqual(said[1], self.sonde("--version").stdout.split()[1])

    def test_records_and_reports(self):
        doctor = self.sonde("doctor", "--json")
        if doctor.returncode and '"OpenCL device"' in doctor.stdout and '"problem"' in doctor.stdout and "none found" in doctor.stdout:
            self.skipTest("no OpenCL device here")
        self.assertEqual(doctor.returncode, 0, doctor.stdout + doctor.stderr)
        recorded = self.sonde("record", "-o", "x.sonde", "--", self.tree + "/bin/sonde", "doctor", "--probe", "opencl-work")
        self.assertEqual(recorded.returncode, 0, recorded.stderr)
        self.assertRegex(recorded.stderr, r"sonde: [1-9]\d* operations?, 0 dropped, 0 unmatched")
        self.assertNotIn("ld.so", recorded.stderr)
        self.assertRegex(recorded.stderr, "sonde: cannot preload .*: its path contains a space")
        report = self.sonde("report", "x.sonde")
        self.assertEqual((report.returncode, report.stderr), (0, ""))
        self.assertRegex(report.stdout, r"(?m)^data: .* 0 dropped, 0 unmatched")

    def test_the_viewers_server_travels(self):
        os.makedirs("empty.sonde")
        with open("empty.sonde/manifest.json", "w", encoding="utf-8") as file:
            json.dump({"format": "sonde", "format_version": 7, "command": ["x"]}, file)
        viewer = subprocess.Popen([self.tree + "/bin/sonde", "view", "empty.sonde", "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, env=self.environment)
        line = viewer.stdout.readline()
        loaded = set()
        if line:
            with open(f"/proc/{viewer.pid}/maps", encoding="utf-8") as file:
                loaded = {words[5] for words in (row.rstrip("\n").split(None, 5) for row in file) if len(words) == 6 and ".so" in words[5]}
        viewer.terminate()
        _, said = viewer.communicate(timeout=600)
        if "libmicrohttpd" in said:
            self.skipTest(said)
        self.assertEqual((viewer.returncode, line[:17]), (0, "http://127.0.0.1:"), said)
        self.assertTrue(any("libmicrohttpd" in path for path in loaded), loaded)
        for path in loaded:
            if not C_LIBRARY.match(os.path.basename(path)):
                self.assertTrue(path.startswith(os.path.realpath(self.tree)), path)

    def test_pages_travel(self):
        self.assertTrue(os.path.exists(self.tree + "/share/man/man1/sonde-record.1"))
        for script in ("bash-completion/completions/sonde", "fish/vendor_completions.d/sonde.fish", "zsh/site-functions/_sonde"):
            self.assertTrue(os.path.exists(self.tree + "/share/" + script), script)
        self.assertTrue(os.path.exists(self.tree + "/include/sonde/sonde.h"))

    def test_the_viewer_travels(self):
        made = BUILD + "/share/sonde/viewer"
        if not os.path.exists(made + "/index.html"):
            self.skipTest("the viewer's page was not built: Node was missing")
        for name in ("index.html", "viewer.js", "viewer.css", "LICENSES.txt"):
            with open(f"{self.tree}/share/sonde/viewer/{name}", "rb") as there, open(f"{made}/{name}", "rb") as here:
                self.assertEqual(there.read(), here.read(), name)
        with open(f"{made}/LICENSES.txt", encoding="utf-8") as licences:
            text = licences.read()
        for name in ("preact", "uplot", "dagre"):
            self.assertRegex(text, rf"(?m)^(@\w+/)?{name} \d")


if __name__ == "__main__":
    main()
