"""The section `monitor` of bench/gpu.py: what a `sonde monitor` beside a program costs it, by how often it looks and by what the hardware is to count, and
what the monitor itself takes: a vector add that is bound by memory (tests/gpu/programs/series.cu), and the two loads of gpu_load.py, whose one process runs all of their rounds.
"""
import os
import re
import signal
import statistics
import subprocess
import time
import urllib.request

import gpu_rounds
import harness
from gpu_values import compiled, table

COUNTERS = "dram__bytes_read.sum,dram__bytes_write.sum,smsp__inst_executed.sum"
MONITORS = {
    "`--interval 1s`": ("--interval", "1s"),
    "`--interval 100ms`": ("--interval", "100ms"),
    "`--interval 10ms`": ("--interval", "10ms"),
    "`--interval 1ms`": ("--interval", "1ms"),
    "`--interval 1s --counters` (each 100 ms)": ("--interval", "1s", "--counters", COUNTERS),
    "`--interval 100ms --counters --counter-interval 1ms`": ("--interval", "100ms", "--counters", COUNTERS, "--counter-interval", "1ms"),
}
ONLY_ALONE = "`--interval 100ms`"
ALONE_S = 5 # that a monitor's own cost is measured


class Beside:
    """A monitor that has found everything and begun, until the end of the block; then its looks and CPU seconds."""

    def __init__(self, bench, options):
        folder = os.path.join(bench.work, "announced")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.child = subprocess.Popen([bench.sonde, "monitor", "--listen", "127.0.0.1:0", "--folder", folder, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.child.stdout.readline().strip()
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and not self.has_begun("--counters" in options):
            time.sleep(0.05)
        self.before = self.figures()

    def read(self):
        with urllib.request.urlopen(self.url, timeout=60) as answer:
            return answer.read().decode()

    def has_begun(self, counts):
        text = self.read()
        looks, sampled = (re.search(name + r" (\S+)", text) for name in ("sonde_monitor_looks_total", r"sonde_pm_sampled_seconds_total\{.*\}"))
        return bool(looks) and float(looks[1]) >= 1 and (not counts or bool(sampled and float(sampled[1])))

    def figures(self):
        text = self.read()
        return {name: float(re.search(rf"^sonde_monitor_{name}_total (\S+)", text, re.M)[1]) for name in ("looks", "cpu_seconds")}

    def end(self):
        after = self.figures()
        self.child.send_signal(signal.SIGTERM)
        self.child.communicate()
        return {name: after[name] - self.before[name] for name in after}


def beside(bench, options, measure):
    monitor = Beside(bench, options)
    try:
        figures = measure()
    finally:
        took = monitor.end()
    return {**figures, **took}


def rounds(bench, load, measure, seconds, nothing):
    variants = {nothing: measure}
    for name, options in MONITORS.items():
        if name == ONLY_ALONE:
            continue
        variants[name] = lambda options=options: beside(bench, options, measure)
    return bench.rounds(f"monitor: {load}", variants, set(variants), seconds, 15)


def torch_loads(bench, seconds, nothing, found):
    server = gpu_rounds.Server("monitored", [bench.python, os.path.join(os.path.dirname(os.path.abspath(__file__)), "gpu_load.py"), "none"], {}, bench.work)
    try:
        server.ready(time.monotonic() + gpu_rounds.READY_SECONDS)
        for load, count in (("small", 200), ("train", 40)):
            def measure(load=load, count=count):
                return {"ns": statistics.median(server.block(load, count // 10, count)["ms"]) * 1e6}
            found[f"PyTorch: {load}"] = rounds(bench, load, measure, seconds / 2, nothing)
    except gpu_rounds.Gone as why:
        bench.failed["monitor: PyTorch"] = str(why)
    server.end()


def alone(bench):
    """What each monitor takes itself, from when it has begun."""
    gpu = harness.ask_gpu()
    bench.say(f"| Monitor, of {gpu.count} devices, beside nothing | looks a second | CPU time of a look | share of a processor |\n|---|---|---|---|")
    for name, options in MONITORS.items():
        monitor, begin = Beside(bench, options), time.monotonic()
        time.sleep(ALONE_S)
        took, passed = monitor.end(), time.monotonic() - begin
        bench.data["sections"].setdefault("monitor alone", {})[name] = {**took, "seconds": passed}
        bench.say(f"| {name} | {took['looks'] / passed:.1f} | {took['cpu_seconds'] / max(took['looks'], 1) * 1e3:.2f} ms | {100 * took['cpu_seconds'] / passed:.2f} % |")
    bench.say()


def least(bench, found, nothing):
    """What a machine that others use can tell at best."""
    bench.say("The least of the rounds, × of the least without a monitor:\n")
    bench.say("| Recorded with | " + " | ".join(found) + " |\n|---|" + "---|" * len(found))
    for name in (name for name in MONITORS if name != ONLY_ALONE):
        ratios = [min((row["ns"] for row in rows[name] if row), default=0) / min((row["ns"] for row in rows[nothing] if row), default=1) for rows in found.values()]
        bench.say(f"| {name} | " + " | ".join(f"{ratio:.3f}" if ratio else "-" for ratio in ratios) + " |")
    bench.say()


def run(bench, seconds, nothing):
    bench.say("## A monitor beside kernels\n")
    program = os.path.join(bench.work, "gpu_series")
    gpu = harness.ask_gpu()
    major, minor = gpu.capability
    if not compiled(bench, os.path.join("..", "tests", "gpu", "programs", "series.cu"), program, f"-arch=sm_{major}{minor}"):
        return
    adds, each = "20,000 vector adds of 76 µs", max(seconds - (ALONE_S + 2) * len(MONITORS) - 20, 30) / 5
    found = {adds: rounds(bench, adds, lambda: bench.number([program, "20000", "time"]), each, nothing)}
    torch_loads(bench, 4 * each, nothing, found)
    table(bench, f"{gpu.count} devices. × of the same without a monitor.", [name for name in MONITORS if name != ONLY_ALONE], found, found, nothing)
    least(bench, found, nothing)
    alone(bench)
