#!/usr/bin/env python3
"""The disk of the measurement becomes full while the program runs.

    full.py --sonde build/bin/sonde --counting X --work DIR --cache DIR FILLER

The program must do as without Sonde; the profile stays exact; the trace ends,
says why and how much of it is missing, and what it holds is readable. Once the
disk is too small for the trace, once the program itself fills it and leaves no
room for sealing either, once there is no trace.
"""
import argparse
import csv
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import harness  # noqa: E402
from harness import Failure  # noqa: E402

# name: (size of the disk, whether the program fills it, options of record, whether the trace must end early)
RUNS = {
    "too-small": ("6m", False, [], True),
    "filled": ("48m", True, [], True),
    "filled-profile": ("48m", True, ["--profile"], False),
}
LAUNCHES = 120_000
MESSAGE = b"rows missing from the trace: the output could not be written (disk full?)"


class Disk:
    """A small file system of its own, new each time."""

    def __init__(self, path, size):
        self.path, self.size = path, size

    def __enter__(self):
        os.makedirs(self.path, exist_ok=True)
        result = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.size}", "none", self.path],
                                capture_output=True, check=False)
        if result.returncode:
            raise harness.Missing(f"a small file system cannot be mounted here: {result.stderr.decode().strip()}")
        return self.path

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.path], check=False)


def command_of(options, disk, fills):
    return [options.filler, str(LAUNCHES)] + ([os.path.join(disk, "results")] if fills else [])


def check_ledger(options, measurement, env, early):
    """Exact counts in the profile; returns how many rows the trace lacks."""
    book = harness.ledger(options, measurement, env)
    harness.check_counts(book, {"kernel": LAUNCHES, "read": 1})
    causes = {cause: count for cause, count in book["dropped_by_cause"].items() if count}
    lost = book["trace_dropped"]
    if early != (lost > 0) or causes != ({"disk_full": lost} if lost else {}):
        raise Failure(f"{lost} rows missing, by cause {causes}; must the trace end early? {early}")
    notes = " ".join(note for process in book["processes"] for note in process["notes"])
    if early and "no space left" not in notes:
        raise Failure(f"no note says that there was no room: {notes!r}")
    return lost


def check_trace(options, measurement, env, expected):
    """What the trace holds is readable, and with what it lacks it is everything."""
    table = os.path.join(options.work, "operations.csv")
    result = harness.run([options.sonde, "export", measurement, "--to", "csv", "--force", "-o", table], env)
    if result.status != 0:
        raise Failure(f"export gave {harness.describe(result.status)}\n{harness.tail(result.err)}")
    with open(table, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if len(rows) != expected:
        raise Failure(f"{len(rows)} rows in the trace, {expected} expected")
    if len({row["correlation"] for row in rows}) != len(rows):
        raise Failure("rows of the trace stand there twice")


def one_run(options, name):
    size, fills, extra, early = RUNS[name]
    disk, env = os.path.join(os.path.abspath(options.work), "disk"), harness.environment(options)
    with Disk(disk, size):
        plain = harness.run(command_of(options, disk, fills), env)
    with Disk(disk, size):
        measurement = os.path.join(disk, "m.sonde")
        other = harness.run([options.sonde, "record", *extra, "-o", measurement, "--"]
                            + command_of(options, disk, fills), env)
        if plain.status != other.status:
            raise Failure(f"{harness.describe(plain.status)} without, {harness.describe(other.status)} with\n"
                          f"{harness.tail(other.err)}")
        if difference := harness.differing("output", plain.out, other.out):
            raise difference
        if early != (MESSAGE in other.err):
            raise Failure(f"the last line: {other.err.decode(errors='replace')!r}; full disk to be said? {early}")
        lost = check_ledger(options, measurement, env, early)
        if not extra:
            check_trace(options, measurement, env, LAUNCHES + 1 - lost)
        for view in ([], ["lanes"], ["contexts"]):
            result = harness.run([options.sonde, "report", measurement, *view], env)
            if result.status != 0 and not (extra and view == ["lanes"]):
                raise Failure(f"report {view} gave {harness.describe(result.status)}\n{harness.tail(result.err)}")
    print(f"ok   {name}: {lost} of {LAUNCHES + 1} rows missing", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_arguments(parser)
    parser.add_argument("filler")
    options = parser.parse_args()
    harness.device_or_skip()
    failed = 0
    for name in RUNS:
        try:
            one_run(options, name)
        except harness.Missing as why:
            print(f"skipped: {why}")
            sys.exit(harness.SKIP)
        except Failure as why:
            failed += 1
            print(f"FAIL {name}: {why}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
