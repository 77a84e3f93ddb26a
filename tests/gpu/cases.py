"""The cases: what each program does on the GPU, counted by hand from its source, and what Sonde must say of it.

A check is a function of a Measurement; it yields (what, holds, detail).
"""
import os
import re
import shutil

import known
from harness import HERE, marked_line

MIB = 1 << 20
KIB = 1 << 10


class Case:
    """`kernels` and `copies` are exact; None: not compared. `command` follows {bin}, the programs' folder."""

    def __init__(self, name, command, kernels=None, copies=None, checks=(), options=(), env=None, gpus=1, status=0,
                 loss=(), timeout=120, needs=(), streams=("out", "err")):
        self.name, self.command, self.kernels, self.copies = name, command, kernels, copies
        self.checks, self.options, self.env, self.gpus, self.status = checks, options, env or {}, gpus, status
        self.loss = loss  # figures of the ledger that need not be 0
        self.timeout, self.needs = timeout, needs
        self.streams = streams  # what the program prints the same in every run


def source(name):
    return os.path.join(HERE, "programs", name + ".cu")


def equal(what, found, expected):
    return what, found == expected, f"{found}" if found == expected else f"found {found}, expected {expected}"


def within(what, low, value, high):
    return what, value is not None and low <= value <= high, f"{value} in {low}..{high}"


def named(frame, name):
    """A function by its name, whether or not the symbol tells its parameters."""
    text = frame.get("name") or ""
    return text == name or text.startswith(name + "(") or text.endswith("::" + name)


def called_from(m, rows, name, function, line):
    """Some caller of the kernel or copy is that line of that function."""
    frames = [f for row in rows for caller in row["callers"] for f in caller["frames"]]
    found = any(named(f, function) and f["line"] == line for f in frames)
    return f"{name} is called from {function}:{line}", found, "" if found else str([(f["name"], f["line"]) for f in frames])[:300]


# ---- counts and attributes ----------------------------------------------------------------------


def check_counts(m):
    kernels = {row["name"]: row for row in m.view("kernels")}
    add = kernels["add"]
    yield equal("global size of add", add["work"]["global"], [64 * 128, 2, 2])
    yield equal("block size of add", add["work"]["local"][:1], [128])
    yield called_from(m, [add], "add", "launch_adds", marked_line(source("counts"), "add"))
    twice = [c for c in kernels["twice"]["callers"] if any(named(f, "launch_twice") for f in c["frames"])]
    yield equal("launches of twice under launch_twice", sum(c["count"] for c in twice), 40)
    ways = {tuple((f["name"], f["line"]) for f in frames if (f["file"] or "").endswith("counts.cu")) for frames, _ in m.paths("twice")}
    yield equal("ways to twice", len(ways), 2)  # in the user's code: the first launch takes another way in the runtime
    yield equal("no bytes of kernels", add["bytes"], 0)
    where = add.get("source") or {}
    begin = marked_line(source("counts"), "kernel")  # its first instruction is of one of the lines that follow
    yield ("the kernel's own code", os.path.basename(where.get("file", "")) == "counts.cu" and begin <= where.get("line", 0) <= begin + 6,
           f"{where}, expected {begin} to {begin + 6}")


def check_code(m):
    """The programs' own cubin, and whatever the runtime brings: each piece once."""
    folder = os.path.join(m.path, "code")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    yield "the code that was loaded is kept", bool(names), str(names)
    sizes = {name: os.path.getsize(os.path.join(folder, name)) for name in names}
    yield "no piece of it is empty", all(sizes.values()), str(sizes)


def check_just_in_time(m):
    """The driver's own compiler has made the code; CUPTI tells its time as overhead."""
    yield from check_code(m)
    vendor = m.view("ledger")["vendor_ns"]
    yield "CUPTI's overhead is told", bool(vendor), str(vendor)


def check_memory_kinds(m):
    sources = {}
    for op in m.rows(kind="write"):
        kind = (m.work(op) or {}).get("source")
        sources[kind] = sources.get(kind, 0) + 1
    yield equal("writes by source", sources, {"pageable": 1, "pinned": 10})
    yield called_from(m, [r for r in m.view("copies") if r["kind"] == "write"], "the write", "main",
                      marked_line(source("counts"), "write"))


def check_all_calls(m):
    calls = {row["name"]: row["count"] for row in m.view("api")}
    launches = sum(n for name, n in calls.items() if name and name.startswith(("cudaLaunchKernel", "cuLaunchKernel")))
    yield "every launch is a call", launches >= 140, f"{launches} calls of *LaunchKernel*"
    yield "calls that make no work are there too", any((n or "").startswith("cudaGetDevice") or (n or "").startswith("cuCtxGet")
                                                        or (n or "").startswith("cudaMalloc") for n in calls), str(sorted(map(str, calls)))[:300]


def check_profile_has_no_trace(m):
    yield equal("rows of the trace", len(m.view("export")["operations"]), 0)


