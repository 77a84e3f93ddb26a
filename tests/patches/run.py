#!/usr/bin/env python3
"""The Compute Sanitizer engine from end to end: a program on a driver and a Sanitizer that are made up, whose kernels' accesses are known.

    run.py --sonde build/bin/sonde --programs DIR --work DIR
"""
import argparse
import json
import os
import re
import shutil
import struct
import subprocess
import sys


def record(options, name, program=(), look=("--values=fine", "--values-engine=sanitizer"), **env):
    sample = "--comm-sample" if "--comm" in look else "--values-sample"
    path = os.path.join(options.work, name + ".sonde")
    shutil.rmtree(path, ignore_errors=True)
    env = {**os.environ, "SONDE_SANITIZER": os.path.join(options.programs, "libsanitizer-public.so"), **env}
    done = subprocess.run([options.sonde, "record", "-q", "-o", path, *look,
                           *([] if "sampled" in name else [sample, "1/1"]), "--", os.path.join(options.programs, "patches-play"), *program],
                          env=env, stdout=subprocess.PIPE, text=True, timeout=600, check=True)

    def view(what):
        said = subprocess.run([options.sonde, "report", path, *what.split(), "--json"], stdout=subprocess.PIPE, text=True, check=False)
        return json.loads(said.stdout or "null")
    return done.stdout.strip(), view


def patterns(view):
    return sorted((p["operation"], p["pattern"], p["bytes"], p["element_bytes"], round(p["share"], 3), p["evidence"].split(": ", 1)[1])
                  for o in view("values")["objects"] for p in o["patterns"])


def coverage(view):
    return {c["kernel"]: (c["engine"], c["launches"], c["looked_at"], c["reason"]) for c in view("values")["coverage"]}


def notes(view):
    return [note for process in view("ledger")["processes"] for note in process["notes"]]


def require(what, found, expected):
    print("ok" if found == expected else "FAIL", what, found if found == expected else f"found {found}, expected {expected}")
    return found == expected


# What the kernel `typed` of play.c would be as machine code.
CODE = """
//--------------------- .text.typed          --------------------------
\t.section\t.text.typed,"ax",@progbits
typed:
.text.typed:
        /*0000*/                   FADD R12, R0, R1 ;
        /*0010*/                   FADD R13, R0, R1 ;
        /*0150*/                   LDG.E.64 R4, [R2.64] ;
        /*0160*/                   LDG.E R6, [R2.64] ;
        /*0170*/                   LDG.E.128 R8, [R2.64] ;
        /*0180*/                   STG.E.64 [R2.64], R12 ;
        /*0190*/                   LDG.E R14, [R2.64] ;
        /*01a0*/                   LDG.E.64 R16, [R2.64] ;
        /*01b0*/                   DADD R20, R4, R16 ;
        /*01c0*/                   FMUL R22, R6, R6 ;
        /*01d0*/                   IMAD R23, R8, R9, R10 ;
        /*01e0*/                   IMAD R24, R11, R9, R8 ;
        /*01f0*/                   ISETP.GT.U32.AND P0, PT, R14, c[0x0][0x160], PT ;
        /*02f0*/                   IMAD.WIDE R44, R23, R24, R46 ;
        /*0300*/                   LDG.E R30, [R2.64] ;
        /*0310*/                   LDG.E R31, [R2.64] ;
        /*0320*/                   LDG.E.64 R32, [R2.64] ;
        /*0330*/                   LDG.E.128 R36, [R2.64] ;
        /*0340*/                   LDG.E.S16 R40, [R2.64] ;
        /*0350*/                   LDG.E R41, [R2.64] ;
        /*0360*/                   LDG.E R42, [R2.64] ;
        /*0370*/                   STG.E.64 [R2.64], R44 ;
        /*0380*/                   IMAD R50, R30, R41, R40 ;
        /*0390*/                   FMUL R51, R31, R42 ;
        /*03a0*/                   DADD R52, R32, R32 ;
        /*03b0*/                   FFMA R54, R36, R37, R38 ;
        /*03c0*/                   FADD R55, R39, R36 ;
        /*03d0*/                   EXIT ;
"""


