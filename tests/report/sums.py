"""sums.py - what the views must say of any measurement, whatever the program did: their parts add up to the whole, and
where the exported trace says the same, they agree with it. Standard library only.

    for what, holds, detail in sums.verdicts(ask, export): ...

`ask(view)` is the answer of `sonde report DIR VIEW --json` (options may follow the view), `export` that of `sonde export --to json`. The figures of the
trace are computed here from its rows, by definition.
"""
CLASSES = ("copies", "fills", "communication")
SOURCES = "exact_ns sampled_ns pooled_ns inferred_ns uncovered_ns".split()
ON_HOST = {"pinned", "managed", "svm"}  # memory that the host may use at any time


# ---- the trace -------------------------------------------------------------------------------


def union(intervals):
    """Disjoint, in order."""
    merged = []
    for start, end in sorted(i for i in intervals if i[0] < i[1]):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(end, merged[-1][1])
        else:
            merged.append([start, end])
    return merged


def length(intervals):
    return sum(end - start for start, end in union(intervals))


def common(a, b):
    """Time in both."""
    return length(a) + length(b) - length(list(a) + list(b))


class Trace:
    def __init__(self, export):
        self.processes = export["processes"]
        self.calls = export["calls"]
        self.messages = export["messages"]
        self.groups = {row["kind"]: row["group"] for row in export["operation_totals"]}
        self.ops = export["operations"]
        self.whole = all(p["trace"] and p["ledger"]["seen"] == p["ledger"]["done"] and not p["ledger"]["damaged_chunks"]
                         and not p["ledger"]["call_rows_dropped"] and not any(p["ledger"]["dropped"].values()) for p in self.processes)

    def orders(self, op):
        return self.groups.get(op["kind"]) == "order"

    def timed(self, op):
        return op["start_ns"] is not None and op["end_ns"] is not None and not op["bad_time"]

    def running(self, process, device=None, which=lambda op: True):
        lanes = {lane["id"]: lane["device"] for lane in self.processes[process]["lanes"]}
        return [(op["start_ns"], op["end_ns"]) for op in self.ops if op["process"] == process and self.timed(op) and
                not self.orders(op) and (device is None or lanes[op["lane"]] == device) and which(op)]

    def communicates(self, op):
        if op["kind"] == "peer_copy":
            return True
        works = {w["id"]: w for w in self.processes[op["process"]]["works"]} if op["kind"] == "copy" and op["work"] else {}
        work = works.get(op["work"], {})
        return (len({work.get("source_device"), work.get("target_device")} - {None}) == 2 or
                self.groups[op["kind"]] == "kernel" and any(n in op["name"] for n in ("ncclDevKernel", "ncclKernel")))


# ---- views -------------------------------------------------------------------------------------


def check(what, found, expected, delta=0):
    holds = abs(found - expected) <= delta if delta else found == expected
    return what, holds, f"found {found}, expected {expected}"


def overlap(value, trace):
    numbers = {p["name"]: p["id"] for p in trace.processes}
    for d in value["devices"]:
        at = f"overlap, device {d['device']} of {d['process']}: "
        yield check(at + "busy and idle", d["busy_ns"] + d["idle_ns"], d["span_ns"])
        yield check(at + "computing and exposed", d["compute_ns"] + d["exposed_ns"], d["busy_ns"])
        for name in CLASSES:
            yield check(at + f"{name}, hidden and exposed", d[name]["hidden_ns"] + d[name]["exposed_ns"], d[name]["ns"])
        process, device = numbers[d["process"]], (d["device"] or 0) + 1 if d["device"] is not None else None
        kind = lambda group: trace.running(process, device, lambda op: trace.groups[op["kind"]] == group and not trace.communicates(op))
        kernels, copies, fills = map(kind, ("kernel", "copy", "set"))
        comm = trace.running(process, device, trace.communicates)
        yield check(at + "busy, by the trace", d["busy_ns"], length(kernels + copies + fills + comm))
        yield check(at + "computing, by the trace", d["compute_ns"], length(kernels))
        for name, intervals in zip(CLASSES, (copies, fills, comm)):
            yield check(at + f"{name}, by the trace", d[name]["ns"], length(intervals))
            yield check(at + f"{name} hidden, by the trace", d[name]["hidden_ns"], common(intervals, kernels))


