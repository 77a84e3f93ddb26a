#!/usr/bin/env python3
"""The figures of docs/performance.md, as ratios from paired runs.

    bench/run.py [SECTION ...] [--rounds N] [--build DIR] [--large] [--out FILE]

A round runs every variant once, in random order, so that a machine whose speed
drifts hurts all alike; a ratio is taken within its round. Printed: the median
ratio with the 95 % interval of the median (bootstrap over rounds).

SONDE_BENCH_INTERCEPT may name a folder with the libOpenCL.so of
opencl-intercept-layer; without it its rows are left out, and said so.
"""
import argparse, json, os, random, re, shutil, statistics, subprocess, sys, tempfile, time, urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import analyze, exports, library, nodes, viewer

lines = []


def say(text=""):
    print(text, flush=True)
    lines.append(text)


def interval(values):
    """95 % interval of the median, by bootstrap."""
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(2000))
    return medians[50], medians[1949]


def run(command, env=None, cwd=None):
    full = dict(os.environ, **(env or {}))
    done = subprocess.run(command, env=full, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(command)} failed with status {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


class Server:
    """A program that does so much work for each line, and says what it took."""

    def __init__(self, command):
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def block(self, work):
        self.child.stdin.write(f"{work}\n")
        self.child.stdin.flush()
        return float(self.child.stdout.readline())

    def end(self):
        self.child.stdin.close()
        if self.child.wait() != 0:
            sys.exit(f"bench: a recorded program ended with status {self.child.returncode}")


class Bench:
    def __init__(self, build, rounds, large):
        self.build, self.rounds, self.large = build, rounds, large
        self.sonde = f"{build}/bin/sonde"
        self.work = tempfile.mkdtemp(prefix="bench-", dir=build)
        os.environ.setdefault("POCL_CACHE_DIR", f"{build}/bench/pocl-cache")
        os.makedirs(os.environ["POCL_CACHE_DIR"], exist_ok=True)

    def record(self, command, *options):
        out = f"{self.work}/m.sonde"
        return [self.sonde, "record", "-q", "--force", "-o", out, *options, "--", *command]

    def record_once(self, command, *options):
        run(self.record(command, *options))
        return f"{self.work}/m.sonde"

    def paired(self, variants, measure=None):
        """variants: {name: function() -> number}. {name: list of numbers}, round by round."""
        values = {name: [] for name in variants}
        for name in variants:
            variants[name]()  # caches warm
        for _ in range(self.rounds):
            order = list(variants)
            random.shuffle(order)
            for name in order:
                values[name].append(variants[name]())
        return values

    # ---- an empty kernel ------------------------------------------------------

    def enqueue_variants(self, args):
        empty = f"{self.build}/bench/bench-empty"
        floor = f"{self.build}/bench/libbench-floor.so"
        number = lambda command, env=None: float(run(command, env).split()[-1])
        variants = {
            "nothing": lambda: number([empty, *args]),
            "program enables profiling": lambda: number([empty, "--profiling", *args]),
            "minimal interceptor": lambda: number([empty, *args], {"OPENCL_LAYERS": floor}),
            "sonde --trace": lambda: number(self.record([empty, *args])),
            "sonde --profile": lambda: number(self.record([empty, *args], "--profile")),
        }
        intercept = os.environ.get("SONDE_BENCH_INTERCEPT")
        if intercept:
            base = {"LD_LIBRARY_PATH": intercept, "CLI_OpenCLFileName": "/usr/lib/x86_64-linux-gnu/libOpenCL.so.1",
                    "CLI_DevicePerformanceTiming": "1", "CLI_SuppressLogging": "1", "CLI_DumpDir": self.work}
            variants["intercept layer, device timing"] = lambda: number([empty, *args], base)
            variants["intercept layer, + Chrome trace"] = lambda: number(
                [empty, *args], dict(base, CLI_ChromePerformanceTiming="1", CLI_ChromeCallLogging="1"))
        return variants

    def enqueue(self):
        say("An empty kernel enqueued on PoCL (ratio of time per operation to nothing; last column: ns above the minimal interceptor)")
        for what, n, every in (("finish every 1,000", 100000, 1000), ("finish at the end", 100000, 100000), ("finish each", 20000, 1)):
            for depth in (5, 20):
                values = self.paired(self.enqueue_variants([str(n), str(every), str(depth)]))
                say(f"\n  {what}, call depth {depth}: nothing = {statistics.median(values['nothing']):,.0f} ns per operation, {self.rounds} rounds")
                for name in list(values)[1:]:
                    ratios = [a / b for a, b in zip(values[name], values["nothing"])]
                    above = statistics.median(a - b for a, b in zip(values[name], values["minimal interceptor"]))
                    low, high = interval(ratios)
                    say(f"    {name:34} {statistics.median(ratios):5.2f}  [{low:.2f}, {high:.2f}]  {above:+8.0f} ns")
        if not os.environ.get("SONDE_BENCH_INTERCEPT"):
            say("  opencl-intercept-layer: left out, SONDE_BENCH_INTERCEPT is not set")

    # ---- the parts ---------------------------------------------------------------

    def parts(self):
        say("The parts of a hook, without the runtime (bench/hook.c)")
        say(run([f"{self.build}/bench/bench-hook"], cwd=self.work).rstrip())
        say()
        say("Walking the native stack, beside libunwind (bench/unwind.c)")
        say(run([f"{self.build}/bench/bench-unwind"]).rstrip())

    def imitation(self):
        python = os.environ.get("SONDE_BENCH_PYTHON", sys.executable)
        for cold, pages in (("0", "0"), ("1024", "0"), ("2048", "2048")):
            say(f"Hooks in Python, and in PyTorch where {python} has it (SONDE_BENCH_PYTHON names another), "
                f"{cold} KB and {pages} pages written to before each call (bench/imitation.py)")
            say(run([python, os.path.join(HERE, "imitation.py"), "--rounds", str(min(self.rounds, 3)), "--cold", cold, "--pages", pages,
                     self.build]).rstrip())

    # ---- samples -------------------------------------------------------------------

    def samples(self):
        blocks = 8 * self.rounds
        say(f"The kernel's part of a sample, without Sonde: an empty handler at 199 Hz (bench/signals.c), CPU time, {blocks} blocks")
        for what, work in (("work in user mode", ("spin", "50000000")), ("two threads take turns", ("pass", "5000"))):
            found = {}
            for line in run([f"{self.build}/bench/bench-signals", work[0], str(blocks), work[1]]).splitlines():
                name, _, numbers = line.partition(":")
                found[name] = [int(n) / 1e9 for n in numbers.split()]
            self.against(what, "nothing", found)
        say()
        say("A wait that is over at once, beside libc's own function (bench/waits.c), CPU time")
        say(run(self.record([f"{self.build}/bench/bench-waits"])).rstrip())
        say()
        say(f"Samples of the CPU side: fixed work at depth 20 (bench/cpu.c, bench/cpu.py), CPU time, {self.rounds} times 8 blocks")
        for what, command in (("C", [f"{self.build}/bench/bench-cpu"]), ("Python", ["/usr/bin/python3", os.path.join(HERE, "cpu.py")])):
            found = {f"--cpu {rate}": [] for rate in (0, 199, 1990)}
            for _ in range(self.rounds):  # new processes: where their memory lies makes some of them slower than others
                for name, seconds in self.in_turns(command, list(found), 1000, 8).items():
                    found[name].append(statistics.median(seconds))
            more = {}
            for name in list(found)[1:]:
                cpu = json.loads(run([self.sonde, "report", f"{self.work}/{name[2:]}.sonde", "ledger", "--json"]))["cpu"]
                more[name] = f"by {cpu['sampling']}, handler {cpu['handler_ns'] / max(cpu['samples'], 1) / 1e3:.1f} µs a sample"
            self.against(what, "--cpu 0", found, more)

    def counters(self):
        say(f"Counters of the CPU: fixed work at depth 20 (bench/cpu.c), CPU time, {self.rounds} times 8 blocks, beside a recording without them")
        for what, command, work, lists in (("user mode", [], 1000, ("default",)),
                                           ("page faults, two threads", ["faults"], 20, ("default", "minor-faults@100", "minor-faults@10", "minor-faults@1"))):
            found = {option: [] for option in ["--cpu 199", *(f"--cpu-counters {list}" for list in lists)]}
            for _ in range(self.rounds):
                for name, seconds in self.in_turns([f"{self.build}/bench/bench-cpu", *command], list(found), work, 8).items():
                    found[name].append(statistics.median(seconds))
            more = {}
            for name in list(found)[1:]:
                path = f"{self.work}/{name[2:]}.sonde"
                cpu = json.loads(run([self.sonde, "report", path, "ledger", "--json"]))["cpu"]
                rows = json.loads(run([self.sonde, "report", path, "counters", "--json"]))["cpu"]
                more[name] = f"{sum(row['samples'] for row in rows)} samples of {sum(row['count'] for row in rows)}, handler {cpu['handler_ns'] / 1e6:.0f} ms"
            self.against(what, "--cpu 199", found, more)

    def in_turns(self, command, options, work, blocks):
        """Seconds of each block under each option, of one process each, of which one at a time works."""
        servers = {o: Server([w.replace("m.sonde", f"{o[2:]}.sonde") for w in self.record(command, *o.split())]) for o in options}
        seconds = {o: [] for o in options}
        for block in range(-2, blocks):  # two for the agent to see the thread, and for new places
            for o in random.sample(options, len(options)):
                took = servers[o].block(work)
                if block >= 0:
                    seconds[o].append(took)
        for server in servers.values():
            server.end()
        return seconds

    @staticmethod
    def against(what, base, values, more=None):
        """Ratios to `base`, pair by pair; and of the lowest, which other programs disturb least."""
        say(f"  {what}: {base} = {statistics.median(values[base]) * 1e3:.1f} ms a block")
        for name in values:
            if name != base:
                ratios = [a / b for a, b in zip(values[name], values[base])]
                low, high = interval(ratios)
                say(f"    {name:16} median {statistics.median(ratios):.4f} [{low:.4f}, {high:.4f}]   "
                    f"lowest {min(values[name]) / min(values[base]):.4f}   {(more or {}).get(name, '')}".rstrip())

    # ---- own cost as the ledger says it ---------------------------------------------

    def own(self):
        say("Own time: the ledger's figure for hooks on the program's threads, and the same from outside (clFlush on an idle queue)")
        calls = f"{self.build}/bench/bench-calls"
        for depth in ("5", "20", "100"):
            inside = []

            def recorded():
                outside = float(run(self.record([calls, "1000000", depth], "--profile")))
                ledger = json.loads(subprocess.run([self.sonde, "report", f"{self.work}/m.sonde", "ledger", "--json"],
                                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout)
                inside.append(ledger["hook_ns"] / ledger["api_calls"])
                return outside
            values = self.paired({"nothing": lambda: float(run([calls, "1000000", depth])), "sonde": recorded})
            outside = statistics.median(a - b for a, b in zip(values["sonde"], values["nothing"]))
            ledger = statistics.median(inside)
            say(f"  depth {depth:>3}: ledger {ledger:6.1f} ns per call, from outside {outside:6.1f} ns: {ledger / outside:.2f}")
        light = [self.sonde, "record", "--light", "-o", f"{self.work}/announced", "--", calls, "1000000", "20"]
        values = self.paired({"nothing": lambda: float(run([calls, "1000000", "20"])), "light": lambda: float(run(light))})
        differences = [a - b for a, b in zip(values["light"], values["nothing"])]
        say("  --light, depth 20: from outside %.1f ns per call [%.1f, %.1f]" % (statistics.median(differences), *interval(differences)))

    def monitor(self):
        """CPU time of a look at eight programs that are there and rest, by the monitor's own count."""
        folder, programs = f"{self.work}/watched", []
        for _ in range(8):
            programs.append(Server([self.sonde, "record", "--light", "-o", folder, "--", f"{self.build}/bench/bench-cpu"]))
            programs[-1].block(1)
        server = subprocess.Popen([self.sonde, "monitor", "--listen", "127.0.0.1:0", "--interval", "100ms", "--folder", folder],
                                  stdout=subprocess.PIPE, text=True)
        url, figures = server.stdout.readline().strip(), []
        for _ in range(2 * self.rounds):
            time.sleep(1)
            with urllib.request.urlopen(url) as answer:
                text = answer.read().decode()
            figures.append([float(re.search(rf"^sonde_monitor_{name}_total (\S+)", text, re.M)[1]) for name in ("looks", "cpu_seconds")])
        seen = len(set(re.findall(r'^sonde_agent_running\{process="([^"]*)"', text, re.M)))
        for child in (server, *(program.child for program in programs)):
            child.terminate()
            child.wait()
        each = [(after[1] - before[1]) / (after[0] - before[0]) * 1e3 for before, after in zip(figures, figures[1:])]
        say(f"sonde monitor looks at {seen} programs: {statistics.median(each):.2f} ms of CPU time a look "
            "[%.2f, %.2f]" % interval(each))

    def nodes(self):
        """What 1,000 monitors cost the Prometheus that scrapes them: bench/nodes.py, which also runs alone."""
        nodes.measure(self.build, 1000, 3, 15)
        lines.extend(nodes.lines)

    # ---- real programs ----------------------------------------------------------------

    def programs(self):
        say("Real programs (ratio of the program's wall time to nothing; what record does after the program ended is told apart)")
        programs = {
            "clpeak --kernel-latency": ["clpeak", "--kernel-latency"],
            "hashcat -b -m 1400": ["hashcat", "-b", "-m", "1400", "-D", "1", "--force"],
            "clblast_tuner_xaxpy": ["clblast_tuner_xaxpy", "-n", "262144"],
            "clblast_tuner_xdot": ["clblast_tuner_xdot", "-n", "65536"],
            "ffmpeg unsharp_opencl": ["ffmpeg", "-v", "error", "-init_hw_device", "opencl=ocl", "-filter_hw_device", "ocl", "-f", "lavfi",
                                      "-i", "testsrc=size=1280x720:rate=25:duration=6", "-vf",
                                      "format=yuv420p,hwupload,unsharp_opencl,hwdownload,format=yuv420p", "-f", "null", "-"],
            "heat 1024 400": [f"{self.build}/bin/examples/heat", "1024", "400"],
        }
        for name, command in programs.items():
            if not shutil.which(command[0]):
                say(f"  {name:28} left out: not installed")
                continue

            def plain():
                begin = time.monotonic()
                run(command, cwd=self.work)
                return time.monotonic() - begin
            whole = []

            def recorded():
                begin = time.monotonic()
                run(self.record(command), cwd=self.work)
                whole.append(time.monotonic() - begin)
                with open(f"{self.work}/m.sonde/manifest.json") as manifest:
                    times = json.load(manifest)
                return (times["end_ns"] - times["start_ns"]) * 1e-9
            values = self.paired({"nothing": plain, "sonde": recorded})
            ratios = [a / b for a, b in zip(values["sonde"], values["nothing"])]
            low, high = interval(ratios)
            after = statistics.median(w - v for w, v in zip(whole[1:], values["sonde"]))
            say(f"  {name:28} {statistics.median(ratios):5.3f}  [{low:.3f}, {high:.3f}]  of {statistics.median(values['nothing']):6.2f} s;"
                f" then {after * 1e3:4.0f} ms of symbols and sealing")

    # ---- short programs -----------------------------------------------------------------

    def short(self):
        """What a person at a terminal waits for: all of `sonde record`, start, symbols and sealing included."""
        say("Short programs (ratio of the wall time of all of sonde record to nothing; the goal is 1.10)")
        arrays = os.path.join(os.path.dirname(HERE), "tests/real/arrays.py")
        programs = {
            "clpeak --kernel-latency": ["clpeak", "--kernel-latency"],
            "clblast_tuner_xdot": ["clblast_tuner_xdot", "-n", "65536"],
            "heat 1024 400": [f"{self.build}/bin/examples/heat", "1024", "400"],
            "arrays.py (pyopencl)": ["/usr/bin/python3", arrays],
        }
        for name, command in programs.items():
            if not shutil.which(command[0]):
                say(f"  {name:28} left out: not installed")
                continue

            def timed(command):
                begin = time.monotonic()
                run(command, cwd=self.work)
                return time.monotonic() - begin
            values = self.paired({"nothing": lambda: timed(command), "sonde": lambda: timed(self.record(command)),
                                  "without samples": lambda: timed(self.record(command, "--cpu", "0"))})
            for variant in ("sonde", "without samples"):
                ratios = [a / b for a, b in zip(values[variant], values["nothing"])]
                more = statistics.median(a - b for a, b in zip(values[variant], values["nothing"]))
                low, high = interval(ratios)
                say(f"  {name:24} {variant:16} {statistics.median(ratios):5.3f}  [{low:.3f}, {high:.3f}]"
                    f"  of {statistics.median(values['nothing']):5.2f} s; {more * 1e3:+4.0f} ms")

    # ---- messages between ranks ------------------------------------------------------------

    def mpi(self):
        say("Small messages of two ranks (bench/mpi.c), ns above nothing for each message or call")
        os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        for library in ("openmpi", "mpich"):
            program = f"{self.build}/bench/bench-mpi.{library}"
            if not os.path.exists(program) or not shutil.which(f"mpirun.{library}"):
                say(f"  {library}: left out, it is not there")
                continue
            command = [f"mpirun.{library}", "-n", "2", program]
            ways = lambda command: {name: float(ns) for name, ns in map(str.split, run(command).splitlines())}
            values = self.paired({"nothing": lambda: ways(command), "sonde --cpu 0": lambda: ways(self.record(command, "--cpu", "0")),
                                  "sonde": lambda: ways(self.record(command))})
            for way in values["nothing"][0]:
                alone = statistics.median(row[way] for row in values["nothing"])
                row = []
                for name in list(values)[1:]:
                    above = [a[way] - b[way] for a, b in zip(values[name], values["nothing"])]
                    low, high = interval(above)
                    row.append(f"{name} {statistics.median(above):+.0f} [{low:+.0f}, {high:+.0f}]")
                say(f"  {library:8} {way:10} nothing {alone:7,.0f} ns   {'   '.join(row)}")

    # ---- lanes per tracing thread ---------------------------------------------------------

    def lanes(self):
        say("Contexts x queues, lanes per tracing thread (ratio of run time to 256 lanes per thread; hpctoolkit-gpu, figure 3)")
        program = f"{self.build}/bench/bench-queues"
        for contexts, queues in ((1, 20), (2, 40), (3, 80)):
            count = str(24000 // (contexts * queues))
            seconds = lambda n: float(run(self.record([program, str(contexts), str(queues), count], "--streams-per-thread", str(n))).split()[-1])
            values = self.paired({n: (lambda n=n: seconds(n)) for n in (1, 8, 64, 256, 1000)})
            row = []
            for n in (1, 8, 64, 1000):
                ratios = [a / b for a, b in zip(values[n], values[256])]
                low, high = interval(ratios)
                row.append(f"{n}: {statistics.median(ratios):.2f} [{low:.2f}, {high:.2f}]")
            say(f"  {contexts} x {queues:<3} " + "   ".join(row))

    # ---- size and reading ---------------------------------------------------------------------

    def size(self):
        say("Size on disk and reading, one million operations")
        empty = f"{self.build}/bench/bench-empty"
        run(self.record([empty, "1000000", "1000", "20"]))
        out = f"{self.work}/m.sonde"
        ledger = json.loads(run([self.sonde, "report", out, "ledger", "--json"]))
        say(f"  {ledger['bytes_on_disk'] / ledger['seen']:.2f} bytes per operation, contexts, API calls and symbols included ({ledger['seen']:,} operations)")
        for view in ("summary", "lanes"):
            times = []
            for _ in range(5):
                begin = time.monotonic()
                run([self.sonde, "report", out, view])
                times.append(time.monotonic() - begin)
            best = statistics.median(times)
            say(f"  report {view:8} {best * 1e3:8.1f} ms   {ledger['seen'] / best / 1e6:8.1f} million operations per second")

    def analyze(self):
        """Reading and computing: bench/analyze.py, which also runs alone."""
        bench = analyze.Analyze(self.build, min(self.rounds, 5), analyze.default_sizes(self.build))
        try:
            for section in (bench.scale, bench.diff, bench.symbols, bench.peers):
                section()
                analyze.say()
        finally:
            bench.close()
        lines.extend(analyze.lines)

    # ---- memory ------------------------------------------------------------------------------------

    def memory(self, seconds=600):
        say(f"Resident memory in profile mode, {seconds} s of empty kernels")
        empty = f"{self.build}/bench/bench-empty"
        child = subprocess.Popen(self.record([empty, str(10 ** 9), "1000", "20"], "--profile"), stdout=subprocess.DEVNULL, start_new_session=True)
        begin, seen = time.monotonic(), []
        while time.monotonic() - begin < seconds:
            time.sleep(seconds / 20)
            pids = run(["pgrep", "-x", "bench-empty"]).split()
            with open(f"/proc/{pids[0]}/status") as status:
                seen.append(int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)))
        os.killpg(child.pid, 15)
        child.wait()
        say("  kB at 20 equal steps: " + " ".join(f"{k:,}" for k in seen))
        say(f"  second half against first: {max(seen[10:]) / max(seen[1:10]):.3f}")


    # ---- values ----------------------------------------------------------------------

    def kernels(self, title, command, options):
        """Times of kernels by the runtime's clock, and the program's, × of those of `sonde record` alone, under each of the options: one list for each name."""
        say(f"{title}, × of their time under `sonde record` alone, median [95 %], {self.rounds} rounds")
        options = {"nothing": None, "sonde": [], **options}
        kernels, programs = {name: {} for name in options}, {name: [] for name in options}
        for turn in range(-1, self.rounds):  # the first fills the caches of compiled kernels
            for name in random.sample(list(options), len(options)):
                begin = time.monotonic()
                said = run(command if options[name] is None else self.record(command, *options[name]))
                took = time.monotonic() - begin
                if turn < 0:
                    continue
                programs[name].append(took)
                for line in said.splitlines():
                    kernel, ns = line.split()
                    kernels[name].setdefault(kernel, []).append(float(ns))
        for name in list(options)[2:]:
            middle = {}
            for kernel, ns in kernels[name].items():
                ratios = [a / b for a, b in zip(ns, kernels["sonde"][kernel])]
                middle[kernel] = statistics.median(ratios)
            ratios = [a / b for a, b in zip(programs[name], programs["nothing"])]
            low, high = interval(ratios)
            mean = statistics.geometric_mean(middle.values())
            say(f"    {name:22} kernels {mean:5.2f} ({', '.join(f'{k} {r:.2f}' for k, r in middle.items())}); program {statistics.median(ratios):.2f} [{low:.2f}, {high:.2f}]")
        quiet = {k: statistics.median(a / b for a, b in zip(ns, kernels["nothing"][k])) for k, ns in kernels["sonde"].items()}
        say(f"    {'without these':22} kernels {statistics.geometric_mean(quiet.values()):5.2f}, × of their time without Sonde")

    def values(self):
        self.kernels("Values: six kernels on PoCL (bench/values.c)", [f"{self.build}/bench/bench-values", "1048576", "40"],
                     {"--values=fine": ["--values=fine"], "--values-sample=1/20": ["--values=fine", "--values-sample=1/20"],
                      "--values-blocks=1/16": ["--values=fine", "--values-blocks=1/16"], "--values": ["--values"]})

    def comm(self):
        """All that kernels read is another device's, and then nothing."""
        options = {"--comm": ["--comm"], "--comm-sample=1/20": ["--comm", "--comm-sample=1/20"]}
        for memory, what in ("shared", "shared virtual memory of another device"), ("apart", "buffers"):
            self.kernels(f"Accesses to other memory: six kernels on PoCL, {what} (bench/values.c)",
                         [f"{self.build}/bench/bench-values", "1048576", "40", memory], options)


    # ---- the viewer --------------------------------------------------------------------

    def viewer(self):
        """Opening and moving in Chromium: bench/viewer.py, which also runs alone."""
        bench = viewer.Viewer(self.build, min(self.rounds, 5), self.large)
        try:
            bench.run()
        finally:
            bench.close()
        lines.extend(viewer.lines)

    def library(self):
        """Measurements as data frames: bench/library.py, which also runs alone."""
        library.run(self.build, min(self.rounds, 5), 10_000_000)
        lines.extend(library.lines)

    def exports(self):
        """Rates and sizes of every format: bench/exports.py, which also runs alone."""
        bench = exports.Exports(self.build, min(self.rounds, 5), 10_000_000)
        try:
            bench.run()
        finally:
            bench.close()
        lines.extend(exports.lines)

    def ranges(self):
        """Blame and statistics of selected ranges, one after the other as the page asks for them (bench/ranges.c)."""
        rounds = max(self.rounds, 5)
        say(f"Views of a selected range in one session, 1,000,000 operations on 1,000 queues of 8 devices, 16 threads: median of {rounds} [least, most]")
        layouts = {"call paths 24 deep, samples and waits": analyze.LIKE_A_PROGRAM, "call paths 2 deep, samples": ["--cpu", "199"]}
        for name, more in layouts.items():
            path = f"{self.work}/ranges.sonde"
            run([f"{self.build}/tests/sonde-synth", "--operations", "1000000", "--lanes", "1000", "--threads", "16", "--devices", "8", *more, path])
            say(f"  {name}")
            for view in ("blame", "statistics"):
                for line in run([f"{self.build}/bench/bench-ranges", path, view, str(rounds)]).splitlines():
                    say(f"    {line}")
            shutil.rmtree(path)


def machine():
    cpu = re.search(r"model name\s*:\s*(.*)", open("/proc/cpuinfo").read())
    return f"{os.cpu_count()} x {cpu.group(1) if cpu else 'unknown processor'}, Linux {os.uname().release}, {time.strftime('%Y-%m-%d')}"


def main():
    sections = ["enqueue", "parts", "imitation", "samples", "counters", "own", "monitor", "nodes", "programs", "short", "mpi", "lanes", "size", "analyze", "memory", "values", "comm", "viewer", "ranges", "library", "exports"]
    parser = argparse.ArgumentParser(description="the figures of docs/performance.md")
    parser.add_argument("sections", nargs="*", choices=[*sections, []], default=[])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--build", default=os.path.join(os.path.dirname(HERE), "build"))
    parser.add_argument("--large", action="store_true", help="viewer: with 100 million operations, too")
    parser.add_argument("--out", help="also write the table to this file")
    args = parser.parse_args()
    bench = Bench(os.path.abspath(args.build), args.rounds, args.large)
    say(machine())
    try:
        for section in args.sections or sections:
            say()
            getattr(bench, section)()
    finally:
        shutil.rmtree(bench.work, ignore_errors=True)
    if args.out:
        with open(args.out, "w") as out:
            out.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
