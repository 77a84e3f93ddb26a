#!/usr/bin/env python3
"""Run the cases of one guest program without Sonde and with it, and compare.

    run.py --sonde build/bin/sonde --counting libcounting.so --work DIR --cache DIR SOURCE PROGRAM

The cases stand in the header of SOURCE (tests/programs/guest.h says how).
Each case must print the same, end the same and leave the same files; then the
ledger must hold what the program is known to do. Without --sonde the known
counts are checked against the counting layer alone.
"""
import argparse
import os
import re
import shlex
import shutil
import sys
import time

import harness
from harness import Failure, Missing

CASE = re.compile(r"case: (\S+) ?(.*?) ?=> (.*)")


class Case:
    """One `case:` line: a name, arguments, what is expected, options."""

    def __init__(self, name, arguments, expectation):
        parts = [part.strip() for part in expectation.split(";")]
        self.name, self.arguments = name, shlex.split(arguments)
        self.kind, self.expected = parts[0], {}
        if "=" in parts[0]:
            self.kind = "exact"
            pairs = (pair.split("=") for pair in parts[0].split())
            self.expected = {kind: int(count) for kind, count in pairs if int(count)}
        self.options = dict((part.split("=", 1) + ["yes"])[:2] for part in parts[1:])


def cases_of(source):
    with open(source, encoding="utf-8") as file:
        found = [Case(*match.groups()) for match in map(CASE.search, file) if match]
    if not found:
        raise Failure(f"{source} has no case: line")
    return found


def contents(folder):
    """Every file below, by its relative path, with its bytes; the measurement is not the program's."""
    files = {}
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.endswith(".sonde")]
        for name in names:
            path = os.path.join(where, name)
            with open(path, "rb") as file:
                files[os.path.relpath(path, folder)] = file.read()
    return files


def compiled(cache):
    """The kernels in PoCL's cache."""
    return {os.path.join(where, name) for where, _, names in os.walk(cache) for name in names if name.endswith(".so")}


