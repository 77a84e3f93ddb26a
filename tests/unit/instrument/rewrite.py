"""An instrumented kernel does what the kernel does, and counts what it did: the kernels of fixtures/ are run in an interpreter as they are
and instrumented; memory must be equal, each block's count that of the plain run's statements, and what is kept of the values of each
access that of all values that it had; once a guess stands, what equals it and lies on its line, that of all elements; what it marks as written must be what the plain run wrote. The kernels that compare must
find what a comparison here finds. NVIDIA's assembler must take them all.

    rewrite.py REWRITE [PTXAS]
"""
import functools
import operator
import os
import random
import shutil
import subprocess
import sys
import struct
import tempfile

from interpreter import MULTIPROCESSORS, M32, M64, Memory, Module, signed, to_bits, to_float

HERE = os.path.dirname(os.path.abspath(__file__))


def launches(name, memory):
    """(grid, block, parameters) of each launch; odd sizes, so that warps end in parts."""
    r = random.Random(5)
    floats = lambda n: memory.array([to_bits(r.choice([0.5, 1.5, -2.25, r.uniform(-1, 1)])) for _ in range(n)])
    zeros = lambda n: memory.array([0] * n)
    if name == "vadd":
        return [((3, 1), (64, 1), [floats(150), floats(150), zeros(150), 150])]
    if name == "vadd4":
        return [((2, 1), (50, 1), [floats(280), floats(280), zeros(280), 70])]
    if name == "stencil5":
        return [((2, 3), (16, 8), [floats(400), zeros(400), 20, 20])]
    if name == "matmul":
        return [((1, 1), (32, 32), [floats(1024), floats(1024), zeros(1024), 32])]
    if name == "nbody":
        return [((1, 1), (33, 1), [floats(132), zeros(132), 33])]
    if name == "bfs":
        n, off = 100, [0]
        for _ in range(n):
            off.append(off[-1] + r.randrange(6))
        level = [1 if r.random() < .4 else r.choice([0, M32]) for _ in range(n)]
        given = [memory.array(off), memory.array([r.randrange(n) for _ in range(off[-1])]), memory.array(level), n]
        changed = zeros(1)
        return [((2, 1), (64, 1), [*given, current, changed]) for current in (0, 1, 2)]
    if name == "several_ends":
        return [((2, 1), (77, 1), [memory.array([k % 11 for k in range(154)]), 0])]
    if name in ("no_parameters", "empty_parameters"):
        return [((1, 1), (64, 1), [])]
    if name.startswith("type"):
        words = [r.choice([0, M32, 0x7f800000, 0x7fc00001, 0x80000000, 0x3f800000, r.getrandbits(32)]) for _ in range(320)]
        return [((2, 1), (33, 1), [memory.array(words), zeros(320)])]
    assert name == "gvar", name
    return [((2, 1), (64, 1), [memory.array([r.randrange(9) for _ in range(100)]), 100])]


def loop(name, type, register):
    """A kernel whose threads copy three elements each, one after the other."""
    size = int(type[1:]) // 8
    return [f".visible .entry {name}(.param .u64 {name}_0, .param .u64 {name}_1)", "{", ".reg .b16 %h<4>;", ".reg .b32 %r<4>, %t, %n;", ".reg .b64 %d<4>, %from, %to, %off;",
            ".reg .f32 %f<4>;", ".reg .f64 %g<4>;", ".reg .pred %more;", f"ld.param.u64 %from, [{name}_0];", f"ld.param.u64 %to, [{name}_1];", "mov.u32 %t, %tid.x;",
            f"mul.wide.u32 %off, %t, {size};", "add.u64 %from, %from, %off;", "add.u64 %to, %to, %off;", "mov.u32 %n, 3;", "$again:",
            f"ld.global.{type} {register}0, [%from];", f"st.global.{type} [%to], {register}0;", f"add.u64 %from, %from, {40 * size};", f"add.u64 %to, %to, {40 * size};",
            "sub.u32 %n, %n, 1;", "setp.ne.u32 %more, %n, 0;", "@%more bra $again;", "ret;", "}"]


