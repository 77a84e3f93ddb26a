"""gpus_test.py - what `sonde monitor` and `sonde top` say of NVIDIA devices, from answers of NVML and GPM that were recorded on a machine with
two (fixtures/record-nvml.c), told again by a libnvidia-ml.so.1 of this test (nvml.c): also of devices in trouble."""
import json
import math
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import cli  # noqa: E402
import live  # noqa: E402
import monitoring  # noqa: E402
from monitoring import Monitor, of, samples, top, until  # noqa: E402

PROFILER = os.path.join(os.environ["SONDE_BUILD"], "tests/cuda-counters")
STAND_IN = os.path.join(os.environ["SONDE_BUILD"], "tests/monitor/nvml")
DATA = os.path.join(HERE, "fixtures", "h100x2.nvml.zst")
RESOURCE_TAKEN = 39  # CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
NOT_LOADED, NO_PERMISSION, NOT_SUPPORTED, LOST, UNKNOWN = 9, 4, 3, 15, 999

# family -> (function or field, argument, number of the value, factor, labels)
CALLS = [
    ("power_watts", "nvmlDeviceGetPowerUsage", "-", 0, 1e-3, {}),
    ("power_limit_watts", "nvmlDeviceGetEnforcedPowerLimit", "-", 0, 1e-3, {}),
    ("temperature_celsius", "nvmlDeviceGetTemperature", "0", 0, 1, {"sensor": "gpu"}),
    ("clock_hertz", "nvmlDeviceGetClockInfo", "0", 0, 1e6, {"clock": "graphics"}),
    ("clock_hertz", "nvmlDeviceGetClockInfo", "1", 0, 1e6, {"clock": "sm"}),
    ("clock_hertz", "nvmlDeviceGetClockInfo", "2", 0, 1e6, {"clock": "memory"}),
    ("utilization_ratio", "nvmlDeviceGetUtilizationRates", "-", 0, .01, {"engine": "gpu"}),
    ("utilization_ratio", "nvmlDeviceGetUtilizationRates", "-", 1, .01, {"engine": "memory"}),
    ("memory_bytes", "nvmlDeviceGetMemoryInfo_v2", "-", 0, 1, {"state": "total"}),
    ("memory_bytes", "nvmlDeviceGetMemoryInfo_v2", "-", 1, 1, {"state": "reserved"}),
    ("memory_bytes", "nvmlDeviceGetMemoryInfo_v2", "-", 2, 1, {"state": "free"}),
    ("memory_bytes", "nvmlDeviceGetMemoryInfo_v2", "-", 3, 1, {"state": "used"}),
    ("bar1_memory_bytes", "nvmlDeviceGetBAR1MemoryInfo", "-", 2, 1, {"state": "used"}),
    ("pcie_link_generation", "nvmlDeviceGetCurrPcieLinkGeneration", "-", 0, 1, {}),
    ("pcie_link_width", "nvmlDeviceGetCurrPcieLinkWidth", "-", 0, 1, {}),
    ("performance_state", "nvmlDeviceGetPerformanceState", "-", 0, 1, {}),
    ("fan_speed_ratio", "nvmlDeviceGetFanSpeed", "-", 0, .01, {}),
]
REASONS = {"idle": 1, "application_clocks": 2, "sw_power_cap": 4, "hw_slowdown": 8, "sync_boost": 16, "sw_thermal": 32, "hw_thermal": 64,
           "hw_power_brake": 128, "display_clocks": 256}
