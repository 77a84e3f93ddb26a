#!/usr/bin/env python3
"""What `sonde record --values=all` says of the accesses of OpenCL kernels, against oclgrind, which executes them one by one.

    accesses.py --sonde S --rows R --program P --source FILE.cl --plugin LIB --work DIR --cache DIR [--runtime LIBRARY] [--il]

Each kernel has three buffers of its own. For each of them, loads and stores apart, the number of elements, their OR and AND, the
least and the most are the same, and of an access all of whose elements were compared with a guess, how many match. So is, of elements of each size, how many were
written, and how many of these hold what they held before. The program prints what it prints without Sonde. Elements have the size and type that Sonde says;
oclgrind knows of bytes only.
"""
import argparse
import json
import os
import re
import shutil
import struct
import subprocess
import sys

import il

BUFFER = 32784
LOAD, STORE = 0, 1       # enum sonde_access
UNSIGNED, SIGNED, FLOAT = 1, 2, 3 # enum sonde_element
UNKNOWN = "buffers"      # where it is not known which of them


def run(command, env):
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if run.returncode or re.sub(r"(?m)^\d+ warnings? generated\.\n", "", run.stderr): # PoCL's compiler counts them there, where the processor lacks AVX-512
        sys.exit(f"{command}: {run.returncode}\n{run.stdout}{run.stderr}")
    return run.stdout.splitlines()


class Written:
    """A buffer as it was, as it is, and which of its bytes were written."""

    def __init__(self, before):
        self.before, self.now, self.marks = before, bytearray(before), bytearray(len(before))

    def put(self, at, data):
        self.now[at:at + len(data)] = data
        self.marks[at:at + len(data)] = b"\1" * len(data)

    def elements(self, size):
        """[written, unchanged], of whole elements of a size."""
        whole = [i for i in range(0, len(self.before) - size + 1, size) if all(self.marks[i:i + size])]
        return [len(whole), sum(self.now[i:i + size] == self.before[i:i + size] for i in whole)]


def oracle(path, names):
    """{(kernel, buffer, what): [(offset, bytes) of each access]}, {kernel: atomics} and {(kernel, buffer): Written}, in oclgrind's words."""
    places, found, atomics, kernel, held, written = [], {}, {}, 0, {}, {}
    for line in open(path):
        kind, *rest = line.split()
        if kind == "buffer":
            if int(rest[1]) == BUFFER:
                places.append(int(rest[0], 16))
        elif kind == "end":
            kernel += 1
        else:
            address = int(rest[0], 16)
            inside = [(n, address - start) for n, start in enumerate(places[3 * kernel:3 * kernel + 3]) if start <= address < start + BUFFER]
            if not inside:
                continue  # a constant of the program
            (n, at), = inside
            if kind == "before":
                held[n] = bytes.fromhex(rest[1])
                continue
            if kind in ("store", "final"):
                written.setdefault((names[kernel], n), Written(held[n])).put(at, bytes.fromhex(rest[1]))
            if kind == "atomic":
                atomics[names[kernel]] = atomics.get(names[kernel], 0) + 1
            elif kind != "final":
                found.setdefault((names[kernel], n, LOAD if kind == "load" else STORE), []).append((at, bytes.fromhex(rest[1])))
    if kernel != len(names):
        sys.exit(f"oclgrind ran {kernel} of {len(names)} kernels")
    return found, atomics, written


def combine(data, size, type):
    """(elements, OR, AND, least, most) as docs/developers/format.md has them."""
    elements = [int.from_bytes(data[i:i + size], "little") for i in range(0, len(data), size)]
    any, all, numbers = 0, 2**64 - 1, []
    for e in elements:
        any |= e
        all &= e
        signed = e - 2**(8 * size) if e >> (8 * size - 1) else e
        if type == FLOAT:
            value = struct.unpack("<f" if size == 4 else "<d", e.to_bytes(size, "little"))[0]
            if value == value:
                numbers.append(signed if signed >= 0 else signed ^ (2**(8 * size - 1) - 1))
        else:
            numbers.append(signed if type == SIGNED or size >= 4 else e)
    return len(elements), any, all, min(numbers, default=2**63 - 1), max(numbers, default=-2**63)


def matching(data, size, type, value, slope, offset):
    """How many elements are the value, and how many lie on the line, by their place in the buffer."""
    equal = lined = 0
    for at, bytes in data:
        for i in range(0, len(bytes), size):
            e, index = int.from_bytes(bytes[i:i + size], "little"), (at + i) // size
            equal += e == value
            if type == FLOAT:
                a, b = struct.unpack("<dd", struct.pack("<qq", slope, offset))
                on = a * index + b
                own = struct.unpack("<f" if size == 4 else "<d", bytes[i:i + size])[0]
                try:
                    lined += own == (struct.unpack("<f", struct.pack("<f", on))[0] if size == 4 else on)
                except OverflowError:  # beyond the largest float
                    lined += own in (float("inf"), float("-inf")) and (own > 0) == (on > 0)
            else:
                lined += (slope * index + offset - e) % 2**(8 * size) == 0
    return equal, lined if slope else 0


def join(a, b):
    return a[0] + b[0], a[1] | b[1], a[2] & b[2], min(a[3], b[3]), max(a[4], b[4])


