"""A small interpreter of PTX: warps in lock step, the lowest statement first. Only what occurs in the kernels of fixtures/kernels.cu and in
what is put into them is known; anything else is an error.
"""
import fractions
import functools
import math
import operator
import re
import struct

M32, M64 = 0xffffffff, 0xffffffffffffffff
MULTIPROCESSORS = 3  # blocks take turns on them
GLOBAL = 0x7f0000000000  # where its memory begins
PARAMETERS = 1 << 60     # addresses of parameters, each has so many bytes:
PARAMETER_BYTES = 1 << 16


def to_bits(value, type="f32"):
    if type == "f64":
        return struct.unpack("<Q", struct.pack("<d", value))[0]
    try:
        return struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        return 0x7f800000 if value > 0 else 0xff800000


def to_float(value, type="f32"):
    return struct.unpack("<d", struct.pack("<Q", value & M64))[0] if type == "f64" else struct.unpack("<f", struct.pack("<I", value & M32))[0]


def signed(value, n):
    return value - (1 << n) if value >> (n - 1) & 1 else value


@functools.cache
def bits(type):
    return int(re.sub(r"\D", "", type) or 1)


@functools.cache
def literal(name):
    """The bits of a constant; None: it is none."""
    if name.startswith(("0f", "0d")):
        return int(name[2:], 16)
    return int(name, 0) & M64 if re.match(r"-?\d", name) else None


@functools.cache
def place_of(arguments):
    """Of a load's or store's: (base, offset) of its address, and what it loads or stores."""
    address = next(a for a in arguments if a.startswith("["))[1:-1]
    base, offset = re.match(r"\s*([^+]+?)\s*(?:\+\s*(-?\d+))?$", address).groups()
    return base, int(offset or 0), [[x.strip() for x in arguments[k].strip("{}").split(",")] for k in (0, -1)]


