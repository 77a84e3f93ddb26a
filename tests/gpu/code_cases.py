"""Code of every kind with --values: each kernel computes what it computes without, and is looked at, or told with a reason.

Programs check their results themselves, bit for bit. Each kernel reads an array of threes (programs/codes.h).
"""
import re

from cases import Case, check_held, equal
from values_cases import coverage_of

N = 4096
FINE = ("single_zero", "single_value", "heavy_type", "structured", "frequent", "approximate")
ANY = object()  # whatever else is found


class Code:
    """What must be said of a kernel. `engine`: "ptx", "none", or "any" (either); `reason`: of one that is not looked at, or not wholly, a regular expression
    that its reason must have; `threes`: elements that it is known to read, 0: none; `more`: what else is found, by pattern and evidence."""

    def __init__(self, engine, reason=None, threes=N, more=()):
        self.engine, self.reason, self.threes, self.more = engine, reason, threes, more


SOME = r"\w+ \w+"  # some reason
POINTERS = "pointers"  # it writes through some that it has read, or made: what it wrote is not known to the byte
TABLE = {
    "codes": {
        "cooperative": Code("ptx", POINTERS, more=ANY),  # the barrier's counter is not among its parameters
        "clustered": Code("any", "clusters|shared or local", more=ANY),
        "clustered_by_code": Code("any", "clusters", more=ANY),
        "dynamic_shared": Code("ptx"),
        "dependent": Code("ptx"),
        "bounded": Code("ptx", threes=54 * N),
        "many_registers": Code("any", SOME, threes=54 * N),  # 63 of its own, 72 with what is counted: 64 are there
        "by_structure": Code("ptx"),
        "variables": Code("ptx", more=ANY),
        "forty_variables": Code("none", "variables"),
        "talks": Code("ptx", threes=N + 1, more=ANY),  # how often it reads is the compiler's business
        "no_memory": Code("any", SOME, threes=0),  # there is nothing to look at
    },
    "ways": {
        "texture": Code("none", "textures"),
        "surface": Code("none", "surfaces"),
        "matrices": Code("none", "matrices"),
        "scopes": Code("ptx", "pointers", threes=2 * N, more=ANY),
        "hints": Code("ptx", threes=7 * N),
        "copy_async": Code("ptx"),
        "copy_async_sized": Code("none", "length"),
        "bulk": Code("none", "bulk"),
        "either": Code("none", "shared or local"),
        "atomics": Code("ptx"),
        "calls": Code("none", "calls"),
        "calls_pointer": Code("none", "calls"),
        "calls_internal": Code("none", "calls"),
        "allocates": Code("any", SOME, more=ANY),
    },
    "apart": {
        "by_itself": Code("any", SOME),
        "calls_apart": Code("none", SOME),
        "calls_chosen": Code("none", SOME),
        "parent": Code("none", SOME),
    },
    "tensor": {"warp_group": Code("ptx", threes=2048 + 128, more=ANY)},
}


def found_in(m, kernel):
    """{(pattern, evidence): bytes} of a kernel's accesses."""
    found = {}
    for o in m.view("values")["objects"]:
        for p in o["patterns"]:
            if p["operation"] == kernel and p["pattern"] in FINE:
                key = p["pattern"], p["evidence"].split(": ", 1)[1]
                found[key] = found.get(key, 0) + p["bytes"]
    return found


def check_patterns(m, kernel, code, launches):
    found, threes = found_in(m, kernel), ("single_value", "all are 3")
    size = found.pop(threes, 0)
    if code.threes:
        yield f"{kernel}: reads threes", size == 4 * code.threes * launches or (code.more is ANY and size > 0), f"{size} bytes, {found}"
    if code.more is not ANY:
        yield equal(f"{kernel}: what else is found", found, {})


def check_kernel(m, kernel, code):
    engine, launches, looked_at, reason = coverage_of(m).get(kernel, (None, 0, 0, "it is not in coverage"))
    if engine == "ptx" and code.engine != "none":
        yield (f"{kernel}: looked at, or why not wholly", (looked_at == launches and not reason) or bool(code.reason and re.search(code.reason, reason or "")),
               f"{looked_at} of {launches}, {reason}")
        yield from check_patterns(m, kernel, code, launches)
    elif not code.threes and looked_at == launches == 1:
        yield equal(f"{kernel}: nothing to look at, and no reason", reason, None)
    else:
        yield f"{kernel}: engine {code.engine}", engine is not None and code.engine in (engine, "any"), f"{engine}, {looked_at} of {launches}, {reason}"
        yield f"{kernel}: a reason", looked_at == 0 and bool(re.search(code.reason or SOME, reason or "")), f"{looked_at} of {launches}, {reason}"
        yield equal(f"{kernel}: nothing is said of its accesses", found_in(m, kernel), {})
    print(f"    {kernel}: {engine}, {looked_at} of {launches}, {reason or 'no reason'}, {found_in(m, kernel)}", flush=True)


def check_codes(program):
    def check(m):
        for kernel, code in TABLE[program].items():
            yield from check_kernel(m, kernel, code)
    return check


def check_apart(m):
    kernels = m.kernels()
    yield equal("kernels that the host launched", {k: kernels.get(k) for k in TABLE["apart"]}, dict.fromkeys(TABLE["apart"], 1))
    yield from check_codes("apart")(m)


