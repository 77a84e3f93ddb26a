"""The PTX reader finds what the compiler put there: kernels made at random, as LLVM's intermediate code and as the PTX made from that.

    clang.py ACCESSES [KERNELS]

Each load, store and atomic of global memory in the one must be one in the other: same kernel, operation, size and source line.
"""
import collections
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
SCALARS = {"char": 1, "short": 2, "int": 4, "uint": 4, "long": 8, "float": 4, "double": 8}
VECTORS = {"char4": 4, "short2": 4, "int2": 8, "int4": 16, "float2": 8, "float4": 16, "long2": 16}
ALIASES = "".join(f"typedef {base} {base}{n} __attribute__((ext_vector_type({n})));\n"
                  for base, n in (("char", 4), ("short", 2), ("int", 2), ("int", 4), ("float", 2), ("float", 4), ("long", 2)))


def statement(r, pointers, depth=0):
    what = r.random()
    at = lambda: r.choice(["i", "i + %d" % r.randrange(1, 9), "i * %d" % r.randrange(2, 5), "n - i"])
    if what < 0.2 and depth < 2:
        inner = [line for _ in range(r.randrange(1, 4)) for line in statement(r, pointers, depth + 1)]
        head = r.choice(["if (n > %d) {" % r.randrange(100), "for (int k = i; k < n; k += %d) {" % r.randrange(1, 9), "if (p0[i] != 0) {"])
        return [head, *inner, "}"]
    if what < 0.3:
        ints = [name for name, type in pointers if type in ("int", "uint", "long")]
        if ints:
            return ["__sync_fetch_and_add(&%s[%s], %d);" % (r.choice(ints), at(), r.randrange(1, 9))]
    name, type = r.choice(pointers)
    # A load of an integer that is cut off afterwards is a shorter load to the backend.
    real = lambda t: t in ("float", "double")
    same = [o for o, t in pointers if t == type or (type in SCALARS and t in SCALARS and (real(type) or real(t)))]
    if what < 0.5:
        return ["%s[%s] = %s[%s];" % (name, at(), r.choice(same), at())]
    if what < 0.6 and type in SCALARS:
        return ["s[%s & 31] += %s[%s];" % (r.choice("in"), name, at())]  # shared memory: none of ours
    if what < 0.7:
        return ["*(volatile __global %s *)&%s[%s] = %s[%s];" % (type, name, at(), name, at())]
    return ["%s[%s] += %s[%s];" % (name, at(), r.choice(same), at())]


def kernel(r, number):
    pointers = [("p0", "int")] + [("p%d" % k, r.choice([*SCALARS, *VECTORS])) for k in range(1, r.randrange(2, 6))]
    lines = ["__kernel void k%d(%s, int n)" % (number, ", ".join("__global %s *%s" % (t, n) for n, t in pointers)),
             "{", "__local float s[32];", "int i = __nvvm_read_ptx_sreg_tid_x();"]
    for _ in range(r.randrange(2, 9)):
        lines += statement(r, pointers)
    return lines + ["}"]


def bytes_of(type):
    if match := re.match(r"<(\d+) x (\w+)>", type):
        return int(match.group(1)) * bytes_of(match.group(2))
    return {"half": 2, "float": 4, "double": 8}.get(type) or int(type[1:]) // 8


def of_llvm(text):
    """Sizes by kernel, operation and line; a vector is as many bytes as it has, since the backend may split it."""
    lines = {m.group(1): int(m.group(2)) for m in re.finditer(r"^(!\d+) = (?:distinct )?!DILocation\(line: (\d+)", text, re.M)}
    found, vectors, name = collections.defaultdict(collections.Counter), set(), None
    for line in text.splitlines():
        if match := re.match(r"define .*@(\w+)\(", line):
            name = match.group(1)
        for op, form in (("load", r"= load (?:volatile )?(<[^>]+>|\w+), .*addrspace\(1\)\* "),
                         ("store", r"^\s+store (?:volatile )?(<[^>]+>|\w+) .*addrspace\(1\)\* "),
                         ("atomic", r"= atomicrmw \w+ .* addrspace\(1\)\* \S+, (\w+)")):
            if match := re.search(form, line):
                debug = re.search(r"!dbg (!\d+)", line)
                key = name, op, lines[debug.group(1)] if debug else 0
                found[key][bytes_of(match.group(1))] += 1
                if match.group(1).startswith("<"):
                    vectors.add(key)
    return found, vectors


def of_reader(accesses, path):
    found = collections.defaultdict(collections.Counter)
    for line in subprocess.run([accesses, path], capture_output=True, text=True, check=True).stdout.splitlines():
        name, op, size, at = line.split()
        found[name, "atomic" if op == "reduction" else op, int(at)][int(size)] += 1
    return found


def main():
    accesses, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60
    clang, llc = shutil.which("clang-14") or shutil.which("clang"), shutil.which("llc-14") or shutil.which("llc")
    if not clang or not llc or "nvptx64" not in subprocess.run([llc, "--version"], capture_output=True, text=True).stdout:
        print("skipped: clang or llc for nvptx64 is missing")
        return SKIP
    r = random.Random(20261122)
    source = ALIASES.splitlines() + [line for k in range(count) for line in kernel(r, k)]
    with tempfile.TemporaryDirectory(prefix="sonde-ptx-") as folder:
        at = lambda name: os.path.join(folder, name)
        with open(at("k.cl"), "w") as file:
            file.write("\n".join(source) + "\n")
        done = subprocess.run([clang, "-x", "cl", "-cl-std=CL1.2", "--target=nvptx64-nvidia-cuda", "-O1", "-gline-tables-only", "-S", "-emit-llvm",
                               "-o", at("k.ll"), at("k.cl")], capture_output=True, text=True)
        if done.returncode:
            print(done.stderr[-3000:])
            return 1
        with open(at("k.ll")) as file:
            code = file.read().replace(" seq_cst", " monotonic")  # for the others this backend has no instruction
        with open(at("k.ll"), "w") as file:
            file.write(code)
        # Without its own optimizations: these would join neighbours.
        subprocess.run([llc, "-O0", "-march=nvptx64", "-mcpu=sm_80", "-o", at("k.ptx"), at("k.ll")], check=True)
        (truth, vectors), found = of_llvm(code), of_reader(accesses, at("k.ptx"))
    # What was moved out of a loop has no line: then the kernel is compared as a whole.
    for at_all in [key[:2] for key in truth if key[2] == 0]:
        for all_of in (truth, found):
            for key in [key for key in all_of if key[:2] == at_all and key[2]]:
                all_of[*at_all, 0] += all_of.pop(key)
        if any(key[:2] == at_all for key in vectors):
            vectors.add((*at_all, 0))
    wrong, by_op = 0, collections.Counter()
    for key in sorted(set(truth) | set(found)):
        a, b = truth.get(key, collections.Counter()), found.get(key, collections.Counter())
        by_op[key[1]] += sum(a.values())
        if a != b if key not in vectors else sum(a.elements()) != sum(b.elements()):
            print(*key, "in truth", dict(a), "found", dict(b), "|", source[key[2] - 1] if key[2] else "")
            wrong += 1
    print(f"{count} kernels: " + ", ".join(f"{n} of {op}" for op, n in by_op.items()))
    return 1 if wrong or sum(by_op.values()) < 5 * count or set(by_op) != {"load", "store", "atomic"} else 0


if __name__ == "__main__":
    sys.exit(main())
