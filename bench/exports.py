#!/usr/bin/env python3
"""How fast measurements are exported, and how large the files are; SQLite and OTF2 beside the libraries alone (bench/libraries.c).

    bench/exports.py [--build DIR] [--rounds N] [--operations N] [--out FILE]

A made-up measurement (tests/synth): kernels and copies, an API call for each, 64 queues of 4 devices, 16 threads, no
samples. CPU seconds and memory as in analyze.py; rates are by CPU time. Parquet is written by the Python of build/venv, where
that has pyarrow.
"""
import argparse, json, os, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import analyze
from analyze import Cost, median, paired, spread

lines = []
LANES = 64
FORMATS = ["perfetto", "json", "csv", "sqlite", "chrome", "otf2", "tau", "speedscope", "pprof", "folded", "parquet"]


def say(text=""):
    print(text, flush=True)
    lines.append(text)


def size_of(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(path) for name in names)


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.unlink(path)


def find_python(build):
    """For Parquet. False: there is none with pyarrow."""
    python = f"{build}/venv/bin/python"
    os.environ.update(SONDE_EXPORT_PYTHON=python, SONDE_PREFIX=build, PYTHONPATH=os.path.join(os.path.dirname(HERE), "python"))
    return os.path.exists(python) and subprocess.run([python, "-c", "import pyarrow.parquet"], stderr=subprocess.DEVNULL).returncode == 0


class Exports:
    def __init__(self, build, rounds, operations):
        self.build, self.rounds, self.operations = build, rounds, operations
        self.work = tempfile.mkdtemp(prefix="bench-", dir=build)
        self.sizes = {}

    def close(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def cost(self, name, command, out):
        remove(out)
        cost = Cost(command)
        self.sizes[name] = size_of(out)
        remove(out)
        return cost

    def run(self):
        path = f"{self.work}/m.sonde"
        Cost([f"{self.build}/tests/sonde-synth", "--operations", str(self.operations), "--lanes", str(LANES), "--threads", "16",
              "--devices", "4", "--depth", "24", "--paths", "64", path])
        calls = subprocess.run([f"{self.build}/bin/sonde", "report", path, "api", "--json"], stdout=subprocess.PIPE, check=True).stdout
        calls = sum(row["count"] for row in json.loads(calls))
        variants = {}
        for name in FORMATS:
            if name == "parquet" and not find_python(self.build):
                say("  parquet: left out, build/venv has no pyarrow")
                continue
            out = f"{self.work}/out.{name}"
            variants[name] = lambda name=name, out=out: self.cost(name, [f"{self.build}/bin/sonde", "export", "-q", path, "--to", name, "-o", out], out)
        for name, more in (("sqlite", []), ("otf2", [str(LANES)])):
            alone, out = f"{name} alone", f"{self.work}/alone.{name}"
            variants[alone] = lambda alone=alone, name=name, more=more, out=out: self.cost(
                alone, [f"{self.build}/bench/bench-libraries", name, out, str(self.operations), str(calls), *more], out)
        results = paired(variants, self.rounds)
        say(f"Exports: {self.operations:,} operations and {calls:,} API calls on {LANES} queues and 16 threads, contexts 24 deep, median of {self.rounds}")
        say(f"  {'format':14} {'CPU s':>8}  [least, most]   {'M op/s':>7}  {'bytes per operation':>19}  {'MB of memory':>12}")
        for name in variants:
            costs = results[name]
            say(f"  {name:14} {spread([c.cpu for c in costs]):>24}  {self.operations / median(costs, 'cpu') / 1e6:7.2f}  "
                f"{self.sizes[name] / self.operations:19.1f}  {max(c.megabytes for c in costs):12.0f}")
        for name in ("sqlite", "otf2"):
            ratios = [a.cpu / b.cpu for a, b in zip(results[name], results[f"{name} alone"])]
            say(f"  {name}, × of the library alone: {spread(ratios)}")


def main():
    parser = argparse.ArgumentParser(description="rates and sizes of exports")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--operations", type=int, default=1_000_000)
    parser.add_argument("--build", default=os.path.join(os.path.dirname(HERE), "build"))
    parser.add_argument("--out", help="also write the table to this file")
    args = parser.parse_args()
    bench = Exports(os.path.abspath(args.build), args.rounds, args.operations)
    try:
        bench.run()
    finally:
        bench.close()
    if args.out:
        with open(args.out, "w") as out:
            out.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
