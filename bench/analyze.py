#!/usr/bin/env python3
"""How fast measurements are read, and what is computed from them; beside other readers of the same data.

    bench/analyze.py [SECTION ...] [--build DIR] [--rounds N] [--sizes N,N,N] [--full] [--out FILE]

    scale     summary, profile and blame of made-up measurements (tests/synth) of growing size
    symbols   the functions of a program with 100 MB of debug information
    ranks     the same of jobs: each rank has 100,000 operations, and sends messages; 1,000 ranks where that fits
    open      opening the largest of these jobs and reading one rank of it, from the disk
    team      such jobs read by several processes (`mpirun sonde report`), each with one thread: the same job, and one that grows with them
    diff      `sonde diff` of two such measurements
    peers     the same questions to pandas and to Perfetto's trace processor, where they are installed

The conventions of run.py hold: a round runs every variant once, in random
order; printed are medians over the rounds with their range. CPU seconds are
user and system time of the whole command, memory its largest resident set as
the kernel counts it, pages of the files it reads included. Rates are per core:
operations by CPU seconds, whatever the number of threads.

--full adds 100 million operations (a minute to make, 1 GB of disk); without it
they are made where 4 GB of disk are free. Whole: less than 20 minutes.
"""
import argparse, csv, importlib.util, json, os, random, shutil, statistics, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import dwarf

lines = []
# A program with as many queues as a large one has, that computes between its batches; its queues and threads are
# those of all processes together.
LIKE_A_PROGRAM = ["--depth", "24", "--paths", "64", "--cpu", "199", "--waits", "50", "--compute", "200000"]
LAYOUTS = {  # processes, queues, threads, devices
    "one process, 8 devices, 16 threads": (1, 1000, 16, 8),
    "8 processes, each with a device and 2 threads": (8, 125, 2, 1),
    "one process, one device, 4 threads": (1, 1000, 4, 1),
}
HARDEST = "one process, 8 devices, 16 threads"
EASIEST = "one process, one device, 4 threads"
HUNDRED_MILLION = 100_000_000
RANK = 100_000  # operations of a rank


def say(text=""):
    print(text, flush=True)
    lines.append(text)


class Cost:
    """What a command took."""
    def __init__(self, command, env=None, cwd=None, given=b""):
        begin = time.monotonic()
        child = subprocess.Popen(command, env=dict(os.environ, **(env or {})), cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE)
        child.stdin.write(given)
        child.stdin.close()
        error = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        child.stderr.close()
        if child.returncode != 0:
            sys.exit(f"bench: {' '.join(command)} failed with status {child.returncode}: {error.decode()[-500:]}")
        self.wall = time.monotonic() - begin
        self.cpu = usage.ru_utime + usage.ru_stime
        self.megabytes = usage.ru_maxrss / 1024
        self.read = usage.ru_inblock * 512 / 1e6  # megabytes, from the disk


def median(costs, what):
    return statistics.median(getattr(c, what) for c in costs)


def spread(values):
    return f"{statistics.median(values):8.2f}  [{min(values):.2f}, {max(values):.2f}]"


def paired(variants, rounds):
    """variants: {name: function() -> result}. {name: results}, each round in random order."""
    results = {name: [] for name in variants}
    for _ in range(rounds):
        for name in random.sample(list(variants), len(variants)):
            results[name].append(variants[name]())
    return results