def cubin():
    """An ELF file with two symbols, of which the second is the kernel."""
    names, strings = b"\0.text.typed\0.symtab\0.strtab\0", b"\0typed\0other\0"
    symbols = bytes(24) + struct.pack("<IBBHQQ", 7, 2, 0, 1, 0, 0) + struct.pack("<IBBHQQ", 1, 0x12, 0x10, 1, 0, 32)
    parts, at = [], 64
    for part in (bytes(32), symbols, strings, names):
        parts.append((at, part))
        at += (len(part) + 7) // 8 * 8
    heads = bytes(64)
    for (where, part), (name, kind, flags, link, entry) in zip(parts, ((1, 1, 6, 0, 0), (13, 2, 0, 3, 24), (21, 3, 0, 0, 0), (21, 3, 0, 0, 0))):
        heads += struct.pack("<IIQQQQIIQQ", name, kind, flags, 0, where, len(part), link, 1, 8, entry)
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, at, 0, 64, 0, 0, 64, 5, 4)
    body = b"".join(part + bytes(-len(part) % 8) for _, part in parts)
    return head + body + heads


# The same, for NVIDIA's own tools: accesses in the order of play.c.
PTX = """.version 8.8
.target sm_90
.address_size 64
.visible .entry typed(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u64 p4, .param .u64 p5)
{
    .reg .b64 %a<6>;
    .reg .f64 %d<3>;
    .reg .f32 %f<3>;
    .reg .b32 %r<8>;
    .reg .pred %p;
    ld.param.u64 %a0, [p0]; ld.param.u64 %a1, [p1]; ld.param.u64 %a2, [p2]; ld.param.u64 %a3, [p3]; ld.param.u64 %a4, [p4]; ld.param.u64 %a5, [p5];
    ld.global.f64 %d0, [%a0];
    ld.global.f32 %f0, [%a1];
    ld.global.v4.s32 {%r0, %r1, %r2, %r3}, [%a2];
    ld.global.u32 %r4, [%a4];
    ld.global.f64 %d1, [%a5];
    add.f64 %d2, %d0, %d1;
    st.global.f64 [%a0+256], %d2;
    mad.lo.s32 %r5, %r0, %r1, %r2;
    mad.lo.s32 %r6, %r5, %r3, %r0;
    setp.lt.u32 %p, %r4, %r6;
    selp.u32 %r7, %r6, 77, %p;
    st.global.u32 [%a2+512], %r7;
    mul.f32 %f1, %f0, %f0;
    add.f32 %f2, %f1, %f0;
    st.global.v2.f32 [%a3], {%f1, %f2};
    ret;
}
"""
LINES = {"ld.global.f64 %d0": 101, "ld.global.f32 %f0": 102, "ld.global.v4.s32": 103, "ld.global.u32 %r4": 104, "ld.global.f64 %d1": 105, "st.global.v2.f32": 106}
HEADER = 103
OPCODES = (r"LDG\.E\.64 ", r"LDG\.E ", r"LDG\.E\.128 ", r"STG\.E\.64 .*\[R\d+\.64\],", r"LDG\.E ", r"LDG\.E\.64 ")


