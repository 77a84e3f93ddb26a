"""Dependencies point one way: every #include in src/ goes in the direction that ARCHITECTURE.md gives.

First it proves on made-up files that each rule finds what it must.
"""
import os
import re
import sys

SOURCE = os.environ.get("SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# folder of src/ -> folders it may include besides itself
MAY = {
    "base": set(),
    "format": {"base"},
    "analyze": {"format", "base"},
    "views": {"analyze", "format", "base"},
    "export": {"views", "analyze", "format", "base"},
    "guest": set(),
    "agent": {"guest", "format", "base"},
    "backends": {"guest"},
    "cmds": {"export", "views", "analyze", "format", "base"},
}
# A backend knows the agent by the backend ABI (which brings the kinds), what it may use inside a program, and nothing else.
PUBLIC_FOR_BACKENDS = {"sonde/backend.h", "sonde/kinds.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def part_of(path):
    return path.split("/")[0]


def resolve(source, quote, name, files):
    """The file of src/ that an include names; None for one that is not ours."""
    if quote == '"':
        beside = os.path.normpath(os.path.join(os.path.dirname(source), name)).replace(os.sep, "/")
        if beside in files:
            return beside
    return name if name in files else None


def crossings(files, texts):
    found = []
    for source in sorted(files):
        part = part_of(source)
        for quote, name in INCLUDE.findall(texts[source]):
            target = resolve(source, quote, name, files)
            if target and part_of(target) != part and part_of(target) not in MAY.get(part, set()):
                found.append(f"src/{source} includes {name}: {part} must not know {part_of(target)}")
            elif target and part == part_of(target) == "backends" and target.split("/")[1] != source.split("/")[1]:
                found.append(f"src/{source} includes {name}: one backend must not know another")
            elif part == "views" and name == "jansson.h":
                found.append(f"src/{source} includes {name}: views fill tables, json.c alone writes JSON")
            elif part == "backends" and name.startswith("sonde/") and name not in PUBLIC_FOR_BACKENDS:
                found.append(f"src/{source} includes {name}: a backend knows only sonde/backend.h")
            elif quote == '"' and not target and "/" in name and part_of(name) in MAY:
                found.append(f"src/{source} includes {name}, which does not exist")
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


def prove():
    """The rules find what they must: each of these crosses the direction once, the last does not."""
    base = {"cmds/command.h": "", "agent/agent.h": "", "guest/lock.h": "", "format/rows.h": "", "base/map.h": "", "analyze/totals.h": "", "views/view.h": "",
            "backends/opencl/layer.h": "", "backends/cuda/cupti.h": ""}
    wrong = {
        "analyze/a.c": '#include "cmds/command.h"', "base/b.c": '#include "format/rows.h"', "format/c.c": '#include "../analyze/totals.h"',
        "agent/d.c": '#include "analyze/totals.h"', "agent/e.c": '# include "backends/opencl/layer.h"',
        "backends/opencl/f.c": '#include "agent/agent.h"', "backends/opencl/g.c": "#include <sonde/error.h>",
        "backends/opencl/h.c": '#include "../cuda/cupti.h"', "export/i.c": '#include <cmds/command.h>', "monitor/j.c": '#include "base/gone.h"',
        "views/k.c": '#include "cmds/command.h"', "views/l.c": "#include <jansson.h>", "analyze/m.c": '#include "views/view.h"',
        "guest/n.c": '#include "agent/agent.h"', "guest/o.c": '#include "base/map.h"', "format/p.c": '#include "guest/lock.h"',
        "cmds/q.c": '#include "guest/lock.h"',
    }
    for name, text in wrong.items():
        texts = {**base, name: text}
        if len(crossings(set(texts), texts)) != 1:
            return f"the rules do not find {text} in {name}"
    right = {**base, "cmds/x.c": '#include "analyze/totals.h"\n#include <stdio.h>\n#include "command.h"',
             "backends/opencl/y.c": "#include <sonde/backend.h>\n#include <CL/cl.h>\n#include \"guest/lock.h\"\n#include \"layer.h\"",
             "agent/z.c": '#include "guest/lock.h"\n#include "base/map.h"', "guest/lock.c": '#include "guest/lock.h"\n#include <sonde/error.h>'}
    return "the rules forbid what is allowed" if crossings(set(right), right) else None


def main():
    problem = prove()
    if problem:
        print(problem)
        return 1
    texts = read_tree()
    unknown = sorted({part_of(name) for name in texts} - set(MAY))
    found = crossings(set(texts), texts)
    for line in found:
        print(line)
    for name in unknown:
        print(f"src/{name} has no rule in tests/commands/layering.py")
    print(f"{len(texts)} files looked at")
    return 1 if found or unknown or len(texts) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
