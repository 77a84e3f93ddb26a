"""bad_input_test.py - `sonde report` and `sonde export` on what is no whole measurement.

Truncated, bit-flipped, foreign and newer measurements: the message says what
and where, the status is 1 unless something was readable, nothing that was
readable is lost, and damage is never silent where checksums can see it.
"""
import os
import random
import shutil
import struct
import subprocess

import cli
import live
import scenes

SEAL = os.path.join(cli.BUILD, "tests", "sonde-test-seal")
DAMAGE = r"\A(sonde: \S+ damaged chunks? of .+ (was|were) skipped; the rest was exported\n)+"


class BadInput(cli.Case):
    def both(self, path, status=1):
        """Report and export fail; their messages."""
        said = self.fails("report", path, status=status).err + self.fails("export", path, "--to", "csv").err
        self.assertFalse(os.path.exists(path.rstrip("/").replace(".sonde", "") + ".csv"))
        return said

    def sealed(self):
        path, processes = scenes.demo(self.folder, "sealed.sonde")
        subprocess.run([SEAL] + [os.path.join(path, p.name) for p in processes], check=True)
        for p in processes:
            self.assertEqual(os.listdir(os.path.join(path, p.name)), ["data.sonde"])
        return path, os.path.join(path, processes[0].name, "data.sonde")

    def survives(self, *args):
        """Ends with 0, or with 1 and one sentence: no signal, no sanitizer's report."""
        done = cli.run(*args, cwd=self.folder)
        self.assertIn(done.returncode, (0, 1), done.err)
        self.assertNotIn("Sanitizer", done.err)
        self.assertNotIn("runtime error", done.err)
        if done.returncode:
            self.assertRegex(done.err, r"\Asonde: .+\n\Z")
        return done

    def rows(self, path):
        """(status, set of csv lines, what was said) of an export that may meet damage."""
        done = self.survives("export", path, "--to", "csv", "-o", "-")
        return done.returncode, done.stdout.split(b"\r\n")[1:-1] if done.stdout else [], done.err

    def test_nothing_there(self):
        self.expect("bad-missing", self.both("missing.sonde"))

    def test_foreign(self):
        with open(self.path("file.sonde"), "w") as file:
            file.write("not a measurement\n")
        os.mkdir(self.path("folder.sonde"))
        os.makedirs(self.path("strange.sonde", "host-1-0"))
        for name in ("data.sonde", "live.sonde"):
            with open(self.path("strange.sonde", "host-1-0", name), "wb") as file:
                file.write(random.Random(1).randbytes(100000))
        os.makedirs(self.path("perf.sonde"))
        with open(self.path("perf.sonde", "manifest.json"), "w") as file:
            file.write("PERFILE2")
        self.expect("bad-foreign", "".join(self.both(n + ".sonde") for n in ("file", "folder", "strange", "perf")))

    def test_unreadable(self):
        # Root may read everything, so root asks as nobody.
        nobody = 65534 if os.geteuid() == 0 else None
        try:
            cli.run("--version", user=nobody)
        except PermissionError:
            self.skipTest("the user nobody cannot run %s" % cli.SONDE)
        path, _ = scenes.demo(self.folder)
        os.chmod(path, 0)
        os.chmod(self.folder, 0o755)
        self.addCleanup(os.chmod, path, 0o700)
        self.expect("bad-unreadable", self.fails("report", "demo.sonde", user=nobody).err +
                    self.fails("export", "demo.sonde", "--to", "csv", "-o", "-", user=nobody).err)

    def test_newer_live(self):
        path, processes = scenes.demo(self.folder, "newer.sonde")
        with open(os.path.join(path, processes[0].name, "live.sonde"), "r+b") as file:
            file.seek(8)
            file.write(struct.pack("<I", 99))
        self.expect("bad-newer-live", self.both("newer.sonde"))

    def test_newer_manifest(self):
        path, _ = scenes.demo(self.folder, "newer.sonde")
        live.write_manifest(path, ["demo"], version=99)
        self.expect("bad-newer-manifest", self.both("newer.sonde"))

    def test_newer_sealed(self):
        """A chunk of version 99 whose checksum is right (docs/developers/format.md: XXH3-64, the field itself as 0)."""
        try:
            import xxhash
        except ImportError:
            self.skipTest("the Python package xxhash is missing")
        _, data = self.sealed()
        with open(data, "r+b") as file:
            chunk = bytearray(file.read(64))
            stored, = struct.unpack_from("<I", chunk, 44)
            struct.pack_into("<H", chunk, 4, 99)
            struct.pack_into("<Q", chunk, 56, 0)
            checksum = xxhash.xxh3_64_intdigest(bytes(chunk) + file.read(stored))
            struct.pack_into("<Q", chunk, 56, checksum)
            file.seek(0)
            file.write(chunk)
        self.expect("bad-newer-sealed", self.both("sealed.sonde"))

    def test_truncated_live(self):
        path, processes = scenes.demo(self.folder)
        whole = set(self.rows(path)[1])
        file_path = os.path.join(path, processes[0].name, "live.sonde")
        size = os.path.getsize(file_path)
        for keep in [0, 1, 100, 65535, 65536, 65537, 200000, size // 2, size - 65536, size - 70000, size - 1]:
            shutil.copy(file_path, file_path + ".keep")
            os.truncate(file_path, keep)
            status, rows, said = self.rows(path)
            # The other process is whole, so something is always readable.
            self.assertEqual(status, 0, said)
            self.assertGreaterEqual(len(rows), len(processes[1].truth))
            self.assertEqual(cli.run("report", path, cwd=self.folder).returncode, 0)
            os.replace(file_path + ".keep", file_path)
        self.assertEqual(set(self.rows(path)[1]), whole)

    def test_flipped_live(self):
        """Live segments have no checksum: nothing may crash, and both commands end with 0 or 1."""
        path, processes = scenes.demo(self.folder)
        file_path = os.path.join(path, processes[0].name, "live.sonde")
        with open(file_path, "rb") as file:
            good = file.read()
        used = [at for at in range(len(good)) if good[at]]
        chance = random.Random(2)
        for _ in range(60):
            bad = bytearray(good)
            for at in chance.sample(used, 3):
                bad[at] ^= 1 << chance.randrange(8)
            with open(file_path, "wb") as file:
                file.write(bad)
            to = chance.choice(["csv", "json", "perfetto", "sqlite", "chrome", "otf2", "tau", "speedscope", "pprof", "folded"])
            for command in (("export", path, "--to", to, "-f", "-o", self.path("out." + to)),
                            ("report", path, chance.choice(["summary", "contexts", "lanes", "objects"]))):
                self.survives(*command)

    def test_truncated_sealed(self):
        """Cut anywhere: rows that are missing are said to be."""
        path, data = self.sealed()
        whole = self.rows(path)[1]
        with open(data, "rb") as file:
            good = file.read()
        # An empty file is what a process leaves that was killed at once.
        for keep in [0, 1, 63, len(good) - 1, *range(8, len(good), 8)]:
            with open(data, "wb") as file:
                file.write(good[:keep])
            status, rows, said = self.rows(path)
            self.assertEqual(status, 0, said)
            self.assertLessEqual(len(rows), len(whole))
            if keep and rows != whole:
                self.assertRegex(said, DAMAGE, "cut to %d of %d bytes" % (keep, len(good)))

    def test_flipped_sealed(self):
        """One flipped bit: rows are those of the whole measurement, or some are missing and it is said."""
        path, data = self.sealed()
        whole = self.rows(path)[1]
        with open(data, "rb") as file:
            good = file.read()
        chance, damaged = random.Random(3), 0
        for _ in range(80):
            bad = bytearray(good)
            bad[chance.randrange(len(good))] ^= 1 << chance.randrange(8)
            with open(data, "wb") as file:
                file.write(bad)
            status, rows, said = self.rows(path)
            if status:  # a flipped version number reads as another version
                self.assertIn("another version", said)
                continue
            if rows != whole:
                self.assertRegex(said, DAMAGE)
                damaged += 1
            self.survives("report", path)
        self.assertGreater(damaged, 10)

    def test_report_says_the_damage(self):
        path, data = self.sealed()
        with open(data, "r+b") as file:
            file.seek(os.path.getsize(data) // 3)
            file.write(b"\xff" * 8)
        self.assertIn("damaged chunk", self.ok("report", path, "ledger").out)
        self.assertRegex(self.ok("export", path, "--to", "csv").err, DAMAGE)

    def test_a_damaged_manifest_costs_only_itself(self):
        path, processes = scenes.demo(self.folder)
        whole = self.rows(path)[1]
        for text in ("", "{", "[]", "\0" * 100):
            with open(os.path.join(path, "manifest.json"), "w") as file:
                file.write(text)
            status, rows, said = self.rows(path)
            self.assertEqual((status, rows), (0, whole))
            self.assertIn("manifest.json is", said)
            self.assertIn("the rest is read", said)
            ledger = self.ok("report", path, "ledger")
            self.assertIn("manifest.json is", ledger.err)
            self.assertRegex(ledger.out, "damaged chunks +0 ")


if __name__ == "__main__":
    cli.main()
