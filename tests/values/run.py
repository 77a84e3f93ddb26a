#!/usr/bin/env python3
"""Cases of values.c: what `sonde record --values` must say of each, and that the program says the same without it.

    run.py --sonde S --rows R --program P --work DIR --cache DIR [--runtime LIBRARY] [--il] [--full LAYER] CASE

The program runs on PoCL, or on the OpenCL runtime that is this library. With --il what it makes of its source is made of SPIR-V (il.py), with the same answers.

Counts are exact: elements of a size are those that lie whole within what was written, at multiples of it from the object's
beginning, and unchanged are those whose bytes are what they were.
"""
import argparse
import functools
import json
import operator
import os
import re
import shutil
import signal
import struct
import subprocess
import sys

import il
from known_patterns import GUESSED, KNOWN

MAPPED, MEMORY, MANY, SAMPLE, KERNEL = 5, 9, 10, 26, 27  # enum sonde_value_missed
MAYBE, RACED = 1, 2
N = 1000


class Failure(Exception):
    pass


def vendor(options):
    """A file that names the runtime to the loader."""
    path = os.path.join(options.work, options.case + ".icd")  # its own: cases run at the same time
    with open(path, "w") as f:
        f.write(options.runtime + "\n")
    return path


def require(condition, text):
    if not condition:
        raise Failure(text)


class Measured:
    """A recorded run: what it printed, its rows, and what the view says."""

    def __init__(self, options, *record, case=None, environment=None):
        path = os.path.join(options.work, options.case + ".sonde")
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(options.work, exist_ok=True)
        os.makedirs(options.cache, exist_ok=True)
        env = {k: v for k, v in os.environ.items() if not k.startswith(("SONDE_", "OPENCL_LAYERS", "LD_PRELOAD"))}
        env["POCL_CACHE_DIR"] = options.cache
        env.update(environment or {})
        if options.runtime:
            env["OCL_ICD_VENDORS"] = vendor(options)
        if options.il:
            env["VALUES_IL"] = options.texts
        command = [options.program, case or options.case]
        for _ in range(2):  # PoCL says something of programs with -g that it finds in its cache
            plain = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        run = subprocess.run([options.sonde, "record", "-q", "-o", path, *(record or ["--values"]), "--", *command], env=env, capture_output=True,
                             text=True, check=False)
        require(run.returncode == 0 and (run.stdout, run.stderr) == (plain.stdout, plain.stderr) and plain.returncode == 0,
                f"{plain.returncode}, with Sonde {run.returncode}\n{plain.stdout}{plain.stderr}\n{run.stdout}{run.stderr}")
        self.said = run.stdout.splitlines()
        self.missed, self.values, self.accesses, self.lines = {}, {}, {}, set()
        for line in subprocess.run([options.rows, path], capture_output=True, text=True, check=True).stdout.splitlines():
            kind, name, *rest = line.split()
            if kind == "line":
                self.lines.add((name, rest[1], int(rest[2])))
                continue
            rest = [int(x) for x in rest]
            if kind == "missed":
                self.missed[name, rest[0]] = self.missed.get((name, rest[0]), 0) + rest[1]
            elif kind == "access":
                self.accesses.setdefault(name, []).append(rest)
            else:
                self.values.setdefault(name, []).append(rest)
        # Where a runtime loads libraries at a launch, a calling context may have another number from then on.
        self.values = {name: [[*of, *(sum(column) for column in zip(*(r[3:] for r in rows if r[:3] == list(of))))]
                              for of in dict.fromkeys(tuple(r[:3]) for r in rows)] if options.runtime else rows for name, rows in self.values.items()}
        self.command = [options.sonde, "report", path]
        self.ask()
        ledger = json.loads(self.report("ledger", "--json"))
        require(ledger["unmatched"] == 0 and ledger["dropped"] == 0, f"{ledger}")

    def report(self, *arguments):
        return subprocess.run([*self.command, *arguments], capture_output=True, text=True, check=True).stdout

    def ask(self, *arguments):
        """What the view says, with these options."""
        self.answer = json.loads(self.report("values", "--json", *arguments))
        self.text = self.report("values", *arguments)

    def wrong(self, *arguments):
        """What is said of options that are refused."""
        run = subprocess.run([*self.command, *arguments], capture_output=True, text=True, check=False)
        require(run.returncode == 2 and not run.stdout, f"{arguments}: {run.returncode} {run.stdout}")
        return run.stderr

    def patterns(self):
        return [(p["operation"], p["operations"], round(p["share"], 4), p["bytes"], p["element_bytes"], p["exact"])
                for o in self.answer["objects"] for p in o["patterns"] if p["pattern"] == "redundant"]

    def coverage(self):
        return {c["kernel"]: (c["launches"], c["looked_at"]) for c in self.answer["coverage"]}


