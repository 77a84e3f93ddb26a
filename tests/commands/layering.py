"""Dependencies point one way: every #include in src/ goes in the direction of the table below, which ARCHITECTURE.md shows,
too; and tests/README.md leads from every folder of src/ to its tests.

First it proves on made-up files that each rule finds what it must, and that the table itself has no circle.
"""
import glob
import os
import re
import sys

SOURCE = os.environ.get("SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Folder of src/ -> folders that it may include besides itself. A name covers what is below it; but a folder that names one
# above itself may include the files directly in that. The line of the longest name counts for what has none.
MAY = {
    "base": "",
    "format": "base",
    "guest": "",
    "instrument": "guest format base",
    "agent/stack": "guest",
    "agent/state": "agent/stack guest format base",
    "agent/store": "agent/state agent/preload guest format base",
    "agent/context": "agent/store agent/state agent/stack agent/preload guest format",
    "agent/sample": "agent/context agent/store agent/state agent/stack agent/preload format",
    "agent/run": "agent/sample agent/context agent/store agent/state agent/preload guest format base",
    "agent/preload": "format",
    "counters": "guest",
    "backends": "guest",
    "backends/cells": "instrument guest",
    "backends/cuda": "backends/cells counters instrument guest",
    "backends/nccl": "guest",
    "backends/mpi": "guest",
    "backends/nvtx": "guest",
    "backends/opencl": "backends/cells instrument guest",
    "backends/torch": "guest",
    "analyze/trace": "format base",
    "analyze/model": "analyze/trace format base",
    "analyze/symbols": "analyze/model format base",
    "analyze/profile": "analyze/symbols analyze/model analyze/trace format base",
    "analyze/samples": "analyze/profile analyze/model analyze/trace format base",
    "analyze/metrics": "analyze/profile analyze/model analyze/trace format base",
    "analyze/job": "analyze/metrics analyze/profile analyze/model analyze/trace format base",
    "analyze/answers/blame": "analyze/metrics analyze/samples analyze/profile analyze/model analyze/trace format base",
    "analyze/answers/critical": "analyze/job analyze/metrics analyze/samples analyze/profile analyze/model analyze/trace format base",
    "analyze/answers/diff": "analyze/answers/blame analyze/answers/lanes analyze/metrics analyze/samples analyze/profile analyze/model analyze/trace format base",
    "analyze/answers/lanes": "analyze/metrics analyze/samples analyze/profile analyze/model analyze/trace format base",
    "analyze/answers/timeline": "analyze/answers/blame analyze/answers/lanes analyze/metrics analyze/samples analyze/profile analyze/model analyze/trace format base",
    "analyze/answers/memory": "analyze/profile analyze/model analyze/trace format base",
    "analyze/answers/values": "analyze/profile analyze/model analyze/trace format base",
    "analyze/answers/comm": "analyze/profile analyze/model analyze/trace format base",
    "analyze/answers/advice": "analyze/answers/blame analyze/answers/comm analyze/answers/values analyze/profile analyze/model analyze/trace format base",
    "analyze/answers/summary": "analyze/answers/blame analyze/profile analyze/symbols analyze/model analyze/trace format base",
    "views": "analyze format base",
    "export": "views analyze format base",
    "serve": "views analyze format base",
    "read": "export views analyze format base",
    "wasm": "serve views analyze format base",
    "monitor": "counters analyze/symbols analyze/model format base",
    "ldms": "monitor format base",
    "attach": "format base",
    "cmds": "attach monitor serve export views analyze format base",
    "cmds/monitor": "cmds monitor format base",
    "cmds/top": "cmds/report cmds monitor views format base",
    "cmds/record": "cmds attach monitor analyze format base",
    "cmds/report": "cmds views analyze format base",
    "cmds/view": "cmds serve export views analyze format base",
    "cmds/doctor": "cmds/record cmds monitor analyze format base",
    "cmds/diff": "cmds/report cmds views analyze format base",
    "cmds/manual": "cmds/report cmds base",
}
# A backend knows the agent by the backend ABI (which brings the kinds), what it may use inside a program, and nothing else.
PUBLIC_FOR_BACKENDS = {"sonde/backend.h", "sonde/kinds.h"}
# What runs inside somebody's program has its locks and its memory from src/guest.
IN_PROGRAMS = {"agent", "backends", "counters", "instrument"}
BY_HAND = re.compile(r"MAP_ANONYMOUS|PTHREAD_MUTEX_INITIALIZER|pthread_mutex_init|pthread_spin_\w+|atomic_flag|\b[mc]alloc(?=\()|\brealloc(?=\()|\bstrn?dup(?=\()")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def line_of(folder, may):
    """The name in the table that counts for a folder; None: none does."""
    while folder and folder not in may:
        folder = os.path.dirname(folder)
    return folder or None


def covers(name, target, source):
    return target == name or (target.startswith(name + "/") and not source.startswith(name + "/"))


def allowed(source, target, may):
    return line_of(source, may) == line_of(target, may) or any(covers(name, target, source) for name in may[line_of(source, may)].split())


def circles(may):
    """Folders of the table that may include each other, however far around."""
    reach = {name: {other for other in may if other != name and allowed(name, other, may)} for name in may}
    for _ in may:
        for name, others in reach.items():
            others.update(*(reach[other] for other in others))
    return sorted(name for name in may if name in reach[name])


def resolve(source, quote, name, files):
    """The file of src/ that an include names; None for one that is not ours."""
    if quote == '"':
        beside = os.path.normpath(os.path.join(os.path.dirname(source), name)).replace(os.sep, "/")
        if beside in files:
            return beside
    return name if name in files else None


def crossings(files, texts, may):
    found = []
    for source in sorted(files):
        folder = os.path.dirname(source)
        part = source.split("/")[0]
        for quote, name in INCLUDE.findall(texts[source]):
            target = resolve(source, quote, name, files)
            if target and line_of(folder, may) and not allowed(folder, os.path.dirname(target), may):
                found.append(f"src/{source} includes {name}: {folder} must not know {os.path.dirname(target)}")
            elif part == "views" and name == "jansson.h":
                found.append(f"src/{source} includes {name}: views fill tables, json.c alone writes JSON")
            elif part == "backends" and name.startswith("sonde/") and name not in PUBLIC_FOR_BACKENDS:
                found.append(f"src/{source} includes {name}: a backend knows only sonde/backend.h")
            elif quote == '"' and not target and "/" in name and line_of(os.path.dirname(name), may):
                found.append(f"src/{source} includes {name}, which does not exist")
        if part in IN_PROGRAMS:
            found += [f"src/{source} has {word}: its locks and its memory are from src/guest" for word in BY_HAND.findall(texts[source])]
    return found


def read_tree():
    texts = {}
    root = os.path.join(SOURCE, "src")
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith((".c", ".h", ".cpp", ".inc")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    texts[os.path.relpath(path, root).replace(os.sep, "/")] = file.read()
    return texts


def prove_rules():
    """Each of these crosses the direction once, the last do not."""
    may = {**MAY, "made/low": "", "made/high": "made/low", "made/peer": "made base", "made": "base"}
    there = {"cmds/command.h": "", "agent/agent.h": "", "guest/lock.h": "", "format/rows.h": "", "base/map.h": "", "views/view.h": "",
             "analyze/trace/trace.h": "", "backends/opencl/layer.h": "", "backends/cuda/cupti.h": "", "instrument/plan.h": "",
             "serve/serve.h": "", "monitor/store.h": "", "made/made.h": "", "made/low/low.h": "", "made/high/high.h": "", "made/peer/peer.h": ""}
    wrong = {
        "analyze/trace/a.c": '#include "cmds/command.h"', "base/b.c": '#include "format/rows.h"', "format/c.c": '#include "../analyze/trace/trace.h"',
        "agent/preload/d.c": '#include "analyze/trace/trace.h"', "agent/preload/e.c": '# include "backends/opencl/layer.h"',
        "backends/opencl/f.c": '#include "agent/agent.h"', "backends/opencl/g.c": "#include <sonde/error.h>",
        "backends/opencl/h.c": '#include "../cuda/cupti.h"', "export/i.c": '#include <cmds/command.h>', "monitor/j.c": '#include "base/gone.h"',
        "views/k.c": '#include "cmds/command.h"', "views/l.c": "#include <jansson.h>", "analyze/trace/m.c": '#include "views/view.h"',
        "guest/n.c": '#include "agent/agent.h"', "guest/o.c": '#include "base/map.h"', "format/p.c": '#include "guest/lock.h"',
        "cmds/q.c": '#include "guest/lock.h"', "instrument/r.c": '#include "agent/agent.h"', "agent/preload/s.c": '#include "instrument/plan.h"',
        "serve/t.c": '#include "cmds/command.h"', "views/u.c": '#include "serve/serve.h"', "monitor/v.c": '#include "analyze/trace/trace.h"',
        "analyze/trace/w.c": '#include "analyze/job/job.h"', "analyze/job/job.h": '#include "views/view.h"',
        "made/low/x.c": '#include "made/high/high.h"', "made/low/y.c": '#include "../made.h"', "made/z.c": '#include "low/low.h"',
        "made/peer/z.c": '#include "made/high/high.h"', "made/new/z.c": '#include "made/high/high.h"',
        "agent/lock.c": "static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;", "backends/nvtx/room.c": "room = calloc(1, 8);",
        "backends/cuda/room.c": "mmap(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)",
    }
    for name, text in wrong.items():
        texts = {**there, name: text}
        if len(crossings(set(texts), texts, may)) != 1:
            return f"the rules do not find {text} in {name}"
    right = {**there, "cmds/x.c": '#include "analyze/trace/trace.h"\n#include <stdio.h>\n#include "command.h"\n#include "monitor/store.h"',
             "backends/opencl/y.c": "#include <sonde/backend.h>\n#include <CL/cl.h>\n#include \"guest/lock.h\"\n#include \"layer.h\"",
             "agent/z.c": '#include "guest/lock.h"\n#include "base/map.h"', "guest/lock.c": '#include "guest/lock.h"\n#include <sonde/error.h>',
             "made/peer/z.c": '#include "made/made.h"\n#include "peer.h"', "made/high/z.c": '#include "made/low/low.h"',
             "made/new/z.c": '#include "made/made.h"', "guest/memory.c": "mmap(NULL, 1, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)",
             "export/room.c": "malloc(1)"}
    if crossings(set(right), right, may):
        return "the rules forbid what is allowed"
    if circles({"a": "b", "b": "c/d", "c": "", "c/d": "a"}) != ["a", "b", "c/d"] or circles({"a": "b", "b": "", "b/c": "b"}):
        return "circles are not found"
    return None


def rows_of(page, first):
    """Rows of a page's table as lists of cells, from the row after the head whose first cell is `first`."""
    with open(os.path.join(SOURCE, page), encoding="utf-8") as file:
        lines = file.read().split("\n")
    start = next((i for i, line in enumerate(lines) if line.startswith(f"| {first} |")), len(lines))
    rows = []
    for line in lines[start + 2:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split(" |")])
    return rows


def architecture(folders):
    """ARCHITECTURE.md has each folder, with what the table above lets it include; there a room of the same part has its short name."""
    rows = {}
    for cells in rows_of("ARCHITECTURE.md", "Folder"):
        if cells[0].startswith("`src/"):
            folder = cells[0].strip("`")[4:].rstrip("/")
            names = cells[-1].replace("`sonde/backend.h`", "").replace(",", " ").split()
            rows[folder] = {room if (room := f"{folder.split('/')[0]}/{name}") in MAY and name not in MAY else name for name in names}
    for name in sorted(folders - set(rows)):
        yield f"ARCHITECTURE.md has no row for src/{name}/"
    for name in sorted(set(rows) - folders):
        yield f"ARCHITECTURE.md has a row for src/{name}/, which is not there"
    for name in sorted(folders & set(rows) & set(MAY)):
        if rows[name] != set(MAY[name].split()):
            yield f"ARCHITECTURE.md lets src/{name}/ include {sorted(rows[name])}, the table here {MAY[name].split()}"


def tests_page(folders):
    """tests/README.md leads from each folder to tests that are there."""
    rows = rows_of("tests/README.md", "Source")
    with open(os.path.join(SOURCE, "tests/README.md"), encoding="utf-8") as file:
        named = re.findall(r"`((?:src|tests)/[^`]+)`", file.read())
    for path in named:
        if not glob.glob(os.path.join(SOURCE, path)):
            yield f"tests/README.md names {path}, which is not there"
    covered = {os.path.dirname(path) for cells in rows for path in re.findall(r"`src/([^`]+)`", cells[0])}
    for name in sorted(folders - covered):
        yield f"tests/README.md does not say what tests src/{name}/"
    for path in sorted(glob.glob(os.path.join(SOURCE, "tests/*/**/CMakeLists.txt"), recursive=True)):
        folder = os.path.dirname(os.path.relpath(path, SOURCE)) + "/"
        if not any(name.startswith(folder) for name in named):
            yield f"tests/README.md does not say what {folder} is for"


def main():
    circle = circles(MAY)
    problem = prove_rules() or (circle and f"the table lets {' '.join(circle)} include each other")
    if problem:
        print(problem)
        return 1
    texts = read_tree()
    folders = {os.path.dirname(name) for name in texts}
    found = crossings(set(texts), texts, MAY)
    found += [f"src/{name} has no line in the table of tests/commands/layering.py" for name in sorted(folders - set(MAY))]
    found += [f"src/{name} is not there: its line in the table of tests/commands/layering.py is old" for name in sorted(set(MAY) - folders)]
    found += [*architecture(folders), *tests_page(folders)]
    for line in found:
        print(line)
    print(f"{len(texts)} files in {len(folders)} folders looked at")
    return 1 if found or len(texts) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