def blamed(thing):
    return thing["waiting_ns"] + thing["computing_ns"]


def blame_scope(scope):
    """Every part of the idle time is somewhere, at every depth; numbers are rounded to nanoseconds."""
    at, rows = f"blame of {scope['name']}: ", scope["routines"]
    yield check(at + "idle time, and who was active", scope["before_ns"] + scope["no_thread_ns"] + blamed(scope), scope["idle_ns"], 2)
    yield check(at + "how contexts are known", sum(scope[s] for s in SOURCES), blamed(scope), 4)
    if not rows:
        return
    yield check(at + "routines", sum(map(blamed, rows)) + scope["uncovered_ns"], blamed(scope), 2 * len(rows) + 6)
    yield check(at + "most first", [blamed(r) for r in rows], sorted(map(blamed, rows), reverse=True))
    rest = [scope["contexts"]]
    while rest:
        node = rest.pop()
        below = sum(blamed(child["inclusive"]) for child in node["children"])
        verdict = check(at + f"at {node['label']}, itself and below", blamed(node["exclusive"]) + below, blamed(node["inclusive"]),
                        2 * len(node["children"]) + 2)
        if not verdict[1]:
            yield verdict
        rest += node["children"]


def blame(value, trace):
    numbers = {p["name"]: p["id"] for p in trace.processes}
    for scope in value["scopes"]:
        yield from blame_scope(scope)
        if scope["process"] is not None:
            device = None if scope["device"] is None else scope["device"] + 1
            process = numbers[scope["process"]]
            running = trace.running(process, device)
            pauses = [(pause["from_ns"], pause["to_ns"] or 1 << 62) for pause in trace.processes[process]["pauses"]]
            pauses += [(0, trace.processes[process]["start_ns"])]
            busy = length(running) - common(running, pauses)  # what began before a pause may run on in it, or before the recording
            yield check(f"blame of {scope['name']}: idle is what is not busy by the trace", scope["idle_ns"], scope["range_ns"] - busy, 1)


CUT = "37.5%"
PIECES = [f"blame --to {CUT}", f"blame --from {CUT}"]
ADD_UP = "range_ns paused_ns idle_ns before_ns no_thread_ns waiting_ns computing_ns".split() + SOURCES


def blame_pieces(whole, *pieces):
    """What two windows of the run have is what the run has, routine by routine; numbers are rounded to nanoseconds."""
    if whole["to_ns"]:
        yield check("blame: one window begins where the other ends", [pieces[0]["from_ns"], pieces[0]["to_ns"], pieces[1]["to_ns"]],
                    [0, pieces[1]["from_ns"], whole["to_ns"]])
    for scope in whole["scopes"]:
        parts = [part for piece in pieces for part in piece["scopes"] if (part["process"], part["device"]) == (scope["process"], scope["device"])]
        at = f"blame of {scope['name']} in two windows: "
        for name in ADD_UP:
            yield check(at + name, sum(part[name] for part in parts), scope[name], 2)
        kept, found = blame_by_label([scope]), blame_by_label(parts)
        lost = [label for label in kept.keys() | found.keys() if abs(kept.get(label, 0) - found.get(label, 0)) > 2 * len(scope["routines"]) + 2]
        yield check(at + "routines", lost, [])


def blame_by_label(scopes):
    sums = {}
    for routine in (routine for scope in scopes for routine in scope["routines"]):
        sums[routine["label"]] = sums.get(routine["label"], 0) + blamed(routine)
    return sums


def verdict(value):
    """What the run waited for is all of it."""
    if value["verdict"]:
        parts = value["verdict"]["parts"]
        yield check("verdict: parts", sum(p["ns"] for p in parts), value["verdict"]["range_ns"], 2 * len(parts) + 2)
        yield check("verdict: most first", [p["ns"] for p in parts], sorted((p["ns"] for p in parts), reverse=True))


