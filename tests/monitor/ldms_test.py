"""ldms_test.py - LDMS's sampler plugin: a daemon samples announced programs, another one stores what it has with store_csv, and that is what the
programs did, by a layer that only counts (tests/counting). Needs LDMS (SONDE_LDMS: where it is installed).
"""
import csv
import glob
import os
import re
import signal
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
for name in ("cli", "counting"):
    sys.path.insert(0, os.path.join(HERE, "..", name))
import cli  # noqa: E402
import counts  # noqa: E402
import live  # noqa: E402
import monitoring  # noqa: E402
from monitoring import environment, until  # noqa: E402

LDMS = os.environ.get("SONDE_LDMS", "/usr")
LDMSD = next((path for path in (os.path.join(LDMS, folder, "ldmsd") for folder in ("sbin", "bin")) if os.access(path, os.X_OK)), None)
PLUGINS = [os.path.join(cli.BUILD, "lib", "ldms"), *glob.glob(os.path.join(LDMS, "lib*", "ovis-ldms"))]
COUNTING, HEAT = os.path.join(cli.BUILD, "tests", "libcounting.so"), os.path.join(cli.BUILD, "bin", "examples", "heat")

SAMPLER = """
load name=sonde_sampler
config name=sonde_sampler producer=node1 instance=node1/sonde component_id=7 folder={folder}
start name=sonde_sampler interval=200000 offset=0
"""
STORE = """
prdcr_add name=node1 host=localhost port={port} xprt=sock type=active reconnect=1000000
prdcr_start name=node1
updtr_add name=all interval=200000 offset=100000
updtr_prdcr_add name=all regex=.*
updtr_start name=all
load name=store_csv
config name=store_csv path={csv} buffer=0 ietfcsv=1
"""
GROUP = """
strgp_add name={schema} plugin=store_csv container=sonde schema={schema} flush=0
strgp_prdcr_add name={schema} regex=.*
strgp_start name={schema}
"""


