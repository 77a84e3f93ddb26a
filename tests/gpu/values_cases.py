"""The cases of values (--values): what operations write again unchanged, and what the values of kernels have in common, counted by hand."""
import re

from cases import MIB, Case, equal, source, within
from harness import marked_line


def patterns_of(m, kernel):
    """(pattern, line, share, bytes, element size, evidence behind the last colon, exact) of what a kernel accessed, in no order."""
    found = [p for o in m.view("values")["objects"] for p in o["patterns"] if p["operation"] == kernel]
    return sorted((p["pattern"], p["line"], p["share"], p["bytes"], p["element_bytes"], p["evidence"].split(": ", 1)[1], p["exact"]) for p in found)


def guessed_of(m, kernel):
    """(pattern, line, share to two digits, exact, what the elements are) of what a kernel's guesses showed."""
    found = [p for o in m.view("values")["objects"] for p in o["patterns"] if p["operation"] == kernel]
    return sorted((p["pattern"], p["line"], round(p["share"], 2), p["exact"], p["evidence"].split(" are ")[-1]) for p in found)


def check_guesses(m, line):
    """The first launch, or its first threads, guess: of them only some elements are counted."""
    yield equal("read_often", guessed_of(m, "read_often"), [("frequent", line("often"), 0.7, False, "5")])
    yield equal("read_ramp", guessed_of(m, "read_ramp"), [("structured", line("ramp"), 0.94, False, "-0.5 * i + 3")])
    yield equal("read_seldom", guessed_of(m, "read_seldom"), [])
    yield equal("read_bent", guessed_of(m, "read_bent"), [])
    once = guessed_of(m, "read_often_once")
    yield equal("read_often_once", [p[:2] + p[3:] for p in once], [("frequent", line("often-once"), False, "5")])
    yield "read_often_once: 70 %", all(0.6 < p[2] < 0.8 for p in once), str(once)
    yield equal("read_ramp_once", guessed_of(m, "read_ramp_once"), [("structured", line("ramp-once"), 1.0, False, "3 * i + 7")])


def check_values(m):
    def line(mark):
        return f"values.cu:{marked_line(source('values'), mark)}"
    n = 4096
    yield equal("read_zeros", patterns_of(m, "read_zeros"), [("single_zero", line("zeros"), 1.0, 5 * n * 4, 4, "all are zero", True)])
    yield equal("read_same", patterns_of(m, "read_same"), [("single_value", line("same"), 1.0, n * 4, 4, "all are 2.5", True)])
    yield equal("read_small", patterns_of(m, "read_small"), [("heavy_type", line("small"), 1.0, n * 4, 4, "-3 to 117: int8_t would do", True)])
    yield equal("read_wide", patterns_of(m, "read_wide"), [("heavy_type", line("wide"), 1.0, n * 8, 8, "1 to 1024.75: float would do", True)])
    yield equal("read_near", [p[:5] for p in patterns_of(m, "read_near")], [("approximate", line("near"), 1.0, n * 4, 4)])
    yield equal("some_threads", patterns_of(m, "some_threads"), [("single_value", line("some"), 1.0, 410 * 4, 4, "all are 7", True)])
    yield equal("much_shared", patterns_of(m, "much_shared")[-1:], [("heavy_type", line("shared"), 1.0, 256 * 4, 4, "-3 to 117: int8_t would do", True)])
    yield from check_guesses(m, line)
    sites = [o for o in m.view("values")["objects"] if any(p["operation"] == "read_same" for p in o["patterns"])]
    yield equal("one site", len(sites), 1)
    yield "allocated by filled() in main()", all("filled" in o["site"] and "main()" in o["site"] for o in sites), str(sites)[:300]
    coverage = {c["kernel"]: (c["engine"], c["launches"], c["looked_at"], c["reason"]) for c in m.view("values")["coverage"]}
    yield equal("coverage", coverage, {
        "read_zeros": ("ptx", 5, 5, None), "read_same": ("ptx", 1, 1, None), "read_small": ("ptx", 1, 1, None),
        "read_wide": ("ptx", 1, 1, None), "read_near": ("ptx", 1, 1, None), "some_threads": ("ptx", 1, 1, None),
        "much_shared": ("ptx", 1, 1, None), "needs_variable": ("ptx", 1, 1, None),
        "captured": ("none", 3, 0, "it was captured for a graph"), "read_often": ("ptx", 6, 6, None), "read_ramp": ("ptx", 6, 6, None),
        "read_seldom": ("ptx", 12, 12, None), "read_bent": ("ptx", 12, 12, None), "read_often_once": ("ptx", 1, 1, None),
        "read_ramp_once": ("ptx", 1, 1, None)})