def idle_for(value, blame):
    """What a device was idle for is all of its idle time, as the view blame has it."""
    for device in value["devices"]:
        if device["idle_for"] is None:
            continue
        at = f"device {device['device']} of {device['process']}: "
        scopes = [s["idle_ns"] for s in blame["scopes"] if s["process"] == device["process"] and s["device"] in (None, device["device"])]
        parts = [part["ns"] for part in device["idle_for"]]
        nearest = min(scopes, key=lambda ns: abs(ns - sum(parts)), default=-1)
        yield check(at + "what it was idle for", sum(parts), nearest, 2 * len(parts) + 2)
        yield check(at + "idle for: most first", parts, sorted(parts, reverse=True))


def critical_path(p):
    at = f"critical path of {p['process']}: "
    parts = sum(part["ns"] for part in p["composition"].values())
    yield check(at + "parts", parts, p["length_ns"])
    yield check(at + "length", p["end_ns"] - p["begin_ns"], p["length_ns"])
    for name in ("things", "contexts"):
        times = [t["ns"] for t in p[name]]
        yield check(at + name, sum(times), parts)
        yield check(at + name + ", most first", times, sorted(times, reverse=True))
    beyond = [t["name"] for t in p["things"] if t["saving_ns"] is not None and t["saving_ns"] > t["half_ns"]]
    yield check(at + "savings beyond half of the time", beyond, [])


def critical(value, trace):
    """Of each process, and (its process is null) through all ranks that wait for each other."""
    numbers = {p["name"]: p["id"] for p in trace.processes}
    for p in value:
        yield from critical_path(p)
        at = f"critical path of {p['process']}: "
        of = [numbers[p["process"]]] if p["process"] else [numbers[stay["process"]] for stay in p["stays"]]
        kernels = sum(length(trace.running(process, None, lambda op: trace.groups[op["kind"]] == "kernel")) for process in of)
        yield at + "no more kernel time than there is", p["composition"]["kernel"]["ns"] <= kernels, f"{p['composition']['kernel']['ns']} of {kernels}"
        for stay in p["stays"]:
            yield check(at + f"parts in {stay['process']}", sum(stay["composition"].values()), stay["ns"])
        if not p["process"]:
            yield check(at + "in all processes", sum(stay["ns"] for stay in p["stays"]), p["length_ns"])
            if p["clock_bound_ns"]:  # hosts have clocks of their own
                continue
            yield check(at + "it ends with the last of them", p["end_ns"], max(path["end_ns"] for path in value if path["process"] in {stay["process"] for stay in p["stays"]}))
            continue
        ends = [c["leave_ns"] for c in trace.calls + trace.messages if c["process"] == of[0]]
        ends += [end for _, end in trace.running(of[0])]
        if ends and not p["limited"]:
            yield check(at + "it ends with the last event", p["end_ns"], max(ends))


def statistics(value, trace):
    span = value["to_ns"] - value["from_ns"]
    for kind in "queue", "thread":
        lanes = value[kind + "s"]
        yield check(f"statistics: time of {lanes} {kind}s", sum(row[kind + "_ns"] for row in value["rows"]), span * lanes, 1e-6 * span * lanes + 1)
    if any(p["ledger"]["sample_rows_dropped"] or p["ledger"]["switch_rows_dropped"] for p in trace.processes):
        return
    for row in value["rows"]: # by the lengths of gaps, and by what samples stand for
        yield (f"statistics: {row['label']} by its samples", not row["disagrees"],
               f"{row['sampled_ns']} +- {row['error_ns']} ns, {row['cpu_ns']} +- {row['cpu_error_ns']} by samples")


