"""The cases of communication: what goes from device to device and to the host, by copies, kernels and the driver, and through which line and object."""
import collections
import os

import harness
import known
from cases import MIB, Case, equal, source
from harness import HERE, marked_line


def check_peers(m):
    ways = {}
    for op in m.rows(kind="peer_copy"):
        work = m.work(op) or {}
        way = (work.get("source_device"), work.get("target_device"))
        ways[way] = ways.get(way, 0) + 1
    yield equal("directions of the copies between devices", sorted(ways.values()), [5, 13])
    yield "each names both devices", all(a and b and a != b for a, b in ways), str(ways)
    devices = {m.view("export")["processes"][p]["lanes"][lane - 1]["device"] for p, lane in m.by_lane("pull")}
    yield equal("devices of the kernels", len(devices), 2)


def pairs(m):
    """(from, to, kind) -> operations, bytes of the view comm, which counts exactly."""
    return {(p["from"], p["to"], p["kind"]): (p["operations"], p["bytes"]) for p in m.view("comm")["pairs"] if p["exact"]}


def check_peer_pairs(m):
    yield equal("pairs: operations and bytes", pairs(m), {(0, 1, "copy"): (13, 22 * MIB), (1, 0, "copy"): (5, 5 * MIB), (1, "host", "copy"): (1, 4 * MIB)})


def check_between(m):
    ways = ["peer", "peer-async", "default", "device-to-device", "async", "2d", "2d-async", "3d-peer", "3d-peer-async", "driver", "driver-unified", "graph"]
    yield equal("pairs: operations and bytes", pairs(m), {(0, 1, "copy"): (len(ways), 256 * len(ways)), (1, "host", "copy"): (1, 256)})
    lines = {line["line"]: (line["from"], line["to"], line["operations"], line["bytes"]) for line in m.view("comm")["lines"] if line["to"] == 1}
    yield equal("lines: one transfer of 256 bytes each", lines, {marked_line(source("between"), way): (0, 1, 1, 256) for way in ways})


def check_migrations(m):
    """64 MiB to device 0 as it faults, back, there again by a prefetch, to device 1 and back; nothing of what stays."""
    comm = m.view("comm")
    moved = {(p["from"], p["to"]): p["bytes"] for p in comm["pairs"] if p["kind"] == "migration"}
    yield equal("bytes moved", moved, {("host", 0): 128 * MIB, (0, "host"): 64 * MIB, (0, 1): 64 * MIB, (1, "host"): 64 * MIB})
    yield equal("moves by the driver", comm["managed_bytes"], 320 * MIB)
    yield equal("of managed memory", {row["name"] for row in comm["objects"]}, {"managed"})
    line = marked_line(os.path.join(HERE, "programs", "migrations.cu"), "managed")
    yield equal("on the line that allocated it", {(row["function"].split("(")[0], row["line"]) for row in comm["lines"]}, {("managed", line)})
    yield equal("page faults of", {row["at"] for row in comm["faults"]}, {"host", 0, 1})
    yield "and so many", all(row["faults"] > 10 for row in comm["faults"]), str([(row["at"], row["faults"]) for row in comm["faults"]])


def check_staged(m):
    """Without peer access a copy between devices goes by way of the host."""
    yield equal("pairs: operations and bytes", pairs(m), {(0, "host", "copy"): (9, 9 * MIB), ("host", 1, "copy"): (9, 9 * MIB), (1, "host", "copy"): (1, MIB)})
    found = [row for row in m.view("advice")["advice"] if row["rule"] == "copies_by_host"]
    yield equal("advice: copies that go by way of the host", (sum(row["count"] for row in found), sum(row["bytes"] for row in found)), (9, 9 * MIB))


