#!/usr/bin/env python3
"""Programs of NVIDIA's multi-gpu-programming-models whose kernels store their borders into the neighbours' memory: record --comm must count each
store. In each iteration a GPU stores nx - 2 numbers of 4 bytes to the GPU above it and as many to the one below.

    jacobi.py --sonde build/bin/sonde --source multi-gpu-programming-models --out DIR

Status 1: a count differs, or the program's result does; 77: there is one GPU only.
"""
import argparse
import json
import os
import subprocess
import sys

import harness

PROGRAMS = {"multi_threaded_p2p": True, "multi_threaded_p2p_opt": True, "multi_threaded_copy_overlap": False, "single_threaded_copy": False}
NX, ITERATIONS = 2048, 200


def build(options, name):
    program = os.path.join(options.out, name)
    major, minor = harness.ask_gpu().capability
    subprocess.run([harness.find_nvcc(), "-std=c++17", "-O3", f"-arch=sm_{major}{minor}", "-lineinfo", "-DHAVE_CUB", "-Xcompiler", "-fopenmp",
                    os.path.join(options.source, name, "jacobi.cu"), "-o", program], check=True)
    return [program, "-nx", str(NX), "-ny", str(NX), "-niter", str(ITERATIONS)]


def check(options, name, stores, gpus):
    command, path = build(options, name), os.path.join(options.out, name + ".sonde")
    done = subprocess.run([options.sonde, "record", "-q", "-f", "--comm", "-o", path, "--", *command], capture_output=True, text=True, check=False)
    found = json.loads(subprocess.run([options.sonde, "report", path, "comm", "--json"], capture_output=True, text=True, check=True).stdout)
    pairs = {(p["from"], p["to"]): (p["operations"], p["bytes"]) for p in found["pairs"] if p["kind"] == "store"}
    expected = {}
    for gpu in range(gpus if stores else 0):
        for neighbour in ((gpu - 1) % gpus, (gpu + 1) % gpus):
            count, size = expected.get((gpu, neighbour), (0, 0))
            expected[gpu, neighbour] = count + ITERATIONS * (NX - 2), size + 4 * ITERATIONS * (NX - 2)
    others = [p for p in found["pairs"] if p["kind"] in ("load", "atomic")]
    whole = all(c["looked_at"] == c["launches"] for c in found["coverage"]) and all(p["exact"] for p in found["pairs"])
    good = done.returncode == 0 and "Num GPUs" in done.stdout and pairs == expected and not others and whole
    print(f"{'PASS' if good else 'FAIL'} {name}: stores {pairs}, expected {expected}; other accesses {others}; status {done.returncode}", flush=True)
    if not good:
        print(done.stdout[-400:], done.stderr[-400:], found["coverage"], sep="\n")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sonde", required=True, type=os.path.abspath)
    parser.add_argument("--source", required=True)
    parser.add_argument("--out", required=True, type=os.path.abspath)
    options = parser.parse_args()
    gpus = harness.ask_gpu().count
    if gpus < 2:
        print("skipped: one GPU only")
        sys.exit(77)
    os.makedirs(options.out, exist_ok=True)
    sys.exit(0 if all([check(options, name, stores, gpus) for name, stores in PROGRAMS.items()]) else 1)


if __name__ == "__main__":
    main()