def profile(value, trace):
    whole, rows = value["rows"][0]["inclusive"], value["rows"]
    for column in whole:
        if whole[column] is not None and not column.endswith("_error"):
            yield check(f"profile: {column} of all rows", sum(r["exclusive"][column] or 0 for r in rows), whole[column])
    for row in rows:
        for side in row["inclusive"], row["exclusive"]:
            if side.get("cpu_error") is not None:  # where samples were found, and nowhere else
                yield (f"profile: error of {row['label']}", (side["cpu_error"] > 0) == (side["cpu"] > 0), str(side))
    if not trace.whole:
        return
    yield check("profile: operations of the trace", whole["ops"], len(trace.ops))
    yield check("profile: calls of the trace", whole["calls"], len(trace.calls))
    yield check("profile: time in calls, by the trace", whole["api"], sum(c["leave_ns"] - c["enter_ns"] for c in trace.calls))
    if whole["gpu"] is not None and all(trace.timed(op) for op in trace.ops):
        device = sum(op["end_ns"] - op["start_ns"] for op in trace.ops if not trace.orders(op))
        yield check("profile: time on the device, by the trace", whole["gpu"], device)


def objects(value):
    """What operations did with which object, and the rest of them."""
    whole, rows = value["rows"][0]["inclusive"], value["rows"][1:]
    for column in whole:
        if whole[column] is not None and not column.endswith("_error"):
            parts = [row["inclusive"][column] or 0 for row in rows]
            yield check(f"profile by object: {column} of all rows", sum(parts), whole[column])
            yield check(f"profile by object: {column} below zero", [part for part in parts if part < 0], [])


# ---- memory -----------------------------------------------------------------------------------------


def hidden_work(trace, process):
    """When operations ran that may use any memory; None when the trace may lack some."""
    p, spans = trace.processes[process], []
    if not trace.whole or p["state"] != "exited" or p["ledger"]["unmatched"]:
        return None
    for op in trace.ops:
        named = op["object"] and trace.groups[op["kind"]] in ("copy", "set")
        if op["process"] == process and not trace.orders(op) and not named:
            late = op["end_ns"] + p["clock_bound_ns"] if trace.timed(op) else float("inf")
            spans.append((min(op["enter_ns"], op["start_ns"]) if trace.timed(op) else op["enter_ns"], late))
    return union(spans)


def uses(trace):
    """Sums over all objects: never used, named by no copy, and byte-seconds before the first use and after the last."""
    unused = unnamed = early = late = 0
    for p in trace.processes:
        work = hidden_work(trace, p["id"])
        end = max([p["stop_ns"]] + [o["free_ns"] or o["alloc_ns"] for o in p["objects"]])
        for o in (o for o in p["objects"] if o["kind"] not in ("ipc", "none")):
            free = o["free_ns"] or end
            if o["parent"] or o["uses"] is None:
                continue
            if any(pause["from_ns"] < free and o["alloc_ns"] < (pause["to_ns"] or float("inf")) for pause in p["pauses"]):
                continue  # it may have been used then
            times = [o["first_use_ns"], o["last_use_ns"]] if o["first_use_ns"] else []
            if o["uses_partial"] and work is not None:
                meets = [(max(a, o["alloc_ns"]), min(b, o["free_ns"] or b)) for a, b in work
                         if b > o["alloc_ns"] and (not o["free_ns"] or a < o["free_ns"])]
                times += [t for span in meets for t in span]
            told = not o["uses_partial"] or work is not None
            unused += told and not times
            unnamed += o["uses_partial"] and not o["first_use_ns"] and not (told and not times)
            if told and times and o["kind"] not in ON_HOST:
                early += o["bytes"] * max(0, min(times) - o["alloc_ns"])
                late += o["bytes"] * max(0, free - max(times))
    return unused, unnamed, early / 1e9, late / 1e9