def check_machine_guesses(m):
    """Of the first launch that is looked at only what came late is compared."""
    values, lines = {"int": "5", "float": "2.5", "double": "0.1"}, {"int": "-3 * i + 7", "float": "-0.5 * i + 3", "double": "0.125 * i + 2"}
    for kind, value in values.items():
        yield equal(f"often_{kind}", [p[:1] + p[2:] for p in guessed_of(m, f"often_{kind}")], [("frequent", 0.6, False, value)])
        yield equal(f"seldom_{kind}", guessed_of(m, f"seldom_{kind}"), [])
        yield equal(f"ramp_{kind}", [p[:1] + p[2:] for p in guessed_of(m, f"ramp_{kind}")], [("structured", 0.95, False, lines[kind])])
        yield equal(f"bent_{kind}", guessed_of(m, f"bent_{kind}"), [])
    yield equal("often_vectors", [p[:1] + p[2:] for p in guessed_of(m, "often_vectors")], [("frequent", 0.6, False, "2.5")])
    yield equal("ramp_vectors", [p[:1] + p[2:] for p in guessed_of(m, "ramp_vectors")], [("structured", 1.0, False, "0.25 * i + 1")])


def check_passing(m):
    """All launches are looked at with room for some areas: those of objects from one place are one."""
    n, times, line = 256, 5000, f"passing.cu:{marked_line(source('passing'), 'seven')}"
    yield equal("store_seven", patterns_of(m, "store_seven"), [("single_value", line, 1.0, times * n * 4, 4, "all are 7", True)] * 2)
    yield equal("objects", sorted((o["count"], o["bytes"]) for o in m.view("values")["objects"]), [(times, times * n * 4)] * 2)
    yield equal("coverage", coverage_of(m), {"store_seven": ("ptx", 2 * times, 2 * times, None)})


def check_several(m):
    """Launches take turns, in each of which one value of an access is counted: of whole launches, but for the first, in which threads voted."""
    truth = {"several": {"11": 1638, "22": 1434, "33": 614}, "in_loop": {"11": 1638, "22": 1434, "33": 614}, "one": {"5.5": 2253}, "none": {}}
    def of(kernel, percent):
        found = [p for o in m.view(f"values --frequent {percent}")["objects"] for p in o["patterns"] if p["operation"] == kernel and p["pattern"] == "frequent"]
        return {p["evidence"].split(" are ")[-1]: p["share"] for p in found}
    for kernel, values in truth.items():
        for percent in 50, 30, 20, 12:
            wanted, found = {v: n / 4096 for v, n in values.items() if n / 4096 > percent / 100}, of(kernel, percent)
            yield equal(f"{kernel}: above {percent} %", sorted(found), sorted(wanted))
            yield f"{kernel}: shares above {percent} %", all(abs(found.get(v, 0) - share) < 0.03 for v, share in wanted.items()), f"{found}, expected {wanted}"
            if len(wanted) > 1:
                whole = sum(abs(found.get(v, 0) - share) < 0.001 for v, share in wanted.items())
                yield f"{kernel}: all but that of the vote are exact, above {percent} %", whole >= len(wanted) - 1, f"{found}, expected {wanted}"
    yield equal("coverage", coverage_of(m), {kernel: ("ptx", 12, 12, None) for kernel in truth})


