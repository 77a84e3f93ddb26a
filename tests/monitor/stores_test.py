"""stores_test.py - the configuration file of `sonde monitor`, what it chooses, and its stores.

Files are read by Python's csv, and compared with what was served: a program that has ended has figures that stay.
"""
import contextlib
import csv
import errno
import glob
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import cli  # noqa: E402
import monitoring  # noqa: E402
import figures_test  # noqa: E402
from monitoring import Monitor, of, samples, until  # noqa: E402

LDMS = ["#Time", "Time_usec", "ProducerName", "component_id", "job_id", "app_id"]
OPERATION = ["process", "pid", "program", "rank", "device", "device_name", "runtime", "kind", "kernel"]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def rows(path):
    """Each row as a dictionary."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Stores(cli.Case):
    program = figures_test.Figures.program

    def setUp(self):
        super().setUp()
        if not monitoring.text_string_to_metric_families:
            self.skipTest(monitoring.WHY)
        self.announced = self.path("announced")
        os.mkdir(self.announced, 0o700)
        self.csv, self.sqlite = self.path("csv"), self.path("sonde.sqlite")

    def check(self, text, *args):
        path = self.path("sonde.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = cli.run("monitor", "--check", "--config", path, *args)
        return done.returncode, done.err.replace(path, "FILE")

    def test_what_is_wrong_in_the_file_is_said_with_its_line(self):
        for text, said in (
                ("\n# c\nlistn = 'a'", "3: there is no key 'listn'; did you mean 'listen'?"),
                ("config = 'a'", "1: there is no key 'config'"),
                ("interval = 'x'\n", "1: interval needs a time such as 500ms, 10s or 2m, not 'x'"),
                ("interval = 1\n\ninterval = 2", "3: the key stands here for the second time"),
                ("[csv]\n", "1: there are no tables here: keys are the long options of 'sonde monitor'"),
                ("csv", "1: expected KEY = VALUE"),
                ("csv = 'a' 'b'", "1: there is more behind the value"),
                ("csv = \"a\n\"", "1: the string does not end on its line"),
                ("csv = \"\\q\"", "1: unknown escape in a string; 'single quotes' have none"),
                ("csv = yes", "1: a value is a \"string\", a number or an [array] of these"),
                ("metrics = [\n'sonde_nvml_*'\n'a'", "3: the array lacks a comma, or its ]"),
                ("metrics = [\n'sonde_nvml_*',\n'sonde_nvml_powr_watts']", "1: there is no metric 'sonde_nvml_powr_watts'; did you mean 'sonde_nvml_power_watts'?"),
                ("devices = ['a']", "1: devices are numbers such as 0,1, not 'a'"),
                ("csv-size = '1K'", "1: csv-size needs at least 1M, not '1K'")):
            self.assertEqual(self.check(text), (2, f"sonde: FILE:{said}\n"), text)
        self.assertEqual(self.check("# nothing\r\n\r\ncsv = \"a\\tb\" # c\r\ndevices = [0,\n 1, # d\n]\ninterval = 0.5\nmetrics = 'sonde_gpm_*'"), (0, ""))
        self.assertEqual(cli.run("monitor", "--check", "--config", self.path("none")).returncode, 1)

    def test_the_command_line_counts(self):
        with open(self.path("sonde.toml"), "w", encoding="utf-8") as file:
            file.write(f"listen = 'not an address'\nfolder = '/none'\nmetrics = ['sonde_monitor_looks']\ncsv = '{self.csv}'\n")
        with Monitor(self.announced, "--config", self.path("sonde.toml")) as monitor:
            found = samples(monitor.looked())
            self.assertEqual(set(found), {"sonde_monitor_looks_total"})
            older = monitor.request(headers={"Accept": "text/plain"})[2].decode()
            self.assertEqual(re.findall(r"^# TYPE (.*)$", older, re.M), ["sonde_monitor_looks_total counter"])
        looks = [int(row["monitor_looks_total"]) for row in rows(os.path.join(self.csv, "monitor.csv"))]
        self.assertEqual(looks, list(range(1, len(looks) + 1)))

    def test_csv_has_what_is_served(self):
        p, _ = self.program(state=1)
        p.write(self.announced)
        with Monitor(self.announced, "--csv", self.csv) as monitor:
            found = samples(monitor.looked(3))
            self.assertGreater(of(found, "sonde_monitor_stored_rows_total", "store")["csv"], 0)
            self.assertEqual(of(found, "sonde_monitor_lost_rows_total", "store"), {"csv": 0})
        stored = rows(os.path.join(self.csv, "operation.csv"))
        self.assertEqual(list(stored[0])[:15], LDMS + OPERATION)
        last = {tuple(row[name] for name in OPERATION): row for row in stored}
        for metric in ("operations", "failed_operations", "timed_operations", "operation_seconds", "operation_bytes"):
            served = of(found, f"sonde_agent_{metric}_total", *OPERATION)
            self.assertEqual({key: float(row[f"agent_{metric}_total"]) for key, row in last.items()},
                             {tuple(word or "" for word in key): value for key, value in served.items()}, metric)
        self.assertEqual({row["ProducerName"] for row in stored}, {socket.gethostname()})
        for row in stored:
            self.assertEqual(row["#Time"].split(".")[1], f"{int(row['Time_usec']):06}")
        self.assertEqual({row["agent_running"] for row in rows(os.path.join(self.csv, "program.csv"))}, {"0"})

    def test_a_file_goes_on_and_a_torn_line_ends(self):
        path = os.path.join(self.csv, "monitor.csv")
        with Monitor(self.announced, "--csv", self.csv) as monitor:
            monitor.looked()
            monitor.stop(signal.SIGKILL)
        before = read(path)
        with open(path, "a", encoding="utf-8") as file:
            file.write("1234.5,")
        with Monitor(self.announced, "--csv", self.csv) as monitor:
            monitor.looked()
        after = read(path)
        self.assertTrue(after.startswith(before + "1234.5,\n"))
        lines = list(csv.reader(after.splitlines()))
        self.assertEqual([line for line in lines if len(line) != len(lines[0])], [["1234.5", ""]])
        self.assertEqual(sum(line[0] == "#Time" for line in lines), 1)

    def test_another_file_begins(self):
        """With other columns, with a day, and at a size."""
        path = os.path.join(self.csv, "monitor.csv")
        os.mkdir(self.csv)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#Time,other\n1,2\n")
        with Monitor(self.announced, "--csv", self.csv, "--csv-size", "1M") as monitor:
            monitor.looked()
            old, = glob.glob(os.path.join(self.csv, "monitor-*.csv"))
            self.assertEqual(read(old), "#Time,other\n1,2\n")
        os.utime(path, (10**9, 10**9))
        with Monitor(self.announced, "--csv", self.csv) as monitor:
            monitor.looked()
        self.assertEqual(len(glob.glob(os.path.join(self.csv, "monitor-20010909T014640Z.csv"))), 1)
        with open(path, "a", encoding="utf-8") as file:
            file.write("#" * (1 << 20) + "\n")
        with Monitor(self.announced, "--csv", self.csv, "--csv-size", "1M") as monitor:
            monitor.looked()
        self.assertEqual(len(glob.glob(os.path.join(self.csv, "monitor-*.csv"))), 3)
        self.assertLess(os.path.getsize(path), 1 << 20)

    def full(self, store, path, blocks):
        """What it said where files cannot grow: the limit on their size stands for a full disk."""
        full = ["sh", "-c", 'trap "" XFSZ; ulimit -f "$0"; exec "$@"', str(blocks), cli.SONDE]
        process = subprocess.Popen([*full, "monitor", "--listen", "127.0.0.1:0", "--interval", "1ms", "--folder", self.announced, f"--{store}", path],
                                   env=monitoring.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            monitor = Monitor.__new__(Monitor)
            monitor.process, monitor.url = process, process.stdout.readline().strip()
            lost = until(lambda: of(samples(monitor.text()), "sonde_monitor_lost_rows_total", "store")[store], "lost rows")
            until(lambda: of(samples(monitor.text()), "sonde_monitor_lost_rows_total", "store")[store] > lost + 5, "more of them")
        finally:
            process.terminate()
            err = process.communicate(timeout=monitoring.LIMIT)[1]
        return monitoring.NO_GPUS.sub("", err)

    def test_a_full_disk_is_counted_and_said_once(self):
        path = os.path.join(self.csv, "monitor.csv")
        self.assertEqual(self.full("csv", self.csv, 8), f"sonde: cannot store in {path}: {os.strerror(errno.EFBIG)}\n")
        lines = list(csv.reader(read(path).splitlines()))
        self.assertEqual({len(line) for line in lines}, {len(lines[0])})

    def test_a_full_disk_leaves_the_database_sound(self):
        said = self.full("sqlite", self.sqlite, 400)
        self.assertRegex(said, f"\\Asonde: cannot store in {self.sqlite}: (disk I/O error|database or disk is full)\n\\Z")
        self.assertGreater(len(self.database()), 5)
        with contextlib.closing(sqlite3.connect(self.sqlite)) as db:
            self.assertEqual(len({count for count, in db.execute("SELECT count(*) FROM sample GROUP BY time_us")}), 1)

    def database(self):
        """{name: {labels that tell it apart, sorted: last value}}, as `samples` has it; and the file has to be sound."""
        found = {}
        with contextlib.closing(sqlite3.connect(self.sqlite)) as db:
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            for name, labels, value in db.execute("SELECT name, labels, value FROM named_sample ORDER BY time_us"):
                found.setdefault(name, {})[tuple(sorted(json.loads(labels).items()))] = value
        return found

    def test_sqlite_has_what_is_served(self):
        p, _ = self.program(state=1)
        p.write(self.announced)
        with Monitor(self.announced, "--sqlite", self.sqlite, "--csv", self.csv) as monitor:
            found = samples(monitor.looked(3))
            self.assertEqual(of(found, "sonde_monitor_lost_rows_total", "store"), {"csv": 0, "sqlite": 0})
            stored = self.database()  # while it is written
        self.assertEqual(set(stored), set(found))
        for name in found:
            if name.startswith("sonde_agent_"):
                self.assertEqual(stored[name], found[name])

    def test_sqlite_keeps_for_a_time(self):
        with Monitor(self.announced, "--sqlite", self.sqlite) as monitor:
            monitor.looked()
        with contextlib.closing(sqlite3.connect(self.sqlite)) as db, db:
            db.execute("INSERT INTO series VALUES (1000, 'old', '{}', 5)")
            db.execute("INSERT INTO series VALUES (1001, 'dying', '{}', 5)")
            db.execute("INSERT INTO sample VALUES (5, 1000, 1)")
            now = db.execute("SELECT max(time_us) FROM sample").fetchone()[0]
            db.execute("INSERT INTO sample VALUES (?, 1001, 1)", (now,))
        with Monitor(self.announced, "--sqlite", self.sqlite, "--sqlite-keep", "1h") as monitor:
            monitor.looked()
        with contextlib.closing(sqlite3.connect(self.sqlite)) as db:
            self.assertEqual(db.execute("SELECT count(*) FROM sample WHERE time_us <= 5").fetchone(), (0,))
            self.assertEqual(db.execute("SELECT name FROM series WHERE id >= 1000").fetchall(), [("dying",)])
            self.assertGreater(db.execute("SELECT count(*) FROM sample WHERE time_us < ?", (now,)).fetchone()[0], 0)

    def test_sqlite_after_kill(self):
        """Each look is there as a whole or not at all."""
        for _ in range(5):
            with Monitor(self.announced, "--sqlite", self.sqlite, interval="1ms") as monitor:
                monitor.looked(20)
                monitor.stop(signal.SIGKILL)
            self.database()
            with contextlib.closing(sqlite3.connect(self.sqlite)) as db:
                self.assertEqual(len(db.execute("SELECT count(*) FROM sample GROUP BY time_us").fetchall()),
                                 db.execute("SELECT count(*) FROM named_sample WHERE name = 'sonde_monitor_looks_total'").fetchone()[0])
                counts = {count for count, in db.execute("SELECT count(*) FROM sample GROUP BY time_us")}
                self.assertEqual(len(counts), 1)

    def test_sqlite_that_cannot_be_written(self):
        def fails(path):
            done = cli.run("monitor", "--listen", "127.0.0.1:0", "--folder", self.announced, "--sqlite", path)
            self.assertEqual(done.returncode, 1)
            return done.err
        with contextlib.closing(sqlite3.connect(self.path("other"))) as db, db:
            db.execute("CREATE TABLE a (b)")
        with open(self.path("other"), "rb") as file:
            before = file.read()
        self.assertEqual(fails(self.path("other")), f"sonde: cannot store in {self.path('other')}: this database is not one of 'sonde monitor'\n")
        with open(self.path("other"), "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(fails("/none/such"), "sonde: cannot store in /none/such: unable to open database file\n")
        with open(self.path("text"), "w", encoding="utf-8") as file:
            file.write("no database" * 1000)
        self.assertEqual(fails(self.path("text")), f"sonde: cannot store in {self.path('text')}: file is not a database\n")

    def test_sqlite_that_somebody_holds(self):
        """Looks are lost, counted, said once, and stored again afterwards."""
        with Monitor(self.announced, "--sqlite", self.sqlite) as monitor:
            monitor.looked()
            lost = lambda: of(samples(monitor.text()), "sonde_monitor_lost_rows_total", "store")["sqlite"]
            with contextlib.closing(sqlite3.connect(self.sqlite, isolation_level=None)) as db:
                db.execute("BEGIN IMMEDIATE")
                first = until(lost, "lost rows")
                until(lambda: lost() > first, "more of them")
                db.execute("ROLLBACK")
            kept = lambda: of(samples(monitor.text()), "sonde_monitor_stored_rows_total", "store")["sqlite"]
            before = kept()
            until(lambda: kept() > before, "rows that are stored again")
            monitor.stop()
        self.assertEqual(monitoring.NO_GPUS.sub("", monitor.said), f"sonde: cannot store in {self.sqlite}: database is locked\n"
                         f"sonde: figures are stored in {self.sqlite} again\n")

    @unittest.skipIf(os.getuid() == 0, "root may write everywhere")
    def test_a_folder_that_is_not_ours(self):
        os.mkdir(self.csv, 0o500)
        done = cli.run("monitor", "--listen", "127.0.0.1:0", "--folder", self.announced, "--csv", self.csv)
        self.assertEqual((done.returncode, done.err), (1, f"sonde: cannot store in {self.csv}: Permission denied\n"))

    def test_no_folder(self):
        done = cli.run("monitor", "--listen", "127.0.0.1:0", "--folder", self.announced, "--csv", "/none/such")
        self.assertEqual((done.returncode, done.err), (1, "sonde: cannot store in /none/such: No such file or directory\n"))


if __name__ == "__main__":
    unittest.main()
