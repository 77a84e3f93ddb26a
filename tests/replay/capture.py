#!/usr/bin/env python3
"""On a machine with a GPU: capture what CUPTI tells of known-answer programs, for data/.

    capture.py [--sonde build/bin/sonde] [--work DIR] [--out DIR] [CASE...]

Writes captures.tar.gz (NAME.cap, NAME.truth) to --out (default $OUT). Then, where zstd is:
tar xzf captures.tar.gz; zstd -19 --rm NAME.cap -o data/NAME.cap.zst; mv NAME.truth data/.
Only what passes tests/gpu is worth capturing: run.py compares with the same numbers.
"""
import argparse
import os
import subprocess
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "..", "gpu"))
import cases  # noqa: E402
import harness  # noqa: E402

CHOSEN = ["counts", "entries", "batch", "streams", "waits", "graphs", "graph-changes", "per-thread-streams", "callbacks", "reset",
          "memory", "launch-attributes", "thousand-streams", "context-destroyed"]


def build_library(nvcc, work):
    headers, cupti = harness.cupti_of_toolkit(nvcc)
    library = os.path.join(work, "libcupti-capture.so")
    subprocess.run(["gcc", "-std=c17", "-D_GNU_SOURCE", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-I", f"{ROOT}/src", "-I",
                    f"{ROOT}/include", "-isystem", headers, "-isystem", f"{harness.toolkit_of(nvcc)}/include", os.path.join(HERE, "capture.c"), "-o", library,
                    "-ldl", "-pthread"], check=True)
    return library, cupti


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="CASE", default=CHOSEN)
    parser.add_argument("--sonde", default=os.path.join(ROOT, "build", "bin", "sonde"))
    parser.add_argument("--work", default=os.path.join(ROOT, "build", "tests", "gpu"))
    parser.add_argument("--out", default=os.environ.get("OUT", "."))
    options = parser.parse_args()
    gpu, nvcc, work = harness.ask_gpu(), harness.find_nvcc(), os.path.abspath(options.work)
    if gpu.reason or not nvcc:
        print(f"skipped: {gpu.reason or 'there is no nvcc'}")
        return harness.SKIP
    programs = os.path.join(work, "bin")
    failed = harness.build(nvcc, gpu, programs, print)
    library, cupti = build_library(nvcc, work)
    files, status = [], 0
    for case in cases.CASES:
        if case.name not in options.names:
            continue
        capture, truth = (os.path.join(work, case.name + end) for end in (".cap", ".truth"))
        for path in (capture, truth):
            if os.path.exists(path):
                os.unlink(path)
        env = harness.environment(SONDE_CUPTI=library, SONDE_CAPTURE_CUPTI=cupti, SONDE_CAPTURE_FILE=capture, SONDE_TEST_TRUTH=truth)
        command = [part.format(bin=programs) for part in case.command]
        outcome = harness.run([options.sonde, "record", "-q", "--force", "-o", os.path.join(work, "capture.sonde"), *case.options, "--",
                               *command], env, work, 120)
        good = outcome.status == case.status and os.path.exists(capture) and not failed.get(case.name)
        status |= not good
        size = os.path.getsize(capture) if os.path.exists(capture) else 0
        print(f"{'ok  ' if good else 'FAIL'} {case.name}: {size:,} bytes {'' if good else harness.tail(outcome.err)}", flush=True)
        files += [path for path in (capture, truth) if good and os.path.exists(path)]
    with tarfile.open(os.path.join(options.out, "captures.tar.gz"), "w:gz") as tar:
        for path in files:
            tar.add(path, os.path.basename(path))
    return status


if __name__ == "__main__":
    sys.exit(main())
