#!/usr/bin/env python3
"""Programs of HeCBench plain, recorded, and recorded with --values=fine: the same output, the same kernels, and what it costs.

    foreign.py --sonde build/bin/sonde --source HeCBench/src --out DIR [--limit SECONDS] [--budget SECONDS] [NAME...]

HeCBench: github.com/zjin-lcf/HeCBench; NAME is a folder's, without "-cuda" (default: all that are there). A program is built by its
Makefile and run by its target `run`; one that takes longer than --limit is left out. Lines that two plain runs and a
recorded one print alike must be printed by the instrumented one, too. Status 1: something differs.
"""
import argparse
import concurrent.futures
import json
import math
import os
import subprocess
import sys
import time


class Program:
    def __init__(self, options, name):
        self.options, self.name, self.folder = options, name, os.path.join(options.source, name + "-cuda")
        self.command = None

    def make(self, *arguments):
        return subprocess.run(["make", "-C", self.folder, "CC=nvcc", f"ARCH={self.options.arch}", *arguments], capture_output=True, text=True, check=False)

    def build(self):
        if self.make().returncode == 0:
            lines = self.make("-s", "-n", "run").stdout.splitlines()
            self.command = next((line.strip() for line in lines if line.strip().startswith("./")), None)
        return self

    def run(self, prefix="", limit=None):
        """(status, lines of its output, seconds); status None: it took too long."""
        begin = time.monotonic()
        try:
            done = subprocess.run(["bash", "-c", f"{prefix} {self.command}"], cwd=self.folder, capture_output=True, text=True, errors="replace",
                                  timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return None, [], time.monotonic() - begin
        return done.returncode, done.stdout.splitlines(), time.monotonic() - begin

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
        (recorded, plain_path), (fine, fine_path) = self.record("plain"), self.record("fine", "--values=fine")
        plain, looked_at = self.kernels(plain_path), self.kernels(fine_path)
        values, ledger = self.view(fine_path, "values") or {"objects": [], "coverage": []}, self.view(fine_path, "ledger") or {}
        lines = list(zip(first[1], second[1], recorded[1], fine[1]))
        patterns = [p["pattern"] for o in values["objects"] for p in o["patterns"]]
        return {
            "name": self.name,
            "same": first[0] == fine[0] and len(first[1]) == len(fine[1]) and all(d == a for a, b, c, d in lines if a == b == c),
            "counts": {k: v[0] for k, v in plain.items()} == {k: v[0] for k, v in looked_at.items()},
            "lost": [ledger.get("dropped"), ledger.get("unmatched")],
            "kernels": len(looked_at),
            "kernel_time": sum(v[1] for v in looked_at.values()) / max(1, sum(v[1] for v in plain.values())),
            "wall_time": fine[2] / second[2],
            "plain": [[c["kernel"], c["launches"], c["looked_at"], c["reason"]] for c in values["coverage"] if c["looked_at"] < c["launches"]],
            "patterns": {name: patterns.count(name) for name in sorted(set(patterns))},
            "notes": [note for process in ledger.get("processes", []) for note in process["notes"]],
        }


def mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sonde", required=True, type=os.path.abspath)
    parser.add_argument("--source", required=True)
    parser.add_argument("--out", required=True, type=os.path.abspath)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--limit", type=float, default=4)
    parser.add_argument("--budget", type=float, default=1e9, help="begin no program after so many seconds")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    names = options.names or sorted(d[:-5] for d in os.listdir(options.source) if d.endswith("-cuda"))
    begin, rows = time.monotonic(), []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        programs = list(pool.map(Program.build, [Program(options, name) for name in names]))
    for program in programs:
        if program.command and time.monotonic() - begin < options.budget:
            row = program.compare()
            print(json.dumps(row) if row else f"{program.name}: left out, longer than {options.limit} s", flush=True)
            rows += [row] if row and row["kernels"] else []
    bad = [r["name"] for r in rows if not r["same"] or not r["counts"] or r["lost"] != [0, 0]]
    print(f"{len(rows)} programs, {sum(r['kernels'] for r in rows)} kernels; kernel time × {mean([r['kernel_time'] for r in rows]):.2f} (geometric mean), "
          f"at most × {max(r['kernel_time'] for r in rows):.2f}; program × {mean([r['wall_time'] for r in rows]):.2f}; different: {bad or 'none'}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
