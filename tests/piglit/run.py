#!/usr/bin/env python3
"""Piglit's OpenCL tests as the oracle of transparency.

    run.py --sonde build/bin/sonde --counting libcounting.so --work DIR --cache DIR [--all]

Runs the tests once without Sonde and once with it. A result may differ with
Sonde only where a second run without differs from the first. In the run with
Sonde the counting layer stands behind it, and the two must agree. Another run,
of the execution tests, is with --values=all, in which most launches must be of
instrumented kernels.
Without --all: the API and interoperability tests, and of the build and execution tests a part,
of which every second one; with --all every one of the 710 programs. With --runtime another runtime than
PoCL runs them, without --values (tests/values does that).
"""
import argparse
import bz2
import glob
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import harness  # noqa: E402
from harness import Failure  # noqa: E402

# Each costs a process and, the first time and with --values, compilers: of what differs only in its type there are one or two.
SUBSET = ["^api", "^custom", "^interop", "^program@build", "^program@(?!build|execute)",
          "^program@execute@(?!builtin|vload|vstore|store|scalar-arith|scalar-load|scalar-comparison-(?!float)|scalar-logical-(?!int)|amdgcn|atomic_"
          "|get-(?!global-id|num-groups)|load-lo|load-hi16-|fdiv-modifiers-f32|v[24]i32|clz|bswap|mad-mix|calls-(?!large)|gegl-(?!rgb))",
          "^program@execute@atomic_(add|int32_cmpxchg|int64_xchg)-(local|global-return)",
          "^program@execute@builtin@builtin-(float-(remquo|ldexp)|int-mul_hi|ulong-clz)",
          "^program@execute@(vload-int|vstore-float|store-kernel)"]


def results_of(folder):
    """{test or test/subtest: result}"""
    path = glob.glob(os.path.join(folder, "results.json*"))[0]
    opener = bz2.open if path.endswith(".bz2") else open
    with opener(path, "rt") as file:
        tests = json.load(file)["tests"]
    flat = {}
    for name, test in tests.items():
        flat[name] = test["result"]
        for part, result in test["subtests"].items():
            flat[f"{name}/{part}"] = result
    return flat


def some(options, tests):
    """A file with the names of those of the subset that begin so; of build and execution tests it has every second one."""
    patterns = [word for pattern in SUBSET if pattern.startswith(tests) for word in ("-t", pattern)]
    listed = subprocess.run(["piglit", "print-cmd", *patterns, "cl"], capture_output=True, text=True, check=True).stdout
    names = sorted(line.split(" ::: ")[0] for line in listed.splitlines() if " ::: " in line)
    dear = [name for name in names if name.startswith(("program@build", "program@execute"))]
    path = os.path.join(options.folder, "tests")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(name + "\n" for name in names if name not in dear[1::2])
    return path


def run(options, label, prefix, env, tests="^"):
    out = os.path.join(options.folder, label)
    command = prefix + ["piglit", "run", "-c", "-j", "2", "-l", "quiet"]
    if not options.all:
        command += ["--test-list", some(options, tests)]
    outcome = harness.run(command + ["cl", out], env, cwd=options.folder, timeout=options.timeout)
    if outcome.status != 0:
        raise Failure(f"piglit {label} gave {harness.describe(outcome.status)}\n{harness.tail(outcome.err)}")
    return results_of(out)


def check_same(options, env, label, first, other):
    """Results that are always the same are the same in the run `other`."""
    different = [name for name in sorted(set(first) | set(other)) if first.get(name) != other.get(name)]
    second = run(options, "again" + label.replace(" ", "-"), [], env) if different else {}
    changed = [f"{name}: {first.get(name)} without, {other.get(name)} with" for name in different if first.get(name) == second.get(name)]
    kinds = {result: list(other.values()).count(result) for result in sorted(set(other.values()))}
    print(f"{len(other)} results {kinds}, {len(different) - len(changed)} differ between two runs without, {len(changed)} changed {label}")
    if changed:
        raise Failure("\n    ".join(["results changed:"] + changed[:30]))


def check_instrumented(options, measurement):
    """Of all launches: how many were of an instrumented copy, and why others were not."""
    command = [options.sonde, "report", measurement, "values", "--json"]
    coverage = json.loads(harness.run(command, harness.environment(options), timeout=600).out)["coverage"]
    kernels = [c for c in coverage if not c["kernel"].startswith("clEnqueue")]
    launches, seen = sum(c["launches"] for c in kernels), sum(c["launches"] for c in kernels if c["engine"] == "spirv")
    print(f"{seen} of {launches} launches instrumented, {sum(c['engine'] == 'spirv' for c in kernels)} of {len(kernels)} kernels")
    for reason in sorted({c["reason"] for c in kernels if c["engine"] != "spirv"}, key=str):
        print(f"    {sum(c['launches'] for c in kernels if c['engine'] != 'spirv' and c['reason'] == reason)} not: {reason}")
    if seen < 0.7 * launches:
        raise Failure(f"{seen} of {launches} launches instrumented")


def test(options):
    options.folder = os.path.join(os.path.abspath(options.work), "all" if options.all else "runtime" if options.runtime else "subset")
    shutil.rmtree(options.folder, ignore_errors=True)
    os.makedirs(options.folder)
    prefix, measurement = os.path.join(options.folder, "count"), os.path.join(options.folder, "m.sonde")
    env = harness.environment(options, COUNT_OUT=prefix)
    first, plain = run(options, "first", [], env), dict(env)
    env["OPENCL_LAYERS"] = os.path.abspath(options.counting)
    sonde = [options.sonde, "record", "-q", "-o", measurement, "--"] if options.sonde else []
    with_sonde = run(options, "with", sonde, env)
    check_same(options, plain, "with Sonde", first, with_sonde)
    counted = harness.counts.read(prefix)
    print(f"counted in {harness.counts.processes(prefix)} processes: {counted}")
    if options.sonde:
        book = harness.ledger(options, measurement, harness.environment(options))
        # Some of these programs end, on purpose, with commands that can never run.
        print(f"unmatched {book.get('unmatched')}")
        harness.check_counts(book, counted, unmatched_ok=True)
    if options.sonde and not options.runtime:
        values = os.path.join(options.folder, "values.sonde")
        del env["OPENCL_LAYERS"], env["COUNT_OUT"]
        with_values = run(options, "values", [options.sonde, "record", "-q", "--values=all", "-o", values, "--"], env, "^program@execute")
        check_same(options, plain, "with --values=all", {name: result for name, result in first.items() if name in with_values}, with_values)
        check_instrumented(options, values)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_arguments(parser)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--timeout", type=float, default=10000)
    options = parser.parse_args()
    harness.device_or_skip(options.runtime)
    if not shutil.which("piglit"):
        print("skipped: piglit is not installed (package piglit)")
        sys.exit(harness.SKIP)
    try:
        test(options)
    except Failure as why:
        print(f"FAIL piglit: {why}")
        sys.exit(1)
    shutil.rmtree(options.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
