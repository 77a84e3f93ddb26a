"""Accesses to remote memory, counted by the copy of a kernel (SONDE_PLAN_REMOTE): each access of which no parameter tells where it goes counts the threads
that went to each slot, and no other access counts any. With SONDE_PLAN_CELLS each access adds its bytes to the cells of the memory in which they lie. The truth
is where the plain kernel's accesses were, in an interpreter.

    remote.py REWRITE [PTXAS]
"""
import bisect
import collections
import os
import random
import struct
import subprocess
import sys
import tempfile

from interpreter import MULTIPROCESSORS, M64, Memory, Module

COUNTS, REMOTE, CELLS = 1, 32, 128  # src/instrument/plan.h
SLOTS, RANGES, KINDS, STEP = 32, 64, 3, 64

TYPES = [("u8", "%h0", 1), ("u16", "%h0", 2), ("u32", "%r0", 4), ("f32", "%f0", 4), ("u64", "%d0", 8), ("v2.f32", "{%f0, %f1}", 8), ("v4.u32", "{%r0, %r1, %r2, %r3}", 16),
         ("v2.u64", "{%d0, %d1}", 16)]


def kernels(target):
    """Threads that read where to go from a table: loads, stores, atomics, predicated both ways, in a loop of as many turns as the thread's
    number says; and stores through a parameter, which are not looked at."""
    text = [f".version {'7.8' if target >= 80 else '7.0'}", f".target sm_{target}", ".address_size 64"]
    for number, (type, registers, size) in enumerate(TYPES):
        text += [f".visible .entry remote{number}(.param .u64 remote{number}_0, .param .u64 remote{number}_1)", "{", ".reg .b16 %h<2>;",
                 ".reg .b32 %r<6>, %t, %n;", ".reg .b64 %d<4>, %table, %own, %at, %off;", ".reg .f32 %f<4>;", ".reg .pred %odd, %more;",
                 f"ld.param.u64 %table, [remote{number}_0];", f"ld.param.u64 %own, [remote{number}_1];",
                 "mov.u32 %t, %tid.x;", "mov.u32 %n, %ctaid.x;", "mad.lo.s32 %t, %n, 48, %t;", "mul.wide.u32 %off, %t, 8;", "add.s64 %table, %table, %off;",
                 "mul.wide.u32 %off, %t, 16;", "add.s64 %own, %own, %off;", "and.b32 %r5, %t, 1;", "setp.eq.u32 %odd, %r5, 1;", "and.b32 %n, %t, 3;", "add.u32 %n, %n, 1;",
                 "$again:", "ld.global.u64 %at, [%table];", f"ld.global.{type} {registers}, [%at+16];", f"st.global.{type} [%own], {registers};",
                 f"@%odd st.global.{type} [%at+32], {registers};", f"@!%odd ld.global.{type} {registers}, [%at];",
                 "atom.global.add.u32 %r4, [%at+48], 1;", "@%odd red.global.add.u64 [%at+56], 3;",
                 "add.s64 %table, %table, 768;", "sub.u32 %n, %n, 1;", "setp.ne.u32 %more, %n, 0;", "@%more bra $again;", "ret;", "}"]
    return "\n".join(text) + "\n"


