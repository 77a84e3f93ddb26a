"""owners_test.py - what `sonde record --comm` counts of OpenCL kernels' accesses to memory that is another device's, or the host's: tests/programs/owners.c, on two
devices of PoCL or (OWNERS_RUNTIME) two halves of another runtime's. Every number follows from its source.
"""
import os
import subprocess
import tempfile

from views import PROGRAMS, Case  # first: it knows where the next are
import cli

PROGRAM = os.path.join(PROGRAMS, "owners")
RUNTIME = os.environ.get("OWNERS_RUNTIME")
N, LARGE, TIMES = 4096, 1 << 24, 20
# By case: (kernel, line of its source, kind, from, to) -> accesses, bytes of each.
CASES = {
    "pair": {("sum", 6, "load", 0, 1): (3 * N, 4)},
    "binary": {("sum", 6, "load", 0, 1): (3 * N, 4)},
    "newest": {("sum", 6, "load", 0, 1): (3 * N, 4)},
    "again": {("sum", 6, "load", 0, 1): (TIMES * N, 4)},
    "threads": {("sum", 6, "load", 0, 1): (TIMES * N, 4), ("sum", 6, "load", 1, 0): (TIMES * N, 4)},
    "halves": {("edges", 10, "load", 0, 1): (1, 4), ("edges", 10, "load", 1, 0): (1, 4), ("fill", 2, "store", 1, 0): (N // 2, 4)},
    "lists": {("follow", 14, "load", 0, 1): (4 * N, 6)},  # as many pointers of 8 bytes as numbers of 4
    "lanes": {("third", 18, "load", 0, 1): (2 * ((N + 2) // 3) - (N + 14) // 15, 4), ("third", 19, "store", 1, 0): ((N + 4) // 5, 4)},
    "atomics": {("count", 22, "atomic", 0, 1): (8, 4), ("count", 22, "atomic", 1, 0): (8, 4),
                ("count", 23, "atomic", 0, 1): (1, 4), ("count", 23, "atomic", 1, 0): (1, 4)},
    "shapes": {("loops", 28, "load", 0, 1): (5 * N, 4)},
    "widths": {**{(f"wide_{name}", 32 + at, "load", 0, 1): (256, size) for at, (name, size) in enumerate((
        ("uchar", 1), ("short", 2), ("int", 4), ("long", 8), ("float2", 8), ("float4", 16), ("float8", 32), ("float16", 64), ("double", 8)))},
        ("parts", 41, "load", 0, 1): (256, 12)},
    "moves": {("sum", 6, "load", 1, 0): (2 * N, 4), ("sum", 6, "load", "host", 1): (2 * N, 4), ("sum", 6, "load", 0, 1): (N // 2, 4)},
    "order": {("sum", 6, "load", 1, 0): (N, 4)},
    "over": {("either", 42, "load", 0, 1): (64, 4), ("either", 42, "store", 1, 0): (64, 4)},
    "fine": {("sum", 6, "load", "host", 1): (N, 4), ("fill", 2, "store", 0, "host"): (N, 4), ("sum", 6, "load", 0, 1): (N, 4)},
    "plain": {},
    "alone": {},
}
OF_INTEL = {
    "usm": {("fill", 2, "store", 0, "host"): (N, 4), ("sum", 6, "load", "host", 1): (N, 4), ("sum", 6, "load", 0, 1): (N, 4),
            ("fill", 2, "store", 1, 0): (N, 4), ("sum", 6, "load", 1, 0): (N, 4)},
    "blocking": {("fill", 2, "store", 0, "host"): (LARGE, 4)},
    "heap": {("sum", 6, "load", "host", 0): (N, 4)},
}
SILENT = {"fine", "usm", "blocking"}  # the host may write it unseen


def found_in(rows):
    return {(row["kernel"], row["line"], row["kind"], row["from"], row["to"]): (row["operations"], row["bytes"] / row["operations"])
            for row in rows if row["kernel"]}


class Owners(Case):
    def setUp(self):
        super().setUp()
        if RUNTIME:
            vendor = self.path("runtime.icd")
            with open(vendor, "w") as file:
                file.write(RUNTIME + "\n")
            os.environ["OCL_ICD_VENDORS"] = vendor

    def comm(self, case, *options):
        path = self.record(PROGRAM, case, options=("--comm", *options))
        plain = subprocess.run([PROGRAM, case], capture_output=True, text=True, check=True)
        self.assertEqual([line for line in self.said.splitlines() if not line.startswith("sonde: ")], plain.stdout.splitlines())
        return path, self.json(path, "comm")

    def test_accesses(self):
        cases = {**CASES, **(OF_INTEL if RUNTIME else {})}
        if RUNTIME:
            del cases["binary"]
        for case, expected in cases.items():
            with self.subTest(case):
                path, value = self.comm(case)
                found = found_in(value["lines"])
                if RUNTIME and case == "atomics":  # lanes of a vector look whose it is at once
                    self.assertEqual(found.keys(), expected.keys())
                    self.assertTrue(all(expected[key][0] <= found[key][0] <= 64 and found[key][1] == 4 for key in found), found)
                else:
                    self.assertEqual(found, expected)
                kinds = ("load", "store", "atomic")
                self.assertTrue(all(row["exact"] != (case in SILENT) for row in value["pairs"] if row["kind"] in kinds), value["pairs"])
                for each in "pairs", "kernels", "objects":
                    self.assertEqual(sum(row["bytes"] for row in value[each] if row["kind"] in kinds), sum(row["bytes"] for row in value["lines"] if row["kernel"]))
                self.assertTrue(all(row["engine"] == "spirv" and row["looked_at"] == row["launches"] for row in value["coverage"]), value["coverage"])
                self.assertTrue(all((row["reason"] or "").startswith("the host may have") for row in value["coverage"]) if case == "fine" else True)
                self.assertEqual("which nobody sees" in " ".join(self.ok("report", path, "comm").out.split()), case in SILENT)

    def test_elements(self):
        """All that is accessed of an object is in its cells, at its place."""
        def cells(path, kind, start, end):
            found = {}
            for row in self.json(path, "comm", "--by", "element")["elements"]:
                if (row["kind"], row["from"], row["to"]) == (kind, start, end):
                    for run in row["runs"]:
                        for k in range(run["cells"]):
                            found[run["first_byte"] + k * row["cell_bytes"]] = found.get(run["first_byte"] + k * row["cell_bytes"], 0) + run["bytes"]
            return found

        def ways(rows):
            sums = {}
            for row in rows:
                if row["kind"] in ("load", "store", "atomic") and row["site"]:  # nobody allocated the host's own memory for kernels
                    key = row["site"].split(" ←")[0], row["from"], row["to"], row["kind"]
                    sums[key] = sums.get(key, 0) + row["bytes"]
            return sums
        known = {"pair": ("load", 0, 1, {4 * k: 3 * 4 for k in range(N)}), "halves": ("store", 1, 0, {4 * k: 4 for k in range(N // 2)})}
        for case, expected in {**CASES, **(OF_INTEL if RUNTIME else {})}.items():
            with self.subTest(case):
                path, value = self.comm(case, "--comm-elements")
                if not RUNTIME or case not in ("atomics", "binary"):
                    self.assertEqual(found_in(value["lines"]), expected)
                self.assertEqual(ways(value["elements"]), ways(value["objects"]))
                self.assertEqual(value["elements_unread"], 0)
                if case in known:
                    self.assertEqual(cells(path, *known[case][:3]), known[case][3])
        path, _ = self.comm("pair", "--comm-elements=64")
        self.assertEqual(cells(path, "load", 0, 1), {256 * k: 3 * 256 for k in range(64)})

    def test_names(self):
        """What is accessed of an object once it has a name is apart from what was before, and from others of its line."""
        path, value = self.comm("named", "--comm-elements")
        self.assertEqual(found_in(value["lines"]), {("sum", 6, "load", 0, 1): (4 * N, 4)})
        rows = sorted((str(row["part"]), sum(run["cells"] * run["bytes"] for run in row["runs"])) for row in self.json(path, "comm", "--by", "element")["elements"])
        self.assertEqual(sum(size for _, size in rows), 4 * 4 * N)
        self.assertEqual([row for row in rows if row[0] == "half"], [("half", 4 * N // 2)])

    def test_drawn(self):
        """Kernels and operations drawn at random: whose each element is by the rules is known to the program, too."""
        for seed in range(1, 5):
            path = self.record(PROGRAM, "drawn", str(seed), options=("--comm", "--comm-elements") if seed > 2 else ("--comm",))
            name = lambda number: "host" if number == "-1" else int(number)
            expected = {(kind, name(a), name(b)): int(count) for kind, a, b, count in (line.split() for line in self.said.splitlines() if line.startswith(("load", "store")))}
            value = self.json(path, "comm")
            found = {(row["kind"], row["from"], row["to"]): row["operations"] for row in value["pairs"] if row["kind"] in ("load", "store")}
            self.assertEqual(found, expected, seed)
            cells = {}
            for row in value["elements"]:
                key = row["kind"], row["from"], row["to"]
                cells[key] = cells.get(key, 0) + row["bytes"]
            self.assertEqual(cells, {(row["kind"], row["from"], row["to"]): row["bytes"] for row in value["pairs"] if row["kind"] in ("load", "store")} if seed > 2 else {}, seed)
            self.assertTrue(len(expected) > 2 and all(row["exact"] for row in value["pairs"]))

    def test_paused(self):
        """What is written while recording is off nobody sees, and that is said."""
        path, value = self.comm("paused")
        for each in "pairs", "lines", "kernels":
            self.assertEqual([row["exact"] for row in value[each] if row["kind"] == "load"], [False], each)
        self.assertIn("Recording was off for a time", self.ok("report", path, "comm").out)

    def test_whose(self):
        """The object and the calling context of what is loaded."""
        _, value = self.comm("pair")
        [line] = [row for row in value["lines"] if row["kernel"]]
        [thing] = [row for row in value["objects"] if row["kind"] == "load"]
        self.assertEqual([frame["name"] for frame in line["frames"]][:4], ["run", "sum_all", "pair", "main"])
        self.assertEqual(line["file"], "<source>")
        self.assertEqual((thing["name"], thing["from"], thing["to"], thing["owner"], thing["bytes"]), ("svm", 0, 1, 0, 4 * 3 * N))
        self.assertIn("pair() owners.c", thing["site"])

    def test_sample(self):
        """The first and the third of three launches; the second one is said to have had as much."""
        _, value = self.comm("pair", "--comm-sample", "1/2")
        self.assertEqual(found_in(value["lines"]), {("sum", 6, "load", 0, 1): (2 * N, 4)})
        [pair] = [row for row in value["pairs"] if row["kind"] == "load"]
        self.assertEqual((pair["exact"], pair["bytes"], round(pair["estimated_bytes"])), (False, 4 * 2 * N, 4 * 3 * N))
        coverage = {row["kernel"]: (row["launches"], row["looked_at"]) for row in value["coverage"]}
        self.assertEqual(coverage, {"sum": (4, 3), "fill": (1, 1)})

    def test_kernel(self):
        """What a kernel may have written that is not looked at is its device's."""
        _, value = self.comm("pair", "--kernel", "su*")
        self.assertEqual(found_in(value["lines"]), CASES["pair"])
        reasons = {row["kernel"]: row["reason"] for row in value["coverage"]}
        self.assertEqual(reasons, {"sum": None, "fill": "not asked for (--kernel)"})

    def test_nothing(self):
        """Where a launch cannot reach memory of another device, or the process has none, the runtime compiles nothing more."""
        for case in () if RUNTIME else ("alone", "pair"):  # PoCL's cache tells what it compiled
            with tempfile.TemporaryDirectory() as cache:
                env = {**os.environ, "POCL_CACHE_DIR": cache}
                compiled = lambda: {name for _, below, _ in os.walk(cache) for name in below if len(name) > 30}
                subprocess.run([PROGRAM, case], env=env, capture_output=True, check=True)
                before = compiled()
                subprocess.run([cli.SONDE, "record", "--force", "--comm", "-o", self.path("m.sonde"), "--", PROGRAM, case], env=env, capture_output=True, check=True)
                self.assertEqual(compiled() == before, case == "alone", (before, compiled()))

    def test_binary(self):
        """Of a program that is made of its binaries PoCL has the bitcode, Intel's runtime nothing."""
        _, value = self.comm("binary")
        reasons = {row["kernel"]: row["reason"] for row in value["coverage"]}
        if RUNTIME:
            self.assertEqual((found_in(value["lines"]), set(reasons.values())), ({}, {"neither LLVM bitcode, source nor SPIR-V of its program is known"}))
        else:
            self.assertEqual(reasons, {"sum": None, "fill": None})

    def test_copies(self):
        """--comm=copies looks at no kernel."""
        path = self.record(PROGRAM, "pair", options=("--comm=copies",))
        value = self.json(path, "comm")
        self.assertEqual((found_in(value["lines"]), value["coverage"]), ({}, []))


cli.main()