def ring_pairs(devices, right):
    """Bytes that the ranks of examples/ring.cu store on other devices."""
    count, sent = max(devices, 4), collections.Counter()
    for rank in range(count):
        to = 2 if rank == 0 and not right else (rank + 1) % count
        here, there = (r * devices // count for r in (rank, to))
        if here != there:
            sent[here, there, "store"] += 100 * MIB
    return dict(sent)


def check_ring(right):
    def check(m):
        found = {key: size for key, (_, size) in accesses(m.view("comm")["pairs"], lambda row: (row["from"], row["to"], row["kind"])).items()}
        yield equal("bytes from GPU to GPU", found, ring_pairs(harness.ask_gpu().count, right))
        lines = {line["line"] for line in m.view("comm")["lines"] if line["kind"] == "store"}
        with open(os.path.join(os.path.dirname(__file__), "..", "..", "examples", "ring.cu"), encoding="utf-8") as file:
            marked = next(number for number, text in enumerate(file, 1) if "LINE send" in text)
        yield equal("the line of the kernel that stores", lines, {marked})
        found = [(row["device"], row["bytes"]) for row in m.view("advice")["advice"] if row["rule"] == "no_neighbour"]
        yield equal("advice: sent past the neighbours", found, [(0, 100 * MIB)] if harness.ask_gpu().count >= 4 and not right else [])
    return check


def accesses(rows, key, exact=True):
    """key -> accesses of kernels' threads, bytes, of rows of the view comm that count all launches, or not."""
    found = {}
    for row in rows:
        if row["exact"] == exact and row["kind"] in ("load", "store", "atomic"):
            operations, size = found.get(key(row), (0, 0))
            found[key(row)] = operations + row["operations"], size + row["bytes"]
    return found


REMOTE_N = 4096  # of remote.cu; 31: bytes of one element of each width
REMOTE_LINES = {
    ("once", 0, 1, "store"): (7 * 32, 7 * 128), ("once", 1, 0, "store"): (32, 128),
    ("mixed", 0, 1, "store"): (3 * 8, 3 * 32), ("mixed", 0, "host", "store"): (3 * 8, 3 * 32),
    ("copy_one", 1, 0, "load"): (10 * REMOTE_N, 2 * 31 * REMOTE_N), ("copy_one", 0, 1, "store"): (10 * REMOTE_N, 2 * 31 * REMOTE_N),
    ("reduction", 0, 1, "atomic"): (256, 1024), ("exchange", 0, 1, "atomic"): (128, 512),
    ("from_host", "host", 0, "load"): (5 * (REMOTE_N - 7), 20 * (REMOTE_N - 7)),
    ("in_structure", 0, 1, "store"): (128, 512), ("by_variable", 0, 1, "store"): (48, 192),
    **{(line, d, 1 - d, "store"): (1280, 5120) for line in ("above", "below") for d in (0, 1)},
}


def check_remote(m, expected=None):
    expected = expected or REMOTE_LINES
    names = {marked_line(source("remote"), name): name for name in {key[0] for key in REMOTE_LINES}}
    found = m.view("comm")
    lines = accesses(found["lines"], lambda row: (names.get(row["line"], row["line"]), row["from"], row["to"], row["kind"]))
    yield equal("accesses of kernels to other memory, by line", lines, expected)
    ways = {}
    for (_, *way), (operations, size) in expected.items():
        before = ways.get(tuple(way), (0, 0))
        ways[tuple(way)] = before[0] + operations, before[1] + size
    yield equal("the same by pair", accesses(found["pairs"], lambda row: (row["from"], row["to"], row["kind"])), ways)
    yield equal("the same by object", accesses(found["objects"], lambda row: (row["from"], row["to"], row["kind"])), ways)
    owners = {(row["owner"], row["to"] if row["kind"] != "load" else row["from"]) for row in found["objects"] if row["kind"] in ("load", "store", "atomic")}
    yield equal("owners of the objects", owners, {(0, 0), (1, 1), ("host", "host")})
    missed = [row for row in found["coverage"] if row["looked_at"] != row["launches"]]
    yield equal("launches that were not looked at", missed, [])
    yield equal("kernels", {row["kernel"] for row in found["coverage"]},
                {"once", "mixed", "widths", "widths_read", "atomics", "from_host", "in_structure", "by_variable", "only_here", "stencil"})


MACHINE = ["--comm", "--comm-engine=sanitizer", "--comm-sample", "1/1"]


def by_machine(check):
    """The same of machine code."""
    def checked(m):
        yield from check(m)
        yield equal("how kernels were looked at", {row["engine"] for row in m.view("comm")["coverage"]}, {"sanitizer"})
    return checked


def check_remote_machine(m):
    """The compiler adds up what threads of a warp add to one address: so many go there."""
    yield from check_remote(m, {**REMOTE_LINES, ("reduction", 0, 1, "atomic"): (256 // 32, 1024 // 32)})


def check_graphed(m):
    """graphed.cu: of 1,024 threads each all, or every other; a graph is launched 5 times, the other 6, and has the first in it; and one launch by itself."""
    found, threads = m.view("comm"), 1024
    ways = accesses(found["pairs"], lambda row: (row["from"], row["to"], row["kind"]))
    yield equal("accesses of kernels of graphs", ways, {(0, "host", "store"): (15 * threads, 15 * 4 * threads), ("host", 0, "load"): (11 * threads, 11 * 4 * threads)})
    lines = accesses(found["lines"], lambda row: (row["kernel"].split("(")[0], row["line"], row["from"], row["to"], row["kind"]))
    known = {("to_host", 0, "host", "store"): 12 * threads, ("from_host", "host", 0, "load"): 11 * threads, ("to_other", 0, "host", "store"): 6 * threads // 2}
    yield equal("those of each kernel, by line", lines, {(kernel, marked_line(source("graphed"), kernel), *way): (count, 4 * count) for (kernel, *way), count in known.items()})
    coverage = {row["kernel"].split("(")[0]: (row["launches"], row["looked_at"]) for row in found["coverage"]}
    yield equal("launches, and those that were looked at", coverage, {"to_host": (12, 12), "from_host": (11, 11), "only_here": (11, 11), "to_other": (6, 6)})


def check_imported(m):
    """imported.cu: each GPU stores into the next one's memory and loads from the host's, three times 1,024 numbers."""
    devices, each, known = len(m.outcome.out.split()), 3 * 1024, {}
    for d in range(devices):
        known["load_host", marked_line(source("imported"), "load_host"), "host", d, "load"] = each, 4 * each
        if devices > 1: # with one, what it imports is its own
            known["store_next", marked_line(source("imported"), "store_next"), d, (d + 1) % devices, "store"] = each, 4 * each
    yield equal("accesses through imported handles", accesses(m.view("comm")["lines"], lambda row: (row["kernel"].split("(")[0], row["line"], row["from"], row["to"], row["kind"])), known)


def check_graphed_values(m):
    """The same: one kernel alone stores threes, in half of its threads; each access is its own kernel's."""
    view = m.view("values")
    coverage = {row["kernel"].split("(")[0]: (row["engine"], row["launches"], row["looked_at"]) for row in view["coverage"]}
    yield equal("launches, and those that were looked at", coverage, {name: ("sanitizer", n, n) for name, n in (("to_host", 12), ("from_host", 11), ("only_here", 11), ("to_other", 6))})
    threes = {(p["operation"].split("(")[0], p["bytes"]) for o in view["objects"] for p in o["patterns"] if p["evidence"].endswith(" 3")}
    yield equal("who stores threes, and how many bytes in five launches and in one", sorted(threes), [("to_other", 2048), ("to_other", 10240)])


BULK = 3 * 24 * 512 * 4  # of bulk.cu: bytes of a kernel's launches, which count in pieces of 16


def check_bulk(m):
    lines = accesses(m.view("comm")["lines"], lambda row: (row["line"], row["from"], row["to"], row["kind"]))
    yield equal("copies in bulk", lines, {(marked_line(source("bulk"), "bulk_store"), 0, 1, "store"): (BULK // 16, BULK), (marked_line(source("bulk"), "bulk_add"), 0, 1, "atomic"): (BULK // 16, BULK),
                                          (marked_line(source("bulk"), "bulk_load"), 1, 0, "load"): (2 * BULK // 16, 2 * BULK)})


def check_sampled(m):
    """One of three launches, of which every other goes each way: the estimates are of 4 and of 3 of 7, and 512 bytes of each launch, of which there are 20."""
    found = m.view("comm")
    for name in ("above", "below"):
        rows = [row for row in found["lines"] if row["line"] == marked_line(source("remote"), name)]
        yield equal(f"{name}: estimates of both ways", sorted(row["estimated_bytes"] for row in rows), [round(3 * 512 * 20 / 7), round(4 * 512 * 20 / 7)])
        yield f"{name}: the truth is in both intervals", all(row["low_bytes"] < 5120 < row["high_bytes"] < 10240 for row in rows), str(rows)
        yield "of fewer that were looked at", all(row["bytes"] < 5120 and not row["exact"] for row in rows), str([row["bytes"] for row in rows])


def check_ipc(m):
    """What another process has on its GPU, which no driver names: its allocation counts there, and here is where it was opened."""
    found = m.view("comm")
    lines = accesses(found["lines"], lambda row: (row["line"], row["from"][-2:], row["to"], row["kind"]))
    yield equal("stores to the other process's memory", lines, {(marked_line(source("ipc"), "to_parameter"), " 0", None, "store"): (96, 384),
                                                                (marked_line(source("ipc"), "to_table"), " 0", None, "store"): (48, 192)})
    yield equal("launches that were not looked at", [row for row in found["coverage"] if row["looked_at"] != row["launches"]], [])
    yield equal("objects", {row["name"] for row in found["objects"] if row["kind"] == "store"}, {"ipc"})
    memory = sorted(site["bytes"] for space in m.view("memory")["spaces"] for site in space["sites"])
    yield equal("bytes of allocations: two of the child, one of the parent", memory, [16, 128, 128])


def check_remote_of(m):
    found = m.view("comm")
    lines = accesses(found["lines"], lambda row: (row["kernel"], row["from"], row["to"], row["kind"]), exact=False)
    yield equal("accesses of the kernel that was asked for", lines, {("once", 0, 1, "store"): (3 * 32, 3 * 128), ("once", 1, 0, "store"): (32, 128)})
    reasons = {row["kernel"]: row["reason"] for row in found["coverage"] if row["looked_at"] != row["launches"]}
    yield "the others are named, and why", "not asked for" in reasons.get("stencil", "") and "chose" in reasons.get("once", ""), str(reasons)


def spread(size, shift, places):
    """Bytes by cell of accesses (where, how wide, how often)."""
    cells = [0] * ((size - 1 >> shift) + 1)
    for at, wide, times in places:
        for byte in range(at, at + wide):
            cells[byte >> shift] += times
    return cells


ELEMENTS = {  # of elements.cu: size, binary logarithm of a cell, which way, kind, what each cell has
    "matrix": (128 * 256 * 4, 2, 1, 0, "load", lambda: [(4 * (256 * row + column), 4, 40) for row in range(128) for column in range(128)]),
    "wide": (4096 * 16, 2, 0, 1, "store", lambda: [(16 * i, 16, 1) for i in range(0, 4096, 3)]),
    "bins": (64 * 4, 2, 0, 1, "atomic", lambda: [(4 * i, 4, 64) for i in range(7)]),
    "large": (4 * MIB, 6, 0, 1, "store", lambda: [(48 * i, 1, 1) for i in range(4 * MIB // 48)]),
    "host": (8000, 2, "host", 0, "load", lambda: [(8 * i, 8, 3) for i in range(10, 990)]),
}


def check_elements(m):
    rows = {}
    for row in m.view("comm --by element")["elements"]:
        rows.setdefault((row["site"] or "").split(" ←")[0].split(":")[-1], []).append(row)
    lines = {name: str(marked_line(source("elements"), name)) for name in ELEMENTS}
    yield equal("objects of which elements were accessed, by the line that allocated them", sorted(rows), sorted(lines.values()))
    for name, (size, shift, start, end, kind, places) in ELEMENTS.items():
        found = rows.get(lines[name], [])
        yield equal(f"{name}: ways", [(row["from"], row["to"], row["kind"], row["object_bytes"], row["cell_bytes"]) for row in found], [(start, end, kind, size, 1 << shift)])
        cells, truth = [0] * ((size - 1 >> shift) + 1), spread(size, shift, places())
        for run in (run for row in found for run in row["runs"]):
            for k in range(run["cells"]):
                cells[(run["first_byte"] >> shift) + k] += run["bytes"]
        wrong = [(k, a, b) for k, (a, b) in enumerate(zip(cells, truth)) if a != b]
        yield f"{name}: each of its {len(truth)} cells", not wrong, f"{len(wrong)}, the first (cell, found, in truth): {wrong[:3]}"
    yield equal("objects without elements", m.view("comm")["elements_unread"], 0)


def check_named(m):
    """Of two segments of one line one has names: of each name its cells, of the rest of both what is left."""
    line, rows = str(marked_line(source("named"), "segment")), {}
    for row in m.view("comm --by element")["elements"]:
        if (row["site"] or "").split(" ←")[0].split(":")[-1] == line:
            rows.setdefault(row["part"], []).append(row)
    truth = {"weights": (4096, 40 * 50 * 4, (40, 50), {4 * k: 12 for k in range(20 * 50)}), "bias": (16384, 400, (1, 400), {4 * k: 4 for k in range(100)}),
             None: (None, 65536, (1, 65536), {at + 4 * k: 4 for at in (4096, 32768) for k in range(100)})}
    yield equal("parts", sorted(map(str, rows)), sorted(map(str, truth)))
    for name, (begin, size, shape, cells) in truth.items():
        found = rows.get(name, [])
        yield equal(f"{name}: where it lies, and its shape", [(row["part_byte"], row["object_bytes"], (row["rows"], row["columns"]), row["cell_bytes"], row["from"], row["to"], row["kind"]) for row in found],
                    [(begin, size, shape, 4, "host", 0, "load")])
        yield equal(f"{name}: its cells", {run["first_byte"] + 4 * k: run["bytes"] for row in found for run in row["runs"] for k in range(run["cells"])}, cells)


def check_elements_add_up(m):
    """All that was accessed of an object is in its elements, which tell call paths of its line apart."""
    yield from check_remote(m)
    found = m.view("comm")
    ways, cells = {}, {}
    for rows, of in ((found["objects"], ways), (found["elements"], cells)):
        for row in rows:
            key = (row["site"] or "").split(" ←")[0], row["owner"], row["from"], row["to"], row["kind"]
            if row["kind"] in ("load", "store", "atomic"):
                of[key] = of.get(key, 0) + row["bytes"]
    yield equal("bytes of elements, by object and way", cells, ways)


CASES = [
    Case("peers", ["{bin}/peers"], {"pull": 50}, {"peer_copy": (18, 27 * MIB), "fill": (1, 4 * MIB), "read": (1, 4 * MIB)},
         [check_peers, check_peer_pairs, known.check_communication], gpus=2),
    Case("peers-off", ["{bin}/staged"], {}, {"read": (9 + 1, 10 * MIB), "write": (9, 9 * MIB), "fill": (1, MIB)}, [check_staged], gpus=2),
    Case("migrations", ["{bin}/migrations"], {"add": 3}, {}, checks=[check_migrations], options=["--comm"], gpus=2),
    Case("between", ["{bin}/between"], checks=[check_between], gpus=2),
    Case("remote", ["{bin}/remote"], checks=[check_remote], options=["--comm"], gpus=2),
    Case("remote-machine", ["{bin}/remote"], checks=[by_machine(check_remote_machine)], options=MACHINE, gpus=2),
    Case("remote-sampled", ["{bin}/remote"], checks=[check_sampled], options=["--comm", "--comm-sample", "1/3"], gpus=2),
    Case("bulk", ["{bin}/bulk"], checks=[by_machine(check_bulk)], options=MACHINE, gpus=2),
    Case("graphed-machine", ["{bin}/graphed"], checks=[by_machine(check_graphed)], options=MACHINE),
    Case("imported", ["{bin}/imported"], checks=[check_imported], options=["--comm"]),
    Case("imported-machine", ["{bin}/imported"], checks=[by_machine(check_imported)], options=MACHINE),
    Case("graphed-values", ["{bin}/graphed"], checks=[check_graphed_values], options=["--values=fine", "--values-engine=sanitizer", "--values-sample", "1/1"]),
    Case("remote-elements", ["{bin}/remote"], checks=[check_elements_add_up], options=["--comm", "--comm-elements"], gpus=2),
    Case("elements", ["{bin}/elements"], checks=[check_elements], options=["--comm", "--comm-elements"], gpus=2),
    Case("elements-machine", ["{bin}/elements"], checks=[by_machine(check_elements)], options=[*MACHINE, "--comm-elements"], gpus=2),
    Case("named", ["{bin}/named"], checks=[check_named], options=["--comm", "--comm-elements"]),
    Case("named-machine", ["{bin}/named"], checks=[by_machine(check_named)], options=[*MACHINE, "--comm-elements"]),
    Case("ring", ["{bin}/ring"], checks=[check_ring(False)], options=["--comm"], gpus=2),
    Case("ring-right", ["{bin}/ring", "right"], checks=[check_ring(True)], options=["--comm"], gpus=2),
    Case("ipc", ["{bin}/ipc"], checks=[check_ipc], options=["--comm"], gpus=2),
    Case("ipc-machine", ["{bin}/ipc"], checks=[by_machine(check_ipc)], options=MACHINE, gpus=2),
    Case("ring-machine", ["{bin}/ring"], checks=[by_machine(check_ring(False))], options=MACHINE, gpus=2),
    Case("remote-some", ["{bin}/remote"], checks=[check_remote_of], options=["--comm=kernels", "--kernel", "once", "--comm-sample", "1"], gpus=2),
]
