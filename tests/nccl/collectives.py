#!/usr/bin/env python3
"""NCCL's collectives: does each come out as an operation of its communicator, and each kernel within its collective?

    collectives.py --sonde build/bin/sonde --rows rows --program nccl --work DIR CASE

What is expected stands below, counted by hand from nccl.c.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "ranges"))
from run import Failure, Measured, expect, main  # noqa: E402

FUNCTIONS = ("all_reduce", "all_gather", "broadcast", "exchange", "mixed", "copied", "host_thread", "launch_thread")

# (collective, bytes of all): how often
OPERATIONS = {
    "all_reduce: AllReduce float32": (3, 12000), "all_reduce: AllReduce int64": (1, 56),
    "all_gather: AllGather bfloat16": (2, 2000), "broadcast: Broadcast uint8": (1, 300),
    "exchange: Send float64": (1, 2048), "exchange: Recv float64": (1, 1024),
    "mixed: AllReduce float32": (2, 200), "mixed: AllGather int8": (1, 20), "mixed: AllReduce int64": (1, 240),
}
FRAMES = {
    "all_reduce [nccl: AllReduce float32]": 3, "all_reduce [nccl: AllReduce int64]": 1,
    "all_gather [nccl: AllGather bfloat16]": 2, "broadcast [nccl: Broadcast uint8]": 1,
    "exchange [nccl: SendRecv float64]": 1, "mixed [nccl: group]": 1, "mixed [nccl: AllReduce]": 1,
}
ONE, TWO = "NCCL pair 0xabcdef0123 rank 1 of 2", "NCCL 0x77 rank 0 of 4"
ROWS = [f"nccl|AllReduce float32|{ONE}|4000|range"] * 3 + [f"nccl|AllGather bfloat16|{ONE}|1000|range"] * 2 + [
    f"nccl|Broadcast uint8|{ONE}|300|range", f"nccl|SendRecv float64|{ONE}|3072|range",
    f"nccl|AllReduce int64|{TWO}|56|range", f"nccl|group|{ONE}|60|range", f"nccl|AllReduce|{TWO}|400|range"]


def launched_within(operations):
    """Before version 4 the data type is the one that NCCL itself works with; before 5 there is nothing around a launch."""
    renamed = {"all_gather: AllGather bfloat16": "all_gather: AllGather int8",
               "broadcast: Broadcast uint8": "broadcast: Broadcast int8"}
    return {renamed.get(key, key): value for key, value in operations.items()}


def collectives(m):
    """Count and bytes by "function: collective"."""
    found = {}

    def walk(node, function):
        if node["kind"] in ("native", "python") and node["name"] in FUNCTIONS:
            function = node["name"]
        if node["label"].startswith("collective"):
            own = node["metrics"]["exclusive"]
            key = function + ": " + node["label"].removeprefix("collective").strip()
            count, size = found.get(key, (0, 0))
            found[key] = (count + own["operations"], size + own["bytes"])
        for child in node["children"]:
            walk(child, function)

    walk(m.contexts(), "")
    return found


def view(m, name):
    done = subprocess.run([m.options.sonde, "report", m.path, name, "--json"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure(done.stderr)
    return json.loads(done.stdout)


def lanes(m):
    """Operations by communicator."""
    return {lane["name"]: lane["count"] for lane in view(m, "lanes") if lane["name"].startswith("NCCL")}


def communication(m, version):
    """What the two ranks' communicator sends by its ring, what the four ranks' tree sends on average, and to or from whom: nobody recorded them."""
    comm = view(m, "comm")
    told = version >= 4  # how many ranks there are
    sent = 12000 + 2000 + 300 + 2048 + 40 + 20 + (56 + 240 + 160) * 3 // 2 if told else 2048
    expect("pairs", [(1, None, "collective", 12, sent), (None, 1, "collective", 1, 1024)],
           [(p["from"], p["to"], p["kind"], p["operations"], p["bytes"]) for p in comm["pairs"] if p["kind"] == "collective"])
    expect("exact", {False}, {p["exact"] for p in comm["pairs"] if p["kind"] == "collective"})
    if version == 1:  # numbers that mean something else in each release
        expect("algorithms", {(None, None, None)}, {(c["algorithm"], c["protocol"], c["channels"]) for c in comm["collectives"]})
        return
    how = {c["name"].split()[0]: (c["ranks"], c["algorithm"], c["protocol"], c["channels"], c["sent_bytes"]) for c in comm["collectives"]
           if c["bytes"] in (2048, 12000, 2000)}
    ranks = 2 if told else None
    expect("how", {"AllReduce": (ranks, "RING", "SIMPLE", 8, 12000 if told else None), "AllGather": (ranks, "RING", "SIMPLE", 8, 2000 if told else None),
                   "Send": (ranks, None, None, 8 if told else None, 2048)}, how)


def record(options, mode, version, *more, env=None, library=None):
    """`library`: the calls come from a libnccl.so.2, "new" or "old"."""
    command = [options.program, mode, str(version)]
    if library:
        command.append(os.path.join(os.path.dirname(options.program), library, "libnccl.so.2"))
    return Measured(options, f"{mode}-{version}", command, *more, env=env)


def notes(m):
    return [note for p in view(m, "ledger")["processes"] for note in p.get("notes", []) if "NCCL" in note]


def check_ledger(m, operations):
    ledger = view(m, "ledger")
    expect("collectives in the ledger", operations, ledger["operations"].get("collective", 0))
    expect("notes", [], notes(m))


def each(options, version):
    m = record(options, "each", version)
    expect("operations", OPERATIONS if version >= 5 else launched_within(OPERATIONS), collectives(m))
    check_ledger(m, 13)
    if version >= 4:
        expect("lanes", {ONE: 10, TWO: 3}, lanes(m))
    else:
        expect("lanes", {ONE.removesuffix(" of 2"): 10, TWO.removesuffix(" of 4"): 3}, lanes(m))
    communication(m, version)
    frames = m.operations(FUNCTIONS)
    copied = {"copied [nccl: AllGather int8]": 1} if version == 6 else {}
    if version >= 5:
        expect("kernels", {**FRAMES, **copied}, frames)
        expect("rows", ROWS + [f"nccl|AllGather int8|{ONE}|64|range"] * len(copied), m.rows())
    else:
        expect("kernels", 10, sum(frames.values()))
        expect("rows", [], m.rows())


def host(options):
    """Handed over in a thread that makes no calls: counted there."""
    m = record(options, "host", 5)
    expect("operations", {"host_thread: " + key.split(": ")[1] for key in OPERATIONS}, set(collectives(m)))
    check_ledger(m, 13)
    expect("kernels", FRAMES, m.operations(FUNCTIONS))


def thread(options):
    """A communicator that does not block launches in a thread of NCCL's."""
    m = record(options, "thread", 5)
    expect("operations", {"launch_thread: " + key.split(": ")[1] for key in OPERATIONS}, set(collectives(m)))
    expect("kernels", {f"launch_thread {key.split(' ', 1)[1]}": 0 for key in FRAMES},
           {key: 0 for key in m.operations(FUNCTIONS)})
    check_ledger(m, 13)


