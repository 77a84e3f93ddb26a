"""last_rows_test.py - a recording of the last seconds whose rows are made here: each view of it is that of a recording that has the late rows alone.
"""
import random

from views import Case  # first: it knows where the next are
import cli
import live

BEGIN, MS = 10**12, 10**6
VIEWS = ("kernels", "copies", "api", "profile", "statistics", "lanes", "overlap", "blame", "objects", "memory", "summary", "critical")


class Clipped(live.Process):
    """A device is busy from the beginning of the recording on."""

    def busy(self, device):
        kept, self.truth = self.truth, [{**op, "start_ns": op["start_ns"] and max(op["start_ns"], self.start_ns)} for op in self.truth]
        try:
            return super().busy(device)
        finally:
            self.truth = kept


def stable(row):
    """By what tells rows apart, whatever their numbers."""
    return str([row.get(key) for key in ("name", "label", "kind", "routine", "process", "lane", "count", "from", "frames", "site")]) if isinstance(row, dict) else ""


class Rows(Case):
    def made(self, name, seed, since_ns, whole):
        """Operations, calls, samples, waits and objects of 400 ms; `whole`: with those that ended before, as the agent keeps them."""
        random_ = random.Random(seed)
        p = (live.Process if whole else Clipped)("node-4711-1", 4711, start_ns=BEGIN if whole else since_ns, trace=2 if whole else 1)
        p.histograms = not whole # those of the agent are of no use
        devices, thread = [p.device("GPU 0"), p.device("GPU 1")], p.thread(4711)
        queues = [p.queue(devices[0]), p.queue(devices[1]), p.queue(devices[0])]
        mains = [p.node(0, p.frame(live.PYTHON, p.python(function, "/home/user/step.py", 7))) for function in ("step", "load")]
        early = {"ops": 0, "calls": 0, "samples": 0}
        at, ends = BEGIN, [BEGIN] * 3
        for k in range(400):
            at += random_.randint(10**5, 2 * MS)
            number, main = random_.randrange(3), random_.choice(mains)
            kind, size = random_.choice((("kernel", 0), ("kernel", 0), ("write", 4096), ("copy", 1024)))
            flags = random_.choice((0, 0, 0, 0, live.NO_TIMES, live.FAILED))
            start = max(ends[number], at + 500)
            end = ends[number] = start + random_.randint(1, 3 * MS)
            leave = at + random_.randint(100, 5000)
            sampled, slept = random_.random() < 0.4, random_.random() < 0.2
            counts = (at if flags & live.NO_TIMES else end) >= since_ns
            calls = leave >= since_ns
            if whole or counts:
                before = p.ledger["api_calls"]
                if not whole and not calls: # its operation is of the recording, its call is not: made, then taken out
                    p.enqueue(thread, queues[number], f"clEnqueue{kind}", main, kind, at, leave, start, end, f"{kind}{k % 3}", size, flags=flags)
                    p.owned["CALL", thread].pop()
                    p.accumulators[p.node(main, p.frame(live.API, offset=1, name=f"clEnqueue{kind}")), 0].pop()
                    p.ledger["api_calls"] = before
                else:
                    p.enqueue(thread, queues[number], f"clEnqueue{kind}", main, kind, at, leave, start, end, f"{kind}{k % 3}", size, flags=flags)
            early["ops"] += not counts
            early["calls"] += not calls
            if sampled and (whole or at + 9000 >= since_ns):
                p.sample(thread, main, at + 9000, 777)
            early["samples"] += sampled and at + 9000 < since_ns
            if slept and (whole or at + 90000 >= since_ns):
                p.sleep(thread, "nanosleep", main, at + 10000, at + 90000)
        place = p.node(mains[1], p.frame(live.API, offset=2, name="clCreateBuffer"))
        for alloc, free in ((BEGIN + MS, BEGIN + 2 * MS), (BEGIN + MS, since_ns + 5 * MS), (BEGIN + MS, 0), (since_ns + MS, since_ns + 3 * MS)):
            if not whole and free and free < since_ns:
                continue
            p.object(1, place, 1 << 20, max(alloc, since_ns) if not whole else alloc, free)
        p.stop_ns = max(p.stop_ns, at + 10**5)
        p.cpu.update(rate_hz=199, sampling=2, process_ns=500 * MS, samples=len(p.owned.get(("SAMPLE", thread), [])))
        p.ledger.update(hook_ns=9000, unwinds=77)
        if whole:
            for gone in (0, 1): # one that is taken again, and times that are not the first
                p.base(0 if gone else since_ns + 10 * MS, {"hook_ns": 8000}, {})
            p.base(since_ns, {"hook_ns": 4000, "unwinds": 70, "seen": early["ops"], "done": early["ops"], "api_calls": early["calls"]},
                   {"samples": early["samples"], "process_ns": 200 * MS})
        else:
            p.ledger.update(hook_ns=5000, unwinds=7)
            p.cpu.update(process_ns=300 * MS)
        path = self.path(name + ".sonde")
        live.write_manifest(path, ["step.py"])
        p.write(path)
        return path

    def same(self, a, b, where):
        if isinstance(a, float) or isinstance(b, float):
            self.assertAlmostEqual(a, b, delta=1e-9 * abs(a or 1) + 1e-9, msg=where)
        elif where.startswith("critical") and isinstance(a, int):
            self.assertAlmostEqual(a, b, delta=2, msg=where) # sums of rounded shares, in another order
        elif isinstance(a, dict):
            self.assertEqual(a.keys(), b.keys(), where)
            for key in a:
                if key not in ("node", "id", "path", "contexts", "parent"): # numbers of their own
                    self.same(a[key], b[key], f"{where}.{key}")
        elif isinstance(a, list):
            self.assertEqual(len(a), len(b), where)
            for i, (x, y) in enumerate(zip(sorted(a, key=stable), sorted(b, key=stable))):
                self.same(x, y, f"{where}[{i}]")
        else:
            self.assertEqual(a, b, where)

    def test_each_view_is_of_the_late_rows(self):
        for seed in range(4):
            since = BEGIN + random.Random(seed).randint(50, 300) * MS
            whole, late = self.made(f"whole{seed}", seed, since, True), self.made(f"late{seed}", seed, since, False)
            for view in VIEWS:
                with self.subTest(seed=seed, view=view):
                    self.same(self.json(whole, view), self.json(late, view), view)
            a, b = self.json(whole, "ledger"), self.json(late, "ledger")
            for key in ("seen", "done", "failed", "no_times", "api_calls", "unwinds", "hook_ns", "in_flight", "unmatched", "operations"):
                self.assertEqual(a[key], b[key], (seed, key))
            self.assertEqual((a["cpu"]["samples"], a["cpu"]["process_ns"]), (b["cpu"]["samples"], b["cpu"]["process_ns"]))
            self.adds_up(whole)

    def test_times_that_are_damaged_are_not_believed(self):
        for at_ns in (1, BEGIN - 10**10, BEGIN + 10**12):
            path, p = self.path(f"damaged{at_ns}.sonde"), live.Process("node-1-1", 1, trace=2)
            queue, thread = p.queue(p.device("GPU")), p.thread(1)
            p.enqueue(thread, queue, "clEnqueueNDRangeKernel", 0, "kernel", BEGIN + 10, BEGIN + 20, BEGIN + 500, BEGIN + 900, "add")
            p.ledger.update(seen=1000, done=1000)
            p.base(at_ns, {}, {})
            live.write_manifest(path, ["step.py"])
            p.write(path)
            self.assertEqual([(row["name"], row["count"]) for row in self.json(path, "kernels")], [("add", 1)])
            self.assertEqual(self.json(path, "ledger")["done"], 1)
            self.assertIn("damaged", self.ok("report", path).out + self.ok("report", path).err)

    def test_without_a_time_all_is_recorded(self):
        path, p = self.path("all.sonde"), live.Process("node-1-1", 1, trace=2)
        queue, thread = p.queue(p.device("GPU")), p.thread(1)
        p.enqueue(thread, queue, "clEnqueueNDRangeKernel", 0, "kernel", BEGIN + 10, BEGIN + 20, BEGIN + 500, BEGIN + 900, "add")
        p.base(BEGIN, {}, {})
        live.write_manifest(path, ["step.py"])
        p.write(path)
        self.assertEqual([(row["name"], row["count"], row["total_ns"]) for row in self.json(path, "kernels")], [("add", 1, 400)])


cli.main()
