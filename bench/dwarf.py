#!/usr/bin/env python3
"""Builds a program with much debug information, to measure how symbols are looked up.

    bench/dwarf.py FOLDER [--megabytes N] [--units N]     prints the program's path and sizes as JSON

One C++ file with templates, namespaces and inlined calls is compiled once; the
object is then copied, once per compilation unit, with another name for its one
global function (all other functions are local), and all are linked together
with bench/symbols.c. So the program has as many compilation units, each with
its own line table, abbreviations and ranges, as a large real one, in the time
of one compilation and one link. What it holds is checked by name: unit K's
function is entry_K.
"""
import argparse, json, os, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
ENTRY = b"entry_000000"  # its name is cut out of the object and replaced, byte for byte


def source(functions):
    """A file of `functions` functions, each with types of its own and calls inlined into it."""
    text = ["#include <cstddef>", "extern \"C\" { typedef void (*call)(void *); }",
            "namespace { namespace model {", "volatile long sink;",
            "template <class T, std::size_t N> struct row { T values[N]; T sum() const { T s{}; for (auto v : values) s += v; return s; } };"]
    for i in range(functions):
        text.append(f"""
struct shape_{i} {{ long width_{i}, height_{i}; double weight_{i}; shape_{i} *next_{i}; long area_{i}() const {{ return width_{i} * height_{i}; }} }};
template <class T> struct holder_{i} {{ T item_{i}; row<T, {i % 7 + 2}> rows_{i}; long total_{i}(long more) const {{ return item_{i}.area_{i}() + more; }} }};
inline long scale_{i}(const shape_{i} &s, long by_{i}) {{ long scaled_{i} = s.area_{i}() * by_{i}; sink = sink + scaled_{i}; return scaled_{i}; }}
inline long add_{i}(const holder_{i}<shape_{i}> &h, long by_{i}) {{ long twice_{i} = scale_{i}(h.item_{i}, by_{i}) * 2; return h.total_{i}(twice_{i}); }}
__attribute__((noinline, noclone, used)) long work_{i}(long n_{i}) {{
  holder_{i}<shape_{i}> h_{i} = {{{{n_{i}, n_{i} + {i}, 0.5, nullptr}}, {{}}}};
  long result_{i} = add_{i}(h_{i}, n_{i});
  for (long k_{i} = 0; k_{i} < n_{i}; k_{i}++) {{ row<long, {i % 5 + 2}> r_{i} = {{{{k_{i}}}}}; result_{i} += r_{i}.sum() + scale_{i}(h_{i}.item_{i}, k_{i}); }}
  return result_{i} + sink;
}}""")
    text.append("""
struct passing { call fn; void *argument; void go() const { fn(argument); sink = sink + 1; } };
inline void inlined_call(const passing &p) { p.go(); }
}}
extern "C" void %s(call fn, void *argument) { model::inlined_call({fn, argument}); model::sink = model::sink + 1; }
""" % ENTRY.decode())
    return "\n".join(text)


def debug_bytes(path):
    """Bytes of all .debug_ sections."""
    listing = subprocess.run(["readelf", "-SW", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return sum(int(line.split("]")[1].split()[4], 16) for line in listing.splitlines() if " .debug_" in line)


def copy_units(folder, code, count):
    names = []
    for k in range(count):
        names.append(f"{folder}/unit{k}.o")
        with open(names[-1], "wb") as out:
            out.write(code.replace(ENTRY, b"entry_%06d" % k))
    return names


def entries(count):
    declared = "".join(f"void entry_{k:06d}(call, void *);\n" for k in range(count))
    listed = ", ".join(f"entry_{k:06d}" for k in range(count))
    return f"typedef void (*call)(void *);\n{declared}void (*const entries[])(call, void *) = {{{listed}}};\nconst unsigned entry_count = {count};\n"


def build(folder, megabytes, units):
    """(Built once: the folder keeps it.)"""
    program, about = f"{folder}/bench-dwarf", f"{folder}/about.json"
    if os.path.exists(about):
        with open(about) as file:
            known = json.load(file)
        if (known["megabytes"], known["units"]) == (megabytes, units):
            return known
    os.makedirs(folder, exist_ok=True)
    run = lambda *command: subprocess.run(command, check=True, cwd=folder)
    functions = max(1, round(megabytes * 1e6 / units / 2600))
    for _ in range(3):  # the size of a unit follows from the compiler
        with open(f"{folder}/unit.cpp", "w") as file:
            file.write(source(functions))
        run("c++", "-std=c++17", "-g", "-O1", "-fno-exceptions", "-fno-rtti", "-c", "unit.cpp", "-o", "unit.o")
        got = debug_bytes(f"{folder}/unit.o") * units
        if 0.9 < got / (megabytes * 1.3e6) < 1.2:  # linking merges their strings
            break
        functions = max(1, round(functions * megabytes * 1.3e6 / got))
    with open(f"{folder}/unit.o", "rb") as file:
        code = file.read()
    assert ENTRY in code and code.count(ENTRY) < 8
    objects = copy_units(folder, code, units)
    with open(f"{folder}/entries.c", "w") as file:
        file.write(entries(units))
    with open(f"{folder}/link.rsp", "w") as file:
        file.write("\n".join(objects))
    run("cc", "-O1", "-g", f"{HERE}/symbols.c", "entries.c", "@link.rsp", "-lOpenCL", "-o", program)
    for name in objects:
        os.unlink(name)
    known = {"megabytes": megabytes, "units": units, "program": program, "functions": functions * units,
             "file_bytes": os.path.getsize(program), "debug_bytes": debug_bytes(program)}
    with open(about, "w") as file:
        json.dump(known, file)
    return known


def main():
    parser = argparse.ArgumentParser(description="a program with much debug information")
    parser.add_argument("folder")
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--units", type=int, default=1000)
    args = parser.parse_args()
    json.dump(build(os.path.abspath(args.folder), args.megabytes, args.units), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
