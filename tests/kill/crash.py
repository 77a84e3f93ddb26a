#!/usr/bin/env python3
"""A program of CUDA crashes right after its first work: all of it is kept, and nobody says that there was none.
One that waits within a call of the runtime's which does not return is ended by a signal all the same.

    crash.py --sonde build/bin/sonde --counting X --work DIR --cache DIR --cupti LIB CUDA_STEADY

Without the preload library nobody tells Sonde of the end: then what is said must be true all the same.
"""
import argparse
import os
import shutil
import signal
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import harness  # noqa: E402
import run  # noqa: E402
from harness import Failure  # noqa: E402

LAUNCHES = 101


def crash(options, extra):
    measurement = os.path.join(options.work, "m.sonde")
    shutil.rmtree(options.work, ignore_errors=True)
    os.makedirs(options.work)
    env = harness.environment(options, SONDE_CUPTI=os.path.abspath(options.cupti))
    outcome = harness.run([options.sonde, "record", *extra, "-o", measurement, "--", options.steady,
                           os.path.join(options.work, "log"), "crash"], env)
    if outcome.status != -signal.SIGABRT:
        raise Failure(f"record gave {harness.describe(outcome.status)}\n{harness.tail(outcome.err)}")
    return measurement, env, outcome.err.decode(errors="replace")


def check_kept(options):
    measurement, env, line = crash(options, [])
    book = harness.ledger(options, measurement, env)
    kernels = harness.operations(book).get("kernel", 0)
    if kernels != LAUNCHES or harness.number(book["in_flight"]):
        raise Failure(f"{kernels} of {LAUNCHES} kernels kept, {book['in_flight']} in flight; the line: {line!r}")
    if f"{LAUNCHES + 1} operations, 0 dropped" not in line:
        raise Failure(f"the line: {line!r}")


def check_said(options):
    measurement, env, line = crash(options, ["--no-preload"])
    said = line + harness.run([options.sonde, "report", measurement], env).err.decode(errors="replace")
    if "signal 6 (Aborted)" not in line:
        raise Failure(f"the line does not say how it ended: {line!r}")
    for wrong in ("enqueued no operation", "enqueued nothing"):
        if wrong in said:
            raise Failure(f"{LAUNCHES} kernels ran, and yet: {said!r}")


def check_stuck(options):
    work, log = options.work, os.path.join(options.work, "log")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    env = harness.environment(options, SONDE_CUPTI=os.path.abspath(options.cupti))
    with subprocess.Popen([options.sonde, "record", "-q", "-o", os.path.join(work, "m.sonde"), "--", options.steady, log, "stuck"],
                          env=env) as child:
        os.kill(run.wait_for_start(log, child, need_entry=True).pid, signal.SIGTERM)
        try:
            status = child.wait(harness.PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            raise Failure("SIGTERM did not end a program that waits for the device") from None
    if status != -signal.SIGTERM:
        raise Failure(f"record gave {harness.describe(status)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_arguments(parser)
    parser.add_argument("--cupti", required=True)
    parser.add_argument("steady")
    options = parser.parse_args()
    options.work = os.path.abspath(options.work)
    failed = 0
    for name, check in (("kept", check_kept), ("said", check_said), ("stuck", check_stuck)):
        for _ in range(5):
            try:
                check(options)
            except Failure as why:
                failed += 1
                print(f"FAIL {name}: {why}", flush=True)
    print(f"15 crashes, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
