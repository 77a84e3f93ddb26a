#!/usr/bin/env python3
"""Types of accesses in machine code: kernels whose PTX says them, made into machine code by ptxas, printed by nvdisasm, and read back.

    sass.py build/tests/test-sass FOLDER_OF_PTXAS_AND_NVDISASM

In PTX each load and store has a type; machine code has none. The kernels are written here, each with loads of one type and stores of one type,
so that it does not matter in which order the assembler puts them.
"""
import os
import re
import subprocess
import sys
import tempfile

DEVICES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
REGISTERS = {"f32": "f32", "f64": "f64", "s32": "b32", "u32": "b32", "b32": "b32", "s64": "b64", "u64": "b64", "b64": "b64", "b16": "b16", "u16": "b16",
             "s16": "b16", "s8": "b16", "u8": "b16", "f16": "b16"}
SIZES = {"f32": 4, "f64": 8, "s32": 4, "u32": 4, "b32": 4, "s64": 8, "u64": 8, "b64": 8, "b16": 2, "u16": 2, "s16": 2, "s8": 1, "u8": 1}

# Name: (loads, what is computed, stores, type found of loads, of stores). In the text %a and %b are loaded, %c and %d stored, %i is the
# thread's number.
KERNELS = {
    "add_f32": ("f32", "add.f32 %c0, %a0, %b0;", "f32", "f32", "f32"),
    "fma_f32": ("f32", "fma.rn.f32 %c0, %a0, %b0, %b0;", "f32", "f32", "f32"),
    "div_f32": ("f32", "div.rn.f32 %c0, %a0, %b0;", "f32", "f32", "f32"),
    "div_twice_f32": ("f32", "div.rn.f32 %t0, %a0, %b0; div.rn.f32 %c0, %b0, %t0;", "f32", "f32", "f32"),
    "sqrt_f32": ("f32", "sqrt.rn.f32 %t0, %a0; add.f32 %c0, %t0, %b0;", "f32", "f32", "f32"),
    "sin_f32": ("f32", "sin.approx.f32 %t0, %a0; max.f32 %c0, %t0, %b0;", "f32", "f32", "f32"),
    "abs_f32": ("f32", "abs.f32 %t0, %a0; neg.f32 %t1, %b0; mul.f32 %c0, %t0, %t1;", "f32", "f32", "f32"),
    "select_f32": ("f32", "setp.gt.f32 %p0, %a0, %b0; selp.f32 %c0, %a0, %b0, %p0;", "f32", "f32", "f32"),
    "shuffle_f32": ("f32", "add.f32 %t0, %a0, %b0; shfl.sync.bfly.b32 %c0, %t0, 1, 31, -1;", "f32", "f32", "f32"),
    "add_f64": ("f64", "add.f64 %c0, %a0, %b0;", "f64", "f64", "f64"),
    "fma_f64": ("f64", "fma.rn.f64 %c0, %a0, %b0, %b0;", "f64", "f64", "f64"),
    "div_f64": ("f64", "div.rn.f64 %c0, %a0, %b0;", "f64", "f64", "f64"),
    "sqrt_f64": ("f64", "sqrt.rn.f64 %t0, %a0; add.f64 %c0, %t0, %b0;", "f64", "f64", "f64"),
    "select_f64": ("f64", "setp.gt.f64 %p0, %a0, %b0; selp.f64 %c0, %a0, %b0, %p0;", "f64", "f64", "f64"),
    "add_s32": ("s32", "add.s32 %t0, %a0, %b0; add.s32 %c0, %t0, 7;", "s32", "s32", "s32"),
    "mad_s32": ("s32", "mad.lo.s32 %c0, %a0, %b0, %i;", "s32", "s32", "s32"),
    "max_s32": ("s32", "max.s32 %c0, %a0, %b0;", "s32", "s32", "s32"),
    "min_u32": ("u32", "min.u32 %c0, %a0, %b0;", "u32", "u32", "u32"),
    "less_u32": ("u32", "setp.lt.u32 %p0, %a0, %b0; selp.u32 %c0, 3, 4, %p0;", "u32", "u32", None),
    "to_f32_s32": ("s32", "cvt.rn.f32.s32 %t0, %a0; cvt.rn.f32.s32 %t1, %b0; add.f32 %c0, %t0, %t1;", "f32", "s32", "f32"),
    "to_f32_u32": ("u32", "cvt.rn.f32.u32 %t0, %a0; cvt.rn.f32.u32 %t1, %b0; add.f32 %c0, %t0, %t1;", "f32", "u32", "f32"),
    "from_f32_s32": ("f32", "add.f32 %t0, %a0, %b0; cvt.rzi.s32.f32 %c0, %t0;", "s32", "f32", "s32"),
    "from_f32_u32": ("f32", "add.f32 %t0, %a0, %b0; cvt.rzi.u32.f32 %c0, %t0;", "u32", "f32", "u32"),
    "to_f64_f32": ("f32", "add.f32 %t0, %a0, %b0; cvt.f64.f32 %c0, %t0;", "f64", "f32", "f64"),
    "to_f32_f64": ("f64", "add.f64 %t0, %a0, %b0; cvt.rn.f32.f64 %c0, %t0;", "f32", "f64", "f32"),
    "to_f64_s32": ("s32", "add.s32 %t0, %a0, %b0; cvt.rn.f64.s32 %c0, %t0;", "f64", "s32", "f64"),
    "add_s64": ("s64", "add.s64 %c0, %a0, %b0;", "s64", "s64", "s64"),
    "less_u64": ("u64", "setp.lt.u64 %p0, %a0, %b0; selp.b32 %c0, 3, 4, %p0;", "b32", "u64", None),
    "mad_s64": ("s32", "mul.wide.s32 %c0, %a0, %b0;", "s64", "s32", "s64"),
    "halves": ("b32", "add.f16x2 %c0, %a0, %b0;", "b32", "f16", "f16"),
    "half": ("b16", "add.f16 %c0, %a0, %b0;", "b16", "f16", "f16"),
    "brains": ("b32", "fma.rn.bf16x2 %c0, %a0, %b0, %b0;", "b32", "r16", "r16"),
    "to_half": ("f32", "add.f32 %t0, %a0, %b0; cvt.rn.f16.f32 %c0, %t0;", "b16", "f32", "f16"),
    "vector_f32": ("v4.f32", "".join(f"mul.f32 %c{k}, %a{k}, %b{k};" for k in range(4)), "v4.f32", "f32", "f32"),
    "pair_f32": ("v2.f32", "".join(f"mul.f32 %c{k}, %a{k}, %b{k};" for k in range(2)), "v2.f32", "f32", "f32"),
    "vector_f64": ("v2.f64", "".join(f"mul.f64 %c{k}, %a{k}, %b{k};" for k in range(2)), "v2.f64", "f64", "f64"),
    "vector_s32": ("v4.s32", "".join(f"mad.lo.s32 %c{k}, %a{k}, %b{k}, %i;" for k in range(4)), "v4.s32", "s32", "s32"),
    "vector_s64": ("v2.s64", "".join(f"add.s64 %c{k}, %a{k}, %b{k};" for k in range(2)), "v2.s64", "s64", "s64"),
    "three_of_four": ("v4.f32", "add.f32 %t0, %a0, %a1; fma.rn.f32 %t1, %a2, %b0, %b1; fma.rn.f32 %c0, %t0, %t1, %b2;", "f32", "f32", "f32"),
    "one_is_constant": ("v2.f32", "mul.f32 %c0, %a0, %b0; mul.f32 %c1, %a1, %b1; mul.f32 %c2, %a0, %b1; mov.f32 %c3, 0f3F800000;", "v4.f32", "f32", "f32"),
    # What cannot be known, or is not of one type.
    "copied": ("b32", "xor.b32 %c0, %a0, %b0;", "b32", None, None),
    "mixed": ("v2.b32", "mov.b32 %t0, %a0; mov.b32 %t1, %b0; add.f32 %t2, %t0, %t1; mov.b32 %c0, %t2; mad.lo.s32 %c1, %a1, %b1, %i;", "v2.b32", None, None),
    "both": ("b32", "mov.b32 %t0, %a0; mov.b32 %t1, %b0; add.f32 %t2, %t0, %t1; mov.b32 %t3, %t2; mad.lo.s32 %t4, %a0, %b0, %i; xor.b32 %c0, %t3, %t4;", "b32",
             None, None),
    # Bytes and words.
    "bytes_s8": ("s8", "cvt.s32.s16 %t0, %a0; cvt.s32.s16 %t1, %b0; mad.lo.s32 %c0, %t0, %t1, %i;", "s32", "s8", "s32"),
    "words_u16": ("u16", "cvt.u32.u16 %t0, %a0; cvt.u32.u16 %t1, %b0; mad.lo.s32 %c0, %t0, %t1, %i;", "s32", "u16", "s32"),
    # Registers that are written on two ways, and used again for something else.
    "on_two_ways": ("f32", "setp.lt.u32 %p0, %i, 77; @%p0 bra L1; fma.rn.f32 %c0, %a0, %b0, %a0; bra L2; L1: add.f32 %c0, %a0, %b0; "
                    "sqrt.rn.f32 %c0, %c0; div.rn.f32 %c0, %a0, %c0; L2:", "f32", "f32", "f32"),
    "around": ("f32", "mov.u32 %t8, 0; mov.f32 %t0, 0f00000000; L3: fma.rn.f32 %t0, %t0, %a0, %b0; div.rn.f32 %t0, %t0, %a0; add.u32 %t8, %t8, 1; "
               "setp.lt.u32 %p0, %t8, %i; @%p0 bra L3; mov.f32 %c0, %t0;", "f32", "f32", "f32"),
    "guarded": ("f64", "setp.lt.u32 %p0, %i, 77; mov.f64 %c0, 0d0000000000000000; @%p0 add.f64 %c0, %a0, %b0;", "f64", "f64", "f64"),
}