def main():
    parser = argparse.ArgumentParser()
    for name in ("sonde", "rows", "program", "source", "plugin", "work", "cache"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--runtime", help="an OpenCL runtime's library, in place of PoCL")
    parser.add_argument("--il", action="store_true", help="Sonde sees a program that was made of the SPIR-V of that source")
    o = parser.parse_args()
    if o.runtime and not (os.path.exists(o.runtime) and any(shutil.which(f"clang-{version}") for version in range(15, 31))):
        print(f"skipped: {o.runtime} (tests/values/intel.sh) or clang-15 or newer is not there")
        sys.exit(77)
    if o.il and not il.tools():
        print("skipped: no clang-15 with llvm-spirv-15, or both newer")
        sys.exit(77)
    path, seen = os.path.join(o.work, "accesses.sonde"), os.path.join(o.work, "accesses.txt")
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(o.work, exist_ok=True)
    os.makedirs(o.cache, exist_ok=True)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SONDE_", "OPENCL_LAYERS", "LD_PRELOAD"))}
    env["POCL_CACHE_DIR"] = o.cache
    command = [o.program, o.source]
    grind = dict(env)
    if o.runtime:
        env["OCL_ICD_VENDORS"] = os.path.join(o.work, "runtime.icd")
        with open(env["OCL_ICD_VENDORS"], "w") as f:
            f.write(o.runtime + "\n")
    whole = command
    if o.il:
        command = [o.program, os.path.join(o.work, "accesses.spv")]
        il.make(o.source, command[1], "--preserve-ocl-kernel-arg-type-metadata-through-string")
    plain = run(command, env)
    names = [line.split()[0] for line in plain]
    said = run([o.sonde, "record", "-q", "-o", path, "--values=all", "--", *command], env)
    wrong = [f"{a} became {b}" for a, b in zip(plain, said) if a != b] + [""] * abs(len(plain) - len(said))
    as_written = ["--build-options", "-cl-opt-disable"] if o.runtime else []  # as Sonde compiles it where it has only the source
    run(["oclgrind", *as_written, "--plugins", o.plugin, *whole], {**grind, "ACCESSES": seen})
    truth, atomics, written = oracle(seen, names)
    # Sonde's rows, by (kernel, buffer, what).
    found, operations, changes = {}, {}, {}
    for line in run([o.rows, path], env):
        kind, kernel, *rest = line.split()
        if kind == "access":
            object, what, type, size, *numbers = [int(x) for x in rest]
            place = (object - 1) % 3 if object else UNKNOWN
            found.setdefault((kernel, place, what), []).append((size, type, numbers))
        elif kind == "value":
            object, flags, _, _, _, *counts = [int(x) for x in rest]
            changes[kernel, (object - 1) % 3] = (flags, counts)
        elif kind == "missed":
            operations.setdefault(kernel, []).append([int(x) for x in rest])
    for kernel in names:
        if operations.get(kernel) != [[0, 1]]:
            wrong.append(f"{kernel}: not looked at: {operations.get(kernel)}")
    signs = {type for (kernel, *_), rows in found.items() if kernel == "uints" for _, type, _ in rows}
    if signs != {UNSIGNED}:
        wrong.append(f"uints: types {signs}")
    # Where Sonde does not know the buffer of some, all buffers are one.
    for kernel in {k for k, place, _ in found if place == UNKNOWN}:
        for table in truth, found:
            for key in [k for k in table if k[0] == kernel and k[1] != UNKNOWN]:
                table.setdefault((kernel, UNKNOWN, key[2]), []).extend(table.pop(key))
    compared = guessed = 0
    for key in sorted(set(truth) | set(found), key=str):
        rows = [r for r in found.get(key, []) if r[2][0]]
        shapes = {r[:2] for r in rows}
        if not rows and key in truth:
            wrong.append(f"{key}: {len(truth[key])} accesses are missing")
        for size, type in shapes:
            sums = None
            for numbers in (n for s, t, n in rows if (s, t) == (size, type)):
                sums = join(sums, numbers) if sums else numbers[:5]
            # Of several sizes, each has the accesses that are as large; else a vector may be one access.
            data = [d for d in truth.get(key, []) if len(shapes) == 1 or len(d[1]) == size]
            expected = combine(b"".join(d[1] for d in data), size, type)
            compared += 1
            if tuple(sums) != expected:
                wrong.append(f"{key} of {size} bytes, type {type}: {tuple(sums)}, oclgrind {expected}")
            (numbers, *more) = [n for s, t, n in rows if (s, t) == (size, type)]
            if not more and key[1] != UNKNOWN and numbers[5] == numbers[0]:
                guessed += 1
                equal, lined = matching(data, size, type, *numbers[8:11])
                if [equal, lined] != numbers[6:8]:
                    wrong.append(f"{key} of {size} bytes, type {type}: {numbers}, oclgrind counts {equal} and {lined}")
    objects = set(written) | set(changes)
    for key in sorted(objects):
        flags, counts = changes.get(key, (0, None))
        expected = sum((written[key].elements(size) for size in (1, 2, 4, 8)), []) if key in written else [0] * 8
        if flags or counts != expected:
            wrong.append(f"{key}: flags {flags}, wrote {counts}, oclgrind {expected}")
    answer = json.loads("".join(run([o.sonde, "report", path, "values", "--json"], env)))
    engines = {c["kernel"]: (c["engine"], c["launches"], c["looked_at"]) for c in answer["coverage"]}
    for kernel in names:
        if engines.get(kernel) != ("spirv", 1, 1):
            wrong.append(f"{kernel}: coverage {engines.get(kernel)}")
    if not atomics.get("counts"):
        wrong.append("oclgrind saw no atomics")
    for text in wrong:
        print("FAIL", text)
    print(f"{len(names)} kernels, {compared} sums and {guessed} guesses and {len(objects)} objects compared, {len(wrong)} wrong")
    sys.exit(bool(wrong) or compared < 2 * len(names) - 4 or guessed < 40 or len(objects) < len(names))


if __name__ == "__main__":
    main()
