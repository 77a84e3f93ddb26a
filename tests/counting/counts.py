#!/usr/bin/env python3
"""Read what the counting layer wrote: `counts.py PREFIX` prints one JSON object of sums over processes."""
import glob
import json
import struct
import sys


def read(prefix):
    """Operations by kind, summed over the processes that wrote PREFIX.PID; kinds that are zero are left out."""
    total = {}
    for path in sorted(glob.glob(glob.escape(prefix) + ".*")):
        with open(path, "rb") as file:
            data = file.read()
        if data[:8] != b"CLCOUNT\0":
            raise ValueError(f"{path}: not written by the counting layer")
        kinds, _pid = struct.unpack_from("<II", data, 8)
        for row in range(kinds):
            name, good, _failed = struct.unpack_from("<16sQQ", data, 16 + 32 * row)
            if good:
                key = name.rstrip(b"\0").decode()
                total[key] = total.get(key, 0) + good
    return total


def processes(prefix):
    """How many processes loaded the layer."""
    return len(glob.glob(glob.escape(prefix) + ".*"))


if __name__ == "__main__":
    print(json.dumps(read(sys.argv[1]), indent=1))