def of_each_type():
    """A module with a kernel for each type and register that a load or store may have: from the one memory to the other."""
    registers = {"%h": 2, "%r": 4, "%d": 8, "%f": 4, "%g": 8}
    text = [".version 7.8", ".target sm_80", ".address_size 64"]
    for number, (type, register, elements) in enumerate(
            [(t + str(8 * n), r, 1) for t in "bus" for n in (1, 2, 4, 8) for r in ("%h", "%r", "%d") if registers[r] >= n] +
            [("f32", "%f", 1), ("f64", "%g", 1), ("f32", "%f", 2), ("f32", "%f", 4), ("f64", "%g", 2), ("s16", "%h", 4), ("u8", "%r", 4), ("b64", "%d", 2),
             ("s32", "%r", 2)]):
        size = int(type[1:]) // 8 * elements
        list_of = "{%s}" % ", ".join(register + str(k) for k in range(elements)) if elements > 1 else register + "0"
        vector = ".v%d" % elements if elements > 1 else ""
        constant = {"f32": "0fC0490FDB", "f64": "0dC00921FB54442D18"}.get(type, "-2" if type[0] == "s" else "254")
        constants = "{%s}" % ", ".join([constant] * elements) if elements > 1 else constant
        text += [f".visible .entry type{number}(.param .u64 type{number}_0, .param .u64 type{number}_1)", "{", ".reg .b16 %h<4>;", ".reg .b32 %r<4>, %t;",
                 ".reg .b64 %d<4>, %from, %to, %off;", ".reg .f32 %f<4>;", ".reg .f64 %g<4>;", ".reg .pred %odd;",
                 f"ld.param.u64 %from, [type{number}_0];", f"ld.param.u64 %to, [type{number}_1];", "mov.u32 %t, %tid.x;",
                 f"mul.wide.u32 %off, %t, {size};", "add.u64 %from, %from, %off;", "add.u64 %to, %to, %off;",
                 f"ld.global{vector}.{type} {list_of}, [%from];", f"st.global{vector}.{type} [%to], {list_of};",
                 "and.b32 %t, %t, 1;", "setp.eq.u32 %odd, %t, 1;", f"@%odd ld.global{vector}.{type} {list_of}, [%from];",
                 f"@!%odd st.global{vector}.{type} [%to], {constants};", "ret;", "}"]
    for number, (type, register) in enumerate((("f32", "%f"), ("s16", "%h"), ("u64", "%d"))):
        text += loop(f"typeloop{number}", type, register)
    return "\n".join(text) + "\n"


COUNTS, VALUES, SETS, GUESSES = 1, 2, 4, 16  # src/instrument/plan.h
NONE = [0, M64, (1 << 63) - 1, 1 << 63]
INFINITIES = 0xff8000007f800000
NARROW = [(1 << 63) | (1 << 31) - 1, INFINITIES, 0, 0]  # struct sonde_ptx_narrow, as four words
NOTHING = [0, (1 << 63) - 1, -(1 << 63)]  # OR of doubles, least, most
NAN = -(1 << 31)  # as the least: a float was NaN; as the most: all were


class Program:
    """What a kernel's copy has of the program's module: variables at another place than its own, which are spoiled."""

    def __init__(self, module, memory, names):
        self.memory, self.moved = memory, []
        for name in names:
            at = module.symbols[name]
            if name in module.constants:
                had = bytes(module.constant[at:at + module.sizes[name]])
                module.constant[at:at + len(had)] = b"\xee" * len(had)
            else:
                had = bytes(memory.read(at + k, 1) for k in range(module.sizes[name]))
            to = memory.allocate(len(had))
            for k, byte in enumerate(had):
                memory.write(to + k, 1, byte)
            self.moved.append((at, to, had, name in module.constants))

    def parameters(self):
        return [struct.pack(f"<{len(self.moved)}Q", *(to for _, to, _, _ in self.moved))] if self.moved else []

    def give_back(self):
        """The copy's own variables are what they were, and become the program's."""
        for at, to, had, constant in self.moved:
            for k in range(0 if constant else len(had)):
                assert self.memory.read(at + k, 1) == had[k], "the copy wrote a variable of its own"
                self.memory.write(at + k, 1, self.memory.read(to + k, 1))


