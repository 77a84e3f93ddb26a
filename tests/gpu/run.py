#!/usr/bin/env python3
"""Known-answer CUDA programs and PyTorch, without Sonde and with it, against exact numbers.

    run.py [--sonde build/bin/sonde] [--work DIR] [--out DIR] [--budget SECONDS] [NAME...]
    run.py --list
    run.py --build-only         compile the programs; needs nvcc, no GPU
    run.py --can-run            only say whether this machine can

One line per check: PASS, FAIL or SKIP with the reason. results.json, with the driver, devices, versions and date,
goes to --out (default: $OUT, else --work). Status 0: all that ran passed; 1: something failed; 77: nothing could run.
"""
import argparse
import datetime
import fnmatch
import json
import os
import shutil
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "report")]
import cases  # noqa: E402
import code_cases  # noqa: E402
import comm_cases  # noqa: E402
import harness  # noqa: E402
import sums  # noqa: E402
import tool_cases  # noqa: E402
import torch_cases  # noqa: E402
import values_cases  # noqa: E402
from harness import SKIP, Broken, Measurement, Skipped, describe, tail  # noqa: E402


class Runner:
    def __init__(self, options, gpu):
        self.sonde, self.work, self.gpu = os.path.abspath(options.sonde), os.path.abspath(options.work), gpu
        self.bin = os.path.join(self.work, "bin")
        self.results, self.seconds = [], {}

    # -- saying

    def say(self, verdict, case, what, detail=""):
        self.results.append({"case": case, "check": what, "verdict": verdict, "detail": detail})
        print(f"{verdict} {case}: {what}" + (f" ({detail})" if detail and verdict != "PASS" else ""), flush=True)

    def check(self, case, what, holds, detail=""):
        self.say("PASS" if holds else "FAIL", case, what, detail)

    # -- running

    def folder(self, name):
        path = os.path.join(self.work, name)
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        return path

    def plain(self, command, env, folder, timeout):
        env = harness.environment(SONDE_TEST_TRUTH=os.path.join(folder, "plain.truth"), **env)
        return harness.run(command, env, folder, timeout)

    def record(self, command, env, folder, timeout, options=()):
        path, truth = os.path.join(folder, "m.sonde"), os.path.join(folder, "sonde.truth")
        env = harness.environment(SONDE_TEST_TRUTH=truth, **env)
        outcome = harness.run([self.sonde, "record", "-q", "-o", path, *options, "--", *command], env, folder, timeout)
        return Measurement(self.sonde, path, harness.read_truth(truth), outcome)

    # -- one case of cases.py

    def compare_outcomes(self, case, plain, measured):
        self.check(case.name, f"ends with {describe(plain.status)}", measured.status == plain.status == case.status,
                   f"{describe(plain.status)} without, {describe(measured.status)} with, expected {describe(case.status)}: "
                   f"{tail(measured.err)}")
        for stream in case.streams:
            a, b = getattr(plain, stream), getattr(measured, stream)
            self.check(case.name, f"same std{stream}", a == b, f"without: {tail(a)} with: {tail(b)}")

    def test(self, case, failed_builds):
        command = [part.format(bin=self.bin) for part in case.command]
        for target, error in failed_builds.items():
            if any(os.path.join(self.bin, target) == word for part in command for word in part.split()):
                raise Broken(f"{target} does not compile: {error}")
        for tool in case.needs:
            if not shutil.which(tool):
                raise Skipped(f"{tool} is not installed")
        folder = self.folder(case.name)
        plain = self.plain(command, case.env, folder, case.timeout)
        if plain.status == SKIP:
            raise Skipped(plain.out.decode(errors="replace").replace("skipped: ", "").strip())
        m = self.record(command, case.env, folder, case.timeout, case.options)
        self.compare_outcomes(case, plain, m.outcome)
        cases.compare_numbers(self, case, m)
        self.sums(case, m)

    def sums(self, case, m):
        """What holds in every measurement: one line, but each that fails."""
        verdicts = list(sums.verdicts(m.view, m.view("export"))) if m.view("ledger")["seen"] else []
        for what, holds, detail in verdicts:
            if not holds:
                self.say("FAIL", case.name, what, detail)
        self.check(case.name, f"{len(verdicts)} sums of the views", all(holds for _, holds, _ in verdicts))

    # -- everything

    def one(self, case, deadline, run):
        begin = time.monotonic()
        if begin > deadline:
            self.say("SKIP", case.name, "the time of --budget is over")
            return
        if self.gpu.count < case.gpus:
            self.say("SKIP", case.name, f"needs {case.gpus} GPUs, this machine has {self.gpu.count}")
            return
        try:
            run()
        except Skipped as why:
            self.say("SKIP", case.name, str(why))
        except Broken as why:
            self.say("FAIL", case.name, str(why))
        except Exception as error:  # an answer without the expected parts fails its case, not the rest
            self.say("FAIL", case.name, f"{type(error).__name__}: {error}")
        self.seconds[case.name] = round(time.monotonic() - begin, 2)
        if not any(r["case"] == case.name and r["verdict"] == "FAIL" for r in self.results):
            shutil.rmtree(os.path.join(self.work, case.name), ignore_errors=True)

    def test_tool(self, case, failed_builds):
        if failed_builds:
            raise Broken(f"not all programs compile: {sorted(failed_builds)}")
        for verdict in case.test(self):
            self.check(case.name, *verdict)

    def test_torch(self, case, python):
        for verdict in case.test(self, python):
            self.check(case.name, *verdict)

    def doctor(self):
        answer = json.loads(harness.output_of([self.sonde, "doctor", "--json"]) or "{}")
        checks = answer.get("checks", [])
        said = {c["name"]: c for c in checks}
        text = {name: said.get(name, {}).get("text", "nothing") for name in ("CUDA driver", "CUPTI", "GPU counters", "CUDA recording")}
        query = harness.output_of(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]) or ""
        smi = [line.split(", ") for line in query.splitlines()]
        self.check("doctor", "recording CUDA works", answer.get("records_cuda"), text["CUDA recording"])
        self.check("doctor", "names the driver as nvidia-smi does", smi and smi[0][1] in text["CUDA driver"], text["CUDA driver"])
        devices = [c["text"] for c in checks if c["name"] == "CUDA device"]
        self.check("doctor", "names each device", len(devices) == self.gpu.count and
                   all(device.startswith(name) for device, (name, _) in zip(devices, smi)), str(devices))
        self.check("doctor", "says which CUPTI", said.get("CUPTI", {}).get("status") == "ok" and
                   "API version 0" not in text["CUPTI"], text["CUPTI"])
        self.check("doctor", "says who may read counters", "GPU counters" in said, text["GPU counters"])

    def versions(self, nvcc):
        query = harness.output_of(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
        return {
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "devices": (query or "").splitlines(), "cuda_driver": self.gpu.driver,
            "nvcc": (harness.output_of([nvcc, "--version"]) or "").splitlines()[-2:] if nvcc else None,
            "sonde": harness.output_of([self.sonde, "--version"]), "kernel": os.uname().release,
            "libc": " ".join(os.confstr("CS_GNU_LIBC_VERSION").split()),
        }


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases to run; shell patterns")
    parser.add_argument("--sonde", default=os.path.join(HERE, "..", "..", "build", "bin", "sonde"))
    parser.add_argument("--work", default=os.path.join(HERE, "..", "..", "build", "tests", "gpu"))
    parser.add_argument("--out", default=os.environ.get("OUT"))
    parser.add_argument("--budget", type=float, default=1e9, help="begin no case after so many seconds")
    parser.add_argument("--with", dest="also", metavar="OPTION", help="record with this, too (--with=--pc), the programs whose own options go with it")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--can-run", action="store_true")
    return parser.parse_args()


def build_or_skip(runner, nvcc):
    if not nvcc:
        print("skipped: the programs are compiled with nvcc, and there is none on this machine")
        sys.exit(SKIP)
    return harness.build(nvcc, runner.gpu, runner.bin, print)


ALONE = ("--values", "--comm", "--counter", "--pc", "--delay", "--duration", "--start-off", "--capture", "--pid", "--replay", "--light")


def with_another(option):
    """The known-answer programs alone, and of these whatever has no option of ALONE."""
    goes = [case for case in cases.CASES if not any(word.startswith(ALONE) for word in case.options)]
    for case in goes:
        case.options = [*case.options, option]
    cases.CASES[:] = goes
    for other in values_cases, comm_cases, code_cases, tool_cases, torch_cases:
        other.CASES[:] = []


def native_cases():
    return cases.CASES + values_cases.CASES + comm_cases.CASES + code_cases.CASES


def main():
    options = parse()
    if options.also:
        with_another(options.also)
    if options.list:
        print("\n".join(case.name for case in native_cases() + tool_cases.CASES + torch_cases.CASES))
        return 0
    gpu, nvcc = harness.ask_gpu(), harness.find_nvcc()
    runner = Runner(options, gpu)
    if options.build_only:
        failed = build_or_skip(runner, nvcc)
        for target, error in failed.items():
            print(f"FAIL {target}: {error}")
        return 1 if failed else 0
    if gpu.reason:
        print(f"skipped: {gpu.reason}")
        return SKIP
    if options.can_run:
        return 0
    if not os.access(runner.sonde, os.X_OK):
        print(f"{runner.sonde} is not there; build it first (make), or name it with --sonde")
        return 1
    deadline = time.monotonic() + options.budget

    def chosen(case):
        return not options.names or any(fnmatch.fnmatch(case.name, pattern) for pattern in options.names)

    native = [case for case in native_cases() if chosen(case)]
    tools = list(filter(chosen, tool_cases.CASES))
    failed_builds = build_or_skip(runner, nvcc) if native or tools else {}
    for case in native:
        runner.one(case, deadline, lambda case=case: runner.test(case, failed_builds))
    for case in tools:
        runner.one(case, deadline, lambda case=case: runner.test_tool(case, failed_builds))
    python = None
    for case in filter(chosen, torch_cases.CASES):
        def run(case=case):
            nonlocal python
            python = python or torch_cases.python_with_torch()
            runner.test_torch(case, python)
        runner.one(case, deadline, run)
    if not options.names:
        runner.doctor()
    return finish(runner, options, nvcc)


def finish(runner, options, nvcc):
    counts = {v: sum(r["verdict"] == v for r in runner.results) for v in ("PASS", "FAIL", "SKIP")}
    out = options.out or runner.work
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "results.json"), "w", encoding="utf-8") as file:
        json.dump({**runner.versions(nvcc), "counts": counts, "seconds": runner.seconds, "results": runner.results}, file, indent=1)
    for result in runner.results:
        if result["verdict"] == "FAIL":
            print(f"failed: {result['case']}: {result['check']}")
    print(f"{counts['PASS']} passed, {counts['FAIL']} failed, {counts['SKIP']} skipped on {runner.gpu.count} GPU(s)")
    return 1 if counts["FAIL"] else 0 if counts["PASS"] else SKIP


if __name__ == "__main__":
    sys.exit(main())
