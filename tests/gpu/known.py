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
