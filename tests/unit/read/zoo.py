"""zoo.py READ - libsonde reads every odd measurement of tests/cli/zoo.py, whole and with its files cut short: each is answered with its
rows or with one sentence, and nothing that a sanitizer finds.
"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cli"))
import zoo  # noqa: E402


def ask(program, path):
    done = subprocess.run([program, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=600, check=False)
    assert done.returncode == 0, f"{path}: status {done.returncode}: {done.stdout}"
    lines = done.stdout.splitlines()
    assert len(lines) == 1 and lines[0], f"{path}: {done.stdout}"
    return int(lines[0]) if lines[0].isdigit() else -1


def main():
    program, asked, refused = sys.argv[1], 0, 0
    with tempfile.TemporaryDirectory(prefix="sonde-read-zoo-") as folder:
        for animal in zoo.ZOO:
            path = animal(folder)
            rows = ask(program, path)
            asked, refused = asked + 1, refused + (rows < 0)
            files = [os.path.join(here, name) for here, _, names in os.walk(path) for name in names if name.endswith(".sonde")]
            for file in files[:1]:
                os.truncate(file, os.path.getsize(file) * 2 // 3)
                fewer = ask(program, path)
                assert fewer <= rows or rows < 0, f"{path}: {fewer} rows of a part, {rows} of all"
                asked += 1
    print(f"{asked} measurements, {refused} of them refused")
    return 0 if asked > 40 and refused < 5 else 1


if __name__ == "__main__":
    sys.exit(main())