def case_writes(options):
    m = Measured(options)
    # 0 over 0; 0 to 999 over 0: one; 0 over 500 to 999: none. They are three places of the program.
    require(sorted(r[9:11] for r in m.values["clEnqueueWriteBuffer"]) == [[N // 2, 0], [N, 1], [N, N]], m.values)
    require(m.patterns() == [("clEnqueueWriteBuffer", 1, 1.0, 4 * N, 4, True)], m.patterns())
    require(m.answer["objects"][0]["patterns"][0]["evidence"].startswith("1,000 of 1,000 elements of 4 bytes (assumed) held"), m.answer)


def case_wide(options):
    """Elements are those of the kernel that reads the object, where none writes it."""
    for mode in "coarse", "all":
        m = Measured(options, "--values=" + mode)
        require("clEnqueueWriteBuffer" not in {p[0] for p in m.patterns()}, m.patterns())
        m.ask("--threshold", "0")
        require(("clEnqueueWriteBuffer", 2, 0.0, 0, 8, True) in m.patterns() and "assumed" not in str(m.answer), m.answer)


def case_fills(options):
    m = Measured(options)
    # The second of two equal fills; bytes 3 to 12 become 0xff: of two whole elements of 4 bytes neither stays.
    rows = sorted(m.values["clEnqueueFillBuffer"])
    require(sorted(r[9:11] for r in rows) == [[2, 0], [2 * N, N]], rows)
    require([r[5:7] for r in rows if r[4] == 10] == [[10, 0]], rows)


def case_copies(options):
    m = Measured(options)
    require(m.patterns() == [("clEnqueueCopyBuffer", 3, 0.6667, 8 * N, 4, True)], m.patterns())


def case_kernels(options):
    m = Measured(options)
    # The first of four launches changes the 600 that all of them write; of 1,000 sums 400 are the zeros that were there.
    require(m.patterns() == [("set", 4, 0.75, 4 * 1800, 4, True), ("sum", 1, 0.4, 8 * 400, 8, True)], m.patterns())
    require([r[1:4] + r[9:11] for r in m.values["set"]] == [[0, 4, 4, 2400, 1800]] and len(m.values["sum"]) == 1, m.values)
    require("may not have been written" not in m.text and "≤" not in m.text, m.text)
    require(m.coverage() == {"set": (4, 4), "sum": (1, 1)} and {c["engine"] for c in m.answer["coverage"]} == {"spirv"}, m.answer)


def case_sets(options):
    """What was written of each object, and that of a kernel whose code is not followed it is not known."""
    for mode in "coarse", "all":
        m = Measured(options, "--values=" + mode)
        # FLAGS ELEMENT_BYTES OPERATIONS, elements of 4 bytes written and unchanged; in the order of objects.
        rows = {name: [r[1:4] + r[9:11] for r in sorted(m.values[name])] for name in m.values}
        # Of SPIR-V neither the type of what is written is known then nor that what is read is only read.
        read = [[MAYBE, 0, 1, N, N]] if options.il else []
        require(sorted(rows.pop("copies")) == [[MAYBE, 0 if options.il else 4, 1, N, N - N // 4], *read], m.values)
        require(rows == {"look": [[0, 4, 1, N, N]], "set": [[0, 4, 2, 200, 100]], "either": [[0, 4, 1, 250, 250], [0, 4, 1, 250, 125]]}, rows)
        shares = {p[0]: p[5] for p in m.patterns()}
        require(shares == {"look": True, "set": True, "either": True, "copies": False} and "may not have been written" in str(m.answer), m.patterns())
        (reason,) = [c["reason"] for c in m.answer["coverage"] if c["kernel"] == "copies"]
        require(reason.startswith("what it wrote is not known" if mode == "coarse" else "its code has accesses or calls"), m.answer["coverage"])


def case_overlap(options):
    """Each byte counts once, however many have written it."""
    (row,) = Measured(options).values["spread"]
    require((row[1:4], row[5:7]) == ([0, 1, 1], [109, 55]), row)


def case_threshold(options):
    m = Measured(options, case="kernels")
    at_default = m.patterns()
    for percent, operations in ("0", ["set", "sum"]), ("40", ["set", "sum"]), ("40.1", ["set"]), ("75", ["set"]), ("75.5", []), ("100", []):
        m.ask("--threshold", percent)
        require([p[0] for p in m.patterns()] == operations and m.patterns() == at_default[:len(operations)], f"{percent}: {m.patterns()}")
        # What it says of that, it says of what was asked for.
        require(("sum " in m.text.split("\n\n")[0]) == ("sum" in operations) and
                (f"no operation left {percent} % or more" in m.text) == (not operations), f"{percent}: {m.text}")
    for percent, error in ("101", "between 0 and 100, not 101"), ("-1", "between 0 and 100, not -1"), ("half", "needs a number, not 'half'"):
        require(error in m.wrong("values", f"--threshold={percent}"), percent)
    require("--threshold is for the view values" in m.wrong("kernels", "--threshold=5"), "kernels")
    # 0 is every operation: one that changed nearly all, and one that changed all.
    m = Measured(options, case="writes")
    m.ask("--threshold", "0")
    require(sorted(p[2] for p in m.patterns()) == [0.0, 0.001, 1.0], m.patterns())
    m = Measured(options, case="missed")
    m.ask("--threshold", "0")
    require("no operation is known to have written what was compared" in m.text, m.text)


def case_object(options):
    m = Measured(options, case="fresh")
    names = {o["name"]: sum(p["pattern"] == "redundant" for p in o["patterns"]) for o in m.answer["objects"]}
    (a,), (b,) = ([name for name, count in names.items() if count == patterns] for patterns in (2, 0))
    coverage = m.coverage()
    # All that the kernel and the copy did to b, of which the default shows nothing.
    m.ask("--object", b)
    require([o["name"] for o in m.answer["objects"]] == [b] and m.coverage() == coverage, m.answer)
    require(m.patterns() == [("clEnqueueCopyBuffer", 1, 0.001, 4, 4, True)] and "0.1 %" in m.text, f"{m.patterns()} {m.text}")
    m.ask("--object", b, "--threshold", "33")
    require(m.patterns() == [] and "no operation left 33 % or more" in m.text, m.text)
    m.ask("--object", "fresh()")
    require({o["name"] for o in m.answer["objects"]} == {a, b} and len(m.patterns()) == 3, m.answer)
    m.ask("--object", "FRESH()")
    require(m.answer["objects"] == [] and m.text.startswith("no data object that was looked at has 'FRESH()' in its name\n"), m.text)
    require("--object is for the view values" in m.wrong("objects", "--object=fresh"), "objects")


def case_advice(options):
    def redundant(*record, case, rule="redundant_writes"):
        value = json.loads(Measured(options, *record, case=case).report("advice", "--json"))
        return [a for a in value["advice"] if a["rule"] == rule]

    # Two of three copies, all of the same size; what was written to their source was new.
    copies, = redundant(case="copies")
    require((copies["count"], copies["bytes"], copies["frames"][0]["name"]) == (3, 12 * N, "copies"), copies)
    require(abs(3 * copies["saving_ns"] - 2 * copies["looked_at_ns"]) <= 3 and "at most" not in copies["evidence"], copies)
    kernels = redundant(case="kernels")
    require(sorted(a["count"] for a in kernels) == [1, 4] and not any("at most" in a["evidence"] for a in kernels), kernels)
    bounds = redundant("--values", case="sets")
    require(sum(", at most " in a["evidence"] for a in bounds) == 1 and len(bounds) == 4, bounds)
    require(redundant("--values=off", case="copies") == [], "off")
    # b was given what a kernel had computed; what a kernel gave a, c and e held, or d, is nothing that the host sent.
    sent = redundant(case="duplicates", rule="duplicate_writes")
    require(any((a["count"], a["bytes"]) == (1, 4 * N) and a["saving_ns"] == a["looked_at_ns"] for a in sent) and
            {a["frames"][0]["name"] for a in sent} <= {"put", "duplicates"}, sent)


def case_looks(options):
    m = Measured(options)
    require([r[9:11] for r in m.values["look"]] == [[N, 1]], m.values)
    require(m.patterns() == [] and "no operation left 33 %" in m.text, m.text)


def case_missed(options):
    m = Measured(options)
    require(m.missed == {("clEnqueueUnmapMemObject", MAPPED): 1}, m.missed)
    require(m.values == {} and m.patterns() == [], m.values)
    require(m.coverage()["clEnqueueUnmapMemObject"] == (1, 0) and "the host writes mapped memory" in m.text, m.text)


def case_images(options):
    """Elements are channels. What a kernel writes of an image is not known."""
    m = Measured(options)
    expected(m, {"paint": MAYBE})
    require({row[2] for row in m.values["clEnqueueWriteImage"]} == {1, 2, 4}, m.values)
    require(all(seen == launches for launches, seen in m.coverage().values()) and m.coverage()["paint"] == (3, 3), m.answer)


def case_fresh_images(options):
    m = Measured(options)
    width, height = 12, 7
    # Rows 2 and 3 of the first four, and a part of 3 by 3, of four channels each; the second launch, all that is there; in a queue out of order two fills.
    require(sorted(r[9:11] for r in m.values["clEnqueueWriteImage"]) == [[4 * 9] * 2, [4 * 2 * width] * 2], m.values)
    require([r[1:4] + r[9:11] for r in m.values["stamp"]] == [[MAYBE, 4, 1] + [4 * width * height] * 2], m.values)
    require(sorted(r[1:4] + r[9:11] for r in m.values["clEnqueueFillImage"]) == [[0, 4, 1] + [4 * 9] * 2, [0, 4, 1] + [4 * 2 * width] * 2], m.values)
    require(m.coverage() == {"clEnqueueWriteImage": (4, 4), "stamp": (2, 2), "clEnqueueFillImage": (2, 2)}, m.answer)


def case_natives(options):
    m = Measured(options)
    # Every other of the first half is one more.
    require(sorted(r[1:4] + r[9:11] for r in m.values["clEnqueueNativeKernel"]) == [[MAYBE, 0, 1, N, N - N // 4], [MAYBE, 0, 1, N, N]], m.values)
    require(m.coverage()["clEnqueueNativeKernel"] == (2, 1) and "it runs on the host" in m.text, m.answer)


def case_places(options):
    m = Measured(options)
    said = [[int(x) for x in line.split()] for line in m.said if not line.startswith("checksum")]
    sums = [sum(line[2 + k] for line in said) for k in range(8)]
    (row,) = m.values["clEnqueueWriteBuffer"]
    require(row[3:] == [len(said), sum(line[1] - line[0] for line in said), *sums], f"{row}\n{sums}")


def expected(m, flags=None):
    """Rows of operations are what the program counted itself, in all; {operation: flags} of them, else 0."""
    sums = {}
    for name, *counts in (line.split() for line in m.said if not line.startswith("checksum")):
        sums[name] = [a + int(b) for a, b in zip(sums.get(name, [0] * 8), counts)]
    found = {name: [sum(column) for column in zip(*(row[5:] for row in rows))] for name, rows in m.values.items() if name in sums}
    require(found == sums, f"{found}\n{sums}")
    require(all(row[1] == (flags or {}).get(name, 0) for name in sums for row in m.values[name]) and not any(why for _, why in m.missed), f"{m.values} {m.missed}")


def case_rectangles(options):
    expected(Measured(options))


def case_svm(options):
    for mode in "coarse", "all":
        m = Measured(options, "--values=" + mode)
        # The first copy to new memory has nothing to be compared with, and one to the host writes no object.
        expected(m)
        require(m.coverage()["clEnqueueSVMMemcpy"] == (66, 66) and m.coverage()["clEnqueueSVMMemFill"] == (18, 18) and m.coverage()["set"] == (6, 6), m.answer)
        require(m.coverage()["clEnqueueSVMUnmap"] == (6, 6), m.answer)  # of new memory


def case_svm_maps(options):
    m = Measured(options)
    expected(m, {"clEnqueueSVMUnmap": MAYBE})
    require(m.coverage()["clEnqueueSVMUnmap"] == (13, 13) and m.patterns()[0][5] is False, m.answer)


def case_svm_parts(options):
    for mode in "coarse", "all":
        m = Measured(options, "--values=" + mode)
        expected(m, {"set": MAYBE, "either": MAYBE})
        require({name: m.coverage()[name] for name in ("look", "set", "either")} == {name: (1, 1) for name in ("look", "set", "either")}, m.answer)


def case_any_order(options):
    """A queue out of order: what the program orders is compared as in an in-order queue."""
    for mode in "coarse", "all":
        m = Measured(options, "--values=" + mode)
        expected(m)
        require(m.coverage() == {name: (3, 3) for name in ("clEnqueueWriteBuffer", "set", "clEnqueueCopyBuffer", "clEnqueueFillBuffer")}, m.answer)


def case_no_order(options):
    """What the program does not order waits for nothing of ours (else the program would not end), and is not exact where another writes the same."""
    m = Measured(options)
    flags = {name: {r[1] for r in rows} for name, rows in m.values.items()}
    require(flags == {"clEnqueueFillBuffer": {0}, "set": {RACED}, "clEnqueueCopyBuffer": {0}, "clEnqueueWriteBuffer": {0}}, m.values)
    require([r[9:11] for r in m.values["clEnqueueFillBuffer"]] in ([[N, 0]], [[N // 2, 0]] * 2), m.values)
    require([r[9:11] for r in m.values["clEnqueueCopyBuffer"] + m.values["clEnqueueWriteBuffer"]] == [[N, N]] * 2, m.values)
    require(all(launches == seen for launches, seen in m.coverage().values()) and not [p for p in m.patterns() if p[0] == "set" and p[5]], m.answer)


def case_any_tangle(options):
    """The same operations in an in-order queue and in one out of order, where each is ordered with those that it shares a buffer with, through others, too."""
    rows = {}
    for case in "tangle", "any_tangle":
        m = Measured(options, case=case)
        rows[case] = {name: sorted(r[1:2] + r[3:] for r in m.values[name]) for name in m.values}, m.said, m.coverage()
    require(rows["tangle"] == rows["any_tangle"] and len(rows["tangle"][0]) == 4, rows)


def case_behind(options):
    """What comes behind an operation comes behind its comparison, too."""
    m = Measured(options)
    words = 4 << 20
    # All but 16 of the words of each write but the first are zeros already; none of the fills' is 1.
    require([r[1:2] + r[3:4] + r[9:11] for r in m.values["clEnqueueWriteBuffer"]] == [[0, 8, 8 * words, 8 * words - 7 * 16]], m.values)
    require([r[1:2] + r[3:4] + r[9:11] for r in m.values["clEnqueueFillBuffer"]] == [[0, 8 * 16, 8 * 16, 0]], m.values)


def case_many(options):
    """64 comparisons may wait at once."""
    m = Measured(options)
    require(m.missed["clEnqueueFillBuffer", MANY] == 36 and m.coverage() == {"clEnqueueFillBuffer": (110, 74)}, f"{m.missed} {m.answer}")
    require(sorted(r[9:11] for r in m.values["clEnqueueFillBuffer"]) == [[100, 100], [640, 0]], m.values)
    require("too many comparisons were under way" in m.text, m.text)


def case_maps(options):
    m = Measured(options)
    expected(m, {"clEnqueueUnmapMemObject": MAYBE})
    require(m.coverage()["clEnqueueUnmapMemObject"][1] == 13 and m.patterns()[0][5] is False, m.answer)


def case_threads(options):
    m = Measured(options)
    done = sum(count for (_, why), count in m.missed.items())
    require(m.coverage()["count"][0] == 400 and done == 400, f"{m.missed} {m.answer}")
    # Both threads write the same values: whatever was compared, and whenever, was that or the zeros of the beginning.
    require(all(r[10] <= r[9] and r[9] == N * r[3] for r in m.values["count"]), m.values)


def case_any_threads(options):
    case_threads(options)


def case_contexts(options):
    m = Measured(options)
    require(m.coverage()["clEnqueueFillBuffer"] == (40, 40), m.answer)
    require(m.patterns() == [("clEnqueueFillBuffer", 40, 0.5, 4 * N * 20, 4, True)], m.patterns())


def case_fresh(options):
    m = Measured(options)
    # Of three fills the first writes what nobody wrote, the second half of it again, the third all; the kernel's buffer was
    # empty, and then held 0 to 999, of which one is 1.
    require(sorted(r[9:11] for r in m.values["clEnqueueFillBuffer"]) == [[N // 2, N // 2], [N, N]], m.values)
    require("count" not in m.values and [r[9:11] for r in m.values["clEnqueueCopyBuffer"]] == [[N, 1]], m.values)
    require(m.coverage() == {"clEnqueueFillBuffer": (3, 3), "count": (1, 1), "clEnqueueCopyBuffer": (1, 1)}, m.answer)


def case_memory(options):
    m = Measured(options, "--values", "--values-memory=1M", case="kernels")
    require(m.coverage()["set"] == (4, 4), m.answer)
    m = Measured(options, "--values", "--values-memory=1M", case="large")
    require(m.missed == {("clEnqueueFillBuffer", 0): 1} and "some are in the host's" in m.report("ledger", "--json"), f"{m.missed} {m.text}")
    for host in "0", "1M":  # neither has room for 4 MiB
        m = Measured(options, "--values", "--values-memory=1M", "--values-host-memory=" + host, case="large")
        require(m.missed == {("clEnqueueFillBuffer", MEMORY): 1} and "--values-memory" in m.text, f"{m.missed} {m.text}")
    m = Measured(options, "--values=fine", "--values-memory=4k", case="kernels")
    require(m.missed == {("set", 0): 4, ("sum", MEMORY): 1} and list(m.accesses) == ["set"], f"{m.missed}")  # a page is one kernel's


def case_host_memory(options):
    """What the device has no room for is compared on the host, with the same results."""
    for case in "kernels", "sets", "rectangles", "images", "maps", "svm_maps", "any_order":
        rich, poor = Measured(options, "--values", case=case), Measured(options, "--values", "--values-memory=1", case=case)
        found = lambda m: (m.values, m.missed, m.patterns(), m.answer["coverage"])
        require(rich.values and found(poor) == found(rich), f"{case}: {found(poor)}, with room {found(rich)}")
        none = Measured(options, "--values", "--values-memory=1", "--values-host-memory=0", case=case)
        require(not none.values and any(why in (MEMORY, MAPPED) for _, why in none.missed), f"{case}: {none.values} {none.missed}")


def peak_kib(options, *record, environment=None):
    """The most memory that a recorded run of the case `loop` takes."""
    measure = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=2, check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    path = os.path.join(options.work, options.case + ".sonde")
    command = [options.sonde, "record", "-q", "--force", "-o", path, *record, "--", options.program, "loop"]
    env = {**os.environ, "POCL_CACHE_DIR": options.cache, **(environment or {})}
    if options.runtime:
        env["OCL_ICD_VENDORS"] = vendor(options)
    return int(subprocess.run([sys.executable, "-c", measure, *command], env=env, capture_output=True, text=True, check=True).stdout)


def case_loop(options):
    """Objects that come and go: what is found takes no more memory the longer that goes on, and each launch is looked at."""
    count, items, page_kib = 20000, 10, 4
    for mode in "fine", "all":
        m = Measured(options, "--values=" + mode, "--values-memory=1M")
        require({key: n for key, n in m.missed.items() if key[0] == "set"} == {("set", 0): count} and m.coverage()["set"] == (count, count), f"{m.missed} {m.answer}")
        # OBJECT WHAT TYPE ELEMENT_BYTES ELEMENTS OR AND LEAST MOST: of a copy that guesses, and of another.
        rows = m.accesses["set"]
        few = 16 if options.runtime else 2  # where it loads libraries, a calling context may have another number from then on
        require(len(rows) <= few and sum(r[4] for r in rows) == count * items, rows)
        require({tuple(r[5:9]) for r in rows if r[4]} == {(7, 7, 7, 7)}, rows)
        (site,) = [o for o in m.answer["objects"] if any(p["pattern"] == "single_value" for p in o["patterns"])]
        require((site["count"], site["bytes"]) == (count, 4 * items * count), site)
    one, all = peak_kib(options, "--values=fine", "--values-sample=1"), peak_kib(options, "--values=fine")
    require(all - one < count * page_kib / 2, f"{one} KiB where one launch is looked at, {all} where all are")


def case_full(options):
    """A runtime that has no memory for what is found: launches run plain, and nothing is left of the attempts."""
    count, page_kib = 20000, 4
    require(options.full, "no layer")
    layer = {"OPENCL_LAYERS": options.full}
    m = Measured(options, "--values=fine", case="loop", environment=layer)
    require(m.missed == {("set", MEMORY): count} and m.accesses == {} and "--values-memory" in m.text, f"{m.missed} {m.text}")
    one, all = peak_kib(options, "--values=fine", "--values-sample=1"), peak_kib(options, "--values=fine", environment=layer)
    require(all - one < count * page_kib / 2, f"{one} KiB where one launch is looked at, {all} where all are refused")


def is_guess(options, pattern):
    """How many work-items begin before a guess stands is the runtime's business: where it executes several at once, perhaps more than are logged."""
    return bool(options.runtime) and pattern["pattern"] in ("frequent", "structured")


def evidence(options, pattern):
    text = pattern["evidence"].split(": ", 1)[1]
    return re.sub("^≈ (100.0 % (?=are)|)", lambda m: "all " if m.group(1) else "", text) if is_guess(options, pattern) else text


def case_patterns(options):
    """What kernels read and write (--values=fine), each with the pattern that it was made for."""
    for mode in "fine", "all":
        m = Measured(options, "--values=" + mode)
        found = {}
        for o in m.answer["objects"]:
            for p in o["patterns"]:
                if p["pattern"] != "redundant":
                    require((p["exact"] or is_guess(options, p)) and p["share"] == 1 and "buffer() values.c" in o["site"], f"{p} {o}")
                    found.setdefault(p["operation"], []).append((p["pattern"], p["bytes"], evidence(options, p)))
        found = {operation: sorted(patterns) for operation, patterns in found.items()}
        launches = {"read_zeros": 4}
        known = {kernel: sorted((pattern, launches.get(kernel, 1) * size, text) for pattern, size, text in KNOWN[kernel] + GUESSED.get(kernel, []))
                 for kernel in KNOWN}
        found["read_near"] = [p[:2] + (None,) for p in found["read_near"]]
        require(found == known, f"{found}, not {known}")
        engines = {c["kernel"]: (c["engine"], c["launches"], c["looked_at"]) for c in m.answer["coverage"] if not c["kernel"].startswith("cl")}
        require(engines == {"read_zeros": ("spirv", 4, 4), **{k: ("spirv", 1, 1) for k in ("read_same", "read_small", "read_wide", "read_near", "some_items")},
                            "copies": ("none", 1, 0)}, engines)
        require("its code has accesses or calls that cannot be followed" in m.text, m.text)
        require(any(p["pattern"] == "redundant" for o in m.answer["objects"] for p in o["patterns"]) == (mode == "all"), m.answer)


def case_guesses(options):
    """A value that is frequent, a line: found in the first launch, and counted."""
    m = Measured(options, "--values=fine")
    found = sorted((p["operation"], p["pattern"], round(p["share"], 2), p["exact"] or (is_guess(options, p) and p["operation"] != "read_all"),
                    p["evidence"].split(": ", 1)[1] if p["operation"] == "read_all" else evidence(options, p)) for o in m.answer["objects"] for p in o["patterns"] if p["pattern"] in ("frequent", "structured"))
    exact = [f for f in found if f[0] != "read_all"]
    require(exact == [("read_floats", "structured", 1.0, True, "all are -1 * i + 100"), ("read_ints", "frequent", 0.75, True, "75.0 % are 0"),
                      ("read_ints", "frequent", 0.75, True, "75.0 % are 7")], found)
    (loop,) = [f for f in found if f[0] == "read_all"]  # a work-item that votes has seen 1,000 elements, and tells of the last
    require(loop[1:] == ("frequent", 0.75, False, "≈ 75.0 % are 7"), loop)
    # Of the last twenty launches the first guesses, and finds nothing: all elements are counted all the same.
    loads = [r for r in m.accesses["read_ints"] if r[1] == 0 and r[7] < -2**30]
    checked = sum(r[9] for r in loads)
    require(sum(r[4] for r in loads) == 20 * N and (0 < checked <= 2 * N if options.runtime else checked in (N, 2 * N) and len(loads) == 2), loads)
    require(m.coverage()["read_ints"] == (22, 22), m.answer)


def frequent_of(m, *asked):
    """{kernel: {value: (share, of how many elements it was counted, exact)}}"""
    m.ask(*asked)
    found = {}
    for p in (p for o in m.answer["objects"] for p in o["patterns"] if p["pattern"] == "frequent"):
        counted = re.search("([0-9,]+) of them counted: ", p["evidence"])
        value = re.search(r": (?:≈ )?[0-9.]+ % are (-?[0-9]+)$", p["evidence"])
        require(bool(counted) != p["exact"] and value, p)
        of = found.setdefault(p["operation"], {})
        require(int(value.group(1)) not in of, p)
        of[int(value.group(1))] = (p["share"], int(counted.group(1).replace(",", "")) if counted else None, p["exact"])
    return found


def case_several(options):
    """Launches take turns, in each of which one value is counted: whole launches, so that each share is that of the source."""
    m = Measured(options, "--values=fine")
    n, launches, shares = 4000, 12, {11: 0.4, 22: 0.35, 33: 0.15}
    near = lambda share, truth: abs(share - truth) < (0.02 if options.runtime else 1e-6)  # of the first launch only a part may have been counted
    for percent in 30, 20, 12:
        found = frequent_of(m, "--frequent", str(percent))
        wanted = {value: share for value, share in shares.items() if share > percent / 100}
        require(set(found) == {"several", "one"} and set(found["several"]) == set(wanted) and set(found["one"]) == {55}, (percent, found))
        for value, (share, counted, exact) in found["several"].items():
            require(near(share, wanted[value]) and not exact and counted < n * launches, (percent, found))
            require(options.runtime or counted % n == 0, (percent, found))
        (share, _, _), = found["one"].values()
        require(near(share, 0.55), (percent, found))
    require(frequent_of(m).keys() == {"one"}, m.answer)  # of more than half
    require("none" not in frequent_of(m, "--frequent", "1"), m.answer)
    require("--frequent" in m.wrong("values", "--frequent", "101"), "it was taken")
    require(all(m.coverage()[kernel] == (launches, launches) for kernel in ("several", "one", "none")), m.answer)
    # All are counted, whichever launch compared what: the copy that guesses, the same with other values, and the cheaper one.
    for kernel in "several", "one", "none":
        loads = [r for r in m.accesses[kernel] if r[1] == 0]
        require(sum(r[4] for r in loads) == n * launches, (kernel, loads))


def chosen(number, blocks, every):
    """By the words of src/instrument/plan.h."""
    of, at = divmod(number, every)
    h = (of + 1) * 2654435761 & 0xffffffff
    h ^= h >> 15
    h = h * 2246822519 & 0xffffffff
    h ^= h >> 13
    return at == h * min(every, blocks - of * every) >> 32


def case_blocks(options):
    """Of so many work-groups one is looked at: exactly those, all others compute what they compute; shares are estimates, and the truth lies in their intervals."""
    blocks, size, launches = 420, 16, 12
    sevens = [15 if ((group * 2246822519 & 0xffffffff) >> 20 & 7) < 5 else 9 for group in range(blocks)]
    for every in 2, 5, 31, 1000:
        m = Measured(options, "--values=fine", f"--values-blocks=1/{every}")
        m.ask("--frequent", "40")
        looked_at = [group for group in range(blocks) if chosen(group, blocks, every)]
        require(len(looked_at) == -(-blocks // every), looked_at)
        require(m.said[0] == f"sevens {sum(sevens)}", m.said)
        coverage = {c["kernel"]: c for c in m.answer["coverage"]}
        for kernel in "some_groups", "all_groups", "zeros", "but_one", "reversed", "table":
            c = coverage[kernel]
            require((c["looked_at"], c["blocks"], c["blocks_looked_at"]) == (launches, launches * blocks, launches * len(looked_at)), c)
            loads = sum(r[4] for r in m.accesses[kernel] if r[1] == 0)
            turns = 3 if kernel == "reversed" else 1
            require(loads == launches * len(looked_at) * size * turns, (kernel, loads, m.accesses[kernel]))
        other = lambda i: 0x40000000 + i * 7919 & 0xffffffff
        elements = {"some_groups": lambda i: 7 if i % size < sevens[i // size] else other(i), "all_groups": lambda i: 7 if i % 4 else other(i), "zeros": lambda i: 0,
                    "but_one": lambda i: i if i // size == blocks - 1 else 0, "table": other}
        for kernel, element in elements.items():  # every number, of the groups that were chosen and of no other
            values = [element(group * size + k) for group in looked_at for k in range(size)]
            for row in (r for r in m.accesses[kernel] if r[1] == 0 and r[4]):
                require(row[5:9] == [functools.reduce(operator.or_, values), functools.reduce(operator.and_, values, 2**64 - 1), min(values), max(values)], (every, kernel, row))
        c = coverage["as_it_likes"]
        require(0 < c["blocks_looked_at"] == launches * -(-c["blocks"] // launches // every), c)
        found = {}
        for p in (p for o in m.answer["objects"] for p in o["patterns"]):
            found.setdefault(p["operation"], []).append(p)
        seen = sum(sevens[group] for group in looked_at) / len(looked_at) / size
        for kernel, text, truth, share in (("some_groups", "are 7;", sum(sevens) / blocks / size, seen), ("all_groups", "75.0 % are 7;", .75, .75), ("zeros", "all are zero;", 1, 1),
                                           ("but_one", "zero;| are 0;", (blocks - 1) / blocks, 1 - (blocks - 1 in looked_at) / len(looked_at))):
            rows = [p for p in found.get(kernel, []) if re.search(text, p["evidence"])]
            if every == 1000 and not rows:
                continue  # one group has too few elements for a guess
            require(len(rows) == 1, (every, kernel, found.get(kernel)))
            p, = rows
            require(not p["exact"] and p["share_low"] <= truth <= p["share_high"] and p["share_low"] < p["share_high"], (every, p))
            require(abs(p["share"] - share) < 0.03, (every, kernel, share, p))
        require(any(f"{launches * len(looked_at):,} of {launches * blocks:,} blocks (--values-blocks)" in line for line in m.text.splitlines()), m.text)
    whole = Measured(options, "--values=fine", "--values-blocks=1/1")
    require(all(c["blocks"] is None for c in whole.answer["coverage"]) and all(p["share_low"] is None for o in whole.answer["objects"] for p in o["patterns"]), whole.answer)
    for text in "0", "", "x", "2/3", "1/0", "1/2x", "1/", "1/99999999999":
        wrong = subprocess.run([options.sonde, "record", "--values=fine", "--values-blocks=" + text, "--", "true"], capture_output=True, text=True, check=False)
        require(wrong.returncode == 2 and "--values-blocks must be" in wrong.stderr, f"{text}: {wrong}")
    wrong = subprocess.run([options.sonde, "record", "--values", "--values-blocks=1/2", "--", "true"], capture_output=True, text=True, check=False)
    require(wrong.returncode == 2 and "--values-blocks is for" in wrong.stderr, wrong)


def case_duplicates(options):
    """Objects that hold the same as others; which operation made them so."""
    m = Measured(options)
    found = {}
    for o in m.answer["objects"]:
        line = re.search(r"duplicates\(\) patterns\.c:(\d+)", o["site"]).group(1)
        for p in o["patterns"]:
            if p["pattern"] == "duplicate":
                other = re.search(r"were the same as buffer in buffer\(\) values\.c:\d+ ← duplicates\(\) patterns\.c:(\d+)", p["evidence"]).group(1)
                require(p["exact"] and p["share"] == 1 and p["bytes"] == 4 * N * p["operations"] and p["evidence"].startswith("all 4,000 bytes were the same as"), p)
                found[int(line), int(other), p["operation"]] = found.get((int(line), int(other), p["operation"]), 0) + p["operations"]
    first = min(line for line, _, _ in found)  # of a; one line each
    named = {tuple("abcdef"[line - first] if line < first + 6 else "brief" for line in key[:2]) + key[2:]: count for key, count in found.items()}
    require(all(named.get((other, one, operation)) == count for (one, other, operation), count in named.items()), named)
    once = {("a", "b", "clEnqueueWriteBuffer"): 1, ("a", "c", "set"): 1, ("d", "e", "set"): 1}
    require({k: v for k, v in named.items() if k[0] < k[1] and "f" not in k and "brief" not in k} == once, named)
    # Of 32 writes that nobody waits for, after one, the first 15, that of number 16 and the last are looked at.
    require(1 <= named.get(("b", "f", "clEnqueueWriteBuffer"), 0) <= 17, named)


def graph(m, *arguments):
    """{(from, to, object, does)}: a and b are the objects, f and g their fills, s and t the kernels that set them, l and r look and the read."""
    m.ask(*arguments)
    lines = lambda text: re.findall(r"figure\(\) patterns\.c:(\d+)", text)
    places = sorted({int(line) for v in m.answer["graph"]["vertices"] for line in lines(v["called_from"] or "")})
    every = graph.places = places if not arguments else graph.places
    letter = lambda line: "abfgstlr"[every.index(int(line))]
    names = {v["id"]: letter(lines(v["called_from"])[0]) if v["called_from"] else "host" for v in m.answer["graph"]["vertices"]}
    m.names = names
    return {(names[e["from"]], names[e["to"]], letter(lines(e["object"])[0]), "r" * e["reads"] + "w" * e["writes"]) for e in m.answer["graph"]["edges"]}


def case_figure(options):
    """The value flow graph (definitions 5.1 to 5.3) of figure 3, and the copy to the host."""
    m = Measured(options, "--values=all")
    whole = {("a", "f", "a", "w"), ("b", "g", "b", "w"), ("f", "s", "a", "w"), ("g", "t", "b", "w"), ("s", "l", "a", "r"), ("t", "l", "b", "w"),
             ("l", "r", "b", "r"), ("r", "host", "b", "r")}
    require(graph(m) == whole and all(e["exact"] for e in m.answer["graph"]["edges"]), m.answer["graph"])
    kinds = {m.names[v["id"]]: (v["kind"], v["name"], v["operations"]) for v in m.answer["graph"]["vertices"]}
    require(kinds == {"host": ("host", "host", 0), "a": ("allocation", "buffer", 1), "b": ("allocation", "buffer", 1),
                      "f": ("operation", "clEnqueueFillBuffer", 1), "g": ("operation", "clEnqueueFillBuffer", 1), "s": ("operation", "set", 1),
                      "t": ("operation", "set", 1), "l": ("operation", "look", 1), "r": ("operation", "clEnqueueReadBuffer", 1)}, kinds)
    unchanged = {(m.names[e["from"]], m.names[e["to"]]): e["unchanged"] for e in m.answer["graph"]["edges"] if e["unchanged"] is not None}
    require(unchanged == {("f", "s"): 1, ("g", "t"): 0, ("t", "l"): 1}, unchanged)
    ids = {name: id for id, name in m.names.items()}
    b = {e for e in whole if e[2] == "b"}
    require(graph(m, "--vertex", str(ids["t"])) == b, m.answer["graph"])
    require(graph(m, "--vertex", str(ids["s"])) == {e for e in whole if e[2] == "a"}, m.answer["graph"])
    require(graph(m, "--vertex", str(ids["l"])) == whole, m.answer["graph"])
    # The fill of half of b is not important; its kernel is, and comes from it.
    require(graph(m, "--important", "bytes=3k,operations=1") == whole - {("b", "g", "b", "w")}, m.answer["graph"])
    require(graph(m, "--vertex", str(ids["t"]), "--important", "bytes=4k,accesses=1") == b - {("b", "g", "b", "w")}, m.answer["graph"])
    require(set(m.names.values()) == {"g", "t", "l", "r", "host"}, m.names)
    require(graph(m, "--important", "unchanged=100") == {e for e in whole if e[0] + e[1] in ("fs", "tl")}, m.answer["graph"])
    require(graph(m, "--important", "bytes=4k,unchanged=1,operations=9") == {e for e in whole if e[0] + e[1] in ("fs", "tl")}, m.answer["graph"])
    table = m.report("values", "--graph")
    require(len([line for line in table.splitlines() if re.match(r"\d+ ", line)]) == len(whole), table)
    for wrong in ("bytes", "bytes=-1", "weight=3", "bytes=3x"):
        run = subprocess.run([*m.command, "values", "--graph", "--important", wrong], capture_output=True, text=True, check=False)
        require(run.returncode == 1 and "cannot read --important" in run.stderr, f"{wrong}: {run}")
    run = subprocess.run([*m.command, "values", "--graph", "--vertex", "99"], capture_output=True, text=True, check=False)
    require(run.returncode == 1 and "no such vertex" in run.stderr, run)
    # The same in Graphviz's language.
    m.ask()
    dot = subprocess.run([options.sonde, "export", m.command[2], "--to", "dot", "-o", "-"], capture_output=True, text=True, check=True).stdout
    require(dot.startswith("digraph sonde {\n") and dot.endswith("}\n"), dot)
    require(sorted((int(a), int(b)) for a, b in re.findall(r"^  (\d+) -> (\d+) \[", dot, re.M)) ==
            sorted((e["from"], e["to"]) for e in m.answer["graph"]["edges"]), dot)
    shapes = dict(re.findall(r'^  (\d+) \[shape=(\w+), label="', dot, re.M))
    expected = {"host": "diamond", "a": "box", "b": "box", "f": "circle", "g": "circle", "r": "circle"}
    require({name: shapes[str(id)] for name, id in ids.items()} == {name: expected.get(name, "ellipse") for name in ids}, shapes)
    # And in the file for programs.
    file = json.loads(subprocess.run([options.sonde, "export", m.command[2], "--to", "json", "-o", "-"], capture_output=True, text=True, check=True).stdout)
    require([(e["from"], e["to"], e["reads"], e["writes"], e["exact"], e["bytes"]) for e in file["value_edges"]] ==
            [(e["from"], e["to"], e["reads"], e["writes"], e["exact"], e["bytes"]) for e in m.answer["graph"]["edges"]], file["value_edges"])
    require([(v["id"], v["kind"], v["operations"]) for v in file["value_vertices"]] ==
            [(v["id"], v["kind"], v["operations"]) for v in m.answer["graph"]["vertices"]], file["value_vertices"])
    # The same of what writes alone is asked of; and as far as arguments say, of a kernel whose code is not followed.
    m = Measured(options, "--values", case="figure")
    require(graph(m) == whole and all(e["exact"] for e in m.answer["graph"]["edges"]), m.answer["graph"])
    m = Measured(options, "--values", case="sets")
    require({e["exact"] for e in m.answer["graph"]["edges"]} == {True, False}, m.answer["graph"])


def case_programs(options):
    m = Measured(options, "--values=fine")
    (launched,) = [int(line.split()[0]) for line in m.said if line.endswith("programs")]
    # From source, neither that with -cl-fast-relaxed-math is looked at nor those that were linked, or made of a binary.
    count = launched - 3 if options.runtime else launched
    # OBJECT WHAT TYPE ELEMENT_BYTES ELEMENTS OR AND LEAST MOST: of each, N loads of 0 to 999 and 2 N stores of 0 to 1,999, in one
    # place or in two. Programs whose code is the same are one.
    loads, stores = ([r[1:] for r in m.accesses["work"] if r[1] == what] for what in (0, 1))
    require(sum(r[3] for r in loads) == count * N and {(*r[1:3], *r[4:8]) for r in loads} == {(2, 4, 1023, 0, 0, N - 1)}, loads)
    require(sum(r[3] for r in stores) == 2 * count * N and {r[6] for r in stores} <= {0, 1} and max(r[7] for r in stores) == 2 * N - 1, stores)
    require(all(r[0] for r in m.accesses["work"]), "an object is not known")
    require(m.coverage()["work"] == (launched, count) and {c["engine"] for c in m.answer["coverage"] if c["kernel"] == "work"} == {"spirv"}, m.answer)


def case_lines(options):
    """Lines of accesses and of redundant writes, of programs built with -g; those of a function are its own."""
    for mode in "coarse", "all":
        m = Measured(options, "--values=" + mode)
        # What is written on one line has it; on two lines it has none.
        found = {p["operation"]: p["line"] for o in m.answer["objects"] for p in o["patterns"] if p["pattern"] == "redundant"}
        require(found == {"near": "<source>:8", "far": "far.cl:104", "apart": None}, m.answer["objects"])
        require(m.lines == {("near", "<source>", 8), ("far", "far.cl", 104), ("apart", "-", 0)}, m.lines)
        require(re.search(r"^far far\.cl:104( +1)? +100\.0 %", m.text, re.M) and re.search(r"^apart( +1)? +100\.0 %", m.text, re.M), m.text)
    m = Measured(options, "--values=fine")
    require(not m.lines, m.lines)
    found = sorted((p["operation"], p["evidence"].split(": ")[1], p["line"]) for o in m.answer["objects"] for p in o["patterns"]
                   if p["line"] and p["operation"] != "apart")
    require(found == [("far", "all are 3", "far.cl:103"), ("far", "all are zero", "far.cl:104"), ("near", "all are 3", "<source>:3"),
                      ("near", "all are zero", "<source>:8")], m.answer["objects"])
    require(all(c["engine"] == "spirv" for c in m.answer["coverage"] if c["kernel"] in ("near", "far")), m.answer["coverage"])


def case_untouched(options):
    """Kernels without accesses to global memory are looked at, whatever is asked for."""
    for mode in "coarse", "fine", "all":
        m = Measured(options, "--values=" + mode)
        kernels = {c["kernel"]: (c["engine"], c["launches"], c["looked_at"], c["reason"]) for c in m.answer["coverage"]}
        require(kernels == {"local_alone": ("spirv", 2, 2, None), "nothing": ("spirv", 2, 2, None), "sevens": ("spirv", 1, 1, None)}, kernels)
        require(m.patterns() == [], m.patterns())


def case_barriers(options):
    """Kernels compute what they do without Sonde, which Measured compares; one of which a copy would not is left alone, and it is said."""
    kept = ["guarded", "returns", "loops", "stays"] + (["behind"] if options.runtime else [])
    for mode in ["--values=all"], ["--values=fine"], ["--values=fine", "--values-blocks=1/3"]:
        m = Measured(options, *mode)
        kernels = {c["kernel"]: c for c in m.answer["coverage"] if not c["kernel"].startswith("cl")}
        looked = {name for name, c in kernels.items() if c["looked_at"] == 1}
        require(looked == set(kept), f"{mode}: {kernels}")
        left = [c["reason"] for name, c in kernels.items() if name not in looked]
        require(len(left) == 5 - len(kept) and all(reason.startswith("it has a barrier in a branch") for reason in left), left)


def case_mathematics(options):
    """Whatever options say of rounding, the program computes what it computes without Sonde."""
    for mode in "coarse", "all":
        m = Measured(options, "--values=" + mode)
        (reason,) = {c["reason"] for c in m.answer["coverage"] if c["kernel"] == "compute"}
        left = options.runtime is not None  # from source, two of the seven programs stay as they are
        require(m.coverage()["compute"] == (7, 5 if left and mode == "all" else 7), m.answer["coverage"])
        why = {"coarse": "what it wrote is not known", "all": "its options allow each compiler other results"}[mode]
        require(reason.startswith(why) if left else not reason, m.answer["coverage"])


def case_childless(options):
    m = Measured(options, "--values=all")
    require("0 deaths, no children" in m.said and m.coverage()["set"] == (4, 4), f"{m.said} {m.answer}")


def case_no_clang(options):
    """Without clang, kernels are compared as far as their arguments say, and it is told what to install."""
    m = Measured(options, "--values=all", case="kernels", environment={"PATH": "/nowhere"})
    (reason,) = {c["reason"] for c in m.answer["coverage"] if c["kernel"] == "set"}
    require(reason.startswith("it takes clang 15 or newer and its libLLVM") and m.coverage()["set"] == (4, 0) and m.accesses == {}, m.answer)
    require({c["engine"] for c in m.answer["coverage"]} == {"none"}, m.answer)


def case_no_spirv(options):
    """Without llvm-spirv the same is told of it."""
    m = Measured(options, "--values=all", case="kernels", environment={"PATH": "/nowhere"})
    (reason,) = {c["reason"] for c in m.answer["coverage"] if c["kernel"] == "set"}
    require(reason.startswith("it takes llvm-spirv 14 or newer and its libLLVM") and m.coverage()["set"] == (4, 0) and m.accesses == {}, m.answer)


def case_refused(options):
    """One that makes nothing of it."""
    folder = os.path.join(options.work, "refusing")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "llvm-spirv-15")
    with open(path, "w") as f:
        f.write("#!/bin/sh\nexit 1\n")
    os.chmod(path, 0o755)
    m = Measured(options, "--values=all", case="kernels", environment={"PATH": folder})
    (reason,) = {c["reason"] for c in m.answer["coverage"] if c["kernel"] == "set"}
    require(reason == "llvm-spirv does not translate the SPIR-V of its program" and m.coverage()["set"] == (4, 0) and m.accesses == {}, m.answer)


def case_constants(options):
    """Constants of SPIR-V are what they were when the program was built."""
    m = Measured(options, "--values=fine")
    bits = lambda x: struct.unpack("<i", struct.pack("<f", x))[0]
    wide = -2**63 + 5
    as_is, put, either, real = [3, bits(1.5), 5, 18], [-42, bits(0.1), wide, 17], [int(x) for x in m.said[2].split()], [3, bits(0.1), 5, 18]
    # Built again with another constant a program has the first or the second, by its runtime, and its kernels stay plain.
    require(m.said == [" ".join(map(str, row)) for row in (as_is, put, either, real)] and either in ([999, *as_is[1:]], [1000, *as_is[1:]]), m.said)
    (coverage,) = m.answer["coverage"]
    require(coverage["reason"].startswith("neither LLVM bitcode, source nor SPIR-V") and m.coverage() == {"special": (4, 3)}, m.answer)
    # ELEMENTS, LEAST and MOST of each store of each launch.
    rows = [(r[4], r[7], r[8]) for r in m.accesses["special"] if r[4]]
    require(sorted(rows) == sorted((N, x, x) for x in as_is + put + real), rows)


def case_fine_threads(options):
    m = Measured(options, "--values=fine", case="threads")
    require(sum(r[4] for r in m.accesses["count"]) == 400 * N and {(r[7], r[8]) for r in m.accesses["count"]} == {(0, N - 1)}, m.accesses)
    require(m.coverage()["count"] == (400, 400), m.answer)


def case_sample(options):
    for mode in "coarse", "fine", "all":
        m = Measured(options, "--values=" + mode, "--values-sample=1/2", case="kernels")
        require(m.coverage()["set"] == (4, 2) and m.coverage()["sum"] == (1, 1) and m.missed["set", SAMPLE] == 2, f"{m.answer} {m.missed}")
        require(mode == "coarse" or sum(r[4] for r in m.accesses["set"]) == 2 * 600, m.accesses)
        require(mode == "fine" or [r[3] for r in m.values["set"]] == [2], m.values)
        m = Measured(options, "--values=" + mode, "--values-sample=3", "--kernel=nothing,s?t", case="kernels")
        require(m.coverage()["set"] == (4, 3) and m.coverage()["sum"] == (1, 0) and m.missed["sum", KERNEL] == 1, f"{m.answer} {m.missed}")
        require("sum" not in m.accesses and "sum" not in m.values, f"{m.accesses} {m.values}")
    for text in "0", "", "x", "2/1", "1/0", "1/2x", "1x", "-1":
        wrong = subprocess.run([options.sonde, "record", "--values", "--values-sample=" + text, "--", "true"], capture_output=True, text=True, check=False)
        require(wrong.returncode == 2 and "--values-sample must be" in wrong.stderr, f"{text}: {wrong}")
    wrong = subprocess.run([options.sonde, "record", "--kernel=a", "--", "true"], capture_output=True, text=True, check=False)
    require(wrong.returncode == 2 and "--kernel is for --values" in wrong.stderr, wrong)


def case_frames(options):
    """The example of docs/values.md, before and after: the same result without the writes that are found."""
    said = []
    for words in ["20"], ["20", "once"]:
        path = os.path.join(options.work, "frames.sonde")
        env = {**os.environ, "POCL_CACHE_DIR": options.cache}
        command = [os.path.join(os.path.dirname(options.sonde), "examples", "frames"), *words]
        run = subprocess.run([options.sonde, "record", "-q", "--force", "-o", path, "--values", "--", *command], env=env, capture_output=True, text=True, check=True)
        said.append(run.stdout)
        report = lambda view: json.loads(subprocess.run([options.sonde, "report", path, view, "--json"], capture_output=True, text=True, check=True).stdout)
        writes = [(p["operations"], p["share"], p["bytes"], p["exact"]) for o in report("values")["objects"] for p in o["patterns"]
                  if p["operation"] == "clEnqueueWriteBuffer"]
        advice = [a["frames"][0]["name"] for a in report("advice")["advice"] if a["rule"] == "redundant_writes"]
        once = len(words) > 1
        require(writes == ([] if once else [(19, 1, 19 * 4 * 2048 * 1536, True)]), writes)
        require(("upload_map" in advice) != once, advice)
    require(said[0] == said[1], said)


def case_endless(options):
    """A kernel that never ends, and SIGKILL: what had ended is in the measurement, with what was found of it."""
    path = os.path.join(options.work, "endless.sonde")
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(options.work, exist_ok=True)
    run = subprocess.run([options.sonde, "record", "-q", "-o", path, "--values=all", "--", options.program, "endless"],
                         env={**os.environ, "POCL_CACHE_DIR": options.cache}, capture_output=True, text=True, check=False)
    require(run.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), run)
    report = lambda view: json.loads(subprocess.run([options.sonde, "report", path, view, "--json"], capture_output=True, text=True, check=True).stdout)
    ledger, values = report("ledger"), report("values")
    require([p["state"] for p in ledger["processes"]] == ["killed"] and ledger["in_flight"] + ledger["unmatched"] >= 1, ledger)
    coverage = {c["kernel"]: (c["engine"], c["launches"], c["looked_at"]) for c in values["coverage"]}
    require(coverage["set"] == ("spirv", 20, 20), coverage)
    found = {p["pattern"]: (p["operation"], p["operations"], p["share"]) for o in values["objects"] for p in o["patterns"]}
    require(found == {"redundant": ("set", 20, 0.95), "single_value": ("set", 20, 1)}, values)


# What programs that read the JSON may rely on: keys, and what they hold.
TEXT, COUNT, SHARE, YES_OR_NO = str, int, (int, float), bool
PROMISED = {
    "objects": {"name": TEXT, "site": TEXT, "bytes": COUNT, "patterns": {
        "pattern": ("redundant", "duplicate", "frequent", "single_value", "single_zero", "heavy_type", "structured", "approximate"),
        "operation": TEXT, "share": SHARE, "evidence": TEXT, "exact": YES_OR_NO}},
    "coverage": {"kernel": TEXT, "engine": ("ptx", "sanitizer", "spirv", "none"), "launches": COUNT, "looked_at": COUNT, "reason": (TEXT, type(None))},
}


def check_promised(rows, promised, seen):
    for row in rows:
        for key, what in promised.items():
            require(key in row, f"{key} is missing in {row}")
            if isinstance(what, dict):
                require(isinstance(row[key], list), f"{key}: {row}")
                check_promised(row[key], what, seen)
            elif isinstance(what, tuple) and isinstance(what[0], str):
                require(row[key] in what, f"{key}: {row}")
                seen.add(row[key])
            else:
                require(isinstance(row[key], what) and isinstance(row[key], bool) == (what is YES_OR_NO), f"{key}: {row}")
                require(what is not SHARE or 0 <= row[key] <= 1, f"{key}: {row}")


def case_promised(options):
    """The keys of the JSON, whatever is found."""
    seen = set()
    for case in "kernels", "guesses", "patterns", "duplicates", "missed":
        m = Measured(options, "--values=all", case=case)
        for key, promised in PROMISED.items():
            check_promised(m.answer[key], promised, seen)
        for o in m.answer["objects"]:
            require(re.match(r"\w+\(\) \w+\.c:\d+ ← ", o["site"]) and o["site"].endswith(" ← main() values.c:" + o["site"].rsplit(":", 1)[1]), o["site"])
    require(seen == {*PROMISED["objects"]["patterns"]["pattern"], "spirv", "none"}, seen)


def case_off(options):
    for option in ("--values=off", "--cpu=0"):
        m = Measured(options, option, case="kernels")
        require(m.values == {} and m.missed == {} and m.text.startswith("values were not recorded: sonde record --values"), m.text)


def main():
    parser = argparse.ArgumentParser()
    for name in ("sonde", "rows", "program", "work", "cache"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--runtime")
    parser.add_argument("--full")
    parser.add_argument("--il", action="store_true")
    parser.add_argument("case")
    options = parser.parse_args()
    if options.runtime and not os.path.exists(options.runtime):
        print(f"skipped: {options.runtime} is not there (tests/values/intel.sh)")
        sys.exit(77)
    if options.runtime and not any(shutil.which(f"clang-{version}") for version in range(15, 31)):
        print("skipped: no clang-15 or newer")
        sys.exit(77)
    if options.il and not il.tools():
        print("skipped: no clang-15 with llvm-spirv-15, or both newer")
        sys.exit(77)
    try:
        if options.il:
            options.texts = il.make_all(options.program, os.path.join(options.work, options.case + ".il"))
        globals()["case_" + options.case](options)
    except Failure as failure:
        print(f"{options.case}: {failure}")
        sys.exit(1)
    print(f"{options.case}: ok")


main()
