"""programs_test.py - programs that are announced while they run: `sonde record --light`, and who looks at them.

What they enqueued is told by a layer that only counts (tests/counting), in the same run.
"""
import os
import random
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
for name in ("cli", "counting"):
    sys.path.insert(0, os.path.join(HERE, "..", name))
import cli  # noqa: E402
import counts  # noqa: E402
import monitoring  # noqa: E402
from monitoring import Monitor, environment, of, samples, top, until  # noqa: E402

LONG = """
import pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4)
source = "kernel void endless(global int *a) { for (long i = 0; i < 1000000000000; i++) a[0] = a[0] * 3 + i; }"
cl.Program(context, source).build().endless(queue, (1,), None, buffer)
queue.finish()
"""
COUNTING = os.path.join(cli.BUILD, "tests", "libcounting.so")
HEAT = os.path.join(cli.BUILD, "bin", "examples", "heat")


class Programs(cli.Case):
    def setUp(self):
        super().setUp()
        if not monitoring.text_string_to_metric_families:
            self.skipTest(monitoring.WHY)
        if not os.path.exists(HEAT):
            self.skipTest("the examples are not built here")
        # It fills PoCL's cache, too: of programs that fill it at once, some fail to build their kernels.
        if subprocess.run([HEAT, "16", "1"], env=environment(POCL_CACHE_DIR=self.path("cache")), stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no OpenCL device here that runs (pocl-opencl-icd)")
        self.announced = self.path("announced")

    def light(self, *command, **more):
        """A program that is announced, and counted."""
        env = environment(OPENCL_LAYERS=COUNTING, COUNT_OUT=self.path("counted"), POCL_CACHE_DIR=self.path("cache"))
        return subprocess.Popen([cli.SONDE, "record", "--light", "-o", self.announced, "--", *command], env={**env, **more.pop("env", {})},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    def ends(self, program, status=0):
        out, err = program.communicate(timeout=monitoring.LIMIT)
        self.assertEqual((program.returncode, err), (status, ""))
        return out

    def counted(self):
        return {kind: count for kind, count in counts.read(self.path("counted")).items()}

    def by_kind(self, found, **wanted):
        kinds = {}
        for (_, kind, _), value in of(found, "sonde_agent_operations_total", "process", "kind", "kernel", **wanted).items():
            kinds[kind] = kinds.get(kind, 0) + int(value)
        return kinds

    def test_what_it_did_is_counted(self):
        with Monitor(self.make()) as monitor:
            program = self.light(HEAT, "64", "500")
            self.ends(program)
            monitor.looked()
            found = samples(monitor.looked())
        self.assertEqual(self.by_kind(found), self.counted())
        self.assertEqual(of(found, "sonde_agent_operations_total", "kernel", kind="kernel"), {"stencil5": 500})
        self.assertEqual(of(found, "sonde_agent_enqueued_operations_total"), {(): sum(self.counted().values())})
        for lost in ("dropped", "unmatched"):
            self.assertEqual(of(found, f"sonde_agent_{lost}_operations_total"), {(): 0})
        self.assertEqual(of(found, "sonde_agent_running", "pid"), {str(program.pid): 0})  # record became the program
        # One queue in order: the durations add up to the time in which the device was busy, but for stamps of PoCL that overlap a little.
        seconds = sum(value for value in of(found, "sonde_agent_operation_seconds_total", "kind", "kernel").values())
        busy, = of(found, "sonde_agent_device_busy_seconds_total").values()
        self.assertTrue(.95 * seconds <= busy <= seconds + 1e-9, (seconds, busy))

    def variables(self):
        """What makes a program announce itself, as a shell reads it."""
        done = cli.run("record", "--light", "--environment", "-o", self.announced)
        self.assertEqual((done.returncode, done.err), (0, ""))
        lines = subprocess.run(["sh", "-c", 'set -a; eval "$1"; exec env -0', "sh", done.out], env={}, capture_output=True, text=True, check=True).stdout
        return dict(line.split("=", 1) for line in lines.split("\0") if "=" in line and not line.startswith(("PATH=", "PWD=", "SHLVL=", "_=")))

    def test_the_environment_is_enough(self):
        variables = self.variables()
        self.assertTrue(set(variables) >= {"SONDE_OUT", "SONDE_AGENT", "SONDE_LIGHT", "OPENCL_LAYERS"}, variables)
        env = {**environment(COUNT_OUT=self.path("counted"), POCL_CACHE_DIR=self.path("cache")), **variables}
        env["OPENCL_LAYERS"] = f"{COUNTING}:{env['OPENCL_LAYERS']}"
        with Monitor(self.announced) as monitor:
            subprocess.run([HEAT, "64", "50"], env=env, stdout=subprocess.DEVNULL, check=True)
            found = samples(monitor.looked())
            self.assertEqual(self.by_kind(found), self.counted())
            subprocess.run([HEAT, "64", "50"], env={**env, "SONDE_OUT": ""}, stdout=subprocess.DEVNULL, check=True)  # switched off
            self.assertEqual(len(of(samples(monitor.looked()), "sonde_agent_running", "process")), 1)

    def test_the_environment_is_without_a_program(self):
        for args in (("--environment",), ("--light", "--environment", "true")):
            self.assertEqual(cli.run("record", *args).returncode, 2)

    def make(self):
        os.mkdir(self.announced, 0o700)
        return self.announced

    def test_it_is_seen_while_it_runs(self):
        with Monitor(self.make()) as monitor:
            program = self.light(HEAT, "64", "100000000")
            try:
                ran = lambda: of(samples(monitor.text()), "sonde_agent_operations_total", kind="kernel").get((), 0)
                first = until(ran, "an operation that was seen")
                until(lambda: ran() > first, "another one")
                said = until(lambda: (now := top(self.announced))["kernels"] and now["kernels"][0]["operations_per_s"] and now["devices"][0]["busy"] and now,
                             "a rate, and a busy device")  # busy time is added up ten times a second
                self.assertEqual([(p["pid"], p["state"]) for p in said["processes"]], [(program.pid, "running")])
                self.assertGreater(said["kernels"][0]["operations_per_s"], 0)
                self.assertLessEqual(said["devices"][0]["busy"], 1)
            finally:
                program.send_signal(signal.SIGINT)
                program.communicate(timeout=monitoring.LIMIT)
            self.assertEqual(program.returncode, -signal.SIGINT)
            found = samples(monitor.looked())
        self.assertEqual(of(found, "sonde_agent_running"), {(): 0})

    def test_a_kernel_that_runs_for_long_is_named(self):
        try:
            import pyopencl  # noqa: F401
        except ImportError:
            self.skipTest("pyopencl is missing: no package index was there when the tests' virtual environment was made")
        program = self.light(sys.executable, "-c", LONG)
        try:
            said = until(lambda: os.path.isdir(self.announced) and (now := top(self.announced))["devices"] and now["devices"][0]["current"] and now,
                         "a kernel that runs")
            self.assertEqual(said["devices"][0]["current"], "endless")
            self.assertGreaterEqual(said["devices"][0]["waiting"], 1)
            later = until(lambda: (now := top(self.announced)["devices"][0])["current_ns"] and now, "the same again")
            self.assertGreater(later["current_ns"], said["devices"][0]["current_ns"])
        finally:
            program.kill()
            program.communicate(timeout=monitoring.LIMIT)

    def test_killed_at_any_moment(self):
        """What was seen stays, is no more than what was enqueued, and the monitor goes on."""
        chance = random.Random(1)
        with Monitor(self.make()) as monitor:
            for _ in range(6):
                program = self.light(HEAT, "64", "100000000")
                until(lambda: self.by_kind(samples(monitor.text()), pid=str(program.pid)), "an operation")
                time.sleep(chance.random() / 2)
                program.kill()
                program.communicate(timeout=monitoring.LIMIT)
                until(lambda: list(of(samples(monitor.text()), "sonde_agent_running", pid=str(program.pid)).values()) == [0], "its end")
            found = samples(monitor.text())
            self.assertLessEqual(sum(self.by_kind(found).values()), sum(self.counted().values()))
            self.assertGreater(sum(self.by_kind(found).values()), 0)
            self.assertEqual({p["state"] for p in top(self.announced)["processes"]}, {"killed"})
            self.assertEqual(monitor.stop(), 0)
            self.assertEqual(monitoring.NO_GPUS.sub("", monitor.said), "")

    def test_many_at_once(self):
        with Monitor(self.make()) as monitor, Monitor(self.announced) as other:
            programs = [self.light(HEAT, "32", "200") for _ in range(12)]
            for program in programs:
                self.ends(program)
            one, two = samples(monitor.looked()), samples(other.looked())
        self.assertEqual(of(one, "sonde_agent_operations_total", "process", kind="kernel"), of(two, "sonde_agent_operations_total", "process", kind="kernel"))
        self.assertEqual(list(of(one, "sonde_agent_operations_total", "process", kind="kernel").values()), [200] * 12)

    def test_children(self):
        """Of a shell that starts two programs, each is announced."""
        with Monitor(self.make()) as monitor:
            self.ends(self.light("sh", "-c", f"{HEAT} 32 100 & {HEAT} 32 150; wait"))
            found = samples(monitor.looked())
        self.assertEqual(sorted(of(found, "sonde_agent_operations_total", "process", kind="kernel").values()), [100, 150])

    def test_a_program_without_a_device_leaves_nothing(self):
        out = self.ends(self.light("sh", "-c", "echo hello; exit 3"), 3)
        self.assertEqual(out, "hello\n")
        self.assertEqual(os.listdir(self.announced), [])

    def test_what_cannot_be_started(self):
        for command, status in (("/none/such", 127), (os.path.dirname(HEAT), 126), (__file__, 126)):
            done = cli.run("record", "--light", "-o", self.announced, "--", command)
            self.assertEqual(done.returncode, status, done.err)
            self.assertRegex(done.err, r"\Asonde: [^\n]+\n\Z")
        script = self.path("script")
        with open(script, "w", encoding="utf-8") as file:
            file.write("echo from a script\n")
        os.chmod(script, 0o755)
        self.assertEqual(self.ok("record", "--light", "-o", self.announced, "--", script).out, "from a script\n")
        for option in (["--values"], ["--calibrate"], ["--force"]):
            done = cli.run("record", "--light", *option, "--", "true")
            self.assertEqual(done.returncode, 2)
            self.assertIn("--light goes without --", done.err)

    def test_its_folder_is_private(self):
        self.ends(self.light(HEAT, "16", "1"))
        for where, _, names in os.walk(self.announced):
            self.assertEqual(os.stat(where).st_mode & 0o077, 0)
            for name in names:
                self.assertEqual(os.stat(os.path.join(where, name)).st_mode & 0o077, 0)


if __name__ == "__main__":
    if cli.SANITIZED:
        sys.exit(cli.SKIP)
    cli.main()
