#!/usr/bin/env python3
"""Ranges that programs name: is each operation in the ranges it was launched in, and is each range a row?

    run.py --sonde build/bin/sonde --rows rows --program nvtx --work DIR CASE

What is expected stands below, counted by hand from nvtx.c and the Python programs.
SONDE_TORCH_PYTHON names an interpreter with torch, numpy and pyopencl, for the
cases that need them; NVTX_LIBRARY a libnvToolsExt.so.1.
"""
import argparse
import glob
import importlib.util
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SKIP = 77


class Failure(Exception):
    pass


class Missing(Exception):
    pass


class Measured:
    """One recorded run: its output, its contexts and its rows."""

    def __init__(self, options, name, command, *record, env=None):
        self.options = options
        self.path = os.path.join(options.work, name + ".sonde")
        shutil.rmtree(self.path, ignore_errors=True)
        os.makedirs(options.work, exist_ok=True)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SONDE_", "NVTX_", "OPENCL_LAYERS", "LD_PRELOAD"))}
        environment["POCL_CACHE_DIR"] = options.cache
        environment.update(env or {})
        os.makedirs(options.cache, exist_ok=True)
        plain = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if plain.returncode == SKIP:
            raise Missing(plain.stdout.strip() or "the program cannot run here")
        run = subprocess.run([options.sonde, "record", "-o", self.path, *record, "--", *command], env=environment,
                             capture_output=True, text=True, check=False)
        if (run.returncode, run.stdout) != (plain.returncode, plain.stdout):
            raise Failure(f"not as without Sonde: status {plain.returncode}, then {run.returncode}\n"
                          f"{plain.stdout}{plain.stderr}---\n{run.stdout}{run.stderr}")

    def contexts(self):
        report = subprocess.run([self.options.sonde, "report", self.path, "contexts", "--json"],
                                capture_output=True, text=True, check=False)
        if report.returncode:
            raise Failure(report.stderr)
        return json.loads(report.stdout)

    def rows(self):
        out = subprocess.run([self.options.rows, self.path], capture_output=True, text=True, check=True).stdout
        return out.splitlines()

    def operations(self, functions, kind="kernel"):
        """Counts by path, outermost first: these functions, [ranges] and <links>."""
        counts = {}

        def walk(node, path):
            what, name = node["kind"], node["name"]
            if what == "range":
                domain = node["module"]
                path = path + [f"[{domain}: {name}]" if domain else f"[{name}]"]
            elif what == "link":
                path = path + [f"<{name}>"]
            elif what in ("native", "python") and name in functions:
                path = path + [name]
            own = node["metrics"]["exclusive"]["operations"]
            if own and node["label"].startswith(kind):
                key = " ".join(path)
                counts[key] = counts.get(key, 0) + own
            for child in node["children"]:
                walk(child, path)

        walk(self.contexts(), [])
        return counts


def expect(what, expected, got):
    if expected != got:
        raise Failure(f"{what}: expected\n  {json.dumps(expected, indent=1)}\ngot\n  {json.dumps(got, indent=1)}")


FUNCTIONS = ("train", "forward", "compute", "domains", "nested", "unbalanced", "names", "thread", "captured", "forked")


def native(options, mode, *record, arguments=()):
    if not os.path.exists(options.program):
        raise Missing("no NVTX headers when this was built")
    return Measured(options, mode, [options.program, mode, *arguments], *record)


def nested(options):
    m = native(options, "nested")
    expect("operations", {
        "nested [everything] train [iteration] forward [forward] compute": 30,
        "nested [everything] train [iteration] compute": 20,
        "nested [everything] train compute": 1,
        "nested compute": 4,
    }, m.operations(FUNCTIONS))
    rows = m.rows()
    expect("rows", ["|everything||-|range"] + ["|iteration||-|range", "|forward||-|range"] * 10 + ["|push||-|range"],
           rows)


def domains(options):
    m = native(options, "domains")
    expect("operations", {
        "domains [one: plain] compute": 1, "domains [one: plain] [zwölf: régistré] compute": 2,
        "domains [zwölf: régistré] compute": 3, "domains [one: registered] compute": 4,
        "domains [typed] compute": 5, "domains [β😀] compute": 6, "domains compute": 7,
    }, m.operations(FUNCTIONS))
    expect("rows", [
        "one|plain|seven|2.5|range", "zwölf|régistré|9|-3|range", "one|registered||-|range",
        "|typed|acht|9223372036854775808|range", "|β😀||-|range",
        "one|plain|seven|2.5|mark", "|typed|acht|-0.5|mark", "|mark||-|mark", "|März||-|mark",
        "|started||-|range across", "one|registered||-|range across", "|typed|acht|-0.5|range across",
        "|last||-|range across open", "|push||-|range",
    ], m.rows())


