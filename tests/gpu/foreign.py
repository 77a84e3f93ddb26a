#!/usr/bin/env python3
"""Programs of HeCBench, or of NVIDIA's cuda-samples, plain, recorded, and recorded with --values in each of some ways: the same output, the same
kernels, and what it costs.

    foreign.py --sonde build/bin/sonde --source HeCBench/src --out DIR [--modes MODE,...]
               [--limit SECONDS] [--budget SECONDS] [--bits] [NAME...]
    foreign.py --sonde build/bin/sonde --source cuda-samples/Samples --samples --include cuda-samples/Common ...

HeCBench: github.com/zjin-lcf/HeCBench; NAME is a folder's, without "-cuda" (default: all that are there). A program is built by its
Makefile and run by its target `run`; one that takes longer than --limit is left out. With --samples NAME is a folder somewhere below the source
(default: all that have a .cu file); its *.cu and *.cpp are compiled with nvcc and --flags, and run without arguments. With --bits all that copies bring
to the host is compared bit by bit, too (foreign_bits.c): what two plain runs and a recorded one had alike. Lines, but for those with times, that two plain runs and a
recorded one print alike must be printed by the instrumented one, too. A mode is what --values can be, `sampled`: fine, one launch of
20, or `comm`: --comm instead. Status 1: something differs.
"""
import argparse
import concurrent.futures
import glob
import json
import math
import os
import re
import subprocess
import sys
import time

import harness