def memory(value, trace):
    objects = [o for p in trace.processes for o in p["objects"] if not o["parent"] and o["kind"] not in ("ipc", "none")]  # another process's; gone before the recording
    sites = [site for space in value["spaces"] for site in space["sites"]]
    for space in value["spaces"]:
        series, at = space["series"], f"memory, {space['class']} of {space['process']}: "
        yield at + "the peak is a point", (space["peak_ns"], space["peak_bytes"]) in zip(series["at_ns"], series["bytes"]), ""
        sums = [rest + sum(held) for rest, *held in zip(series["other"], *series["sites"])]
        yield check(at + "holders at each point", sums, series["bytes"])
        yield check(at + "holders at the peak", sum(s["peak_bytes"] for s in space["sites"]), space["peak_bytes"])
        for name in ("objects", "bytes", "alive", "alive_bytes"):
            yield check(at + name + " of all contexts", sum(s[name] for s in space["sites"]), space[name])
    if value["incomplete"]:
        return
    yield check("memory: objects of the table", sum(s["objects"] for s in sites), len(objects))
    yield check("memory: bytes of the table", sum(s["bytes"] for s in sites), sum(o["bytes"] for o in objects))
    yield check("memory: alive at the end", sum(s["alive"] for s in sites), sum(not o["free_ns"] for o in objects))
    unused, unnamed, early, late = uses(trace)
    yield check("memory: objects that nothing can have used", sum(s["unused"] or 0 for s in sites), unused)
    yield check("memory: objects that no copy names", sum(s["unnamed"] for s in sites), unnamed)
    for name, expected in ("idle_before_byte_s", early), ("idle_after_byte_s", late):
        yield check(f"memory: {name}", sum(s[name] or 0 for s in sites), expected, 1e-9 + 1e-9 * expected)


def comm(value, copies, trace):
    """Each byte is in one pair, of one line, of one kernel or none, of one object."""
    whole = {"operations": value["operations"], "bytes": value["bytes"]}
    for name in "pairs", "lines", "kernels", "objects", "matrix":
        for number, expected in whole.items():
            yield check(f"comm: {number} of all {name}", sum(row[number] for row in value[name]), expected)
        sizes = [row["bytes"] for row in value[name]]
        yield check(f"comm: {name}, most first", sizes, sorted(sizes, reverse=True))
    unknown = [row for row in value["pairs"] if row["from"] is None or row["to"] is None]
    yield check("comm: bytes of unknown ends", sum(row["bytes"] for row in unknown), value["unknown_bytes"])
    moved = [row for row in copies if trace.groups[row["kind"]] == "copy"]
    copied = {number: sum(row[number] for row in value["pairs"] if row["kind"] in ("copy", "migration")) - value["managed_" + number] for number in whole}
    if trace.whole:
        yield check("comm: bytes of the view copies", copied["bytes"], sum(row["bytes"] for row in moved))
        yield check("comm: operations of the view copies", copied["operations"], sum(row["count"] for row in moved))
    if any(p["trace"] for p in trace.processes):
        ops = [op for op in trace.ops if trace.groups[op["kind"]] == "copy"]
        if not value["untraced"]:
            yield check("comm: bytes of the trace", copied["bytes"], sum(op["bytes"] for op in ops))


def advice(value, trace):
    walls = {p["name"]: p["stop_ns"] - p["start_ns"] for p in trace.processes}
    for a in value["advice"]:
        yield f"advice {a['rule']}: saves no more than the run took", 0 < a["saving_ns"] <= walls[a["process"]], f"{a['saving_ns']} of {walls[a['process']]}"
    savings = [a["saving_ns"] for a in value["advice"]]
    yield check("advice: most first", savings, sorted(savings, reverse=True))


def verdicts(ask, export):
    trace = Trace(export)
    yield from profile(ask("profile"), trace)
    yield from memory(ask("memory"), trace)
    yield from advice(ask("advice"), trace)
    if export["operation_totals"]:
        yield from comm(ask("comm"), ask("copies"), trace)
    if not trace.ops or not any(p["trace"] for p in trace.processes):
        return
    yield from overlap(ask("overlap"), trace)
    yield from blame(ask("blame"), trace)
    if ask("blame")["to_ns"]:  # of a run whose length is not known there are no parts
        yield from blame_pieces(ask("blame"), *map(ask, PIECES))
    yield from verdict(ask("summary"))
    yield from idle_for(ask("summary"), ask("blame"))
    yield from objects(ask("profile --by object"))
    yield from critical(ask("critical"), trace)
    yield from statistics(ask("statistics"), trace)
