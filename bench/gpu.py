#!/usr/bin/env python3
"""The CUDA figures of docs/performance.md, from one run on one GPU, as ratios from paired runs.

    bench/gpu.py [--quick] [--sonde build/bin/sonde] [--work DIR] [--out DIR] [--budget SECONDS] [--cpus LIST] [SECTION...]

A round runs every variant once, in random order; a ratio is taken within its round. Printed: the median over the
rounds, and the lowest and highest; of the PyTorch loads see gpu_rounds.py. Each section has its share of the budget (8 minutes; --quick: 2) and makes rounds
until it is spent; what a tool that is not there or does not run would have shown is said. gpu-bench.md and
gpu-bench.json go to --out (default $OUT, else --work).

Sections: loads launches graph memory values comm (of two GPUs) series stalls; samples only when named: the default with its samples turned on and off by turns
in one process, because one process differs from the next by more than samples cost.
"""
import argparse
import glob
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, "tests", "gpu"))
import gpu_comm  # noqa: E402
import gpu_monitor  # noqa: E402
import gpu_nccl  # noqa: E402
import gpu_rounds  # noqa: E402
import gpu_series  # noqa: E402
import gpu_stalls  # noqa: E402
import gpu_values  # noqa: E402
import harness  # noqa: E402

SHARES = {"loads": 0.62, "launches": 0.10, "graph": 0.11, "memory": 0.07, "values": 0.30, "comm": 0.20, "series": 0.15, "stalls": 0.15, "samples": 0.70, "nccl": 0.40, "monitor": 0.30}
USUAL = ("loads", "launches", "graph", "memory", "values", "comm", "series", "stalls")
FLOORS = {"CUPTI: kernels, copies, sets": "activities", "minimal interceptor": "interceptor"}
NOTHING, INTERCEPTOR, ACTIVITIES = "nothing", "minimal interceptor", "CUPTI: kernels, copies, sets"
TRACE, NATIVE, PROFILE = "sonde: trace, native and Python", "sonde: trace, native only", "sonde: profile, native and Python"
SAMPLED, ATTACHED = "sonde: trace, and 199 CPU samples a second", "sonde: attached, not recording"
TURNS = ("on", "off", "off again")
SONDE_ROWS = {TRACE: ("--cpu", "0"), NATIVE: ("--cpu", "0", "--no-python"), PROFILE: ("--cpu", "0", "--profile"),
              SAMPLED: (), ATTACHED: ("--cpu", "0", "--start-off")}


class Failed(Exception):
    """A variant did not run; the text says why."""


