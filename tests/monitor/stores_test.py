"""stores_test.py - the configuration file of `sonde monitor`, what it chooses, and its stores.

Files are read by Python's csv, and compared with what was served: a program that has ended has figures that stay.
"""
import csv
import errno
import glob
import os
import re
import signal
import socket
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import cli  # noqa: E402
import live  # noqa: E402
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
        self.csv = self.path("csv")

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

    def test_a_full_disk_is_counted_and_said_once(self):
        """/dev/full is one: a file that points there is not followed, so the limit on the size of files stands for it."""
        full = ["sh", "-c", 'trap "" XFSZ; ulimit -f 8; exec "$0" "$@"', cli.SONDE]
        process = subprocess.Popen([*full, "monitor", "--listen", "127.0.0.1:0", "--interval", "1ms", "--folder", self.announced, "--csv", self.csv],
                                   env=monitoring.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            monitor = Monitor.__new__(Monitor)
            monitor.process, monitor.url = process, process.stdout.readline().strip()
            lost = until(lambda: of(samples(monitor.text()), "sonde_monitor_lost_rows_total", "store")["csv"], "lost rows")
            until(lambda: of(samples(monitor.text()), "sonde_monitor_lost_rows_total", "store")["csv"] > lost + 5, "more of them")
        finally:
            process.terminate()
            err = process.communicate(timeout=monitoring.LIMIT)[1]
        self.assertEqual(monitoring.NO_GPUS.sub("", err),
                         f"sonde: cannot store in {self.csv}/monitor.csv: {os.strerror(errno.EFBIG)}\n")
        lines = list(csv.reader(read(os.path.join(self.csv, "monitor.csv")).splitlines()))
        self.assertEqual({len(line) for line in lines}, {len(lines[0])})

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
