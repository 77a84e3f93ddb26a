#!/usr/bin/env python3
"""The tables of docs/developers/format.md are those of src/format/rows.h: numbers, names, sizes, fields with their types in the
order of the row, and of traces the lanes, times and counters.

usage: tables.py PROGRAM FORMAT.md     (PROGRAM prints what rows.h has: tables.c)
"""
import re, subprocess, sys


def plain(text):
    """Without what stands in parentheses."""
    while re.search(r"\([^()]*\)", text):
        text = re.sub(r"\([^()]*\)", "", text)
    return text


def fields(text):
    """Fields of "… u64 a, b; u32 c[3], d. …", from the first type on to the end of that sentence."""
    found = re.search(r"\b(u8|u16|u32|u64|f64|char)\s\w.*?\.(?=\s|$)", plain(text), re.S)
    if not found:
        return []
    result = []
    for group in found.group().rstrip(".").split(";"):
        kind, names = group.split(None, 1)
        result += [kind + ":" + re.sub(r"\s", "", name) for name in names.split(",")]
    return result


def main():
    known = subprocess.run([sys.argv[1]], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    with open(sys.argv[2]) as file:
        page = file.read()
    heads = r"^\*\*(\d+) (\w+)\*\*(?: \(([\d,]+)\))?\. (.*?)(?=^\*\*\d|^## )"
    written = {m[0]: (m[1], m[2].replace(",", ""), fields(m[3])) for m in re.findall(heads, page, re.M | re.S)}
    wrong = []
    for line in known:
        if line.startswith("|"):
            wrong += [] if line in page.splitlines() else [f"not there: {line}"]
            continue
        number, name, size, *row = line.split()
        if name == "STRING":
            size, row = "", written.get(number, ("", "", []))[2]
        if name in ("PROCESS", "BASE"):  # structures, whose fields stand elsewhere
            row = written.get(number, ("", "", []))[2]
        got = written.pop(number, None)
        if got != (name, size, row):
            wrong.append(f"rows.h has {line}\n  the page has {got}")
    wrong += [f"no such table: {got}" for got in written.values()]
    print("\n".join(wrong) or "agrees")
    return len(wrong) > 0


sys.exit(main())
