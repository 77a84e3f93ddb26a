"""Some blocks of a grid are looked at (src/instrument/plan.h: `every`): the copy of a kernel leaves the same memory, its counts and values are those of the chosen
blocks' threads in the plain run, and what it marks as written is what all blocks wrote. The kernels are those of fixtures/, and one with shared
memory, a barrier, a loop and scopes of its own. NVIDIA's assembler must take all, and give them no more shared memory than before.

    blocks.py REWRITE [PTXAS]
"""
import os
import re
import struct
import subprocess
import sys
import tempfile

import rewrite
from interpreter import M32, MULTIPROCESSORS, Memory, Module
from rewrite import COUNTS, GUESSES, HERE, PTXAS, SETS, VALUES, Program, place, read, rewritten, start_of, together, truth_of

# Each block reverses what it has of memory, through shared memory, after it has added to it three times: in scopes with labels and registers of their own.
SCOPES = """.version 7.8
.target sm_80
.address_size 64
.visible .entry scopes(.param .u64 scopes_0, .param .u64 scopes_1)
{
.reg .b32 %r<6>;
.reg .b64 %d<6>;
.reg .pred %p<2>;
.shared .align 4 .b8 kept[128];
ld.param.u64 %d0, [scopes_0];
ld.param.u64 %d1, [scopes_1];
mov.u32 %r0, %ctaid.x;
mov.u32 %r1, %tid.x;
mad.lo.s32 %r2, %r0, 32, %r1;
mul.wide.u32 %d2, %r2, 4;
add.u64 %d0, %d0, %d2;
add.u64 %d1, %d1, %d2;
ld.global.u32 %r3, [%d0];
mov.u32 %r4, 3;
{
.reg .b32 %r3x;
$again:
add.u32 %r3, %r3, 7;
sub.u32 %r4, %r4, 1;
setp.ne.u32 %p0, %r4, 0;
@%p0 bra $again;
}
mul.wide.u32 %d3, %r1, 4;
mov.u64 %d4, kept;
add.u64 %d3, %d4, %d3;
st.shared.u32 [%d3], %r3;
bar.sync 0;
sub.u32 %r5, 31, %r1;
mul.wide.u32 %d3, %r5, 4;
add.u64 %d3, %d4, %d3;
ld.shared.u32 %r3, [%d3];
{
$again:
st.global.u32 [%d1], %r3;
add.u32 %r4, %r4, 1;
setp.lt.u32 %p1, %r4, 2;
@%p1 bra $again;
}
ret;
}
"""
GRID = 19


def launches(name, memory):
    if name == "scopes":
        return [((GRID, 1), (32, 1), [memory.array([k * 5 + 1 for k in range(32 * GRID)]), memory.array([0] * (32 * GRID))])]
    return rewrite.launches(name, memory)


def chosen(number, blocks, every):
    """By the words of plan.h."""
    of, at = divmod(number, every)
    h = (of + 1) * 2654435761 & M32
    h ^= h >> 15
    h = h * 2246822519 & M32
    h ^= h >> 13
    return at == h * min(every, blocks - of * every) >> 32


def run(text, name, suffix, behind, variables, every=1):
    memory = Memory()
    module = Module(text, memory)
    module.looks = lambda number, blocks: chosen(number, blocks, every)
    given, end = launches(name, memory), memory.top
    program = Program(module, memory, variables)
    more = behind(memory, given)
    for grid, block, parameters in given:
        module.launch(name + suffix, grid, block, parameters + more + program.parameters())
    program.give_back()
    return memory, bytes(memory.bytes[:end]), module, given, more