@functools.cache
def plain_run(text, name):
    """The kernel as it is: its memory afterwards, and the module."""
    before, module, _ = run(text, name, "", [0] * 16)
    return before, module


def run(text, name, suffix, area, front=[], variables=()):
    """Memory before the area, the module, and the area as it is afterwards."""
    memory = Memory()
    module = Module(text, memory)
    given, end = launches(name, memory), memory.top
    program = Program(module, memory, variables)
    at = place(memory, front + area)
    for grid, block, parameters in given:
        module.launch(name + suffix, grid, block, parameters + ([at + 8 * len(front)] if suffix else []) + program.parameters())
    program.give_back()
    return bytes(memory.bytes[:end]), module, read(memory, at + 8 * len(front), len(area))


def place(memory, words):
    at = memory.allocate(8 * len(words))
    for k, word in enumerate(words):
        memory.write(at + 8 * k, 8, word)
    return at


def read(memory, at, count):
    return [memory.read(at + 8 * k, 8) for k in range(count)]


def numbers(values, type, size):
    """Of elements: what their order is told by; NaNs have none."""
    if type != "f":
        # Bits and unsigned integers below four bytes are never negative; from there on they are read as signed ones.
        return [signed(v, 8 * size) if type == "s" or size >= 4 else v for v in values]
    n = 8 * size
    kept = [v for v in values if (v & ((1 << (n - 1)) - 1)) <= (0x7f800000 if size == 4 else 0x7ff0000000000000)]
    return [signed(v, n) ^ ((signed(v, n) >> (n - 1)) & ((1 << (n - 1)) - 1)) for v in kept]


def truth_of(values, type, size):
    if not values:
        return NOTHING
    order = numbers(values, type, size)
    if type == "f" and size == 8:
        return [functools.reduce(operator.or_, values), *([min(order), max(order)] if order else NOTHING[1:])]
    return [0, min(order) if len(order) == len(values) else NAN, max(order, default=NAN)]


def kept(words, type, size):
    """The words of a place, of one multiprocessor."""
    if size >= 8:
        assert words[1] == M64 and (words[0] == 0 or type == "f"), words
        return [words[0], signed(words[2], 64), signed(words[3], 64)]
    least, most = signed(words[0] & M32, 32), signed(words[0] >> 32, 32)
    assert not any(words[2:]), words
    if type != "f":
        assert words[1] == INFINITIES, words
    elif words[1] != INFINITIES:  # it never says more than is known
        low, high = (numbers([half], type, size)[0] for half in (words[1] & M32, words[1] >> 32))
        assert low >= least and high <= max(most, numbers([0xff800000], type, size)[0]), (words, low, high, least, most)
    return [0, least, most] if least <= most else NOTHING


def together(area, words, blocks, odd, accesses):
    """The parts of all multiprocessors as one: counts, and what was kept of each access, of which type and size are given."""
    parts = [area[k:k + words] for k in range(0, len(area), words)]
    counts = [sum(p[b] for p in parts) for b in range(blocks)]
    found = []
    for k, (type, size) in enumerate(accesses):
        at = blocks + odd + 4 * k
        bits, least, most = zip(*(kept(p[at:at + 4], type, size) for p in parts))
        found.append([functools.reduce(operator.or_, bits), min(least), max(most)])
    return counts, found


PTXAS = next((path for path in [*sys.argv[2:3], shutil.which("ptxas")] if path and os.access(path, os.X_OK)), None)