def unbalanced(options):
    m = native(options, "unbalanced")
    expect("operations", {
        " ".join(["unbalanced"] + ["[deep]"] * 64 + ["compute"]): 1,
        "unbalanced compute": 2, "unbalanced forward [forward] compute": 3, "unbalanced [left open] compute": 4,
    }, m.operations(FUNCTIONS))
    expect("rows", ["|deep||-|range"] * 64 + ["|forward||-|range", "|left open||-|range open", "|push||-|range"],
           m.rows())


def names(options):
    m = native(options, "names")
    got = m.operations(FUNCTIONS)
    expect("sum of the operations", 100, sum(got.values()))
    for i in range(4):
        expect(f"step {i}", 1, got.get(f"names [step {1000 * i + 999}] compute"))
    expect("in one frame", 96, got.get("names [(other ranges)] compute"))
    rows = m.rows()
    expect("rows", 100001, len(rows))
    expect("names", True, 65000 < len(set(rows)) < 65540)


def threads(options):
    m = native(options, "threads")
    expect("operations", {f"thread [thread {c}] forward [forward] compute": 50 for c in "abcd"},
           m.operations(FUNCTIONS))
    expect("rows", 4 * 51 + 1, len(m.rows()))


def captured(options):
    m = native(options, "captured", "--capture-range", "nvtx:wanted")
    expect("operations", {"captured [outside] [wanted] forward [forward] compute": 2,
                          "captured [outside] [wanted] compute": 1}, m.operations(FUNCTIONS))


def profile(options):
    m = native(options, "nested", "--profile")
    expect("operations", 30, m.operations(FUNCTIONS).get(
        "nested [everything] train [iteration] forward [forward] compute"))
    expect("rows", [], m.rows())


def forked(options):
    m = native(options, "forked")
    expect("operations", {
        "forked [child] compute": 2, "forked compute": 3,
        "forked [parent] [after] compute": 1, "forked [parent] compute": 3,
    }, m.operations(FUNCTIONS))
    expect("rows", sorted(["|parent||-|range open", "|after||-|range", "|child||-|range"] + ["|push||-|range"] * 2),
           sorted(m.rows()))


def without_preload(options):
    """A range starts the agent before the runtime is there; what is enqueued last is not lost."""
    m = native(options, "nested", "--no-preload")
    expect("operations", 55, sum(m.operations(FUNCTIONS).values()))


def own_tool(options):
    """The user's own NVTX tool stays."""
    if not os.path.exists(options.program):
        raise Missing("no NVTX headers when this was built")
    m = Measured(options, "own", [options.program, "nested"], env={"NVTX_INJECTION64_PATH": "/nonexistent.so"})
    expect("operations", {"nested train forward compute": 30, "nested train compute": 21, "nested compute": 4},
           m.operations(FUNCTIONS))


def library(options):
    """NVTX before 3 was a library: NVIDIA's own, where a wheel or a toolkit has it."""
    places = ["/usr/local/cuda*/lib64/libnvToolsExt.so.1", "/usr/lib/*/libnvToolsExt.so.1"]
    places += [os.path.join(p, "nvidia/nvtx/lib/libnvToolsExt.so.1") for p in sys.path]
    found = [os.environ.get("NVTX_LIBRARY", "")] + [f for p in places for f in sorted(glob.glob(p))]
    found = [f for f in found if f]
    if not found:
        raise Missing("no libnvToolsExt.so.1 (NVTX 1 and 2)")
    m = Measured(options, "library", [options.program, "library", found[0]])
    expect("operations", {"[old] compute": 3, "compute": 1}, m.operations(FUNCTIONS))


def python(options):
    for module in ("nvtx", "pyopencl"):
        if not importlib.util.find_spec(module):
            raise Missing(f"no Python module {module}")
    m = Measured(options, "python", [sys.executable, os.path.join(HERE, "annotated.py")])
    expect("operations", {
        "main [py: epoch] train [py: step] forward [layer] launch": 12,
        "main [py: epoch] train [py: step] launch": 6,
          "main [py: epoch] [py: decorated] decorated launch": 2,
        "main generator [inside] launch": 3,
        "main launch": 1,
    }, m.operations(("main", "train", "forward", "launch", "decorated", "generator")))


class Operators:
    """A run of operators.py: contexts of kernels, and where they were prepared."""

    def __init__(self, options, mode):
        source = os.path.join(HERE, "operators.py")
        with open(source, encoding="utf-8") as file:
            self.lines = {line.split("# ")[1].strip(): number for number, line in enumerate(file, 1)
                          if "  # " in line}
        interpreter = os.environ.get("SONDE_TORCH_PYTHON", sys.executable)
        self.measured = Measured(options, mode, [interpreter, source, mode])
        out = subprocess.run([options.links, self.measured.path], capture_output=True, text=True, check=True).stdout
        self.rows = [(int(count), context, origin) for count, context, origin in
                     (line.split("|") for line in out.splitlines())]

    def count(self, *parts, origin=None):
        return sum(count for count, context, came_from in self.rows if all(part in context for part in parts)
                   and (origin is None or (origin in came_from if origin else not came_from)))

    def at(self, function, comment):
        return f" {function}:{self.lines[comment]} "

    def expect_linked(self, operator, total, *origins):
        """All `total` kernels of the operator are named and linked, to these only."""
        name = f"[{operator}]"
        expect(operator, total, self.count(name))
        linked = sum(self.count(name, origin=origin) for origin in origins)
        expect(f"{operator}: links to other places", total - linked, self.count(name, origin=""))
        if total != linked:
            raise Failure(f"{operator}: {linked} of {total} are linked\n" + "\n".join(map(str, self.rows)))
        for origin in origins:
            if not self.count(name, origin=origin):
                raise Failure(f"{operator}: none is linked to {origin}")


