#!/usr/bin/env python3
"""Play a capture under Sonde; its reports must say what they said, and must say, on the hardware.

    run.py --sonde build/bin/sonde --ask build/tests/sonde-ask [--build build] --programs DIR --work DIR NAME

NAME is a file of data/, a case of tests/gpu/cases.py or torch_cases.py; or synthetic, made by synthetic.c; or again, which captures the
synthetic one while it is played and then plays that.
"""
import argparse
import json
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "gpu"), os.path.join(HERE, "..", "report"), os.path.join(HERE, "..", "serve"),
                os.path.join(HERE, "..", "wasm")]
import asking  # noqa: E402
import cases  # noqa: E402
import harness  # noqa: E402
import page  # noqa: E402
import sums  # noqa: E402
import torch_cases  # noqa: E402
import known  # noqa: E402
from cases import Case, check_allocations, check_lanes, check_launch, check_many_lanes, check_order, check_waits, equal  # noqa: E402


# ---- what a replay can be asked: everything but functions and lines, which are those of the program that plays ----


def check_linked(*kernels):
    """Each operation of these came from a node that was made in another call."""
    def check(m):
        for kernel in kernels:
            linked = sum(leaf["metrics"]["inclusive"]["operations"] for frames, leaf in m.paths(kernel)
                         if any(f["kind"] == "link" for f in frames))
            yield equal(f"{kernel}: operations that say where their node was made", linked, m.kernels().get(kernel))
    return check


def check_placed(m):
    yield equal("work of no call that is known", m.view("ledger")["unplaced"], 0)


def check_times(within_ns):
    def check(m):
        spin = m.rows("spin")
        first = [op for op in spin if op["lane"] == min(o["lane"] for o in spin)]
        off = [op["start_ns"] - op["enter_ns"] - 5000 for op in first]
        yield f"starts are 5 us after the calls, within {within_ns} ns though the clock drifts", max(map(abs, off)) <= within_ns, str(sorted(off))
        lengths = [op["end_ns"] - op["start_ns"] for op in m.rows(kind="kernel")]
        yield "kernels last 10 us", 9900 <= min(lengths) and max(lengths) <= 10100, f"{min(lengths)} to {max(lengths)}"
    return check


def check_synthetic(m):
    yield equal("lanes of spin", sorted(len(ops) for ops in m.by_lane("spin").values()), [100, 100])
    yield equal("allocations", m.objects().get("device"), {"count": 1, "bytes": 4096, "alive": 1, "alive_bytes": 4096})
    yield equal("block size", m.kernel("spin")["work"]["local"], [64])
    yield from check_linked("captured", "body")(m)
    yield equal("body: two for each launch of its graph", sorted(leaf["metrics"]["inclusive"]["operations"] for _, leaf in m.paths("body")), [100])
    yield equal("work of no call that is known", m.view("ledger")["unplaced"], 1)
    yield equal("it is named", ["kernel stray" in note for note in m.notes() if "unattributed" in note], [True])