def rewritten(rewrite, plain, plan, folder):
    """The text, the lines of what was printed by kernel, and why the others stay plain."""
    before, after = os.path.join(folder, "before.ptx"), os.path.join(folder, "after.ptx")
    with open(before, "w") as file:
        file.write(plain)
    said = subprocess.run([rewrite, before, after, str(plan)], capture_output=True, text=True, check=True).stdout
    for architecture in ("sm_80", "sm_90") if PTXAS else ():
        if ".target sm_90" not in plain or architecture == "sm_90":
            subprocess.run([PTXAS, "-arch=" + architecture, after, "-o", os.path.join(folder, "after.cubin")], check=True)
    kernels, others, sets, variables = {}, {}, {}, {}
    for kind, *rest in map(str.split, said.splitlines()):
        if kind == "kernel":
            name = rest[0]
            kernels[name], sets[name], variables[name] = (int(rest[1]), [], []), [], []
        elif kind == "access":
            kernels[name][1].append((int(rest[0]), int(rest[1]), rest[2], rest[3], int(rest[4]), int(rest[5])))
        elif kind == "front":
            kernels[name][2].extend(int(word, 16) for word in rest)
        elif kind == "variable":
            variables[name].append(rest[0])
        elif kind == "set":
            sets[name].append(tuple(map(int, rest)))
        else:
            others[rest[0]] = " ".join(rest[1:])
    with open(after) as file:
        return file.read(), kernels, others, sets, variables


def start_of(blocks, sizes, plan):
    """A part of the area."""
    part = [0] * (blocks + (blocks & 1)) + (sum((NONE if size >= 8 else NARROW for size in sizes), []) if plan & VALUES else []) + ([0] * (3 * len(sizes)) if plan & GUESSES else [])
    return part + [0] * (-len(part) % 16)


def compare(plain, text, kernels, plan, variables):
    """Accesses of threads, and values, all in all."""
    total, seen = 0, 0
    for name, (blocks, accesses, front) in kernels.items():
        blocks = blocks if plan & COUNTS else 0
        odd = blocks & 1
        sizes = [a[4] for a in accesses]
        part = start_of(blocks, sizes, plan)
        before, module = plain_run(plain, name)
        after, _, got = run(text, name, "__sonde", part * MULTIPROCESSORS, front if plan & GUESSES else [], variables[name])
        counts, got = together(got, len(part), blocks, odd, [a[3:5] for a in accesses] if plan & VALUES else [])
        assert before == after, f"{name} leaves other memory when it is instrumented"
        executed, values = module.executed[name], module.values[name]
        for k, (statement, block, op, type, size, _) in enumerate(accesses):
            if plan & COUNTS:
                assert counts[block] == executed[statement], f"{name}: block {block} counts {counts[block]}, in truth {executed[statement]}"
                total += executed[statement]
            if plan & VALUES:
                truth = truth_of(values[statement], type, size)
                assert got[k] == truth, f"{name}: access {k} ({op} {type}{size}): {got[k]}, in truth {truth}"
                seen += len(values[statement])
        assert all(counts), f"{name}: {counts}: a block that was never run proves nothing"
    return total, seen


# ---- guesses -------------------------------------------------------------------------------------------------------------

HIDDEN, GUESS_WORDS, LINE = 0x5bd1e995c2b2ae3d, 80, 72


def guess_of(words, wide):
    """(value, slope, offset) of what stands; None: nothing does. The slope is 0 where there is no line."""
    value, flags = words[0] & M32, words[0] >> 32
    if not flags:
        return None
    value = words[1] ^ HIDDEN if wide else value
    return (value, words[LINE] ^ HIDDEN, words[LINE + 1] ^ HIDDEN) if flags >> 16 else (value, 0, 0)


def is_on(guess, type, size, bits, index):
    _, slope, offset = guess
    if not slope:
        return False
    if type != "f":
        return (slope * index + offset - bits) % (1 << 8 * size) == 0
    kind = "f64" if size == 8 else "f32"
    return to_float(to_bits(to_float(slope, "f64") * float(index) + to_float(offset, "f64"), kind), kind) == to_float(bits, kind)


