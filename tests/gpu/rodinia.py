#!/usr/bin/env python3
"""Table 1 of ValueExpert's paper (ASPLOS 2022) with ten programs of Rodinia: which of its cells `sonde record --values=all` finds.

    rodinia.py --sonde build/bin/sonde --out DIR [--work DIR] [--data DIR] [--source DIR] [--limit SECONDS] [--budget SECONDS] [--rounds N]
               PROGRAMS [NAME...]

PROGRAMS is a folder with the programs bfs, backprop, srad_v1, hotspot, pathfinder, cfd (euler3d), huffman, lavaMD, hotspot3D and
streamcluster, with PTX, -lineinfo and -g. Their input is Rodinia's own where --data has the file (or the file.xz), else it is made here: as
large and of such values. --source: a folder for each program, to name arrays as the program does. Each program runs twice plain and once
recorded; what it prints, but for lines with times, and the files that it writes must be the same where the plain runs agree. Redundant
values count from a share of 33 % on, as in the paper; approximate ones are within an eighth (--mantissa 3). Results: DIR/rodinia.json. Status 1: a program failed, or its output differs.
"""
import argparse
import glob
import hashlib
import json
import lzma
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import time

from harness import environment

REDUNDANT_FROM = 0.33
# A pattern that is a special case of another shows the other, too (definitions 3.3 to 3.5).
SPECIAL = {"frequent": ("single_value", "single_zero"), "single_value": ("single_zero",)}


class Cell:
    """A cell of table 1. Where the paper names the array, `arrays` are its names in the host's code, `kernel` the kernel."""

    def __init__(self, pattern, note="the paper names no array", kernel=None, arrays=(), in_table=True):
        self.pattern, self.note, self.kernel, self.arrays, self.in_table = pattern, note, kernel, arrays, in_table

    def named(self):
        return bool(self.kernel or self.arrays)

    def holds(self, row):
        """None: the arrays' names are not known here."""
        if self.kernel and not re.search(rf"\b{self.kernel}\b|_Z{len(self.kernel)}{self.kernel}", row["operation"] or ""):
            return False
        if self.arrays and row["array"] is None:
            return None
        return not self.arrays or row["array"] in self.arrays

    def candidates(self, rows):
        """The strongest first; of equal ones, those of the pattern itself and those that the paper names."""
        of = [r for r in rows if r["pattern"] == self.pattern or r["pattern"] in SPECIAL.get(self.pattern, ())]
        return sorted(of, key=lambda r: (self.named() and bool(self.holds(r)), r["pattern"] == self.pattern, r["share"] or 0, r["bytes"]), reverse=True)

    def look(self, rows):
        found = self.candidates(rows)
        best = found[0] if found else None
        enough = bool(best) and (best["pattern"] != "redundant" or (best["share"] or 0) >= REDUNDANT_FROM)
        return {"pattern": self.pattern, "in_table": self.in_table, "note": self.note, "found": enough, "named": self.named(),
                "where_named": bool(best) and self.named() and self.holds(best), "strongest": best, "rows": len(found)}


CELLS = {
    "bfs": [
        Cell("redundant"), Cell("frequent", "table 4: the copies to the device got faster by it"), Cell("single_value"),
        Cell("heavy_type", "3.2: g_cost is always within int8", "Kernel", ("d_cost",))],
    "backprop": [
        Cell("redundant"), Cell("duplicate", "table 4 has it, without an array"),
        Cell("single_zero", "8.5: arrays w and oldw of bpnn_adjust_weights_cuda", "bpnn_adjust_weights_cuda",
             ("input_hidden_cuda", "input_prev_weights_cuda"))],
    "srad_v1": [
        Cell("duplicate"), Cell("frequent"), Cell("single_value"), Cell("heavy_type", "tables 3 and 4: kernel srad, without an array", "srad"),
        Cell("structured", "3.2: d_iN, d_iS, d_jW and d_jE, coordinates of the neighbours", "srad", ("d_iN", "d_iS", "d_jW", "d_jE"))],
    "hotspot": [
        Cell("frequent"), Cell("approximate", "tables 3 and 4: kernel calculate_temp, without an array", "calculate_temp")],
    "pathfinder": [
        Cell("redundant"), Cell("frequent"), Cell("heavy_type", "tables 3 and 4: kernel dynproc_kernel, and what is copied to the device", "dynproc_kernel")],
    "cfd": [
        Cell("redundant", "table 4: memory operations, without an array"),
        Cell("frequent", "8.5: array variables of cuda_compute_flux, unchanged in the first three iterations", "cuda_compute_flux", ("variables",))],
    "huffman": [
        Cell("redundant"), Cell("duplicate"), Cell("single_value"), Cell("heavy_type"),
        Cell("frequent", "not in table 1; 3.2 and table 4: most values written to histo are zeros (its writes are atomic)", "histo_kernel", ("dev_histo",),
             in_table=False)],
    "lavaMD": [
        Cell("redundant"),
        Cell("heavy_type", "not in table 1; 8.6 and table 4: rA holds the ten values 0.1, 0.2, ..., 1.0, of which float holds only two exactly",
             "kernel_gpu_cuda", ("d_rv_gpu",), in_table=False)],
    "hotspot3D": [
        Cell("approximate", "3.2: tIn_d is a single value within 2 % RMSE", "hotspotOpt1", ("tIn_d",))],
    "streamcluster": [
        Cell("redundant", "tables 3 and 4: memory operations, without an array")],
}


