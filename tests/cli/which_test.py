"""which_test.py - which measurement and view a command line means, what is suggested when it means none, and that
the commands that are suggested can be pasted into a shell."""
import json
import os
import shutil
import subprocess

import cli
import scenes


class Which(cli.Case):
    def begun(self, name, wall_ns):
        """A copy of the scene's measurement that began then."""
        if not os.path.exists(self.path("made")):
            scenes.demo(self.path("made"))
        shutil.copytree(self.path("made", "demo.sonde"), self.path(name))
        path = self.path(name, "manifest.json")
        with open(path, encoding="utf-8") as file:
            manifest = json.load(file)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(dict(manifest, start_wall_ns=wall_ns), file)

    def three(self):
        for name, ns in (("old.sonde", 10), ("new", 30), ("middle.sonde", 20)):
            self.begun(name, ns)
        os.makedirs(self.path("other.sonde"))
        with open(self.path("other.sonde", "manifest.json"), "w", encoding="utf-8") as file:
            file.write('{"format": "another", "start_wall_ns": 99}')

    def test_the_newest_is_taken_and_said(self):
        self.three()
        done = self.ok("report")
        self.assertEqual(done.err, "sonde: new is the newest measurement here\n")
        self.assertEqual(done.out, self.ok("report", "new").out)
        self.assertEqual(self.ok("report", "kernels").out, self.ok("report", "new", "kernels").out)
        done = self.ok("export", "--to", "csv", "-o", "-")
        self.assertEqual((done.err, done.out), ("sonde: new is the newest measurement here\n",
                                                self.ok("export", "new", "--to", "csv", "-o", "-").out))

    def test_no_measurement_here(self):
        self.assertEqual(self.fails("report").err,
                         "sonde: nothing to read: there is no measurement in this folder; create one with 'sonde record -- PROGRAM', or "
                         "name one: 'sonde report DIR'\n")

    def test_the_suffix_may_be_left_out(self):
        self.three()
        out = self.ok("report", "old.sonde").out
        for name in ("old", "./old", self.path("old"), self.path("old/")):
            done = self.ok("report", name)
            self.assertEqual(done.err, "")
            self.assertEqual(done.out.splitlines()[1:3], out.splitlines()[1:3])
        with open(self.path("old"), "w", encoding="utf-8"):  # the program itself
            pass
        self.ok("report", "old", "kernels")
        os.remove(self.path("old"))
        os.mkdir(self.path("old"))  # or its sources
        self.ok("report", "old", "kernels")
        self.begun("middle", 40)  # but a measurement of that very name is meant
        self.assertIn("sonde report middle ", self.ok("report", "middle").out)

    def test_a_view_alone_unless_a_measurement_is_called_so(self):
        self.three()
        self.begun("kernels", 40)
        self.assertIn("sonde report kernels ", self.ok("report", "kernels").out)
        self.assertIn("new is the newest", (shutil.rmtree(self.path("kernels")), self.ok("report", "kernels").err)[1])

    def test_suggestions(self):
        self.three()
        for args, word in ((("report", "kernals"), "did you mean kernels?"), (("report", "ol"), "did you mean old?"),
                           (("report", "mddle.sonde"), "did you mean middle.sonde?"),
                           (("report", self.path("mddle.sonde")), "did you mean %s?" % self.path("middle.sonde")),
                           (("export", "middel.sonde", "--to", "csv"), "did you mean middle.sonde?")):
            self.assertIn(word, self.fails(*args).err)
        for args, word in ((("reprot",), "did you mean 'report'?"), (("help", "exprot"), "did you mean 'export'?"),
                           (("report", "old", "kernals"), "did you mean 'kernels'?"),
                           (("report", "kernels", "old"), "did you mean 'sonde report old kernels'"),
                           (("report", "--limt", "3"), "did you mean '--limit'?"),
                           (("report", "old", "profile", "--by", "modul"), "did you mean 'module'?"),
                           (("export", "old", "--to", "perfeto"), "did you mean 'perfetto'?")):
            self.assertIn(word, self.fails(*args, status=2).err)
        for args, word in ((("--metric", "gpu,cpuu"), "there is no column 'cpuu'; did you mean 'cpu'?"),
                           (("--sort", "blmae:excl"), "did you mean 'blame'?"),
                           (("--derive", "rate=bytse/gpu"), "did you mean 'bytes'?"),
                           (("--metric", "frobnicate"), "there is no column 'frobnicate'; columns are gpu,")):
            self.assertIn(word, cli.run("report", "old", "profile", *args, cwd=self.folder).err)
        self.assertNotIn("did you mean", self.fails("report", "frobnicate").err)
        self.assertNotIn("did you mean", self.fails("report", "old", "frobnicate", status=2).err)

    def test_suggested_commands_survive_a_shell(self):
        self.begun("plain.sonde", 1)
        for name in ("two words.sonde", "it's $(touch pwned).sonde", "-o", "a\nb.sonde", "\u2190 `x` \\.sonde", "\udcff.sonde", "x;y&z"):
            with self.subTest(name):
                os.rename(self.path("plain.sonde"), os.fsencode(self.path(name)))
                out = self.ok("report", "./" + name, env={"COLUMNS": "500"}).out
                line = next(line for line in out.splitlines() if line.startswith("more: "))
                command = line[len("more: "):].split(" profile |")[0] + " kernels"
                env = dict(os.environ, PATH=os.path.dirname(cli.SONDE) + ":" + os.environ["PATH"], LC_ALL="C.UTF-8")
                done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=env, capture_output=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, b""), command)
                self.assertIn(b"vadd", done.stdout)
                os.rename(os.fsencode(self.path(name)), self.path("plain.sonde"))
        self.assertEqual(sorted(os.listdir(self.folder)), ["made", "plain.sonde"])


if __name__ == "__main__":
    cli.main()