def assembled(options):
    """NVIDIA's nvdisasm, code for it, and where its accesses are; None without tools. Of two alike either may be the first: of one type they are."""
    tools = [os.path.join(options.tools or "", name) for name in ("ptxas", "nvdisasm")]
    if not all(os.access(tool, os.X_OK) for tool in tools):
        return None
    ptx, code = (os.path.join(options.work, name) for name in ("typed.ptx", "typed.cubin"))
    text = PTX
    for instruction, line in LINES.items():
        header = f"\n    .loc 2 7 0, function_name $name, inlined_at 1 {line} 0" if line == HEADER else "" # as of atomicAdd
        text = text.replace(f"    {instruction}", f"    .loc 1 {line} 0{header}\n    {instruction}")
    with open(ptx, "w", encoding="ascii") as out:
        out.write(text.replace(".address_size 64", '.address_size 64\n.file 1 "/made/typed.cu"\n.file 2 "/usr/local/cuda/include/made.hpp"') + '.section .debug_str\n{\n$name:\n.b8 109,0\n}\n')
    subprocess.run([tools[0], "-arch=sm_90", "-lineinfo", "-o", code, ptx], check=True)
    text = subprocess.run([tools[1], "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout
    said = re.findall(r"/\*([0-9a-f]{4})\*/ +((?:LDG|STG)[^;]*)", text)
    uses = {int(at, 16) // 16: what for at, what in said}
    orders = re.findall(r"ISETP[^;]*U32[^;]*", text)
    unsigned = {re.search(r" (R\d+),", what).group(1) for at, what in uses.items() if re.match(r"LDG\.E ", what)} & set(re.findall(r"R\d+", orders[0]))
    def place(pattern, wanted):
        return next(at for at, what in uses.items() if re.match(pattern, what) and wanted(what))
    def is_ordered(what):
        return re.search(r" (R\d+),", what).group(1) in unsigned
    return tools[1], code, [place(OPCODES[0], bool), place(OPCODES[1], lambda w: not is_ordered(w)), place(OPCODES[2], bool),
                            place(r"STG\.E\.64 ", lambda w: "+0x" not in w), place(OPCODES[4], is_ordered),
                            [at for at, what in uses.items() if re.match(OPCODES[5], what)][-1]]


def disassembler(options):
    """It is given what the program has loaded, and the number of the kernel's symbol."""
    code, text, path = (os.path.join(options.work, name) for name in ("made.cubin", "made.txt", "nvdisasm"))
    with open(code, "wb") as out:
        out.write(cubin())
    with open(text, "w", encoding="ascii") as out:
        out.write(CODE)
    with open(path, "w", encoding="ascii") as out:
        out.write(f'#!/bin/sh\n[ "$1 $2 $3 $4" = "-c -ndf -fun 2" ] && cmp -s "$5" {code} && cat {text}\n')
    os.chmod(path, 0o700)
    return code, path


SAME = "all are 0x4004000000000000, as a double 2.5"
WRITES = [("write_same", "single_value", 16, 8, 1.0, SAME), ("write_same", "single_value", 80, 8, 1.0, SAME),
          ("write_same", "single_value", 96, 8, 0.286, SAME), ("write_same", "single_zero", 240, 8, 0.714, "all are zero")]
# Of a launch of the graph, of which there are two, in two lines; each access is its kernel's, though both kernels were given the same.
CAPTURED = [(kernel, "single_zero", bytes, each, 1.0, "all are zero") for kernel, bytes, each in
            (("(function that kernels of a graph call)", 4 * 2, 2), ("added", 8 * 8, 8), ("captured", 64 * 4, 4)) for _ in range(2)]
GRAPH = {kernel: ("sanitizer", 2, 2, None) for kernel in ("captured", "added")} # each launch of the graph, and not that which was captured


def with_patches(options):
    """Where nvcc was missing the build has none: a copy of it gets a file, which the made-up Sanitizer does not read."""
    built = os.path.dirname(os.path.dirname(os.path.abspath(options.sonde)))
    if os.path.exists(os.path.join(built, "lib", "sonde", "sonde-patches.fatbin")):
        return options.sonde
    copy = os.path.join(options.work, "build")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(os.path.join(built, "lib", "sonde"), os.path.join(copy, "lib", "sonde"))
    os.makedirs(os.path.join(copy, "bin"))
    with open(os.path.join(copy, "lib", "sonde", "sonde-patches.fatbin"), "wb"):
        pass
    return shutil.copy(options.sonde, os.path.join(copy, "bin", "sonde"))


COMM = ("--comm", "--comm-engine=sanitizer")
# What the kernel `both` of play.c does in two launches of three warps, by way and kind: accesses, bytes.
BOTH = {("host", 0, "load"): (2 * 3 * 16 + 2 * 3 * 16 + 2 * 3 * 5, 2 * 3 * 16 * 8 + 2 * 3 * (16 + 5) * 16), (0, "host", "store"): (2 * 3 * 16 + 2 * 3 * 3, 2 * 3 * 16 * 2 + 2 * 3 * 3 * 16),
        (0, "host", "atomic"): (2 * 3 * 16 + 2 * 3 * 2, 2 * 3 * 16 * 4 + 2 * 3 * 2 * 16)}


def ways(rows, kernel=None):
    found = {}
    for row in rows:
        if row["kind"] in ("load", "store", "atomic") and kernel in (None, row.get("kernel")):
            key = row["from"], row["to"], row["kind"]
            found[key] = tuple(map(sum, zip(found.get(key, (0, 0)), (row["operations"], row["bytes"]))))
    return found


def cells_of_both():
    """Bytes in each cell of 4 of its two objects, which one line allocates, by kind."""
    known = {"load": [0] * 128, "store": [0] * 128, "atomic": [0] * 128}
    for lane in range(0, 32, 2):
        for kind, bytes in (("load", 8), ("store", 2), ("atomic", 4)):
            for byte in range(8 * lane, 8 * lane + bytes):
                known[kind][byte // 4] += 2 * 3
    for kind, bytes, times in (("load", 16, 16), ("store", 3 * 16, 1), ("load", 5 * 16, 1), ("atomic", 2 * 16, 1)): # asynchronous copies, and those in bulk
        for byte in range(bytes):
            known[kind][byte // 4] += 2 * 3 * times
    return known


def elements(options):
    said, view = record(options, "remote-elements", look=(*COMM, "--comm-elements"), MADE_REMOTE="2")
    comm = view("comm")
    held, found = [require("objects without elements", comm["elements_unread"], 0)], {}
    for row in view("comm --by element")["elements"]:
        cells = found.setdefault(row["kind"], [0] * 128)
        for run in row["runs"]:
            for k in range(run["cells"]):
                cells[run["first_byte"] // 4 + k] += run["bytes"]
    return held + [require("elements of machine code", found, cells_of_both())]


def sampled(view, every):
    """200 launches of 1 + k * k % 7 warps, of which a sample was looked at."""
    warps = [1 + k * k % 7 for k in range(200)]
    for kind, each in (("load", 16 * 8 + 16 * 16 + 5 * 16), ("store", 16 * 2 + 3 * 16), ("atomic", 16 * 4 + 2 * 16)):
        rows = [row for row in view("comm")["lines"] if row["kernel"] == "both" and row["kind"] == kind]
        truth, seen = each * sum(warps), each * sum(warps[::every])
        found, exact, estimate = sum(row["bytes"] for row in rows), {row["exact"] for row in rows}, sum(row["estimated_bytes"] for row in rows)
        yield require(f"1 of {every}: bytes of the {kind}s that were looked at", (found, exact), (seen, {every == 1}))
        yield require(f"1 of {every}: estimate of all", round(estimate / seen * len(warps[::every])), 200)
        if every == 200:
            yield require("of one launch no error is known", [(row["low_bytes"], row["high_bytes"]) for row in rows], [(None, None)] * len(rows))
        elif every == 1:
            yield require("of all there is none", [(row["low_bytes"], row["high_bytes"]) for row in rows], [(row["bytes"],) * 2 for row in rows])
        else:
            low, high = sum(row["low_bytes"] for row in rows), sum(row["high_bytes"] for row in rows)
            print(f"     {low} <= {truth} <= {high}, {estimate}")
            yield require(f"1 of {every}: the truth lies in the interval, which is not everything", (low <= truth <= high, seen < low < high < 3 * truth), (True, True))


def accesses(options, real):
    """Accesses of machine code to memory that is not the device's."""
    said, view = record(options, "remote", look=COMM, MADE_REMOTE="2")
    comm = view("comm")
    held = [require("accesses to other memory, by pair", ways(comm["pairs"]), BOTH), require("by line", ways(comm["lines"]), BOTH), require("by object", ways(comm["objects"]), BOTH),
            require("nothing is missing", {row["exact"] for row in comm["pairs"] if row["kind"] != "copy"}, {True}),
            require("kernels", {c["kernel"]: (c["engine"], c["launches"], c["looked_at"], c["reason"]) for c in comm["coverage"]},
                    {"read_zeros": ("sanitizer", 3, 3, None), "write_same": ("sanitizer", 1, 1, None), "both": ("sanitizer", 2, 2, None), **GRAPH})]
    for every in (1, 3, 20, 200):
        said, view = record(options, "remote-sampled", look=(*COMM, "--comm-sample", f"1/{every}"), MADE_REMOTE="200")
        held += sampled(view, every)
    if real:
        for program in (real[0], "/nonexistent"):
            said, view = record(options, "remote-lines", look=COMM, MADE_REMOTE="2", MADE_CODE=real[1], MADE_PLACES=",".join(map(str, real[2])), SONDE_NVDISASM=program)
            lines = {(row["file"], row["line"], row["kind"], row["operations"]) for row in view("comm")["lines"] if row["kernel"] == "typed"}
            known = {("/made/typed.cu", line, "store" if line == 106 else "load", 32) for line in LINES.values()}
            if program == "/nonexistent": # nobody tells where a header's code was inlined
                known = {place if place[1] != HEADER else ("/usr/local/cuda/include/made.hpp", 7, *place[2:]) for place in known}
            held += [require(f"lines of machine code, by {program}", lines, known)]
    return held


def main():
    parser = argparse.ArgumentParser()
    for name in ("sonde", "programs", "work"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--tools", help="folder of ptxas and nvdisasm, if there is one")
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    options.sonde = with_patches(options)
    held = []

    said, view = record(options, "all", SONDE_NVDISASM="/nonexistent")
    ledger = view("ledger")
    held += [
        require("the module stays patched", said, "patched 1 switches 1 unset 0"),
        require("patterns", patterns(view), CAPTURED + [("read_zeros", "single_zero", 3 * 64 * 4, 4, 1.0, "all are zero")] + WRITES),
        require("coverage", coverage(view), {"read_zeros": ("sanitizer", 3, 3, None), "write_same": ("sanitizer", 1, 1, None), **GRAPH}),
        require("operations", {k: v for k, v in ledger["operations"].items() if v}, {"kernel": 8, "read": 1, "write": 1, "fill": 1, "synchronize": 2}),
        require("lost", [ledger[k] for k in ("dropped", "unmatched", "in_flight", "unplaced", "bad_time")], [0] * 5),
        require("without times", ledger["no_times"], 11),
        require("bytes", {c["kind"]: c["bytes"] for c in view("copies")}, {"read": 256, "write": 256, "fill": 256}),
        require("it is said", any("no device times" in n for n in notes(view)), True),
        require("what is to be installed", any("nvdisasm was not found: pip install" in n for n in notes(view)), True),
    ]

    of_types = [("typed", "approximate", 128, 4, 1.0, "1 to 1.00003099: the same within 14 bits of mantissa"),
                ("typed", "approximate", 256, 4, 1.0, "-3.00006294 to -3: the same within 15 bits of mantissa"),
                ("typed", "heavy_type", 256, 8, 1.0, "1 to inf: float would do"),
                ("typed", "heavy_type", 256, 8, 1.0, "1.25 to 130: float would do"),
                ("typed", "heavy_type", 512, 4, 1.0, "-3 to 117: int8_t would do")]
    real = assembled(options)
    if real:
        said, view = record(options, "assembled", SONDE_NVDISASM=real[0], MADE_CODE=real[1], MADE_PLACES=",".join(map(str, real[2])))
        held += [require("patterns of types, of NVIDIA's tools", [p for p in patterns(view) if p[0] == "typed"], of_types),
                 require("no note of them", any("nvdisasm" in n for n in notes(view)), False)]
    else:
        print("skipped: no ptxas and nvdisasm, which come from PyPI")
    code, path = disassembler(options)
    # Of two launches of 512 threads 1024 - 256 + 32 elements are compared; the samples are each fourth lane's of its warp, another one in each.
    said, view = record(options, "guessed", MADE_CODE=code, MADE_GUESSED="1", SONDE_NVDISASM=path)
    guesses = [("typed", "frequent", 4, "≈ 59.8 % are 5"), ("typed", "frequent", 4, "≈ 60.0 % are 2.5"), ("typed", "structured", 2, "≈ 100.0 % are 300 * i"),
               ("typed", "structured", 4, "≈ 94.9 % are -0.5 * i + 3"), ("typed", "structured", 8, "≈ 100.0 % are 0.125 * i + 3"),
               ("typed", "structured", 8, "≈ 100.0 % are 10000000019 * i - 5")]
    found = sorted((p["operation"], p["pattern"], p["element_bytes"], p["evidence"].split(": ", 1)[1])
                   for o in view("values")["objects"] for p in o["patterns"] if p["pattern"] in ("frequent", "structured"))
    held += [require("what is frequent, and what on a line", found, guesses)]
    said, view = record(options, "untyped", MADE_CODE=code, MADE_GUESSED="1", SONDE_NVDISASM="/nonexistent")
    found = sorted((p["element_bytes"], p["evidence"].split(": ", 1)[1]) for o in view("values")["objects"] for p in o["patterns"]
                   if p["pattern"] in ("frequent", "structured"))
    held += [require("bits that are frequent", found, [(4, "≈ 59.8 % are 5"), (8, "≈ 60.0 % are 0x4020000040200000, as a double 8.00000191")])]
    said, view = record(options, "typed", MADE_CODE=code, SONDE_NVDISASM=path)
    held += [
        require("patterns of types", [p for p in patterns(view) if p[0] == "typed"], of_types),
        require("exact", sorted(p["exact"] for o in view("values")["objects"] for p in o["patterns"] if p["operation"] == "typed"), [False] + 4 * [True]),
        require("nothing else is said", any("nvdisasm" in n for n in notes(view)), False),
    ]
    held += [require("whose code is missing", any("it was not kept: " in n for n in notes(view)), True)]
    with open(path, "w", encoding="ascii") as out:
        out.write("#!/bin/sh\nexit 3\n")
    said, view = record(options, "unread", MADE_CODE=code, SONDE_NVDISASM=path)
    held += [require("nvdisasm fails", any(f"{path} could not read it" in n for n in notes(view)), True),
             require("nothing is made up", [p for p in patterns(view) if p[0] == "typed"], [])]

    why = "Compute Sanitizer did not patch its code"
    not_graph = {kernel: ("none", 2, 0, why) for kernel in GRAPH}
    said, view = record(options, "sampled", ["30"])
    held += [
        require("patches are taken out and put back", said, "patched 1 switches 5 unset 0"),
        require("sampled patterns", patterns(view), [("read_zeros", "single_zero", 2 * 64 * 4, 4, 1.0, "all are zero")] + WRITES),
        require("sampled coverage", coverage(view), {"read_zeros": ("sanitizer", 30, 2, "not of those that --values-sample or --comm-sample chose"),
                                                     "write_same": ("sanitizer", 1, 1, None), **not_graph}),
    ]

    said, view = record(options, "refused", MADE_REFUSED="1")
    held += [
        require("refused coverage", coverage(view), {"read_zeros": ("none", 3, 0, why), "write_same": ("none", 1, 0, why), **not_graph}),
        require("operations are there", view("ledger")["done"], 13),
        require("why is said", any("Compute Sanitizer: sanitizerAddPatchesFromFile: refused (1)" in n for n in notes(view)), True),
    ]

    said, view = record(options, "deaf", MADE_DEAF="1")
    held += [require("what a graph's kernels are given is not ours", said, "patched 1 switches 1 unset 4"),
             require("deaf coverage", coverage(view)["captured"], ("none", 2, 0, why)),
             require("patterns beside it", patterns(view), [("read_zeros", "single_zero", 3 * 64 * 4, 4, 1.0, "all are zero")] + WRITES)]

    said, view = record(options, "kernels", look=("--values=fine", "--values-engine=sanitizer", "--kernel", "captured"))
    held += [require("of a graph's kernels one was asked for", (patterns(view), coverage(view)),
                     ([p for p in CAPTURED if p[0] != "added"], # nobody tells who called the function
                      {"captured": ("sanitizer", 2, 2, None), **{k: ("none", n, 0, "not asked for (--kernel)") for k, n in (("added", 2), ("read_zeros", 3), ("write_same", 1))}}))]
    said, view = record(options, "graphs-sampled", MADE_GRAPHS="6", look=("--values=fine", "--values-engine=sanitizer", "--values-sample", "1/3"))
    held += [require("launches of a graph that were chosen, all kernels of each", {k: coverage(view)[k][1:3] for k in GRAPH}, {k: (7, 1 + 2) for k in GRAPH})]

    held += accesses(options, real) + elements(options)
    said, view = record(options, "held", MADE_HELD="1")
    held += [require("who holds it is said", any("only one tool at a time" in n for n in notes(view)), True),
             require("the program runs", said, "patched 0 switches 0 unset 0")]
    return 0 if all(held) else 1


sys.exit(main())
