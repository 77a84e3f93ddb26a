#!/usr/bin/env python3
"""Compare our address lookup with binutils' addr2line, on programs compiled here.

symbols.py LOOKUP WORK-DIR   (LOOKUP: the built tests/unit/analyze/symbols/lookup.c)
"""
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LOOKUP, WORK = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
FAILED = []


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def run(*command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **more).stdout


def check(ok, what):
    if not ok:
        FAILED.append(what)
        print("FAILED:", what)


def build_id(path):
    found = re.search(r"Build ID: (\w+)", run("readelf", "-n", path))
    return found.group(1) if found else ""


def addresses(path):
    """Every instruction's address in .text, except the padding between functions."""
    out, inside = [], False
    for line in run("objdump", "-d", "-j", ".text", "--no-show-raw-insn", path).splitlines():
        if re.match(r"[0-9a-f]+ <", line):
            inside = True
        found = re.match(r"\s*([0-9a-f]+):\s+(\S+)", line)
        if found and inside and not found.group(2).startswith(("nop", "xchg", "data16", "cs")):
            out.append(found.group(1))
    return out


def ours(path, wanted, build=None, wall=0):
    done = subprocess.run([LOOKUP, path, build_id(path) if build is None else build, str(wall)],
                          input="\n".join(wanted) + "\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    sys.stderr.write(done.stderr if done.returncode else "")
    ours.symbols_read = int(done.stderr or 0) if not done.returncode else 0
    if done.returncode:
        return done.returncode, done.stdout.strip()
    levels = [[]]
    for row in done.stdout.splitlines():
        if row == ".":
            levels.append([])
        else:
            f, p, n = row.split("\t")
            levels[-1].append((f or "??", os.path.basename(p) or "??", int(n)))
    return 0, levels[:-1]


def theirs(path, wanted, tool):
    """addr2line -a -i -f: per address a line 0x..., then function and file:line per level."""
    out = run(tool, "-a", "-i", "-f", "-C", "-e", path, input="".join(f"0x{a}\n" for a in wanted))
    levels, rows = [], out.splitlines()
    at = 0
    while at < len(rows):
        assert re.match(r"0x[0-9a-f]+:?$", rows[at]), rows[at]
        at += 1
        here = []
        while at < len(rows) and not re.match(r"0x[0-9a-f]+:?$", rows[at]):
            place = re.sub(r" \(discriminator \d+\)$", "", rows[at + 1])
            file, _, line = place.rpartition(":")
            here.append((rows[at], os.path.basename(file), int(line) if line.isdigit() else 0))
            at += 2
        levels.append(here)
    return levels


def same_name(a, b):
    """addr2line names a C++ clone's symbol (`f [clone .cold]`) and, without a
    linkage name, the plain DW_AT_name; parameters may be missing on one side."""
    strip = lambda n: re.sub(r"( \[clone .*\]|\.cold|\.part\.\d+|\.constprop\.\d+|\.isra\.\d+|\(.*)", "", n)
    plain = lambda n: re.sub(r"\{lambda|'lambda\d*'", "lambda", n)
    return strip(plain(a)) == strip(plain(b))


def same_level(mine, theirs, innermost, outermost):
    """addr2line names the innermost inlined function after the symbol around
    it when both lie at one place, which is not its name: then only file and line count."""
    if theirs[2] and mine[1:] != theirs[1:]:
        return False
    return same_name(mine[0], theirs[0]) or (innermost and same_name(theirs[0], outermost[0]))


def compare(label, path, reference=None, tool="addr2line", floor=0.97):
    """Where addr2line knows a line, files and lines must be the same; a small share may
    differ where binutils picks another of several line rows for one address."""
    wanted = addresses(reference or path)
    rc, got = ours(path, wanted)
    check(rc == 0, f"{label}: opened ({got if rc else ''})")
    if rc:
        return
    expected = theirs(reference or path, wanted, tool)
    good = known = deep = 0
    examples = []
    for address, a, b in zip(wanted, got, expected):
        if b[0][2] == 0: # no line: a symbol without a size, which we do not take for an answer
            continue
        known += 1
        deep += len(b) > 1
        equal = len(a) == len(b) and all(
            same_level(x, y, i == 0 and len(b) > 1, b[-1]) for i, (x, y) in enumerate(zip(a, b)))
        good += equal
        if not equal and len(examples) < 3:
            examples.append(f"  {address}: ours {str(a)[:400]}\n           theirs {str(b)[:400]}")
    print(f"{label}: {good} of {known} addresses equal, {deep} with inlined calls")
    check(known > 20 and good >= floor * known, f"{label}: addresses differ\n" + "\n".join(examples))


def compile_one(compiler, source, name, *flags):
    out = os.path.join(WORK, name)
    run(compiler, "-o", out, os.path.join(HERE, "fixtures", source), *flags)
    return out


def llvm_addr2line():
    for name in ("llvm-addr2line", *(f"llvm-addr2line-{n}" for n in range(20, 13, -1))):
        if shutil.which(name):
            return name
    return None


def variants():
    """Binutils 2.40 misreads clang's DWARF 5 (ranges of inlined calls) and the file numbers of
    templates at -O0: LLVM's tool is the oracle there. Neither follows split DWARF: there the
    oracle reads the same code compiled with whole debug information."""
    for c, cxx in (("gcc", "g++"), ("clang", "clang++"), ("clang-14", "clang++-14")):
        for source, compiler in (("inline.c", c), ("cxx.cc", cxx)):
            if not shutil.which(compiler):
                continue
            for flags, name in ((("-O2", "-g"), "o2"), (("-O0", "-g"), "o0"), (("-O2", "-gdwarf-4"), "dwarf4"),
                                (("-O2", "-g", "-no-pie"), "nopie"), (("-O2", "-g", "-gz"), "gz"),
                                (("-O2", "-g", "-gsplit-dwarf"), "split")):
                base = f"{source.split('.')[0]}-{c}-"
                binutils = name == "dwarf4" or (c == "gcc" and name != "o0")
                tool = "addr2line" if binutils else llvm_addr2line()
                path = compile_one(compiler, source, base + name, "-Wl,--build-id", *flags)
                if tool:
                    yield base + name, path, os.path.join(WORK, base + "o2") if name == "split" else path, tool


def test_variants():
    count = 0
    for label, path, reference, tool in variants():
        compare(label, path, reference, tool)
        count += 1
    check(count >= 10, f"only {count} programs compared")


def test_nested_functions():
    for level in ("-O0", "-O2"):
        compare(f"nested {level}", compile_one("gcc", "nested.c", "nested" + level, level, "-g", "-Wl,--build-id"))


def test_separate_debug_file():
    whole = compile_one("gcc", "inline.c", "separate-whole", "-O2", "-g", "-Wl,--build-id")
    path, debug = os.path.join(WORK, "separate"), os.path.join(WORK, "separate.debug")
    run("objcopy", "--only-keep-debug", whole, debug)
    run("objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", whole, path)
    compare("separate debug file", path, whole)
    os.makedirs(os.path.join(WORK, ".debug"), exist_ok=True)
    os.rename(debug, os.path.join(WORK, ".debug", "separate.debug"))
    compare("separate debug file in .debug", path, whole)


def test_stripped():
    whole = compile_one("gcc", "inline.c", "stripped-whole", "-O2", "-rdynamic", "-Wl,--build-id")
    path = os.path.join(WORK, "stripped")
    run("strip", "-o", path, whole)
    symbols = {n: (int(a, 16), int(s, 16)) for a, s, t, n in
               (row.split() for row in run("nm", "-S", whole).splitlines() if len(row.split()) == 4)}
    outer, local = symbols["outer"][0] + 3, symbols["local"][0]
    _, got = ours(path, [f"{outer:x}", f"{local:x}"])
    check(got[0] == [("outer", "??", 0)], f"stripped: exported name, got {got[0]}")
    check(got[1] == [], f"stripped: a local function has no name, and no other's, got {got[1]}")


def test_many_symbols():
    """Libraries have up to a million symbols: they are gone through once, however many addresses are asked for.
    The names are known from how they were made: functions of 8 bytes, some of them within a larger one, a gap after each 10th."""
    count, gap = 40000, 10
    lines, truth = [".text", "start:"], []
    at = 0
    for i in range(count):
        kind = ("globl", "weak", "local")[i % 3]
        lines += [f".{kind} f{i}", f".type f{i},@function", f"f{i}:", ".fill 8,1,0x90", f".size f{i},8"]
        if i % 7 == 0: # two names of one place: the one that others see is meant
            lines += [f".local a{i}", f".type a{i},@function", f".set a{i},f{i}", f".size a{i},8"]
        truth.append((at, f"f{i}" if i % 7 or kind != "local" else None))
        at += 8
        if i % gap == 0:
            truth.append((at + 1, ""))
            lines.append(".fill 8,1,0xcc")
            at += 8
    lines += [".type around,@function", ".set around,start", f".size around,{8 * 30}", ""] # holds the first, inner ones win
    source, path = os.path.join(WORK, "many.s"), os.path.join(WORK, "many.so")
    with open(source, "w") as file:
        file.write("\n".join(lines))
    run("gcc", "-shared", "-nostdlib", "-Wl,--build-id", "-o", path, source)
    text = int(next(r.split()[0] for r in run("nm", path).splitlines() if r.endswith(" start")), 16)
    wanted = truth[::11] + [(truth[1][0], "around")] # in the gap after f0
    wanted.reverse() # asked for in any order
    _, got = ours(path, [f"{text + offset:x}" for offset, _ in wanted])
    names = [level[0][0] if level else "" for level in got]
    wrong = [(o, want, name) for (o, want), name in zip(wanted, names)
             if name != want and want is not None and not (o < 240 and name == "around" and not want)]
    check(len(names) == len(wanted) > 3000 and not wrong, f"{len(wrong)} of {len(wanted)} names are wrong: {wrong[:3]}")
    total = len(run("nm", "-a", path).splitlines()) + len(run("nm", "-D", path).splitlines())
    print(f"{len(wanted)} addresses, {total} symbols: {ours.symbols_read} gone through")
    check(count < ours.symbols_read < 2 * total, f"{ours.symbols_read} symbols gone through, there are {total}")


def test_no_server():
    """debuginfod's client brings a library for HTTPS and all that this needs: it is loaded when a server is named."""
    path = compile_one("gcc", "inline.c", "no-server", "-O2", "-Wl,--build-id", "-s")
    asked = {name: set() for name in ("", "http://127.0.0.1:1")}
    for servers, libraries in asked.items():
        environment = {k: v for k, v in os.environ.items() if k != "DEBUGINFOD_URLS"}
        environment |= {"LD_DEBUG": "libs", "DEBUGINFOD_CACHE_PATH": os.path.join(WORK, "cache")}
        environment |= {"DEBUGINFOD_URLS": servers} if servers else {}
        done = subprocess.run([LOOKUP, path, build_id(path), "0"], input="1000\n", stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=environment)
        libraries.update(re.findall(r"find library=(\S+)", done.stderr))
        check(done.returncode == 0 and any(name.startswith("libdw.") for name in libraries), f"libraries: {libraries}")
    check(not any("debuginfod" in name for name in asked[""]), "debuginfod's client is loaded where no server is named")
    check(any("debuginfod" in name for name in asked["http://127.0.0.1:1"]), "the server that is named is asked")


def test_another_file():
    path = compile_one("gcc", "inline.c", "changed", "-O2", "-g", "-Wl,--build-id")
    before, wanted = build_id(path), addresses(path)[:3]
    rc, _ = ours(path, wanted, before)
    check(rc == 0, "the same build id is accepted")
    compile_one("gcc", "inline.c", "changed", "-O1", "-g", "-Wl,--build-id")
    rc, why = ours(path, wanted, before)
    check(rc == 3 and "differs from the one that ran" in why, f"another build id is refused: {rc} {why}")
    plain = compile_one("gcc", "inline.c", "no-id", "-O2", "-g", "-Wl,--build-id=none")
    changed = int(os.stat(plain).st_mtime_ns)
    check(ours(plain, wanted, "", changed + 1)[0] == 0, "no build id, file older than the run: accepted")
    check(ours(plain, wanted, "", changed - 10**9)[0] == 3, "no build id, file newer than the run: refused")
    check(ours(plain, wanted, before)[0] == 3, "a file without the build id it had is refused")
    check(ours("/nonexistent", wanted, before)[0] == 3, "a missing file is refused")
    check(ours("/etc/passwd", wanted, before)[0] == 3, "a file that is not ELF is refused")


for tool in ("addr2line", "objdump", "readelf", "nm", "strip", "objcopy", "gcc", "g++"):
    if not shutil.which(tool):
        skip(f"{tool} is missing")
shutil.rmtree(WORK, ignore_errors=True)
os.makedirs(WORK)
test_variants()
test_nested_functions()
test_separate_debug_file()
test_stripped()
test_many_symbols()
test_no_server()
test_another_file()
sys.exit(1 if FAILED else 0)