def check_machine(launches, looked_at):
    def check(m):
        n, of = 4096, lambda kernel: [p[:1] + p[2:] for p in patterns_of(m, kernel)]
        typed = not any("nvdisasm was not found" in note for note in m.notes())
        same = "all are 2.5" if typed else "all are 0x4020000040200000, as a double 8.00000191"
        yield equal("read_zeros", of("read_zeros"), [("single_zero", 1.0, looked_at * n * 4, 4, "all are zero", True)])
        yield equal("read_same", of("read_same"), [("single_value", 1.0, n * 4, 4, "all are 2.5" if typed else "all are 0x40200000, as a float 2.5", True)])
        yield equal("read_wide", of("read_wide"), [("single_value", 1.0, n * 8, 8, "all are 0.1" if typed else "all are 0x3fb999999999999a, as a double 0.1", True)])
        if typed:
            yield equal("read_fitting", of("read_fitting"), [("heavy_type", 1.0, n * 8, 8, "1 to 1024.75: float would do", True)])
            yield equal("read_small", of("read_small"), [("heavy_type", 1.0, n * 4, 4, "-3 to 117: int8_t would do", True)])
            yield equal("read_near", [p[:4] for p in of("read_near")], [("approximate", 1.0, n * 4, 4)])
            yield from check_machine_guesses(m)
        yield equal("read_vectors", of("read_vectors"), [("single_value", 1.0, n * 16, 4 if typed else 8, same, True)])
        yield equal("some_threads", of("some_threads"), [("single_value", 1.0, 410 * 4, 4, "all are 7", True)])
        either = [("heavy_type", 1.0, 2730 * 4, 4, "-3 to 117: int8_t would do", True)] if typed else []
        yield equal("read_either", of("read_either"), either + [("single_zero", 1.0, 1366 * 4, 4, "all are zero", True)])
        yield equal("read_variable", of("read_variable"), [("single_value", 1.0, n * 4, 4, "all are 3", True)])
        coverage = {c["kernel"]: (c["engine"], c["launches"], c["looked_at"], c["reason"]) for c in m.view("values")["coverage"]}
        left_out = None if looked_at == launches else "not of those that --values-sample or --comm-sample chose"
        yield equal("coverage", coverage, {
            **{k: ("sanitizer", 1, 1, None) for k in MACHINE if k.startswith(("read", "some"))}, "read_zeros": ("sanitizer", launches, looked_at, left_out),
            **{k: ("sanitizer", max(launches, 6), max(looked_at, 6) if not left_out else looked_at, left_out) for k in MACHINE_GUESSED},
            "captured": ("none", 3, 0, "Compute Sanitizer did not patch its code") if left_out else ("sanitizer", 3, 3, None)})
        yield equal("operations without times", m.view("ledger")["no_times"], sum(m.kernels().values()) + sum(count for count, _ in MACHINE_COPIES.values()))
        yield "it is said that there are none", any("no device times" in note for note in m.notes()), str(m.notes())
    return check


BLOCKS = {"some_blocks": 6, "all_blocks": 6, "zeros": 6, "but_one": 6, "reversed": 6}


