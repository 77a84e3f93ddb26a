#!/usr/bin/env python3
"""Which lines of memory a hook touches, and whose they are: bench/lines.py BUILD [--native]

Runs the load *frames* of imitation.py in gdb, which takes one hook instruction by instruction after the same call came 450 times, and
reads from each instruction what it fetches, loads and stores. Prints lines (64 bytes) and pages by owner (the last symbol before, so that
thread-local memory and what has no name stand under a neighbour's), before and after the runtime's call, and what is only fetched ahead.
--native: without Python. It is the Python that runs this which is measured. Needs gdb, and a library built by the target bench-imitation.
"""
import bisect, collections, json, os, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# The bench's own, and what a hook does that takes as long as one under gdb.
LEFT_OUT = {"imitation_call", "sonde_call_end.cold", "judge_long", "sonde__count"}

# Runs in gdb. Of each instruction: half of the hook, kind, address, bytes.
STEPS = r'''
import gdb, json, re
SIZES = {"BYTE": 1, "WORD": 2, "DWORD": 4, "QWORD": 8, "XMMWORD": 16, "YMMWORD": 32}
OPERAND = re.compile(r"(?:(\w+) PTR )?(fs:)?(?:\[([^\]]+)\]|(?<=fs:)(0x[0-9a-f]+))")

def register(name):
    return int(gdb.parse_and_eval("(unsigned long)$" + name)) & (1 << 64) - 1

def address_of(text, after):
    total = 0
    for sign, term in re.findall(r"([+-]?)([^+-]+)", text):
        name, _, scale = term.partition("*")
        if name[0].isdigit():
            value = int(name, 0)
        else:
            value = after if name == "rip" else register(name)
        total += (-1 if sign == "-" else 1) * value * int(scale or "1", 0)
    return total & (1 << 64) - 1

def accesses(asm, after):
    op, _, rest = asm.partition(" ")
    if op in ("push", "call"):
        yield "data", register("rsp") - 8, 8
    elif op in ("pop", "ret", "leave"):
        yield "data", register("rbp" if op == "leave" else "rsp"), 8
    if op.startswith(("lea", "nop")) and op != "leave" or "cs nop" in asm:
        return
    for size, fs, inner, absolute in OPERAND.findall(rest.split(" #")[0]):
        at = address_of(inner or absolute, after) + (register("fs_base") if fs else 0)
        yield ("fetched" if op.startswith("prefetch") else "data"), at & (1 << 64) - 1, SIZES.get(size, 8)

def in_clock():
    return gdb.selected_frame().name() == "clock_gettime"

def one_hook():
    architecture = gdb.selected_frame().architecture()
    out, part, clock = [], "begin", set()
    gdb.execute("set scheduler-locking on")
    while True:
        pc = register("pc")
        step = architecture.disassemble(pc)[0]
        out.append((part, "code", pc, step["length"]))
        out.extend((part, *a) for a in accesses(step["asm"], pc + step["length"]))
        # The kernel's clock begins anew when its figures changed meanwhile, which takes no longer than a step.
        clock = clock | {pc} if in_clock() else set()
        gdb.execute("stepi", to_string=True)
        if clock and register("pc") in clock:
            gdb.execute("finish", to_string=True)
        mark = int(gdb.parse_and_eval("*(unsigned long *)" + hex(MARK)))
        if mark == 2:
            return out
        part = {1: "begin", 3: "call", 4: "end"}[mark]

gdb.execute("set pagination off")
gdb.execute("set disassembly-flavor intel")
gdb.execute("set breakpoint pending on")
gdb.execute("set startup-with-shell off")
gdb.execute("break imitation_where")
gdb.execute("run", to_string=True)
MARK = int(gdb.parse_and_eval("(unsigned long)&bench_mark"))
gdb.execute("delete")
gdb.execute("break sonde_call_begin")
gdb.execute("continue", to_string=True)
gdb.execute("delete")
steps = [x for x in one_hook() if x[0] != "call"]
with open(OUT, "w") as f:
    json.dump(steps, f)
gdb.execute("kill")
'''