def uncache(path):
    """Out of the page cache, as far as the kernel follows the advice."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Analyze:
    def __init__(self, build, rounds, sizes):
        self.build, self.rounds, self.sizes = build, rounds, sizes
        self.sonde = f"{build}/bin/sonde"
        self.work = tempfile.mkdtemp(prefix="bench-", dir=build)
        os.environ.setdefault("POCL_CACHE_DIR", f"{build}/bench/pocl-cache")
        os.makedirs(os.environ["POCL_CACHE_DIR"], exist_ok=True)
        self.made = {}

    def close(self):
        shutil.rmtree(self.work, ignore_errors=True)

    # ---- scale -------------------------------------------------------------------

    def make(self, operations, layout=HARDEST, seed=1):
        """The measurement of so many operations; made once."""
        if (operations, layout, seed) not in self.made:
            path = f"{self.work}/{len(self.made)}.sonde"
            processes, lanes, threads, devices = LAYOUTS[layout]
            cost = Cost([f"{self.build}/tests/sonde-synth", "--operations", str(operations // processes), "--processes", str(processes),
                         "--lanes", str(lanes), "--threads", str(threads), "--devices", str(devices), "--seed", str(seed), *LIKE_A_PROGRAM, path])
            size = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)
            self.made[operations, layout, seed] = path
            say(f"  made {operations:>11,} operations: {size / operations:.2f} bytes each, {cost.wall:.1f} s, {cost.megabytes:.0f} MB of memory")
        return self.made[operations, layout, seed]

    def views(self):
        known = subprocess.run([self.sonde, "help", "report"], stdout=subprocess.PIPE, text=True, check=True).stdout
        wanted = ["summary", "profile", "blame", "lanes"]
        there = [view for view in wanted if f"\n{view}:" in known]
        for view in wanted:
            if view not in there:
                say(f"  {view}: left out, this build has no such view")
        return there

    def scale(self):
        say("Reading and computing: tests/synth with 1,000 queue lanes, threads with samples and waits, contexts 24 deep")
        views = self.views()
        for layout in LAYOUTS:
            say(f" {layout}")
            sizes = self.sizes if layout == HARDEST else self.sizes[-2:] if layout == EASIEST else \
                [size for size in self.sizes if size < HUNDRED_MILLION][-1:]
            self.scale_layout(layout, sizes, views)

    def scale_layout(self, layout, sizes, views):
        variants = {}
        for size in sizes:
            path = self.make(size, layout)
            for view in views:
                variants[size, view] = lambda path=path, view=view: Cost([self.sonde, "report", path, view])
        results = paired(variants, self.rounds)
        say(f"  {'operations':>11}  {'view':22} {'CPU s':>8}  [least, most]   {'M op/s per core':>15}  {'wall s':>7}  {'MB':>6}")
        for size in sizes:
            for view in views:
                self.row(size, view, results[size, view])
            both = [sum_of(costs) for costs in zip(results[size, "summary"], results[size, "profile"])]
            self.row(size, "summary + profile", both)  # the summary has the blame in it, and advice where it looks at all rows
        for view in views if len(sizes) > 1 else []:
            say(f"  growth of {view}, CPU ns per operation: " +
                ", ".join(f"{median(results[size, view], 'cpu') / size * 1e9:.1f} at {size:,}" for size in sizes))

    def row(self, size, name, costs):
        say(f"  {size:>11,}  {name:22} {spread([c.cpu for c in costs]):>24}  {size / median(costs, 'cpu') / 1e6:13.1f}"
            f"  {median(costs, 'wall'):7.2f}  {max(c.megabytes for c in costs):6.0f}")

    # ---- ranks ---------------------------------------------------------------------

    def make_job(self, ranks, messages=False):
        """With messages: 500 steps, each with a halo exchange and an all-reduce, which one rank comes to 2 ms late; 8 ranks on a host."""
        path = f"{self.work}/job{ranks}{'m' * messages}.sonde"
        if os.path.exists(path):
            return path
        more = ["--messages", "100", "--late", "2000000", "--hosts", str((ranks + 7) // 8)] if messages else ["--compute", "200000"]
        cost = Cost([f"{self.build}/tests/sonde-synth", "--ranks", "--processes", str(ranks), "--operations", str(RANK), "--lanes", "8", "--threads", "2",
                     "--depth", "24", "--paths", "16", "--cpu", "199", *more, path])
        size = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)
        say(f"  made {ranks:>5,} ranks: {size / 1e6:.0f} MB, {cost.wall:.1f} s")
        return path

    def jobs(self):
        return [ranks for ranks in (10, 100, 1000) if ranks * RANK <= max(self.sizes)]

    def ranks(self):
        say(f"Ranks of a job: {RANK:,} operations each, 8 queues, 2 threads with samples, the same contexts in all; 3,500 rows of MPI's calls each, 8 ranks on a host")
        views, variants = ["profile", "ranks", "messages", "summary", "critical"], {}
        for ranks in self.jobs():
            path = self.make_job(ranks, messages=True)
            for view in views:
                variants[ranks, view] = lambda path=path, view=view: Cost([self.sonde, "report", path, view])
        results = paired(variants, self.rounds)
        say(f"  {'ranks':>6}  {'view':10} {'CPU s':>8}  [least, most]   {'ms per rank':>11}  {'wall s':>7}  {'MB':>6}")
        for (ranks, view), costs in results.items():
            say(f"  {ranks:>6,}  {view:10} {spread([c.cpu for c in costs]):>24}  {median(costs, 'cpu') / ranks * 1e3:11.2f}  {median(costs, 'wall'):7.2f}  {max(c.megabytes for c in costs):6.0f}")

    # ---- opening -----------------------------------------------------------------------------

    def cold(self, path, command, given=b"", **more):
        for folder, _, names in os.walk(path):
            for name in names:
                uncache(os.path.join(folder, name))
        return Cost(command, given=given, **more)

    def open(self):
        ranks = max(self.jobs())
        say(f"Opening {ranks:,} ranks, whose files are out of the page cache; one host, and several whose clocks the messages align")
        env = {"PYTHONPATH": os.path.join(os.path.dirname(HERE), "python"), "SONDE_PREFIX": self.build}
        python = {
            "python alone": "import sonde",
            "sonde.open": "import sonde; sonde.open({path!r})",
            "and times of a rank's operations": "import sonde; sonde.open({path!r}).operations(['start_ns', 'end_ns'], process=7)",
            "and their names": "import sonde; sonde.open({path!r}).operations(['name', 'start_ns', 'end_ns'], process=7)",
        }
        requests = ["run", "overview", "timeline?lanes=7:1,7:2,7:3,7:4"]
        asked = b"".join(b"%d\n%s" % (len(request), request.encode()) for request in requests)
        variants = {}
        for messages in (False, True):
            path = self.make_job(ranks, messages)
            for name, code in python.items():
                variants[messages, name] = lambda path=path, code=code: self.cold(path, [sys.executable, "-c", code.format(path=path)], env=env)
            variants[messages, "the viewer, to a rank's time line"] = lambda path=path: self.cold(path, [f"{self.build}/tests/sonde-ask", path], given=asked)
            variants[messages, "sonde report profile"] = lambda path=path: self.cold(path, [self.sonde, "report", path, "profile"])
        results = paired(variants, self.rounds)
        say(f"  {'hosts':7}  {'':34} {'wall s':>8}  [least, most]   {'CPU s':>6}  {'MB':>6}  {'MB read':>8}")
        for (messages, name), costs in results.items():
            say(f"  {'several' if messages else 'one':7}  {name:34} {spread([c.wall for c in costs]):>24}  {median(costs, 'cpu'):6.2f}  {max(c.megabytes for c in costs):6.0f}  {median(costs, 'read'):8.1f}")

    # ---- several processes ----------------------------------------------------------------

    def team(self):
        if not shutil.which("mpirun"):
            return say("mpirun sonde report: skipped, there is no mpirun")
        cores = len(os.sched_getaffinity(0))
        sizes = [size for size in (1, 2, 4, 8, 16, 32, 64) if size <= cores]
        each = min(100, 1000 // sizes[-1])  # of fewer than 100 a summary gives advice, too
        most = each * sizes[-1]
        say(f"mpirun sonde report: {cores} processors, each process with one thread; {most:,} ranks in all, or {each} for each process")
        env = {"SONDE_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        jobs = {ranks: self.make_job(ranks) for ranks in sorted({most, *(each * size for size in sizes)})}
        variants = {}
        for view in ("profile", "summary", "critical"):
            for size in sizes:
                for name, ranks in ("one job", most), ("growing", each * size):
                    command = ["mpirun", "-n", str(size), self.sonde, "report", jobs[ranks], view]
                    variants[view, name, size, ranks] = lambda command=command: Cost(command, env=env)
        results = paired(variants, self.rounds)
        say(f"  {'view':10} {'job':8} {'processes':>9}  {'ranks':>6}  {'wall s':>8}  [least, most]   {'times the speed':>15}  {'CPU s':>7}  {'MB each':>7}")
        for (view, name, size, ranks), costs in results.items():
            first = next(value for key, value in results.items() if key[:3] == (view, name, 1))
            speed = median(first, "wall") / median(costs, "wall") * ranks / (most if name == "one job" else each)
            say(f"  {view:10} {name:8} {size:9}  {ranks:6,}  {spread([c.wall for c in costs]):>24}  {speed:15.2f}  {median(costs, 'cpu'):7.1f}  {max(c.megabytes for c in costs):7.0f}")

    # ---- diff ------------------------------------------------------------------------

    def diff(self):
        say("sonde diff: two measurements of a program, one run a side, which reads both traces; and one against two runs")
        variants = {}
        for size in (size for size in self.sizes if size < HUNDRED_MILLION):
            a, b, c = (self.make(size, seed=seed) for seed in (1, 2, 3))
            variants[size, "one and one"] = lambda a=a, b=b: Cost([self.sonde, "diff", a, b])
            variants[size, "one and two"] = lambda a=a, b=b, c=c: Cost([self.sonde, "diff", a, f"{b},{c}"])
        results = paired(variants, self.rounds)
        say(f"  {'each':>11}  {'runs':22} {'CPU s':>8}  [least, most]   {'M op/s per core':>15}  {'wall s':>7}  {'MB':>6}")
        for (size, name), costs in results.items():
            self.row(size, name, costs)

    # ---- symbols -------------------------------------------------------------------

    def record(self, program):
        uncache(program)
        out = f"{self.work}/symbols.sonde"
        cost = Cost([self.sonde, "record", "-q", "--force", "-o", out, "--", program, "20"])
        with open(f"{out}/manifest.json") as manifest:
            times = json.load(manifest)
        cost.after = cost.wall - (times["end_ns"] - times["start_ns"]) * 1e-9
        return cost

    def symbols(self):
        about = dwarf.build(f"{self.build}/bench/dwarf", 100, 1000)
        program = about["program"]
        say(f"Symbols: a program with {about['debug_bytes'] / 1e6:.0f} MB of DWARF in {about['units']:,} compilation units with "
            f"{about['functions']:,} functions, of which 20 units occur")
        stripped = f"{self.work}/stripped"
        subprocess.run(["strip", "-g", "-o", stripped, program], check=True)
        compressed = f"{self.work}/compressed"
        subprocess.run(["objcopy", "--compress-debug-sections=zlib", program, compressed], check=True)
        programs = {"without DWARF": stripped, "with": program, "compressed (zlib)": compressed}
        results = paired({name: lambda path=path: self.record(path) for name, path in programs.items()}, self.rounds)
        for name, costs in results.items():
            say(f"  {name:18} all of record but the program {spread([c.after for c in costs])} s, CPU {median(costs, 'cpu'):.2f} s, {max(c.megabytes for c in costs):.0f} MB")
        extra = [a.after - b.after for a, b in zip(results["with"], results["without DWARF"])]
        say(f"  so symbols took {spread(extra)} s, with the file out of the page cache")
        self.record(program)
        report = subprocess.run([self.sonde, "report", f"{self.work}/symbols.sonde", "contexts", "--json"],
                                stdout=subprocess.PIPE, text=True, check=True).stdout
        found = sum(f'"entry_{unit:06d}' in report for unit in range(0, about["units"], about["units"] // 20))
        say(f"  {found} of the 20 functions are named in the report")
        if found != 20:
            sys.exit("bench: symbols are missing")

    # ---- peers ----------------------------------------------------------------------

    def peers(self):
        size = min(self.sizes)
        say(f"The same questions to others, {size:,} operations: kernels with count, sum, mean and 95th percentile; busy and idle time of each queue")
        path = self.make(size)
        table, trace, chrome = f"{self.work}/peer.csv", f"{self.work}/peer.perfetto-trace", f"{self.work}/peer.json"
        variants = {"sonde report kernels": lambda: Cost([self.sonde, "report", path, "kernels"]),
                    "sonde report lanes": lambda: Cost([self.sonde, "report", path, "lanes"])}
        python = [sys.executable, f"{HERE}/peers.py"]
        if importlib.util.find_spec("pandas"):
            Cost([self.sonde, "export", "-q", path, "--to", "csv", "-o", table])
            chrome_trace(table, chrome)
            variants["pandas, CSV"] = lambda: Cost([*python, "csv", table])
            variants["pandas, Chrome JSON"] = lambda: Cost([*python, "chrome", chrome])
        else:
            say("  pandas: left out, not installed (pip install pandas)")
        why = no_trace_processor()
        if why:
            say(f"  Perfetto's trace processor: left out, {why}")
        else:
            Cost([self.sonde, "export", "-q", path, "--to", "perfetto", "-o", trace])
            variants["trace_processor"] = lambda: Cost([*python, "perfetto", trace])
        if not shutil.which("otf2-print"):
            say("  OTF2's readers: left out, Sonde writes no OTF2 yet")
        results = paired(variants, self.rounds)
        both = [sum_of(costs) for costs in zip(results["sonde report kernels"], results["sonde report lanes"])]
        results["sonde, both"] = both
        for name, costs in results.items():
            ratios = [c.cpu / b.cpu for c, b in zip(costs, both)]
            say(f"  {name:22} CPU {median(costs, 'cpu'):7.2f} s   {spread(ratios)} of Sonde's   wall {median(costs, 'wall'):6.2f} s   {max(c.megabytes for c in costs):6.0f} MB")


def sum_of(costs):
    total = Cost.__new__(Cost)
    total.wall, total.cpu = sum(c.wall for c in costs), sum(c.cpu for c in costs)
    total.megabytes = max(c.megabytes for c in costs)
    return total


def chrome_trace(table, path):
    """The operations as complete events of Chrome's format, which Perfetto and HTA read."""
    with open(table, newline="") as rows, open(path, "w") as out:
        out.write('{"traceEvents":[\n')
        for i, row in enumerate(csv.DictReader(rows)):
            json.dump({"ph": "X", "name": row["name"], "cat": row["kind"], "pid": row["pid"], "tid": int(row["lane"]),
                       "ts": int(row["start_ns"]) / 1e3, "dur": int(row["duration_ns"]) / 1e3,
                       "args": {"correlation": int(row["correlation"]), "bytes": int(row["bytes"] or 0)}}, out)
            out.write(",\n")
        out.write("{}]}\n")