def check_blocks(every, coarse=False):
    """blocks.cu: of 420 blocks so many were looked at; what is said of all is said as an estimate, and the truth lies in its interval."""
    def check(m):
        blocks, launches, size = 420, 6, 128
        looked_at = -(-blocks // every)
        view = m.view("values --frequent 40")
        rows = {c["kernel"]: c for c in view["coverage"]}
        yield equal("coverage", {k: (rows[k]["engine"], rows[k]["looked_at"], rows[k]["blocks"], rows[k]["blocks_looked_at"]) for k in BLOCKS},
                    dict.fromkeys(BLOCKS, ("ptx", launches, launches * blocks, launches * looked_at)))
        found = {}
        for o in view["objects"]:
            for p in o["patterns"]:
                found.setdefault((p["operation"], p["pattern"]), []).append(p)
        sevens = m.truth["sevens"] / (blocks * size)
        for kernel, pattern, share, text in (("some_blocks", "frequent", sevens, "are 7"), ("all_blocks", "frequent", .75, "are 7"),
                                             ("zeros", "single_zero", 1, "all are zero"), ("but_one", ("single_zero", "frequent"), (blocks - 1) / blocks, "zero|are 0")):
            rows = [p for kind in ([pattern] if isinstance(pattern, str) else pattern) for p in found.get((kernel, kind), []) if re.search(text, p["evidence"])]
            yield f"{kernel}: found", len(rows) == 1, str(found)
            for p in rows:
                yield f"{kernel}: an estimate", not p["exact"] and p["share_low"] < p["share_high"], str(p)
                yield within(f"{kernel}: the truth lies in its interval", p["share_low"], share, p["share_high"])
                yield within(f"{kernel}: and what was seen", p["share_low"], p["share"], p["share_high"])
                yield f"{kernel}: bytes of the blocks that were seen", p["bytes"] <= launches * looked_at * size * p["element_bytes"], str(p)
        if coarse:
            redundant = [(p["operations"], p["bytes"], p["exact"]) for p in found[("some_blocks", "redundant")]]
            yield equal("what all blocks left unchanged", redundant, [(launches, (launches - 1) * blocks * size * 4, True)])
    return check


def unchanged_in(m, mark=None, kernel=None, program="unchanged"):
    """(operations, share, bytes, element size, exact) of what operations left unchanged in the objects allocated at a line, or of a kernel,
    or of calls whose names begin so."""
    at = f"{program}.cu:{marked_line(source(program), mark)} " if mark else ""
    found = [p for o in m.view("values --threshold 0")["objects"] if at in o["site"] + " " for p in o["patterns"]
             if p["pattern"] == "redundant" and (kernel in (None, p["operation"]) or (kernel.startswith("cu") and p["operation"].startswith(kernel)))]
    return sorted((p["operations"], round(p["share"], 6), p["bytes"], p["element_bytes"], p["exact"]) for p in found)


def coverage_of(m):
    return {c["kernel"]: (c["engine"], c["launches"], c["looked_at"], c["reason"]) for c in m.view("values")["coverage"]}


OTHERS = "another queue, or the host, may have written the same memory meanwhile"


def check_unchanged(m):
    n, block = 4096, 256
    of = lambda count, unchanged, elements, size, exact=True: [(count, round(unchanged / elements, 6), unchanged * size, size, exact)]
    for mark, truth in (("fresh", of(1, n, n, 4)), ("half", of(1, n // 2, n, 4)), ("odd", of(1, 240, 250, 4)),
                        ("copied", of(1, 64, 64, 4) + of(2, 2 * n, 2 * n, 4)), ("raced", of(1, n, n, 4, False)), ("pooled", of(1, n, n, 4)),
                        ("captured", of(2, 2 * n, 2 * n, 4))):
        yield equal(f"object {mark}", unchanged_in(m, mark), truth)
    for kernel, truth in (("write_half", of(1, n // 8, n // 2, 4)), ("add_some", of(1, (n + 2) // 3, n, 4)), ("write_vector", of(1, 3 * n // 4, n, 4)),
                          ("write_bytes", of(1, n // 2, n, 1)), ("write_mixed", of(1, n * 5 // 2, n * 5 // 2, 1)), ("write_twice", of(1, n, n, 4)),
                          ("write_indirect", []), ("needs_variable", of(1, 0, block, 4)), ("uses_all", of(1, n // 2, n, 4)),
                          ("from_buffer", of(1, n // 2, n, 4)), ("write_both", of(1, n // 2 + 1, n, 4)),
                          ("write_same", of(1, block, block, 4) + of(20, 20 * n, 20 * n, 4)), ("only_reads", [])):
        yield equal(kernel, unchanged_in(m, kernel=kernel), truth)
    lines = {}
    for p in (p for o in m.view("values --threshold 0")["objects"] for p in o["patterns"] if p["pattern"] == "redundant"):
        lines.setdefault(p["operation"], set()).add(p["line"])
    at = lambda mark: {f"unchanged.cu:{marked_line(source('unchanged'), mark)}"}
    yield equal("lines of redundant writes", {k: lines.get(k) for k in ("write_same", "write_bytes", "write_twice")},
                {"write_same": at("one store"), "write_bytes": at("store of bytes"), "write_twice": {None}})
    coverage = coverage_of(m)
    whole = lambda count: ("ptx", count, count, None)
    graph = "it was captured for a graph"
    kernels = {k: coverage.get(k) for k in UNCHANGED}
    yield equal("coverage of kernels", kernels, {
        **{k: whole(1) for k in UNCHANGED}, "write_same": whole(22), "write_half": ("ptx", 4, 1, graph),
        "write_indirect": ("ptx", 1, 0, "it writes through pointers that it read from memory")})
    reasons = {c["reason"] for c in m.view("values")["coverage"] if c["kernel"] not in UNCHANGED}
    yield equal("why not all copies and sets", reasons - {OTHERS}, {None, graph, "it writes memory whose allocation was not seen"})
    yield equal("launches of the graph", coverage.get("cuGraphLaunch"), ("none", 3, 3, None))


def check_rectangles(m):
    of = lambda count, unchanged, elements, size=4, exact=True: (count, round(unchanged / elements, 6), unchanged * size, size, exact)
    for mark, *truth in (("pitched", of(1, 3750, 5000)), ("box", of(1, 40, 60)), ("all", of(1, 1420, 1440)), ("odd", of(1, 90, 90)),
                         ("words", of(1, 0, 32), of(1, 16, 16)), ("narrow", of(1, 14, 21, 1), of(1, 112, 112, 1))):
        yield equal(f"object {mark}", unchanged_in(m, mark, program="rectangles"), truth)
    rows = unchanged_in(m, "disturbed", "cuMemsetD2D", "rectangles")
    yield equal("what is written between the rows does not count", rows, [of(1, 1000, 1000, 4, False), of(4, 4000, 4000, 4, False)])
    coverage = {k: c for k, c in coverage_of(m).items() if k.startswith("cu")}
    yield "all copies and sets were compared", all(c[1] == c[2] and c[3] in (None, OTHERS) for c in coverage.values()), str(coverage)


NO_ROOM = "no memory for the copy (--values-memory, --values-host-memory)"


def check_hosted(where):
    """What is compared on the device, on the host, and what is not where neither has room."""
    def check(m):
        n, part, steps, longer = 8 * MIB, 4 * MIB, 10, 24 * MIB
        of = lambda count, unchanged, elements, size=4: [(count, round(unchanged / elements, 6), unchanged * size, size, True)]
        for mark, truth in (("half", of(1, n // 2, n)), ("bytes", of(1, n // 2, n, 1)), ("copied", of(1, 3 * n // 4, n)), ("pitched", of(1, n // 1024 * 1000, n // 1024 * 1000)),
                            ("one", of(steps, 7 * part, 10 * part)), ("two", of(steps, 7 * part, 10 * part)), ("longer", of(1, longer, longer))):
            yield equal(f"object {mark}", unchanged_in(m, mark, program="hosted"), truth if where else [])
        yield equal("coverage", {k: coverage_of(m).get(k) for k in ("write_half", "write_bytes", "step")},
                    {k: ("ptx", count, count if where else 0, None if where else NO_ROOM) for k, count in (("write_half", 1), ("write_bytes", 1), ("step", 2 * steps))})
        yield equal("said to be on the host", any("some are in the host's" in note for note in m.notes()), where == "host")
    return check


def check_managed(m):
    n = 4096
    of = lambda count, unchanged, elements: (count, round(unchanged / elements, 6), unchanged * 4, 4, False)
    yield equal("object managed", unchanged_in(m, "managed", program="managed"),
                [of(1, 1, n), of(1, n // 2, n), of(1, 1024, 1024), of(1, n, n), of(2, 2 * n, 2 * n)])
    yield equal("object seeded", unchanged_in(m, "seeded", program="managed"), [])
    coverage = coverage_of(m)
    yield equal("coverage of kernels", (coverage.get("ramp"), coverage.get("seed")), (("ptx", 4, 4, OTHERS), ("ptx", 1, 1, None)))
    yield "all copies and sets were compared", all(c[1] == c[2] for c in coverage.values()), str(coverage)


def check_replayed(m):
    n = 4096
    of = lambda count, unchanged, elements, exact=True: (count, round(unchanged / elements, 6), unchanged * 4, 4, exact)
    often, half = of(5, 4 * n, 5 * n), of(2, n, 2 * n)
    for mark, *truth in (("cleared", often), ("copied", often), ("made", of(5, 4 * n, 5 * n, False)), ("source", of(1, 0, n)),
                         ("first", of(2, n, 2 * n, False)), ("other", of(2, n, 2 * n, False)), ("part", of(1, 0, n), of(2, n // 2, n), of(2, n, n)),
                         ("before", half), ("after", half), ("inner", often), ("both", of(5, 4 * 136, 5 * 136)), ("certain", often), ("target",)):
        yield equal(f"object {mark}", unchanged_in(m, mark, program="replayed"), truth)
    found = {p["operation"] for o in m.view("values --threshold 0")["objects"] for p in o["patterns"] if p["pattern"] == "redundant" and p["operations"] > 1}
    yield equal("told of the launch", found, {"cuGraphLaunch"})
    coverage = coverage_of(m)
    yield equal("coverage of launches", coverage.get("cuGraphLaunch"), ("none", 29, 28, "it writes through pointers that it read from memory"))
    graph = "it was captured for a graph"
    yield equal("reasons of kernels of graphs", {k: coverage.get(k, (0, 0, 0, 0))[2:] for k in REPLAYED},
                {"make": (2, graph), "only_reads": (0, graph), "fill_with": (0, graph), "indirect": (0, graph)})


PLAIN = {"sines": None, "cubes": None, "assembly": None, "copies": None, "both_shared": None, "nothing": None, "alone": None,
         "textures": "its code uses textures or surfaces", "lengths": "its code has copies whose length is known only while it runs (cp.async)",
         **dict.fromkeys(("pointers", "functions"), "it calls functions that are not followed (through pointers, or not compiled into it)"),
         **dict.fromkeys(("required", "clusters"), "its blocks run in clusters")}


def check_plain(m):
    """Which kernels are looked at, and each other's reason; the ledger has the same."""
    coverage = {c["kernel"]: (c["engine"], c["launches"], c["looked_at"], c["reason"]) for c in m.view("values")["coverage"]}
    yield equal("coverage", coverage, {k: ("none", 1, 0, why) if why else ("ptx", 1, 1, None) for k, why in PLAIN.items()})
    missed = {why["reason"]: (why["operations"], sorted(why["names"])) for why in m.view("ledger")["values_missed"]}
    names = {why: sorted(k for k in PLAIN if PLAIN[k] == why) for why in set(PLAIN.values()) - {None}}
    yield equal("the ledger", missed, {why: (len(of), of) for why, of in names.items()})


def check_alike(m):
    """Which objects held the same values as which others, and the value flow graph of figure()."""
    lines = {marked_line(source("alike"), mark): mark for mark in
             ("a", "b", "c", "other", "longer", "odd-one", "odd-two", "odd-three", "first", "brief", "often", "before", "last",
              "figure-a", "figure-b", "f", "g", "s", "t", "l", "r")}
    mark = lambda text: next((lines[int(n)] for n in re.findall(r"alike\.cu:(\d+)", text or "") if int(n) in lines), None)
    answer = m.view("values --graph")
    found = {}
    for o in answer["objects"]:
        for p in o["patterns"]:
            if p["pattern"] == "duplicate":
                key = mark(o["site"]), mark(p["evidence"])
                found[key] = found.get(key, 0) + p["operations"]
                yield f"{key}: exact, all of it", p["exact"] and p["share"] == 1, str(p)
    pairs = {tuple(sorted(key)) for key in found}
    yield "pairs that are alike", pairs >= {("a", "b"), ("a", "c"), ("odd-one", "odd-two"), ("brief", "first"), ("before", "last")}, str(found)
    yield "none that are not", all({"odd-three", "other", "longer"}.isdisjoint(pair) for pair in pairs), str(found)
    like = {"a", "b", "c", "often"}
    yield "often is like one of three", any("often" in pair for pair in pairs) and all(set(pair) <= like for pair in pairs if "often" in pair), str(found)
    vertices = {v["id"]: "host" if v["kind"] == "host" else mark(v["called_from"]) for v in answer["graph"]["vertices"]}
    edges = {(vertices[e["from"]], vertices[e["to"]], mark(e["object"]), "r" * e["reads"] + "w" * e["writes"]) for e in answer["graph"]["edges"]
             if (mark(e["object"]) or "").startswith("figure")}
    a, b = "figure-a", "figure-b"
    yield equal("value flow graph", sorted(edges, key=str), sorted(
        {(a, "f", a, "w"), (b, "g", b, "w"), ("f", "s", a, "w"), ("g", "t", b, "w"), ("s", "l", a, "r"), ("t", "l", b, "w"), ("l", "r", b, "r"),
         ("r", "host", b, "r")}, key=str))
    yield "all of it exact", all(e["exact"] for e in answer["graph"]["edges"]), str(answer["graph"]["edges"])[:300]


UNCHANGED = {"write_same": 22, "write_half": 4, "add_some": 1, "write_vector": 1, "write_bytes": 1, "write_mixed": 1, "write_twice": 1,
             "write_indirect": 1, "needs_variable": 1, "uses_all": 1, "from_buffer": 1, "write_both": 1, "only_reads": 1}
HOSTED = {"write_half": 1, "write_bytes": 1, "step": 20, "wait_for": 2}
REPLAYED = {"make": 7, "only_reads": 5, "fill_with": 9, "indirect": 1}
MACHINE_GUESSED = [f"{what}_{kind}" for what in ("often", "seldom", "ramp", "bent") for kind in ("int", "float", "double")] + ["often_vectors", "ramp_vectors"]
MACHINE = {"read_zeros": 5, "read_same": 1, "read_wide": 1, "read_fitting": 1, "read_small": 1, "read_near": 1, "read_vectors": 1, "some_threads": 1,
           "read_either": 1, "read_variable": 1, "captured": 3, **{kernel: 6 for kernel in MACHINE_GUESSED}}
MACHINE_COPIES = {"write": (7 + 28, 4 * 16384 + 65536 + 2 * 32768 + 18 * 16384 + 8 * 32768 + 2 * 65536), "fill": (1, 32768),
                  "read": (11 + 14, 9 * 16384 + 2 * 32768 + 10 * 16384 + 4 * 32768)}
VALUES = {"read_zeros": 5, "read_same": 1, "read_small": 1, "read_wide": 1, "read_near": 1, "some_threads": 1, "needs_variable": 1,
          "much_shared": 1, "captured": 3, "read_often": 6, "read_ramp": 6, "read_seldom": 12, "read_bent": 12, "read_often_once": 1,
          "read_ramp_once": 1}

CASES = [
    Case("values", ["{bin}/values"], VALUES, {"write": (15, 10 * 16384 + 2 * 32768 + 48 * MIB), "read": (14, 11 * 16384 + 32768 + 32 * MIB)}, [check_values],
         options=["--values=fine"]),
    Case("passing", ["{bin}/passing"], {"store_seven": 10000}, {"read": (1, 1024)}, [check_passing], options=["--values=fine", "--values-memory=1M"]),
    Case("several", ["{bin}/several"], dict.fromkeys(("several", "in_loop", "one", "none"), 12), None, [check_several], options=["--values=fine"]),
    Case("machine", ["{bin}/machine"], MACHINE, MACHINE_COPIES, [check_machine(5, 5)],
         options=["--values=fine", "--values-engine=sanitizer", "--values-sample=1/1"]),
    Case("machine-sampled", ["{bin}/machine", "100"], {**MACHINE, "read_zeros": 100, **{kernel: 100 for kernel in MACHINE_GUESSED}}, MACHINE_COPIES,
         [check_machine(100, 5)], options=["--values=fine", "--values-engine=sanitizer"]),  # 1 of 20
    Case("blocks", ["{bin}/blocks"], BLOCKS, None, [check_blocks(4)], options=["--values=fine", "--values-blocks=1/4"]),
    Case("blocks-few", ["{bin}/blocks"], BLOCKS, None, [check_blocks(31)], options=["--values=fine", "--values-blocks=1/31"]),
    Case("blocks-all", ["{bin}/blocks"], BLOCKS, None, [check_blocks(8, coarse=True)], options=["--values=all", "--values-blocks=1/8"]),
    Case("plain", ["{bin}/plain"], dict.fromkeys(PLAIN, 1), None, [check_plain], options=["--values=fine"]),
    Case("unchanged", ["{bin}/unchanged"], UNCHANGED, None, [check_unchanged], options=["--values"]),
    Case("alike", ["{bin}/alike"], {"set": 9, "look": 1}, None, [check_alike], options=["--values"]),
    Case("rectangles", ["{bin}/rectangles"], {"disturb": 1, "write_bytes": 1}, None, [check_rectangles], options=["--values"]),
    Case("hosted", ["{bin}/hosted"], HOSTED, None, [check_hosted("host")], options=["--values", "--values-memory=16M"]),
    Case("hosted-device", ["{bin}/hosted"], HOSTED, None, [check_hosted("device")], options=["--values"]),
    Case("hosted-not", ["{bin}/hosted"], HOSTED, None, [check_hosted(None)], options=["--values", "--values-memory=16M", "--values-host-memory=0"]),
    Case("managed", ["{bin}/managed"], {"ramp": 4, "seed": 1}, None, [check_managed], options=["--values"]),
    Case("replayed", ["{bin}/replayed"], REPLAYED, None, [check_replayed], options=["--values"]),
    Case("replayed-whole", ["{bin}/replayed"], {"make": 2}, None, [check_replayed], options=["--values", "--graph", "graph"]),
    Case("replayed-all", ["{bin}/replayed"], REPLAYED, None, [check_replayed], options=["--values=all"]),
    Case("unchanged-all", ["{bin}/unchanged"], UNCHANGED, None, [check_unchanged], options=["--values=all"]),
]