def compare(plain, made, plan, every):
    """How many values of chosen blocks, and of how many all in all."""
    text, kernels, _, _, variables = made
    seen = everything = 0
    for name, (blocks, accesses, front) in kernels.items():
        sizes = [a[4] for a in accesses]
        part = start_of(blocks, sizes, plan)
        head = front if plan & GUESSES else []
        _, before, module, _, _ = run(plain, name, "", lambda *_: [], [], every)
        _, _, whole, _, _ = run(plain, name, "", lambda *_: [], [])
        memory, after, _, _, more = run(text, name, "__sonde", lambda memory, _: [place(memory, head + part * MULTIPROCESSORS) + 8 * len(head)], variables[name])
        assert before == after, f"{name} leaves other memory when some of its blocks are looked at"
        if plan & GUESSES:
            continue
        counts, got = together(read(memory, more[0], len(part) * MULTIPROCESSORS), len(part), blocks, blocks & 1, [a[3:5] for a in accesses])
        for k, (statement, block, op, type, size, _) in enumerate(accesses):
            truth = module.executed[name][statement]
            assert counts[block] == truth, f"{name}, 1 of {every}: block {block} counts {counts[block]}, in truth {truth}"
            truth = truth_of(module.values[name][statement], type, size)
            assert got[k] == truth, f"{name}, 1 of {every}: access {k} ({op} {type}{size}): {got[k]}, in truth {truth}"
            seen += len(module.values[name][statement])
            everything += len(whole.values[name][statement])
    return seen, everything


def mark(plain, made, every):
    """Bytes that all blocks of `scopes` wrote, and marked."""
    text, _, _, sets, variables = made
    (parameter, _, grain), = sets["scopes"]
    size, area = 4 * 32 * GRID, {}

    def behind(memory, given):
        at = given[0][2][parameter - 1]
        area["marks"] = memory.allocate(size // grain + 64)
        blocks, accesses, front = made[1]["scopes"]
        return [place(memory, start_of(blocks, [a[4] for a in accesses], COUNTS | VALUES) * MULTIPROCESSORS), struct.pack("<3Q", at, size, area["marks"])]

    memory, *_ = run(text, "scopes", "__sonde", behind, variables["scopes"])
    assert all(memory.read(area["marks"] + m, 1) for m in range(size // grain)), f"1 of {every}: what the other blocks wrote is not marked"
    return size


def shared_bytes(text, folder):
    """Of each kernel, by NVIDIA's assembler."""
    path = os.path.join(folder, "shared.ptx")
    with open(path, "w") as file:
        file.write(text)
    said = subprocess.run([PTXAS, "-v", "-arch=sm_90", path, "-o", os.path.join(folder, "shared.cubin")], capture_output=True, text=True, check=True).stderr
    return {name: int((re.search(r"(\d+) bytes smem", rest) or [0, 0])[1]) for name, rest in re.findall(r"entry function '(\w+)'(.*?)(?=Compiling|\Z)", said, re.S)}


def main():
    tool = sys.argv[1]
    with open(os.path.join(HERE, "fixtures", "kernels.ptx")) as file:
        nvcc = file.read()
    for blocks in range(1, 60):
        for every in (2, 3, 7, 64):
            assert sum(chosen(n, blocks, every) for n in range(blocks)) == -(-blocks // every)
    with tempfile.TemporaryDirectory(prefix="sonde-blocks-") as folder:
        for plain in SCOPES, nvcc:
            for every in 2, 3, 16:
                made = rewritten(tool, plain, f"{COUNTS | VALUES}/{every}", folder)
                seen, everything = compare(plain, made, COUNTS | VALUES, every)
                assert 0 < seen < everything, (seen, everything)
                print(f"1 of {every} blocks: {seen} of {everything} values")
            compare(plain, rewritten(tool, plain, f"{COUNTS | VALUES | GUESSES}/4", folder), COUNTS | VALUES | GUESSES, 4)
            if PTXAS:
                shared = shared_bytes(made[0], folder)
                assert all(shared[name] == shared[name[:-len("__sonde")]] for name in shared if name.endswith("__sonde")) and any(shared.values()), shared
        print(f"{mark(SCOPES, rewritten(tool, SCOPES, f'{COUNTS | VALUES | SETS}/5', folder), 5)} bytes marked")


if __name__ == "__main__":
    main()
