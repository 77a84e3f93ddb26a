"""The section `stalls` of bench/gpu.py: what sampling where warps are costs a vector add of 76 µs (record --pc), by the interval, in a long and in a short
run, whose beginning and end count. The program is tests/gpu/programs/series.cu.
"""
import os

import harness
from gpu_values import compiled, table

COSTS = {"sonde": (), "--pc": ("--pc",), "--pc=65536": ("--pc=65536",), "--pc=16384": ("--pc=16384",)}


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