# family -> (field, scope, factor, labels): numbers of nvml.h
FIELDS = [
    ("temperature_celsius", 82, "0", 1, {"sensor": "memory"}),
    ("energy_joules_total", 83, "0", 1e-3, {}),
    ("pcie_replays_total", 94, "0", 1, {}),
    ("nvlink_transmitted_bytes_total", 138, "all", 1024, {}),
    ("nvlink_received_bytes_total", 139, "all", 1024, {}),
    ("ecc_errors_total", 3, "0", 1, {"kind": "corrected", "since": "load"}),
    ("ecc_errors_total", 6, "0", 1, {"kind": "uncorrected", "since": "ever"}),
    ("remapped_rows", 142, "0", 1, {"cause": "corrected"}),
    ("throttled_seconds_total", 74, "0", 1e-9, {"policy": "power"}),
    ("throttled_seconds_total", 78, "0", 1e-9, {"policy": "low_utilization"}),
    ("throttled_seconds_total", 75, "0", 1e-9, {"policy": "thermal"}),
]
GPM = [("gpm_sm_active_seconds_total", 2, .01, {}), ("gpm_occupancy_seconds_total", 3, .01, {}), ("gpm_dram_active_seconds_total", 10, .01, {}),
       ("gpm_pipe_active_seconds_total", 12, .01, {"pipe": "fp32"}), ("gpm_pipe_active_seconds_total", 5, .01, {"pipe": "tensor"}),
       ("gpm_pcie_received_bytes_total", 21, 1 << 20, {}), ("gpm_pcie_transmitted_bytes_total", 20, 1 << 20, {}),
       ("gpm_nvlink_transmitted_bytes_total", 61, 1 << 20, {}), ("gpm_nvlink_received_bytes_total", 60, 1 << 20, {})]


class Recorded:
    """The file, read again: {(function, device, argument): (status, values)} of each moment, with what was asked once."""

    def __init__(self, text):
        self.moments = [{}]
        for line in text.splitlines():
            words = line.split(" ")
            if words[0] == "==":
                self.moments.append(dict(self.moments[0]))
            elif len(words) > 4 and words[1].isdigit():
                self.moments[-1][words[0], int(words[1]), words[2]] = int(words[3]), words[5:]
        self.moments = self.moments[1:]


