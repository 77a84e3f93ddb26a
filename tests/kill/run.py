#!/usr/bin/env python3
"""Kill a measured program at random moments; each measurement must be readable and nearly complete.

    run.py --sonde build/bin/sonde --counting X --work DIR --cache DIR --runs 50 [--seed N] STEADY
    run.py ... --cupti LIB --modes slow fast -- CUDA_STEADY
    run.py ... --cuda --modes slow fast -- KILLED

With --cupti the program is one of CUDA, whose CUPTI is LIB (tests/kill/cuda); with --cuda it runs on a GPU (tests/gpu).
Of every three kills, one takes the program, by one signal after the other, and of most that can be told nothing may be
missing; one takes `sonde record` with it (so nobody seals), one comes while the program starts. What a measurement must
hold is in the program's own log: everything completed a second before the kill, and never more than had been enqueued.
Where the machine let the agent's monitor thread or the program wait, the second counts from before that; for half of
the kills at least it must hold as it stands. In mode long, after SIGKILL, that goes for what ended before the long kernel
began: of what ran beside it nothing is there, and all of it counts as in flight (docs/cuda.md).
"""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import harness  # noqa: E402
from harness import Failure  # noqa: E402

SECOND = 1_000_000_000
BEFORE_LONG = 100  # kernels of mode long that end before its long one begins
# Of these all but the first can be told. With PoCL, LLVM has handlers for the last two, after which the program lives on.
SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT)

# Of one kill: kernels; `strictly`: all that had finished a second before are kept.
Kill = collections.namedtuple("Kill", "enqueued finished kept strictly")


def raw_now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


class Log:
    """The program's own account of what it enqueued and what had completed when."""

    def __init__(self, path):
        self.pid = self.enqueued = 0
        self.entries = []
        if not os.path.exists(path) or os.path.getsize(path) < 24:
            return
        with open(path, "rb") as file:
            self.pid, self.enqueued, count = struct.unpack("<QQQ", file.read(24))
            self.entries = list(struct.iter_unpack("<QQ", file.read(16 * count)))

    def completed_at(self, moment):
        return max((done for when, done in self.entries if when <= moment), default=0)

    def longest_pause(self, moment):
        """Nanoseconds in which the program, which completes something every millisecond, completed nothing."""
        times = [when for when, _ in self.entries if when <= moment] + [moment]
        return max((after - before for before, after in zip(times, times[1:])), default=0)


def wait_for_start(path, child, need_entry):
    deadline = time.monotonic() + harness.PATIENCE
    while time.monotonic() < deadline:
        log = Log(path)
        if log.pid and (log.entries or not need_entry):
            return log
        if child.poll() is not None:
            raise Failure(f"ended by itself with {child.returncode} before it was killed")
        time.sleep(0.002)
    raise Failure("the program never started")


