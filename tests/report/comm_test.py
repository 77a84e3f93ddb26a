"""comm_test.py - `sonde report DIR comm` of tests/programs/directions.c, recorded here on two devices of PoCL: every number
follows from its source. What no OpenCL program can show is made by tests/cli/live.py.
"""
import os
import random
import re
import shutil

from views import PROGRAMS, Case, columns  # first: it knows where the next are
import cli
import live

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
        for by_what, first in ("pair", "From"), ("line", "Line"), ("kernel", "Kernel"), ("object", "Object"):
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


class Made(Case):
    """Peer copies of CUDA, by several processes."""

    def ring(self, path, rank, ranks, devices=2, times=8):
        """Each device sends its array to the next, `times` times; the first of them is filled by the host."""
        p = live.Process(f"node-{4711 + rank}-1", 4711 + rank)
        p.rank = (rank + 1, rank + 1, ranks) if ranks > 1 else (0, 0, 0)
        gpus = [p.device("GPU") for _ in range(devices)]
        thread, queues = p.thread(4711 + rank), [p.queue(gpu) for gpu in gpus]
        main = p.node(0, p.frame(live.PYTHON, p.python("ring", "/home/user/ring.py", 7)))
        setup = p.node(0, p.frame(live.PYTHON, p.python("setup", "/home/user/ring.py", 3)))
        arrays = [p.object(5, p.node(setup, p.frame(live.API, offset=2, name="cuMemAlloc")), 1000, p.start_ns, device=gpu) for gpu in gpus]
        at = p.start_ns + 10**6
        p.enqueue(thread, queues[0], "cuMemcpyHtoD", main, "write", at, at + 10, at + 500, at + 600, size=500, obj=arrays[0],
                  work=p.work(source="pageable", target="device"))
        for i in range(times):
            for k, gpu in enumerate(gpus):
                to, at = gpus[(k + 1) % devices], at + 10**4
                p.enqueue(thread, queues[k], "cuMemcpyPeerAsync", main, "peer_copy", at, at + 10, at + 500, at + 1500, size=1000,
                          obj=arrays[k], work=p.work(source="device", target="device", devices=(gpu, to)))
        p.write(path)

    def test_ring(self):
        """Only neighbours, and each way as often as it was sent."""
        path = self.path("ring.sonde")
        live.write_manifest(path, ["ring.py"])
        self.ring(path, 0, 1, devices=4)
        value = self.json(path, "comm")
        found = by(value["pairs"], lambda row: (row["from"], row["to"]))
        self.assertEqual(found, {("host", 0): (1, 500 / SIZE), **{(k, (k + 1) % 4): (8, 8000 / SIZE) for k in range(4)}})
        sent = {(row["name"], row["owner"], row["from"], row["to"], row["bytes"]) for row in value["objects"] if row["from"] != "host"}
        self.assertEqual(sent, {("device", k, k, (k + 1) % 4, 8000) for k in range(4)})
        self.assertTrue(all(row["site"].startswith("setup() ring.py") for row in value["objects"]))
        self.assertEqual(value["unknown_operations"], 0)
        self.assertNotIn("may be the same one", self.ok("report", path, "comm").out)
        resent = [a for a in self.json(path, "advice")["advice"] if a["rule"] == "resent_objects"]
        self.assertEqual({(a["device"], a["count"], a["saving_ns"]) for a in resent}, {(k, 8, 7000) for k in range(4)})

    def by_host(self, *, direct=False, calls=("cuMemcpyPeerAsync",), graph=False):
        """Copies of 2 MB from device 0 to 1 without peer access, 3 ms away from it and 4 ms there, of one call each; and, which are none, copies of
        two calls, of one device, and a graph's. What advice says of them: count, bytes, time, saving."""
        path, p = self.path("m.sonde"), live.Process("node-1-1", 1)
        shutil.rmtree(path, ignore_errors=True)
        gpus = [p.device(f"GPU {i}") for i in range(3)]
        thread, queues = p.thread(1), [p.queue(gpu) for gpu in gpus]
        main, at = p.node(0, p.frame(live.PYTHON, p.python("halo", "/home/user/halo.py", 7))), p.start_ns + 10**6

        def half(call, device, kind, ns, size=2 * 10**6, together=False):
            nonlocal at
            p.correlation -= together
            ends = {"source": "device", "target": "pinned", "devices": (gpus[device], 0)} if kind == "read" else \
                {"source": "pinned", "target": "device", "devices": (0, gpus[device])}
            p.enqueue(thread, queues[device], call, main, kind, at, at + 10, at + 500, at + 500 + ns, size=size, work=p.work(**ends))
            at += 10**7
        for call in calls * 5:
            half(call, 0, "read", 3 * 10**6)
            half(call, 1, "write", 4 * 10**6, together=True)
        half("cuMemcpyDtoHAsync", 0, "read", 100)
        half("cuMemcpyHtoDAsync", 1, "write", 100)
        half("cuMemcpyAsync", 2, "read", 100)
        half("cuMemcpyAsync", 2, "write", 100, together=True)
        half("cuGraphLaunch", 0, "read", 100)
        half("cuGraphLaunch", 1, "write", 100, together=True)
        if direct:
            p.enqueue(thread, queues[1], "cuMemcpyPeerAsync", main, "peer_copy", at, at + 10, at + 500, at + 500 + 10**5, size=10**7,
                      work=p.work(source="device", target="device", devices=(gpus[1], gpus[2])))
        p.write(path)
        return [(a["device"], a["count"], a["bytes"], a["looked_at_ns"], a["saving_ns"]) for a in self.json(path, "advice")["advice"]
                if a["rule"] == "copies_by_host"]

    def test_copies_by_way_of_the_host(self):
        self.assertEqual(self.by_host(), [(1, 5, 10**7, 35 * 10**6, 35 * 10**6)])
        self.assertEqual(self.by_host(direct=True), [(1, 5, 10**7, 35 * 10**6, 35 * 10**6 - 10**5)])  # at 100 bytes per ns
        self.assertEqual(self.by_host(calls=("cuMemcpyPeer", "cudaMemcpy")), [(1, 10, 2 * 10**7, 7 * 10**7, 7 * 10**7)])
        self.assertEqual(self.by_host(calls=()), [])
        self.by_host()
        said = " ".join(self.ok("report", self.path("m.sonde"), "advice").out.split())
        self.assertIn("went by way of the host and took 35.0 ms: peer access between these is off", said)

    def test_ranks(self):
        path = self.path("ranks.sonde")
        live.write_manifest(path, ["ring.py"])
        for rank in range(2):
            self.ring(path, rank, 2, times=3)
        value = self.json(path, "comm")
        found = by(value["pairs"], lambda row: (row["from"], row["to"], row["process"]))
        expected = {}
        for rank in range(2):
            process = f"node-{4711 + rank}-1"
            expected["host", f"rank {rank}: 0", process] = 1, 500 / SIZE
            expected[f"rank {rank}: 0", f"rank {rank}: 1", process] = 3, 3000 / SIZE
            expected[f"rank {rank}: 1", f"rank {rank}: 0", process] = 3, 3000 / SIZE
        self.assertEqual(found, expected)
        text = self.ok("report", path, "comm").out
        self.assertRegex(text, r"(?m)^From +to host +to rank 0: 0 +to rank 0: 1 +to rank 1: 0 +to rank 1: 1$")
        self.assertRegex(text, r"(?m)^ring\(\) ring\.py:\d+ +rank 1: 0 → rank 1: 1 +3 +3\.00 kB")
        self.assertIn("Devices of different processes may be the same one", text)
        self.assertFalse([a for a in self.json(path, "advice")["advice"] if a["rule"] == "resent_objects"])


