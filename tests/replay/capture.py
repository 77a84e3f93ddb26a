#!/usr/bin/env python3
"""On a machine with a GPU: capture what CUPTI tells of known-answer programs, for data/.

    capture.py [--sonde build/bin/sonde] [--work DIR] [--out DIR] [CASE...]

Writes captures.tar.gz (NAME.cap, NAME.truth, of PyTorch NAME.kernels.json) to --out (default $OUT). Then, where zstd is:
tar xzf captures.tar.gz; zstd -19 --rm NAME.cap -o data/NAME.cap.zst; mv NAME.truth NAME.kernels.json data/.
Only what passes tests/gpu is worth capturing: run.py compares with the same numbers.
"""
import argparse
import json
import os
import subprocess
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "..", "gpu"))
import cases  # noqa: E402
import harness  # noqa: E402
import torch_cases  # noqa: E402

CHOSEN = ["counts", "entries", "batch", "streams", "waits", "graphs", "graph-changes", "child-graphs", "conditional-graphs", "per-thread-streams", "callbacks",
          "reset", "memory", "launch-attributes", "habits", "thousand-streams", "context-destroyed", "torch-eager", "torch-graphed"]


def build_library(nvcc, work):
    headers, cupti = harness.cupti_of_toolkit(nvcc)
    library = os.path.join(work, "libcupti-capture.so")
    subprocess.run(["gcc", "-std=c17", "-D_GNU_SOURCE", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-I", f"{ROOT}/src", "-I",
                    f"{ROOT}/include", "-isystem", headers, "-isystem", f"{harness.toolkit_of(nvcc)}/include", os.path.join(HERE, "capture.c"), "-o", library,
                    "-ldl", "-pthread"], check=True)
    return library, cupti


class Capturer:
    def __init__(self, options, nvcc):
        self.sonde, self.work = options.sonde, os.path.abspath(options.work)
        self.library, self.cupti = build_library(nvcc, self.work)
        self.files, self.status = [], 0

    def capture(self, name, command, options=(), status=0):
        """The files of one run; what did not go well is said and left out."""
        capture, truth = (os.path.join(self.work, name + end) for end in (".cap", ".truth"))
        for path in (capture, truth):
            if os.path.exists(path):
                os.unlink(path)
        env = harness.environment(SONDE_CUPTI=self.library, SONDE_CAPTURE_CUPTI=self.cupti, SONDE_CAPTURE_FILE=capture,
                                  SONDE_TEST_TRUTH=truth)
        outcome = harness.run([self.sonde, "record", "-q", "--force", "-o", os.path.join(self.work, "capture.sonde"), *options, "--",
                               *command], env, self.work, 120)
        good = outcome.status == status and os.path.exists(capture)
        self.status |= not good
        size = os.path.getsize(capture) if os.path.exists(capture) else 0
        print(f"{'ok  ' if good else 'FAIL'} {name}: {size:,} bytes {'' if good else harness.tail(outcome.err)}", flush=True)
        self.files += [path for path in (capture, truth) if good and os.path.exists(path)]

    def capture_torch(self, case, python):
        """With it, how often PyTorch's own profiler sees each kernel in the steady part of another run."""
        self.capture(case.name, case.command(python))
        kineto, kernels = (os.path.join(self.work, case.name + end) for end in (".kineto.json", ".kernels.json"))
        harness.run(case.command(python), harness.environment(SONDE_TEST_KINETO=kineto), self.work, 120)
        with open(kernels, "w", encoding="utf-8") as file:
            json.dump(torch_cases.kineto_counts(kineto)[0], file, indent=0)
        self.files.append(kernels)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="CASE", default=CHOSEN)
    parser.add_argument("--sonde", default=os.path.join(ROOT, "build", "bin", "sonde"))
    parser.add_argument("--work", default=os.path.join(ROOT, "build", "tests", "gpu"))
    parser.add_argument("--out", default=os.environ.get("OUT", "."))
    options = parser.parse_args()
    gpu, nvcc = harness.ask_gpu(), harness.find_nvcc()
    if gpu.reason or not nvcc:
        print(f"skipped: {gpu.reason or 'there is no nvcc'}")
        return harness.SKIP
    programs = os.path.join(os.path.abspath(options.work), "bin")
    failed = harness.build(nvcc, gpu, programs, print)
    capturer = Capturer(options, nvcc)
    for case in cases.CASES:
        if case.name in options.names and not failed.get(case.name):
            capturer.capture(case.name, [part.format(bin=programs) for part in case.command], case.options, case.status)
    torch = [case for case in torch_cases.CASES if case.name in options.names]
    python = torch_cases.python_with_torch() if torch else None
    for case in torch:
        capturer.capture_torch(case, python)
    with tarfile.open(os.path.join(options.out, "captures.tar.gz"), "w:gz") as tar:
        for path in capturer.files:
            tar.add(path, os.path.basename(path))
    return capturer.status


if __name__ == "__main__":
    sys.exit(main())