def kill_once(options, index):
    dice = random.Random(options.seed * 100003 + index)
    kind = ("program", "both", "early")[index % 3]
    signals = SIGNALS if options.cuda else SIGNALS[:3]
    number = signals[index // 3 % len(signals)] if kind == "program" else signal.SIGKILL
    mode = [options.modes[index // 3 % len(options.modes)]] if options.modes else []
    folder = os.path.join(os.path.abspath(options.work), f"kill-{index}")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    log_path, measurement = os.path.join(folder, "log"), os.path.join(folder, "m.sonde")
    env = environment(options)
    child = subprocess.Popen([options.sonde, "record", "-o", measurement, "--", options.steady, log_path, *mode],
                             env=env, cwd=folder, start_new_session=True, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    log = wait_for_start(log_path, child, need_entry=kind != "early")
    time.sleep(dice.uniform(0, 0.15) if kind == "early" else dice.uniform(0.05, options.longest))
    killed = raw_now()
    try:
        os.kill(log.pid, number)
        if kind == "both":
            os.kill(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        raise Failure("the program ended by itself") from None
    _, err = child.communicate(timeout=harness.PATIENCE)
    if b"sonde: cannot" in err:
        raise Failure(f"record said {harness.tail(err)}")
    if child.returncode != -number:
        raise Failure(f"record gave {harness.describe(child.returncode)}, not signal {number}\n{harness.tail(err)}")
    result = check(options, measurement, Log(log_path), killed, env, number == signal.SIGKILL and mode == ["long"])
    if kind == "program":
        check_line(options, measurement, err.decode(errors="replace"), number, env)
    shutil.rmtree(folder)
    if options.verbose:
        print(f"kill {index}: {' '.join([kind, *mode, signal.Signals(number).name])}: {result.enqueued} enqueued, "
              f"{result.finished} finished, {result.kept} kept", flush=True)
    return result, number != signal.SIGKILL


def environment(options):
    return harness.environment(options, **({"SONDE_CUPTI": os.path.abspath(options.cupti)} if options.cupti else {}))


def check_line(options, measurement, line, number, env):
    """The line at the end counts what the measurement does, and says how the program ended."""
    if nothing_yet(options, measurement, env):
        if f"signal {number} (" not in line:
            raise Failure(f"the line does not say that signal {number} ended the program: {line!r}")
        return
    book = harness.ledger(options, measurement, env)
    flying, kept = harness.number(book["in_flight"]), sum(harness.operations(book).values())
    if harness.number(book["seen"]) != kept + flying + harness.number(book["dropped"]) + harness.number(book["unmatched"]):
        raise Failure(f"{book['seen']} seen, but {kept} kept and {flying} in flight: {json.dumps(book)[:500]}")
    said = re.search(r"([0-9,]+) operations?,(?: ([0-9,]+) of them in flight when terminated by signal {number} \([A-Z][a-z ]*\),)?".replace("{number}", str(number)), line)
    found = tuple(int((text or "0").replace(",", "")) for text in said.groups()) if said else None
    if found != (harness.number(book["seen"]), flying):
        raise Failure(f"the ledger has {book['seen']} seen and {flying} in flight; the line: {line!r}")


def last_written(options, measurement, env):
    """When the monitor thread last wrote the ledger."""
    result = harness.run([options.sonde, "export", measurement, "--to", "json", "-o", "-"], env)
    if result.status != 0:
        raise Failure(f"export gave {harness.describe(result.status)}\n{harness.tail(result.err)}")
    return json.loads(result.out)["processes"][0]["stop_ns"] or 0


def check(options, measurement, log, killed, env, beside_long):
    """Nothing older than a second may be missing, and nothing may be there that never was, or that CUPTI cannot have told of."""
    most = min(log.enqueued, BEFORE_LONG) if beside_long else log.enqueued
    strictly, everything = min(most, log.completed_at(killed - SECOND)), min(most, log.completed_at(killed))
    needed = strictly
    if not harness.process_folders(measurement):
        if needed:
            raise Failure(f"no process folder, though {needed} operations had completed")
        return Kill(log.enqueued, everything, 0, True)
    if not needed and nothing_yet(options, measurement, env):
        return Kill(log.enqueued, everything, 0, True)
    book = harness.ledger(options, measurement, env)
    kernels = harness.operations(book).get("kernel", 0)
    if kernels < needed:
        needed = min(most, log.completed_at(surely(options, measurement, log, killed, env)))
    if not needed <= kernels <= most:
        raise Failure(f"{kernels} kernels; {needed} had completed a second before the kill, {everything} at the "
                      f"kill, {log.enqueued} were enqueued, {most} can be there\n    ledger: {json.dumps(book)[:500]}")
    if beside_long:
        check_flying(options, measurement, log, killed, env, book)
    for view in ([], ["kernels"], ["lanes"]):
        result = harness.run([options.sonde, "report", measurement, *view], env)
        if result.status != 0:
            raise Failure(f"report {view} gave {harness.describe(result.status)}\n{harness.tail(result.err)}")
    check_trace(options, measurement, needed, most, env)
    return Kill(log.enqueued, everything, kernels, kernels >= strictly)


def surely(options, measurement, log, killed, env):
    """A second before the kill, or as much earlier as somebody had to wait."""
    return min(killed, last_written(options, measurement, env)) - SECOND - log.longest_pause(killed)


def check_flying(options, measurement, log, killed, env, book):
    """What is not there is counted."""
    counted = sum(harness.operations(book).values()) + harness.number(book["in_flight"])
    ended = log.completed_at(killed - SECOND)
    if counted < ended:
        ended = log.completed_at(surely(options, measurement, log, killed, env))
    if counted < ended or harness.number(book["seen"]) != counted or harness.number(book["dropped"]) + harness.number(book["unmatched"]):
        raise Failure(f"{counted} kept or in flight of {ended} that had ended a second before the kill\n    ledger: {json.dumps(book)[:500]}")


def nothing_yet(options, measurement, env):
    """A program killed before its first operation leaves a folder, which says so when asked."""
    result = harness.run([options.sonde, "report", measurement, "ledger", "--json"], env)
    return result.status != 0 and b"no operations in" in result.err


def check_trace(options, measurement, needed, enqueued, env):
    """The time line obeys the same rule as the profile."""
    out = measurement + ".csv"
    result = harness.run([options.sonde, "export", measurement, "--to", "csv", "-o", out], env)
    if result.status != 0:
        raise Failure(f"export gave {harness.describe(result.status)}\n{harness.tail(result.err)}")
    with open(out, encoding="utf-8") as file:
        rows = sum(1 for line in file if ",kernel," in line)
    if not needed <= rows <= enqueued:
        raise Failure(f"{rows} kernels on the time line; {needed} needed, {enqueued} enqueued")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_arguments(parser)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--longest", type=float, default=2.5, help="seconds of work before the kill, at most")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--cuda", action="store_true", help="the program is one of CUDA")
    parser.add_argument("--cupti", help="the same, with this CUPTI")
    parser.add_argument("--modes", nargs="*", help="second arguments of the program, one after the other")
    parser.add_argument("--verbose", action="store_true", help="a line for each kill")
    parser.add_argument("steady")
    options = parser.parse_args()
    options.cuda = options.cuda or bool(options.cupti)
    if not options.cuda:
        harness.device_or_skip()
    warm = os.path.join(options.work, "warm")
    os.makedirs(options.work, exist_ok=True)
    if os.path.exists(warm):  # of an earlier run: it would be read while the program empties it
        os.remove(warm)
    print(f"seed {options.seed}")
    with subprocess.Popen([options.steady, warm], env=environment(options)) as child:
        try:
            wait_for_start(warm, child, need_entry=True)
        finally:
            child.kill()
    failed, losses, strict, whole, told = 0, [], 0, 0, 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        waiting = {pool.submit(kill_once, options, index): index for index in range(options.runs)}
        for done in concurrent.futures.as_completed(waiting):
            try:
                kill, tells = done.result()
                losses.append(max(kill.finished - kill.kept, 0))
                strict += kill.strictly
                whole += tells and kill.kept >= kill.finished
                told += tells
            except Failure as why:
                failed += 1
                print(f"FAIL kill {waiting[done]}: {why}", flush=True)
    if losses:
        print(f"{options.runs} kills, {failed} failed; completed but not in the measurement: at most {max(losses)}, "
              f"on average {sum(losses) / len(losses):.0f} operations; all but the last second's in {strict}; "
              f"all in {whole} of {told} whose signal can be told")
    if strict * 2 < options.runs:
        failed += 1
        print(f"FAIL: in {options.runs - strict} of {options.runs} kills more than the last second is missing")
    if whole * 2 < told:  # another thread may stand where it holds what the runtime needs to answer
        failed += 1
        print(f"FAIL: in {told - whole} of {told} deaths that could be told something is missing")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