class Kernels(Case):
    """Accesses of kernels to memory of another device and of the host, as record --comm counts them."""

    def made(self, path, missed=0):
        p = live.Process("node-4711-1", 4711)
        gpus, thread = [p.device("GPU"), p.device("GPU")], p.thread(4711)
        queue, at = p.queue(gpus[0]), p.start_ns + 10**6
        here = lambda name, line: p.node(0, p.frame(live.PYTHON, p.python(name, "/home/user/halo.py", line)))
        array = p.object(5, p.node(here("setup", 3), p.frame(live.API, offset=2, name="cuMemAlloc")), 1000, p.start_ns, device=gpus[1])
        pinned = p.object(8, p.node(here("setup", 4), p.frame(live.API, offset=2, name="cuMemHostAlloc")), 1000, p.start_ns)
        for i, function in enumerate(("step", "step", "last")):
            at += 10**4
            halo = p.enqueue(thread, queue, "cuLaunchKernel", here(function, 7), "kernel", at, at + 10, at + 500, at + 1500, name="void halo<4>(float*)")
            if i != 1:  # both calls of step() are one place
                p.remote(halo, array, 2, 640, gpus[0], gpus[1], what=1, size=16, file="/src/halo.cu", line=31)
        p.remote(halo, array, 1, 7, gpus[0], gpus[1], what=0, size=4, file="/src/halo.cu", line=30)
        p.remote(halo, pinned, 3, 5, gpus[0], 0, what=0, size=8, file="/src/halo.cu", line=33)
        p.remote(halo, pinned, 3, 0, gpus[0], 0, what=0, size=8, file="/src/halo.cu", line=34)
        p.remote(halo, 0, 4, 9, gpus[0], gpus[1], what=3, size=4)
        p.looked_at(halo, 3)
        if missed:
            p.looked_at(halo, missed, 18)
        live.write_manifest(path, ["halo.py"])
        p.write(path)

    def test_kinds(self):
        path = self.path("halo.sonde")
        self.made(path)
        value = self.json(path, "comm")
        found = {(row["from"], row["to"], row["kind"]): (row["operations"], row["bytes"], row["exact"]) for row in value["pairs"]}
        self.assertEqual(found, {(0, 1, "store"): (1280, 20480, True), (1, 0, "load"): (7, 28, True), ("host", 0, "load"): (5, 40, True),
                                 (0, 1, "atomic"): (9, 36, True)})
        self.assertEqual({(row["kernel"], row["file"], row["line"], row["kind"], row["bytes"]) for row in value["lines"]},
                         {("void halo<4>(float*)", "/src/halo.cu", 31, "store", 20480), ("void halo<4>(float*)", "/src/halo.cu", 30, "load", 28),
                          ("void halo<4>(float*)", "/src/halo.cu", 33, "load", 40), ("void halo<4>(float*)", None, None, "atomic", 36)})
        self.assertEqual({(row["name"], row["owner"], row["kind"], row["bytes"]) for row in value["objects"]},
                         {("device", 1, "store", 20480), ("device", 1, "load", 28), ("pinned", "host", "load", 40), (None, 1, "atomic", 36)})
        self.assertEqual({(row["kernel"], row["from"], row["to"], row["kind"], row["operations"], row["bytes"], row["exact"]) for row in value["kernels"]},
                         {("void halo<4>(float*)", *key, *numbers) for key, numbers in found.items()})
        self.assertRegex(self.ok("report", path, "comm", "--by", "kernel").out, r"(?m)^void halo<4>\(float\*\) +0 → 1 +store +1,280 +20\.5 kB")
        self.assertEqual(value["coverage"], [{"kernel": "void halo<4>(float*)", "engine": "ptx", "launches": 3, "looked_at": 3, "reason": None}])
        text = self.ok("report", path, "comm").out
        self.assertRegex(text, r"(?m)^halo<4>\(\) halo\.cu:31 ← step\(\) halo\.py:\d+ +0 → 1 +1,280 +20\.5 kB")
        self.assertIn("1,301 accesses of kernels' threads to other memory, 20.6 kB", text)
        self.assertNotIn("Not all launches", text)

    def test_missed(self):
        """What was not looked at is said, and numbers that lack it are not called exact."""
        path = self.path("some.sonde")
        self.made(path, missed=2)
        value = self.json(path, "comm")
        self.assertEqual({row["exact"] for name in ("pairs", "lines", "kernels", "objects", "matrix") for row in value[name]}, {False})
        self.assertEqual([(row["launches"], row["looked_at"]) for row in value["coverage"]], [(5, 3)])
        self.assertIn("refused its instrumented copy", value["coverage"][0]["reason"])
        self.assertIn("Not all launches were looked at", self.ok("report", path, "comm").out)

    def test_window(self):
        """They have no times: of a part of the run they are left out, and that is said."""
        path = self.path("part.sonde")
        self.made(path)
        self.assertEqual(self.json(path, "comm", "--from", "1%")["pairs"], [])
        self.assertIn("Accesses of kernels have no times", self.ok("report", path, "comm", "--from", "1%").out)


