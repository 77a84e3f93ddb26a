"""The section `comm` of bench/gpu.py: what kernels cost whose accesses to other memory are counted (record --comm), and those that have none. Needs two
GPUs that reach each other's memory. The kinds are those of gpu_remote.cu.
"""
import os

import harness
from gpu_values import EMPTY, compiled, emptied, table

KINDS = ("add", "stencil", "spmv", "bfs", "table", "here", "plain")
WAYS = {"sonde: no --comm": (), "--comm": ("--comm",), "--comm --comm-sample=1/20": ("--comm", "--comm-sample=1/20"),
        "--comm --comm-elements": ("--comm", "--comm-elements")}
MACHINE = {"--comm-engine=sanitizer --comm-sample=1/1": ("--comm", "--comm-engine=sanitizer", "--comm-sample=1/1"), "--comm-engine=sanitizer": ("--comm", "--comm-engine=sanitizer")}


def run(bench, seconds, nothing):
    bench.say("## Accesses to other memory (record --comm)\n")
    program, found = os.path.join(bench.work, "gpu_remote"), {}
    major, minor = harness.ask_gpu().capability
    if not compiled(bench, "gpu_remote.cu", program, f"-arch=sm_{major}{minor}"):
        return
    for kind in KINDS:
        plain = [program, kind, "200"]
        variants = {nothing: lambda plain=plain: bench.number(plain)}
        for name, options in WAYS.items():
            variants[name] = lambda plain=plain, options=options: bench.number(bench.record(plain, "--cpu", "0", *options))
        found[kind] = bench.rounds(f"comm of {kind}", variants, set(variants), 0.6 * seconds / len(KINDS), 7)
    table(bench, "200 launches over 64 MB. × of the same without Sonde.", WAYS, KINDS, found, nothing)
    machine(bench, program, 0.4 * seconds, nothing)


def machine(bench, program, seconds, nothing):
    """All as machine code, and what the calls of functions cost that do nothing."""
    empty, found = emptied(bench), {}
    if not empty:
        return
    for kind in KINDS:
        plain = [program, kind, "200"]
        variants = {nothing: lambda plain=plain: bench.number(plain)}
        for name, options in MACHINE.items():
            variants[name] = lambda plain=plain, options=options: bench.number(bench.record(plain, "--cpu", "0", *options))
        all_launches = bench.record(plain, "--cpu", "0", *next(iter(MACHINE.values())))
        variants[EMPTY] = lambda all_launches=all_launches: bench.number([empty, *all_launches[1:]])
        found[kind] = bench.rounds(f"comm of machine code of {kind}", variants, set(variants), seconds / len(KINDS), 3)
    table(bench, "As machine code, through Compute Sanitizer. × of the same without Sonde.", (EMPTY, *MACHINE), KINDS, found, nothing)
