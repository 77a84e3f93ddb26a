"""series_test.py - the request `series` against the counters of the Perfetto export and the view memory; the request `next` against
the operations that were written."""
import bisect
import csv
import io
import json
import os
import random
import struct
import subprocess
import sys
import unittest
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import asking  # noqa: E402
import cli  # noqa: E402
import live  # noqa: E402
import scenes  # noqa: E402
import zoo  # noqa: E402

try:
    import perfetto_check
except ImportError as missing:
    perfetto_check = None
    WHY = "the Python package perfetto is missing (%s)" % missing

ASK = os.path.join(cli.BUILD, "tests", "sonde-ask")
SYNTH = os.path.join(cli.BUILD, "tests", "sonde-synth")


def columns(data):
    """The header, and columns by name: of such an answer all are f64."""
    if data[:8] != b"SNDCOLS1":
        raise AssertionError(data[:8])
    length, = struct.unpack_from("<I", data, 8)
    header, at, values = json.loads(data[16:16 + length]), (16 + length + 7) & ~7, {}
    for column in header["columns"]:
        if column["type"] != "f64":
            raise AssertionError(column)
        values[column["name"]] = struct.unpack_from("<%dd" % column["count"], data, at)
        at += 8 * column["count"]
    return header, values


def bin_of(steps, begin, end):
    """min, max, last and mean of a value that changes at (time, value), 0 before."""
    at = bisect.bisect_right(steps, (begin, float("inf")))
    level, seen, total, now = steps[at - 1][1] if at else 0, [], 0, begin
    seen.append(level)
    while at < len(steps) and steps[at][0] < end:
        total += level * (steps[at][0] - now)
        now, level = steps[at]
        seen.append(level)
        at += 1
    return min(seen), max(seen), level, (total + level * (end - now)) / (end - begin)