def check_torch(linked):
    """All of the 25 steps (five of them before the steady part), of whose kernels Kineto saw those of 20 in another run;
    `linked`: as many replayed steps, whose kernels came from a capture."""
    def check(m):
        with open(os.path.join(HERE, "data", m.capture + ".kernels.json"), encoding="utf-8") as file:
            steps = {name: count * 25 // 20 for name, count in json.load(file).items()}
        found = {}
        for name, count in m.kernels().items():
            found[torch_cases.squeezed(name)] = found.get(torch_cases.squeezed(name), 0) + count
        yield equal("kernels of the steps", {name: found.get(name) for name in steps}, steps)
        links = sum(leaf["metrics"]["inclusive"]["operations"] for frames, leaf in m.paths()
                    if leaf.get("operation") == "kernel" and any(f["kind"] == "link" for f in frames))
        yield equal("kernels that say where their node was made", links, linked * sum(steps.values()) // 25)
    return check


# Sonde may read both clocks while the replay's jump from one entry to the next, at most 40 us: its own readings tell it,
# but those that a capture of a replay keeps do not. An operation that starts 5 us after its call may then seem to start
# before it, beyond the bound; its time is checked all the same.
MADE = {
    "synthetic": Case("synthetic", [], {"spin": 200, "captured": 150, "body": 100}, {"write": (1, 4096)}, [check_synthetic, check_times(1000)]),
    "again": Case("again", [], {"spin": 200, "captured": 150, "body": 100}, {"write": (1, 4096)}, [check_synthetic, check_times(50000)],
                  loss=("bad_time",)),
}
TORCH = {name: Case(name, [], checks=[check_torch(linked)]) for name, linked in (("torch-eager", 0), ("torch-graphed", 20))}
CHECKS = {
    "counts": [known.check_one_lane, known.check_pageable(2, 8 << 20)],
    "streams": [check_order, check_waits(*cases.STREAMS_WAIT)],
    "waits": [check_waits(*cases.WAITS), cases.check_waited, cases.check_default_stream, cases.check_uses, known.check_long_kernel],
    "per-thread-streams": [check_lanes("own", 8, 100)],
    "thousand-streams": [check_many_lanes, known.check_launch_bound],
    "launch-attributes": [check_launch, known.check_small_grids],
    "habits": [known.check_habits],
    "memory": [check_allocations, known.check_spaces, known.check_unused],
    "graphs": [check_linked("first", "second", "built", "replaced")],
    "conditional-graphs": [check_linked("inside_a", "inside_b", "inside_else", "repeat"), check_placed],
    "graph-changes": [check_linked("before", "after")], # which node within a child graph ran, CUPTI 13.0 does not tell
}


class Replay:
    def __init__(self, options):
        self.sonde, self.programs, self.work = os.path.abspath(options.sonde), os.path.abspath(options.programs), os.path.abspath(options.work)
        self.ask, self.build, self.failed, self.skipped = os.path.abspath(options.ask), options.build, 0, False
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)

    def check(self, _case, what, holds, detail=""):
        self.failed += not holds
        print(f"{'ok  ' if holds else 'FAIL'} {what}" + (f" ({detail})" if detail and not holds else ""))

    def play(self, capture, truth=None, options=(), **env):
        """The measurement of a program that does what the capture says."""
        path = os.path.join(self.work, "m.sonde")
        env = harness.environment(**{"SONDE_CUPTI": os.path.join(self.programs, "libcupti-replay.so"), **env})
        outcome = harness.run([self.sonde, "record", "-q", "--force", "-o", path, *options, "--",
                               os.path.join(self.programs, "replay-play"), capture], env, self.work, 600)
        self.check("", "the program ended well", outcome.status == 0 and outcome.out == b"played\n",
                   f"{harness.describe(outcome.status)} {harness.tail(outcome.out)} {harness.tail(outcome.err)}")
        return harness.Measurement(self.sonde, path, harness.read_truth(truth) if truth else {}, outcome)

    def make_synthetic(self):
        capture = os.path.join(self.work, "synthetic.cap")
        harness.run([os.path.join(self.programs, "replay-synthetic"), capture], harness.environment(), self.work, 600)
        return capture

    def capture_again(self):
        capture = os.path.join(self.work, "again.cap")
        self.play(self.make_synthetic(), SONDE_CUPTI=os.path.join(self.programs, "libcupti-capture.so"),
                  SONDE_CAPTURE_CUPTI=os.path.join(self.programs, "libcupti-replay.so"), SONDE_CAPTURE_FILE=capture)
        return capture

    def test(self, name):
        if case := MADE.get(name):
            m = self.play(self.make_synthetic() if name == "synthetic" else self.capture_again())
        else:
            case = TORCH.get(name) or next(c for c in cases.CASES if c.name == name)
            case.checks = CHECKS.get(name, case.checks if name in TORCH else [])
            data = os.path.join(HERE, "data", name)
            m = self.play(data + ".cap.zst", data + ".truth", case.options)
            m.capture = name
        cases.compare_numbers(self, case, m)
        for verdict in sums.verdicts(m.view, m.view("export")):
            self.check("", *verdict)
        for difference in asking.differences(self.sonde, self.ask, m.path):
            self.check("", "a view that is requested is what sonde report prints", False, difference)
        if self.build:
            self.ask_page(m.path)

    def ask_page(self, path):
        try:
            for difference in page.differences(self.build, page.program(self.build), path):
                self.check("", "a page answers as a server does", False, difference)
        except page.Missing as missing:
            print(f"skipped: whether a page answers as a server does: {missing}")
            self.skipped = True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--build", help="with sonde.wasm: a page is asked, too")
    for option in ("--sonde", "--ask", "--programs", "--work"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    replay = Replay(options)
    replay.test(options.name)
    if not replay.failed:
        shutil.rmtree(replay.work, ignore_errors=True)
    return 1 if replay.failed else 77 if replay.skipped else 0


if __name__ == "__main__":
    sys.exit(main())