def no_trace_processor():
    """Why Perfetto's trace processor cannot be asked; None when it can."""
    if not importlib.util.find_spec("perfetto"):
        return "not installed (pip install perfetto)"
    code = "from perfetto.trace_processor import TraceProcessor; TraceProcessor().close()"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    return "its program cannot be fetched here" if done.returncode else None


def default_sizes(build, full=False):
    room = os.statvfs(build)
    return [1_000_000, 10_000_000] + [HUNDRED_MILLION] * (full or room.f_bavail * room.f_frsize >= 4 << 30)


def main():
    sections = ["scale", "ranks", "open", "team", "diff", "symbols", "peers"]
    parser = argparse.ArgumentParser(description="reading and computing, in figures")
    parser.add_argument("sections", nargs="*", choices=[*sections, []], default=[])
    parser.add_argument("--build", default=os.path.join(os.path.dirname(HERE), "build"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", help="operations, with commas (default 1000000,10000000 and the largest)")
    parser.add_argument("--full", action="store_true", help="with 100 million operations")
    parser.add_argument("--out", help="also write the table to this file")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    sizes = [int(size) for size in args.sizes.split(",")] if args.sizes else default_sizes(build, args.full)
    bench = Analyze(build, args.rounds, sorted(sizes))
    try:
        for section in args.sections or sections:
            getattr(bench, section)()
            say()
    finally:
        bench.close()
    if args.out:
        with open(args.out, "w") as out:
            out.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
