#!/usr/bin/env python3
"""Read a measurement by docs/developers/format.md alone, sharing no code with src/format,
and compare with the totals that sonde-synth knows.

usage: spec.py SONDE-SYNTH
"""
import json, shutil, struct, subprocess, sys, tempfile
from pathlib import Path

KINDS = {1: "kernel", 3: "read", 4: "write"}
OP, CALL, PROCESS = 14, 15, 17


def chunks(data):
    at = 0
    while at < len(data):
        magic, version, table, owner, count, first, tmin, tmax, raw, stored, columns, flags, row, _ = struct.unpack_from(
            "<IHHIIQQQIIHHIQ", data, at)
        assert magic == 0x31434E53 and version == 7 and at % 8 == 0
        payload = data[at + 64:at + 64 + stored]
        if flags & 2:
            payload = subprocess.run(["zstd", "-dcq"], input=payload, stdout=subprocess.PIPE, check=True).stdout
        assert len(payload) == raw
        yield table, owner, count, first, columns, row, payload
        at += (64 + stored + 7) // 8 * 8


def varint(b, at):
    value = shift = 0
    while True:
        byte = b[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def zigzag(b, at):
    v, at = varint(b, at)
    return v >> 1 ^ -(v & 1), at


def directory(b, columns):
    at, entries = 0, []
    for _ in range(columns):
        e = {"predictor": b[at] & 15, "planes": b[at] >> 4, "shift": b[at + 1] & 127, "divisor": 1}
        divided, at = b[at + 1] & 128, at + 2
        e["width"], at = varint(b, at)
        e["offset"], at = varint(b, at)
        if e["predictor"] in (2, 3):
            e["ref"], at = b[at], at + 1
        if e["predictor"] in (3, 6):
            e["span"], at = b[at], at + 1
        if e["predictor"] != 4:
            e["first"], at = zigzag(b, at)
            e["least"], at = zigzag(b, at)
            if divided:
                e["divisor"], at = varint(b, at)
        entries.append(e)
    return entries, at


def distances(b, entries, at, n):
    """Per column the list of n distances, or of n byte strings."""
    result = []
    for e in entries:
        if e["predictor"] == 4:
            w = e["width"]
            result.append([b[at + i * w:at + (i + 1) * w] for i in range(n)])
            at += n * w
            continue
        values = [0] * (n - 1)
        for p in range(e["planes"]):
            for i in range(n - 1):
                values[i] += b[at + i] << e["shift"] + 8 * p
            at += n - 1
        result.append(values)
    for e, values in zip(entries, result):
        if e["predictor"] == 4:
            continue
        size = (e["shift"] * (n - 1) + 7) // 8
        bits = int.from_bytes(b[at:at + size], "little")
        at += size
        for i in range(n - 1):
            low = bits >> i * e["shift"] & (1 << e["shift"]) - 1
            values[i] = e["least"] + e["divisor"] * (values[i] + low)
        values.insert(0, e["first"])
    assert at == len(b)
    return result


def decode(columns, b, n):
    """{offset: [values]}"""
    entries, at = directory(b, columns)
    d = distances(b, entries, at, n)
    last = [0] * len(entries)
    previous = [0] * len(entries)
    rows = {e["offset"]: [] for e in entries}
    for i in range(n):
        now = []
        for c, e in enumerate(entries):
            kind, v = e["predictor"], d[c][i]
            if kind == 1:
                v += previous[c]
            elif kind == 2:
                v += now[e["ref"]]
            elif kind == 3:
                v += max(previous[c + e["span"]], now[e["ref"]])
            elif kind == 6:
                v += previous[c + e["span"]]
            elif kind == 5:
                v %= 1 << 64
                if v:
                    v = last[c] = last[c] + (v - 1 >> 1 ^ -(v - 1 & 1))
            if kind != 4:
                v %= 1 << 8 * e["width"]
            now.append(v)
            rows[e["offset"]].append(v)
        previous = now
    return rows


def main():
    if not shutil.which("zstd"):
        print("skipped: no zstd command")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        known = json.loads(subprocess.run(
            [sys.argv[1], "--operations", "7000", "--lanes", "2", "--threads", "2", folder + "/m"],
            stdout=subprocess.PIPE, check=True).stdout)
        data = next(Path(folder).glob("m/*/data.sonde")).read_bytes()
    count, total, moved, calls, api, seen, next_row = {}, {}, {}, 0, 0, 0, {}
    for table, owner, n, first, columns, row, payload in chunks(data):
        if table in (OP, CALL):
            assert first == next_row.get((table, owner), 0)
            next_row[table, owner] = first + n
        if table == OP:
            r = decode(columns, payload, n)
            for start, end, size, kind in zip(r[0], r[8], r[40], r[68]):
                name = KINDS[kind]
                count[name] = count.get(name, 0) + 1
                total[name] = total.get(name, 0) + end - start
                moved[name] = moved.get(name, 0) + size
        elif table == CALL:
            r = decode(columns, payload, n)
            calls += n
            api += sum(leave - enter for enter, leave in zip(r[0], r[8]))
        elif table == PROCESS:
            header = decode(columns, payload, n)[0][0]
            assert len(header) == 4160 and header[:8] == b"SNDLIVE1"
            seen = struct.unpack_from("<Q", header, 592)[0]
    found = {"operations": count, "total_ns": total, "bytes": moved, "calls": calls, "api_ns": api, "seen": seen}
    wrong = {k: (v, known[k]) for k, v in found.items() if v != known[k]}
    print("differs:" if wrong else "agrees:", wrong or found)
    return 1 if wrong else 0


sys.exit(main())
