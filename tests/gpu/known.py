"""Answers of the views of the time lines that are known from the programs' sources. Sums that every measurement must hold
are in tests/report/sums.py.

A check is a function of a harness.Measurement; it yields (what, holds, detail).
"""


def near(what, found, expected, slack=0):
    return what, abs(found - expected) <= slack, f"{found}, expected {expected}" + (f" within {slack}" if slack else "")


def within(what, low, value, high):
    return what, low <= value <= high, f"{value} in {low}..{high}"


def duration(rows):
    return sum(op["end_ns"] - op["start_ns"] for op in rows)


def check_one_lane(m):
    """One stream: nothing overlaps, so that the views' unions are plain sums."""
    device = m.view("overlap")["devices"][0]
    copies = [op for kind in ("read", "write", "copy") for op in m.rows(kind=kind)]
    yield near("computing is the kernels' time", device["compute_ns"], duration(m.rows(kind="kernel")))
    yield near("copying is the copies' time", device["copies"]["ns"], duration(copies))
    yield near("no copy is hidden", device["copies"]["hidden_ns"], 0)


def on_path(m, name, category):
    return sum(t["ns"] for path in m.view("critical") for t in path["things"] if t["name"] == name and t["category"] == category)


def check_long_kernel(m):
    """Of waits.cu: the thread waits for a kernel of 200 ms, which is on the path from end to end."""
    yield near("the long kernel is on the critical path", on_path(m, "legacy", "kernel"), duration(m.rows("legacy")), 1_000_000)


def check_communication(m):
    devices = m.view("overlap")["devices"]
    yield near("copies between devices count as communication", sum(d["communications"] for d in devices), 18)


def check_spaces(m):
    """Of memory.cu: host memory is all there at once before it is freed; so is managed memory."""
    mib, found = 1 << 20, {}
    for space in m.view("memory")["spaces"]:
        at = found.setdefault(space["class"], [0, 0, 0, 0])
        for i, key in enumerate(("objects", "peak_bytes", "alive", "alive_bytes")):
            at[i] += space[key]
    for name, expected in (("host", [4, 5 * mib, 1, 2 * mib]), ("shared", [2, 2 * mib, 0, 0])):
        yield f"{name} memory: objects, peak, alive", found.get(name) == expected, f"{found.get(name)}, expected {expected}"
    yield near("device memory: objects", found["device"][0], 16)
    yield near("device memory: alive", found["device"][3], 2 * mib)