def element_of(kind, index, r, type, size):
    """Bits of what is at this index: on a line but for every 16th, 70 % the same, or anything."""
    mask = (1 << 8 * size) - 1
    anything = to_bits(r.uniform(-9, 9), "f64" if size == 8 else "f32") if type == "f" else r.getrandbits(8 * size)
    if kind == "line" and index % 16 != 5:
        if type == "f":
            return to_bits(-1.5 * index + 40, "f64" if size == 8 else "f32")
        return (-3 * index + 1000) & mask
    if kind == "frequent" and r.random() < .7:
        return to_bits(-0.0, "f64" if size == 8 else "f32") if type == "f" else 77
    return anything


def guess(text, kernels):
    """Two launches of a kernel of each type (bits are as unsigned integers), alone, as one of several and in a loop, on elements with a
    line, with a frequent value and with neither. Returns how many guesses stood, and how many of these had lines."""
    stood, lines, types = 0, 0, set()
    for name, (blocks, accesses, front) in kernels.items():
        type, size, elements = accesses[0][3:6]
        kind = type, size, elements > 1, len(accesses)
        if type == "b" or kind in types:
            continue
        types.add(kind)
        for kind in ("line", "frequent", "neither"):
            made = guess_kernel(text, name, blocks, accesses, front, kind)
            stood += sum(g is not None for g in made)
            lines += sum(g is not None and g[1] != 0 for g in made)
    return stood, lines


