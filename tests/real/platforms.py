#!/usr/bin/env python3
"""Programs of tests/unit/backends/opencl under the real agent, for what needs more than one plain runtime.

    platforms.py --sonde X --counting X --work DIR --cache DIR --second LIB --standin LIB CASE PROGRAM

CASE platforms: PoCL and Oclgrind at once, by turns; the second is brought in
by an .icd file that names LIB. Oclgrind's clock is CLOCK_REALTIME in whole
microseconds, PoCL's is CLOCK_MONOTONIC_RAW: the turns must lie one after the
other on the measurement's one axis.
CASE objects: pipes, shared objects and unified memory on the stand-in layer,
below Sonde; the order of the program's calls is the truth about life times.
"""
import argparse
import csv
import glob
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import harness  # noqa: E402
from harness import Failure, Missing  # noqa: E402

TURNS = 60
NAMES = ("Oclgrind", "Portable Computing Language")
SLACK_NS = 1_000_000  # clocks of different rates, between two pairs; a wrong clock is off by seconds
OBJECTS = {"pipe": [16 * 64, 4 * 8], "buffer": [256, 4096], "image": [1024] * 5,
           "pinned": [256], "device": [256], "managed": [256]}


class Test:
    def __init__(self, options):
        self.options = options
        self.folder = os.path.join(os.path.abspath(options.work), options.case)
        self.measurement = os.path.join(self.folder, "m.sonde")
        self.env = harness.environment(options, COUNT_OUT=os.path.join(self.folder, "count"))
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)

    def must(self, command, env=None):
        result = harness.run(command, env or self.env)
        if result.status != 0:
            raise Failure(f"{' '.join(command)} gave {harness.describe(result.status)}\n{harness.tail(result.out)}"
                          f"{harness.tail(result.err)}")
        return result

    def report(self, *views):
        return json.loads(self.must([self.options.sonde, "report", self.measurement, *views, "--json"]).out)

    def export(self, kind):
        out = os.path.join(self.folder, f"export.{kind}")
        self.must([self.options.sonde, "export", self.measurement, "--to", kind, "-o", out])
        return out

    def add_second(self):
        """The platforms of this machine, and one more."""
        vendors = os.path.join(self.folder, "vendors")
        os.makedirs(vendors)
        for path in glob.glob(os.path.join(os.environ.get("OCL_ICD_VENDORS", "/etc/OpenCL/vendors"), "*.icd")):
            shutil.copy(path, vendors)
        with open(os.path.join(vendors, "second.icd"), "w", encoding="utf-8") as file:
            file.write(os.path.abspath(self.options.second) + "\n")
        self.env["OCL_ICD_VENDORS"] = vendors

    def platforms(self):
        self.add_second()
        command = [self.options.program, str(TURNS)]
        plain = self.must(command)
        if b"platforms 2\n" not in plain.out:
            raise Missing("needs two OpenCL platforms (packages pocl-opencl-icd and oclgrind)")
        env = dict(self.env, OPENCL_LAYERS=os.path.abspath(self.options.counting))
        with_sonde = self.must([self.options.sonde, "record", "-q", "-o", self.measurement, "--", *command], env)
        if difference := harness.differing("output", plain.out, with_sonde.out):
            raise difference
        counted = harness.counts.read(self.env["COUNT_OUT"])
        if counted != {"kernel": 2 * TURNS, "write": 2 * TURNS, "read": 2 * TURNS}:
            raise Failure(f"the counting layer has {counted}")
        book = self.report("ledger")
        harness.check_counts(book, counted)
        for key in ("failed", "no_times", "bad_time", "trace_dropped", "in_flight"):
            if book[key]:
                raise Failure(f"{key} is {book[key]}, not 0")
        self.check_devices()
        self.check_turns()

    def check_devices(self):
        devices = self.report()["devices"]
        found = sorted((device["platform"], device["operations"]) for device in devices)
        if found != [(name, 3 * TURNS) for name in NAMES]:
            raise Failure(f"devices: {found}")
        queues = [lane for lane in self.report("lanes") if lane["kind"] == "queue"]
        if sorted((lane["device"], lane["context"], lane["count"]) for lane in queues) != [
                (0, 1, 3 * TURNS), (1, 2, 3 * TURNS)]:
            raise Failure(f"queues: {queues}")

    def check_turns(self):
        """Each device has the same operations, and the turns come one after the other."""
        with open(self.export("csv"), encoding="utf-8", newline="") as file:
            rows = sorted(csv.DictReader(file), key=lambda row: int(row["enter_ns"]))
        names = [rows[0]["device"], rows[3]["device"]]
        kinds = ["write", "kernel", "read"]
        expected = [(names[turn % 2], kind) for turn in range(2 * TURNS) for kind in kinds]
        if names[0] == names[1] or [(row["device"], row["kind"]) for row in rows] != expected:
            raise Failure(f"operations in the order of their calls: {[(r['device'], r['kind']) for r in rows[:12]]}")
        for before, after in zip(rows, rows[1:]):
            if int(after["start_ns"]) + SLACK_NS < int(before["end_ns"]):
                raise Failure(f"on one axis this began before what came first had ended:\n    {before}\n    {after}")
        for row in rows:
            if int(row["start_ns"]) + SLACK_NS < int(row["enter_ns"]) or int(row["end_ns"]) < int(row["start_ns"]):
                raise Failure(f"began before its call, or ended before it began: {row}")

    def objects(self):
        env = dict(self.env, STANDIN=os.path.abspath(self.options.standin))
        below = f"OPENCL_LAYERS=$STANDIN:$OPENCL_LAYERS exec '{self.options.program}'"
        self.must([self.options.sonde, "record", "-q", "-o", self.measurement, "--", "sh", "-c", below], env)
        sites = self.report("objects")["sites"]
        found = {kind: [site["bytes"] for site in sites if site["kind"] == kind] for kind in OBJECTS}
        if {kind: sorted(sizes) for kind, sizes in found.items()} != {k: sorted(v) for k, v in OBJECTS.items()}:
            raise Failure(f"objects by allocation site: {found}, not {OBJECTS}")
        for site in sites:
            frames = [frame["name"] for frame in site["frames"]]
            if frames[-1] != "main" or site["kind"] == "pipe" and frames != ["pipes", "main"]:
                raise Failure(f"a {site['kind']} allocated by {frames}")
        with open(self.export("json"), encoding="utf-8") as file:
            document = json.load(file)
        if len(document["processes"]) != 1:
            raise Failure(f"{len(document['processes'])} processes")
        self.check_lives(document["processes"][0]["objects"])

    def check_lives(self, objects):
        """The program made two pipes and gave the second back first, before it made anything else."""
        objects.sort(key=lambda one: one["alloc_ns"])
        kinds = [one["kind"] for one in objects]
        if kinds != ["buffer", "pipe", "pipe", "buffer"] + ["image"] * 5 + ["pinned", "device", "managed"]:
            raise Failure(f"objects in the order of their making: {kinds}")
        first, second, later = objects[1], objects[2], objects[3]
        moments = [first["alloc_ns"], second["alloc_ns"], second["free_ns"], first["free_ns"], later["alloc_ns"]]
        if any(moment is None for moment in moments) or moments != sorted(moments):
            raise Failure(f"lives of the pipes: {first}, {second}; what came next: {later}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_arguments(parser)
    parser.add_argument("--second", required=True, help="library of the second platform")
    parser.add_argument("--standin", required=True, help="the layer that stands in for what no runtime here has")
    parser.add_argument("case", choices=("platforms", "objects"))
    parser.add_argument("program")
    options = parser.parse_args()
    harness.device_or_skip()
    try:
        getattr(Test(options), options.case)()
    except Missing as why:
        print(f"skipped: {why}")
        sys.exit(harness.SKIP)
    except Failure as why:
        print(f"FAIL {options.case}: {why}")
        sys.exit(1)
    print(f"ok   {options.case}")


if __name__ == "__main__":
    main()