# ---- input ------------------------------------------------------------------------------


def original(options, name, target):
    """Whether --data has the file; it is then at `target`."""
    path = os.path.join(options.data, name) if options.data else ""
    if not options.data or not glob.glob(path) + glob.glob(path + ".xz"):
        return False
    with (open(path, "rb") if os.path.exists(path) else lzma.open(path + ".xz")) as source, open(target, "wb") as file:
        shutil.copyfileobj(source, file)
    return True


def write_lines(path, lines):
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")


def input_of_bfs(options, folder):
    """As Rodinia's generator makes them: each node has two to four edges to any others, in both directions."""
    target, nodes, chance = os.path.join(folder, "graph65536.txt"), 65536, random.Random(1)
    if original(options, "graph65536.txt", target):
        return "graph65536.txt"
    edges = [[] for _ in range(nodes)]
    for node in range(nodes):
        for _ in range(chance.randrange(2, 5)):
            other, weight = chance.randrange(nodes), chance.randrange(1, 11)
            edges[node].append((other, weight))
            edges[other].append((node, weight))
    lines, total = [str(nodes)], 0
    for of in edges:
        lines.append(f"{total} {len(of)}")
        total += len(of)
    write_lines(target, lines + ["", "0", "", str(total)] + [f"{other} {weight}" for of in edges for other, weight in of])
    return "a random graph of 65,536 nodes (ours)"


def input_of_srad(options, folder):
    os.makedirs(os.path.join(folder, "data", "srad"), exist_ok=True)
    os.makedirs(os.path.join(folder, "a", "b", "c"), exist_ok=True)
    target, chance = os.path.join(folder, "data", "srad", "image.pgm"), random.Random(2)
    if original(options, "image.pgm", target):
        return "image.pgm"
    rows = [" ".join(str(min(255, int((90 + 60 * math.sin(x / 70) * math.cos(y / 50)) * chance.gammavariate(9, 1 / 9)))) for x in range(458))
            for y in range(502)]
    write_lines(target, ["P2", "458 502", "255"] + rows)
    return "a speckled image of 458 x 502 (ours)"


def input_of_hotspot(options, folder):
    if all([original(options, name, os.path.join(folder, name)) for name in ("temp_512", "power_512")]):
        return "temp_512, power_512"
    chance, n = random.Random(3), 512
    write_lines(os.path.join(folder, "temp_512"), [f"{324 + 9 * math.sin(i // n / 80) * math.cos(i % n / 90) + chance.random():.6f}" for i in range(n * n)])
    hot = lambda i: 200 < i % n < 260 and 100 < i // n < 400
    write_lines(os.path.join(folder, "power_512"), ["0.001250" if hot(i) else "0.000032" for i in range(n * n)])
    return "512 x 512 smooth temperatures, power nearly everywhere the same (ours)"


def input_of_hotspot3d(options, folder):
    if all([original(options, name, os.path.join(folder, name)) for name in ("temp_64x8", "power_64x8")]):
        return "temp_64x8, power_64x8 (Rodinia's run has 512 x 512 x 8)"
    chance, n = random.Random(4), 64 * 64 * 8
    write_lines(os.path.join(folder, "temp_64x8"), [f"{320 + 20 * chance.random():.6f}" for _ in range(n)])
    write_lines(os.path.join(folder, "power_64x8"), [f"{chance.random():.6f}" for _ in range(n)])
    return "64 x 64 x 8 random temperatures of 320 to 340 and powers of 0 to 1 (ours)"