def read_statements(text):
    """(kind, text) of "head", "open", "close", "label" and "statement"; directives and comments are left out."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"^\s*\.(version|target|address_size|file|loc)\b[^\n]*", "", text, flags=re.M)
    text = re.sub(r"\.section[^{]*\{[^}]*\}", "", text)
    at = 0
    while match := re.compile(r"\s*(?:([{}])|([\w$%]+)\s*:(?!:)|((?:\.(?:visible|weak|extern)\s+)*\.(?:entry|func)\b[^{;]*)(?=\{)"
                              r"|((?:[^;{}]|\{[^}]*\})+);)").match(text, at):
        at = match.end()
        brace, label, head, statement = match.groups()
        if brace:
            yield "open" if brace == "{" else "close", brace
        elif label:
            yield "label", label
        else:
            yield "head" if head else "statement", (head or statement).strip()
    if text[at:].strip():
        raise SyntaxError(text[at:at + 80])


class Memory:
    def __init__(self, size=1 << 20):
        self.bytes, self.top, self.sizes = bytearray(size), 256, {}

    def allocate(self, size):
        at, self.top = self.top, (self.top + size + 255) & ~255
        self.sizes[GLOBAL + at] = size
        return GLOBAL + at

    def read(self, at, size):
        at -= GLOBAL
        assert 256 <= at <= self.top - size, hex(at)
        return int.from_bytes(self.bytes[at:at + size], "little")

    def write(self, at, size, value):
        at -= GLOBAL
        assert 256 <= at <= self.top - size, hex(at)
        self.bytes[at:at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def array(self, words):
        at = self.allocate(4 * len(words))
        for k, word in enumerate(words):
            self.write(at + 4 * k, 4, word)
        return at


@functools.cache
def parse(text):
    """(kernels, variables) of a module; nobody changes them."""
    kernels, variables, depth, kernel, scope, scopes = {}, [], 0, None, (), 0
    for kind, s in read_statements(text):
        if kind == "head":
            name = re.search(r"\.(?:entry|func)\s*(?:\([^)]*\)\s*)?([\w$]+)", s).group(1)
            kernel = kernels[name] = {"parameters": re.findall(r"\.param\s[^,)]*?([\w$]+)(?:\[\d+\])?\s*(?=[,)])", s), "code": [],
                                      "labels": {}, "shared": {}, "shared_bytes": 0, "local": {}, "local_bytes": 0}
        elif kind in ("open", "close"):
            depth += 1 if kind == "open" else -1
            scopes += 1
            scope = scope + (scopes,) if kind == "open" else scope[:-1]
        elif kind == "label":
            assert (scope, s) not in kernel["labels"], s
            kernel["labels"][scope, s] = len(kernel["code"])
        elif depth == 0:
            match = re.match(r"(?:\.visible\s+)?\.(global|const)\s+(?:\.align\s+\d+\s+)?\.([bus]\d+)\s+([\w$]+)(?:\[(\d+)\])?\s*"
                             r"(?:=\s*\{(.*)\})?", s, re.S)
            if not match:
                continue  # a texture, memory whose size the launch says: of kernels that are not run here
            space, type, name, count, values = match.groups()
            size = bits(type) // 8
            data = b"".join(int(x).to_bytes(size, "little") for x in values.split(",")) if values else b""
            variables.append((space, name, size * int(count or 1), data))
        elif match := re.match(r"\.(shared|local)\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+([\w$]+)(?:\[(\d+)\])?", s):
            space = match.group(1)
            kernel[space][match.group(3)] = kernel[space + "_bytes"]
            kernel[space + "_bytes"] += bits(match.group(2)) // 8 * int(match.group(4) or 1)
            kernel["code"].append((None, False, ("declaration",), ()))
        elif s.startswith("."):
            kernel["code"].append((None, False, ("declaration",), ()))
        else:
            negated, predicate, op, rest = re.match(r"(?:@(!?)\s*([\w%$]+)\s+)?([a-z][\w.:]*)\s*(.*)$", s, re.S).groups()
            arguments = tuple(a.strip() for a in re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s][^,]*", rest))
            if op.split(".")[0] == "bra":
                arguments += (scope,)
            kernel["code"].append((predicate, bool(negated), tuple(op.split(".")), arguments))
    return kernels, variables


class Module:
    """`executed[kernel]`: how many threads executed each statement, for which its predicate held. `values[kernel]`: by statement, the
    bits of all elements that its loads and stores had; `places[kernel]`: their addresses; `visits[kernel]`: those of each thread's access. `written[kernel]`: (address, bytes) of all that
    it wrote, but for shared memory."""

    def __init__(self, text, memory):
        self.memory, self.constant, self.symbols, self.executed, self.values, self.written = memory, bytearray(4096), {}, {}, {}, {}
        self.places, self.visits, self.clock = {}, {}, 0
        self.looks = lambda number, blocks: True  # at this block of a grid: what others do is in `written` alone
        self.kernels, declared = parse(text)
        self.variables, self.constants, self.sizes, constants = [], set(), {}, 0
        for space, name, size, data in declared:
            self.sizes[name] = size
            if space == "const":
                self.constants.add(name)
                self.symbols[name] = constants
                self.constant[constants:constants + len(data)] = data
                constants += (size + 7) & ~7
            else:
                self.symbols[name] = memory.allocate(size)
                self.variables.append((self.symbols[name], size))

    def forget(self):
        """What the launches so far did."""
        for what in (self.executed, self.values, self.places, self.visits, self.written):
            what.clear()

    def launch(self, name, grid, block, values):
        kernel = self.kernels[name]
        parameters = dict(zip(kernel["parameters"], values, strict=True))
        executed = self.executed.setdefault(name, [0] * len(kernel["code"]))
        values = self.values.setdefault(name, [[] for _ in kernel["code"]])
        places = self.places.setdefault(name, [[] for _ in kernel["code"]])
        visits = self.visits.setdefault(name, [[] for _ in kernel["code"]])
        for cta in [(x, y) for y in range(grid[1]) for x in range(grid[0])]:
            unseen = not self.looks(cta[1] * grid[0] + cta[0], grid[0] * grid[1])
            run = {"parameters": parameters, "shared": bytearray(max(kernel["shared_bytes"], 1)), "cta": cta, "grid": grid, "block": block,
                   "executed": executed, "values": values, "places": places, "visits": visits, "written": self.written.setdefault(name, set())}
            if unseen:
                run |= {"executed": [0] * len(kernel["code"]), **{what: [[] for _ in kernel["code"]] for what in ("values", "places", "visits")}}
            threads = [{"pc": 0, "tid": (t % block[0], t // block[0]), "lane": t % 32, "waits": False} for t in range(block[0] * block[1])]
            while any(t["pc"] is not None for t in threads):
                for w in range(0, len(threads), 32):
                    while active := [t for t in threads[w:w + 32] if t["pc"] is not None and not t["waits"]]:
                        pc = min(t["pc"] for t in active)
                        if pc >= len(kernel["code"]):
                            for t in active:
                                t["pc"] = None if t["pc"] == pc else t["pc"]
                            continue
                        lanes = sum(1 << t["lane"] for t in threads[w:w + 32] if t["pc"] is not None)
                        self.step(kernel, [t for t in active if t["pc"] == pc], pc, run, lanes)
                for t in threads:  # all that is left waits at the barrier
                    t["waits"] = False

    def value(self, t, name, kernel, run):
        if name.startswith("!"):
            return not self.value(t, name[1:], kernel, run)
        if name in t:
            return t[name]
        if (constant := literal(name)) is not None:
            return constant
        special = {"%tid.x": t["tid"][0], "%tid.y": t["tid"][1], "%ntid.x": run["block"][0], "%ntid.y": run["block"][1],
                   "%ctaid.x": run["cta"][0], "%ctaid.y": run["cta"][1], "%nctaid.x": run["grid"][0], "%nctaid.y": run["grid"][1], "%ctaid.z": 0, "%nctaid.z": 1,
                   "%lanemask_lt": (1 << t["lane"]) - 1, "%laneid": t["lane"], "%clock": self.clock & M32,
                   "%smid": (run["cta"][0] + run["cta"][1]) % MULTIPROCESSORS}
        if name in special:
            return special[name]
        if name.startswith("%"):  # what nobody has written holds anything: nothing may depend on it
            return self.clock * 0x9e3779b97f4a7c15 & M64
        if name in run["parameters"]:
            return PARAMETERS + PARAMETER_BYTES * list(run["parameters"]).index(name)
        for space in ("shared", "local"):
            if name in kernel[space]:
                return kernel[space][name]
        return self.symbols[name]

    def step(self, kernel, group, pc, run, lanes):
        """`lanes`: of the warp, that have not ended."""
        predicate, negated, op, arguments = kernel["code"][pc]
        self.clock += 37
        for t in group:
            t["pc"] = pc + 1
        group = [t for t in group if predicate is None or bool(t[predicate]) != negated]
        run["executed"][pc] += len(group)
        mask = sum(1 << t["lane"] for t in group)
        value = lambda t, name: self.value(t, name, kernel, run)
        if op[0] == "bra":
            for t in group:
                t["pc"] = next(kernel["labels"][arguments[1][:k], arguments[0]] for k in range(len(arguments[1]), 0, -1) if (arguments[1][:k], arguments[0]) in kernel["labels"])
        elif op[0] in ("ret", "exit"):
            for t in group:
                t["pc"] = None
        elif op[0] == "bar":
            for t in group:
                t["waits"] = True
        elif op[0] == "activemask":
            for t in group:
                t[arguments[0]] = mask
        elif op[0] == "match" and group:
            assert op[1:] == ("any", "sync", "b32") and all(value(t, arguments[2]) == mask for t in group), "a match of other lanes"
            had = {t["lane"]: value(t, arguments[1]) & M32 for t in group}
            for t in group:
                t[arguments[0]] = sum(1 << lane for lane, what in had.items() if what == had[t["lane"]])
        elif op[0] == "redux" and group:
            assert op[2] in ("add", "or") and all(value(t, arguments[2]) == mask for t in group), "redux of other lanes"
            total = functools.reduce(INTEGER[op[2]], (value(t, arguments[1]) & M32 for t in group))
            assert total <= M32, "a sum that overflows"
            for t in group:
                t[arguments[0]] = total
        elif op[0] == "vote" and group:
            assert op[1:] in (("sync", "ballot", "b32"), ("sync", "any", "pred")), op
            assert all(value(t, arguments[2]) & lanes == mask for t in group), "a vote of other lanes"
            ballot = sum(bool(t[arguments[1]]) << t["lane"] for t in group)
            for t in group:
                t[arguments[0]] = ballot if op[2] == "ballot" else bool(ballot)
        elif op[0] == "shfl":
            assert op[1:] == ("sync", "down", "b32") and len(group) == 32, "a shuffle of less than a warp"
            had = [value(t, arguments[1]) & M32 for t in group]
            for k, t in enumerate(group):
                t[arguments[0]] = had[min(k + int(arguments[2]), 31)] if k + int(arguments[2]) < 32 else had[k]
        elif op[0] in ("ld", "st", "atom", "red"):
            for t in group:
                base, offset, _ = place_of(arguments)
                if "param" not in op:
                    run["visits"][pc].append((value(t, base) + offset) & M64)
                had, at = self.access(t, op, arguments, value, run)
                run["values"][pc] += had
                run["places"][pc] += at
        elif op[0] not in ("declaration", "membar"):
            for t in group:
                compute(t, op, arguments, value)

    def access(self, t, op, arguments, value, run):
        space = next((x for x in op if x in ("global", "shared", "param", "const")), "generic")
        base, offset, names = place_of(arguments)
        n, sign = bits(op[-1]), op[-1][0] == "s"
        size, mask = n // 8, (1 << n) - 1
        if space == "param":
            if base not in run["parameters"]:
                number, offset = divmod(value(t, base) + offset - PARAMETERS, PARAMETER_BYTES)
                base = list(run["parameters"])[number]
            what = run["parameters"][base]
            t[arguments[0]] = (int.from_bytes(what[offset:][:size], "little") if isinstance(what, bytes) else what) & mask
            return [], []
        at = (value(t, base) + offset) & M64
        near = t.setdefault("local", bytearray(b"\xee") * 4096) if "local" in op else {"shared": run["shared"], "const": self.constant}.get(space)
        read = lambda at: int.from_bytes(near[at:at + size], "little") if near is not None else self.memory.read(at, size)

        def write(at, what):
            if near is not None:
                near[at:at + size] = (what & mask).to_bytes(size, "little")
            else:
                self.memory.write(at, size, what & mask)
                run["written"].add((at, size))

        names = names[0 if op[0] == "ld" else -1]
        places = [at + k * size for k in range(len(names))]
        if op[0] == "ld":
            had = [read(at + k * size) for k in range(len(names))]
            for name, what in zip(names, had):
                t[name] = signed(what, n) & (M32 if n <= 32 else M64) if sign else what
            return had, places
        if op[0] == "st":
            had = [value(t, name) & mask for name in names]
            for k, what in enumerate(had):
                write(at + k * size, what)
            return had, places
        old, other = read(at), value(t, arguments[-1]) & mask
        number = (lambda x: signed(x, n)) if sign else (lambda x: x)
        write(at, {"add": lambda: old + other, "or": lambda: old | other, "and": lambda: old & other, "min": lambda: min(old, other, key=number),
                   "max": lambda: max(old, other, key=number)}[next(x for x in op if x in ("add", "or", "and", "min", "max"))]())
        if op[0] == "atom":
            t[arguments[0]] = old
        return [], []


def fused(a, b, c):
    """Rounded once."""
    if not all(map(math.isfinite, (a, b, c))):
        return a * b + c
    exact = fractions.Fraction(a) * fractions.Fraction(b) + fractions.Fraction(c)
    return float(exact) if abs(exact) < 2 ** 1023 else math.inf


INTEGER = {"add": operator.add, "sub": operator.sub, "and": operator.and_, "or": operator.or_, "xor": operator.xor, "not": operator.invert, "min": min,
           "max": max, "div": operator.floordiv}


def zeros(x):
    """-0 is less than 0."""
    return x, math.copysign(1, x)


def compute(t, op, arguments, value):
    o, type = op[0], op[-1]
    n = bits(type)
    mask = (1 << n) - 1
    to = arguments[0]
    if o == "selp":
        t[to] = value(t, arguments[1 if value(t, arguments[3]) else 2]) & mask
        return
    if o == "cvt" and op[-2] in ("f32", "f64"):
        if type == "f16":
            what = struct.unpack("<e", struct.pack("<H", value(t, arguments[1]) & 0xffff))[0]
        else:
            what = to_float(value(t, arguments[1]), type) if type[0] == "f" else float(signed(value(t, arguments[1]) & mask, n))
        t[to] = to_bits(what, op[-2])
        return
    if o == "cvt" and type == "f64":
        assert op[1:] == ("rni", "s64", "f64"), op
        what = to_float(value(t, arguments[1]), type)
        t[to] = round(what) & M64 if abs(what) < 2 ** 63 else 0
        return
    if type in ("f32", "f64") and o != "mov":
        a = [to_float(value(t, x), type) for x in arguments[1:3 if o == "setp" else None]]
        if o == "setp":
            nan = a[0] != a[0] or a[1] != a[1]
            holds = {"nan": nan, "lt": a[0] < a[1], "ltu": nan or a[0] < a[1], "gt": a[0] > a[1], "eq": a[0] == a[1], "equ": nan or a[0] == a[1]}[op[1]]
            other = bool(value(t, arguments[3])) if op[2] in ("or", "and") else False
            t[to] = holds or other if op[2] == "or" else holds and (op[2] != "and" or other)
            return
        known = [x for x in a if x == x or op[1] == "NaN"]  # the least of a number and NaN is the number, unless it says otherwise
        if op[1] == "NaN" and any(x != x for x in a):
            known = [math.nan]
        t[to] = to_bits({"add": lambda: a[0] + a[1], "sub": lambda: a[0] - a[1], "mul": lambda: a[0] * a[1], "neg": lambda: -a[0],
                         "fma": lambda: fused(*a) if type == "f64" else a[0] * a[1] + a[2], "rsqrt": lambda: a[0] ** -0.5,
                         "rcp": lambda: to_float(to_bits(1 / a[0], type) & ~M32, type),  # a few bits are right
                         "min": lambda: min(known, default=a[0], key=zeros), "max": lambda: max(known, default=a[0], key=zeros)}[o](), type)
        return
    number = (lambda x: signed(value(t, x) & mask, n)) if type[0] == "s" else (lambda x: value(t, x) & mask)
    if type == "pred":
        a = [bool(value(t, x)) for x in arguments[1:]]
        t[to] = {"or": lambda: a[0] or a[1], "and": lambda: a[0] and a[1], "not": lambda: not a[0], "mov": lambda: a[0]}[o]()
    elif o == "setp":
        x, y = number(arguments[1]), number(arguments[2])
        other = bool(value(t, arguments[3])) if op[2] in ("or", "and") else op[2] == "and"
        holds = getattr(operator, op[1])(x, y)
        t[to] = holds and other if op[2] == "and" else holds or other
    elif o == "mov" and arguments[1].startswith("{"):
        low, high = (value(t, x.strip()) for x in arguments[1].strip("{}").split(","))
        t[to] = low & M32 | (high & M32) << 32
    elif o == "bfind":
        t[to] = (number(arguments[1]).bit_length() - 1) & M32
    elif o == "popc":
        t[to] = number(arguments[1]).bit_count()
    elif o == "mov" and to.startswith("{"):
        for half, name in enumerate(to.strip("{}").split(",")):
            t[name.strip()] = value(t, arguments[1]) >> 32 * half & M32
    elif o in ("mov", "cvta"):
        t[to] = value(t, arguments[1]) & mask
    elif o == "cvt":
        source = bits(type)
        what = value(t, arguments[1]) & ((1 << source) - 1)
        t[to] = (signed(what, source) if type[0] == "s" else what) & ((1 << bits(op[-2])) - 1)
    elif o in ("mul", "mad"):
        what = number(arguments[1]) * number(arguments[2])
        if o == "mad":
            what += value(t, arguments[3])
        t[to] = what >> n & mask if "hi" in op else what & (M64 if "wide" in op else mask)
    elif o in ("shl", "shr"):
        count = value(t, arguments[2])
        t[to] = (number(arguments[1]) << count if o == "shl" else number(arguments[1]) >> count) & mask
    else:
        t[to] = INTEGER[o](*map(number, arguments[1:])) & mask