def hook(build, python):
    """Ranges and maps that the program printed, and the steps."""
    library = f"{build}/bench/libbench-imitation.so"
    with tempfile.TemporaryDirectory() as folder:
        script, out = f"{folder}/steps.py", f"{folder}/steps.json"
        with open(script, "w") as f:
            f.write(f"OUT = {out!r}\n" + STEPS)
        command = ["gdb", "-nx", "-batch", "-ex", f"set environment LD_PRELOAD {library}", "-ex", "set environment IMITATION_WHERE 1"]
        if not python:
            command += ["-ex", "set environment SONDE_PYTHON 0"]
        command += ["-x", script, "--args", sys.executable, "-S", f"{HERE}/imitation.py", "--child", "--steps", "150"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder)
        if not os.path.exists(out):
            sys.exit(done.stdout)
        with open(out) as f:
            steps = json.load(f)
    lines = done.stdout.splitlines()
    ranges = [(int(l[2], 16), int(l[3], 16), l[1]) for l in map(str.split, lines) if l[:1] == ["range"]]
    return ranges, [l.split() for l in lines if l.startswith("map ")], steps


def symbols(path):
    out = subprocess.run(["nm", "--defined-only", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    rows = sorted((int(l[0], 16), l[2]) for l in map(str.split, out.splitlines()) if len(l) == 3 and l[1] not in "aA")
    return [a for a, _ in rows], [n for _, n in rows]


class Owner:
    def __init__(self, ranges, maps):
        self.ranges, self.maps, self.base, self.tables = ranges, [], {}, {}
        for m in maps:
            low, high = (int(x, 16) for x in m[1].split("-"))
            path = m[6] if len(m) > 6 else ""
            if not path and self.maps and self.maps[-1][1] == low and self.maps[-1][2].startswith("/"):
                path = self.maps[-1][2]  # its .bss
            self.base.setdefault(path, low)
            self.maps.append((low, high, path))

    def __call__(self, address):
        for low, high, name in self.ranges:
            if low <= address < high:
                return f"{name} +{(address - low) // 64 * 64}" if name == "thread" else name
        path = next((path for low, high, path in self.maps if low <= address < high), "mapped later")
        if not path.startswith("/"):
            return path or "memory"
        if path not in self.tables:
            self.tables[path] = symbols(path)
        starts, names = self.tables[path]
        i = bisect.bisect_right(starts, address - self.base[path]) - 1
        return os.path.basename(path) + ": " + (names[i] if i >= 0 else "?")


def owned(steps, owner):
    """Without what is left out."""
    for part, kind, address, size in steps:
        if kind == "code":
            out = owner(address).rpartition(": ")[2] in LEFT_OUT
        if not out:
            yield part, kind, address, size


def main():
    ranges, maps, steps = hook(os.path.abspath(sys.argv[1]), "--native" not in sys.argv)
    owner = Owner(ranges, maps)
    steps = list(owned(steps, owner))
    print(f"{sum(kind == 'code' for _, kind, _, _ in steps)} instructions")
    for kind in ("code", "data", "fetched"):
        lines = {}
        for part, what, address, size in steps:
            if what == kind:
                for line in range(address // 64, (address + size - 1) // 64 + 1):
                    lines.setdefault(line, (part, set()))[1].add(owner(max(address, line * 64)))
        print(f"{kind}: {len(lines)} lines on {len({l // 64 for l in lines})} pages")
        groups = collections.defaultdict(list)
        for line, (part, names) in lines.items():
            groups[part, ", ".join(sorted(names))].append(line)
        for (part, names), them in groups.items():
            print(f"  {part:6}{len(them):3} on {len({l // 64 for l in them}):2}  {names}")


if __name__ == "__main__":
    main()
