"""The section `series` of bench/gpu.py: what counters over time cost a vector add (record --counter-series), and what they say of it, by interval and
by what is asked for: bytes that it must move, instructions that its code has. The program is tests/gpu/programs/series.cu.
"""
import json
import os
import subprocess

import harness
from gpu_values import compiled, table

BYTES = 4 << 24  # of an array
INSTRUCTIONS, CYCLES, READ, WRITTEN = "smsp__inst_executed.sum", "sm__cycles_active.avg", "dram__bytes_read.sum", "dram__bytes_write.sum"
COSTS = {"sonde": (), "--counter-series=1ms": ("--counter-series=1ms",), "--counter-series=100us": ("--counter-series=100us",)}
LISTS = {"the default": (), "of the multiprocessors instructions and active cycles": ("--counters", f"{INSTRUCTIONS},{CYCLES},{READ},{WRITTEN}")}


def exactness(bench, program):
    bench.say("Of one launch of 2^24 floats (read 2, written 1 array; 524,288 warps):\n")
    bench.say("| Counters | Interval | Instructions of a warp | Bytes read, of those that it must | Written |\n|---|---|---|---|---|")
    folder = os.path.join(bench.work, "series.sonde")
    for name, options in LISTS.items():
        for interval in ("100us", "200us", "500us", "1ms", "10ms"):
            bench.run(bench.record([program, "8000"], "--counter-series", interval, *options, folder=folder))
            done = subprocess.run([bench.sonde, "report", folder, "counters", "--json"], stdout=subprocess.PIPE, check=True, text=True)
            each = {row["metric"]: row["per_operation"] for row in json.loads(done.stdout)["parts"] if row["operation"].startswith("vadd")}
            of = [each.get(metric) for metric in (INSTRUCTIONS, READ, WRITTEN)]
            said = [f"{value / whole:.{digits}f}" if value else "-" for value, whole, digits in zip(of, (1 << 19, 2 * BYTES, BYTES), (2, 4, 4))]
            bench.say(f"| {name} | {interval} | " + " | ".join(said) + " |")
    bench.say()


def run(bench, seconds, nothing):
    bench.say("## Counters over time (record --counter-series)\n")
    program = os.path.join(bench.work, "gpu_series")
    major, minor = harness.ask_gpu().capability
    if not compiled(bench, os.path.join("..", "tests", "gpu", "programs", "series.cu"), program, f"-arch=sm_{major}{minor}"):
        return
    plain = [program, "20000", "time"]
    variants = {nothing: lambda: bench.number(plain)}
    for name, options in COSTS.items():
        variants[name] = lambda options=options: bench.number(bench.record(plain, *options))
    found = {"vector add": bench.rounds("series", variants, set(variants), seconds * 0.7, 7)}
    table(bench, "20,000 launches of 76 µs. × of the same without Sonde.", COSTS, found, found, nothing)
    exactness(bench, program)
