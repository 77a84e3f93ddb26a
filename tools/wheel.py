#!/usr/bin/env python3
"""wheel.py [BUILD] - BUILD/dist/sonde-VERSION-py3-none-manylinux_2_N_ARCH.whl: `import sonde` with its library and the command.

The tree of tools/dist.sh goes into the package, as sonde/tree: it runs from any folder. The package has no compiled module, so that
one wheel serves every CPython; N is the C library that the tree needs (PEP 600). Written as PEP 427 says, without any other tool,
and the same bytes from the same tree.
"""
import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import zipfile

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TIME = (1980, 1, 1, 0, 0, 0)
LEFT_OUT = ("share/doc/", "share/sonde/python/", "share/bash-completion/", "share/fish/", "share/zsh/")

METADATA = """Metadata-Version: 2.1
Name: sonde
Version: {version}
Summary: Measures GPU programs, and reads the measurements as data frames
License: Apache-2.0
Requires-Python: >=3.9
Provides-Extra: frames
Requires-Dist: pandas>=2; extra == "frames"
Requires-Dist: pyarrow>=14; extra == "frames"
Provides-Extra: dask
Requires-Dist: dask[dataframe]>=2024.8; extra == "dask"
Description-Content-Type: text/markdown

`sonde record -- python3 train.py` records what a program's GPU did and which code asked for it; `sonde report` says where the time
went; `import sonde` reads it as NumPy arrays, data frames and Arrow tables.
"""
ENTRY_POINTS = """[console_scripts]
sonde = sonde.__main__:main
"""


def files_below(folder):
    for here, below, names in os.walk(folder):
        below[:] = sorted(name for name in below if name != "__pycache__")
        for name in sorted(names):
            path = os.path.join(here, name)
            if not os.path.islink(path): # of libsonde, for linkers
                yield os.path.relpath(path, folder), path


def c_library(tree):
    """The newest version of it that anything in the tree needs: 36 of 2.36."""
    newest = 17 # the oldest that there is a tag for
    for _, path in files_below(tree):
        with open(path, "rb") as file:
            if file.read(4) == b"\x7fELF":
                said = subprocess.run(["objdump", "-T", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
                newest = max([newest, *map(int, re.findall(r"GLIBC_2\.(\d+)", said))])
    return newest


class Wheel:
    def __init__(self, path):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.record = []

    def add(self, name, data, executable=False):
        info = zipfile.ZipInfo(name, TIME)
        info.external_attr = (0o100755 if executable else 0o100644) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def close(self, record):
        self.record.append(f"{record},,")
        self.zip.writestr(zipfile.ZipInfo(record, TIME), "\n".join(self.record) + "\n")
        self.zip.close()


def main():
    build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(SOURCE, "build"))
    made = subprocess.run([os.path.join(SOURCE, "tools/dist.sh"), build], stdout=subprocess.PIPE, text=True, check=False)
    if made.returncode:
        return made.returncode
    version = subprocess.run([os.path.join(build, "bin/sonde"), "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[1]
    tree = os.path.join(build, "dist", f"sonde-{version}-linux-{platform.machine()}")
    tag = f"py3-none-manylinux_2_{c_library(tree)}_{platform.machine()}"
    info, path = f"sonde-{version}.dist-info", os.path.join(build, "dist", f"sonde-{version}-{tag}.whl")
    wheel = Wheel(path + ".part")
    for name, file in files_below(os.path.join(SOURCE, "python/sonde")):
        with open(file, "rb") as data:
            wheel.add(f"sonde/{name}", data.read())
    for name, file in files_below(tree):
        if not name.startswith(LEFT_OUT):
            with open(file, "rb") as data:
                wheel.add(f"sonde/tree/{name}", data.read(), os.access(file, os.X_OK))
    wheel.add(f"{info}/METADATA", METADATA.format(version=version).encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: sonde\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
    wheel.add(f"{info}/entry_points.txt", ENTRY_POINTS.encode())
    with open(os.path.join(SOURCE, "LICENSE"), "rb") as data:
        wheel.add(f"{info}/licenses/LICENSE", data.read())
    wheel.close(f"{info}/RECORD")
    os.replace(path + ".part", path)
    print(f"{path} ({os.path.getsize(path) / 1e6:.1f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