class Program:
    def __init__(self, options, name):
        self.options, self.name, self.folder = options, name, os.path.join(options.source, name + "-cuda")
        if options.samples:
            self.folder = next(iter(sorted(glob.glob(os.path.join(options.source, "**", name), recursive=True))), self.folder)
        self.command = None

    def make(self, *arguments):
        shared = ["EXTRA_CFLAGS=-cudart shared"] if self.options.bits else []
        return subprocess.run(["make", "-C", self.folder, "CC=nvcc", f"ARCH={self.options.arch}", *shared, *arguments], capture_output=True, text=True, check=False)

    def compile(self):
        """Of cuda-samples, which leave it to CMake: all that is in the folder is one program."""
        sources = [os.path.basename(p) for end in ("cu", "cpp") for p in sorted(glob.glob(os.path.join(self.folder, "*." + end)))]
        includes = [word for folder in self.options.include for word in ("-I", os.path.abspath(folder))]
        shared = ["-cudart", "shared"] if self.options.bits else []
        done = subprocess.run(["nvcc", "-std=c++17", "-O3", f"-arch={self.options.arch}", *includes, *shared, "-o", self.name + ".foreign", *sources,
                               *self.options.flags.split()], cwd=self.folder, capture_output=True, text=True, check=False) if sources else None
        if done and done.returncode == 0:
            self.command = f"./{self.name}.foreign"
        else:
            print(f"{self.name}: not built: {(done.stdout + done.stderr)[-400:] if done else 'no sources'}", flush=True)
        return self

    def build(self):
        if self.options.samples:
            return self.compile()
        if self.make().returncode == 0:
            lines = self.make("-s", "-n", "run").stdout.splitlines()
            self.command = next((line.strip() for line in lines if line.strip().startswith("./")), None)
        return self

    def environment(self, bits):
        """With --bits: what copies bring to the host goes into that file."""
        if not self.options.bits:
            return None
        paths = [f"{harness.toolkit_of(harness.find_nvcc())}/lib64", os.environ.get("LD_LIBRARY_PATH")]
        return {**os.environ, "LD_PRELOAD": self.options.preload, "FOREIGN_BITS": bits, "LD_LIBRARY_PATH": ":".join(filter(None, paths))}

    def run(self, prefix="", limit=None):
        """(status, lines of its output, seconds, lines of what copies brought); status None: it took too long."""
        begin, bits = time.monotonic(), os.path.join(self.options.out, self.name + ".bits")
        if os.path.exists(bits):
            os.unlink(bits)
        try:
            done = subprocess.run(["bash", "-c", f"{prefix} {self.command}"], cwd=self.folder, capture_output=True, text=True, errors="replace",
                                  timeout=limit, env=self.environment(bits), check=False)
        except subprocess.TimeoutExpired:
            return None, [], time.monotonic() - begin, []
        seconds, copied = time.monotonic() - begin, []
        if os.path.exists(bits):
            with open(bits, encoding="utf-8") as file:
                copied = file.read().splitlines()
        return done.returncode, done.stdout.splitlines(), seconds, copied

    def record(self, which, *more):
        path = os.path.join(self.options.out, f"{self.name}.{which}")
        outcome = self.run(" ".join([self.options.sonde, "record", "-q", "-f", *more, "-o", path, "--"]), 20 * self.options.limit)
        return outcome, path

    def view(self, path, name):
        done = subprocess.run([self.options.sonde, "report", path, name, "--json"], capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def kernels(self, path):
        return {k["name"]: (k["count"], k["total_ns"] or 0) for k in self.view(path, "kernels") or [] if k["kind"] == "kernel"}

    def compare(self):
        """One row of the result; None: it was left out."""
        first = self.run(limit=self.options.limit)
        if first[0] is None:
            return None
        second = self.run(limit=20 * self.options.limit)
        recorded, path = self.record("plain")
        row = {"name": self.name, "modes": {}}
        for mode in self.options.modes:
            row["modes"][mode] = self.compare_mode(mode, first, second, recorded, self.kernels(path))
        return row

    def compare_mode(self, mode, first, second, recorded, plain):
        options = {"sampled": ["--values=fine", "--values-sample=1/20"], "comm": ["--comm"]}.get(mode, ["--values=" + mode])
        looked, path = self.record(mode, *options)
        values = self.view(path, "comm" if mode == "comm" else "values") or {"objects": [], "coverage": []}
        kernels, ledger = self.kernels(path), self.view(path, "ledger") or {}
        lines = list(zip(first[1], second[1], recorded[1], looked[1]))
        copies = [(a, d) for a, b, c, d in zip(first[3], second[3], recorded[3], looked[3]) if a == b == c]
        differences = [(a, d) for a, b, c, d in lines if a == b == c and a != d and not re.search("time|sec|(GB|FLOP).*/s", a, re.I)]
        patterns = [p["pattern"] for o in values["objects"] for p in o.get("patterns", [])]
        remote = {f"{p['from']} → {p['to']} {p['kind']}": [p["operations"], p["bytes"]] for p in values.get("pairs", []) if p["kind"] in ("load", "store", "atomic")}
        reasons = {}
        for c in values["coverage"]:
            if c["looked_at"] < c["launches"] or c["reason"]:
                reasons.setdefault(c["reason"], []).append(f"{c['kernel']} {c['looked_at']}/{c['launches']}")
        return {
            "same": first[0] == looked[0] and len(first[1]) == len(looked[1]) and not differences and len(first[3]) == len(looked[3]) and
                    all(a == d for a, d in copies),
            "differences": differences[:3] + [(a, d) for a, d in copies if a != d][:3],
            "copies": [len(looked[3]), len(copies)],  # to the host, and those that are the same in each run
            "counts": {k: v[0] for k, v in plain.items()} == {k: v[0] for k, v in kernels.items()},
            "lost": [ledger.get("dropped"), ledger.get("unmatched")],
            "kernels": len(kernels),
            "kernel_time": round(sum(v[1] for v in kernels.values()) / max(1, sum(v[1] for v in plain.values())), 4),
            "wall_time": round(looked[2] / second[2], 4),
            "plain": reasons,
            "remote": remote,
            "patterns": {name: patterns.count(name) for name in sorted(set(patterns))},
            "notes": [note for process in ledger.get("processes", []) for note in process["notes"]],
        }


def names_in(options):
    if options.samples:
        return sorted({os.path.basename(os.path.dirname(p)) for p in glob.glob(os.path.join(options.source, "**", "*.cu"), recursive=True)})
    return sorted(d[:-5] for d in os.listdir(options.source) if d.endswith("-cuda"))


def mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sonde", required=True, type=os.path.abspath)
    parser.add_argument("--source", required=True)
    parser.add_argument("--out", required=True, type=os.path.abspath)
    parser.add_argument("--samples", action="store_true")
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--flags", default="", help="of nvcc, with --samples: --flags=-lcurand")
    parser.add_argument("--bits", action="store_true")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--modes", default=["fine"], type=lambda text: text.split(","))
    parser.add_argument("--limit", type=float, default=4)
    parser.add_argument("--budget", type=float, default=1e9, help="begin no program after so many seconds")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    if options.bits:
        options.preload = os.path.join(options.out, "foreign_bits.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", options.preload, os.path.join(harness.HERE, "foreign_bits.c")], check=True)
    names = options.names or names_in(options)
    begin, rows = time.monotonic(), []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        programs = list(pool.map(Program.build, [Program(options, name) for name in names]))
    for program in programs:
        if program.command and time.monotonic() - begin < options.budget:
            row = program.compare()
            print(json.dumps(row) if row else f"{program.name}: left out, longer than {options.limit} s", flush=True)
            rows += [row] if row and any(m["kernels"] for m in row["modes"].values()) else []
    bad = [f"{r['name']} {mode}" for r in rows for mode, m in r["modes"].items() if not m["same"] or not m["counts"] or m["lost"] != [0, 0]]
    for mode in options.modes:
        of = [r["modes"][mode] for r in rows if r["modes"][mode]["kernels"]]
        print(f"{mode}: {len(of)} programs, {sum(m['kernels'] for m in of)} kernels; kernel time × {mean([m['kernel_time'] for m in of]):.2f} "
              f"(geometric mean), at most × {max(m['kernel_time'] for m in of):.2f}; program × {mean([m['wall_time'] for m in of]):.2f}")
    print(f"different: {bad or 'none'}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