class Series(cli.Case):
    def series(self, path, options=""):
        answer, = asking.ask(ASK, path, ["series" + options])
        self.assertEqual((answer.status, answer.type), (200, "application/octet-stream"), answer.bytes[:300])
        return columns(answer.bytes)

    def synth(self, *more):
        path = self.path("synth.sonde")
        subprocess.run([SYNTH, *more, path], check=True, stdout=subprocess.DEVNULL)
        return path

    def run_of(self, path):
        answer, = asking.ask(ASK, path, ["run"])
        return answer.json()

    # ---- against the export ------------------------------------------------------------------------------------------------

    def counters(self, path):
        """Steps on the axis of the run, by process, device and name, as the Perfetto export has them."""
        if not perfetto_check:
            raise unittest.SkipTest(WHY)
        self.ok("export", path, "--to", "perfetto", "-o", self.path("t"), "--force", "-q")
        trace, run, out = perfetto_check.load(self.path("t")), self.run_of(path), {}
        for track, values in trace.counters.items():
            process = next(p for p in run["processes"] if p["name"] in trace.process(track).process_name)
            parent = trace.name(trace.tracks[track].parent_uuid)
            device = next((d["device"] for d in process["devices"] if parent == "Device %d \u00b7 %s" % (d["device"], d["name"])), None)
            begin = process["recorded_ns"] - process["origin_ns"]  # of a counter, with 0
            out[process["process"], device, trace.name(track).removesuffix(" per second")] = [(at - values[0][0] + begin, value) for at, value in values]
        return out

    def equals_the_export(self, path):
        counters, length, found = self.counters(path), self.run_of(path)["length_ns"], 0
        for options in ("?pixels=7", "?pixels=1000&exact", "?pixels=333&from=%d&to=%d" % (length // 3, length // 2)):
            header, values = self.series(path, options)
            self.assertFalse(header["partial"])
            for line in header["lines"]:
                about = header["series"][line["series"]]
                steps = counters.get((about["process"], about["device"], about["name"]))
                if about["name"] == "busy":
                    continue
                self.assertIsNotNone(steps, (about, list(counters)))
                found += 1
                for i in range(line["count"]):
                    begin = line["from_ns"] + i * line["bin_ns"]
                    low, high, last, mean = bin_of(steps, begin, begin + line["bin_ns"])
                    at = line["first"] + i
                    self.assertEqual([values[name][at] for name in ("min", "max", "last")], [low, high, last], (about, begin))
                    self.assertAlmostEqual(values["mean"][at], mean, delta=1e-9 * max(1, mean))
        self.assertEqual(found, 3 * len(counters))

    def test_of_two_hosts(self):
        self.equals_the_export(scenes.demo(self.folder)[0])

    def test_of_many_lanes(self):
        self.equals_the_export(self.synth("--operations", "20000", "--lanes", "6", "--threads", "2", "--processes", "2"))

    def test_of_counters_of_the_hardware(self):
        """With readings that are missing, and such as no counter has."""
        chance, p = random.Random(21), live.Process("host-7-1", 7)
        thread, at = p.thread(7), p.start_ns
        for number in range(2):
            device = p.device(f"Device {number}")
            queue = p.queue(device)
            p.enqueue(thread, queue, "clEnqueueNDRangeKernel", p.node(0, p.frame(live.NATIVE, p.module("/opt/demo"), 16)), "kernel", at, at + 9,
                      at + 1000, at + 900000, name="add")
            spans = [(at + 1000 * i + chance.randrange(9) * (i > 9), at + 1000 * (i + 1)) for i in range(800) if chance.random() > 0.1]
            for metric, unit in (("bytes.sum", "byte"), ("cycles.avg", "cycle"), ("share.avg.pct_of_peak_sustained_elapsed", "%")):
                p.series(device, metric, unit, [(a, b, chance.choice((0, 7, 1e9)) * chance.random()) for a, b in spans])
        p.series(device, "odd.sum", "byte", [(at + 5, at + 5, 1), (at + 9, at + 2, 1), (at + 10, at + 20, 3), (at + 15, at + 30, 5), (at + 40, at + 50, -1)])
        p.write(self.path("m.sonde"))
        self.equals_the_export(self.path("m.sonde"))
        header, _ = self.series(self.path("m.sonde"), "?series=")
        self.assertEqual([row["unit"] for row in header["series"] if row["device"] == 0],
                         ["share", "operations", "bytes per second", "per second", "number"])

    # ---- against views -------------------------------------------------------------------------------------------------------

    def test_memory_is_what_the_view_says(self):
        for path in (scenes.demo(self.folder)[0], zoo.objects_only(self.folder)):
            header, values = self.series(path, "?pixels=16384")
            run = self.run_of(path)
            view, = asking.ask(ASK, path, ["view/memory"])
            names = {"device": "device memory", "shared": "shared memory", "host": "pinned host memory"}
            spaces = view.json()["spaces"]
            self.assertTrue(spaces)
            for space in spaces:
                process = next(p for p in run["processes"] if p["name"] == space["process"])
                line, = [line for line in header["lines"] for about in [header["series"][line["series"]]]
                         if (about["process"], about["device"], about["name"]) == (process["process"], space["device"], names[space["class"]])]
                inside = range(line["first"], line["first"] + line["count"])
                self.assertEqual(max(values["max"][i] for i in inside), space["peak_bytes"])
                levels = list(zip(space["series"]["at_ns"], space["series"]["bytes"]))
                for at_ns, level in levels[1:-1]: # begin and end are added: of what changes in these very instants the view says nothing
                    i = line["first"] + (at_ns - process["origin_ns"] - line["from_ns"]) // line["bin_ns"]
                    if i in inside and level is not None:
                        self.assertLessEqual(values["min"][i], level)
                        self.assertGreaterEqual(values["max"][i], level)

    def test_busy_is_that_of_the_overview(self):
        """Of the whole run: the time in which at least one operation ran."""
        path = self.synth("--operations", "20000", "--lanes", "6", "--threads", "2", "--processes", "2")
        header, values = self.series(path, "?pixels=500&exact")
        answer, = asking.ask(ASK, path, ["overview?pixels=1&exact"])
        length, = struct.unpack_from("<I", answer.bytes, 8)
        overview = json.loads(answer.bytes[16:16 + length])
        shares = struct.unpack_from("<%dH" % len(overview["devices"]), answer.bytes, (16 + length + 7) & ~7)
        for device, share in zip(overview["devices"], shares):
            line, = [line for line in header["lines"] for about in [header["series"][line["series"]]]
                     if about["name"] == "busy" and (about["process"], about["device"]) == (device["process"], device["device"])]
            busy = sum(values["mean"][line["first"] + i] for i in range(line["count"])) * line["bin_ns"]
            self.assertAlmostEqual(busy / overview["to_ns"], share / 65535, delta=1e-5)

    # ---- what is asked ---------------------------------------------------------------------------------------------------------

    def test_some_of_them(self):
        path = scenes.demo(self.folder)[0]
        header, values = self.series(path)
        self.assertEqual([line["series"] for line in header["lines"]], list(range(len(header["series"]))))
        self.assertEqual({about["unit"] for about in header["series"]} - {"bytes", "operations", "share"}, set())
        some, few = self.series(path, "?series=2,0")
        self.assertEqual([line["series"] for line in some["lines"]], [2, 0])
        for line in some["lines"]:
            whole = header["lines"][line["series"]]
            for name in values:
                self.assertEqual(few[name][line["first"]:line["first"] + line["count"]], values[name][whole["first"]:whole["first"] + whole["count"]])
        none, empty = self.series(path, "?series=")
        self.assertEqual((none["lines"], none["series"], len(empty["min"])), ([], header["series"], 0))

    def test_what_cannot_be_asked(self):
        path = scenes.demo(self.folder)[0]
        cases = [("series?series=x", 400), ("series?series=0,", 400), ("series?series=0,0", 400), ("series?series=-1", 400), ("series?series=99999", 404),
                 ("series?series=99999999999", 400), ("series?pixels=0", 400), ("series?from=5&to=5", 400), ("series/1", 400),
                 ("next", 400), ("next?text=", 400), ("next?routine=a&text=b", 400), ("next?routine=a&place=1", 400), ("next?routine=a&place=1:2:3:", 400),
                 ("next?routine=a&place=1:2:3:4:5", 400), ("next?routine=a&at=-1", 400)]
        for (request, status), answer in zip(cases, asking.ask(ASK, path, [request for request, _ in cases])):
            self.assertEqual(answer.status, status, request)
            self.assertTrue(answer.json()["error"]["what"])

    def test_odd_measurements(self):
        """There is an answer, whatever they hold."""
        for animal in (zoo.no_process, zoo.nothing_in_it, zoo.killed, zoo.no_times, zoo.bad_times, zoo.far_off, zoo.clocks_that_jump, zoo.huge_objects,
                       zoo.empty_lanes, zoo.profile_only):
            with self.subTest(animal=animal.__name__):
                path = animal(self.folder)
                for answer in asking.ask(ASK, path, ["series?pixels=100&exact", "series?pixels=16384&from=5&to=9223372036854775807"]):
                    self.assertEqual(answer.status, 200, answer.bytes[:300])
                    header, values = columns(answer.bytes)
                    for line in header["lines"]:
                        for i in range(line["first"], line["first"] + line["count"]):
                            self.assertLessEqual(values["min"][i], values["max"][i])
                for answer in asking.ask(ASK, path, ["next?text=k", "next?text=k&back&at=9223372036854775807"]):
                    self.assertEqual(answer.status, 200, answer.bytes)
                    answer.json()

    # ---- next --------------------------------------------------------------------------------------------------------------------

    def walk(self, path, what, back=False):
        hits, at = [], "at=%d" % (2**62 if back else 0)
        while True:
            answer, = asking.ask(ASK, path, ["next?%s&%s%s" % (urllib.parse.urlencode(what, quote_via=urllib.parse.quote), at, "&back" if back else "")])
            self.assertEqual(answer.status, 200, answer.bytes)
            hit = answer.json()["hit"]
            if hit is None:
                return hits
            hits.append(hit)
            at = "at=%d&place=%d:%d:%d:%d" % (hit["begin_ns"], hit["process"], hit["lane"], hit["track"], hit["correlation"])

    def test_each_operation_of_a_kernel_on_all_lanes(self):
        path = self.synth("--operations", "600" if not cli.SANITIZED else "150", "--lanes", "250", "--threads", "2")  # each hit is a process of its own
        rows = list(csv.DictReader(io.StringIO(self.ok("export", path, "--to", "csv", "-o", "-").out, newline="")))
        origin = self.run_of(path)["processes"][0]["origin_ns"]
        kernel = next(row["name"] for row in rows if row["kind"] == "kernel")
        answer, = asking.ask(ASK, path, ["find?" + urllib.parse.urlencode({"text": kernel})])
        label = next(hit["label"] for hit in answer.json()["hits"] if hit["name"] == kernel and hit["kind"] == "operation")
        truth = sorted((int(row["start_ns"]) - origin, int(row["end_ns"]) - origin) for row in rows if row["name"] == kernel and row["start_ns"])
        hits = self.walk(path, {"routine": label})
        self.assertEqual([(hit["begin_ns"], hit["end_ns"]) for hit in hits], truth)
        self.assertGreater(len({hit["lane"] for hit in hits}), 1)
        self.assertEqual(self.walk(path, {"routine": label}, back=True), hits[::-1])
        self.assertEqual(self.walk(path, {"text": label.upper()}), hits)

    def test_ranges_and_marks(self):
        path, p = scenes.annotated(self.folder)
        begins = [hit["begin_ns"] for hit in self.walk(path, {"text": "step"})]
        process = self.run_of(path)["processes"][0]
        t = p.start_ns + scenes.MS - process["origin_ns"]
        self.assertEqual(begins, [t + 1000 + 10000 * i for i in range(4)])
        mark, = self.walk(path, {"text": "here"})
        self.assertEqual((mark["kind"], mark["begin_ns"], mark["end_ns"]), ("range", t + 50000, t + 50000))
        self.assertEqual(self.walk(path, {"text": "no such name"}), [])


if __name__ == "__main__":
    cli.main()