def registers(body, kinds):
    """Declarations of the temporaries %t0 to %t8, by the operation that writes each first."""
    out = []
    for k in range(9):
        for statement in body.replace(":", ";").split(";"):
            words = statement.replace(",", " ").split()
            words = words[1:] if words and words[0].startswith("@") else words
            if len(words) > 1 and words[1] == f"%t{k}":
                kind = [part for part in words[0].split(".") if part in REGISTERS]
                first = {"cvt": kind[:1], "mul": ["s64"] if "wide" in words[0] else kind[:1]}.get(words[0].split(".")[0], kind[-1:])
                kind = REGISTERS[first[0]]
                if words[0] == "mov.b32" and words[2] in kinds.get("loads", ()):
                    kind = "f32"
                out.append(f".reg .{kind} %t{k};")
                break
    return " ".join(out)


def split(kind):
    count, element = (kind.split(".") if "." in kind else ("v1", kind))
    return int(count[1:]), element


def kernel(name, loads, body, stores):
    def access(of, letter, pointer, which):
        count, element = split(of)
        values = ", ".join(f"%{letter}{k}" for k in range(count))
        values = "{" + values + "}" if count > 1 else values
        part = f".v{count}" if count > 1 else ""
        return f"ld.global{part}.{element} {values}, [{pointer}];" if which else f"st.global{part}.{element} [{pointer}], {values};"
    count, element = split(loads)
    to, stored = split(stores)
    declared = [f".reg .{REGISTERS[element]} %a<{count}>, %b<{count}>;", f".reg .{REGISTERS[stored]} %c<{max(to, 1)}>;", ".reg .pred %p<2>; .reg .b32 %i, %j;",
                registers(body, {"loads": [f"%{x}{k}" for x in "ab" for k in range(count)]}), ".reg .b64 %x, %y, %z, %n, %m;"]
    size, other = SIZES[element] * count, SIZES[stored] * to
    for label in ("L1", "L2", "L3"):
        body = body.replace(label, f"{label}_{name}")
    return f"""
.visible .entry {name}(.param .u64 from, .param .u64 second, .param .u64 to)
{{
    {" ".join(declared)}
    ld.param.u64 %x, [from]; ld.param.u64 %y, [second]; ld.param.u64 %z, [to];
    mov.u32 %i, %tid.x;
    mul.wide.u32 %n, %i, {size}; mul.wide.u32 %m, %i, {other};
    add.s64 %x, %x, %n; add.s64 %y, %y, %n; add.s64 %z, %z, %m;
    {access(loads, "a", "%x", True)}
    {access(loads, "b", "%y", True)}
    {body}
    {access(stores, "c", "%z", False)}
    ret;
}}
"""