def check_launch(m):
    for name in ("plain", "tiny", "dynamic_shared", "static_shared"):
        work = (m.kernel(name) or {}).get("work") or {}
        wanted = m.truth[f"{name}.registers"]  # the compiler's; the driver rounds up to a unit of 8, and gives 16 at least
        yield within(f"{name}: registers", wanted, work.get("registers"), max(16, (wanted + 7) // 8 * 8))
        # A size of nothing may be left out.
        yield equal(f"{name}: static shared memory", work.get("static_shared_bytes") or 0, m.truth[f"{name}.static_shared"])
        yield equal(f"{name}: dynamic shared memory", work.get("dynamic_shared_bytes") or 0, m.truth[f"{name}.dynamic_shared"])
        yield within(f"{name}: occupancy in thousandths", m.truth[f"{name}.occupancy"] - 1,
                     round(1000 * (work.get("occupancy") or 0)), m.truth[f"{name}.occupancy"] + 1)
    limits = {name: ((m.kernel(name) or {}).get("work") or {}).get("occupancy_limiter")
              for name in ("tiny", "dynamic_shared", "static_shared")}
    yield equal("what limits occupancy", limits, {"tiny": "blocks", "dynamic_shared": "shared memory", "static_shared": "shared memory"})
    if m.truth.get("clusters"):
        yield equal("clusters", ((m.kernel("clustered") or {}).get("work") or {}).get("cluster"), [4, 1, 1])
        yield equal("clustered launches", m.kernels().get("clustered"), 10)


# ---- order and time ---------------------------------------------------------------------------------


def in_order(ops):
    return all(a["end_ns"] <= b["start_ns"] for a, b in zip(ops, ops[1:]))


def check_order(m):
    lanes = {name: m.by_lane(name) for name in ("produce", "consume", "aside")}
    for name, lane in lanes.items():
        yield equal(f"{name}: kernels on its one lane", [len(ops) for ops in lane.values()], [20])
        yield f"{name}: one after the other", all(map(in_order, lane.values())), ""
        calls = [[op["enter_ns"] for op in ops] for ops in lane.values()]
        yield f"{name}: in the order of the calls", all(c == sorted(c) for c in calls), ""
    yield equal("three lanes", len({lane for by in lanes.values() for lane in by}), 3)
    last = max(op["end_ns"] for op in m.rows("produce"))
    first = min(op["start_ns"] for op in m.rows("consume"))
    yield "the event orders the streams", last <= first, f"{first - last} ns between"
    produce = m.kernel("produce")
    yield within("shortest time of a kernel that waits 200 us", 195000, produce["min_ns"], 400000)
    yield within("its median", 195000, produce["p50_ns"], 300000)
    counts = m.view("ledger")["operations"]
    yield equal("event records and waits", (counts.get("event_record"), counts.get("event_wait")), (1, 1))


def numbered(m):
    """Correlation: kind and number of the first operation of that call, counted by kind in the order of the calls."""
    names, counts = {}, {}
    for op in sorted(m.view("export")["operations"], key=lambda op: op["enter_ns"]):
        if op["correlation"] not in names:
            counts[op["kind"]] = counts.get(op["kind"], 0) + 1
            names[op["correlation"]] = f"{op['kind']} {counts[op['kind']]}"
    return names


def waits_of(m):
    """In the order of the calls: who (the call without its version, or its operation) waits for what."""
    document, names = m.view("export"), numbered(m)
    calls = {(call["lane"], call["enter_ns"]): re.sub(r"(_v\d+)?(_ptsz|_ptds)?$", "", call["name"]) for call in document["calls"]}
    kernels = {}  # lane: the first kernel on it
    for op in document["operations"]:
        if op["kind"] == "kernel":
            kernels.setdefault(op["lane"], op["name"])
    rows = []
    for wait in document["waits"]:
        what = (names.get(wait["operation"], "what is not there") if wait["operation"] else
                f"lane of {kernels.get(wait['queue'])}" if wait["queue"] else "device" if wait["device"] else "process")
        rows.append((calls[wait["lane"], wait["enter_ns"]], names[wait["waiter"]] if wait["waiter"] else None, what))
    return rows


def check_waits(*expected):
    def check(m):
        found = waits_of(m)
        for i in range(max(len(found), len(expected))):
            yield equal(f"wait {i + 1}", found[i] if i < len(found) else None, expected[i] if i < len(expected) else None)
    return check


def check_waited(m):
    """The device's times must agree: what a call waited for has ended when it returns, what it did not wait for need not."""
    document = m.view("export")
    bound = m.view("ledger")["clock_bound_ns"] or 0
    calls = {(call["lane"], call["enter_ns"]): call for call in document["calls"]}
    copies = {op["correlation"]: op for op in document["operations"] if op["kind"] in ("read", "write")}
    staged = min((op["correlation"] for op in copies.values() if op["kind"] == "write"), default=0)  # from pageable memory
    late = [(call["name"], copies[w["operation"]]["end_ns"] - call["leave_ns"]) for w in document["waits"]
            for call in [calls[w["lane"], w["enter_ns"]]]
            if w["operation"] in copies and w["operation"] != staged and copies[w["operation"]]["end_ns"] > call["leave_ns"] + bound]
    yield equal("copies that were waited for are over when the call returns", late, [])
    by_operation = {call["correlation"]: call for call in document["calls"]}
    early = [op["kind"] for op in document["operations"] if op["kind"] in ("copy", "fill") and
             op["end_ns"] <= by_operation[op["correlation"]]["leave_ns"]]
    yield equal("a copy within the device and a set, behind a kernel of 200 ms, do not hold their calls", early, [])


def check_default_stream(m):
    lanes = {lane["id"]: lane for lane in m.view("export")["processes"][0]["lanes"]}
    flags = {name: (lanes[op["lane"]]["legacy_default"], lanes[op["lane"]]["non_blocking"])
             for name in ("first", "second", "legacy") for op in m.rows(name)[:1]}
    yield equal("how lanes stand to the default stream", flags,
                {"first": (False, True), "second": (False, False), "legacy": (True, False)})


def check_uses(m):
    uses = [(o["kind"], o["uses"], o["uses_partial"]) for o in m.view("export")["processes"][0]["objects"]]
    yield equal("uses of the memory", uses, [("device", 0, True), ("device", 7, True), ("pinned", 2, True)])


def check_window(m):
    bound = m.view("ledger")["clock_bound_ns"] or 0
    times = [t for op in m.rows(kind="kernel") for t in (op["start_ns"], op["end_ns"])]
    yield "device times lie within the host's window", (m.truth["before_ns"] - bound <= min(times) and
                                                        max(times) <= m.truth["after_ns"] + bound), f"maximum clock error {bound} ns"


def check_lanes(name, lanes, each):
    def check(m):
        found = sorted(len(ops) for ops in m.by_lane(name).values())
        yield equal(f"{name}: lanes and kernels on each", (len(found), set(found)), (lanes, {each}))
        yield f"{name}: in order on each", all(map(in_order, m.by_lane(name).values())), ""
    return check


def calls_of(m, *beginnings):
    return sum(row["count"] for row in m.view("api") if (row["name"] or "").startswith(beginnings))


def check_green(m):
    yield equal("lanes of tick, and kernels on each", sorted(map(len, m.by_lane("tick").values())), [20, 20])
    yield equal("calls that made streams", calls_of(m, "cuGreenCtxStreamCreate"), 2)


def check_many_lanes(m):
    yield from check_lanes("one", 1000, 3)(m)
    yield equal("calls that made and destroyed streams", (calls_of(m, "cuStreamCreate"), calls_of(m, "cuStreamDestroy")), (1000, 1000))
    yield equal("sets on as many lanes", len(m.by_lane(kind="fill")), 1000)


def check_batch(m):
    found = m.operations().get("host_copy", 0)
    yield "copies from host to host: each, or none where the driver's thread makes them", found in (0, 5), str(found)
    calls = {row["name"]: row["count"] for row in m.view("api")}
    yield "one call of the batch", sum(n for c, n in calls.items() if c and "Batch" in c) == 1, str(calls)[:200]


# ---- counters -------------------------------------------------------------------------------------------

COUNTED = {("vadd", "big"): (3, 1 << 24), ("vadd", "small"): (5, 1 << 18), ("scale", "streams"): (6, 1 << 18), ("scale", "threads"): (40, 1 << 16)}


def check_counters(m):
    """Warps follow from the launches, threads' instructions from warps, bytes from the arrays; instructions of a warp are the code's."""
    found = m.view("counters")
    lines = {marked_line(source("counters"), name): (kernel, name) for kernel, name in [*COUNTED, ("bfs", "bfs")]}
    rows = {}
    for row in found["contexts"]:
        place = next((lines[f["line"]] for f in row["frames"] if f["line"] in lines), None)
        rows[place, row["metric"]] = row
    for place, (launches, threads) in COUNTED.items():
        warps, insts, thread_insts = (rows.get((place, f"smsp__{what}.sum"), {}) for what in ("warps_launched", "inst_executed", "thread_inst_executed"))
        yield equal(f"{place}: launches", warps.get("operations"), launches)
        yield equal(f"{place}: warps of each", (warps.get("least"), warps.get("most")), (threads // 32, threads // 32))
        yield equal(f"{place}: instructions of each warp", insts.get("total", 0) % (launches * threads // 32), 0)
        yield equal(f"{place}: instructions of threads", thread_insts.get("total"), 32 * insts.get("total", 0))
    moved = {what: rows.get((("vadd", "big"), f"dram__bytes_{what}.sum"), {}).get("mean") for what in ("read", "write")}
    yield within("bytes that a vector add reads", .97 * 2 * 4 * (1 << 24), moved["read"], 1.02 * 2 * 4 * (1 << 24))
    yield within("bytes that it writes, less what stays in the cache", .5 * 4 * (1 << 24), moved["write"], 1.3 * 4 * (1 << 24))
    yield equal("steps of the search", rows.get((("bfs", "bfs"), "smsp__warps_launched.sum"), {}).get("operations"), int(m.truth["bfs_steps"]))
    yield equal("launches that were not measured", found["missed"], 0)


UNLOADED = {f"piece_{i:03}": i % 5 + 1 for i in range(200)}
# For what warps of a kernel wait, and the lines in which they do; how much of its samples at least.
WAITS_FOR = {"chase": ("long_scoreboard", "chase", .7), "meet": ("barrier", "meet", .7), "chain": ("wait", "chain", .4),
             "shared": ("short_scoreboard", "shared", .4), "doze": ("sleeping", None, .8),
             "first_loaded": ("sleeping", None, .8), "second_loaded": ("sleeping", None, .8)}


def check_stalls(m):
    """For what warps wait follows from the code, how many samples a kernel has from its time: one of each multiprocessor every so many cycles,
    as each of these fills the device."""
    found, times = m.view("stalls"), {row["name"].split("(")[0]: row["total_ns"] for row in m.view("kernels")}
    times["doze"] = times.get("doze", 0) * 20000 / 25000  # the rest was in a second context of the device
    functions = {row["function"].split("(")[0]: row for row in found["functions"]}
    yield equal("kernels that were sampled", sorted(functions), sorted(WAITS_FOR))
    rates = {}
    for name, (reason, mark, least) in WAITS_FOR.items():
        row = functions.get(name) or {"samples": 0, "issued_samples": 0, "idle_samples": 0, "reasons": []}
        said = {r["reason"]: r["samples"] for r in row["reasons"]}
        yield within(f"{name}: share of {reason}", least, said.get(reason, 0) / (row["samples"] or 1), 1)
        yield equal(f"{name}: the most frequent reason", max(said, key=said.get, default=None), reason)
        yield equal(f"{name}: reasons and those that went on", sum(said.values()) + row["issued_samples"], row["samples"])
        yield within(f"{name}: scheduler that issued nothing", 0, row["idle_samples"], row["samples"])
        rates[name] = row["samples"] / times.get(name, 1)
        lines = [line for line in found["lines"] if line["function"].split("(")[0] == name]
        yield equal(f"{name}: samples of its lines", sum(line["samples"] for line in lines), row["samples"])
        of = [i for i in found["instructions"] if i["function"].split("(")[0] == name]
        yield equal(f"{name}: samples of its instructions", sum(i["samples"] for i in of), row["samples"])
        if mark and lines:
            top = max(lines, key=lambda line: line["samples"])
            near = marked_line(source("stalls"), mark)
            yield f"{name}: most of them in line {near}", top["line"] in (near, near + 1) and top["samples"] > .5 * row["samples"], f"{top['line']}, {top['samples']}"
    texts = {name: [i["text"] for i in found["instructions"] if i["function"].split("(")[0] == name] for name in WAITS_FOR}
    if shutil.which("nvdisasm") or os.path.exists("/usr/local/cuda/bin/nvdisasm"):
        yield equal("instructions whose text is not known", {name: sum(text is None for text in of) for name, of in texts.items()}, dict.fromkeys(texts, 0))
        for name, what in ("chain", "FFMA"), ("doze", "NANOSLEEP"), ("second_loaded", "NANOSLEEP"), ("shared", "LDS"):
            yield f"{name}: {what} is among its instructions", any(what in text for text in texts[name] if text), str(texts[name])[:200]
    one = sorted(rates.values())[len(rates) // 2]
    for name, rate in rates.items():
        yield within(f"{name}: samples per time as of the others", .93 * one, rate, 1.07 * one)
    clock = one * found["cycles"] / m.truth["multiprocessors"]
    yield within("which is one of each multiprocessor every so many cycles, at this many GHz", .9, clock, 2.1)
    for name in ("chase", "shared"):
        contexts = [c for c in found["contexts"] if c["function"].startswith(name)]
        yield within(f"{name}: samples of its contexts", .999 * functions[name]["samples"], sum(c["samples"] for c in contexts), 1.001 * functions[name]["samples"])
    chase = [c for c in found["contexts"] if c["function"].startswith("chase")]
    by_line = {f["line"]: c for c in chase for f in c["frames"]}
    here, there = (by_line.get(marked_line(source("stalls"), name), {"samples": 0, "exact": True}) for name in ("here", "there"))
    yield within("three launches here, one there", 2.7, here["samples"] / (there["samples"] or 1), 3.3)
    yield equal("contexts are divided by time", (here["exact"], there["exact"]), (False, False))
    yield equal("samples that are missing", (found["dropped_samples"], found["lost_samples"]), (0, 0))
    yield "it is said that a second context is not sampled", any("of several contexts of a device" in note for note in m.notes()), str(m.notes())


def check_series(m):
    """Instructions of a warp are the code's (and the eight that CUPTI's records of kernels add), bytes those of the arrays; two kernels that run at once have what each of their warps executes, and
    are at least and at most what was counted around them; all of it together is what was counted."""
    found, turns, launched = m.view("counters"), int(m.truth["turns"]), {"vadd": 1 << 19, "left": 32 * 4, "right": 32 * 4}
    parts = {(row["operation"].split("(")[0], row["metric"]): row for row in found["parts"]}
    series = {row["metric"]: row for row in found["series"]}
    each = {name: parts.get((name, "smsp__inst_executed.sum"), {}) for name in launched}
    vadd = each["vadd"].get("per_operation") or 0
    yield equal("launches of the vector add that are in samples", each["vadd"].get("operations"), turns)
    yield within("instructions of a warp of it: a whole number", -.01, vadd / launched["vadd"] - round(vadd / launched["vadd"]), .01)
    left, right = (each[name].get("per_operation") or 0 for name in ("left", "right"))
    yield within("instructions of two kernels at once, one with twice the loops", 1.9, right / (left or 1), 2.1)
    moved = {what: parts.get(("vadd", f"dram__bytes_{what}.sum"), {}).get("per_operation") or 0 for what in ("read", "write")}
    yield within("bytes that a vector add reads", .97 * 8 * (1 << 24), moved["read"], 1.03 * 8 * (1 << 24))
    yield within("bytes that it writes", .97 * 4 * (1 << 24), moved["write"], 1.03 * 4 * (1 << 24))
    [kernel] = [row for row in m.view("kernels") if row["name"].startswith("vadd")]
    yield within("bytes of the memory beside its times", .97 * 12 * (1 << 24), kernel["memory_bytes"] or 0, 1.03 * 12 * (1 << 24))
    rate = kernel["memory_bytes_per_s"] / kernel["memory_share"] if kernel["memory_share"] else 0
    yield within("the peak that they and their share say, TB/s: between half and twice an H100's", 1.6, rate / 1e12, 6.8)
    for metric, bytes_ in ("pcie__read_bytes.sum", 10 * 4 << 24), ("pcie__write_bytes.sum", 10 * 4 << 24):
        if metric in series:
            yield within(f"{metric}: what copies moved, and what packets have around it", bytes_, series[metric]["total"], 1.3 * bytes_ + 2e8)
    for metric, row in series.items():
        own = [part for (_, name), part in parts.items() if name == metric]
        if row["total"] is None:  # no count
            continue
        yield within(f"{metric}: it adds up", row["total"] * (1 - 1e-9) - 1e-6, sum(p["value"] for p in own) + row["idle"], row["total"] * (1 + 1e-9) + 1e-6)
        yield f"{metric}: within its bounds", all(p["least"] <= p["value"] * (1 + 1e-9) and p["value"] <= p["most"] * (1 + 1e-9) for p in own), str(own)[:300]


def check_roofline(m):
    """A vector add moves three arrays and is near what the memory can; its pipes are not near anything. The other two do nothing but multiply and add, each
    in four warps."""
    kernels = {row["name"].split("(")[0]: row for row in m.view("kernels")}
    add, right = kernels["vadd"], kernels["right"]
    yield within("bytes of a vector add", .97 * 12 * (1 << 24), add["memory_bytes"] or 0, 1.05 * 12 * (1 << 24))
    yield within("of the memory's peak", .5, add["memory_share"] or 0, 1)
    yield "its pipe", add["pipe"] == "fma" and add["pipe_share"] < .2, f"{add['pipe']} {add['pipe_share']}"
    yield "a kernel that computes moves next to nothing", right["memory_share"] < .01 and right["pipe"] == "fma" and right["pipe_share"] > .01, str((right["memory_share"], right["pipe"], right["pipe_share"]))


# ---- graphs ---------------------------------------------------------------------------------------------


def check_graphs(m):
    makers = {"first": ("capture_work", "capture"), "built": ("build_work", "build")}
    for kernel, (maker, mark) in makers.items():
        line = marked_line(source("graphs"), mark)
        paths = m.paths(kernel)
        launched = all(any(named(f, "replay") for f in frames if f["kind"] == "native") for frames, _ in paths)
        yield f"{kernel}: under its launch", bool(paths) and launched, f"{len(paths)} ways"
        links = [(f["name"], f["line"]) for frames, _ in paths for f in frames if f["kind"] == "link"]
        linked = sum(leaf["metrics"]["inclusive"]["operations"] for frames, leaf in paths
                     if any(f["kind"] == "link" and named(f, maker) for f in frames))
        yield equal(f"{kernel}: operations that say where their node was made", linked, m.kernels().get(kernel))
        yield f"{kernel}: at line {line}", bool(links) and all(at == line for _, at in links), str(links)[:200]
    paths = m.paths("replaced")
    yield "replaced: under its launch", bool(paths) and all(any(named(f, "replay") for f in frames) for frames, _ in paths), ""


def check_child_graphs(m):
    """The nodes of the whole graph are linked. Of those of graphs within it CUPTI 13.0 does not say which ran (docs/developers/cuda.md):
    they may have no link, but none to where another node was made."""
    makers = {"top_first": "build_whole", "top_last": "build_whole", "inner_one": "capture_inner", "inner_two": "capture_inner",
              "outer_own": "build_outer", "innermost": "capture_innermost"}
    for kernel, maker in makers.items():
        paths = m.paths(kernel)
        launched = all(any(named(f, "replay") for f in frames if f["kind"] == "native") for frames, _ in paths)
        yield f"{kernel}: under its launch", bool(paths) and launched, f"{len(paths)} ways"
        linked = [(leaf["metrics"]["inclusive"]["operations"], [f for f in frames if f["kind"] == "link"]) for frames, leaf in paths]
        right = sum(count for count, links in linked if any(named(f, maker) for f in links))
        wrong = sum(count for count, links in linked if links and not any(named(f, maker) for f in links))
        yield equal(f"{kernel}: operations that say that another's node was theirs", wrong, 0)
        if kernel.startswith("top"):
            yield equal(f"{kernel}: operations that say where their node was made", right, m.kernels().get(kernel))


def check_conditional(m):
    """Kernels of bodies, whose records name no call, stand under the launches of their graph, and are linked to where their
    nodes were made; graph by graph, as often as they ran."""
    makers = {"if_nodes": {"inside_a": 3, "inside_b": 3, "inside_else": 3}, "while_nodes": {"inside_a": 15, "inside_b": 12, "repeat": 27},
              "switch_node": {"inside_b": 9}, "nested_nodes": {"inside_a": 9, "repeat": 9}}
    for maker, kernels in makers.items():
        for kernel, count in kernels.items():
            found = [(frames, leaf["metrics"]["inclusive"]["operations"]) for frames, leaf in m.paths(kernel)]
            under = [(frames, n) for frames, n in found if any(f["kind"] == "native" and named(f, maker) for f in frames)]
            yield equal(f"{kernel}: under launches in {maker}", sum(n for _, n in under), count)
            yield equal(f"{kernel}: of these, linked to where their node was made",
                        sum(n for frames, n in under if any(f["kind"] == "link" and any(named(f, at) for at in ("add", "add_plain", "add_repeat", maker))
                                                            for f in frames)), count)
    yield equal("work of no call that is known", m.view("ledger")["unplaced"], 0)


def check_conditional_whole(m):
    """Each launch is one operation; what CUPTI hands over of bodies beside that belongs to no call: counted, and named in notes."""
    bodies = {"inside_a": 27, "inside_b": 24, "inside_else": 3, "repeat": 36}
    launched = [leaf["metrics"]["inclusive"]["operations"] for frames, leaf in m.paths()
                if leaf.get("operation") == "graph" and any(named(f, "launch") for f in frames if f["kind"] == "native")]
    yield equal("graphs as one operation each", m.operations().get("graph"), 21)
    yield equal("of these, under their launches", sum(launched), 21)
    unplaced = m.view("ledger")["unplaced"]
    said = [kernel for kernel in bodies if any(re.search(rf"\bkernel {kernel}\b", note) for note in m.notes())]
    yield "work of no known call: no more than the bodies had", unplaced <= sum(bodies.values()), str(unplaced)
    yield "and it is named where there is some", bool(said) == bool(unplaced), f"{unplaced}: {said}"


# ---- processes --------------------------------------------------------------------------------------------


def check_processes(*kernels):
    def check(m):
        counts = {}
        for op in m.rows(kind="kernel"):
            counts[op["process"]] = counts.get(op["process"], 0) + 1
        yield equal("kernels of each process", sorted(counts.values()), sorted(kernels))
        yield equal("processes of the measurement", len(m.view("ledger")["processes"]), len(kernels))
    return check


def check_ranks(m):
    found = sorted((p["rank"], p["ranks"]) for p in m.view("ledger")["processes"] if p["rank"] is not None)
    yield equal("ranks", found, [(0, 2), (1, 2)])


def check_destroyed(m):
    ledger, spin = m.view("ledger"), m.kernels().get("spin", 0)
    open_ends = ledger["in_flight"] + ledger["unmatched"] + ledger["dropped"]
    yield equal("kernels of the context that went on", m.kernels().get("tick"), 100)
    yield equal("calls that made and destroyed contexts", (calls_of(m, "cuCtxCreate"), calls_of(m, "cuCtxDestroy")), (2, 2))
    yield equal("kernels of the destroyed one, finished or said to be open", spin + open_ends, 200)


def check_trap(m):
    ledger = m.view("ledger")
    yield equal("kernels before the trap", m.kernels().get("good"), 10)
    yield within("the trapped kernel: counted at most once", 0, m.kernels().get("bad", 0) + ledger["in_flight"] + ledger["unmatched"], 1)
    yield equal("the process ended by itself", [p["state"] for p in ledger["processes"]], ["exited"])


def check_alive(m):
    ledger = m.view("ledger")
    yield equal("kernels that ended", m.kernels().get("brief"), 5)
    yield equal("the one that did not", m.kernels().get("forever", 0) + ledger["in_flight"] + ledger["unmatched"], 1)


def check_held(m):
    counted = m.kernels().get("watched", 0)
    said = [note for note in m.notes() if "tool" in note or "CUPTI" in note or "Sanitizer" in note]
    yield "recorded, or said who holds CUPTI", counted == 10 or bool(said), f"{counted} kernels, notes {said}"


# ---- ranges --------------------------------------------------------------------------------------------------


def ranges_of(m, kernel):
    return {tuple(f["name"] for f in frames if f["kind"] == "range") for frames, _ in m.paths(kernel)}


def check_ranges(m):
    yield equal("ranges around inside", ranges_of(m, "inside"), {("step",)})
    yield equal("ranges around deeper", ranges_of(m, "deeper"), {("step", "sweep")})
    yield equal("ranges around outside", ranges_of(m, "outside"), {()})
    domains = {f["module"] for frames, _ in m.paths("deeper") for f in frames if f["kind"] == "range" and f["name"] == "sweep"}
    yield equal("domain of sweep", domains, {"solver"})
    rows = [r for r in m.view("export")["ranges"] if r["name"] == "sweep"]
    yield equal("payloads of sweep", [(r["payload_type"], r["payload"]) for r in rows], [("uint64", i) for i in range(20)])
    yield equal("category of sweep", {r["category"] for r in rows}, {"inner loop"})


# ---- allocations --------------------------------------------------------------------------------------------


def check_allocations(m):
    def kind(count, size, alive=0, alive_bytes=0):
        return {"count": count, "bytes": size, "alive": alive, "alive_bytes": alive_bytes}
    expected = {
        "device": kind(5, 5 * MIB + m.truth["pitch_bytes"], 1, 2 * MIB),
        "pool": kind(8, 26 * MIB),
        "pinned": kind(4, 5 * MIB, 1, 2 * MIB),
        "managed": kind(2, 2 * MIB),
        "virtual": kind(2, m.truth["virtual_bytes"]),
        "array": kind(1, 64 * 32 * 4),
    }
    found = m.objects()
    for name, value in expected.items():
        yield equal(f"{name} memory", found.get(name), value)
    yield equal("no other kind", sorted(set(found) - set(expected)), [])


def check_allocation_site(m):
    line = marked_line(source("memory"), "device")
    frames = [(f["name"], f["line"]) for site in m.view("objects")["sites"] if site["kind"] == "device" for f in site["frames"]]
    yield f"device memory is allocated by device_memory:{line}", any(named({"name": n}, "device_memory") and at == line
                                                                     for n, at in frames), str(frames)[:200]


# ---- all that a case says --------------------------------------------------------------------------------------------


def compare_numbers(runner, case, m):
    if case.kernels is not None:
        runner.check(case.name, *equal("kernels", m.kernels(), case.kernels))
    if case.copies is not None:
        runner.check(case.name, *equal("copies and sets", m.copies(), case.copies))
    if case.kernels is not None and case.copies is not None:
        expected = {kind: count for kind, (count, _) in case.copies.items()}
        if sum(case.kernels.values()):
            expected["kernel"] = sum(case.kernels.values())
        found = {k: v for k, v in m.operations().items() if k != "graph"}
        runner.check(case.name, *equal("operations of the ledger", found, expected))
    lost = m.losses(case.loss)
    runner.check(case.name, "nothing lost", not lost, f"{lost} {m.notes()}")
    for check in case.checks:
        for verdict in check(m):
            runner.check(case.name, *verdict)


# ---- the table ----------------------------------------------------------------------------------------------------

COUNTS = {"kernels": {"add": 100, "twice": 40},
          "copies": {"write": (11, 14 * MIB), "fill": (6, 4 * MIB + 5000), "copy": (3, 12 * MIB), "read": (8, 11 * MIB)}}
GRAPHS = {"kernels": {"first": 1100, "second": 2200, "built": 1000, "replaced": 100},
          "copies": {"fill": (2201, 2201 * 4096), "copy": (1100, 1100 * 4096), "read": (2, 8)}}
STREAMS_WAIT = [("cuCtxSynchronize", None, "device"), ("cuStreamWaitEvent", "event_wait 1", "event_record 1"),
                ("cuCtxSynchronize", None, "device"), ("cuMemcpyDtoH", None, "read 1"), ("cuMemcpyDtoH", None, "read 2")]
WAITS = [("cuStreamWaitEvent", "event_wait 1", "event_record 1"), ("cuEventSynchronize", None, "event_record 2"),
         ("cuStreamSynchronize", None, "lane of first"), ("cuCtxSynchronize", None, "device"),
         ("cuMemcpyHtoD", None, "write 1"), ("cuMemcpyHtoD", None, "write 2"), ("cuMemcpyDtoH", None, "read 1"),
         ("cuMemcpyDtoHAsync", None, "read 2"), ("cuStreamSynchronize", None, "lane of first"),
         ("cuStreamSynchronize", None, "lane of legacy"), ("cuStreamSynchronize", None, "lane of first"),
         ("cuStreamWaitEvent", "event_wait 2", "event_record 3"), ("cuStreamSynchronize", None, "lane of second")]
LAUNCHES = ("plain", "tiny", "dynamic_shared", "static_shared")
RANGES = {"outside": 20, "inside": 20, "deeper": 40, "profiled": 30}

CASES = [
    Case("counts", ["{bin}/counts"], checks=[check_counts, check_memory_kinds, check_code, known.check_one_lane,
                                                 known.check_pageable(2, 8 * MIB)], **COUNTS),
    Case("counts-shared-runtime", ["{bin}/counts-shared"], checks=[check_counts], **COUNTS),
    Case("counts-no-preload", ["{bin}/counts"], options=["--no-preload"], **COUNTS),
    Case("counts-profile", ["{bin}/counts"], options=["--profile"], checks=[check_counts, check_profile_has_no_trace], **COUNTS),
    Case("counts-api-all", ["{bin}/counts"], options=["--api", "all"], checks=[check_all_calls], **COUNTS),
    Case("counts-check", ["{bin}/counts"], options=["--check"], **COUNTS),
    Case("counts-lazy", ["{bin}/counts"], env={"CUDA_MODULE_LOADING": "LAZY"}, checks=[check_counts, check_code], **COUNTS),
    Case("counts-eager", ["{bin}/counts"], env={"CUDA_MODULE_LOADING": "EAGER"}, checks=[check_counts, check_code], **COUNTS),
    Case("just-in-time", ["{bin}/alone"], {"jitted": 12}, {"fill": (1, 4), "read": (1, 4)}, [check_just_in_time]),
    Case("static", ["{bin}/alone-static"], {"jitted": 12}, {"fill": (1, 4), "read": (1, 4)}),
    Case("green-contexts", ["{bin}/green"], {"tick": 40}, {"fill": (1, 4), "read": (1, 4)}, [check_green]),
    Case("entries", ["{bin}/entries"], {"tick": 35},
         {"write": (10, 511 * KIB + 4096), "copy": (12, 511 * KIB + 3 * 4096),
          "read": (12, 511 * KIB + 32 * KIB + 4096 + 4), "fill": (7, 63 * KIB + 4)}),
    Case("batch", ["{bin}/batch"], {}, None, [check_batch]),
    Case("streams", ["{bin}/streams"], {"produce": 20, "consume": 20, "aside": 20}, {"fill": (2, 8), "read": (2, 164)},
         [check_order, check_window, check_waits(*STREAMS_WAIT)]),
    Case("waits", ["{bin}/waits"], {"first": 1, "second": 2, "captured": 4, "legacy": 1},
         {"write": (2, 8192), "read": (3, 12288), "copy": (1, 1024), "fill": (1, 4096)},
         [check_waits(*WAITS), check_waited, check_default_stream, check_uses, known.check_long_kernel]),
    Case("counters", ["{bin}/counters"], checks=[check_counters], options=["--counters", "default"]),
    Case("stalls", ["{bin}/stalls"], {"chase": 4, "meet": 1, "chain": 2, "shared": 100, "doze": 2, "first_loaded": 1, "second_loaded": 1},
         {"fill": (1, 4 << 26)}, [check_stalls], options=["--pc=65536"]),
    Case("stalls-profile", ["{bin}/stalls"], {"chase": 4, "meet": 1, "chain": 2, "shared": 100, "doze": 2, "first_loaded": 1, "second_loaded": 1},
         {"fill": (1, 4 << 26)}, [check_stalls], options=["--pc=65536", "--profile"]),
    Case("unloaded", ["{bin}/unloaded"], UNLOADED, {}),
    Case("unloaded-profile", ["{bin}/unloaded"], UNLOADED, {}, options=["--profile"]),
    Case("unloaded-stalls", ["{bin}/unloaded"], UNLOADED, {}, options=["--pc"]),
    Case("roofline", ["{bin}/series", "50"], checks=[check_roofline], options=["--counters", "roofline"]),
    Case("series", ["{bin}/series"], checks=[check_series], options=["--counter-series", "1ms"]),
    Case("think", ["{bin}/think"], {"work": 20}, {"fill": (1, 4), "read": (1, 4)}, [known.check_thinking, known.check_one_lane]),
    Case("graphs", ["{bin}/graphs"], checks=[check_graphs], **GRAPHS),
    Case("graphs-whole", ["{bin}/graphs"], {}, {"fill": (1, 4096), "read": (2, 8)}, [
        lambda m: [equal("graphs as one operation each", m.operations().get("graph"), 2200)]], options=["--graph", "graph"]),
    Case("graph-changes", ["{bin}/graphchange"], {"before": 200, "after": 200, "side": 600}, {"fill": (1, 4), "read": (1, 4)}),
    Case("child-graphs", ["{bin}/childgraph"],
         {"top_first": 200, "top_last": 200, "inner_one": 200, "inner_two": 200, "outer_own": 200, "innermost": 200},
         {"fill": (1, 4), "read": (1, 4)}, [check_child_graphs]),
    Case("conditional-graphs", ["{bin}/conditional"],
         {"decide": 12, "outside": 9, "inside_a": 27, "inside_b": 24, "inside_else": 3, "repeat": 36, "refill": 9},
         {"fill": (1, 4), "read": (1, 4)}, [check_conditional]),
    Case("conditional-graphs-whole", ["{bin}/conditional"], {}, {"fill": (1, 4), "read": (1, 4)}, [check_conditional_whole],
         options=["--graph", "graph"]),
    Case("per-thread-streams", ["{bin}/perthread"], {"own": 800}, {"fill": (8, 32), "read": (1, 2048)},
         [check_lanes("own", 8, 100)]),
    Case("callbacks", ["{bin}/callbacks"], {"driven": 150, "answer": 100}, {"fill": (1, 8), "read": (1, 8)}),
    Case("reset", ["{bin}/reset"], {"early": 50, "late": 70}, {"fill": (2, 8), "read": (2, 8)}),
    Case("context-destroyed", ["{bin}/destroyed"], checks=[check_destroyed], loss=("in_flight", "unmatched", "dropped")),
    Case("fork-before", ["{bin}/forks", "before"], {"parent": 40, "child": 60}, {"fill": (2, 8), "read": (2, 8)},
         [check_processes(40, 60)]),
    Case("fork-after", ["{bin}/forks", "after"], {"parent": 50}, {"fill": (2, 8), "read": (2, 8)}, [check_processes(50)]),
    Case("children", ["/bin/sh", "-c", "{bin}/reset && {bin}/counts"],
         {"early": 50, "late": 70, **COUNTS["kernels"]}, None, [check_processes(120, 140)]),
    Case("thousand-streams", ["{bin}/manystreams"], {"one": 3000}, {"fill": (1000, 4000), "read": (1, 4000)},
         [check_many_lanes, known.check_launch_bound]),
    Case("threads", ["{bin}/threads"], {"empty": 198000, "count": 2000}, {"fill": (1, 4), "read": (1, 4)}),
    Case("trap", ["{bin}/trap"], checks=[check_trap], status=5, loss=("in_flight", "unmatched")),
    Case("memory", ["{bin}/memory"], {"touch": 14}, {}, [check_allocations, check_allocation_site, known.check_spaces, known.check_unused]),
    Case("alive-at-exit", ["{bin}/alive"], checks=[check_alive], loss=("in_flight", "unmatched")),
    Case("launch-attributes", ["{bin}/launch"], checks=[check_launch, known.check_small_grids]),
    Case("habits", ["{bin}/habits"], {"add": 80, "thin": 10, "turn": 80},
         {"write": (76, 64000 + 48 * MIB), "read": (42, 166), "fill": (1, 4)}, [known.check_habits]),
    Case("ranges", ["{bin}/ranges"], RANGES, {"fill": (1, 4), "read": (1, 4)}, [check_ranges]),
    Case("ranges-of-the-profiler-api", ["{bin}/ranges"], {"profiled": 30}, {}, options=["--capture-range", "cuda"]),
    Case("ranges-by-name", ["{bin}/ranges"], {"inside": 20, "deeper": 40}, {}, options=["--capture-range", "nvtx:step"]),
    Case("patched", ["{bin}/patched"], checks=[check_held], options=["--values=fine"], loss=("in_flight", "unmatched", "dropped")),
    Case("patched-engine", ["{bin}/patched"], checks=[check_held], options=["--values=fine", "--values-engine=sanitizer"], loss=("in_flight", "unmatched", "dropped")),
    Case("held", ["{bin}/held"], checks=[check_held], loss=("in_flight", "unmatched", "dropped")),
    Case("mpi", ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", "{bin}/ranks"], {"ranked": 30},
         {"fill": (2, 8), "read": (2, 8)}, [check_processes(10, 20), check_ranks], needs=["mpirun"],
         streams=["out"]),
]