class Bench:
    def __init__(self, options):
        self.options, self.sonde = options, os.path.abspath(options.sonde)
        self.work = os.path.abspath(options.work)
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        self.lines, self.data, self.failed = [], {"sections": {}}, {}
        self.python = os.environ.get("SONDE_BENCH_PYTHON") or shutil.which("python3") or sys.executable
        self.nsys = harness.find_nsys()
        self.random = random.Random(os.getpid())

    def say(self, text=""):
        print(text, flush=True)
        self.lines.append(text)

    # ---- building -------------------------------------------------------------------------------

    def build(self):
        nvcc, gpu = harness.find_nvcc(), harness.ask_gpu()
        if gpu.reason:
            print(f"skipped: {gpu.reason}")
            sys.exit(harness.SKIP)
        if not nvcc:
            print("skipped: bench/gpu_launch.cu is compiled with nvcc, and there is none on this machine")
            sys.exit(harness.SKIP)
        headers, library = harness.cupti_of_toolkit(nvcc)
        if not headers or not library:
            print("skipped: the toolkit has no CUPTI (cupti.h, libcupti.so)")
            sys.exit(harness.SKIP)
        toolkit, folder = harness.toolkit_of(nvcc), os.path.dirname(library)
        self.floor, self.launch = os.path.join(self.work, "libgpu-floor.so"), os.path.join(self.work, "gpu-launch")
        major, minor = gpu.capability
        for command in (
                ["gcc", "-std=c17", "-O2", "-fPIC", "-shared", "-I", os.path.join(ROOT, "src"), "-isystem", headers, "-isystem",
                 f"{toolkit}/include", os.path.join(HERE, "gpu_floor.c"), "-o", self.floor,
                 f"-L{folder}", "-lcupti", f"-Wl,-rpath,{folder}", "-pthread"],
                [nvcc, f"-arch=sm_{major}{minor}", "-std=c++17", "-O2", os.path.join(HERE, "gpu_launch.cu"), "-o", self.launch]):
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if done.returncode:
                sys.exit(f"bench: {' '.join(command)}: {done.stdout[-2000:]}")

    # ---- running one variant ------------------------------------------------------------------------

    def run(self, command, env=None, timeout=300):
        """Standard output. A command that gives no result fails; some tools end badly after a good run."""
        full = harness.environment(**(env or {}))
        child = subprocess.Popen(command, env=full, cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            out, err = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            raise Failed(f"did not end within {timeout} s") from None
        self.last = (child.returncode, err[-600:])
        return out

    def record(self, command, *options, folder=None):
        return [self.sonde, "record", "-q", "--force", "-o", folder or os.path.join(self.work, "m.sonde"), *options, "--", *command]

    def floor_env(self, mode, name="floor.json"):
        return {"CUDA_INJECTION64_PATH": self.floor, "GPU_FLOOR": mode, "GPU_FLOOR_OUT": os.path.join(self.work, name)}

    def floor_counts(self, mode, name="floor.json"):
        """A floor that measured nothing would make everything look dear."""
        path = os.path.join(self.work, name)
        try:
            with open(path, encoding="utf-8") as file:
                counts = json.load(file)
            os.unlink(path)
        except (OSError, ValueError):
            raise Failed("the injected library said nothing") from None
        if not counts["records"] or (mode == "interceptor") != bool(counts["callbacks"]):
            raise Failed(f"the injected library saw {counts}")
        return counts

    def nsys_command(self, command, *options, output="nsys"):
        return [self.nsys, "profile", "-t", "cuda", "-s", "none", "--cpuctxsw=none", "--force-overwrite=true",
                "-o", os.path.join(self.work, output), *options, *command]

    def ledger(self, folder=None):
        done = subprocess.run([self.sonde, "report", folder or os.path.join(self.work, "m.sonde"), "ledger", "--json"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        if done.returncode:
            raise Failed(f"sonde report ledger gave status {done.returncode}")
        return json.loads(done.stdout)

    # ---- rounds ------------------------------------------------------------------------------------------

    def rounds(self, section, variants, key, seconds, most):
        """variants: {name: function() -> {figure: number}}. The key ones in every round, the others in the first two.
        Returns {name: [figures of a round, or None]}. Variants that fail twice are left out, and said."""
        values, cost, begin = {name: [] for name in variants}, {}, time.monotonic()
        fails = dict.fromkeys(variants, 0)
        for number in range(most):
            order = [n for n in variants if fails[n] < 2 and (n in key or number < 2)]
            self.random.shuffle(order)
            left = seconds - (time.monotonic() - begin)
            if number and sum(cost.get(n, 0) for n in order) > left:
                order = [n for n in order if n in key]  # the rest would cost the round
                if sum(cost.get(n, 0) for n in order) > left:
                    break
            this = {}
            for name in order:
                if number == 0 and name not in key and time.monotonic() - begin > seconds:
                    self.failed[f"{section}: {name}"] = "no time left"
                    continue
                at = time.monotonic()
                try:
                    this[name] = variants[name]()
                except Failed as why:
                    fails[name] += 1
                    self.failed[f"{section}: {name}"] = f"{why} {getattr(self, 'last', '')}"
                cost[name] = time.monotonic() - at
            for name in variants:
                values[name].append(this.get(name))
        self.data["sections"][section] = {"rounds": values, "seconds": round(time.monotonic() - begin, 1),
                                          "seconds_of_a_run": {n: round(s, 1) for n, s in cost.items()}}
        return values

    @staticmethod
    def pairs(values, name, other, figure):
        return [(a[figure], b[figure]) for a, b in zip(values[name], values[other]) if a and b]

    def ratio(self, values, name, other, figure):
        pairs = self.pairs(values, name, other, figure)
        ratios = [a / b for a, b in pairs]
        return (statistics.median(ratios), min(ratios), max(ratios), len(ratios)) if ratios else None

    def cell(self, ratio):
        return f"{ratio[0]:.3f} [{ratio[1]:.3f}, {ratio[2]:.3f}]" if ratio else "-"

    def median(self, values, name, figure):
        numbers = [v[figure] for v in values[name] if v and figure in v]
        return statistics.median(numbers) if numbers else None

    # ---- the PyTorch loads -----------------------------------------------------------------------------------

    def figures_of(self, folder):
        """What a measurement says of its own cost."""
        ledger = self.ledger(folder)
        code = sum(os.path.getsize(path) for path in glob.glob(os.path.join(folder or os.path.join(self.work, "m.sonde"), "code", "*")))
        return {"bytes_per_op": (ledger["bytes_on_disk"] - code) / ledger["seen"], "code_bytes": code, "hook_ns": ledger["hook_ns"] / ledger["api_calls"],
                "thread_ns": ledger["thread_cpu_ns"] / ledger["seen"], "unmatched": ledger["unmatched"],
                "dropped": ledger["dropped"], "seen": ledger["seen"]}

    def count_operations(self, script):
        """Operations of one iteration of each load, and how the training step's kernels reach Python. This also brings the
        files into memory and the clocks up."""
        folder = os.path.join(self.work, "count.sonde")
        server = gpu_rounds.Server("count", self.record([self.python, script, "none"], folder=folder), {}, self.work)
        counts = {"small": 20, "train": 6}
        try:
            server.ready(time.monotonic() + 200)
            windows = {load: server.block(load, 2, n)["window"] for load, n in counts.items()}
        except gpu_rounds.Gone as why:
            self.failed["operations of an iteration"] = str(why)
            return {}
        finally:
            server.end()
        done = subprocess.run([self.sonde, "export", folder, "--to", "json", "-o", "-"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        if done.returncode:
            return {}
        export = json.loads(done.stdout)
        ways = ["direct", "linked", "named", "none"]  # the best on the way from the root wins; named: by an operator's range
        kinds = {"python": "direct", "link": "linked", "range": "named"}
        way = {None: "none"}
        for c in export["contexts"]:  # a parent comes before its children
            way[c["id"]] = min(way.get(c["parent"], "none"), kinds.get(c["kind"], "none"), key=ways.index)
        found, shares = dict.fromkeys(counts, 0), dict.fromkeys(ways, 0)
        for op in export["operations"]:
            for load, (begin, end) in windows.items():
                if begin <= op["enter_ns"] <= end and op["kind"] not in harness.ORDER_KINDS:
                    found[load] += 1
                    if load == "train" and op["kind"] == "kernel":
                        shares[way.get(op["context"], "none")] += 1
        return {"per_iteration": {load: found[load] / counts[load] for load in counts}, "python": shares}

    def load_variants(self, script):
        """{name: (command, environment)}; the socket's path follows."""
        plain = [self.python, script, "none"]
        inside = lambda tool: ([self.python, script, tool], {})
        variants = {NOTHING: (plain, {})}
        for number, (name, mode) in enumerate(FLOORS.items()):
            variants[name] = (plain, self.floor_env(mode, f"floor{number}.json"))
        for number, (name, options) in enumerate(SONDE_ROWS.items()):
            variants[name] = (self.record(plain, *options, folder=os.path.join(self.work, f"load{number}.sonde")), {})
        if self.options.quick:
            return variants
        variants["Proton, shadow contexts"] = inside("proton-shadow")
        variants["Proton, Python contexts"] = inside("proton-python")
        variants["Kineto, CPU + CUDA + stacks"] = inside("kineto-stack")
        if self.nsys:
            variants["nsys -t cuda"] = (self.nsys_command(plain, output="nsys1"), {})
            variants["nsys, Python back-traces"] = (self.nsys_command(plain, "--python-backtrace=cuda", output="nsys2"), {})
        else:
            self.failed["loads: nsys"] = "there is no nsys on this machine"
        return variants

    def loads(self, seconds):
        begin, script = time.monotonic(), os.path.join(HERE, "gpu_load.py")
        operations = self.count_operations(script)
        variants, own = self.load_variants(script), {}
        key = {NOTHING, INTERCEPTOR, TRACE, NATIVE, SAMPLED}
        rounds = gpu_rounds.Rounds(variants, key, self.work, NOTHING)

        def after(server):
            try:
                if server.name in FLOORS:
                    self.floor_counts(FLOORS[server.name], f"floor{list(FLOORS).index(server.name)}.json")
                elif server.name in SONDE_ROWS and server.name != ATTACHED:
                    folder = os.path.join(self.work, f"load{list(SONDE_ROWS).index(server.name)}.sonde")
                    own.setdefault(server.name, []).append(self.figures_of(folder))
            except Failed as why:
                self.failed[f"loads: {server.name}"] = str(why)

        rounds.run(seconds - (time.monotonic() - begin), 1 if self.options.quick else 3, after)
        self.failed.update({f"loads: {name}": why for name, why in rounds.failed.items()})
        self.data["sections"]["loads"] = {**rounds.short(), "own": own, "operations": operations,
                                          "seconds": round(time.monotonic() - begin, 1), "start_seconds": rounds.seconds.get("start")}
        self.loads_table(rounds, variants)
        self.parts(rounds, operations.get("per_iteration"))
        self.own(own, operations.get("python"))

    def loads_table(self, rounds, variants):
        self.say("## Two PyTorch loads\n")
        self.say("small: twelve small transformer blocks, eager. train: one training step of ResNet-50. Milliseconds of an iteration; × is")
        self.say("the ratio to nothing, + how much that ratio is above the minimal interceptor's: median over the rounds, [95 % interval of")
        self.say("the median], (median of each generation of processes). Then the same of quiet moments (gpu_rounds.py), from all blocks")
        self.say("of a generation: median over the generations, [95 % interval, rounds drawn anew], (each generation).\n")
        for load in gpu_rounds.LOADS:
            self.load_table(rounds, variants, load, "median", statistics.median, rounds.told)
            self.load_table(rounds, variants, load, "quiet moments", gpu_rounds.tenth, rounds.quiet)

    def load_table(self, rounds, variants, load, what, of, told):
        self.say(f"| {load}, {what}: measured by | ms | × | + | rounds |")
        self.say("|---|---|---|---|---|")
        for name in variants:
            blocks = rounds.middles(name, load, of=of)
            if not blocks:
                continue
            ratio = told(lambda a, b: a / b, load, name, NOTHING)
            above = told(lambda a, b, c: (a - b) / c, load, name, INTERCEPTOR, NOTHING)
            self.say(f"| {name} | {statistics.median(blocks):.3f} | {self.told(ratio, '.3f')} | "
                     f"{self.told(above, '+.3f') if name not in (NOTHING, INTERCEPTOR) else ''} | {len(blocks)} |")
        alone = rounds.middles(NOTHING, load, rounds.alone, of)
        if alone:
            self.say(f"| (nothing, before the other processes are there) | {statistics.median(alone):.3f} | | | {len(alone)} |")
        self.say()

    @staticmethod
    def told(figure, form):
        if not figure:
            return "-"
        middle, low, high, each = figure
        return f"{middle:{form}} [{low:{form}}, {high:{form}}] ({', '.join(f'{x:{form}}' for x in each)})"

    def parts(self, rounds, each):
        """Where the time goes: differences between variants, per operation."""
        if not each or not all(each.values()):
            return
        self.say("### Where the time goes (ns per operation, from differences in quiet moments)\n")
        self.say(f"Operations of an iteration: small {each['small']:.0f}, train {each['train']:.0f}.\n")
        self.say("| Part | small | train |")
        self.say("|---|---|---|")
        for what, name, other in (("CUPTI's records", ACTIVITIES, NOTHING), ("CUPTI's callbacks and flush period", INTERCEPTOR, ACTIVITIES),
                                  ("Sonde with native contexts", NATIVE, INTERCEPTOR), ("Python's part of the contexts", TRACE, NATIVE),
                                  ("the trace (profile mode saves it)", TRACE, PROFILE), ("CPU samples", SAMPLED, TRACE)):
            row = [rounds.quiet(lambda a, b, n=each[load]: (a - b) * 1e6 / n, load, name, other) for load in gpu_rounds.LOADS]
            self.say(f"| {what} | " + " | ".join(f"{r[0]:.0f} [{r[1]:.0f}, {r[2]:.0f}]" if r else "-" for r in row) + " |")
        self.say()

    def own(self, own, shares):
        self.say("### What the ledger says\n")
        self.say("Bytes without the device code that is kept, which is told apart.\n")
        self.say("| Mode | hooks, ns per API call | Sonde's threads, ns per operation | bytes per operation | code, MB | operations | unmatched | dropped |")
        self.say("|---|---|---|---|---|---|---|---|")
        for name, runs in own.items():
            figure = lambda key: statistics.median(run[key] for run in runs)
            self.say(f"| {name} | {figure('hook_ns'):.0f} | {figure('thread_ns'):.0f} | {figure('bytes_per_op'):.2f} | "
                     f"{figure('code_bytes') / 1e6:.1f} | {figure('seen'):.0f} | {figure('unmatched'):.0f} | {figure('dropped'):.0f} |")
        if shares and sum(shares.values()):
            whole = sum(shares.values())
            self.say("\nKernels of the ResNet-50 training step by how they reach a Python context: "
                     + ", ".join(f"{how} {n / whole:.1%}" for how, n in shares.items()) + ".")
        self.say()

    # ---- samples, turned on and off within a process ---------------------------------------------------------------

    def samples(self, seconds):
        begin, script = time.monotonic(), os.path.join(HERE, "gpu_load.py")
        variants = {f"process {n}": (self.record([self.python, script, "none"], folder=os.path.join(self.work, f"samples{n}.sonde")), {})
                    for n in range(1 if self.options.quick else 3)}
        rounds = gpu_rounds.Rounds(variants, set(variants), self.work, NOTHING)
        servers = everyone = rounds.start(variants)
        while servers and (not rounds.table or time.monotonic() - begin < seconds - 20):  # the processes' ends
            servers = [server for server in servers if self.turns(rounds, server)]
        for server in everyone:
            server.end()
        self.failed.update({f"samples: {name}": why for name, why in rounds.failed.items()})
        self.data["sections"]["samples"] = {**rounds.short(), "ledgers": [
            self.ledger(os.path.join(self.work, f"samples{n}.sonde")) for n, server in enumerate(variants) if server not in rounds.failed]}
        if rounds.table:
            self.samples_table(rounds)

    def turns(self, rounds, server):
        """One block of each load with samples and two without, in random order. Whether it still serves."""
        row = {"generation": server.name}
        try:
            for name in self.random.sample(TURNS, len(TURNS)):
                turned = server.ask("samples " + name.split()[0])
                if name != "on" and not turned["timers"] + turned["events"]:
                    raise gpu_rounds.Gone("there are no samples to turn off")
                row[name] = {load: server.block(load, *counts)["ms"] for load, counts in gpu_rounds.LOADS.items()}
            server.ask("samples on")
        except gpu_rounds.Gone as why:
            rounds.lose(server, why)
            return False
        rounds.table.append(row)
        return True

    def samples_table(self, rounds):
        self.say("## Samples of the CPU side, turned on and off by turns in one process\n")
        self.say("The default record; ratios to the time without samples, as above (each process); what two times without differ by stands beside it.\n")
        self.say("| Load | off, ms | on, medians | off, again | on, quiet moments | off, again | rounds |")
        self.say("|---|---|---|---|---|---|---|")
        ratio = lambda a, b: a / b
        for load in gpu_rounds.LOADS:
            off = rounds.middles("off", load)
            cells = [self.told(told(ratio, load, name, "off"), ".3f") for told in (rounds.told, rounds.quiet) for name in ("on", "off again")]
            self.say(f"| {load} | {statistics.median(off):.3f} | " + " | ".join(cells) + f" | {len(off)} |")
        for name, ledger in zip(rounds.variants, self.data["sections"]["samples"]["ledgers"]):
            cpu = ledger["cpu"]
            self.say(f"\n{name}: {cpu['samples']} samples by {cpu['sampling']} for {cpu['sampled_ns'] / 1e9:.1f} s of CPU time, "
                     f"handlers {cpu['handler_ns'] / 1e9:.2f} s")
        self.say()

    # ---- empty launches, graphs ------------------------------------------------------------------------------------

    def number(self, command, env=None, check=None):
        out = self.run(command, env)
        line = next((x for x in out.splitlines() if x.startswith("GPULAUNCH ")), None)
        if not line:
            raise Failed(f"no result: {out[-200:]}")
        figures = {"ns": float(line.split()[1])}
        if check:
            figures.update(check(None))
        return figures

    def simple_variants(self, plain, nsys_options, whole_graphs=False):
        variants = {NOTHING: lambda: self.number(plain)}
        floors = dict(FLOORS, **{"CUPTI: the same records, flushed every second": "flushed"})
        for name, mode in floors.items():
            variants[name] = lambda mode=mode: self.number(plain, self.floor_env(mode), lambda _: self.floor_counts(mode))
        variants["sonde: trace"] = lambda: self.number(self.record(plain, "--cpu", "0"), check=self.figures_of)
        variants["sonde: trace, --last=30s"] = lambda: self.number(self.record(plain, "--cpu", "0", "--last", "30s"))
        variants["sonde: profile"] = lambda: self.number(self.record(plain, "--cpu", "0", "--profile"), check=self.figures_of)
        if whole_graphs:
            variants["sonde: trace, --graph graph"] = lambda: self.number(self.record(plain, "--cpu", "0", "--graph", "graph"))
        if self.nsys:
            variants["nsys"] = lambda: self.number(self.nsys_command(plain, *nsys_options))
        return variants

    def simple_table(self, section, title, variants, seconds, most, unit, scale):
        key = {n for n in variants if not n.startswith("nsys")}
        values = self.rounds(section, variants, key, seconds, most)
        self.say(f"## {title}\n")
        self.say(f"| Measured by | {unit} | × nothing | × CUPTI's records | bytes per operation | rounds |")
        self.say("|---|---|---|---|---|---|")
        for name in variants:
            here, ratio = self.median(values, name, "ns"), self.ratio(values, name, NOTHING, "ns")
            size = self.median(values, name, "bytes_per_op")
            self.say(f"| {name} | {f'{here / scale:,.2f}' if here else '-'} | {self.cell(ratio)} | "
                     f"{self.cell(self.ratio(values, name, ACTIVITIES, 'ns'))} | {f'{size:.2f}' if size else ''} | {ratio[3] if ratio else 0} |")
        self.say()

    def launches(self, seconds):
        count = 50000 if self.options.quick else 200000
        variants = self.simple_variants([self.launch, "launches", str(count)], ())
        self.simple_table("launches", f"{count:,} empty launches", variants, seconds, 9, "ns each", 1)

    def graph(self, seconds):
        replays = 400 if self.options.quick else 2000
        plain = [self.launch, "graph", "500", str(replays)]
        variants = self.simple_variants(plain, ("--cuda-graph-trace=node",), True)
        if self.nsys:  # it dies of a million kernels, on a machine without its importer
            few = [self.launch, "graph", "500", "100"]
            variants["nsys, 100 replays"] = lambda: self.number(self.nsys_command(few, "--cuda-graph-trace=node", output="nsys3"))
            del variants["nsys"]
        self.simple_table("graph", f"A graph of 500 kernels replayed {replays:,} times", variants, seconds, 5, "µs per replay", 1000)

    # ---- values -----------------------------------------------------------------------------------------------------------

    def values(self, seconds):
        gpu_values.run(self, seconds, NOTHING)

    # ---- communication ---------------------------------------------------------------------------------------------------

    def comm(self, seconds):
        if harness.ask_gpu().count > 1:
            gpu_comm.run(self, seconds, NOTHING)

    # ---- counters over time ------------------------------------------------------------------------------------------------

    def series(self, seconds):
        gpu_series.run(self, seconds, NOTHING)

    def stalls(self, seconds):
        gpu_stalls.run(self, seconds, NOTHING)

    def monitor(self, seconds):
        gpu_monitor.run(self, seconds, NOTHING)

    def nccl(self, seconds):
        gpu_nccl.run(self, seconds, NOTHING)

    # ---- memory ---------------------------------------------------------------------------------------------------------

    def memory(self, seconds):
        steps, each = 20, max(0.4, (seconds - 6) / 20)
        self.say("## Resident memory in profile mode\n")
        child = subprocess.Popen(self.record([self.launch, "steady", f"{steps * each + 2:.1f}"], "--profile"), cwd=self.work,
                                 env=harness.environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        sizes = []
        for _ in range(steps):
            time.sleep(each)
            pid = self.child_of(child.pid)
            if pid:
                sizes.append(self.resident(pid))
        out, _ = child.communicate()
        sizes = [s for s in sizes if s]
        self.data["sections"]["memory"] = {"resident_kb": sizes, "launches": out.split()[1:2]}
        if len(sizes) < 4:
            self.failed["memory"] = f"the program was seen {len(sizes)} times only: {out[-200:]}"
            return
        half = len(sizes) // 2
        self.say(f"{int(out.split()[1]):,} launches in {steps * each + 2:.0f} s; kB at equal steps: " + " ".join(f"{s:,}" for s in sizes))
        self.say(f"\nsecond half against first: {max(sizes[half:]) / max(sizes[1:half]):.3f}\n")

    @staticmethod
    def child_of(pid):
        for path in glob.glob("/proc/[0-9]*/stat"):
            try:
                with open(path, encoding="utf-8", errors="replace") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue
            if int(fields[1]) == pid:
                return int(path.split("/")[2])
        return None

    @staticmethod
    def resident(pid):
        try:
            with open(f"/proc/{pid}/status", encoding="utf-8") as file:
                return next((int(line.split()[1]) for line in file if line.startswith("VmRSS:")), None)
        except OSError:
            return None

    # ---- everything ---------------------------------------------------------------------------------------------------------

    def machine(self):
        gpu = harness.output_of(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]) or "?"
        torch = harness.output_of([self.python, "-c", "import torch; print(torch.__version__)"])
        self.data["machine"] = {"gpu": gpu.splitlines(), "torch": torch, "cpus": os.cpu_count(), "kernel": os.uname().release,
                                "date": time.strftime("%Y-%m-%d", time.gmtime()), "nsys": self.nsys,
                                "sonde": harness.output_of([self.sonde, "--version"])}
        self.say(f"{gpu.splitlines()[0]}, {os.cpu_count()} CPUs, PyTorch {torch}, {self.data['machine']['date']}\n")
        return torch

    def save(self):
        if self.failed:
            self.say("Not shown: " + "; ".join(f"{name} ({why})" for name, why in self.failed.items()))
        self.data["failed"] = self.failed
        out = self.options.out or self.work
        os.makedirs(out, exist_ok=True)
        with open(os.path.join(out, "gpu-bench.md"), "w", encoding="utf-8") as file:
            file.write("\n".join(self.lines) + "\n")
        with open(os.path.join(out, "gpu-bench.json"), "w", encoding="utf-8") as file:
            json.dump(self.data, file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help="loads launches graph memory values comm series stalls monitor samples nccl (two GPUs)")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sonde", default=os.path.join(ROOT, "build", "bin", "sonde"))
    parser.add_argument("--work", default=os.path.join(ROOT, "build", "bench-gpu"))
    parser.add_argument("--out", default=os.environ.get("OUT"))
    parser.add_argument("--budget", type=float, help="seconds (default 470, with --quick 115)")
    parser.add_argument("--cpus", help="processors to stay on, as 4,5,6 (default: all)")
    options = parser.parse_args()
    if options.cpus:
        os.sched_setaffinity(0, {int(n) for n in options.cpus.split(",")})
    sections = options.sections or list(USUAL)
    for name in sections:
        if name not in SHARES:
            parser.error(f"there is no section {name}")
    begin, bench = time.monotonic(), Bench(options)
    bench.build()
    try:
        torch = bench.machine()
        for name in {"loads", "samples"} & set(sections) if not torch else ():
            bench.failed[name] = f"{bench.python} has no PyTorch"
            sections.remove(name)
        left = (options.budget or (115 if options.quick else 470)) - (time.monotonic() - begin)
        for number, name in enumerate(sections):
            at, share = time.monotonic(), SHARES[name] / sum(SHARES[s] for s in sections[number:])
            getattr(bench, name)(left * share)
            left = max(0, left - (time.monotonic() - at))
    finally:
        bench.save()
    return 0


if __name__ == "__main__":
    sys.exit(main())