def guess_kernel(text, name, blocks, accesses, front, kind):
    """The guesses about each access as they stand at last. What was counted while they did must be what they are right about."""
    r, memory, part = random.Random(3), Memory(), start_of(blocks, [a[4] for a in accesses], COUNTS | VALUES | GUESSES)
    size, type = accesses[0][4], accesses[0][3]
    given = [memory.allocate(size * 512) for _ in range(2)]
    for k in range(512):
        memory.write(given[0] + k * size, size, element_of(kind, k, r, type, size))
    at = place(memory, front + part * MULTIPROCESSORS)
    area = at + 8 * len(front)
    guesses = lambda: [guess_of(read(memory, at + 8 * GUESS_WORDS * k, GUESS_WORDS), size == 8) for k in range(len(accesses))]
    before, module = [(0, 0, 0)] * len(accesses), Module(text, memory)
    for _ in range(2):
        stands = guesses()
        module.forget()
        module.launch(name + "__sonde", (4, 1), (64, 1), given + [area])
        words = [read(memory, area + 8 * len(part) * m, len(part)) for m in range(MULTIPROCESSORS)]
        for k, (_, _, op, *_) in enumerate(accesses):
            found = tuple(sum(w[blocks + (blocks & 1) + 4 * len(accesses) + 3 * k + i] for w in words) for i in range(3))
            unchecked, equal, lined = (now - then for now, then in zip(found, before[k]))
            before[k], own = found, own_statement(text, name, k)
            values, places = module.values[name + "__sonde"][own], module.places[name + "__sonde"][own]
            now = stands[k] or guesses()[k] or (None, 0, 0)
            truth = values.count(now[0]), sum(is_on(now, type, size, v, (p - given[op == "st"]) // size) for v, p in zip(values, places))
            said = f"{name} {kind}: access {k}: {unchecked} unchecked, {equal} equal, {lined} lined of {len(values)}, in truth {truth}; {now}"
            if not stands[k]:
                assert unchecked and equal <= truth[0] and lined <= truth[1], said
                continue
            assert not unchecked and (equal, lined) == truth, said
            assert kind != "frequent" or 2 * equal > len(values), said
            assert kind != "line" or k or 10 * lined > 9 * len(values), said
    return guesses()


@functools.cache
def own_statement(text, name, number):
    """Of the copy: the statement that is its access `number`, as its own are to [%from] and [%to]."""
    code = Module(text, Memory()).kernels[name + "__sonde"]["code"]
    return [k for k, (_, _, words, arguments) in enumerate(code) if words[0] in ("ld", "st") and any(a in ("[%from]", "[%to]") for a in arguments)][number]


GUARD = 64  # bytes behind marks, which must stay 0


def mark(plain, text, sets, variables, part_of):
    """What each kernel marks of a part of the objects that it writes (1: all of them). Returns how many bytes in all."""
    total = 0
    for name, pointers in sets.items():
        memory, truth = Memory(), Memory()
        module, other = Module(text, memory), Module(plain, truth)
        given = launches(name, memory)
        program = Program(module, memory, variables[name])
        for grid, block, parameters in launches(name, truth):
            other.launch(name, grid, block, parameters)
        for k, (grid, block, parameters) in enumerate(given):
            kept = []
            for parameter, offset, grain in pointers:
                assert offset == 0, "no kernel here has pointers in structures"
                at = parameters[parameter - 1]
                size = int(memory.sizes[at] * part_of) & ~31
                kept.append((at, size, memory.allocate(size // grain + 32 + GUARD), grain))
            packed = b"".join(struct.pack("<3Q", *entry[:3]) for entry in kept)
            module.launch(name + "__sonde", grid, block, parameters + ([packed] if kept else []) + program.parameters())
            marks = {(at, grain): {at + grain * m + b for m in range(size // grain) if memory.read(to + m, 1) for b in range(grain)}
                     for at, size, to, grain in kept}
            if len(given) == 1:
                for at, size, to, grain in kept:
                    written = {a + b for a, n in other.written[name] for b in range(n) if at <= a + b < at + size}
                    assert marks[at, grain] == written, f"{name}: {len(marks[at, grain])} bytes marked, {len(written)} written"
                    assert not any(memory.read(to + size // grain + 32 + g, 1) for g in range(GUARD)), f"{name}: marks outside of their memory"
                    total += len(written)
        assert name not in ("vadd", "vadd4", "stencil5", "matmul", "bfs") or pointers, f"{name} writes through no pointer"
    return total


def changes(now, then, first, end, marks, grain):
    """Of the elements of 1, 2, 4 and 8 bytes that were written: how many there are, and how many did not change."""
    written = lambda at: first <= at < end and (marks is None or marks[at >> grain])
    whole, same = [], []
    for size in (1, 2, 4, 8):
        elements = [range(at, at + size) for at in range(0, len(now) - size + 1, size) if all(map(written, range(at, at + size)))]
        whole.append(len(elements))
        same.append(sum(all(now[b] == then[b] for b in e) for e in elements))
    return whole + same


def digest(words):
    h0 = h1 = 0
    for w, x in enumerate(words):
        z = x ^ ((w + 1) * 0x9e3779b97f4a7c15 & M64)
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & M64
        z = (z ^ z >> 27) * 0x94d049bb133111eb & M64
        h0 += z ^ z >> 31
        z = (z + x) * 0xd1342543de82ef95 & M64
        h1 += z ^ z >> 32
    return [h0 & M64, h1 & M64]


def alone(rewrite, plain, folder):
    """The copy of one kernel is the same without the module's kernels, and all that it needs is there."""
    text, kernels, *_ = rewritten(rewrite, plain, COUNTS | VALUES, folder)
    copies = {part.split("(")[0]: part for part in text.split(".entry ")[1:]}
    for name in kernels:
        one = os.path.join(folder, "one.ptx")
        subprocess.run([rewrite, os.path.join(folder, "before.ptx"), one, str(COUNTS | VALUES), name], stdout=subprocess.DEVNULL, check=True)
        with open(one) as file:
            parts = file.read().split(".entry ")[1:]
        assert [part.split("(")[0] for part in parts] == [name + "__sonde"], f"{name}: {[part.split('(')[0] for part in parts]}"
        body = lambda part: part[:part.index("\nret;\n}\n")]
        assert body(parts[0]) == body(copies[name + "__sonde"]), name
        if PTXAS:
            subprocess.run([PTXAS, "-arch=sm_90", one, "-o", os.path.join(folder, "one.cubin")], check=True)
    print(f"{len(kernels)} copies alone")


MODERN = {
    **dict.fromkeys(("sines", "powers", "prints", "heap", "cubes", "assembly", "warpgroup", "copies"), "a copy"),
    "nothing": "nothing", "textures": "TEXTURE", "surfaces": "TEXTURE", "bulk": "BULK", "multicast": "BULK", "matrices": "MATRIX", "lengths": "LENGTH",
    "clusters": "CLUSTER", "pointers": "CALLS", "functions": "CALLS"}


def modern(rewrite, folder):
    """What nvcc makes of wgmma, textures, bulk copies, clusters, calls and the like: which kernels have copies, and why the others have none."""
    path, made = os.path.join(HERE, "fixtures", "modern.ptx"), os.path.join(folder, "modern.ptx")
    for plan in (COUNTS | VALUES, COUNTS | VALUES | GUESSES, SETS, COUNTS | VALUES | GUESSES | SETS):
        said = subprocess.run([rewrite, path, made, str(plan)], capture_output=True, text=True, check=True).stdout
        lines = [line.split() for line in said.splitlines() if line.split()[0] in ("kernel", "plain")]
        found = {name: "a copy" if kind == "kernel" else why for kind, name, why in lines}
        assert {name: why for name, why in found.items() if why != "PTX"} == MODERN, found  # PTX: functions
        with open(made) as file:
            copies = {part.split("__sonde(")[0] for part in file.read().split(".entry ")[1:] if "__sonde(" in part.split("\n")[0]}
        assert copies == {name for name, why in MODERN.items() if why == "a copy"}, copies
        if PTXAS:
            subprocess.run([PTXAS, "-arch=sm_90a", made, "-o", os.path.join(folder, "modern.cubin")], check=True)
    print(f"{len(MODERN)} kernels of modern.cu, {len(copies)} with copies")


def compare_kernels(rewrite, folder):
    """The kernels that copy and compare, on random memory."""
    path = os.path.join(folder, "compare.ptx")
    subprocess.run([rewrite, path], check=True)
    if PTXAS:
        subprocess.run([PTXAS, "-arch=sm_90", path, "-o", os.path.join(folder, "compare.cubin")], check=True)
    with open(path) as file:
        text = file.read()
    r = random.Random(7)
    for case in range(40):
        memory = Memory()
        module, size, grain = Module(text, memory), 16 * r.randrange(1, 60), case % 4
        first = r.randrange(size) if case % 3 else 0
        end = r.randrange(first, size) + 1 if case % 3 else size
        now, then, marks, sums = (memory.allocate(n) for n in (size, size + GUARD, size + GUARD, 80))
        for at in range(0, size):
            memory.write(now + at, 1, r.choice((0, 1, 255)))
            memory.write(marks + at, 1, 9)
        pieces, mark_pieces = size // 16, ((size >> grain) + 15) // 16
        module.launch("sonde__copy", (2, 1), (32, 1), [now, then, pieces, marks, mark_pieces])
        read = lambda at, n: bytes(memory.read(at + k, 1) for k in range(n))
        assert read(now, size) == read(then, size) and not any(read(marks, 16 * mark_pieces)) and not any(read(then + size, GUARD)), "the copy"
        for at in range(0, size):
            if r.random() < .15:
                memory.write(now + at, 1, r.choice((0, 1, 255)))
        for m in range(size >> grain):
            memory.write(marks + m, 1, r.random() < .7)
        marked = None if case % 5 == 0 else read(marks, (size >> grain) + 1)
        for _ in range(2):
            module.launch("sonde__compare", (3, 1), (64, 1), [now, then, first, end, marks if marked else 0, grain, sums])
        found = [memory.read(sums + 8 * k, 8) for k in range(10)]
        truth = [2, 2 * (end - first)] + [2 * n for n in changes(read(now, size), read(then, size), first, end, marked, grain)]
        assert found == truth, f"case {case}: {found}, in truth {truth}"
    for case in range(20):
        memory = Memory()
        module, size = Module(text, memory), r.randrange(700)
        one, other, sums, told = (memory.allocate(n) for n in (size + 8, size + 8, 32, 32))
        read = lambda at, n: bytes(memory.read(at + k, 1) for k in range(n))
        for at in range(size):
            byte = r.randrange(256)
            memory.write(one + at, 1, byte)
            memory.write(other + at, 1, byte if r.random() < .99 else 255 - byte)
        words = lambda at: [int.from_bytes(read(at + k, 8), "little") for k in range(0, size & ~7, 8)] + [int.from_bytes(read(at + (size & ~7), size % 8), "big")]
        for ticket in 5, 6:
            module.launch("sonde__digest", (3, 1), (64, 1), [one, other if ticket == 6 else 0, size, sums, told, ticket])
            truth = digest(words(one)) if ticket == 5 else [sum(a != b for a, b in zip(words(one), words(other))), 0]
            found = [memory.read(told + 8 * k, 8) for k in range(3)]
            assert found == truth + [ticket] and not any(read(sums, 32)), f"digest of {size} bytes: {found}, in truth {truth}"
    for case in range(20):
        memory = Memory()
        module, count = Module(text, memory), r.randrange(1, 600)
        marks = memory.allocate(count + GUARD)
        width, row, rows, slices = r.randrange(1, 80), r.randrange(80, 120), r.randrange(1, 6), r.randrange(1, 4)
        start, slice_ = r.randrange(-200, 200), row * rows + r.randrange(50)
        truth = {start + s * slice_ + y * row + x for s in range(slices) for y in range(rows) for x in range(width)}
        module.launch("sonde__mark", (1 + case % 3, 1), (64, 1), [marks, count, start & (1 << 64) - 1, width, row, rows, slice_, slices])
        found = {k for k in range(count + GUARD) if memory.read(marks + k, 1)}
        assert found == {k for k in truth if 0 <= k < count}, f"marks of case {case}"
    print("40 comparisons, 20 digests, 20 boxes marked")


def main():
    rewrite = sys.argv[1]
    with open(os.path.join(HERE, "fixtures", "kernels.ptx")) as file:
        nvcc = file.read()
    with open(os.path.join(HERE, "fixtures", "odd.ptx")) as file:
        odd = file.read()
    types = of_each_type()
    older, types_older = (text.replace(".target sm_80", ".target sm_70").replace(".version 7.8", ".version 7.0") for text in (odd, types))
    assert older != odd and types_older != types
    with tempfile.TemporaryDirectory(prefix="sonde-ptx-") as folder:
        compare_kernels(rewrite, folder)
        modern(rewrite, folder)
        alone(rewrite, nvcc, folder)
        alone(rewrite, odd, folder)
        for plain, known in ((nvcc, set()), (types, set()), (types_older, set()), (odd, {"twice", "only_shared", "calls", "textures", "many_declarations"}), (older, {"twice", "only_shared", "calls", "textures", "many_declarations"})):
            for plan in (VALUES, COUNTS | VALUES) if plain is types_older else (COUNTS, VALUES, COUNTS | VALUES, COUNTS | VALUES | GUESSES):
                text, kernels, others, _, variables = rewritten(rewrite, plain, plan, folder)
                assert set(others) == known and all(others.values()), others
                assert not plan & COUNTS or ("redux" in text or "vote.sync" in text) == (plain not in (older, types_older))
                if plan & GUESSES and "entry type0" in plain:
                    print("guesses that stood: %d, with lines: %d" % guess(text, kernels))
                    continue
                total, seen = compare(plain, text, kernels, plan, variables)
                print(f"{len(kernels)} kernels, {total} accesses of threads counted, {seen} values")
            if plain is types_older:
                continue
            rewritten(rewrite, plain, COUNTS | VALUES | GUESSES | SETS, folder)
            text, _, _, sets, variables = rewritten(rewrite, plain, COUNTS | VALUES | SETS, folder)
            text, _, _, sets, variables = rewritten(rewrite, plain, SETS, folder)
            print(f"{mark(plain, text, sets, variables, 1)} bytes marked, {mark(plain, text, sets, variables, .5)} of halves")
    print("NVIDIA's assembler takes them all" if PTXAS else "not tried: NVIDIA's assembler, which is not here")


if __name__ == "__main__":
    main()
