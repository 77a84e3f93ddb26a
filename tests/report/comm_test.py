"""comm_test.py - `sonde report DIR comm` of tests/programs/directions.c, recorded here on two devices of PoCL: every number
follows from its source. What no OpenCL program can show is in tests/unit/analyze/answers/comm.c and tests/serve.
"""
import os
import re

from views import PROGRAMS, Case, columns  # first: it knows where the next are
import cli

PROGRAM = os.path.join(PROGRAMS, "directions")
SIZE = 4096  # its BYTES
# (from, to, kind) -> operations, SIZE. None is unknown.
PAIRS = {
    ("host", 0, "copy"): (3, 3),
    ("host", 1, "copy"): (3, 2 + 4 + 2),    # written, written in another context, replaced in a map
    (0, 0, "copy"): (2, 1 + 2),
    (1, 1, "copy"): (3, 3),
    (0, "host", "copy"): (3, 4 + 1 + 5),    # read, and mapped to be read: a buffer, shared virtual memory
    (1, "host", "copy"): (2, 2),
    (None, 0, "migration"): (2, 8),         # one of them without contents
    (None, 1, "migration"): (1, 4),
    (None, "host", "migration"): (1, 4),
    (None, None, "copy"): (1 + 3 + 1, 3),   # mapped to be read and written; and what was mapped is given back
}
# The same of functions, and of what they sent.
LINES = {
    ("to_devices", "host", 0): (3, 3),
    ("to_devices", "host", 1): (1, 2),
    ("across", 0, "host"): (1, 4),
    ("across", "host", 1): (1, 4),
    ("from_device", 1, "host"): (2, 2),
    ("migrate", None, "host"): (1, 4),
}
OBJECTS = {
    ("svm", "map_shared", 0, "host"): (1, 5),
    ("buffer", "across", "host", 1): (1, 4),
    ("buffer", "main", "host", 0): (3, 3),
    (None, None, None, 0): (1, 8),  # two at once: the operation names none
}


def by(rows, key):
    found = {}
    for row in rows:
        operations, size = found.get(key(row), (0, 0))
        found[key(row)] = operations + row["operations"], size + row["bytes"] / SIZE
    return found


def allocator(row):
    """The function that asked `make` for it."""
    names = [frame["name"] for frame in row["frames"]]
    return (names + [None])[names[:1] == ["make"]]


class Comm(Case):
    def comm(self, *options):
        path = self.record(PROGRAM, options=options)
        return path, self.json(path, "comm")

    def test_known(self):
        path, value = self.comm()
        way = lambda row: (row["from"], row["to"])
        self.assertEqual(by(value["pairs"], lambda row: (*way(row), row["kind"])), PAIRS)
        self.assertEqual(by(value["matrix"], way), {key[:2]: sums for key, sums in PAIRS.items()})
        lines = by(value["lines"], lambda row: (row["function"], *way(row)))
        objects = by(value["objects"], lambda row: (row["name"], allocator(row), *way(row)))
        self.assertEqual({key: lines.get(key) for key in LINES}, LINES)
        self.assertEqual({key: objects.get(key) for key in OBJECTS}, OBJECTS)
        self.assertEqual(value["links"], [])
        self.assertEqual(value["unknown_operations"], 9)
        self.assertTrue(all(row["exact"] for name in ("pairs", "lines", "objects") for row in value[name]))
        self.assertTrue(all(row["file"].endswith("directions.c") and row["line"] and row["kernel"] is None for row in value["lines"]))

    def test_owner(self):
        """Of contexts of one device, where an object lies is known."""
        _, value = self.comm()
        owners = {(row["name"], allocator(row)): row["owner"] for row in value["objects"]}
        self.assertEqual(owners["buffer", "across"], 1)
        self.assertIsNone(owners["buffer", "main"])

    def test_text(self):
        path, value = self.comm()
        text = self.ok("report", path, "comm").out
        head = re.search(r"(?m)^From +to host +to 0 +to 1 +to unknown$", text)
        self.assertTrue(head, text)
        self.assertRegex(text, r"(?m)^host +0 B +12\.3 kB +32\.8 kB +0 B$")
        self.assertRegex(text, r"(?m)^across\(\) directions\.c:\d+ ← main\(\) +host → 1 +1 +16\.4 kB")
        self.assertRegex(text, r"(?m)^svm +map_shared\(\) .* 0 → host ")
        self.assertIn("25 operations, 197 kB in total", text)
        self.assertIn("one end of 9 operations, with 77.8 kB", text)
        for by_what, first in ("pair", "From"), ("line", "Line"), ("object", "Object"):
            alone = self.ok("report", path, "comm", "--by", by_what, "--limit", "0").out.splitlines()
            self.assertTrue(alone[0].startswith(first), alone)
            self.assertEqual(alone.index(""), 1 + len(value[by_what + "s"]))
        self.assertTrue(all(columns(line) <= 100 for line in text.splitlines()))

    def test_wrong_questions(self):
        path, _ = self.comm()
        for view, what in ("comm", "function"), ("profile", "pair"):
            self.assertIn(f"not '{what}'", self.fails("report", path, view, "--by", what, status=2).err)

    def test_window(self):
        path, value = self.comm()
        parts = [self.json(path, "comm", *window) for window in (("--to", "60%"), ("--from", "60%"))]
        for name in "operations", "bytes":
            self.assertEqual(sum(part[name] for part in parts), value[name])
        self.assertIn("the time window is empty", self.fails("report", path, "comm", "--from", "9s", "--to", "1s").err)

    def test_profile_only(self):
        """The same without a trace: only what is in no profile is missing."""
        _, value = self.comm("--profile")
        found = by(value["pairs"], lambda row: (row["from"], row["to"], row["kind"]))
        self.assertEqual(found, PAIRS)
        self.assertEqual(value["untraced"], 1)
        self.assertEqual({row["name"] for row in value["objects"]}, {None})


cli.main()