def captured(options):
    """What was only captured has not happened."""
    for version in (4, 5):
        m = record(options, "captured", version)
        expect("operations", {}, collectives(m))
        check_ledger(m, 0)


def many(options):
    m = record(options, "many", 5)
    expect("operations", {"all_reduce: AllReduce float32": (300, 1200)}, collectives(m))
    expect("lanes", {f"NCCL 0x{1000 + i:x} rank 0 of 2": 1 for i in range(300)}, lanes(m))


def own_tool(options):
    """The user's own plugin stays, and the ledger says that NCCL is not heard."""
    m = record(options, "each", 5, library="new", env={"NCCL_PROFILER_PLUGIN": "/nonexistent.so"})
    expect("operations", {}, collectives(m))
    expect("notes", ["NCCL's collectives are recorded as kernels only: NCCL_PROFILER_PLUGIN is set to /nonexistent.so"], notes(m))
    expect("operations", OPERATIONS, collectives(record(options, "each", 5, library="new")))


def old(options):
    """An NCCL that has no such interface."""
    m = record(options, "each", 5, library="old", env={"NCCL_PROFILER_PLUGIN": "none"})
    expect("notes", ["NCCL 2.21 has no profiler plugin interface (2.23 and later have): "
                     "collectives are recorded as kernels only"], notes(m))


def off(options):
    expect("rows", [], record(options, "each", 5, "--start-off").rows())


CASES = {f"v{n}": (lambda options, n=n: each(options, n)) for n in range(1, 7)}
CASES.update({case.__name__: case for case in (host, thread, captured, many, own_tool, old, off)})


if __name__ == "__main__":
    sys.exit(main(CASES, ("sonde", "rows", "program", "work", "cache")))