def check_thinking(m):
    """Of think.cu: the device is idle while the host thinks; kernels and thinking take turns, so that both are the path. Of
    each 20 ms the part before the first sample, 5 ms at most, is known only to be somewhere within main."""
    thought, worked = m.truth["thought_ns"], duration(m.rows("work"))
    routines = {(r["name"] or "").split("(")[0]: r for r in m.view("blame")["scopes"][-1]["routines"]}
    think, main = (routines.get(name, {"computing_ns": 0, "waiting_ns": 0}) for name in ("think", "main"))
    yield within("idle time is blamed on think", thought * 3 // 4, think["computing_ns"], thought + thought // 50)
    yield within("and what is missing on main", thought * 19 // 20, think["computing_ns"] + main["computing_ns"], thought + thought // 10)
    yield near("none of it on a wait", think["waiting_ns"], 0)
    yield near("kernels are on the critical path", on_path(m, "work", "kernel"), worked, worked // 50)
    host = sum(t["ns"] for path in m.view("critical") for t in path["things"] if t["category"] == "host" and t["name"].startswith("think"))
    yield within("and so is think", thought * 3 // 4, host, thought + thought // 50)


# ---- advice ------------------------------------------------------------------------------------------


def advised(m, rule):
    """Count, bytes, time looked at and saving of a rule, over all places."""
    found = [a for a in m.view("advice")["advice"] if a["rule"] == rule]
    return tuple(sum(a[key] for a in found) for key in ("count", "bytes", "looked_at_ns", "saving_ns"))


def pinned_rate(m, way):
    """Bytes per nanosecond that the best large copy between a device and pinned memory reached."""
    return max([op["bytes"] / (op["end_ns"] - op["start_ns"]) for op in m.rows(kind=way)
                if op["bytes"] >= 1 << 20 and "pinned" in (m.work(op)["source"], m.work(op)["target"])], default=0)


def check_pageable(count, size):
    """So many copies of pageable memory, each of which the program waits for while no kernel runs."""
    def check(m):
        copies = [op for way in ("read", "write") for op in m.rows(kind=way) if "pageable" in (m.work(op)["source"], m.work(op)["target"])]
        saved = 0
        for op in copies:
            rate, ns = pinned_rate(m, op["kind"]), op["end_ns"] - op["start_ns"]
            saved += max(0, ns - op["bytes"] / rate) if rate else ns
        calls = {call["correlation"]: call["leave_ns"] - call["enter_ns"] for call in m.view("export")["calls"] if call["correlation"]}
        found, waited = advised(m, "pageable_copies"), advised(m, "synchronous_copies")
        yield "pageable copies: count, bytes, time", found[:3] == (count, size, duration(copies)), str(found)
        yield near("what pinned memory would save", found[3], saved, count)
        held = sum(calls[op["correlation"]] for op in copies)
        yield "blocking copies", waited == (count, size, held, duration(copies)), f"{waited}, expected {held} {duration(copies)}"
    return check


def check_small_grids(m):
    """Kernels that ran with no other beside them and had a block for some multiprocessors only: nothing else is known of what
    kernels achieve, however low their occupancy."""
    devices = {(i, d["id"]): d["compute_units"] for i, p in enumerate(m.view("export")["processes"]) for d in p["devices"]}
    lanes = {(i, lane["id"]): (i, lane["device"]) for i, p in enumerate(m.view("export")["processes"]) for lane in p["lanes"]}
    count = looked_at = saved = 0
    kernels = {}
    for op in m.rows(kind="kernel"):
        kernels.setdefault(lanes[op["process"], op["lane"]], []).append(op)
    for device, ops in kernels.items():
        ops.sort(key=lambda op: op["start_ns"])
        ended = 0
        for op, after in zip(ops, [*ops[1:], None]):
            ns, work = op["end_ns"] - op["start_ns"], m.work(op)
            blocks = 1
            for size, local in zip(work["global"], work["local"]):
                blocks *= -(-size // local)
            if ended <= op["start_ns"] and (not after or after["start_ns"] >= op["end_ns"]) and blocks < devices[device]:
                count, looked_at, saved = count + 1, looked_at + ns, saved + ns * (1 - blocks / devices[device])
            ended = max(ended, op["end_ns"])
    found = advised(m, "small_grid")
    yield "kernels too small for the device: count, time", found[::2] == (count, looked_at), f"{found}, expected {count} {looked_at}"
    yield near("what filling it would save", found[3], saved, count + 1)


def check_unused(m):
    """Of memory.cu: the array and the pitched memory come when the last kernel is over; a kernel may use all the rest."""
    sites = [site for space in m.view("memory")["spaces"] for site in space["sites"]]
    unused = sorted((s["kind"], s["unused"], s["unused_bytes"]) for s in sites if s["unused"])
    expected = [("array", 1, 64 * 32 * 4), ("device", 1, m.truth["pitch_bytes"])]
    yield "memory that nothing can have used", unused == expected, f"{unused}, expected {expected}"
    yield near("memory that no copy names, but a kernel may use", sum(s["unnamed"] for s in sites), 20)


def check_habits(m):
    """Of habits.cu, function by function."""
    mib = 1 << 20
    yield near("unnecessary waits", advised(m, "needless_wait")[0], 40)
    yield "small copies", advised(m, "small_copies")[:2] == (64, 64000), str(advised(m, "small_copies"))
    allocated = advised(m, "allocates_in_loop")[:2]
    once = (2, 4 * mib + 4)  # in main; a replay has one place for all
    yield "allocations in the loop", allocated in ((40, 40 * mib), (40 + once[0], 40 * mib + once[1])), str(allocated)
    yield from check_pageable(40 + 10 + 2, 40 * 4 + 10 * 4 * mib + 4 + 2)(m)
    yield from check_small_grids(m)
    lanes = {}
    for kind in ("kernel", "read", "write", "fill"):
        for lane, ops in m.by_lane(kind=kind).items():
            lanes[lane] = lanes.get(lane, 0) + duration(ops)
    count, _, waited, saving = advised(m, "serialized_queues")
    yield "kernels that waited for another stream's", 70 <= count <= 84, str(count)  # of 79; a copy that is under way is another
    yield "for longer than half of all turns", waited > duration(m.rows("turn")) / 2, str(waited)
    rest = sum(lanes.values()) - max(lanes.values())
    yield near("all but the longest stream could be saved", saving, rest, rest // 50)


def check_launch_bound(m):
    """Of manystreams.cu: one thread, which only launches. A gap is the launch's when the device ran dry before its call
    returned; not where another call came before it, which loads code."""
    calls = sorted(m.view("export")["calls"], key=lambda call: call["enter_ns"])
    launch = {call["correlation"]: (before["correlation"], call["leave_ns"]) for before, call in zip(calls, calls[1:])}
    ops = sorted((op for kind in ("kernel", "fill") for op in m.rows(kind=kind)), key=lambda op: op["start_ns"])
    gaps, end = [], ops[0]["end_ns"]
    for op in ops[1:]:
        after, leave = launch[op["correlation"]]
        if after and end <= leave and 0 < op["start_ns"] - end <= 1_000_000:
            gaps.append(op["start_ns"] - end)
        end = max(end, op["end_ns"])
    count, _, _, saving = advised(m, "launch_bound")
    yield "operations that the device waited for", (count, saving) == (len(gaps), sum(gaps)), f"{(count, saving)}, expected {(len(gaps), sum(gaps))}"
