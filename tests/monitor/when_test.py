"""when_test.py - `sonde monitor --write-last-when`: programs under `sonde record --last` of which a condition holds because of what they do, and who gets no signal.
"""
import csv
import glob
import json
import os
import shutil
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import cli  # noqa: E402
import monitoring  # noqa: E402
from monitoring import Monitor, environment, of, samples, until  # noqa: E402

GATED = os.path.join(cli.BUILD, "tests", "programs", "gated")
IDLE = "rate(sonde_agent_enqueued_operations_total{program=\"gated\"}) < 1 for 2s"


class When(cli.Case):
    @classmethod
    def setUpClass(cls):
        """A runtime that compiles the kernel is as idle as the program that is waited for: here it is compiled already."""
        if os.access(GATED, os.X_OK):
            subprocess.run([GATED, "/none", "/dev/null"], env=environment(POCL_CACHE_DIR=cli.POCL_CACHE), stdout=subprocess.DEVNULL, check=False)

    def setUp(self):
        super().setUp()
        if not monitoring.text_string_to_metric_families:
            self.skipTest(monitoring.WHY)
        self.announced = self.path("announced")
        os.mkdir(self.announced, 0o700)
        self.children = []
        self.addCleanup(self.kill)

    def kill(self):
        """What a test that failed left: programs, which have the same pipes, end by themselves."""
        with open(self.path("end"), "w"):
            pass
        for child in self.children:
            child.communicate(timeout=monitoring.LIMIT)

    def start(self, name, *options):
        """`sonde record` of a program that works; its first operation has ended."""
        if not os.access(GATED, os.X_OK):
            self.skipTest(f"{GATED} is not built")
        env = environment(POCL_CACHE_DIR=cli.POCL_CACHE)
        self.work(name)
        child = subprocess.Popen([cli.SONDE, "record", "-o", self.path(f"{name}.sonde"), *options, "--", GATED, self.path(f"{name}-work"), self.path("end")],
                                 env=env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.children.append(child)
        live = lambda: glob.glob(self.path(f"{name}.sonde", "*", "live.sonde"))
        until(lambda: live() or child.poll() is not None, "the program's first operation")
        if child.poll() is not None:
            out, err = child.communicate()
            if "clGetPlatformIDs" in out:
                self.skipTest("no OpenCL platform here: " + out)
            self.fail(out + err)
        self.process = os.path.basename(os.path.dirname(live()[0]))
        return child

    def last(self, name):
        return self.start(name, "--last", "30s", "--folder", self.announced)

    def work(self, name):
        with open(self.path(f"{name}-work"), "w"):
            pass

    def idle(self, name):
        os.unlink(self.path(f"{name}-work"))

    def end(self, *children):
        """Their standard error, each."""
        with open(self.path("end"), "w"):
            pass
        said = []
        for child in children:
            out, err = child.communicate(timeout=monitoring.LIMIT)
            self.assertEqual(child.returncode, 0, out + err)
            said.append(err)
        return said

    def written(self, name, number=1):
        """The measurement of a number, when it is there whole."""
        try:
            with open(self.path(f"{name}-{number}.sonde", "manifest.json")) as file:
                return json.load(file).get("attached")
        except (FileNotFoundError, json.JSONDecodeError):
            return None

    def all_written(self, name):
        return sorted(os.path.basename(path) for path in glob.glob(self.path(f"{name}-*.sonde")))

    def enqueued(self, monitor, process):
        return of(samples(monitor.text()), "sonde_agent_enqueued_operations_total", process=process).get(())

    def asked(self, monitor):
        return of(samples(monitor.text()), "sonde_monitor_asked_writes_total", "condition")

    def test_a_program_that_stops_working(self):
        """Written once while it holds, and again when it held again: what was done before, all of it, and not later."""
        child = self.last("a")
        with Monitor(self.announced, "--write-last-when", IDLE) as monitor:
            until(lambda: (self.enqueued(monitor, self.process) or 0) > 20, "operations that are seen")
            self.assertEqual(self.asked(monitor), {IDLE: 0})
            self.idle("a")
            until(lambda: self.written("a"), "the first recording")
            first = self.enqueued(monitor, self.process)
            self.assertEqual(self.asked(monitor), {IDLE: 1})
            looks = monitor.looks() + 60  # 3 s, and more than the condition's time
            until(lambda: monitor.looks() >= looks, "looks at which it goes on holding")
            self.assertEqual((self.all_written("a"), self.asked(monitor)), (["a-1.sonde"], {IDLE: 1}))
            self.work("a")
            until(lambda: self.enqueued(monitor, self.process) > first + 400, "two seconds of work: rates are over one")
            self.idle("a")
            until(lambda: self.written("a", 2), "the second recording")
            self.assertEqual((self.all_written("a"), self.asked(monitor)), (["a-1.sonde", "a-2.sonde"], {IDLE: 2}))
            said, = self.end(child)
        self.assertIn("a-1.sonde", said)
        self.assertEqual(self.told(monitor), [f"sonde: {IDLE}: it is 0 of {self.process}; asked 'sonde record', process {child.pid}, to write what it has for {self.path('a.sonde')}"] * 2)
        one, two = (self.operations(f"a-{number}.sonde") for number in (1, 2))
        self.assertEqual(one, first)
        self.assertGreater(two, one)

    def operations(self, name):
        done = cli.run("report", self.path(name), "ledger", "--json")
        self.assertEqual(done.returncode, 0, done.err)
        return json.loads(done.out)["seen"]


    def told(self, monitor):
        return [line for line in monitoring.NO_GPUS.sub("", monitor.said).splitlines()]

    def test_only_the_program_that_it_is_about(self):
        """Beside it: another one, one that is recorded from begin to end, and one that is not recorded; all of them idle."""
        others = [self.last("b"), self.start("c"), self.start("d", "--last", "30s", "--folder", self.announced, "--quiet")]
        child = self.start("a", "--last", "300ms", "--folder", self.announced)  # its figures are of all of the run
        name = self.process
        condition = f'rate(sonde_agent_operations_total{{process="{name}",kind="kernel"}}) == 0'
        with Monitor(self.announced, "--write-last-when", condition) as monitor:
            until(lambda: (self.enqueued(monitor, name) or 0) > 200, "more than the last 300 ms hold")
            for program in "abcd":
                self.idle(program)
            until(lambda: self.written("a"), "the recording")
            found = samples(monitor.text())
            kernels = of(found, "sonde_agent_operations_total", process=name, kind="kernel", kernel="add")
            self.assertEqual(kernels, of(found, "sonde_agent_enqueued_operations_total", process=name))
            self.assertEqual(len(of(found, "sonde_agent_running", "process")), 3)  # of the one without --last nothing is known
            self.end(child, *others)
            until(lambda: of(samples(monitor.text()), "sonde_agent_running", process=name) == {(): 0}, "its end")
            monitor.stop()
        self.assertGreater(kernels[()], 200)
        self.assertIn("no operations", cli.run("report", self.path("a-1.sonde")).err)  # in its last 300 ms: the rate is over a second
        self.assertEqual([self.all_written(program) for program in "abcd"], [["a-1.sonde"], [], [], []])
        self.assertEqual(len(self.told(monitor)), 1, monitor.said)

    def test_all_programs_of_the_node(self):
        """For a metric of no program. A recorder that was killed, and another's number in the name of a file, are not asked."""
        children = [self.last("a"), self.last("b")]
        killed = self.last("c")
        program = int(self.process.split("-")[-2])
        self.addCleanup(lambda: os.kill(program, signal.SIGKILL))
        file, = glob.glob(os.path.join(self.announced, f"recorder-{killed.pid}-*"))
        bystander = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(bystander.wait)
        self.addCleanup(bystander.kill)
        killed.kill()
        killed.wait()
        shutil.copy(file, os.path.join(self.announced, f"recorder-{bystander.pid}-1"))
        with Monitor(self.announced, "--write-last-when", "sonde_monitor_looks >= 1, sonde_monitor_looks > 1e15") as monitor:
            until(lambda: self.written("a") and self.written("b"), "the recordings")
            self.assertEqual(self.asked(monitor), {"sonde_monitor_looks >= 1": 2, "sonde_monitor_looks > 1e15": 0})
            until(lambda: len(glob.glob(os.path.join(self.announced, "recorder-*"))) == 2, "files of recorders that ended go away")
        self.assertIsNone(bystander.poll())
        self.assertEqual([len(self.all_written(name)) for name in "abc"], [1, 1, 0])
        self.assertEqual(len(self.told(monitor)), 2, monitor.said)
        self.end(*children)
        self.assertEqual(os.listdir(self.announced), [])

    def test_nobody_to_ask(self):
        with Monitor(self.announced, "--write-last-when", "sonde_monitor_looks >= 1") as monitor:
            monitor.looked(5)
        self.assertEqual(self.told(monitor), ["sonde: sonde_monitor_looks >= 1: it is 1; there is no 'sonde record --last' of it that could be asked"])

    def test_stores_have_how_often(self):
        condition = 'sonde_nvml_temperature_celsius{sensor="gpu",device="0"} > 1e6'
        with Monitor(self.announced, "--write-last-when", condition, "--csv", self.path("csv")) as monitor:
            monitor.looked()
        with open(self.path("csv", "monitor.csv"), encoding="utf-8", newline="") as file:
            row, *_ = csv.DictReader(file)
        self.assertEqual(row[f"monitor_asked_writes_total.{condition}"], "0")

    def check(self, text, *args):
        with open(self.path("sonde.toml"), "w", encoding="utf-8") as file:
            file.write(text)
        done = cli.run("monitor", "--check", "--config", self.path("sonde.toml"), *args)
        return done.returncode, done.err.replace(self.path("sonde.toml"), "FILE")

    def test_a_configuration_file(self):
        good = ["sonde_nvml_temperature_celsius{sensor=\"gpu\"} > 85 for 10s", "rate(sonde_agent_enqueued_operations_total) < 10 for 1m"]
        array = "write-last-when = [\n" + "".join(f"    '{condition}',\n" for condition in good) + "]\n"
        self.assertEqual(self.check(array), (0, ""))
        for wrong, said in (
                ("sonde_nvml_temp_celsius > 85", "there is no metric 'sonde_nvml_temp_celsius'; did you mean 'sonde_nvml_temperature_celsius'?"),
                ("sonde_nvml_power_watts{gpu=\"0\"} > 85", "sonde_nvml_power_watts has no label 'gpu'"),
                ("sonde_nvml_temperature_celsius{sensor=\"memroy\"} > 85",
                 "there is no sonde_nvml_temperature_celsius with sensor=\"memroy\"; did you mean 'memory'?"),
                ("sonde_nvml_power_watts > 85W", "write-last-when expects a number at '85W'"),
                ("sonde_nvml_power_watts =< 85", "write-last-when expects <, <=, >, >=, == or != at '=< 85'"),
                ("sonde_nvml_power_watts > 85 for 10 s", "write-last-when expects a comma or the end at 's'"),
                ("sonde_nvml_power_watts > 85 for 10x", "write-last-when expects a time such as 500ms, 10s or 2m at '10x'"),
                ("rate(sonde_nvml_power_watts) > 85", "rate() is of counters, and sonde_nvml_power_watts is a gauge"),
                ("rate(sonde_agent_operations) < 0", "< 0 cannot hold: what a counter tells is never below 0"),
                ("", "write-last-when expects a metric's name, or rate(NAME), at the end")):
            self.assertEqual(self.check(f"\nwrite-last-when = '{wrong}'\n"), (2, f"sonde: FILE:2: {said}\n"), wrong)
            done = cli.run("monitor", "--check", "--write-last-when", wrong)
            self.assertEqual((done.returncode, done.err.count("\n")), (2, 1), done.err)
            self.assertTrue(done.err.startswith(f"sonde monitor: {said}"), done.err)
        self.assertEqual(self.check(array + "write-last-when = 'sonde_nvml_power_watts > 1'\n")[0], 2)

    def test_record(self):
        """--folder is for --last; where nobody can be announced the program is recorded all the same, and that is said."""
        self.assertIn("--folder is for --last", self.fails("record", "--folder", self.announced, "--", "true", status=2).err)
        with open(self.path("file"), "w"):
            pass
        done = cli.run("record", "--last", "10s", "--folder", self.path("file"), "-o", self.path("m.sonde"), "--", "true")
        self.assertEqual(done.returncode, 0)
        self.assertIn(f"programs cannot be announced in {self.path('file')}: it is not a folder that belongs to this user alone", done.err)


cli.main()