class Runner:
    def __init__(self, options, case):
        self.options, self.case = options, case
        base = os.path.splitext(os.path.basename(options.source))[0]
        self.folder = os.path.join(os.path.abspath(options.work), base, case.name)
        self.cwd = os.path.join(self.folder, "cwd")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        os.chmod(self.folder, 0o777)
        self.count_prefix = os.path.join(self.folder, "count")
        self.measurement = os.path.join(self.cwd if "relative-out" in case.options else self.folder, "m.sonde")
        self.env = harness.environment(options, COUNT_OUT=self.count_prefix)
        if "own-cache" in case.options:
            self.env["POCL_CACHE_DIR"] = os.path.join(self.folder, "cache")
            os.makedirs(self.env["POCL_CACHE_DIR"])
            os.chmod(self.env["POCL_CACHE_DIR"], 0o777)
        self.command = ([options.program] if not options.source.endswith(".py") else
                        [options.program, options.source]) + case.arguments

    def run(self, prefix, env):
        """One run in an empty folder of the same name, so that the two see the same paths."""
        shutil.rmtree(self.cwd, ignore_errors=True)
        os.makedirs(self.cwd)
        os.chmod(self.cwd, 0o777)
        closed = [name for name in ("stdout", "stderr") if self.case.options.get(name) == "closed"]
        outcome = harness.run(prefix + self.command, env, self.cwd, self.case.options.get("stdin"),
                              self.options.timeout, closed, "outlives" in self.case.options)
        outcome.files = contents(self.cwd)
        return outcome

    def plain(self):
        env = dict(self.env)
        if "own-layer" in self.case.options:
            env["OPENCL_LAYERS"] = os.path.abspath(self.options.counting)
        outcome = self.run([], env)
        if outcome.status == 3 or b" gave -" in outcome.out and outcome.status:
            raise Failure(f"does not work even without Sonde\n{harness.tail(outcome.out)}{harness.tail(outcome.err)}")
        self.forget_counts()
        return outcome

    def warm(self):
        """Of a runtime that compiles the program's kernels its compiler shows: it has children, whose ends are signals, and takes memory."""
        before = compiled(self.env["POCL_CACHE_DIR"])
        outcome = self.plain()
        return outcome if compiled(self.env["POCL_CACHE_DIR"]) == before else self.plain()

    def forget_counts(self):
        for name in os.listdir(self.folder):
            if name.startswith("count."):
                os.unlink(os.path.join(self.folder, name))

    def layered(self):
        """With the counting layer in place of Sonde: are the counts in the header true?"""
        self.env["OPENCL_LAYERS"] = os.path.abspath(self.options.counting)
        outcome = self.run([], self.env)
        found = harness.counts.read(self.count_prefix)
        if self.case.kind == "exact" and found != self.case.expected:
            raise Failure(f"the header says {self.case.expected}, the counting layer {found}")
        return outcome

    def recorded(self):
        env = dict(self.env)
        if self.case.kind == "counted" or "own-layer" in self.case.options:
            env["OPENCL_LAYERS"] = os.path.abspath(self.options.counting)
        extra = ["--check"] if "check-unwinds" in self.case.options else []
        if "record" in self.case.options:
            extra.extend(self.case.options["record"].split())
        out = "m.sonde" if "relative-out" in self.case.options else self.measurement
        outcome = self.run([self.options.sonde, "record", "-q", *extra, "-o", out, "--"], env)
        self.check_measurement()
        return outcome

    def check_measurement(self):
        kind, env = self.case.kind, harness.environment(self.options)
        folders = harness.process_folders(self.measurement)
        if kind == "nothing":
            if folders:
                raise Failure(f"a process that never used a GPU left {folders}")
            return
        if kind == "any" and not folders:
            return
        book = harness.ledger(self.options, self.measurement, env)
        expected = harness.counts.read(self.count_prefix) if kind == "counted" else self.case.expected
        if "late" in self.case.options:
            harness.check_late(book, expected)
        elif "killed" in self.case.options:
            harness.check_killed(book, expected)
        elif kind in ("exact", "counted"):
            harness.check_counts(book, expected)
        if number := harness.number(book.get("unwind_mismatched")):
            raise Failure(f"{number} unwinds differ from a full unwind")
        if "whole-stacks" in self.case.options:
            lost = harness.number(book.get("unwind_failed"))
            notes = [note for process in book["processes"] for note in process["notes"] if "symbols" in note]
            if lost or notes:
                raise Failure(f"{lost} of {book['unwinds']} stacks are incomplete; notes: {notes}")
        summary = harness.run([self.options.sonde, "report", self.measurement], env)
        if summary.status != 0:
            raise Failure(f"report gave {harness.describe(summary.status)}\n{harness.tail(summary.err)}")

    def compare(self, plain, other):
        if plain.status != other.status:
            raise Failure(f"{harness.describe(plain.status)} without, {harness.describe(other.status)} with\n"
                          f"{harness.tail(other.out)}{harness.tail(other.err)}")
        for name, left, right in (("output", plain.out, other.out), ("standard error", plain.err, other.err)):
            if difference := harness.differing(name, left, right):
                raise difference
        if sorted(plain.files) != sorted(other.files):
            raise Failure(f"files differ: without {sorted(plain.files)[:10]}, with {sorted(other.files)[:10]}")
        for path, data in plain.files.items():
            if path != "memory" and (difference := harness.differing(f"file {path}", data, other.files[path])):
                raise difference

    def go(self):
        if self.case.options.get("needs") == "root" and os.geteuid() != 0:
            raise Missing("needs root")
        if (module := self.case.options.get("module")) and harness.run(
                [self.options.program, "-c", f"import {module}"], self.env).status:
            raise Missing(f"needs the Python module {module}")
        plain = self.warm()
        other = self.recorded() if self.options.sonde else self.layered()
        self.compare(plain, other)
        shutil.rmtree(self.folder, ignore_errors=True)
        return plain, other


def check_memory(peaks):
    """Growth from few threads to many: with Sonde at most 8 MiB more than without."""
    if "few" not in peaks or "many" not in peaks:
        return
    growth = [many - few for few, many in zip(peaks["few"], peaks["many"])]
    print(f"     memory grew by {growth[0]} KiB without, {growth[1]} KiB with")
    if growth[1] > growth[0] + 8192:
        raise Failure(f"memory grows with the number of threads: {peaks}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_arguments(parser)
    parser.add_argument("--only", default="", help="run this case alone")
    parser.add_argument("--timeout", type=float, default=harness.PATIENCE)
    parser.add_argument("source")
    parser.add_argument("program")
    options = parser.parse_args()
    options.source = os.path.abspath(options.source)
    harness.device_or_skip(options.runtime)
    failed = passed = 0
    peaks = {}
    for case in cases_of(options.source):
        if options.only and case.name != options.only:
            continue
        started = time.monotonic()
        try:
            plain, other = Runner(options, case).go()
            if size := case.options.get("memory"):
                peaks[size] = (int(plain.files["memory"]), int(other.files["memory"]))
                check_memory(peaks)
            print(f"ok   {case.name} ({time.monotonic() - started:.1f} s)")
            passed += 1
        except Missing as why:
            print(f"skip {case.name}: {why}")
        except Failure as why:
            print(f"FAIL {case.name}: {why}")
            failed += 1
        sys.stdout.flush()
    sys.exit(1 if failed else 0 if passed else harness.SKIP)


if __name__ == "__main__":
    main()