class Gpus(cli.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = subprocess.run(["zstd", "-dc", DATA], check=True, capture_output=True).stdout.decode()
        cls.recorded = Recorded(cls.text)

    def setUp(self):
        super().setUp()
        if not monitoring.text_string_to_metric_families:
            self.skipTest(monitoring.WHY)
        self.announced, self.now, data = self.path("announced"), self.path("now"), self.path("data")
        os.mkdir(self.announced, 0o700)
        with open(data, "w", encoding="utf-8") as file:
            file.write(self.text)
        self.want("")
        self.environment = {"SONDE_TEST_NVML": data, "SONDE_TEST_NVML_NOW": self.now, "LD_LIBRARY_PATH": STAND_IN}

    def want(self, text):
        with open(self.now + "~", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(self.now + "~", self.now)

    def monitor(self, **more):
        return Monitor(self.announced, env=self.environment, **more)

    def expect(self, found, moment, device):
        """Every value of the tables above is served, or was not there to be had."""
        then, served = self.recorded.moments[moment], 0

        def check(family, status, value, labels):
            got = of(found, "sonde_" + family, device=str(device), **labels)
            self.assertEqual(len(got), status == 0, (family, labels, got))
            if status == 0:
                self.assertTrue(math.isclose(got[()], value, rel_tol=1e-8), (family, labels, got, value))
            return status == 0
        for family, function, argument, at, factor, labels in CALLS:
            status, words = then[function, device, argument]
            served += check("nvml_" + family, status, float(words[at]) * factor if status == 0 else None, labels)
        for family, field, scope, factor, labels in FIELDS:
            status, words = then["field:" + scope, device, str(field)]
            served += check("nvml_" + family, status, float(words[2]) * factor, labels)
        bits = int(then["nvmlDeviceGetCurrentClocksEventReasons", device, "-"][1][0])
        for reason, bit in REASONS.items():
            served += check("nvml_throttle_reason", 0, float(bits & bit != 0), {"reason": reason})
        return served

    def at(self, monitor, moment, devices=(0, 1)):
        """What is served when all of it is of this moment: what takes the driver long is read once a second."""
        self.want(f"moment {moment}\n" if devices == (0, 1) else f"moment {moment}\nfail {LOST} * 1\n")
        then = [float(self.recorded.moments[moment]["field:0", device, "83"][1][2]) / 1e3 for device in devices]

        def served():
            found = samples(monitor.looked(2))
            energy = of(found, "sonde_nvml_energy_joules_total", "device")
            return found if [energy.get(str(device)) for device in devices] == then else None
        return until(served, f"moment {moment}")

    # ---- what is served -------------------------------------------------------------------------------------

    def test_values_are_those_that_nvml_told(self):
        with self.monitor() as monitor:
            for moment in range(len(self.recorded.moments)):
                found = self.at(monitor, moment)
                for device in (0, 1):
                    self.assertGreater(self.expect(found, moment, device), 30)
            self.assertEqual(of(found, "sonde_monitor_failed_reads_total"), {(): 0})
            self.assertEqual(of(found, "sonde_nvml_device_up", "device"), {"0": 1, "1": 1})
            monitor.stop()
            self.assertEqual(monitor.said, "")

    def test_gpm_counts(self):
        """What it grew by, of the time that it saw, is the mean that GPM told."""
        with self.monitor() as monitor:
            for moment in range(len(self.recorded.moments)):
                self.want(f"moment {moment}\n")
                seen = lambda text: [of(text, "sonde_gpm_sampled_seconds_total", device=device).get((), 0) for device in "01"]  # noqa: E731
                grown = lambda since, ns: all(now > then + ns for now, then in zip(seen(samples(monitor.text())), since))  # noqa: E731
                start = seen(samples(monitor.text()))
                until(lambda: grown(start, .25), "two samples of this moment, of each device")  # noqa: B023
                before = samples(monitor.text())
                start = seen(before)
                until(lambda: grown(start, 0), "one more of each")  # noqa: B023
                after = samples(monitor.text())
                for device in (0, 1):
                    self.gpm(moment, device, before, after)

    def test_what_takes_long_is_asked_for_seldom(self):
        """Energy that takes 5 ms of a processor: with two devices each 4 s, so that both take 0.25 %. What takes nothing is asked for each second."""
        path = os.path.join(self.folder, "energy")
        self.environment["SONDE_TEST_NVML_ENERGY"] = path

        def asked(burn):
            self.want(f"moment 1\nburn {burn}\n")
            if os.path.exists(path):
                os.remove(path)
            with self.monitor(interval="100ms") as monitor:
                looks = lambda: samples(monitor.text())["sonde_monitor_looks_total"][()]  # noqa: E731
                until(lambda: looks() > 2, "looks")
                began = time.monotonic()
                time.sleep(6)
                with open(path, encoding="utf-8") as file:
                    devices = file.read().split()
                passed, known = time.monotonic() - began, samples(monitor.text())
            self.assertAlmostEqual(of(known, "sonde_nvml_energy_joules_total", device="1")[()], float(self.recorded.moments[1]["field:0", 1, "83"][1][2]) * 1e-3)
            return passed, devices.count("0"), devices.count("1")
        passed, first, second = asked(5)
        self.assertLessEqual(max(first, second), 2 + passed // 4)
        self.assertGreaterEqual(min(first, second), 1)
        passed, first, second = asked(0)
        self.assertGreaterEqual(min(first, second), 3)

    def test_time_in_which_anything_ran(self):
        """It has samples of its own, further apart, and their time beside it."""
        with self.monitor() as monitor:
            self.want("moment 1\n")
            seen = lambda: of(samples(monitor.text()), "sonde_gpm_active_sampled_seconds_total", device="0").get((), 0)  # noqa: E731
            start = seen()
            until(lambda: seen() > start + .25, "two samples of this moment")
            before = samples(monitor.text())
            start = seen()
            until(lambda: seen() > start, "one more")
            after = samples(monitor.text())
            ran, time_ = (of(after, name, device="0")[()] - of(before, name, device="0")[()]
                          for name in ("sonde_gpm_active_seconds_total", "sonde_gpm_active_sampled_seconds_total"))
            self.assertAlmostEqual(ran / time_, float(self.recorded.moments[1]["gpm", 0, "1"][1][0].split("|")[0]) / 100, delta=1e-5)

    def gpm(self, moment, device, before, after):
        def grew(name, labels):
            return of(after, name, device=str(device), **labels)[()] - of(before, name, device=str(device), **labels)[()]
        time = grew("sonde_gpm_sampled_seconds_total", {})
        self.assertGreater(time, 0)
        for name, metric, factor, labels in GPM:
            status, words = self.recorded.moments[moment]["gpm", device, str(metric)]
            self.assertEqual(status, 0, name)
            told = float(words[0].split("|")[0])
            self.assertAlmostEqual(grew("sonde_" + name, labels) / time / factor, told, delta=1e-3 + 1e-6 * abs(told), msg=(name, moment, device))

    def test_what_links_carried_while_a_program_ran(self):
        """record --comm: the counters of two moments, one before the program and one that it makes."""
        program, counters = os.path.join(cli.BUILD, "bin", "examples", "vector_add"), {"sent_bytes": 138, "received_bytes": 139}
        if cli.SANITIZED == "thread":
            self.skipTest("a sanitizer's agent cannot be loaded into the shell")
        if not os.access(program, os.X_OK) or subprocess.run([program], capture_output=True, check=False).returncode:
            self.skipTest("no OpenCL device here")
        self.want("moment 0\n")
        change = f"printf 'moment 4\\n' > {self.now}~ && mv {self.now}~ {self.now} && exec {program}"
        self.ok("record", "--comm", "-q", "-o", self.path("m.sonde"), "--", "sh", "-c", change, env=self.environment)
        with open(os.path.join(self.path("m.sonde"), "manifest.json"), encoding="utf-8") as file:
            links = json.loads(file.read().rstrip("\0"))["nvlinks"]
        first, later = self.recorded.moments[0], self.recorded.moments[4]
        self.assertEqual(len(links), 2)
        for device, link in enumerate(links):
            for name, field in counters.items():
                then, now = (int(moment["field:all", device, str(field)][1][2]) for moment in (first, later))
                self.assertEqual(link[name], (now - then) * 1024, (device, name))
        self.assertTrue(any(link["sent_bytes"] > 1e6 for link in links), links)
        rows = json.loads(self.ok("report", self.path("m.sonde"), "comm", "--json").out)["links"]
        self.assertEqual([(row["link"], row["bytes_counted"], row["bytes_attributed"]) for row in rows],
                         [(f"{link['pci']}, {way}", link[way + "_bytes"], 0) for link in links for way in ("sent", "received")])

    def test_processes(self):
        for moment, then in enumerate(self.recorded.moments):
            self.want(f"moment {moment}\n")
            rows = top(self.announced, env=self.environment)["gpu_processes"]
            for device in (0, 1):
                there = then["nvmlDeviceGetComputeRunningProcesses_v3", device, "-"][1]
                told = [tuple(map(int, word.split(":")))[:2] for word in there[1:] if word]
                self.assertEqual([(row["pid"], row["memory_bytes"]) for row in rows if row["gpu"] == device],
                                 [(pid, None if size == 2**64 - 1 else size) for pid, size in told])
        with self.monitor() as monitor:  # a list that is longer than the room
            self.want("moment 1\nlimit 64\n")
            with_limit = of(samples(monitor.looked(3)), "sonde_nvml_process_memory_bytes", "device", "pid")
            self.want("moment 1\n")
            self.assertEqual(of(samples(monitor.looked(3)), "sonde_nvml_process_memory_bytes", "device", "pid"), with_limit)

    def test_top(self):
        self.want("moment 1\n")
        then, said = self.recorded.moments[1], top(self.announced, env=self.environment)
        self.assertEqual([row["gpu"] for row in said["gpus"]], [0, 1])
        for device, row in enumerate(said["gpus"]):
            self.assertEqual(row["name"], " ".join(then["nvmlDeviceGetName", device, "-"][1]))
            self.assertEqual(row["uuid"], then["nvmlDeviceGetUUID", device, "-"][1][0])
            self.assertTrue(row["up"])
            self.assertAlmostEqual(row["power_w"], int(then["nvmlDeviceGetPowerUsage", device, "-"][1][0]) / 1e3)
            self.assertAlmostEqual(row["busy"], int(then["nvmlDeviceGetUtilizationRates", device, "-"][1][0]) / 100)
            for name, metric in (("sm", 2), ("dram", 10), ("tensor", 5)):
                self.assertAlmostEqual(row[name], float(then["gpm", device, str(metric)][1][0].split("|")[0]) / 100, places=6)
            self.assertEqual(row["memory_total"], int(then["nvmlDeviceGetMemoryInfo_v2", device, "-"][1][0]))
        text = self.ok("top", "--once", "--interval", "110ms", "--folder", self.announced, env=self.environment).out
        self.assertIn("0 " + said["gpus"][0]["name"], text)

    def test_the_older_form(self):
        with self.monitor() as monitor:
            monitor.looked(3)
            status, _, body = monitor.request(headers={"Accept": "text/plain"})
        self.assertEqual(status, 200)
        self.assertIn("\n# TYPE sonde_nvml_energy_joules_total counter\n", body.decode())
        self.assertNotIn("# UNIT", body.decode())

    # ---- trouble ----------------------------------------------------------------------------------------------

    def test_a_device_that_disappears_and_comes_back(self):
        with self.monitor() as monitor:
            samples(monitor.looked(3))
            found = self.at(monitor, 1, (0,))
            self.assertEqual(of(found, "sonde_nvml_device_up", "device"), {"0": 1, "1": 0})
            self.assertEqual(of(found, "sonde_monitor_lost_devices_total"), {(): 1})
            self.assertEqual([name for name in found if name != "sonde_nvml_device_up" and of(found, name, "device", device="1")], [])
            self.assertGreater(self.expect(found, 1, 0), 30)
            self.want(f"fail {LOST} * 1\nmoment 2\n")
            self.assertEqual(of(samples(monitor.looked(3)), "sonde_monitor_lost_devices_total"), {(): 1})
            found = self.at(monitor, 2)
            self.assertEqual(of(found, "sonde_nvml_device_up", "device"), {"0": 1, "1": 1})
            self.assertGreater(self.expect(found, 2, 1), 30)
            monitor.stop()
        self.assertRegex(monitor.said, r"\Asonde: device 1, [^\n]* is lost: GPU is lost; [^\n]*\nsonde: device 1, [^\n]* is back\n\Z")

    def test_gpm_does_not_count_while_a_device_is_away(self):
        with self.monitor(interval="100ms") as monitor:
            until(lambda: of(samples(monitor.text()), "sonde_gpm_sampled_seconds_total", device="1").get((), 0) > 0, "samples")
            self.want(f"fail {LOST} * 1\n")
            monitor.looked(3)
            before = until(lambda: of(samples(monitor.text()), "sonde_nvml_device_up", device="1") == {(): 0} and samples(monitor.text()), "its loss")
            self.assertNotIn((), of(before, "sonde_gpm_sampled_seconds_total", device="1"))
            monitor.looked(20)
            zero = of(samples(monitor.text()), "sonde_gpm_sampled_seconds_total", device="0")[()]
            self.want("")
            monitor.looked(3)
            self.assertLess(of(samples(monitor.text()), "sonde_gpm_sampled_seconds_total", device="1")[()], zero)

    def test_what_is_not_permitted_is_said_once(self):
        self.want(f"fail {NO_PERMISSION} nvmlDeviceGetPowerUsage\n")
        with self.monitor() as monitor:
            found = samples(monitor.looked(5))
            self.assertEqual(of(found, "sonde_nvml_power_watts", "device"), {})
            self.assertEqual(len(of(found, "sonde_nvml_power_limit_watts", "device")), 2)
            monitor.stop()
        self.assertRegex(monitor.said, r"\A(sonde: device [01]: power is not permitted to this user[^\n]*; start as root to have it\n){2}\Z")

    def test_what_is_not_there_is_not_asked_for_again(self):
        self.want(f"fail {NOT_SUPPORTED} nvmlDeviceGetPowerUsage 0\n")
        with self.monitor() as monitor:
            monitor.looked(3)
            self.want("")
            found = samples(monitor.looked(3))
            self.assertEqual(list(of(found, "sonde_nvml_power_watts", "device")), ["1"])
            monitor.stop()
        self.assertEqual(monitor.said, "")

    # ---- what the hardware counts: of a profiler that is made up (tests/unit/backends/cuda/libraries/profiler.c) --------------

    def sampled(self, *args, **more):
        """A monitor whose CUDA shows the first device alone."""
        env = {**self.environment, "LD_LIBRARY_PATH": STAND_IN + ":" + PROFILER, "SONDE_CUPTI": os.path.join(PROFILER, "libcuda.so.1"), **more}
        return Monitor(self.announced, "--counters", "known__a.sum,lacking.sum,known__b.avg.pct_of_peak_sustained_elapsed", *args, env=env)

    def test_counters(self):
        with self.sampled("--csv", self.path("csv"), SONDE_TEST_SAMPLES="25") as monitor:
            found = samples(monitor.looked(4))
            seconds = of(found, "sonde_pm_sampled_seconds_total", "device")
            self.assertEqual(seconds["1"], 0)
            self.assertGreater(seconds["0"], .25)  # the first sample of all is older than the start
            looks = (seconds["0"] + .01) / .25
            self.assertAlmostEqual(looks, round(looks))
            counted = of(found, "sonde_pm_counted_total", "device", "metric", "unit")
            self.assertEqual(list(counted), [("0", "known__a.sum", "byte")])
            self.assertAlmostEqual(counted["0", "known__a.sum", "byte"], seconds["0"] * 100 / .01)
            values = of(found, "sonde_pm_value_seconds_total", "device", "metric", "unit")
            self.assertEqual(list(values), [("0", "known__b.avg.pct_of_peak_sustained_elapsed", "%")])
            self.assertAlmostEqual(list(values.values())[0], seconds["0"] * 101)
            later = of(samples(monitor.looked(2)), "sonde_pm_sampled_seconds_total", "device")["0"]
            self.assertGreaterEqual(later, seconds["0"] + .5)
            monitor.stop()
        self.assertEqual(sorted(monitor.said.splitlines()), ["sonde: device 0: counters: this device has no metric lacking.sum; it is left out",
                                                            "sonde: device 1: counters: CUDA does not show this device (CUDA_VISIBLE_DEVICES?)"])
        with open(self.path("csv", "device.csv"), encoding="utf-8") as file:
            self.assertIn("pm_counted_total.known__a.sum.byte", file.readline())

    def ran(self, address, *kernels):
        """An announced program that has run these (name, seconds) on the device at an address, one after the other."""
        p = live.Process("host-7-1", 7, start_ns=time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - 10**12, state=1)
        p.start_ns = self.start_ns = getattr(self, "start_ns", p.start_ns)
        p.main = p.thread(7)
        code = p.node(0, p.frame(live.NATIVE, p.module("/opt/demo/bin/demo"), 0x1234))
        queue, at = p.queue(p.device("H100", pci=address, backend="cuda")), p.start_ns
        for name, seconds in kernels:
            p.enqueue(p.main, queue, "cuLaunchKernel", code, "kernel", at, at + 10, at + 400, at + 400 + int(seconds * 1e9), name=name)
            at += int(seconds * 1e9) + 1000
        new, target = self.path(f"new{at}"), os.path.join(self.announced, p.name)
        p.write(new)
        os.makedirs(target, mode=0o700, exist_ok=True)
        held = monitoring.lock(os.path.join(new, p.name))
        self.addCleanup(held.close)
        os.replace(os.path.join(new, p.name, "live.sonde"), os.path.join(target, "live.sonde"))

    def test_counters_by_program_and_kernel(self):
        """Each look counts 2,500: the first operations that end have those of their look, the second, which took long, all since then."""
        bus = self.recorded.moments[0]["nvmlDeviceGetPciInfo_v3", 0, "-"][1]
        domain, number, device = (int(part, 16) for part in next(word for word in bus if word.count(":") == 2).split(".")[0].split(":"))
        address = domain << 16 | number << 8 | device << 3
        labels = {"metric": "known__a.sum", "process": "host-7-1", "program": "demo", "kind": "kernel", "unit": "byte"}
        with self.sampled(SONDE_TEST_SAMPLES="25") as monitor:
            until(lambda: of(samples(monitor.text()), "sonde_pm_sampled_seconds_total", device="0").get((), 0) > 1, "samples")
            self.ran(address, ("x", .003))
            monitor.looked(3)
            self.ran(address, ("x", .006), ("y", .001))
            first = of(samples(monitor.looked(4)), "sonde_pm_attributed_total", "kernel", **labels)
            self.assertEqual(first, {"x": 1875, "y": 625})  # what it had done when it was met is in none
            self.ran(address, ("x", 300.006), ("y", 100.001))
            later = samples(monitor.looked(4))
            second = of(later, "sonde_pm_attributed_total", "kernel", **labels)
            gained = {name: second[name] - first[name] for name in first}
            self.assertAlmostEqual(gained["x"] / gained["y"], 3)
            self.assertEqual(round(sum(gained.values()), 3) % 2500, 0)
            self.assertGreaterEqual(sum(gained.values()), 3 * 2500)  # what waited, too
            self.assertLessEqual(sum(second.values()), of(later, "sonde_pm_counted_total", device="0")[()])
            again = of(samples(monitor.looked(3)), "sonde_pm_attributed_total", "kernel", **labels)
            self.assertEqual(again, second)
            self.start_ns += 1  # another one, as in a container that starts again between two looks
            self.ran(address, ("x", .001))
            self.assertEqual(of(samples(monitor.looked(4)), "sonde_pm_attributed_total", "kernel", **labels), {})
        self.assertEqual(of(later, "sonde_pm_attributed_total", "metric", kernel="x"), {"known__a.sum": second["x"]})  # a share of a peak is not divided

    def test_counters_of_a_device_that_is_away(self):
        with self.sampled(SONDE_TEST_SAMPLES="5") as monitor:
            until(lambda: of(samples(monitor.text()), "sonde_pm_sampled_seconds_total", device="0").get((), 0) > 0, "samples")
            self.want(f"fail {LOST} * 0\n")
            monitor.looked(3)
            then, now = (of(samples(monitor.looked(2)), "sonde_pm_sampled_seconds_total", device="0")[()] for _ in range(2))
            self.assertEqual(now, then)

    def test_counters_that_another_tool_has(self):
        with self.sampled(SONDE_TEST_REFUSES=str(RESOURCE_TAKEN)) as monitor:
            found = samples(monitor.looked(4))
            self.assertEqual(of(found, "sonde_pm_counted_total", "metric"), {})
            self.assertEqual(of(found, "sonde_nvml_device_up", "device"), {"0": 1, "1": 1})
            monitor.stop()
        self.assertEqual(len(re.findall(r"cannot sample on this device \(another tool may do that\)", monitor.said)), 1, monitor.said)

    def test_counters_without_cupti(self):
        with self.sampled(SONDE_CUPTI="/nowhere/libcupti.so") as monitor:
            self.assertIn("sonde_nvml_device_up", samples(monitor.looked(3)))
            monitor.stop()
        self.assertRegex(monitor.said, r"\Asonde: the hardware's counters are not sampled: no libcupti.so found; [^\n]*\n\Z")

    def test_counters_that_are_none(self):
        for args in (["--counters", ""], ["--counters", ",".join(f"a{i}.sum" for i in range(33))], ["--counters", "memory", "--counter-interval", "2s"]):
            self.assertRegex(self.fails("monitor", *args, status=2).err, "--counter")

    def test_reads_that_fail_are_counted(self):
        with self.monitor() as monitor:
            monitor.looked(3)
            self.want(f"fail {UNKNOWN} nvmlDeviceGetPowerUsage 0\n")
            found = samples(monitor.looked(3))
            self.assertGreaterEqual(of(found, "sonde_monitor_failed_reads_total")[()], 2)
            self.assertEqual(list(of(found, "sonde_nvml_power_watts", "device")), ["1"])
            self.want("")
            self.assertEqual(len(of(samples(monitor.looked(3)), "sonde_nvml_power_watts", "device")), 2)

    def test_no_driver(self):
        self.want(f"fail {NOT_LOADED} nvmlInit_v2\n")
        with self.monitor() as monitor:
            found = samples(monitor.looked(5))
            self.assertNotIn("sonde_nvml_device_up", found)
            self.assertIn("sonde_monitor_looks_total", found)
            monitor.stop()
        self.assertEqual(monitor.said, "sonde: no NVIDIA device is watched: NVML cannot begin: Driver Not Loaded\n")
        self.assertEqual(top(self.announced, env=self.environment)["gpus"], [])

    def test_a_device_that_may_not_be_opened(self):
        self.want(f"fail {NO_PERMISSION} nvmlDeviceGetHandleByIndex_v2 0\n")
        with self.monitor() as monitor:
            found = samples(monitor.looked(3))
            self.assertEqual(of(found, "sonde_nvml_device_up", "device"), {"1": 1})
            self.assertGreater(self.expect(found, 0, 1), 30)
            monitor.stop()
        self.assertEqual(monitor.said, "sonde: device 0 cannot be watched: Insufficient Permissions\n")


if __name__ == "__main__":
    cli.main()