def table_of(ranges, cells=None, array=0):
    """struct sonde_plan_remote; home is a stretch between two ranges, or none. `cells`: of the ranges that have some, (first, shift); `array`: where all are."""
    ranges, step = sorted(ranges), 1
    begin, end = (ranges[0][0], ranges[-1][0] + ranges[-1][1]) if ranges else (0, 0)
    nexts = [at for at, _, _ in ranges[1:]] + [M64]
    words = {at: first | shift for at, (first, shift) in (cells or {}).items()}
    rows = [(at, at + size, after, slot | words.get(at, 0) << 32) for (at, size, slot), after in zip(ranges, nexts)]
    while step < len(ranges):
        step *= 2
    home = rows[len(rows) // 2][1:3] if len(rows) > 1 else (0, 0)
    rows += [(M64, M64, M64, 0)] * (RANGES - len(rows))
    return struct.pack(f"<{6 + 4 * RANGES}Q", home[0], home[1] - home[0], begin, end - begin, step // 2 * 32, array, *(word for row in rows for word in row))


def run(text, name, suffix, ranges_of, seed, blocks, with_cells=False):
    """The memory afterwards, what the module saw, the remote memory that there is, the area, and of the ranges that have cells (first, shift), and these."""
    r, memory = random.Random(seed), Memory()
    module = Module(text, memory)
    objects = [memory.allocate(r.choice((64, 256, 1024))) for _ in range(24)]
    places = [at + 64 * r.randrange(memory.sizes[at] // 64) for at in r.choices(objects, k=4 * 96)]
    table = memory.allocate(8 * len(places))
    for k, at in enumerate(places):
        memory.write(table + 8 * k, 8, at)
    own, end = memory.allocate(16 * 96), memory.top
    ranges = ranges_of(r, [(at, memory.sizes[at]) for at in objects + ([own, table] if with_cells else [])])
    cells, used = {}, 0
    for at, size, _ in ranges if with_cells else ():
        shift = r.randrange(2, 7)
        if r.random() < .8:
            cells[at] = used, shift
            used += ((size - 1 >> shift) + STEP) // STEP * STEP
    array = memory.allocate(8 * KINDS * used + 8)
    part = words_of(blocks + blocks % 2)
    area = memory.allocate(8 * part * MULTIPROCESSORS)
    more = [area, table_of(ranges, cells, array)] if suffix else []
    module.launch(name + suffix, (2, 1), (48, 1), [table, own, *more])
    parts = [[memory.read(area + 8 * (part * m + k), 8) for k in range(part)] for m in range(MULTIPROCESSORS)]
    counted = [[memory.read(array + 8 * (KINDS * k + kind), 8) for kind in range(KINDS)] for k in range(used)]
    return bytes(memory.bytes[:end]), module, ranges, [sum(words) for words in zip(*parts)], cells, counted


CHECKED = 5  # accesses of a kernel whose addresses come from memory


def words_of(blocks):
    words = blocks + CHECKED * SLOTS
    return words + -words % 16


def none(r, objects):
    return []


def some(r, objects):
    return [(at, size, r.randrange(SLOTS)) for at, size in objects if r.random() < .4]


def one(r, objects):
    return [(*r.choice(objects), SLOTS - 1)]


def all_of(r, objects):
    return [(at, size, k % 3) for k, (at, size) in enumerate(objects)]


def slot_of(ranges, at):
    ranges = sorted(ranges)
    k = bisect.bisect_right(ranges, (at, 1 << 63, 0)) - 1
    return ranges[k][2] if k >= 0 and at < ranges[k][0] + ranges[k][1] else None


def cells_of(module, name, accesses, ranges, cells):
    """What the cells have in truth: of each access of a thread its bytes, in the cells in which they lie."""
    truth = collections.Counter()
    for statement, _, op, size in accesses:
        for place in module.visits[name][statement]:
            found = [at for at, length, _ in ranges if at <= place < at + length and at in cells]
            for at, byte in ((at, byte) for at in found for byte in range(size)):
                first, shift = cells[at]
                truth[first + (place + byte - at >> shift), {"ld": 0, "cp": 0, "st": 1}.get(op, 2)] += 1
    return truth


def main():
    rewrite, ptxas = sys.argv[1], next((path for path in sys.argv[2:3] if os.access(path, os.X_OK)), None)
    threads = in_cells = 0
    with tempfile.TemporaryDirectory(prefix="sonde-remote-") as folder:
        for target in (90, 60):
            plain = kernels(target)
            before, after = os.path.join(folder, "before.ptx"), os.path.join(folder, "after.ptx")
            with open(before, "w") as file:
                file.write(plain)
            said = subprocess.run([rewrite, before, after, str(COUNTS | REMOTE)], capture_output=True, text=True, check=True).stdout
            accesses = {}
            for line in map(str.split, said.splitlines()):
                if line[0] == "kernel":
                    mine = accesses.setdefault(line[1], [])
                    blocks = int(line[2])
                elif line[0] == "access":
                    mine.append((int(line[1]), int(line[7]), line[3], int(line[5]) * int(line[6])))
            with open(after) as file:
                text = file.read()
            finer = os.path.join(folder, "finer.ptx")
            subprocess.run([rewrite, before, finer, str(COUNTS | REMOTE | CELLS)], capture_output=True, check=True)
            with open(finer) as file:
                with_cells = file.read()
            assert ("match.any" in text) == (target >= 70)
            if ptxas:
                for path in (after, finer):
                    subprocess.run([ptxas, f"-arch=sm_{max(target, 80)}", path, "-o", os.path.join(folder, "after.cubin")], check=True)
            assert len(accesses) == len(TYPES), accesses
            for seed, (name, ranges_of) in enumerate((name, how) for name in accesses for how in (none, some, one, all_of)):
                checked = [statement for statement, parameter, *_ in accesses[name] if not parameter]
                assert len(checked) == CHECKED, (name, accesses[name])
                plainly, module, ranges, *_ = run(plain, name, "", ranges_of, seed, blocks)
                instrumented, _, _, area, *_ = run(text, name, "__sonde", ranges_of, seed, blocks)
                assert plainly == instrumented, f"{name} leaves other memory when it is instrumented"
                at = blocks + blocks % 2
                for number, statement in enumerate(checked):
                    counted = area[at + number * SLOTS:at + (number + 1) * SLOTS]
                    places = module.visits[name][statement]
                    truth = [0] * SLOTS
                    for slot in (slot_of(ranges, place) for place in places):
                        if slot is not None:
                            truth[slot] += 1
                    assert counted == truth, f"{name}, access {number}, {ranges_of.__name__}: {counted}, in truth {truth}"
                    threads += sum(truth)
                    assert sum(truth) == len(places) or ranges_of is not all_of
                plainly, module, ranges, _, cells, _ = run(plain, name, "", ranges_of, seed, blocks, True)
                instrumented, _, _, _, _, counted = run(with_cells, name, "__sonde", ranges_of, seed, blocks, True)
                assert plainly == instrumented, f"{name} leaves other memory when its cells are counted"
                truth = cells_of(module, name, accesses[name], ranges, cells)
                found = {(k, kind): bytes for k, kinds in enumerate(counted) for kind, bytes in enumerate(kinds) if bytes}
                assert found == truth, f"{name}, {ranges_of.__name__}: cells have {found}, in truth {dict(truth)}"
                in_cells += sum(found.values())
    assert threads > 10000 and in_cells > 100000
    print(f"{threads} accesses of threads to remote memory counted, {in_cells} bytes in cells" + ("" if ptxas else "; not tried: NVIDIA's assembler, which is not here"))


if __name__ == "__main__":
    main()