def expected(name):
    loads, _, stores, loaded, stored = KERNELS[name]
    def one(kind, which, found):
        count, element = split(kind)
        whole = count * SIZES[element]
        return which, whole, found or f"b{8 * min(whole, 8)}"
    return one(loads, "load", loaded), one(stores, "store", stored)


def accesses(tool, tools, device, ptx, folder):
    """Kernel -> [(load or store, bytes, type found)]"""
    cubin = os.path.join(folder, "all.cubin")
    subprocess.run([os.path.join(tools, "ptxas"), f"-arch={device}", "-o", cubin, ptx], check=True)
    text = subprocess.run([os.path.join(tools, "nvdisasm"), "-c", "-ndf", cubin], stdout=subprocess.PIPE, check=True).stdout
    said = subprocess.run([tool], input=text, stdout=subprocess.PIPE, check=True).stdout.decode()
    found = {}
    for line in said.splitlines():
        of, _, which, size, element = line.split()
        found.setdefault(of, []).append((which, int(size), element))
    return found


def check_compiled(tool, tools, folder):
    """Kernels that a compiler made: nothing is found that is not in their PTX. It has no types of integers' signs, and copies as bits."""
    ptx = os.path.join(os.path.dirname(__file__), "../../instrument/fixtures/kernels.ptx")
    said, wrong, known, count = {}, 0, 0, 0
    with open(ptx, encoding="ascii") as text:
        for line in text:
            entry = re.search(r"\.entry (\w+)", line)
            name = entry.group(1) if entry else name if said else None
            access = re.search(r"\b(ld|st)\.(?:volatile\.)?global(?:\.\w+)*?(?:\.v(\d))?\.([busf])(\d+)", line)
            if entry:
                said[name] = set()
            if access:
                kind, vector, letter, bits = access.groups()
                said[name].add(("load" if kind == "ld" else "store", int(vector or 1) * int(bits) // 8, ("f" if letter == "f" else "i") + bits))
    for name, found in accesses(tool, tools, "sm_90", ptx, folder).items():
        for which, size, element in found:
            count += 1
            known += element[0] != "b"
            if element[0] != "b" and (which, size, element.replace("s", "i").replace("u", "i")) not in said[name]:
                print(f"FAIL {name}: found {which} of {size} bytes, {element}; its PTX has {sorted(said[name])}")
                wrong += 1
    print(f"compiled kernels: {known} of {count} accesses have a type")
    return wrong + (known * 2 < count)


def check(tool, tools, device, folder):
    ptx = os.path.join(folder, "all.ptx")
    names = [n for n in KERNELS if not (n == "brains" and device == "sm_75")]
    with open(ptx, "w", encoding="ascii") as out:
        out.write(f".version 8.8\n.target {device}\n.address_size 64\n" + "".join(kernel(n, *KERNELS[n][:3]) for n in names))
    found, wrong = accesses(tool, tools, device, ptx, folder), 0
    for name in names:
        if set(found.get(name, ())) != set(expected(name)):
            print(f"FAIL {device} {name}: found {sorted(set(found.get(name, ())))}, expected {sorted(expected(name))}")
            wrong += 1
    print(f"{device}: {len(names) - wrong} of {len(names)} kernels")
    return wrong


def main():
    tool, tools = sys.argv[1:]
    if not all(os.access(os.path.join(tools, name), os.X_OK) for name in ("ptxas", "nvdisasm")):
        print("skipped: no ptxas and nvdisasm, which come from PyPI")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        wrong = sum(check(tool, tools, device, folder) for device in DEVICES) + check_compiled(tool, tools, folder)
    return 1 if wrong else 0


sys.exit(main())