def operators(options):
    o = Operators(options, "plain")
    o.expect_linked("ScaleBackward", 120, o.at("train", "first"), o.at("train", "second"))
    o.expect_linked("ShiftBackward", 20, o.at("train", "third"))
    expect("forward and no_grad", 102, o.count("Scale.forward", origin="") + o.count("Shift.forward", origin=""))


def quiet(options):
    """An operator that launches nothing forward has the context of the next device call."""
    o = Operators(options, "quiet")
    o.expect_linked("QuietBackward", 80, o.at("train", "second"))
    o.expect_linked("ScaleBackward", 120, o.at("train", "first"), o.at("train", "second"))


def two_threads(options):
    o = Operators(options, "threads")
    o.expect_linked("ScaleBackward", 180, o.at("train", "first"), o.at("train", "second"), o.at("other", "other second"))
    o.expect_linked("ShiftBackward", 40, o.at("train", "third"), o.at("other", "other first"))
    expect("links from one thread to the other", 0, o.count(" train:", "[", origin=" other:") +
           o.count(" other:", "[", origin=" train:"))


def profiler(options):
    """PyTorch's own profiler, started later, does not mind."""
    o = Operators(options, "profiler")
    o.expect_linked("ScaleBackward", 360, o.at("train", "first"), o.at("train", "second"))


def twice(options):
    o = Operators(options, "twice")
    expect("once for the gradient, once for its gradient", 120, o.count("[ScaleBackward]"))


def layouts(options):
    """PyTorch's versions keep the two numbers in different places; a stand-in for its library tries them. Where they are
    told by the name beside them all kernels are linked, else those after the first eight nodes."""
    functions = ("compute",)
    for word, distance, text, known in ((25, 13, "s", True), (25, 6, "c", True), (22, 6, "v", True), (27, 13, "v", True), (25, 13, "", True),
                                        (18, 6, "", True), (33, 6, "", True), (20, 13, "", True), (25, 9, "", False)):
        m = Measured(options, f"layout-{word}-{distance}-{text}", [options.autograd, str(word), str(distance), *text])
        got = m.operations(functions)
        for name, origin in (("ThirdBackward0", "launch_third"), ("SecondBackward0", "launch_third"),
                             ("FirstBackward0", "launch_first")):
            linked, named = (got.get(f"{link}[{name}] compute", 0) for link in (f"<{origin}> ", ""))
            between = 40 if name == "SecondBackward0" else 0
            expect(f"{word} {distance} {name}", 40 + between, linked + named)
            if known != (linked >= (40 if text else 30) + between) or (linked and not known):
                raise Failure(f"{word} {distance} {name}: {linked} are linked\n{json.dumps(got, indent=1)}")
        expect("without a forward operator", 40, got.get("[torch::autograd::AccumulateGrad] compute"))
        expect("sum", 40 * 7, sum(got.values()))
        ledger = subprocess.run([options.sonde, "report", m.path, "ledger"], capture_output=True, text=True, check=False)
        expect(f"{word} {distance} note", known, "no forward call path" not in ledger.stdout)


def device_thread(options):
    """Between two nodes, autograd's own threads work for the one that has just ended: here AccumulateGrad."""
    o = Operators(options, "device")
    o.expect_linked("ScaleBackward", 60, o.at("on_device_thread", "the only"))
    o.expect_linked("ShiftBackward", 20, o.at("on_device_thread", "the only"))
    expect("between nodes", 40, o.count("[torch::autograd::AccumulateGrad] "))
    expect("outermost", 40, sum(count for count, context, _ in o.rows if context.startswith(" [torch::")))


CASES = (nested, domains, unbalanced, names, threads, captured, profile, own_tool, library, python, operators, quiet,
         two_threads, profiler, twice, device_thread, forked, without_preload, layouts)


def main(cases, arguments):
    """One case by name; what the programs and tools it needs are called comes in `arguments`."""
    parser = argparse.ArgumentParser()
    for name in arguments:
        parser.add_argument("--" + name, required=True)
    parser.add_argument("case", choices=list(cases))
    options = parser.parse_args()
    options.work = os.path.join(options.work, options.case)
    try:
        cases[options.case](options)
    except Missing as missing:
        print(f"skipped: {missing}")
        return SKIP
    except Failure as failure:
        print(failure)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main({case.__name__: case for case in CASES},
                  ("sonde", "rows", "links", "program", "autograd", "work", "cache")))
