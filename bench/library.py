#!/usr/bin/env python3
"""How fast a measurement becomes data frames (docs/performance.md, "As data frames"): `import sonde` with 10 million operations.

    bench/library.py [--build DIR] [--rounds N] [--operations N] [--out FILE]

Beside it, in the same process and on as many threads: what it takes to fill and copy as much memory with NumPy, and, of a hundredth of
the operations, what pandas takes for the export csv. Python is that of the tests (BUILD/venv).
"""
import argparse, os, shutil, statistics, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
lines = []

MEASURE = """
import resource, sys, time
import numpy, pandas, pyarrow
import sonde
path, small, csv, rounds = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])

def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime

def measure(name, work):
    for _ in range(rounds):
        begin, cpu = time.monotonic(), used()
        kept = work()
        print(name, time.monotonic() - begin, used() - cpu, sep="\\t")
        del kept

m = sonde.open(path)
table = m.operations()
size = sum(column.memory_usage(deep=False) for _, column in table.pandas().items())
blocks = [numpy.empty(10_000_000, dtype=numpy.int64) for _ in range(size // 80_000_000)]
measure("open", lambda: sonde.open(path))
measure("operations() into pandas", lambda: m.operations().pandas())
measure("name and duration_ns into pandas", lambda: m.operations(["name", "duration_ns"]).pandas())
measure("all columns into pandas", lambda: m.operations([c.name for c in sonde.columns("operations")]).pandas())
measure("operations() into pyarrow", lambda: m.operations().arrow())
measure("calls() into pandas", lambda: m.calls().pandas())
measure("a copy of as much memory by NumPy", lambda: [block.copy() for block in blocks])
measure("a hundredth, from the library", lambda: sonde.open(small).operations().pandas())
measure("a hundredth, from the export csv", lambda: pandas.read_csv(csv))
"""


def say(text=""):
    print(text, flush=True)
    lines.append(text)


def spread(values):
    return f"{statistics.median(values):7.3f} [{min(values):.3f}, {max(values):.3f}]"


def run(build, rounds, operations):
    work = tempfile.mkdtemp(prefix="bench-", dir=build)
    python = f"{build}/venv/bin/python3"
    try:
        for name, count in (("large", operations), ("small", operations // 100)):
            subprocess.run([f"{build}/tests/sonde-synth", "--operations", str(count), "--lanes", "8", "--threads", "2", f"{work}/{name}.sonde"],
                           stdout=subprocess.DEVNULL, check=True)
        subprocess.run([f"{build}/bin/sonde", "export", "-q", f"{work}/small.sonde", "--to", "csv", "-o", f"{work}/small.csv"], check=True)
        env = {**os.environ, "SONDE_PREFIX": build, "PYTHONPATH": os.path.join(os.path.dirname(HERE), "python")}
        done = subprocess.run([python, "-c", MEASURE, f"{work}/large.sonde", f"{work}/small.sonde", f"{work}/small.csv", str(rounds)],
                              env=env, stdout=subprocess.PIPE, text=True, check=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    found = {}
    for line in done.stdout.splitlines():
        name, wall, cpu = line.split("\t")
        found.setdefault(name, ([], []))
        found[name][0].append(float(wall))
        found[name][1].append(float(cpu))
    say(f"{operations:,} operations as data frames, {len(os.sched_getaffinity(0))} processors: seconds by the clock, and of CPU time, median of {rounds} [least, most]")
    for name, (wall, cpu) in found.items():
        say(f"  {name:36} {spread(wall):28} {spread(cpu)}")


def main():
    parser = argparse.ArgumentParser(description="how fast a measurement becomes data frames")
    parser.add_argument("--build", default=os.path.join(os.path.dirname(HERE), "build"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--operations", type=int, default=10_000_000)
    parser.add_argument("--out")
    args = parser.parse_args()
    run(os.path.abspath(args.build), args.rounds, args.operations)
    if args.out:
        with open(args.out, "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
