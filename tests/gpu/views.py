"""What every measurement's views must hold among themselves, and the answers known from a few programs' sources.

A check is a function of a harness.Measurement; it yields (what, holds, detail). The sums are those that docs/ defines.
"""

ROUNDING = 1000  # ns: shares of an instant are rounded row by row


def near(what, found, expected, slack=0):
    return what, abs(found - expected) <= slack, f"{found}, expected {expected}" + (f" within {slack}" if slack else "")


def blame(m):
    for number, scope in enumerate(m.view("blame")["scopes"]):
        of = f"blame of scope {number}"
        threads = scope["waiting_ns"] + scope["computing_ns"]
        rows = sum(r["waiting_ns"] + r["computing_ns"] for r in scope["routines"])
        known = sum(scope[f"{how}_ns"] for how in ("exact", "sampled", "inferred", "uncovered"))
        slack = ROUNDING + len(scope["routines"])
        yield near(f"{of}: rows add up to the idle time", scope["no_thread_ns"] + threads, scope["idle_ns"], slack)
        yield near(f"{of}: routines and what is not known add up to the threads' part", rows + scope["uncovered_ns"], threads, slack)
        yield near(f"{of}: ways of knowing add up to the threads' part", known, threads, slack)
        yield f"{of}: idle within the run", 0 <= scope["longest_ns"] <= scope["idle_ns"] <= scope["range_ns"], str(scope["idle_ns"])


def critical(m):
    for path in m.view("critical"):
        of = f"critical path of {path['process']}"
        for part, rows in (("composition", path["composition"].values()), ("things", path["things"]), ("contexts", path["contexts"])):
            yield near(f"{of}: {part} add up to its length", sum(r["ns"] for r in rows), path["length_ns"])
        yield near(f"{of}: it is the whole process", path["end_ns"] - path["begin_ns"], path["length_ns"])
        greedy = [t["name"] for t in path["things"] if (t["saving_ns"] or 0) > t["half_ns"]]
        yield f"{of}: twice as fast saves half at most", not greedy, str(greedy)


def overlap(m):
    view = m.view("overlap")
    for at in view["devices"] + view["processes"]:
        of = f"overlap of {at['process']}" + (f", device {at['device']}" if "device" in at else "")
        yield near(f"{of}: busy and idle add up to the span", at["busy_ns"] + at["idle_ns"], at["span_ns"])
        yield near(f"{of}: computing and exposed add up to busy", at["compute_ns"] + at["exposed_ns"], at["busy_ns"])
        for part in ("communication", "copies", "fills"):
            yield near(f"{of}: {part}, hidden and exposed", at[part]["hidden_ns"] + at[part]["exposed_ns"], at[part]["ns"])


def memory(m):
    objects = {}
    for kind, sums in (m.objects() if m.view("objects")["sites"] else {}).items():
        for key in ("count", "bytes", "alive", "alive_bytes"):
            objects[key] = objects.get(key, 0) + sums[key]
    view = m.view("memory")
    for space in view["spaces"]:
        of = f"memory, {space['class']} {space['device']} of {space['process']}"
        sites = space["sites"]
        yield near(f"{of}: sites hold the peak", sum(s["peak_bytes"] for s in sites), space["peak_bytes"])
        yield near(f"{of}: sites allocated all", sum(s["bytes"] for s in sites), space["bytes"])
        yield near(f"{of}: freed or alive", space["freed"] + space["freed_late"] + space["alive"], space["objects"])
        yield near(f"{of}: the series' highest is the peak", max(space["series"]["bytes"], default=0), space["peak_bytes"])
    if view["spaces"] and not view["parts"]:
        yield near("memory: as many objects as in view objects", sum(s["objects"] for s in view["spaces"]), objects.get("count", 0))


def statistics(m):
    view = m.view("statistics")
    length, slack = view["to_ns"] - view["from_ns"], ROUNDING + len(view["rows"])
    for side in ("queue", "thread"):
        yield near(f"statistics: rows add up to the {side}s' time", sum(r[f"{side}_ns"] for r in view["rows"]), length * view[f"{side}s"], slack)


def profile(m):
    rows = m.command("report", m.path, "profile", "--json", "--limit", "0", "--min-percent", "0")["rows"]
    if rows:
        whole = rows[0]["inclusive"]["gpu"] or 0
        yield near("profile: its rows' own time adds up to the whole", sum(r["exclusive"]["gpu"] or 0 for r in rows), whole)


def advice(m):
    rows = m.view("advice")["advice"]
    savings = [row["saving_ns"] for row in rows]
    whole = m.view("statistics")["to_ns"] - m.view("statistics")["from_ns"]
    yield "advice: most seconds first", savings == sorted(savings, reverse=True), str(savings)
    for row in rows:
        yield f"advice, {row['rule']}: has numbers, and saves less than the run", row["count"] > 0 and 0 < row["saving_ns"] <= whole, str(row["evidence"])


def sums(m):
    """Everything above, of whatever the measurement has."""
    ledger = m.view("ledger")
    if not ledger["seen"]:
        return
    if m.view("blame")["traced"]:
        for check in (blame, critical, overlap, statistics, advice):
            yield from check(m)
    yield from memory(m)
    yield from profile(m)


# ---- known answers ---------------------------------------------------------------------------------------------


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
    """Of think.cu: the device is idle while the host thinks; kernels and thinking take turns, so that both are the path."""
    thought, worked = m.truth["thought_ns"], duration(m.rows("work"))
    scope = m.view("blame")["scopes"][-1]
    think = [r for r in scope["routines"] if (r["name"] or "").startswith("think")]
    yield near("idle time is blamed on think", sum(r["computing_ns"] for r in think), thought, thought // 10)
    yield near("and none of it on a wait", sum(r["waiting_ns"] for r in think), 0)
    yield near("kernels are on the critical path", on_path(m, "work", "kernel"), worked, worked // 50)
    host = sum(t["ns"] for path in m.view("critical") for t in path["things"] if t["category"] == "host" and t["name"].startswith("think"))
    yield near("and so is think", host, thought, thought // 10)
