"""counters_test.py - `sonde report DIR counters` of a measurement whose counters are known (tests/cli/live.py)."""
import random
import re

from views import Case, columns  # first: it knows where the next are  # noqa: F401
import cli
import live


class Counters(Case):
    def measurement(self, counted=True):
        """Two kernels from three places on two devices; {(kernel, place, device, metric): values}."""
        chance, p, truth = random.Random(14), live.Process("host-7-1", 7), {}
        p.main = p.thread(7)
        queues = [p.queue(p.device(f"Device {d}")) for d in range(2)]
        module = p.module("/opt/demo/bin/demo")
        at = p.start_ns
        for place in range(3):
            code = p.node(0, p.frame(live.NATIVE, module, 0x1000 * (place + 1)))
            for device, queue in enumerate(queues):
                for kernel in ("add", "scale")[place % 2:]:
                    for _ in range(3):
                        at += 10**6
                        node = p.enqueue(p.main, queue, "cuLaunchKernel", code, "kernel", at, at + 10, at + 400, at + 900, name=kernel)
                    if not counted:
                        continue
                    for metric, unit in (("inst.sum", "inst"), ("busy.avg.pct_of_peak", "%")):
                        values = [chance.randrange(1, 10**9) for _ in range(3)]
                        p.counter(node, device + 1, metric, unit, values)
                        truth[kernel, place, device, metric] = values
        if counted:
            p.counter(node, 1, "", "", [0, 0])
        p.write(self.path("m.sonde"))
        return self.path("m.sonde"), truth

    def test_sums(self):
        path, truth = self.measurement()
        said = self.json(path, "counters")
        self.assertEqual((said["operations"], said["missed"]), (sum(map(len, truth.values())) // 2, 2))
        self.assertEqual(len(said["contexts"]), len(truth))
        wanted = {}
        for (kernel, _, device, metric), values in truth.items():
            wanted.setdefault((kernel, device, metric), []).extend(values)
        got = {(row["kernel"], row["device"], row["metric"]): row for row in said["kernels"]}
        self.assertEqual(set(got), set(wanted))
        for key, values in wanted.items():
            row = got[key]
            self.assertEqual((row["operations"], row["least"], row["most"]), (len(values), min(values), max(values)))
            self.assertAlmostEqual(row["mean"], sum(values) / len(values), delta=1e-6 * row["mean"])
            self.assertEqual(row["total"], sum(values) if key[2] == "inst.sum" else None)
            self.assertEqual(row["unit"], {"inst.sum": "inst"}.get(key[2], "%"))
        by_context = sorted((row["kernel"], row["device"], row["metric"], row["least"], row["most"]) for row in said["contexts"])
        self.assertEqual(by_context, sorted((k, d, m, min(v), max(v)) for (k, _, d, m), v in truth.items()))

    def test_text(self):
        path, truth = self.measurement()
        text = self.ok("report", path, "counters").out
        self.assertIn("busy.avg.pct_of_peak", text)
        self.assertRegex(text, r"%d launches measured, 2 not" % (sum(map(len, truth.values())) // 2))

    def test_there_are_none(self):
        path, _ = self.measurement(counted=False)
        self.assertIn("sonde record --counters", self.ok("report", path, "counters").out)
        self.assertEqual(self.json(path, "counters"), {"operations": 0, "missed": 0, "kernels": [], "contexts": [], "series": [], "parts": [], "cpu": [], "cpu_routines": [], "cpu_contexts": []})

    def test_options(self):
        for options, why in ((("--counters=default", "--values"), "--values each take hold"), (("--counters=default", "--comm"), "--comm each take"),
                             (("--replay",), "--replay is for --counters"), (("--counters=",), "--counters takes"),
                             (("--counters=" + "x" * 2000,), "--counters takes"), (("--counter-series=1us",), "an interval from 20us to 1s"),
                             (("--counter-series=2s",), "an interval from 20us to 1s"), (("--replay", "--counter-series=1ms"), "--replay is for"),
                             (("--profile", "--counter-series=1ms"), "part of a trace"), (("--light", "--counter-series=1ms"), "goes without"), (("--light", "--counters=default"), "--light goes without --counters")):
            done = cli.run("record", *options, "true")
            self.assertEqual(done.returncode, 2, options)
            self.assertRegex(done.err, r"\Asonde: [^\n]*%s[^\n]*\n" % re.escape(why))


class OfTheCpu(Case):
    """Counters of the CPU in threads of two processes (record --cpu-counters)."""

    def measurement(self, killed=False):
        """Truth: {(process, counter): (counted, {(function, place): samples}, period)}."""
        chance, truth = random.Random(15), {}
        for number in range(2):
            p = live.Process(f"host-{7 + number}-{number}", 7 + number)
            p.main = p.thread(p.pid)
            queue = p.queue(p.device("Device 0"))
            frames = {name: p.frame(live.PYTHON, p.python(name, "/home/user/main.py", 10 * n)) for n, name in enumerate(("outer", "left", "right", "shared"), 1)}
            outer = p.node(0, frames["outer"])
            places = {}
            for side in ("left", "right"):
                at = p.node(outer, frames[side])
                places[side, side] = at
                places["shared", side] = p.node(at, frames["shared"])
            p.enqueue(p.main, queue, "clEnqueueNDRangeKernel", outer, "kernel", p.start_ns + 10**6, p.start_ns + 10**6 + 10, p.start_ns + 10**6 + 400, p.start_ns + 10**6 + 900, name="k")
            for name, period in (("minor-faults", 1), ("cache-misses", 1000)):
                samples = {place: chance.randrange(1, 10**4) for place in places}
                counted = sum(samples.values()) * period + (0 if killed else chance.randrange(10**6))
                p.tally(0, name, period, 5, counted - (period if killed else 0), 10**9, 10**9 if period == 1 else 25 * 10**7)
                for place, n in samples.items():
                    p.tally(places[place], name, period, n)
                truth[p.name, name] = counted, samples, period
            p.write(self.path("m.sonde"))
        return self.path("m.sonde"), truth

    def test_sums(self):
        path, truth = self.measurement()
        said = self.json(path, "counters")
        self.assertEqual({(row["process"], row["counter"]) for row in said["cpu"]}, set(truth))
        for row in said["cpu"]:
            counted, samples, period = truth[row["process"], row["counter"]]
            sampled = sum(samples.values()) * period
            self.assertEqual((row["count"], row["sampled"], row["unsampled"], row["samples"], row["lost"], row["period"]),
                             (counted, sampled, counted - sampled, sum(samples.values()), 5, period))
            self.assertAlmostEqual(row["measured"], 1 if period == 1 else 0.25)
            here = [r for r in said["cpu_routines"] if (r["process"], r["counter"]) == (row["process"], row["counter"])]
            by_routine = {}
            for (function, _), n in samples.items():
                by_routine[function] = by_routine.get(function, 0) + n
            self.assertEqual({r["routine"]: r["samples"] for r in here}, {**by_routine, None: None})
            self.assertEqual(sum(r["count"] for r in here), counted)
            self.assertAlmostEqual(sum(r["share"] for r in here), 1)
            self.assertEqual([r["count"] for r in here[:-1]], sorted((r["count"] for r in here[:-1]), reverse=True))
            for r in here[:-1]:
                self.assertAlmostEqual(r["error"], period * r["samples"] ** 0.5 if period > 1 else 0, delta=1e-6 * r["count"])
            contexts = {(c["name"], "left" if "left" in [f["name"] for f in c["frames"]] else "right"): c["samples"] for c in said["cpu_contexts"]
                        if (c["process"], c["counter"]) == (row["process"], row["counter"])}
            self.assertEqual(contexts, samples)

    def test_text(self):
        path, _ = self.measurement()
        text = self.ok("report", path, "counters", "--limit=0").out
        self.assertIn("in no sample", text)
        self.assertRegex(text, r"cache-misses was counted for 25\.0 % of the time only")
        self.assertNotIn("minor-faults was counted for", text)

    def test_killed(self):
        """What was counted is of a second before what is in samples: no less is shown than there is."""
        path, truth = self.measurement(killed=True)
        for row in self.json(path, "counters")["cpu"]:
            self.assertEqual((row["unsampled"], row["sampled"]), (0, sum(truth[row["process"], row["counter"]][1].values()) * row["period"]))

    def test_options(self):
        for options, why in ((("--cpu-counters=",), "--cpu-counters takes names"), (("--cpu-counters=mior-faults",), "knows no 'mior-faults'; did you mean 'minor-faults'?"),
                             (("--cpu-counters=cycles,zebra",), "knows no 'zebra'; try"), (("--cpu-counters=cycles@10",), "cycles@N is one sample each N, a number from 1000 on, not '10'"),
                             (("--cpu-counters=minor-faults@0",), "a number from 1 on, not '0'"), (("--cpu-counters=minor-faults@1k",), "not '1k'"),
                             (("--cpu-counters=minor-faults@",), "not ''"), (("--cpu-counters=default@5",), "knows no 'default'"), (("--cpu-counters=,",), "knows no ''"),
                             (("--cpu-counters=context-switches",), "goes without context-switches"), (("--cpu-counters=page-faults,minor-faults",), "one or the others"),
                             (("--light", "--cpu-counters=default"), "--light goes without --cpu-counters"), (("--last=1s", "--cpu-counters=default"), "without --cpu-counters")):
            done = cli.run("record", *options, "true")
            self.assertEqual(done.returncode, 2, options)
            self.assertRegex(done.err, r"\Asonde[^\n]*%s[^\n]*\n\Z" % re.escape(why))


class Bandwidth(Case):
    """Bytes of the device's memory beside kernels' times, by launch and over time."""

    def kernels(self, p):
        path = self.path("b.sonde")
        p.write(path)
        self.text = self.ok("report", path, "kernels").out
        self.counted = {row["name"]: {c["metric"]: (c["unit"], c["operations"], c["total"], c["mean"]) for c in row["counters"]} for row in self.json(path, "kernels")}
        return {row["name"]: (row["memory_bytes"], row["memory_bytes_per_s"], row["memory_share"]) for row in self.json(path, "kernels")}

    def launched(self, *names):
        p = live.Process("host-7-1", 7)
        queue, thread, at = p.queue(p.device("Device")), p.thread(7), p.start_ns
        code, nodes = p.node(0, p.frame(live.NATIVE, p.module("/opt/demo/bin/demo"), 0x1000)), []
        for name in names:
            at += 10**6
            nodes.append(p.enqueue(thread, queue, "cuLaunchKernel", code, "kernel", at, at + 10, at + 1000, at + 1000 + 5 * 10**5, name=name))
        return p, nodes

    def test_by_launch(self):
        p, (add, scale, plain, half) = self.launched("add", "scale", "plain", "half")
        for node, read, written in ((add, [400, 600], [100, 100]), (scale, [7, 7], [1, 1])):
            p.counter(node, 1, "dram__bytes_read.sum", "byte", read)
            p.counter(node, 1, "dram__bytes_write.sum", "byte", written)
        p.counter(add, 1, "gpu__time_duration.sum", "ns", [10, 20])
        p.counter(add, 1, "dram__throughput.avg.pct_of_peak_sustained_elapsed", "%", [80, 90])
        for pipe, values in (("fma", [5, 7]), ("tensor", [60, 70]), ("alu", [0, 0])):
            p.counter(add, 1, f"sm__pipe_{pipe}_cycles_active.avg.pct_of_peak_sustained_elapsed", "%", values)
        p.counter(scale, 1, "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed", "%", [0, 0])
        p.counter(half, 1, "dram__bytes_read.sum", "byte", [5])  # what was written is not known
        got = self.kernels(p)
        self.assertEqual(got, {"add": (600, 1200 / 30 * 1e9, 0.85), "scale": (8, None, None), "plain": (None, None, None), "half": (None, None, None)})
        self.assertRegex(self.text, r"(?m)^Kernel .* memory .*of peak +pipe")
        self.assertRegex(self.text, r"(?m)^add .* tensor 65\.0 %")
        self.assertEqual({row["name"]: (row["pipe"], row["pipe_share"]) for row in self.json(self.path("b.sonde"), "kernels")},
                         {"add": ("tensor", 0.65), "scale": ("fma", 0), "plain": (None, None), "half": (None, None)})
        self.assertRegex(self.text, r"(?m)^add .*600 B .*85\.0 %")
        self.assertEqual((self.counted["plain"], self.counted["half"]), ({}, {"dram__bytes_read.sum": ("byte", 1, 5, 5)}))
        self.assertEqual(len(self.counted["add"]), 7)
        self.assertEqual(self.counted["add"]["dram__bytes_read.sum"], ("byte", 2, 1000, 500))
        self.assertEqual(self.counted["add"]["dram__throughput.avg.pct_of_peak_sustained_elapsed"], ("%", 2, None, 85))

    def test_over_time(self):
        p, _ = self.launched("add", "add", "scale")
        first = p.start_ns + 10**6 + 1000
        spans = [(first, first + 5 * 10**5), (first + 10**6, first + 10**6 + 5 * 10**5), (first + 2 * 10**6, first + 2 * 10**6 + 5 * 10**5)]
        for metric, unit, values in (("dram__bytes_read.sum", "byte", (1000, 3000, 50)), ("dram__bytes_write.sum", "byte", (0, 2000, 50)),
                                     ("dram__throughput.avg.pct_of_peak_sustained_elapsed", "%", (90, 70, 5))):
            p.series(1, metric, unit, [(a, b, value) for (a, b), value in zip(spans, values)])
        got = self.kernels(p)
        self.assertEqual({name: [round(x, 6) for x in row] for name, row in got.items()}, {"add": [3000, 6000 / 10**6 * 1e9, 0.8], "scale": [100, 100 / (5 * 10**5) * 1e9, 0.05]})
        self.assertEqual(self.counted["add"], {"dram__bytes_read.sum": ("byte", 2, 4000, 2000), "dram__bytes_write.sum": ("byte", 2, 2000, 1000),
                                               "dram__throughput.avg.pct_of_peak_sustained_elapsed": ("%", 2, None, 80)})

    def test_without_counters_there_are_no_columns(self):
        p, _ = self.launched("add")
        self.assertEqual(self.kernels(p), {"add": (None, None, None)})
        self.assertNotIn("of peak", self.text)
        self.assertNotIn("pipe", self.text)


class OverTime(Case):
    """Counters of devices over time, divided among operations that were made by chance: against the rule of docs/counters.md, computed
    here instant by instant, of which there are 3,000."""
    METRICS = (("bytes.sum", "byte"), ("cycles.avg", "cycle"), ("share.avg.pct_of_peak_sustained_elapsed", "%"))
    INSTANTS, NS = 3000, 10

    def setUp(self):
        super().setUp()
        chance, p = random.Random(15), live.Process("host-7-1", 7)
        thread = p.thread(7)
        self.devices = [p.device(f"Device {d}") for d in range(2)]
        queues = [(device, p.queue(device)) for device in self.devices for _ in range(2)]
        code = p.node(0, p.frame(live.NATIVE, p.module("/opt/demo/bin/demo"), 0x1000))
        at, self.ran = p.start_ns, []  # device, name, from, to: in instants
        for device, queue in queues:
            until = 100
            while until < self.INSTANTS - 200:
                begin, length = until + chance.choice((0, 0, 3, 120)), chance.choice((1, 5, 40, 90))
                until = begin + length
                name = chance.choice(("add", "scale", "sum"))
                p.enqueue(thread, queue, "cuLaunchKernel", code, "kernel", at, at + 1, at + begin * self.NS, at + until * self.NS, name=name)
                self.ran.append((device, name, begin, until))
        self.samples = {}  # device, metric: [(from, to, value)]
        for device in self.devices:
            cuts = [50]
            while cuts[-1] < self.INSTANTS - 100:
                cuts.append(cuts[-1] + 20 + chance.randrange(3))
            spans = [span for span in zip(cuts, cuts[1:]) if chance.random() > 0.05]  # some are lost
            for metric, unit in self.METRICS:
                values = [(a, b, chance.choice((0, 3, 1000)) * chance.random()) for a, b in spans]
                self.samples[device, metric] = values
                p.series(device, metric, unit, [(at + a * self.NS, at + b * self.NS, value) for a, b, value in values])
        p.write(self.path("m.sonde"))
        self.said = self.json(self.path("m.sonde"), "counters")

    def runs(self, device, instant):
        return [name for d, name, begin, end in self.ran if d == device and begin <= instant < end]

    def test_devices(self):
        self.assertEqual(len(self.said["series"]), 6)
        for row in self.said["series"]:
            values = self.samples[row["device"] + 1, row["metric"]]
            ns, adds_up = sum(b - a for a, b, _ in values) * self.NS, row["unit"] != "%"
            self.assertEqual((row["samples"], row["known_ns"]), (len(values), ns))
            if adds_up:
                self.assertAlmostEqual(row["total"], sum(v for *_, v in values), places=4)
                self.assertAlmostEqual(row["mean"] * ns / 1e9, row["total"], places=4)
                self.assertAlmostEqual(row["most"], max(v * 1e9 / self.NS / (b - a) for a, b, v in values), delta=row["most"] * 1e-9)
                idle = sum(v for a, b, v in values if not any(self.runs(row["device"] + 1, i) for i in range(a, b)))
                self.assertAlmostEqual(row["idle"], idle, places=4)
            else:
                self.assertIsNone(row["total"])
                self.assertAlmostEqual(row["mean"], sum(v * (b - a) for a, b, v in values) * self.NS / ns, places=6)
                self.assertAlmostEqual(row["most"], max(v for *_, v in values), places=6)

    def test_operations(self):
        found = {(row["device"] + 1, row["metric"], row["operation"]): row for row in self.said["parts"]}
        wanted = {}
        for (device, metric), values in self.samples.items():
            for a, b, value in values:
                names = [name for i in range(a, b) for name in self.runs(device, i)]
                for name in set(names):
                    w = wanted.setdefault((device, metric, name), {"ns": 0, "value": 0, "least": [], "most": []})
                    ns = names.count(name) * self.NS
                    w["ns"] += ns
                    w["value"] += value * (names.count(name) / len(names) if "pct" not in metric else ns)
                    w["most"].append(value)
                    w["least"] += [value] if set(names) == {name} or "pct" in metric else []
        self.assertEqual(set(found), set(wanted))
        for key, w in wanted.items():
            row, share = found[key], "pct" in key[1]
            self.assertEqual(row["ns"], w["ns"], key)
            self.assertAlmostEqual(row["value"], w["value"] / (w["ns"] if share else 1), places=4, msg=key)
            self.assertAlmostEqual(row["least"], min(w["least"]) if share else sum(w["least"]), places=4, msg=key)
            self.assertAlmostEqual(row["most"], max(w["most"]) if share else sum(w["most"]), places=4, msg=key)
            seen = sum(d == key[0] and name == key[2] and any(a < end and begin < b for a, b, _ in self.samples[key[:2]])
                       for d, name, begin, end in self.ran)
            self.assertEqual(row["operations"], seen, key)
        for row in self.said["series"]:  # nothing is lost, nothing is there twice
            if row["total"] is not None:
                parts = sum(part["value"] for key, part in found.items() if key[:2] == (row["device"] + 1, row["metric"]))
                self.assertAlmostEqual(parts + row["idle"], row["total"], places=4)

    def test_other_views(self):
        """Counters are no lanes."""
        path = self.path("m.sonde")
        self.assertEqual({row["kind"] for row in self.json(path, "lanes")}, {"queue", "thread"})
        self.assertEqual(len(self.json(path, "lanes")), 5)
        for view in "summary", "profile", "statistics", "blame", "critical", "overlap", "ledger":
            self.ok("report", path, view)
        text = self.ok("report", path, "counters").out
        self.assertIn("bytes.sum on", text)
        self.assertIn("whoever used them", text)


if __name__ == "__main__":
    cli.main()
