#!/usr/bin/env python3
"""The Compute Sanitizer engine from end to end: a program on a driver and a Sanitizer that are made up, whose kernels' accesses are known.

    run.py --sonde build/bin/sonde --programs DIR --work DIR
"""
import argparse
import json
import os
import shutil
import subprocess
import sys


def record(options, name, program=(), **env):
    path = os.path.join(options.work, name + ".sonde")
    shutil.rmtree(path, ignore_errors=True)
    env = {**os.environ, "SONDE_SANITIZER": os.path.join(options.programs, "libsanitizer-public.so"), **env}
    done = subprocess.run([options.sonde, "record", "-q", "-o", path, "--values=fine", "--values-engine=sanitizer",
                           *(["--values-sample", "1/20"] if name == "sampled" else []), "--", os.path.join(options.programs, "patches-play"), *program],
                          env=env, stdout=subprocess.PIPE, text=True, timeout=100, check=True)

    def view(what):
        said = subprocess.run([options.sonde, "report", path, what, "--json"], stdout=subprocess.PIPE, text=True, check=False)
        return json.loads(said.stdout or "null")
    return done.stdout.strip(), view


def patterns(view):
    return sorted((p["operation"], p["pattern"], p["bytes"], p["element_bytes"], round(p["share"], 3), p["evidence"].split(": ", 1)[1])
                  for o in view("values")["objects"] for p in o["patterns"])


def coverage(view):
    return {c["kernel"]: (c["engine"], c["launches"], c["looked_at"], c["reason"]) for c in view("values")["coverage"]}


def notes(view):
    return [note for process in view("ledger")["processes"] for note in process["notes"]]


def require(what, found, expected):
    print("ok" if found == expected else "FAIL", what, found if found == expected else f"found {found}, expected {expected}")
    return found == expected


SAME = "all are 0x4004000000000000, as a double 2.5"
WRITES = [("write_same", "single_value", 16, 8, 1.0, SAME), ("write_same", "single_value", 80, 8, 1.0, SAME),
          ("write_same", "single_value", 96, 8, 0.286, SAME), ("write_same", "single_zero", 240, 8, 0.714, "all are zero")]
GRAPH = {"captured": ("none", 2, 0, "it was captured for a graph")}


def with_patches(options):
    """Where nvcc was missing the build has none: a copy of it gets a file, which the made-up Sanitizer does not read."""
    built = os.path.dirname(os.path.dirname(os.path.abspath(options.sonde)))
    if os.path.exists(os.path.join(built, "lib", "sonde", "sonde-patches.fatbin")):
        return options.sonde
    copy = os.path.join(options.work, "build")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(os.path.join(built, "lib", "sonde"), os.path.join(copy, "lib", "sonde"))
    os.makedirs(os.path.join(copy, "bin"))
    with open(os.path.join(copy, "lib", "sonde", "sonde-patches.fatbin"), "wb"):
        pass
    return shutil.copy(options.sonde, os.path.join(copy, "bin", "sonde"))


def main():
    parser = argparse.ArgumentParser()
    for name in ("sonde", "programs", "work"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    options.sonde = with_patches(options)
    held = []

    said, view = record(options, "all")
    ledger = view("ledger")
    held += [
        require("the module stays patched", said, "patched 1 switches 1 unset 0"),
        require("patterns", patterns(view), [("read_zeros", "single_zero", 3 * 64 * 4, 4, 1.0, "all are zero")] + WRITES),
        require("coverage", coverage(view), {"read_zeros": ("sanitizer", 3, 3, None), "write_same": ("sanitizer", 1, 1, None), **GRAPH}),
        require("operations", {k: v for k, v in ledger["operations"].items() if v}, {"kernel": 6, "read": 1, "write": 1, "fill": 1, "synchronize": 2}),
        require("lost", [ledger[k] for k in ("dropped", "unmatched", "in_flight", "unplaced", "bad_time")], [0] * 5),
        require("without times", ledger["no_times"], 9),
        require("bytes", {c["kind"]: c["bytes"] for c in view("copies")}, {"read": 256, "write": 256, "fill": 256}),
        require("it is said", any("no device times" in n for n in notes(view)), True),
    ]

    said, view = record(options, "sampled", ["30"])
    held += [
        require("patches are taken out and put back", said, "patched 1 switches 5 unset 0"),
        require("sampled patterns", patterns(view), [("read_zeros", "single_zero", 2 * 64 * 4, 4, 1.0, "all are zero")] + WRITES),
        require("sampled coverage", coverage(view), {"read_zeros": ("sanitizer", 30, 2, "not of those that --values-sample chose"),
                                                     "write_same": ("sanitizer", 1, 1, None), **GRAPH}),
    ]

    said, view = record(options, "refused", MADE_REFUSED="1")
    why = "Compute Sanitizer did not patch its code"
    held += [
        require("refused coverage", coverage(view), {"read_zeros": ("none", 3, 0, why), "write_same": ("none", 1, 0, why), **GRAPH}),
        require("operations are there", view("ledger")["done"], 11),
        require("why is said", any("Compute Sanitizer: sanitizerAddPatchesFromFile: refused (1)" in n for n in notes(view)), True),
    ]

    said, view = record(options, "deaf", MADE_DEAF="1")
    held += [require("what a graph's kernels are given is not ours", said, "patched 1 switches 1 unset 2"),
             require("patterns beside it", patterns(view), [("read_zeros", "single_zero", 3 * 64 * 4, 4, 1.0, "all are zero")] + WRITES)]

    said, view = record(options, "held", MADE_HELD="1")
    held += [require("who holds it is said", any("only one tool at a time" in n for n in notes(view)), True),
             require("the program runs", said, "patched 0 switches 0 unset 0")]
    return 0 if all(held) else 1


sys.exit(main())