@unittest.skipUnless(LDMSD, f"no ldmsd in {LDMS}")
class Ldms(cli.Case):
    def setUp(self):
        super().setUp()
        self.announced, self.daemons = self.path("announced"), []

    def tearDown(self):
        for daemon in self.daemons:
            daemon.send_signal(signal.SIGTERM)
        for daemon in self.daemons:
            daemon.wait(monitoring.LIMIT)
        super().tearDown()

    def daemon(self, name, conf, port):
        with open(self.path(name + ".conf"), "w", encoding="utf-8") as file:
            file.write(conf)
        env = environment(LDMSD_PLUGIN_LIBPATH=":".join(PLUGINS), ZAP_LIBPATH=":".join(PLUGINS), LD_LIBRARY_PATH=os.path.join(LDMS, "lib"))
        self.daemons.append(subprocess.Popen([LDMSD, "-F", "-x", f"sock:{port}", "-c", self.path(name + ".conf"), "-l", self.path(name + ".log"), "-r", self.path(name + ".pid")],
                                             env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def log(self, name):
        with open(self.path(name + ".log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def rows(self, schema):
        """What is stored, as dictionaries; the last line may be under way."""
        found = []
        for path in glob.glob(os.path.join(self.path("csv"), "sonde", schema + "*")):
            with open(path, encoding="utf-8", newline="") as file:
                lines = [line for line in file if line.endswith("\n")]
            head = next(csv.reader([lines[0].lstrip("#")])) if lines else []
            found += [dict(zip([re.sub(r"\..*", "", name) for name in head], row)) for row in csv.reader(lines[1:])]
        return found

    def start(self):
        port, other = cli.free_port(), cli.free_port()
        self.daemon("sampler", SAMPLER.format(folder=self.announced), port)
        os.mkdir(self.path("csv"))
        self.daemon("store", STORE.format(port=port, csv=self.path("csv")) + "".join(GROUP.format(schema=s) for s in ("sonde_device", "sonde_operation")), other)
        return port

    def test_stored_figures_are_those_of_the_program(self):
        if not os.path.exists(HEAT):
            self.skipTest("the examples are not built here")
        os.mkdir(self.announced, 0o700)
        self.start()
        env = environment(OPENCL_LAYERS=COUNTING, COUNT_OUT=self.path("counted"))
        program = subprocess.Popen([cli.SONDE, "record", "--light", "-o", self.announced, "--", HEAT, "256", "60000"], env=env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while program.poll() is None:  # rows come while it runs, not after its end
            time.sleep(.05)
            stored = len(self.rows("sonde_operation"))
        out, err = program.communicate(timeout=monitoring.LIMIT)
        self.assertEqual((program.returncode, err), (0, ""), out)
        self.assertGreater(stored, 0, self.log("sampler") + self.log("store"))
        truth = counts.read(self.path("counted"))
        until(lambda: any(row["running"] == "0" for row in self.rows("sonde_device")), "the end is stored")
        until(lambda: {row["running"] for row in self.rows("sonde_device")[-1:]} == {"0"}, "the last row is of the end")
        time.sleep(1)
        last = {}
        for row in self.rows("sonde_operation"):
            key = row["process"], row["device"], row["kind"], row["kernel"]
            before = last.get(key)
            self.assertTrue(before is None or int(row["operations"]) >= int(before["operations"]), (before, row))
            last[key] = row
        kinds = {}
        for (_, _, kind, _), row in last.items():
            kinds[kind] = kinds.get(kind, 0) + int(row["operations"])
            self.assertEqual((row["program"], row["ProducerName"], row["component_id"], row["failed_operations"]), ("heat", "node1", "7", "0"))
            self.assertTrue(kind != "kernel" or row["kernel"], row)
        self.assertEqual(kinds, {kind: count for kind, count in truth.items() if count and kind in kinds})
        self.assertEqual(kinds["kernel"], 60000)
        self.assertTrue({"write", "read"} & set(kinds), kinds)
        devices = self.rows("sonde_device")
        for counter in ("device_busy_ns", "device_kernel_ns", "device_copy_ns", "enqueued_operations", "overhead_ns"):
            told = [int(row[counter]) for row in devices]
            self.assertEqual(told, sorted(told), counter)
        device = devices[-1]
        self.assertEqual((device["program"], device["dropped_operations"], device["unmatched_operations"]), ("heat", "0", "0"))
        self.assertEqual(int(device["enqueued_operations"]), sum(truth.values()))
        self.assertGreaterEqual(int(device["device_busy_ns"]), int(device["device_kernel_ns"]))
        self.assertLessEqual(int(device["device_kernel_ns"]), int(next(row for row in last.values() if row["kind"] == "kernel")["operation_ns"]) + 1)

    def test_names_of_kernels(self):
        """Commas and quotes stay in their column."""
        os.mkdir(self.announced, 0o700)
        p = live.Process("node-7-1", 7, start_ns=time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - 10**9, state=1)
        p.main, queue = p.thread(7), p.queue(p.device("Device, 0"))
        code, names = p.node(0, p.frame(live.NATIVE, p.module("/opt/demo/bin/demo"), 0x1234)), {"_Z3addPif": "add(int*, float)", 'a "b", c': "a 'b', c"}
        for i, name in enumerate(names):
            at = p.start_ns + 10**6 * (i + 1)
            p.enqueue(p.main, queue, "clEnqueue", code, "kernel", at, at + 10, at + 400, at + 777, name=name)
        p.write(self.announced)
        with monitoring.lock(os.path.join(self.announced, p.name)):
            self.start()
            until(lambda: len({row["kernel"] for row in self.rows("sonde_operation")}) == 2, "both kernels")
        rows = self.rows("sonde_operation")
        self.assertEqual({row["kernel"] for row in rows}, set(names.values()))
        self.assertEqual({(row["device_name"], row["operations"], row["operation_ns"]) for row in rows}, {("Device, 0", "1", "377")})

    def test_what_is_wrong_is_said(self):
        port = cli.free_port()
        self.daemon("wrong", "load name=sonde_sampler\nconfig name=sonde_sampler producer=a instance=a/b schema=mine\n", port)
        until(lambda: os.path.exists(self.path("wrong.log")) and "there is no schema= here" in self.log("wrong"), "the sentence")


if __name__ == "__main__":
    cli.main()
