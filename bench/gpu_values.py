"""The section `values` of bench/gpu.py: what kernels cost that are looked at, what those cost that are not, and what loading costs.

Launches: × of the kernel without Sonde, 200 launches of which the first ten are not timed; with Compute Sanitizer 30, beside patches that
return at once. Loading: 64 kernels of one module, launched once each, from the first launch to the end, by who compiled them: the
driver's cache is empty, or has all.
"""
import os
import shutil
import subprocess

import harness

KINDS = ("add", "stencil", "gather")
VALUES = {"sonde: no values": (), "--values": ("--values",), "--values=fine": ("--values=fine",), "--values=all": ("--values=all",),
          "--values=fine --values-sample=1/20": ("--values=fine", "--values-sample=1/20"),
          "--values=fine --values-sample=1": ("--values=fine", "--values-sample=1")}
SANITIZER = ("--values=fine", "--values-engine=sanitizer", "--values-sample=1/1")
LOADS = {"sonde: no values": (), "--values": ("--values",), "--values=fine": ("--values=fine",)}
EMPTY = "patches that return at once"


def compiled(bench, source, target, *options):
    nvcc = harness.find_nvcc()
    done = subprocess.run([nvcc, "-std=c++17", "-O2", *options, os.path.join(os.path.dirname(os.path.abspath(__file__)), source), "-o", target],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        bench.failed[source] = done.stdout[-600:]
    return not done.returncode


def table(bench, title, names, kinds, found, base):
    bench.say(title + "\n")
    bench.say("| Recorded with | " + " | ".join(kinds) + " |\n|---|" + "---|" * len(kinds))
    for name in names:
        bench.say(f"| {name} | " + " | ".join(bench.cell(bench.ratio(found[kind], name, base, "ns")) for kind in kinds) + " |")
    bench.say()


def launches(bench, seconds, nothing):
    found = {}
    for kind in KINDS:
        plain = [bench.launch, "kernels", kind, "200"]
        variants = {nothing: lambda plain=plain: bench.number(plain)}
        for name, options in VALUES.items():
            variants[name] = lambda plain=plain, options=options: bench.number(bench.record(plain, "--cpu", "0", *options))
        found[kind] = bench.rounds(f"values of {kind}", variants, set(variants), seconds / len(KINDS), 7)
    table(bench, "Each writes 64 MB; 200 launches. × of the same without Sonde.", VALUES, KINDS, found, nothing)


def emptied(bench):
    """A tree of Sonde with patches that do nothing; None: there are none."""
    home, tree = os.path.dirname(os.path.dirname(os.path.realpath(bench.sonde))), os.path.join(bench.work, "empty")
    root = harness.toolkit_of(harness.find_nvcc())
    headers = next((f for f in (f"{root}/compute-sanitizer/include", f"{root}/extras/compute-sanitizer/include", f"{root}/include")
                    if os.path.exists(f"{f}/sanitizer_patching.h")), None)
    if not headers or not os.path.exists(os.path.join(home, "lib", "sonde", "sonde-patches.fatbin")):
        bench.failed["Compute Sanitizer"] = "no headers of it, or this Sonde has no patches"
        return None
    for part in ("bin", "lib"):
        shutil.copytree(os.path.join(home, part), os.path.join(tree, part), symlinks=True, dirs_exist_ok=True)
    major, minor = harness.ask_gpu().capability
    made = compiled(bench, "gpu_empty_patch.cu", os.path.join(tree, "lib", "sonde", "sonde-patches.fatbin"), "-fatbin", "--compile-as-tools-patch",
                    "--keep-device-functions", "-gencode", f"arch=compute_{major}{minor},code=sm_{major}{minor}", "-I", headers)
    return os.path.join(tree, "bin", "sonde") if made else None


def sanitizer(bench, seconds, nothing):
    empty = emptied(bench)
    if not empty:
        return
    found, names = {}, (EMPTY, "--values-engine=sanitizer", "--values-engine=sanitizer --values-sample=1")
    for kind in KINDS:
        plain = [bench.launch, "kernels", kind, "30"]
        record = bench.record(plain, "--cpu", "0", *SANITIZER)
        variants = {nothing: lambda plain=plain: bench.number(plain), names[0]: lambda record=record: bench.number([empty, *record[1:]]),
                    names[1]: lambda record=record: bench.number(record),
                    names[2]: lambda plain=plain: bench.number(bench.record(plain, "--cpu", "0", *SANITIZER[:2], "--values-sample=1"))}
        found[kind] = bench.rounds(f"sanitizer of {kind}", variants, set(variants), seconds / len(KINDS), 3)
    table(bench, "30 launches through Compute Sanitizer. × of the same without Sonde.", names, KINDS, found, nothing)
    table(bench, "× of patches that return at once.", names[1:2], KINDS, found, EMPTY)


def loading(bench, seconds):
    major, minor = harness.ask_gpu().capability
    found, kinds = {}, {"PTX alone": f"arch=compute_{major}{minor},code=compute_{major}{minor}",
                        "machine code, too": f"arch=compute_{major}{minor},code=[compute_{major}{minor},sm_{major}{minor}]"}
    for number, (kind, code) in enumerate(kinds.items()):
        program = os.path.join(bench.work, f"modules{number}")
        if not compiled(bench, "gpu_modules.cu", program, "-gencode", code):
            return
        variants = {}
        for name, options in LOADS.items():
            cache = os.path.join(bench.work, f"cache{number}-{len(variants)}")

            def first(options=options, cache=cache, program=program):
                shutil.rmtree(cache, ignore_errors=True)
                return again(options, cache, program)

            def again(options=options, cache=cache, program=program):
                return bench.number(bench.record([program], "--cpu", "0", *options), {"CUDA_CACHE_PATH": cache})
            variants[name + ", compiled"], variants[name + ", kept by the driver"] = first, again
        for run in variants.values():
            run()  # what is kept is there
        found[kind] = bench.rounds(f"loading {kind}", variants, set(variants), seconds / len(kinds), 3)
    bench.say("64 kernels of one module, launched once each: ms.\n")
    bench.say("| Recorded with | " + " | ".join(kinds) + " |\n|---|---|---|")
    for name in found["PTX alone"]:
        bench.say(f"| {name} | " + " | ".join(f"{(bench.median(found[kind], name, 'ns') or 0) / 1e6:,.1f}" for kind in kinds) + " |")
    bench.say()


def run(bench, seconds, nothing):
    bench.say("## Kernels looked at for their values\n")
    launches(bench, seconds * 0.45, nothing)
    sanitizer(bench, seconds * 0.25, nothing)
    loading(bench, seconds * 0.3)