def check_changing(launches, each):
    def check(m):
        chosen = launches // each
        for kernel in ("change", "count"):
            engine, of, looked_at, reason = coverage_of(m).get(kernel, (None, 0, 0, None))
            yield equal(f"{kernel}: engine, launches, looked at", (engine, of, looked_at), ("ptx", launches, chosen))
            yield f"{kernel}: why not all", bool(reason) == (chosen < launches) and (not reason or "--values-sample" in reason), str(reason)
        size = sum(bytes for (pattern, text), bytes in found_in(m, "change").items() if (pattern, text) == ("single_value", "all are 3"))
        # Where all three are threes, what a kernel adds to its sums is, too; atomics have no values.
        yield equal("bytes of threes", size, 4 * N * chosen)
    return check


# ---- bad luck --------------------------------------------------------------------------------------------


def check_refused(m):
    coverage = coverage_of(m)
    for kernel in ("jitted", "whole"):
        yield equal(f"{kernel}: coverage", coverage.get(kernel), ("ptx", 1, 1, None))
        yield equal(f"{kernel}: reads threes", found_in(m, kernel).get(("single_value", "all are 3")), 4 * N)
    for kernel in ("newer", "broken"):
        engine, launches, looked_at, reason = coverage.get(kernel, (None, 0, 0, None))
        yield f"{kernel}: its copy was refused, and it is told so", (engine, launches, looked_at) == ("none", 1, 0) and bool(reason), str(coverage.get(kernel))
        yield equal(f"{kernel}: nothing is said of its accesses", found_in(m, kernel), {})


def check_full(m):
    coverage = coverage_of(m)
    for kernel, launches, elements in (("small_first", 3, N), ("large", 3, 16 << 20), ("small_last", 3, N)):
        engine, of, looked_at, reason = coverage.get(kernel, (None, 0, 0, None))
        yield f"{kernel}: looked at, or told why not", of == launches and (looked_at == launches or bool(reason)), str(coverage.get(kernel))
        size = found_in(m, kernel).get(("single_value", "all are 3"), 0)
        # Where accesses are looked at and comparing had no memory, a launch is not counted as looked at.
        yield (f"{kernel}: what is told of its accesses is true of some launches", size % (4 * elements) == 0 and
               looked_at * 4 * elements <= size <= launches * 4 * elements, f"{size} bytes, {coverage.get(kernel)}")


def check_freed(m):
    coverage, launches = coverage_of(m), m.truth["launches"]
    for kernel in ("set", "set_pooled"):
        engine, of, looked_at, reason = coverage.get(kernel, (None, 0, 0, None))
        yield f"{kernel}: looked at, or told why not", of == launches and (looked_at == launches or bool(reason)), str(coverage.get(kernel))
        size = found_in(m, kernel).get(("single_value", "all are 7"), 0)
        yield (f"{kernel}: stores of all launches that were looked at", looked_at * 4096 <= size <= launches * 4096 and size % 4096 == 0,
               f"{size // 4096} of {looked_at}")
    yield "the program's memory at most", True, f"{m.truth['peak_kb']} kB"


def check_jit(m):
    found = [p for o in m.view("values")["objects"] for p in o["patterns"] if p["operation"] == "compiled" and p["pattern"] == "single_value"]
    yield equal("coverage", coverage_of(m).get("compiled"), ("ptx", 1, 1, None))
    yield equal("the read", [(p["bytes"], p["line"], p["evidence"].split(": ", 1)[1], p["exact"]) for p in found],
                [(4 * N, "compiled.cu:7", "all are 3", True)])


def check_held_values(m):
    yield from check_held(m)
    if m.kernels().get("watched"):
        yield equal("coverage", coverage_of(m).get("watched", (None,) * 4)[:3], ("ptx", 10, 10))


def launched(program):
    return dict.fromkeys(TABLE[program], 1)


ALL = ["--values=all"]
SAMPLED = ["--values-sample=1/4"]
CASES = [
    Case("codes", ["{bin}/codes"], launched("codes"), None, [check_codes("codes")], options=ALL),
    Case("codes-ways", ["{bin}/ways"], launched("ways"), None, [check_codes("ways")], options=ALL),
    Case("codes-apart", ["{bin}/apart"], None, None, [check_apart], options=ALL),
    Case("codes-tensor", ["{bin}/tensor"], launched("tensor"), None, [check_codes("tensor")], options=ALL),
    Case("codes-changing", ["{bin}/changing"], {"change": 40, "count": 40}, None, [check_changing(40, 1)], options=ALL),
    Case("codes-changing-sampled", ["{bin}/changing"], {"change": 40, "count": 40}, None, [check_changing(40, 4)], options=ALL + SAMPLED),
    Case("codes-refused", ["{bin}/refused"], {"jitted": 1, "whole": 1, "newer": 1, "broken": 1}, None, [check_refused], options=ALL),
    Case("codes-full", ["{bin}/full"], {"small_first": 3, "large": 3, "small_last": 3}, None, [check_full], options=ALL,
         env={"CUDA_MODULE_LOADING": "EAGER"}),
    Case("codes-freed", ["{bin}/freed"], {"set": 3000, "set_pooled": 3000}, None, [check_freed], options=ALL),
    Case("codes-jit", ["{bin}/jit"], {"compiled": 1}, None, [check_jit], options=["--values=fine"]),
    Case("codes-held", ["{bin}/held"], checks=[check_held_values], options=ALL, loss=("in_flight", "unmatched", "dropped")),
]
