"""The section `stalls` of bench/gpu.py: what sampling where warps are costs a vector add of 76 µs (record --pc), by the interval, in a long and in a short
run, whose beginning and end count; how many samples that makes, and what each takes of a processor. The program is tests/gpu/programs/series.cu.
"""
import json
import os
import resource
import statistics
import subprocess
import time

import harness
from gpu_values import compiled, table

COSTS = {"sonde": (), "--pc": ("--pc",), "--pc=65536": ("--pc=65536",), "--pc=16384": ("--pc=16384",)}


ROUNDS = 3


def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def whole(bench, plain, options):
    """Of the whole command with --json's samples: {figure: number}."""
    folder = os.path.join(bench.work, "stalls.sonde")
    begin, cpu = time.monotonic(), used()
    took = bench.number(bench.record(plain, *options, folder=folder))["ns"] / 1e9
    figures = {"wall": time.monotonic() - begin, "cpu": used() - cpu, "took": took}
    told = json.loads(subprocess.run([bench.sonde, "report", folder, "stalls", "--json"], stdout=subprocess.PIPE, check=True, text=True).stdout)
    return {**figures, "samples": sum(told[name] for name in ("samples", "elsewhere_samples", "dropped_samples", "lost_samples"))}


def samples(bench, program):
    """A sample's share of a processor is told by two intervals, whose beginnings and ends cost the same."""
    found = {}
    for _ in range(ROUNDS):
        for name, options in COSTS.items():
            found.setdefault(name, []).append(whole(bench, [program, "20000", "time"], options))
    middle = {name: {figure: statistics.median(one[figure] for one in rounds) for figure in rounds[0]} for name, rounds in found.items()}
    few, many = middle["--pc"], middle["--pc=65536"]  # with 16,384 the buffer may be full, and not all are counted
    each = (many["cpu"] - few["cpu"]) / (many["samples"] - few["samples"])
    bench.say(f"20,000 launches, median of {ROUNDS}; a sample takes {each * 1e9:.1f} ns of a processor:\n")
    bench.say("| Recorded with | Samples | Samples a second of launches | Of a processor, decoding | The whole command, from start to end |\n|---|---|---|---|---|")
    for name, one in middle.items():
        rate = one["samples"] / one["took"]
        bench.say(f"| {name} | {one['samples']:,.0f} | {rate:,.0f} | {rate * each:.1%} | {one['wall']:.2f} s |")
    bench.say()


def run(bench, seconds, nothing):
    bench.say("## Where warps wait (record --pc)\n")
    program = os.path.join(bench.work, "gpu_series")
    major, minor = harness.ask_gpu().capability
    if not compiled(bench, os.path.join("..", "tests", "gpu", "programs", "series.cu"), program, f"-arch=sm_{major}{minor}"):
        return
    found = {}
    for title, plain, most in (("20,000 launches", [program, "20000", "time"], 7), ("1,000", [program, "1000", "time"], 7)):
        variants = {nothing: lambda plain=plain: bench.number(plain)}
        for name, options in COSTS.items():
            variants[name] = lambda options=options, plain=plain: bench.number(bench.record(plain, *options))
        found[title] = bench.rounds("stalls", variants, set(variants), seconds * 0.5, most)
    table(bench, "Launches of 76 µs. × of the same without Sonde.", COSTS, found, found, nothing)
    samples(bench, program)
