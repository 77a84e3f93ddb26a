"""Sources are laid out as .clang-format says: by the version of clang-format that tests/requirements.txt names.

    format.py [FOLDER|FILE...]      only these, relative to the source tree
"""
import os
import re
import subprocess
import sys

SOURCE = os.environ.get("SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIP = 77
SHOWN = 30  # lines of what differs

FOLDERS = ["bench", "examples", "include", "src", "tests"]
# Tests know the line numbers of what is in these.
LEFT_ALONE = {"tests/programs", "tests/gpu", "tests/sampling"}
LEFT_ALONE_ANYWHERE = {"fixtures"}


def sources(places):
    for place in places:
        if os.path.isfile(os.path.join(SOURCE, place)):
            yield place
        for folder, below, names in os.walk(os.path.join(SOURCE, place)):
            here = os.path.relpath(folder, SOURCE)
            below[:] = sorted(name for name in below if name not in LEFT_ALONE_ANYWHERE and os.path.join(here, name) not in LEFT_ALONE)
            yield from (os.path.join(here, name) for name in sorted(names) if name.endswith((".c", ".h")))


def pinned():
    with open(os.path.join(SOURCE, "tests/requirements.txt"), encoding="utf-8") as file:
        return re.search(r"^clang-format==(\S+)", file.read(), re.M).group(1)


def find():
    """The program beside this Python; or None and why not."""
    program = os.path.join(os.path.dirname(sys.executable), "clang-format")
    if not os.access(program, os.X_OK):
        return None, f"there is no {program}"
    said = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True).stdout
    version = re.search(r"version (\d+)", said)
    if not version or version.group(1) != pinned().split(".")[0]:
        return None, f"{program} is {said.strip() or 'of an unknown version'}, .clang-format is for {pinned()}"
    return program, None


def check(program, *args, **options):
    return subprocess.run([program, "--dry-run", "-Werror", "--style=file", *args], cwd=SOURCE, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def main():
    program, why = find()
    if not program:
        print("skipped:", why)
        return SKIP
    if not os.path.exists(os.path.join(SOURCE, ".clang-format")):
        print(f"there is no {SOURCE}/.clang-format")
        return 1
    if check(program, "--assume-filename=src/made.c", input="int  two;\n").returncode == 0:
        print(f"{program} --dry-run -Werror finds nothing wrong with two spaces")
        return 1
    names = list(sources(sys.argv[1:] or FOLDERS))
    done = check(program, *names) if names else None
    if done and done.returncode:
        lines = done.stdout.splitlines()
        print("\n".join(lines[:SHOWN]))
        wrong = {line.split(":")[0] for line in lines if ": error: " in line}
        wrong = [name for name in names if name in wrong]
        print(f"{len(wrong)} of {len(names)} files are not laid out as .clang-format says. To mend them:")
        print(f"cd {SOURCE} && {program} -i {' '.join(wrong)}")
        return 1
    print(f"{len(names)} files looked at")
    return 1 if len(names) < (1 if sys.argv[1:] else 20) else 0


if __name__ == "__main__":
    sys.exit(main())