def input_of_cfd(options, folder):
    """A grid of boxes of unlike sizes, in random order; beyond its edges the far field, in its middle a wing."""
    target, chance = os.path.join(folder, "fvcorr.domn.097K"), random.Random(5)
    if original(options, "fvcorr.domn.097K", target):
        return "fvcorr.domn.097K, 200 iterations where the program's source says so"
    columns, rows = 311, 312
    width, height = ([chance.uniform(0.5, 1.5) for _ in range(n)] for n in (columns, rows))
    places = list(range(columns * rows))
    chance.shuffle(places)
    order = sorted(range(columns * rows), key=places.__getitem__)

    def neighbour(cell, x, y):
        wing = any(140 <= i < 170 and 150 <= j < 156 for i, j in ((x, y), (cell % columns, cell // columns)))
        return -1 if not (0 <= x < columns and 0 <= y < rows) else 0 if wing else places[y * columns + x] + 1

    def element(cell):
        x, y = cell % columns, cell // columns
        faces = ((x - 1, y, -height[y], 0), (x + 1, y, height[y], 0), (x, y - 1, 0, -width[x]), (x, y + 1, 0, width[x]))
        return f"{width[x] * height[y]:.6f} " + " ".join(f"{neighbour(cell, a, b)} {c:.6f} {d:.6f} 0" for a, b, c, d in faces)
    write_lines(target, [str(columns * rows)] + [element(cell) for cell in order])
    return "97,032 boxes with a wing in the paper's place of fvcorr.domn.097K (ours)"


def input_of_huffman(options, folder):
    name = "test1024_H2.206587175259.in"
    target, chance = os.path.join(folder, "input"), random.Random(6)
    if original(options, name, target):
        return name
    with open(target, "wb") as file:
        file.write(bytes(chance.choices([116, 129, 99, 164, 25, 7, 200, 1], [400, 250, 130, 130, 50, 25, 10, 5], k=1 << 20)))
    return "1 MiB of eight symbols, 2.2 bits of entropy (ours)"


# Arguments, what makes the input, and the folder below the work folder in which it runs.
PROGRAMS = {
    "bfs": (["graph65536.txt"], input_of_bfs, ""),
    "backprop": (["65536"], lambda *_: "built in", ""),
    "srad_v1": (["100", "0.5", "502", "458"], input_of_srad, "a/b/c"),
    "hotspot": (["512", "2", "2", "temp_512", "power_512", "output.out"], input_of_hotspot, ""),
    "pathfinder": (["100000", "100", "20"], lambda *_: "built in", ""),
    "cfd": (["fvcorr.domn.097K"], input_of_cfd, ""),
    "huffman": (["input"], input_of_huffman, ""),
    "lavaMD": (["-boxes1d", "10"], lambda *_: "built in", ""),
    "hotspot3D": (["64", "8", "100", "power_64x8", "temp_64x8", "output.out"], input_of_hotspot3d, ""),
    "streamcluster": (["10", "20", "256", "16384", "16384", "1000", "none", "output.txt", "1"], lambda *_: "built in, 16,384 points of Rodinia's 65,536", ""),
}


# ---- running ----------------------------------------------------------------------------


# What is timed with --rounds, and the options of `sonde record`.
KINDS = {"record": [], "coarse": ["--values"], "fine": ["--values=fine"]}


class Failed(Exception):
    """A program or a command of Sonde's went wrong; the text says how."""


class Program:
    def __init__(self, options, name):
        self.options, self.name = options, name
        self.arguments, self.make_input, below = PROGRAMS[name]
        self.home = os.path.join(options.work, name)
        self.folder = os.path.join(self.home, below)
        self.measurement = os.path.join(options.work, name + ".sonde")
        self.inputs = []

    def written(self):
        """The files that the program wrote."""
        return [path for path in glob.glob(os.path.join(self.folder, "*")) if os.path.isfile(path) and path not in self.inputs]

    def run(self, prefix=()):
        """(what it printed and wrote, by name; seconds)."""
        command = [*prefix, os.path.join(self.options.programs, self.name), *self.arguments]
        for path in self.written():
            os.remove(path)
        begin = time.monotonic()
        try:
            done = subprocess.run(command, cwd=self.folder, env=environment(), stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=self.options.limit, check=False)
        except subprocess.TimeoutExpired:
            raise Failed(f"did not end within {self.options.limit:g} s") from None
        seconds = time.monotonic() - begin
        if done.returncode:
            raise Failed(f"status {done.returncode}: {(done.stdout[-300:] + done.stderr[-600:]).decode(errors='replace').strip()}")
        lines = [line for line in done.stdout.split(b"\n") if not re.search(rb"time|sec|\bms\b|%|bandwidth", line[:200], re.I)]
        results = {"output": hashlib.sha256(b"\n".join(lines)).hexdigest()}
        for path in self.written():
            with open(path, "rb") as file:
                results[os.path.basename(path)] = hashlib.sha256(file.read()).hexdigest()
        return results, seconds

    def values(self):
        done = subprocess.run([self.options.sonde, "report", self.measurement, "values", "--threshold", "1", "--mantissa", "3", "--json"], env=environment(),
                              capture_output=True, text=True, timeout=self.options.limit, check=False)
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise Failed(f"sonde report: status {done.returncode}: {done.stderr[-600:].strip()}") from None

    def array(self, site):
        """The variable that an object was allocated for: what the source says in the outermost line that allocates; None: not known."""
        found = None
        for name, line in re.findall(r"([\w.+-]+\.(?:cu|c|cpp)):(\d+)", site or "") if self.options.source else ():
            for path in glob.glob(os.path.join(glob.escape(self.options.source), self.name, "**", name), recursive=True)[:1]:
                with open(path, encoding="utf-8", errors="replace") as file:
                    lines = file.read().split("\n")
                at = int(line) - 1
                text = next((t for t in (lines[at] if at < len(lines) else "", *("".join(lines[max(0, at - k):at + 3]) for k in range(4)))
                             if "alloc" in t), "")
                match = re.search(r"cudaMalloc\s*\(\s*\(void\s*\*\*\)\s*&\s*([\w\[\]]+)|(\w+)\s*=\s*alloc<", text)
                found = (match.group(1) or match.group(2)) if match else found
        return found

    def rows(self, answer):
        return [{"object": o["name"], "site": o["site"], "array": array, **p}
                for o in answer["objects"] for array in [self.array(o["site"])] for p in o["patterns"]]

    def prepare(self):
        shutil.rmtree(self.home, ignore_errors=True)
        os.makedirs(self.folder)
        result = {"name": self.name, "input": self.make_input(self.options, self.home)}
        self.inputs = self.written()
        return result

    def recorded(self, values):
        return self.run([self.options.sonde, "record", *values, "-q", "-f", "-o", self.measurement, "--"])

    def time(self):
        """The first of each kind fills the caches of the driver and is not counted."""
        result, seconds = self.prepare(), {kind: [] for kind in ("plain", *KINDS)}
        for _ in range(self.options.rounds + 1):
            seconds["plain"].append(self.run()[1])
            for kind, values in KINDS.items():
                seconds[kind].append(self.recorded(values)[1])
        ratios = {kind: [of / plain for of, plain in zip(seconds[kind][1:], seconds["plain"][1:])] for kind in KINDS}
        return {**result, "plain_s": round(statistics.median(seconds["plain"][1:]), 3), "seconds": seconds,
                "times": {kind: statistics.median(of) for kind, of in ratios.items()}}

    def compare(self):
        result = self.prepare()
        first, second = self.run(), self.run()
        recorded = self.recorded(["--values=all"])
        answer = self.values()
        rows = self.rows(answer)
        same = {key for key in first[0] if first[0][key] == second[0].get(key)}
        wanted = {cell.pattern for cell in CELLS[self.name]}
        return {**result, "plain_s": round(second[1], 3), "recorded_s": round(recorded[1], 3), "compared": sorted(same),
                "different": sorted(key for key in same if recorded[0].get(key) != first[0][key]), "cells": [c.look(rows) for c in CELLS[self.name]],
                "beside": [r for r in rows if r["pattern"] not in wanted], "patterns": rows, "coverage": answer["coverage"]}


# ---- what is told ------------------------------------------------------------------------


def describe(row):
    share = "" if row["share"] is None else f"{'' if row['exact'] else '≤ ' if row['pattern'] == 'redundant' else '≈ '}{100 * row['share']:.1f} % "
    operation = row["operation"] or "?"
    place = row["array"] or row["object"]
    return f"{share}{operation}, {place}{' at ' + row['line'] if row['line'] else ''}: {row['evidence']}"


def tell_cell(cell):
    row = cell["strongest"]
    state = "found" if cell["found"] else "below 33 %" if row else "not found"
    where = {True: ", where the paper says", False: ", elsewhere than the paper says", None: ""}[cell["where_named"]] if row and cell["named"] else ""
    kind = f" as {row['pattern']}" if row and row["pattern"] != cell["pattern"] else ""
    print(f"  {cell['pattern']:<13} {state}{kind}{where}{'' if cell['in_table'] else ' (not a cell of table 1)'}" + (f", {cell['rows']} in all" if row else ""))
    print(f"                {describe(row)}" if row else f"                ({cell['note']})")
    if row and cell["named"]:
        print(f"                ({cell['note']})")


def tell(result):
    if "failed" in result:
        print(f"{result['name']}: FAILED: {result['failed']}", flush=True)
        return
    output = f"DIFFERENT: {', '.join(result['different'])}" if result["different"] else f"same {', '.join(result['compared'])}"
    print(f"{result['name']}: input {result['input']}; {result['plain_s']} s plain, × {result['recorded_s'] / result['plain_s']:.2f} recorded; {output}")
    for cell in result["cells"]:
        tell_cell(cell)
    strongest = {}
    for row in sorted(result["beside"], key=lambda r: (r["share"] or 0, r["bytes"])):
        strongest[row["pattern"]] = row
    for pattern, row in sorted(strongest.items()):
        print(f"  not in the table: {sum(r['pattern'] == pattern for r in result['beside'])} {pattern}, strongest {describe(row)}")
    for c in result["coverage"]:
        if c["reason"] or c["looked_at"] < c["launches"]:
            print(f"  {c['kernel']}: {c['looked_at']} of {c['launches']} looked at, engine {c['engine']}: {c['reason']}")
    sys.stdout.flush()


def sum_up(results, left_out):
    cells = [(r["name"], c) for r in results for c in r.get("cells", ()) if c["in_table"]]
    total = sum(c.in_table for of in CELLS.values() for c in of)
    found, named = [c for _, c in cells if c["found"]], [c for _, c in cells if c["named"]]
    ran = [r for r in results if "cells" in r]
    if ran:
        factors = [r["recorded_s"] / r["plain_s"] for r in ran]
        print(f"program × {math.exp(sum(map(math.log, factors)) / len(factors)):.2f} (geometric mean), at most × {max(factors):.2f}")
    print("not found: " + (", ".join(f"{name} {c['pattern']}" for name, c in cells if not c["found"]) or "none"))
    print("failed: " + (", ".join(r["name"] for r in results if "failed" in r) or "none") + "; output different: " +
          (", ".join(r["name"] for r in ran if r["different"]) or "none") + (f"; left out: {', '.join(left_out)}" if left_out else ""))
    print(f"{len(found)} of {len(cells)} cells found ({total} in the table); of {len(named)} whose kernel or array the paper names "
          f"{sum(c['found'] and bool(c['where_named']) for c in named)} there")


def tell_times(result):
    if "failed" in result:
        print(f"{result['name']}: FAILED: {result['failed']}", flush=True)
        return
    print(f"{result['name']:<13} {result['plain_s']:.3f} s plain; " + ", ".join(f"{kind} × {of:.2f}" for kind, of in result["times"].items()), flush=True)


def sum_up_times(results, left_out):
    ran = [r["times"] for r in results if "times" in r]
    for kind in KINDS if ran else ():
        print(f"{kind}: program × {statistics.geometric_mean([of[kind] for of in ran]):.2f} (geometric mean), at most × {max(of[kind] for of in ran):.2f}")
    if left_out:
        print(f"left out: {', '.join(left_out)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sonde", required=True, type=os.path.abspath)
    parser.add_argument("--out", required=True, type=os.path.abspath)
    parser.add_argument("--work", default="rodinia.work", type=os.path.abspath)
    parser.add_argument("--data", type=os.path.abspath)
    parser.add_argument("--source", type=os.path.abspath)
    parser.add_argument("--limit", type=float, default=60, help="end a program after so many seconds")
    parser.add_argument("--budget", type=float, default=110, help="begin no program after so many seconds")
    parser.add_argument("--rounds", type=int, default=0, help="time each program so often in place of looking at its values")
    parser.add_argument("programs", type=os.path.abspath)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if unknown := set(options.names) - set(PROGRAMS):
        parser.error(f"no such program: {', '.join(sorted(unknown))}")
    for folder in (options.out, options.work):
        os.makedirs(folder, exist_ok=True)
    begin, results, left_out = time.monotonic(), [], []
    for name in options.names or list(PROGRAMS):
        if time.monotonic() - begin > options.budget:
            left_out.append(name)
            continue
        try:
            program = Program(options, name)
            results.append(program.time() if options.rounds else program.compare())
        except (Failed, OSError, subprocess.TimeoutExpired) as error:
            results.append({"name": name, "failed": str(error)})
        (tell_times if options.rounds else tell)(results[-1])
        with open(os.path.join(options.out, "rodinia-times.json" if options.rounds else "rodinia.json"), "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    (sum_up_times if options.rounds else sum_up)(results, left_out)
    sys.exit(1 if any("failed" in r or r.get("different") for r in results) else 0)


if __name__ == "__main__":
    main()