class Elements(Case):
    """Which parts of objects kernels accessed, as record --comm-elements counts it: what the report has is what the bytes, one by one, add up to."""

    def made(self, path, seed=1, sizes=((1000, 2), (4096, 4), (37, 2)), contexts=2, read=True):
        """Random cells of three objects in two contexts; of each (allocating function, kind) the bytes by cell, and its size and shift."""
        random_, truth = random.Random(seed), {}
        p = live.Process("node-4711-1", 4711)
        gpus, thread = [p.device("GPU"), p.device("GPU")], p.thread(4711)
        queue, at = p.queue(gpus[0]), p.start_ns + 10**6
        here = lambda name, line: p.node(0, p.frame(live.PYTHON, p.python(name, "/home/user/halo.py", line)))
        halo = p.enqueue(thread, queue, "cuLaunchKernel", here("step", 7), "kernel", at, at + 10, at + 500, at + 1500, name="halo")
        p.looked_at(halo, 1)
        for number, (size, shift) in enumerate(sizes):
            node = p.node(here(f"make{number}", 3 + number), p.frame(live.API, offset=2, name="cuMemAlloc"))
            obj, cells = p.object(5, node, size, p.start_ns, device=gpus[1]), (size - 1 >> shift) + 1
            p.remote(halo, obj, number, 1, gpus[0], gpus[1], what=1)
            for _ in range(contexts):
                array = p.array(obj, size, gpus[0], gpus[1], shift, read)
                for _ in range(12 if read else 0):
                    first = random_.randrange(cells)
                    count, kind, each = random_.randint(1, cells - first), random_.randrange(3), random_.choice((4, 8, 24))
                    p.cells(array, kind, first, count, each)
                    of = truth.setdefault((f"make{number}", ("load", "store", "atomic")[kind]), (size, shift, [0] * cells))
                    for k in range(first, first + count):
                        of[2][k] += each
        live.write_manifest(path, ["halo.py"])
        p.write(path)
        return truth

    def rows(self, path, *options):
        return {(row["site"].split("(")[0], row["kind"]): row for row in self.json(path, "comm", *options)["elements"]}

    def test_cells_add_up(self):
        for seed in range(5):
            path = self.path(f"elements{seed}.sonde")
            truth, found = self.made(path, seed), self.rows(path, "--by", "element")
            self.assertEqual(found.keys(), truth.keys())
            for key, (size, shift, cells) in truth.items():
                row = found[key]
                each = [min(1 << shift, size - (k << shift)) for k in range(len(cells))]
                self.assertEqual((row["object_bytes"], row["cell_bytes"], row["bytes"]), (size, 1 << shift, sum(cells)))
                self.assertEqual(row["touched_bytes"], sum(n for n, bytes in zip(each, cells) if bytes))
                self.assertAlmostEqual(row["times"], row["bytes"] / row["touched_bytes"])
                self.assertEqual((row["from"], row["to"]), (1, 0) if key[1] == "load" else (0, 1))
                runs = [0] * len(cells)
                for run in row["runs"]:
                    for k in range(run["cells"]):
                        runs[run["first_byte"] // (1 << shift) + k] += run["bytes"]
                self.assertEqual(runs, cells)
                self.assertTrue(all(a["first_byte"] + a["cells"] * (1 << shift) < b["first_byte"] or a["bytes"] != b["bytes"] for a, b in zip(row["runs"], row["runs"][1:])))
            self.assertEqual([row["bytes"] for row in self.json(path, "comm")["elements"]], sorted((sum(cells) for *_, cells in truth.values()), reverse=True))
            self.assertFalse(any(row["runs"] for row in self.rows(path).values()))

    def test_grids(self):
        """A line of bytes, and rows and columns of them, divisible or not: each part has the bytes of the cells that lie in it, and its share of others."""
        path = self.path("grids.sonde")
        truth = self.made(path)
        for shape, of in ((None, "make"), ("64x64", "make1"), ("16x8", "make1"), ("10x25", "make0"), ("7x5", "make2"), ("4096x1", "make1")):
            name, _, matrix = (shape or "1x0").partition("x")
            options = ("--by", "element", *(("--shape", f"{of}={shape}") if shape else ()))
            for (function, kind), row in self.rows(path, *options).items():
                size, shift, cells = truth[function, kind]
                wanted = (int(name), int(matrix)) if shape and function == of else (1, size)
                self.assertEqual((row["rows"], row["columns"]), wanted)
                rows, columns = row["grid_rows"], row["grid_columns"]
                self.assertAlmostEqual(sum(part["bytes"] for part in row["grid"]), sum(cells), delta=1e-6 * sum(cells))
                if size % (rows * columns) or (wanted[0] > 1 and size // wanted[0] < 1 << shift):
                    continue
                expected = [[0.0] * columns for _ in range(rows)]
                for byte in range(size):
                    in_cell = min(1 << shift, size - (byte >> shift << shift))
                    at = byte % (size // wanted[0]) * columns // (size // wanted[0])
                    expected[byte * rows // size][at] += cells[byte >> shift] / in_cell
                grid = [[0.0] * columns for _ in range(rows)]
                for part in row["grid"]:
                    grid[part["row"]][part["column"]] = part["bytes"]
                for row_found, row_expected in zip(grid, expected):
                    for a, b in zip(row_found, row_expected):
                        self.assertAlmostEqual(a, b, delta=1e-6 * (1 + b))

    def test_text(self):
        path = self.path("text.sonde")
        self.made(path)
        text = self.ok("report", path, "comm", "--by", "element").out
        self.assertRegex(text, r"(?m)^device +make1\(\) halo\.py:\d+ +.*[▁▂▃▄▅▆▇█]")
        drawn = self.ok("report", path, "comm", "--by", "element", "--shape", "make1=64x64").out
        self.assertRegex(drawn, r"(?m)^ *0–1  ?[·░▒▓█]{64}$")
        self.assertRegex(drawn, r"(?m)^ *62–63  ?[·░▒▓█]{64}$")
        for wrong in ("make1", "64", "64x", "x64", "0x4", "make1=4x-1", "4x4x4"):
            self.assertIn("needs ROWSxCOLUMNS", self.fails("report", path, "comm", "--by", "element", "--shape", wrong, status=2).err)
        plain = self.path("none.sonde")
        self.made(plain, contexts=0)
        self.assertIn("record --comm-elements does", self.ok("report", plain, "comm", "--by", "element").out)

    def test_a_part_that_is_read_again(self):
        """A hundredth of an array, read forty times: too little for the array, not for that part."""
        for elements in (False, True):
            path, p = self.path(f"again{elements}.sonde"), live.Process("node-1-1", 1)
            gpus, thread = [p.device("GPU"), p.device("GPU")], p.thread(1)
            queue, at = p.queue(gpus[0]), p.start_ns + 100
            setup = p.node(0, p.frame(live.PYTHON, p.python("setup", "/home/user/halo.py", 3)))
            array = p.object(5, p.node(setup, p.frame(live.API, offset=2, name="cuMemAlloc")), 10**5, p.start_ns, device=gpus[1])
            halo = p.enqueue(thread, queue, "cuLaunchKernel", 0, "kernel", at, at + 10, at + 500, at + 10**6 + 500, name="halo")
            p.remote(halo, array, 1, 10000, gpus[0], gpus[1], what=0, size=4)
            p.looked_at(halo, 1)
            if elements:
                p.cells(p.array(array, 10**5, gpus[0], gpus[1]), 0, 5, 250, 160)
            live.write_manifest(path, ["halo.py"])
            p.write(path)
            found = [(a["bytes"], a["looked_at_ns"], a["saving_ns"]) for a in self.json(path, "advice")["advice"] if a["rule"] == "remote_reads"]
            self.assertEqual(found, [(40000, 10**6, 975000)] if elements else [])

    def named(self, path, seed, size, shift, names, alone=True, others=0):
        """Random cells of an object in which parts have names: [(offset, bytes, name, rows, columns, element bytes)], the last named last.
        Of each kind the bytes by cell."""
        random_, truth = random.Random(seed), {}
        p = live.Process("node-4711-1", 4711)
        gpus, thread = [p.device("GPU"), p.device("GPU")], p.thread(4711)
        queue, at = p.queue(gpus[0]), p.start_ns + 10**6
        here = lambda name, line: p.node(0, p.frame(live.PYTHON, p.python(name, "/home/user/model.py", line)))
        halo = p.enqueue(thread, queue, "cuLaunchKernel", here("step", 7), "kernel", at, at + 10, at + 500, at + 1500, name="halo")
        node, cells = p.node(here("make", 3), p.frame(live.API, offset=2, name="cuMemAlloc")), (size - 1 >> shift) + 1
        obj, *_ = [p.object(5, node, size, p.start_ns, device=gpus[1]) for _ in range(1 + others)]
        p.remote(halo, obj, 1, 1, gpus[0], gpus[1], what=1)
        p.looked_at(halo, 1)
        for number, name in enumerate(names):
            p.stretch(obj, *name, at_ns=p.start_ns + 10 + number)
        p.stretch(obj, 0, size, "of another time", at_ns=p.start_ns - 5)
        p.stretch(obj, size, 8, "beyond")
        p.stretch(0, 0x7f0000, 8, "nowhere")
        for _ in range(2):
            array = p.array(obj, size, gpus[0], gpus[1], shift, alone=alone)
            for _ in range(20):
                first = random_.randrange(cells)
                count, kind, each = random_.randint(1, cells - first), random_.randrange(3), random_.choice((4, 8, 24))
                p.cells(array, kind, first, count, each)
                of = truth.setdefault(("load", "store", "atomic")[kind], [0] * cells)
                for k in range(first, first + count):
                    of[k] += each
        live.write_manifest(path, ["model.py"])
        p.write(path)
        return truth

    def test_parts_that_have_names(self):
        """Each cell is in the row of the part that was named last of those in which it begins, or in the object's; none in two."""
        names = [(0, 300, "old"), (100, 96, "weights", 6, 4, 4), (196, 30, "bias"), (600, 400, "a view", 10, 10, 4), (640, 64, "inner", 4, 4, 4), (900, 999, "too long", 3, 333, 1)]
        for seed, shift in enumerate((2, 3, 4, 6)):
            path = self.path(f"named{seed}.sonde")
            truth = self.named(path, seed, 1000, shift, names)
            rows = self.json(path, "comm", "--by", "element")["elements"]
            begin = {name: offset for offset, _, name, *_ in names}
            found = {(row["part"], row["kind"]): row for row in rows}
            self.assertEqual(len(found), len(rows))
            owner = [next((name for offset, size, name, *_ in reversed(names) if offset <= k << shift < offset + size), None) for k in range((999 >> shift) + 1)]
            for kind, cells in truth.items():
                for name in set(owner):
                    mine = [bytes if owner[k] == name else 0 for k, bytes in enumerate(cells)]
                    row = found.get((name, kind))
                    self.assertEqual(row is not None, any(mine))
                    if not row:
                        continue
                    start, runs = begin.get(name, 0), [0] * len(cells)
                    self.assertEqual((row["part_byte"], row["bytes"], row["objects"]), (begin.get(name), sum(mine), 1))
                    self.assertEqual(row["object_bytes"], min(1000 - start, next((size for _, size, other, *_ in names if other == name), 1000)))
                    for run in row["runs"]:
                        for k in range(run["cells"]):
                            runs[(start + run["first_byte"] >> shift) + k] += run["bytes"]
                    self.assertEqual(runs, mine)
                    ends = start + row["object_bytes"]
                    self.assertEqual(row["touched_bytes"], sum(min(k + 1 << shift, ends) - (k << shift) for k, bytes in enumerate(mine) if bytes))
                    self.assertAlmostEqual(sum(part["bytes"] for part in row["grid"]), sum(mine), delta=1e-6 * sum(mine))
            self.assertEqual(sum(row["bytes"] for row in rows), sum(map(sum, truth.values())))
            shapes = {row["part"]: (row["rows"], row["columns"]) for row in rows}
            self.assertEqual({name: shape for name, shape in shapes.items() if shape[0] > 1}, {"weights": (6, 4), "a view": (10, 10), "inner": (4, 4)})

    def test_a_matrix_that_has_a_name(self):
        """Its shape is the program's, but for one that is asked for."""
        path = self.path("matrix.sonde")
        cells = self.named(path, 3, 1000, 2, [(40, 600, "weights", 15, 10, 4), (700, 40, "bias", 1, 10, 4)])["load"]
        of = lambda *options: next(row for row in self.json(path, "comm", "--by", "element", *options)["elements"] if (row["part"], row["kind"]) == ("weights", "load"))
        grid = {(part["row"], part["column"]): part["bytes"] for part in of()["grid"]}
        for k in range(150):
            self.assertAlmostEqual(grid.get((k // 10, k % 10), 0), cells[10 + k], delta=1e-6 * (1 + cells[10 + k]))
        for name in ("", "weights=", "make="):
            row = of("--shape", f"{name}30x5")
            self.assertEqual((row["rows"], row["columns"]), (30, 5))
        self.assertEqual(of("--shape", "bias=2x5")["rows"], 15)
        text = self.ok("report", path, "comm", "--by", "element").out
        self.assertRegex(text, r"(?m)^device: weights +make\(\) model\.py:3")
        self.assertRegex(text, r"(?m)^load of .* by weights, allocated by make\(\) model\.py:3, 15 × 10:")
        self.assertRegex(text, r"(?m)^ *14  ?[·░▒▓█]{10}$")
        self.assertNotIn("by bias", text)

    def test_where_names_stand(self):
        path = self.path("stand.sonde")
        self.named(path, 1, 1000, 2, [(4 * k, 4, name) for k, name in enumerate(("weights", "bias", "bias", "scale", "zero"))])
        names = ["bias", "scale", "weights", "zero"]
        for found in (self.json(path, "objects")["sites"], self.json(path, "comm")["objects"], self.json(path, "memory")["spaces"][0]["sites"]):
            self.assertEqual([row["names"] for row in found], [names])
        for view in (("objects",), ("comm", "--by", "object"), ("memory",)):
            self.assertRegex(self.ok("report", path, *view).out, r"(?m)^device: bias, scale, weights, … ")

    def test_several_objects_whose_cells_are_added_up(self):
        """Of which one has names: nobody knows what of the cells is its."""
        path = self.path("several.sonde")
        truth = self.named(path, 1, 1000, 2, [(0, 400, "weights")], alone=False, others=1)
        rows = self.json(path, "comm", "--by", "element")["elements"]
        self.assertEqual({row["kind"]: (row["part"], row["bytes"], row["objects"]) for row in rows}, {kind: (None, sum(cells), 2) for kind, cells in truth.items()})
        path = self.path("one.sonde")
        self.named(path, 1, 1000, 2, [(0, 400, "weights")], alone=False)
        self.assertEqual({row["part"] for row in self.json(path, "comm", "--by", "element")["elements"]}, {None, "weights"})

    def test_what_was_not_read_is_said(self):
        path = self.path("killed.sonde")
        self.made(path, read=False)
        self.assertEqual(self.json(path, "comm")["elements_unread"], 6)
        self.assertIn("Of 6 data objects the elements are not known", self.ok("report", path, "comm", "--by", "element").out)
        self.assertIn("Accesses of kernels have no times", self.ok("report", path, "comm", "--by", "element", "--from", "1%").out)


class Rings(Case):
    """Devices that send around a ring."""

    def odd(self, devices, to_of, kernels=False, back=False, each_ns=10**5):
        """What advice says of devices that send 1 MB, 5 times, where `to_of` says: who to whom, how often, bytes, time, saving."""
        path, p = self.path("ring.sonde"), live.Process("node-1-1", 1)
        shutil.rmtree(path, ignore_errors=True)
        gpus, thread = [p.device(f"GPU {i}") for i in range(devices)], p.thread(1)
        queues, at = [p.queue(gpu) for gpu in gpus], p.start_ns + 10**6
        arrays = [p.object(5, p.node(0, p.frame(live.API, offset=2, name="cuMemAlloc")), 10**7, p.start_ns, device=gpu) for gpu in gpus]
        for k in range(devices):
            main = p.node(0, p.frame(live.PYTHON, p.python(f"rank{k}", "/home/user/ring.py", 10 + k)))
            for to in to_of(k) + ([(k - 1) % devices] if back else []):
                for _ in range(5):
                    at += 10**6
                    if kernels:
                        node = p.enqueue(thread, queues[k], "cuLaunchKernel", main, "kernel", at, at + 10, at + 500, at + each_ns + 500, name="send")
                    else:
                        p.enqueue(thread, queues[k], "cuMemcpyPeerAsync", main, "peer_copy", at, at + 10, at + 500, at + 10**5 + 500, size=10**6,
                                  work=p.work(source="device", target="device", devices=(gpus[k], gpus[to])))
                if kernels:
                    p.remote(node, arrays[to], 1, 5 * 250000, gpus[k], gpus[to], what=1, size=4)
                    p.looked_at(node, 5)
        live.write_manifest(path, ["ring.py"])
        p.write(path)
        return [(a["device"], a["count"], a["bytes"], a["looked_at_ns"], a["saving_ns"]) for a in self.json(path, "advice")["advice"] if a["rule"] == "no_neighbour"]

    def test_one_that_sends_elsewhere(self):
        found = [(0, 5, 5 * 10**6, 5 * 10**5, 5 * 10**5)]
        for devices in (4, 5, 8):
            wrong = lambda k: [2 if k == 0 else (k + 1) % devices]
            self.assertEqual(self.odd(devices, wrong), found)
            self.assertEqual(self.odd(devices, wrong, kernels=True), found)
            self.assertEqual(self.odd(devices, wrong, back=True), found)
        said = " ".join(self.ok("report", self.path("ring.sonde"), "advice", "--min-percent", "0").out.split())
        self.assertEqual(self.odd(4, lambda k: [2 if k == 0 else (k + 1) % 4], kernels=True, each_ns=0), [(0, 5, 5 * 10**6, 0, 0)])  # nobody knows how long they took
        self.assertIn("5 operations moved 5.00 MB from device 0 to device 2", " ".join(self.ok("report", self.path("ring.sonde"), "advice").out.split()))
        self.assertIn("moved 5.00 MB from device 0 to device 2, which is no neighbour of it; nearly all of the other 7 send", said)

    def test_what_is_no_ring_is_not_called_one(self):
        self.assertEqual(self.odd(4, lambda k: [(k + 1) % 4]), [])
        self.assertEqual(self.odd(4, lambda k: [(k + 1) % 4], back=True), [])
        self.assertEqual(self.odd(3, lambda k: [2 if k == 0 else (k + 1) % 3]), [])
        self.assertEqual(self.odd(8, lambda k: [j for j in range(8) if j != k]), [])      # each to each
        self.assertEqual(self.odd(8, lambda k: [j for j in (k ^ 1, k ^ 2, k ^ 4)]), [])   # a hypercube
        self.assertEqual(self.odd(8, lambda k: [0] if k else []), [])                      # all to one


class Managed(Case):
    """Managed memory, as the driver moves it."""

    def test_moves_and_faults(self):
        path, p = self.path("managed.sonde"), live.Process("node-1-1", 1)
        gpus, thread = [p.device(f"GPU {i}") for i in range(2)], p.thread(1)
        queue, main = p.queue(gpus[0]), p.node(0, p.frame(live.PYTHON, p.python("step", "/home/user/um.py", 7)))
        setup = p.node(0, p.frame(live.PYTHON, p.python("setup", "/home/user/um.py", 3)))
        array = p.object(7, p.node(setup, p.frame(live.API, offset=2, name="cuMemAllocManaged")), 10**6, p.start_ns)
        p.enqueue(thread, queue, "cuMemcpyHtoD", main, "write", p.start_ns + 10**6, p.start_ns + 10**6 + 10, p.start_ns + 10**6 + 500, p.start_ns + 10**6 + 600,
                  size=500, work=p.work(source="pageable", target="device"))
        p.migration(array, 0, gpus[0], 16, 10**6, 40000)
        p.migration(array, gpus[0], gpus[1], 20, 10**6, 10000)
        p.migration(array, gpus[1], 0, 15, 9 * 10**5, 45000)
        p.migration(0, 0, gpus[1], 1, 4096, 100)
        p.migration(array, 0, gpus[0], 77, faults=True)
        p.migration(array, 0, 0, 33, faults=True)
        p.migration(0, 0, gpus[1], 0, faults=True)
        live.write_manifest(path, ["um.py"])
        p.write(path)
        value = self.json(path, "comm")
        self.assertEqual({(row["from"], row["to"], row["kind"]): (row["operations"], row["bytes"], row["total_ns"]) for row in value["pairs"]}, {
            ("host", 0, "migration"): (16, 10**6, 40000), (0, 1, "migration"): (20, 10**6, 10000), (1, "host", "migration"): (15, 9 * 10**5, 45000),
            ("host", 1, "migration"): (1, 4096, 100), ("host", 0, "copy"): (1, 500, 100)})
        self.assertEqual({(row["name"], row["site"], row["from"], row["to"]) for row in value["objects"] if row["kind"] == "migration"}, {
            ("managed", "setup() um.py:3", "host", 0), ("managed", "setup() um.py:3", 0, 1), ("managed", "setup() um.py:3", 1, "host"), (None, None, "host", 1)})
        self.assertEqual({(row["function"], row["from"], row["to"]) for row in value["lines"] if row["bytes"] >= 9 * 10**5}, {("setup", "host", 0), ("setup", 0, 1), ("setup", 1, "host")})
        self.assertEqual([(row["at"], row["faults"], row["name"], row["site"]) for row in value["faults"]], [(0, 77, "managed", "setup() um.py:3"), ("host", 33, "managed", "setup() um.py:3")])
        self.assertEqual((value["managed_operations"], value["managed_bytes"]), (52, 2904096))
        self.assertFalse([a for a in self.json(path, "advice")["advice"] if a["rule"] == "managed_moves"])  # 2.9 times its size
        text = self.ok("report", path, "comm").out
        self.assertRegex(text, r"(?m)^0 GPU 0 +77 +managed +setup\(\) um\.py:3$")
        self.assertIn("of these, 52 moves of managed memory by the driver, 2.90 MB", text)
        self.assertIn("What the driver moved of managed memory has no times here", self.ok("report", path, "comm", "--from", "1%").out)


    def test_back_and_forth(self):
        """Two arrays of one place, moved eight times their size: all but two times could be saved."""
        path, p = self.path("forth.sonde"), live.Process("node-1-1", 1)
        gpu, thread = p.device("GPU"), p.thread(1)
        queue, at = p.queue(gpu), p.start_ns + 100
        setup = p.node(p.node(0, p.frame(live.PYTHON, p.python("setup", "/home/user/um.py", 3))), p.frame(live.API, offset=2, name="cuMemAllocManaged"))
        array, _ = (p.object(7, setup, 500, p.start_ns) for _ in range(2))
        p.enqueue(thread, queue, "cuLaunchKernel", 0, "kernel", at, at + 10, at + 500, at + 10**6, name="add")
        p.migration(array, 0, gpu, 16, 4000, 40000)
        p.migration(array, gpu, 0, 16, 4000, 20000)
        p.migration(array, 0, gpu, 5, faults=True)
        live.write_manifest(path, ["um.py"])
        p.write(path)
        found = [(a["count"], a["bytes"], a["looked_at_ns"], a["saving_ns"]) for a in self.json(path, "advice")["advice"] if a["rule"] == "managed_moves"]
        self.assertEqual(found, [(32, 8000, 60000, 45000)])
        self.assertIn("was moved 8.0 times its size", " ".join(self.ok("report", path, "advice").out.split()))

    def test_not_asked(self):
        """That it was moved can be, and is not known."""
        for name, kind, comm, told in ("a", 7, "copies", True), ("b", 7, "all", False), ("c", 5, "copies", False):
            path, p = self.path(name + ".sonde"), live.Process("node-1-1", 1)
            queue, thread, at = p.queue(p.device("GPU", backend="cuda")), p.thread(1), p.start_ns + 100
            p.enqueue(thread, queue, "cuLaunchKernel", 0, "kernel", at, at + 10, at + 500, at + 600, name="add")
            p.object(kind, p.node(0, p.frame(live.API, offset=2, name="cuMemAllocManaged")), 10**6, p.start_ns)
            live.write_manifest(path, ["um.py"], options={"comm": comm})
            p.write(path)
            self.assertEqual("record --comm tells it" in self.ok("report", path, "comm").out, told)


class Collectives(Case):
    """What ranks of NCCL send, each recorded in a process of its own; the factors are those of nccl-tests' "bus bandwidth"."""

    def rank(self, path, number, ranks, collectives, algorithm="RING", device=0, pid=None, protocol="SIMPLE"):
        """`collectives`: (name, bytes, peer or root, or None)."""
        pid = pid or 4711 + number
        p = live.Process(f"node-{pid}-1", pid)
        p.rank = (number + 1, number + 1, ranks)
        gpus, thread = [p.device(f"GPU {i}", pci=(0x1A + number) << 8) for i in range(device + 1)], p.thread(pid)
        lane = p.lane(2, device=gpus[device], name=f"NCCL world 0xabc rank {number} of {ranks}")
        step, at = p.node(0, p.frame(live.PYTHON, p.python("step", "/home/user/train.py", 7))), p.start_ns + 10**6
        for name, size, peer in collectives:
            at += 10**5
            told = (0, 0) if name in ("Send", "Recv") else (p.string(algorithm), p.string(protocol))
            work = p.work(collective=(*told, 16, number, ranks, 0 if peer is None else peer + 1))
            p.enqueue(thread, lane, "cuLaunchKernelEx", step, "collective", at, at + 10, at + 500, at + 1500, name=f"{name} float32", size=size, work=work)
        p.write(path)

    def sent(self, ranks, collectives, **more):
        path = self.path("nccl.sonde")
        shutil.rmtree(path, ignore_errors=True)
        live.write_manifest(path, ["train.py"])
        for number in range(ranks):
            self.rank(path, number, ranks, collectives(number), **more)
        value = self.json(path, "comm")
        return path, value, {(row["from"], row["to"]): (row["operations"], row["bytes"], row["exact"]) for row in value["pairs"]}

    def test_two(self):
        """Each way what the algorithm sends there, whose device it is in the other process too."""
        path, value, pairs = self.sent(2, lambda me: [
            ("AllReduce", 1000, None), ("AllReduce", 1000, None), ("AllGather", 300, None), ("ReduceScatter", 70, None), ("Broadcast", 5000, 1),
            ("Reduce", 20000, 0), ("Send", 9 + me, 1 - me), ("Recv", 10 - me, 1 - me)], device=1)
        each = 2000 + 300 + 70
        self.assertEqual(pairs, {("rank 0: 1", "rank 1: 1"): (5, each + 9, True), ("rank 1: 1", "rank 0: 1"): (7, each + 5000 + 20000 + 10, True)})
        self.assertEqual({row["kind"] for name in ("pairs", "lines", "objects") for row in value[name]}, {"collective"})
        self.assertEqual({(row["function"], row["file"], row["line"], row["kernel"]) for row in value["lines"]}, {("step", "/home/user/train.py", 7, None)})
        asked = {(row["name"], row["process"]): (row["operations"], row["bytes"], row["sent_bytes"], row["ranks"], row["algorithm"], row["protocol"], row["channels"])
                 for row in value["collectives"]}
        self.assertEqual(asked["AllReduce float32", "node-4711-1"], (2, 2000, 2000, 2, "RING", "SIMPLE", 16))
        self.assertEqual(asked["Broadcast float32", "node-4711-1"], (1, 5000, 0, 2, "RING", "SIMPLE", 16))
        self.assertEqual(asked["Recv float32", "node-4712-1"], (1, 9, 0, 2, None, None, 16))
        text = self.ok("report", path, "comm").out
        self.assertRegex(text, r"(?m)^step\(\) train\.py:7 +rank 1: 1 → rank 0: 1 +7 +27\.4 kB")
        self.assertRegex(text, r"(?m)^AllReduce float32 .* 2 +RING +SIMPLE +2 +2\.00 kB +2\.00 kB$")
        self.assertIn("and 12 collectives of NCCL, in which ranks sent 29.8 kB", text)

    def test_ring(self):
        """Of more than two the neighbour is not known, and in a ring the bytes are."""
        _, value, pairs = self.sent(4, lambda me: [("AllReduce", 4000, None), ("AllGather", 100, None), ("Send", 50, (me + 2) % 4)])
        self.assertEqual({key: pairs[key] for key in pairs if key[1] is None}, {(f"rank {k}: 0", None): (2, 6000 + 300, True) for k in range(4)})
        self.assertEqual({key: pairs[key] for key in pairs if key[1]}, {(f"rank {k}: 0", f"rank {(k + 2) % 4}: 0"): (1, 50, True) for k in range(4)})
        self.assertEqual(value["unknown_bytes"], 4 * 6300)

    def test_roughly(self):
        """A tree's ends send less than its middle, and a broadcast's last rank nothing: a mean, and said to be one. Of NVLS nothing is known."""
        for algorithm, name, expected in ("TREE", "AllReduce", 6000), ("RING", "Broadcast", 3000), ("NVLS", "AllReduce", 0):
            path, value, pairs = self.sent(4, lambda me: [(name, 4000, 0 if name == "Broadcast" else None)], algorithm=algorithm)
            self.assertEqual(pairs, {(f"rank {k}: 0", None): (1, expected, False) for k in range(4)})
            self.assertEqual({row["sent_bytes"] for row in value["collectives"]}, {expected or None})
            self.assertIn("sent about", self.ok("report", path, "comm").out)

    def test_alone(self):
        """The other rank was not recorded: what came from it counts here."""
        path = self.path("alone.sonde")
        live.write_manifest(path, ["train.py"])
        self.rank(path, 1, 2, [("Send", 70, 0), ("Recv", 30, 0), ("AllReduce", 500, None)])
        pairs = {(row["from"], row["to"]): (row["operations"], row["bytes"]) for row in self.json(path, "comm")["pairs"]}
        self.assertEqual(pairs, {(0, None): (2, 570), (None, 0): (1, 30)})

    def test_links(self):
        """What a rank sends leaves its device, whoever it goes to, and a link carries the protocol's flags with it."""
        for ranks, received, protocol, part in (2, 1000, "SIMPLE", 1), (4, 0, "SIMPLE", 1), (2, 2000, "LL", 2), (2, 1066, "LL128", 1.066):
            path = self.path(f"links-{ranks}-{protocol}.sonde")
            os.makedirs(path)
            live.write_manifest(path, ["train.py"], nvlinks=[{"pci": "00000000:1A:00.0", "name": "A", "sent_bytes": 3000, "received_bytes": 3000}])
            for number in range(ranks):
                self.rank(path, number, ranks, [("AllReduce", 1000, None)], protocol=protocol)
            rows = {row["link"]: row["bytes_attributed"] for row in self.json(path, "comm")["links"]}
            self.assertEqual(rows, {"0, sent": 2000 * (ranks - 1) // ranks * part, "0, received": received})


class Reread(Case):
    def test_again(self):
        """Device 0 loads an array of device 1, of 1,000 bytes, 40 times, in two kernels; and what it loads once, and of its own, is none."""
        path, p = self.path("m.sonde"), live.Process("node-1-1", 1)
        gpus, thread = [p.device(f"GPU {i}") for i in range(2)], p.thread(1)
        queue, at = p.queue(gpus[0]), p.start_ns + 10**6
        here = lambda name, line: p.node(0, p.frame(live.PYTHON, p.python(name, "/home/user/m.py", line)))
        array, once = (p.object(5, p.node(here("setup", line), p.frame(live.API, offset=2, name="cuMemAlloc")), 1000, p.start_ns, device=gpus[1]) for line in (3, 4))
        nodes, places = [], {function: here(function, 7) for function in ("step", "last")}
        for function in "step", "step", "last":
            at += 10**4
            nodes.append(p.enqueue(thread, queue, "cuLaunchKernel", places[function], "kernel", at, at + 10, at + 500, at + 4500, name=function + "_kernel"))
        p.remote(nodes[0], array, 1, 1875, gpus[0], gpus[1], what=0, size=16)
        p.remote(nodes[2], array, 2, 2500, gpus[0], gpus[1], what=4, size=4)
        p.remote(nodes[2], once, 3, 250, gpus[0], gpus[1], what=0, size=4)
        p.remote(nodes[2], array, 4, 10**6, gpus[0], gpus[1], what=1, size=4)
        p.remote(nodes[2], array, 5, 10**6, gpus[0], 0, what=0, size=4)
        live.write_manifest(path, ["m.py"])
        p.write(path)
        found = {(a["count"], a["bytes"], a["looked_at_ns"], a["saving_ns"], a["device"]) for a in self.json(path, "advice")["advice"] if a["rule"] == "remote_reads"}
        self.assertEqual(found, {(2, 30000, 8000, 7800, 0), (1, 10000, 4000, 3900, 0)})
        self.assertIn("loaded 30.0 kB of another device's memory: all of it that the program loads there 40.0 times", " ".join(self.ok("report", path, "advice", "--min-percent", "0").out.split()))


class Links(Case):
    def test_beside_what_is_attributed(self):
        """Two processes that use the same devices under other numbers, of which one is told by its address alone."""
        path = self.path("m.sonde")
        addresses = [0x1A << 8, 0x3B << 8, 0x5C << 8 | 3 << 3]
        os.makedirs(path)
        live.write_manifest(path, ["demo"], nvlinks=[
            {"pci": "00000000:1A:00.0", "name": "A", "sent_bytes": 1000, "received_bytes": 700},
            {"pci": "00000000:3B:00.0", "name": "B", "sent_bytes": 0, "received_bytes": 2000},
            {"pci": "00000000:5C:03.0", "name": "C", "sent_bytes": 5, "received_bytes": 6},
            {"pci": "00000001:5C:03.0", "name": "elsewhere", "sent_bytes": 8, "received_bytes": 9}, {"pci": 7}, "nonsense"])
        for number, order in enumerate(((0, 1, 2), (1, 0))):
            p = live.Process(f"host-{number + 1}-0", number + 1)
            devices = [p.device(f"GPU {i}", pci=addresses[i]) for i in order]
            thread, queues = p.thread(1), [p.queue(device) for device in devices]
            code, at = p.node(0, p.frame(live.NATIVE, p.module("/opt/demo"), 16)), p.start_ns
            for (source, target), size in {(0, 1): 300, (1, 0): 200, (0, 0): 50}.items():
                work = p.work(source="device", target="device", devices=(devices[source], devices[target]))
                p.enqueue(thread, queues[source], "cuMemcpyPeerAsync", code, "peer_copy" if source != target else "copy", at, at + 9, at + 500, at + 590,
                          size=size, work=work)
            p.enqueue(thread, queues[0], "cuMemcpyDtoHAsync", code, "read", at, at + 9, at + 500, at + 590, size=4000,
                      work=p.work(source="device", target="pinned", devices=(devices[0], 0)))
            p.write(path)
        rows = {row["link"]: (row["bytes_counted"], row["bytes_attributed"]) for row in self.json(path, "comm")["links"]}
        self.assertEqual(rows, {"0, sent": (1000, 300 + 200), "0, received": (700, 200 + 300), "1, sent": (0, 500), "1, received": (2000, 500),
                                "2, sent": (5, 0), "2, received": (6, 0), "00000001:5C:03.0, sent": (8, 0), "00000001:5C:03.0, received": (9, 0),
                                "unknown, sent": (0, 0), "unknown, received": (0, 0)})
        text = self.ok("report", path, "comm").out
        self.assertRegex(text, r"\n0, sent +1.00 kB +500 B +50.0 %\n")
        self.assertIn("NVLink's counters have everybody's bytes", text)
        self.assertNotIn("in no other number", text)

    def test_what_is_in_no_other_number(self):
        """A program that copies nothing from device to device, and one whose copies are all but 1 % of what was counted."""
        for size, sent, said in ((0, 50 * 10**6, "Device 0 sent 50.0 MB over NVLink, and 50.0 MB of it is in no other number here"), (99 * 10**6, 10**8, None), (90 * 10**6, 10**8, "and 10.0 MB of it")):
            path, p = self.path(f"{size}-{sent}.sonde"), live.Process("host-1-0", 1)
            gpus, thread = [p.device(f"GPU {i}", pci=(i + 1) << 8) for i in range(2)], p.thread(1)
            queue, code, at = p.queue(gpus[0]), p.node(0, p.frame(live.NATIVE, p.module("/opt/demo"), 16)), p.start_ns
            if size:
                p.enqueue(thread, queue, "cuMemcpyPeerAsync", code, "peer_copy", at, at + 9, at + 500, at + 590, size=size, work=p.work(source="device", target="device", devices=gpus))
            else:
                p.enqueue(thread, queue, "cuLaunchKernel", code, "kernel", at, at + 9, at + 500, at + 590, name="store_next")
            live.write_manifest(path, ["demo"], nvlinks=[{"pci": "00000000:01:00.0", "name": "A", "sent_bytes": sent, "received_bytes": 0}])
            p.write(path)
            text = " ".join(self.ok("report", path, "comm").out.split())
            self.assertIn(said or "NVLink's counters", text)
            self.assertEqual("in no other number" in text, said is not None)


cli.main()
