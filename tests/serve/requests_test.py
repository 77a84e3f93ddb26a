"""requests_test.py - requests of the viewer (docs/developers/requests.md) against measurements whose contents are known, and
against what `sonde report` prints."""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import unicodedata
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", name) for name in ("cli", "report")]
import asking  # noqa: E402
import cli  # noqa: E402
import diff_model  # noqa: E402
import live  # noqa: E402
import scenes  # noqa: E402
import zoo  # noqa: E402

ASK = os.path.join(cli.BUILD, "tests", "sonde-ask")
SYNTH = os.path.join(cli.BUILD, "tests", "sonde-synth")
MARKUP = "<script>alert(\"1\")</script> & 'more'"
ERROR = {"what", "where", "why", "hint", "option", "at", "more"}


class Requests(cli.Case):
    def ask(self, path, *requests, **more):
        return asking.ask(ASK, path, requests, **more)

    def one(self, path, request):
        answer, = self.ask(path, request)
        self.assertEqual(answer.status, 200, answer.bytes)
        return answer.json()

    def fails_with(self, path, request, status):
        answer, = self.ask(path, request)
        self.assertEqual(answer.status, status, answer.bytes)
        self.assertEqual(answer.type, "application/json")
        value = answer.json()
        self.assertEqual(set(value), {"error"})
        self.assertEqual(set(value["error"]), ERROR)
        self.assertTrue(value["error"]["what"])
        return value["error"]

    def demo(self):
        path, processes = scenes.demo(self.folder)
        self.processes = sorted(processes, key=lambda p: p.start_ns) # as they are numbered
        return path

    def odd_names(self):
        """A kernel called as markup, one with bytes that are no UTF-8, one of control characters."""
        p = zoo.program()
        for i, name in enumerate([MARKUP, b"caf\xe9 \xff\xfe", "a\x01\x1b[31m\x7fb\n", "k" * 5000]):
            at = p.start_ns + zoo.MS + 10000 * i
            p.enqueue(p.main, p.queue_lane, "clEnqueueNDRangeKernel", p.code, "kernel", at, at + 500, at + 1000, at + 2000, name=name)
        p.note("<b>note</b> \x02")
        return zoo.written(self.folder, "odd_names", p)

    # ---- views for programs ----------------------------------------------------------------------------------------------

    def same_as_report(self, path, **more):
        """Options of views are tests of `sonde report`, too: sanitized, each view is asked for without."""
        more = {**more, "more": False} if cli.SANITIZED else more
        self.assertEqual(list(asking.differences(cli.SONDE, ASK, path, **more)), [])

    def test_a_view_is_what_report_prints(self):
        self.same_as_report(self.demo())

    def test_of_ranges_links_and_samples(self):
        self.same_as_report(scenes.annotated(self.folder)[0])
        self.same_as_report(scenes.sampled(self.folder)[0])

    def test_of_profiles_alone(self):
        self.same_as_report(scenes.profile_only(self.folder)[0])

    def test_of_odd_names(self):
        self.same_as_report(self.odd_names())

    def test_of_nothing(self):
        for animal in (zoo.no_process, zoo.nothing_in_it, zoo.calls_only, zoo.killed, zoo.bad_times, zoo.many_processes):
            with self.subTest(animal=animal.__name__):
                self.same_as_report(animal(self.folder), more=False)

    def test_of_many_lanes_and_samples(self):
        path = self.path("synth.sonde")
        subprocess.run([SYNTH, "--operations", "20000", "--lanes", "40", "--threads", "8", "--processes", "2", "--cpu", "100", "--waits", "5", path],
                       check=True, stdout=subprocess.DEVNULL)
        self.same_as_report(path)

    def test_of_damaged_ones(self):
        """Each view in a session of its own is the report's; all of them at once, in any order, have an answer."""
        whole = self.path("whole.sonde")
        subprocess.run([SYNTH, "--operations", "30000" if not cli.SANITIZED else "3000", "--lanes", "20", "--processes", "2", "--cpu", "100", whole], check=True, stdout=subprocess.DEVNULL)
        for seed in range(4):
            chance, path = random.Random(seed), self.path("damaged%d.sonde" % seed)
            shutil.copytree(whole, path)
            for process in (entry.path for entry in os.scandir(path) if entry.is_dir()):
                with open(os.path.join(process, "data.sonde"), "r+b") as file:
                    size = os.path.getsize(file.name)
                    for _ in range(3 + 10 * seed):
                        file.seek(chance.randrange(size))
                        file.write(bytes([chance.randrange(256)]))
            views = ["summary", "statistics", "blame", "lanes", "critical", "ledger"]
            for view in views:
                self.same_as_report(path, views=[view], more=False)
            requests = [kind + view for view in views for kind in ("view/", "text/")] * 3 + ["run", "operation?lane=1&number=5", "find?text=k"]
            chance.shuffle(requests)
            for answer in self.ask(path, *requests, threads=8):
                self.assertIn(answer.status, (200, 404))
                answer.json()

    def test_threads_get_what_one_gets(self):
        path = scenes.annotated(self.folder)[0]
        views = [view["name"] for view in self.one(path, "views")]
        requests = [kind + view for view in views for kind in ("view/", "text/")] + ["run", "find?text=k", "operation?lane=3&number=1", "view/none"]
        alone = self.ask(path, *requests)
        for _ in range(3):
            for a, b in zip(alone * 4, self.ask(path, *requests * 4, threads=8)):
                self.assertEqual((a.status, a.bytes), (b.status, b.bytes))

    def test_ranges_of_blame_one_after_the_other(self):
        """A session keeps what they share; in any order, and several at once, each is what `sonde report` says of it alone."""
        path = self.path("synth.sonde")
        subprocess.run([SYNTH, "--operations", "20000", "--lanes", "40", "--threads", "8", "--processes", "3", "--cpu", "500", "--compute", "100000", path],
                       check=True, stdout=subprocess.DEVNULL)
        length = self.one(path, "run")["length_ns"]
        chance, cases = random.Random(1), [[]]
        for _ in range(12):
            from_ns, to_ns = sorted(chance.sample(range(length), 2))
            cases.append([("from", f"{from_ns}ns"), ("to", f"{to_ns}ns"), *([("depth", str(chance.randrange(1, 4)))] if chance.random() < .5 else [])])
        expected = [self.ok("report", path, *asking.arguments("blame", options)).out.encode() for options in cases]
        for seed in range(3):
            order = random.Random(seed).sample(range(len(cases)), len(cases))
            answers = self.ask(path, *(asking.request("blame", cases[i]) for i in order), threads=None if not seed else 8)
            for i, answer in zip(order, answers):
                self.assertEqual((answer.status, answer.bytes), (200, expected[i]), cases[i])
        self.assertEqual(len(set(expected)), len(cases))

    # ---- what there is ----------------------------------------------------------------------------------------------------

    def test_views_say_what_their_json_holds(self):
        path = self.demo()
        views = self.one(path, "views")
        with open(os.path.join(HERE, "..", "..", "docs", "columns.md"), encoding="utf-8") as file:
            page = file.read()
        self.assertEqual([view["name"] for view in views], re.findall(r"^## (\w+)$", page, re.M))
        for view in views:
            for table in view["tables"]:
                self.assertIn(f"### {view['name']}: {table['name']}\n", page)
                for column in table["columns"]:
                    self.assertIn(column["definition"] + " |", page)
                    self.assertTrue(column["table"] is None or column["table"] < len(view["tables"]), column)
            value = self.one(path, "view/" + view["name"])
            self.assertIsInstance(value, dict if view["single"] else list)
            for row in [value] if view["single"] else value:
                self.holds(view, view["tables"][0], row)

    def holds(self, view, table, row):
        """The row has the columns of its table, in their order, and so have those within."""
        named = {column["name"]: column for column in table["columns"] if column["name"]}
        self.assertEqual(list(row), [name for name in named if name in row])
        for name, value in row.items():
            inner = named[name]["table"]
            if inner is None or value is None or named[name]["kind"] == "map":
                continue
            for part in value if named[name]["kind"] == "list" else [value]:
                if view["name"] != "profile": # whose columns are those that were asked for
                    self.holds(view, view["tables"][inner], part)

    def test_options_are_those_of_the_command(self):
        views = {view["name"]: view for view in self.one(self.demo(), "views")}
        names = lambda view: [option["name"] for option in views[view]["options"]]
        self.assertEqual(names("kernels"), ["min-percent", "limit"])
        self.assertEqual(names("statistics"), ["min-percent", "limit", "depth", "from", "to", "lane"])
        self.assertEqual(names("blame"), ["min-percent", "limit", "depth", "from", "to"])
        self.assertEqual(names("comm"), ["min-percent", "limit", "by", "shape", "from", "to"])
        by = next(option for option in views["profile"]["options"] if option["name"] == "by")
        self.assertEqual((by["type"], by["choices"]), ("choice", ["line", "function", "module", "kernel", "object", "pair", "element"]))
        usage = self.ok("report", "--help").out
        for view in views.values():
            for option in view["options"]:
                self.assertIn("--" + option["name"], usage)
                self.assertIn(re.sub(r"\s+", "", option["help"]), re.sub(r"\s+", "", usage))

    # ---- views for people ----------------------------------------------------------------------------------------------------

    def shown(self, text):
        """As a terminal shows it: control characters as spaces."""
        return "".join(" " if unicodedata.category(c) == "Cc" else c for c in text)

    def test_text_is_what_the_terminal_shows(self):
        for path in (self.demo(), scenes.annotated(self.folder)[0], scenes.sampled(self.folder)[0]):
            for view in (view["name"] for view in self.one(path, "views")):
                out = self.ok("report", path, view, env={"COLUMNS": "3000"}).out
                lines = out.splitlines()
                page = self.one(path, "text/" + view)
                self.assertEqual(page["view"], view)
                for item in page["items"]:
                    if item["kind"] == "table":
                        self.table_is_shown(item["table"], lines)
                    elif item["kind"] == "sentence":
                        self.assertIn(self.shown((item["head"] or "") + (item["text"] or "")), out)
                    else:
                        self.assertIn(" | ".join(item["views"]), out)
                for note in page["notes"]:
                    self.assertIn("note: " + self.shown(note["text"]), out)

    def test_what_is_missing_is_what_the_summary_says(self):
        cut = self.path("cut.sonde")
        subprocess.run([SYNTH, "--operations", "30000" if not cli.SANITIZED else "3000", "--lanes", "20", "--cpu", "100", cut], check=True, stdout=subprocess.DEVNULL)
        process, = (entry.path for entry in os.scandir(cut) if entry.is_dir())
        os.truncate(os.path.join(process, "data.sonde"), os.path.getsize(os.path.join(process, "data.sonde")) // 2)
        warned = noted = 0
        for path in (self.demo(), scenes.annotated(self.folder)[0], scenes.sampled(self.folder)[0], self.odd_names(), cut):
            missing, summary = self.one(path, "missing"), self.one(path, "text/summary")
            self.assertEqual(missing["warnings"], [item["text"] for item in summary["items"] if item.get("tone") == "warning"])
            self.assertEqual(missing["notes"], summary["notes"])
            warned, noted = warned + len(missing["warnings"]), noted + len(missing["notes"])
        self.assertTrue(warned and noted)
        self.assertEqual(self.one(zoo.no_process(self.folder), "missing"), {"warnings": [], "notes": []})

    def table_is_shown(self, table, lines):
        if not table["columns"]:
            self.assertEqual(table["rows"], [])
            return
        titles = r"\s+".join(re.escape(column["title"]) for column in table["columns"] if column["title"])
        self.assertTrue(any(re.fullmatch(r"\s*" + titles, line) for line in lines), titles)
        for row in table["rows"]:
            self.assertEqual((len(row["cells"]), len(row["values"])), (len(table["columns"]),) * 2)
            cells = r"\s+".join(re.escape(self.shown(cell)).replace(r"\ ", r"\s") for cell in row["cells"] if cell)
            indent = r"\s*" * bool(row.get("depth", 0) or row["cells"][0] is None or table["columns"][0]["kind"] != "text")
            self.assertTrue(any(re.fullmatch(indent + cells + r"\s*(×\d+)?", line) for line in lines), (cells, lines))

    def test_values_beside_cells_are_those_of_json(self):
        path = self.demo()
        table = next(item["table"] for item in self.one(path, "text/kernels")["items"] if item["kind"] == "table")
        rows = self.one(path, "view/kernels")
        for name in ("count", "total_ns", "min_ns", "max_ns"):
            at = [column["name"] for column in table["columns"]].index(name)
            self.assertEqual([row["values"][at] for row in table["rows"]], [row[name] for row in rows], name)

    def test_depth_is_that_of_the_tree(self):
        table = next(item["table"] for item in self.one(self.demo(), "text/profile")["items"] if item["kind"] == "table")
        depths = [row.get("depth", 0) for row in table["rows"]]
        self.assertEqual(depths[0], 0)
        self.assertGreater(max(depths), 1)
        self.assertTrue(all(b <= a + 1 for a, b in zip(depths, depths[1:])), depths)

    # ---- the run -------------------------------------------------------------------------------------------------------------

    def test_run(self):
        run = self.one(self.demo(), "run")
        second, first = self.processes
        begin = min(p.start_ns + p.wall_offset_ns for p in self.processes)
        end = max(p.stop_ns + 1000 + p.wall_offset_ns for p in self.processes)
        self.assertEqual((run["wall_begin_ns"], run["length_ns"]), (begin, end - begin))
        self.assertEqual(run["command"], "demo 2048 'a \"quoted\" word'")
        self.assertEqual([(p["process"], p["name"], p["host"], p["pid"], p["rank"]) for p in run["processes"]],
                         [(0, "beta-4711-0", "beta", 4711, None), (1, "alpha-4711-0", "alpha", 4711, None)])
        for there, p in zip(run["processes"], self.processes):
            self.assertEqual(there["origin_ns"], begin - p.wall_offset_ns)
            self.assertEqual((there["begin_ns"], there["end_ns"]), (p.start_ns, p.stop_ns + 1000))
            self.assertEqual(len(there["lanes"]), len(p.tables["LANE"]))
            for lane in there["lanes"]:
                for table, name in (("OP", "operations"), ("CALL", "calls")):
                    rows = len(p.owned.get((table, lane["lane"]), []))
                    self.assertEqual(lane["traces"].get(name, {"rows": 0})["rows"], rows, (lane, name))
        self.assertEqual(second.name, "beta-4711-0")
        self.assertEqual([(d["device"], d["name"]) for d in run["processes"][1]["devices"]], [(0, "Test GPU 9000")])
        thread, _, _, free = run["processes"][1]["lanes"]
        self.assertEqual((thread["kind"], thread["tid"], thread["title"]), ("thread", 4711, "thread 4711"))
        self.assertEqual((free["kind"], free["device"], free["out_of_order"]), ("queue", 0, True))
        t = first.start_ns + scenes.MS
        self.assertEqual(free["traces"]["operations"], {"rows": 12, "from_ns": t + 200000, "to_ns": t + 215000})

    def test_run_of_other_traces(self):
        path, p = scenes.annotated(self.folder)
        lanes = {lane["lane"]: lane for lane in self.one(path, "run")["processes"][0]["lanes"]}
        for (table, owner), rows in p.owned.items():
            name = {"RANGE": "ranges", "WAIT": "waits", "SLEEP": "sleeps", "SAMPLE": "samples", "SWITCH": "switches"}.get(table)
            if name:
                self.assertEqual(lanes[owner]["traces"][name]["rows"], len(rows), name)

    # ---- one operation ---------------------------------------------------------------------------------------------------------

    def operations(self, p):
        """(lane, number, what was written)."""
        place = {}
        for op in p.truth:
            number = place.get(op["lane"], 0)
            place[op["lane"]] = number + 1
            yield op["lane"], number, op

    def test_operations_are_those_that_were_written(self):
        path = self.demo()
        for process, p in enumerate(self.processes):
            wanted = list(self.operations(p))
            calls = {call["correlation"]: call for call in p.calls}
            answers = self.ask(path, *(f"operation?process={process}&lane={lane}&number={number}" for lane, number, _ in wanted))
            for (lane, number, op), answer in zip(wanted, answers):
                self.assertEqual(answer.status, 200, answer.bytes)
                there, known = answer.json(), op["start_ns"] is not None and not op["bad_time"]
                name = op["name"].decode("utf-8", "replace") if isinstance(op["name"], bytes) else op["name"]
                self.assertEqual((there["process"], there["lane"], there["number"], there["name"], there["kind"]), (process, lane, number, name, op["kind"]))
                for field in ("enter_ns", "queued_ns", "submit_ns", "correlation", "failed", "bad_time"):
                    self.assertEqual(there[field], op[field], field)
                self.assertEqual((there["start_ns"], there["end_ns"]), (op["start_ns"], op["end_ns"]) if known else (None, None))
                self.assertEqual(there["bytes"] or 0, op["bytes"])
                self.assertEqual(there["queue_delay"], {"enqueue_queued_ns": 100, "queued_submit_ns": 200,
                                                        "submit_start_ns": op["start_ns"] - op["submit_ns"]} if known else None)
                call = calls[op["correlation"]]
                self.assertEqual({key: there["call"][key] for key in ("name", "enter_ns", "leave_ns")}, {key: call[key] for key in ("name", "enter_ns", "leave_ns")})
                kinds = [frame["kind"] for frame in there["frames"]]
                self.assertEqual(kinds, ["operation", "api", "python", "python", "native"])
                self.assertEqual([(f["name"], f["file"], f["line"]) for f in there["frames"][2:4]],
                                 [("Solver.step", "/home/user/main.py", 20), ("<module>", "/home/user/main.py", 10)])
                self.assertEqual([f["code"] for f in there["frames"][2:4]], ["user", "user"])

    def test_an_operation_is_told_by_its_begin_too(self):
        path = self.demo()
        lane, number, op = next(each for each in self.operations(self.processes[1]) if each[2]["name"] == "vadd" and each[1] > 3)
        a, b = self.ask(path, f"operation?process=1&lane={lane}&number={number}", f"operation?process=1&lane={lane}&begin={op['start_ns']}")
        self.assertEqual((a.status, a.bytes), (200, b.bytes))
        self.assertEqual(a.json()["alike"]["count"], 10)
        self.assertEqual((a.json()["alike"]["min_ns"], a.json()["alike"]["max_ns"], a.json()["alike"]["mean_ns"]), (2000, 2000, 2000.0))

    def durations(self):
        """Kernels that take from 1 ns to some milliseconds, on two threads."""
        p = zoo.program()
        p.histograms = True
        other, times = p.thread(2), [random.Random(1).randrange(1, 1 << random.Random(i).randrange(1, 23)) for i in range(200)]
        at = p.start_ns + zoo.MS
        for i, ns in enumerate(times):
            p.enqueue(p.main if i % 3 else other, p.queue_lane, "clEnqueueNDRangeKernel", p.code, "kernel", at, at + 500, at + 1000, at + 1000 + ns, name="k")
            at += 2000 + ns
        return zoo.written(self.folder, "durations", p), times

    def test_how_long_operations_like_it_took(self):
        path, times = self.durations()
        alike = self.one(path, "operation?lane=2&number=7")["alike"]
        self.assertEqual((alike["count"], alike["min_ns"], alike["max_ns"]), (len(times), min(times), max(times)))
        for bin in alike["durations"]:
            self.assertEqual(bin["count"], sum(bin["from_ns"] <= ns < bin["to_ns"] for ns in times), bin)
            self.assertLessEqual(bin["to_ns"] - bin["from_ns"], bin["from_ns"] / 16, bin)
        self.assertEqual(sum(bin["count"] for bin in alike["durations"]), len(times))
        ends = [end for bin in alike["durations"] for end in (bin["from_ns"], bin["to_ns"])]
        self.assertEqual(ends, sorted(ends))

    def test_launches_and_objects(self):
        path, p = scenes.annotated(self.folder)
        wanted = [(lane, number, op) for lane, number, op in self.operations(p)]
        answers = self.ask(path, *(f"operation?lane={lane}&number={number}" for lane, number, _ in wanted))
        works = [answer.json()["work"] for answer in answers]
        self.assertEqual(works[0], {"global": [256, 1, 1], "local": [64, 1, 1], "registers": 40, "static_shared_bytes": 1024, "dynamic_shared_bytes": 2048,
                                    "local_bytes": 16, "cluster": [2, 1, 1], "occupancy": 0.625, "occupancy_limiter": "shared memory"})
        self.assertIsNone(works[1])
        copy = next(answer.json() for answer in answers if answer.json()["kind"] == "peer_copy")
        self.assertEqual([copy["work"][key] for key in ("source", "target", "source_device", "target_device")], ["device", "device", 1, 2])
        self.assertEqual(copy["gb_per_s"], 64 / 1000)
        self.assertIn("link", [frame["kind"] for frame in copy["frames"]])
        path = self.demo()
        written = self.one(path, "operation?process=1&lane=3&number=0")
        self.assertEqual((written["kind"], written["object"]["kind"], written["object"]["bytes"]), ("write", "buffer", 4096))
        self.assertEqual(written["object"]["frames"][0]["name"], "clCreateBuffer")

    def test_operations_are_told_by_correlation(self):
        path = self.demo()
        p = self.processes[1]
        wanted = list(self.operations(p))
        for lane, number, op in wanted:
            a, b, c, d = self.ask(path, f"operation?process=1&lane={lane}&number={number}", f"operation?process=1&correlation={op['correlation']}",
                                  f"operation?process=1&lane={lane}&correlation={op['correlation']}",
                                  f"operation?process=1&lane={lane}&number={number}&correlation={op['correlation']}")
            self.assertEqual((a.status, [a.bytes] * 3), (200, [b.bytes, c.bytes, d.bytes]))
        self.fails_with(path, f"operation?process=1&lane=3&number=0&correlation={wanted[1][2]['correlation']}", 404)
        self.fails_with(path, "operation?process=1&correlation=1000", 404)

    def test_of_several_at_one_time_each_is_found(self):
        """Two operations of a queue out of order that begin together."""
        p = zoo.program()
        at = p.start_ns + zoo.MS
        for i in range(2):
            p.enqueue(p.main, p.queue_lane, "clEnqueueNDRangeKernel", p.code, "kernel", at + 1000 * i, at + 1000 * i + 500, at + 5000, at + 6000 + i, name="k%d" % i)
        path = zoo.written(self.folder, "together", p)
        self.assertEqual(self.one(path, f"operation?lane=2&begin={at + 5000}")["name"], "k0")
        self.assertEqual(self.one(path, f"operation?lane=2&begin={at + 5000}&correlation=2")["name"], "k1")

    def test_operations_that_are_not_there(self):
        path = self.demo()
        for request, status, option in (("", 400, None), ("?process=1&number=1", 400, "lane"), ("?process=1&lane=3", 400, None), ("?lane=99&number=0", 404, "lane"),
                                        ("?lane=0&number=0", 404, "lane"), ("?process=2&lane=3&number=0", 404, "process"),
                                        ("?process=1&lane=3&number=15", 404, None), ("?process=1&lane=1&number=0", 404, None),
                                        ("?process=1&lane=3&begin=1", 404, None), ("?process=1&lane=3&number=9223372036854775807", 404, None),
                                        ("?lane=3&number=99999999999999999999", 400, "number"), ("?lane=-1&number=1", 400, "lane"),
                                        ("?lane=1&correlation=0", 400, "correlation")):
            self.assertEqual(self.fails_with(path, "operation" + request, status)["option"], option, request)
        self.one(path, "operation?process=1&lane=3&number=14")

    # ---- finding -----------------------------------------------------------------------------------------------------------------

    def test_find(self):
        path = self.demo()
        every = [op for p in self.processes for op in p.truth]
        found = self.one(path, "find?text=SCALE")
        self.assertEqual((found["text"], found["left_out"]), ("SCALE", 0))
        hit, = found["hits"]
        self.assertEqual((hit["name"], hit["kind"], hit["operations"], hit["device_ns"]), ("void scale<float, 4>(float*, const char*)", "operation", 12, 48000))
        step, = [hit for hit in self.one(path, "find?text=solver.st")["hits"]]
        self.assertEqual((step["label"], step["kind"], step["operations"]), ("Solver.step() main.py", "python", len(every)))
        self.assertEqual(self.one(path, "find?text=no+such+name")["hits"], [])
        three = self.one(path, "find?text=e&limit=3")
        everything = self.one(path, "find?text=e&limit=10000")
        self.assertEqual(three["hits"], everything["hits"][:3])
        self.assertEqual(three["left_out"], len(everything["hits"]) - 3)
        times = [hit["device_ns"] for hit in everything["hits"]]
        self.assertEqual(times, sorted(times, reverse=True))
        self.assertEqual(self.fails_with(path, "find", 400)["option"], "text")
        self.assertEqual(self.fails_with(path, "find?text=", 400)["option"], "text")

    def test_the_page_names_every_key(self):
        path = self.demo()
        with open(os.path.join(HERE, "..", "..", "docs", "developers", "requests.md"), encoding="utf-8") as file:
            sections = {part.split("\n")[0]: part for part in re.split(r"^## ", file.read(), flags=re.M)}
        run, operation, found = (self.one(path, request) for request in ("run", "operation?process=1&lane=3&number=0", "find?text=scale"))
        duration = self.one(self.durations()[0], "operation?lane=2&number=0")["alike"]["durations"][0]
        process, view = run["processes"][1], self.one(path, "views")[0]
        parts = {"run": [run, process, process["devices"][0], process["lanes"][0]], "find": [found, found["hits"][0]],
                 "operation": [operation, operation["object"], operation["call"], operation["alike"], duration, *operation["frames"]],
                 "missing": [self.one(path, "missing")],
                 "views": [view, view["options"][0], view["tables"][0], view["tables"][0]["columns"][0]],
                 "An answer": [self.fails_with(path, "nothing", 404)]}
        for section, values in parts.items():
            for key in (key for value in values for key in value):
                self.assertIn(f"`{key}`", sections[section], section)

    # ---- the time line ---------------------------------------------------------------------------------------------------------

    def header(self, path, request):
        answer, = self.ask(path, request)
        self.assertEqual((answer.status, answer.bytes[:8]), (200, b"SNDCOLS1"), answer.bytes[:500])
        return json.loads(answer.bytes[16:16 + int.from_bytes(answer.bytes[8:12], "little")])

    def test_routines_of_the_time_line_are_those_of_find(self):
        """What is chosen in one place can be found in the others: a kernel's label is short in the picture, its routine is its whole name."""
        demo = self.demo()
        for path in (demo, scenes.annotated(self.folder)[0], scenes.sampled(self.folder)[0]):
            lanes = ["%d:%d" % (process["process"], lane["lane"]) for process in self.one(path, "run")["processes"] for lane in process["lanes"]]
            header = self.header(path, "timeline?exact&lanes=" + ",".join(lanes))
            self.assertEqual(len(header["routines"]), len(header["strings"]))
            self.assertEqual([routine is None for routine in header["routines"]], [frame is None for frame in header["frames"]])
            routines = {routine for routine in header["routines"] if routine is not None}
            counted = {row["label"].split(", mostly in ")[0] for row in self.one(path, "view/statistics")["rows"] if row["kind"] == "routine"}
            self.assertTrue(counted)
            self.assertLessEqual(counted, routines)
            for routine, frame in zip(header["routines"], header["frames"]):
                if routine and frame != "range": # of ranges only those that call paths go through are found
                    name = urllib.parse.quote(routine.split("\ufffd")[0])
                    self.assertIn(routine, [hit["label"] for hit in self.one(path, f"find?limit=10000&text={name}")["hits"]])
        header = self.header(demo, "timeline?exact&lanes=1:3,1:4")
        self.assertIn(("scale<float, 4>(float*, const char*)", "kernel void scale<float, 4>(float*, const char*)"), list(zip(header["strings"], header["routines"])))

    # ---- names and bytes ------------------------------------------------------------------------------------------------------------

    def test_names_are_text(self):
        path = self.odd_names()
        names = {kernel["name"] for kernel in self.one(path, "view/kernels")}
        self.assertEqual(names, {MARKUP, "caf\ufffd \ufffd\ufffd", "a\x01\x1b[31m\x7fb\n", "k" * 5000})
        self.assertEqual(self.one(path, "find?text=%3Cscript%3E")["hits"][0]["name"], MARKUP)
        self.assertEqual(self.one(path, "find?text=caf%E9")["hits"][0]["name"], "caf\ufffd \ufffd\ufffd")
        self.assertEqual(self.one(path, "operation?lane=2&number=0")["name"], MARKUP)
        for view in self.one(path, "views"):
            for answer in self.ask(path, "view/" + view["name"], "text/" + view["name"]):
                answer.json()

    WRONG = [
        # request, status, the option that is wrong, and what is said
        (b"", 404, None, "there is no request ''"), (b"nothing", 404, None, "nothing"), (b"veiws", 404, None, "did you mean 'views'?"),
        (b"view", 400, None, "view/VIEW"), (b"view/", 400, None, "view/VIEW"), (b"view?limit=3", 400, None, "view/VIEW"),
        (b"views/kernels", 400, None, "kernels"), (b"views?limit=3", 400, None, "no option 'limit'"), (b"run/0", 400, None, "takes nothing"),
        (b"view/none", 404, None, "there is no view 'none'"), (b"view/kernel", 404, None, "did you mean 'kernels'?"), (b"text/kernel", 404, None, "kernels"),
        (b"view/kernels/more", 404, None, "kernels/more"), (b"/view/kernels", 404, None, "there is no request ''"),
        (b"view/kernels?depth=2", 400, "depth", "depth is for the view profile, not for kernels"), (b"view/kernels?lmit=2", 400, None, "did you mean 'limit'?"),
        (b"view/kernels?json", 400, None, "json"), (b"view/kernels?limit", 400, "limit", "limit needs a value (N)"),
        (b"view/kernels?limit=", 400, "limit", "needs a number"), (b"view/kernels?limit=x", 400, "limit", "not 'x'"),
        (b"view/kernels?limit=-1", 400, "limit", "between 0 and 1000000000"), (b"view/kernels?min-percent=nan", 400, "min-percent", "needs a number"),
        (b"view/profile?ids=1", 400, "ids", "takes no value"), (b"view/profile?by=kernal", 400, "by", "did you mean 'kernel'?"),
        (b"view/profile?by=kernel&bottom-up", 400, None, "flat list"), (b"view/profile?metric=gpu,nope", 400, "metric", "nope"),
        (b"view/profile?derive=each=gpu/", 400, "derive", "each=gpu/"), (b"view/profile?sort=gpu:more", 400, "sort", ":incl or :excl"),
        (b"view/profile?root=nowhere", 404, None, "nowhere"), (b"view/statistics?from=soon", 400, "from", "from needs a time since the start"),
        (b"view/statistics?from=90%25&to=10%25", 400, None, "empty"), (b"view/statistics?lane=none", 404, None, "none"),
        (b"view/blame?from=90%25&to=10%25", 400, None, "empty"), (b"view/blame?from=1h", 400, None, "empty"), (b"view/blame?to=0ns", 400, None, "empty"),
        (b"view/blame?to=soon", 400, "to", "to needs a time since the start"), (b"view/blame?from=-5ns", 400, "from", "-5ns"),
        (b"view/blame?from=101%25", 400, "from", "from needs a time"), (b"view/blame?lane=1", 400, "lane", "lane is for the view statistics, not for blame"),
        (b"view/blame?depth=0", 400, "depth", "between 1 and"),
        (b"view/kernels?limit=%", 400, None, "two hexadecimal digits"), (b"view/kernels?limit=%3", 400, None, "two hexadecimal digits"),
        (b"view/kernels?limit=%zz", 400, None, "two hexadecimal digits"), (b"view/%", 400, None, "two hexadecimal digits"), (b"%4", 400, None, "two hexadecimal digits"),
        (b"view/kernels?%=3", 400, None, "two hexadecimal digits"), (b"view/kernels%00", 400, None, "zero"), (b"find?text=a%00b", 400, None, "zero"),
        (b"view/kernels\0", 400, None, "zero"), (b"\0", 400, None, "zero"), (b"find?text=" + b"a" * (1 << 20), 400, None, "longer"),
        (b"a" * (1 << 20), 400, None, "longer"), (b"a" * 65536, 404, None, "there is no request"), (b"view/" + b"\xff" * 300, 404, None, "there is no view"),
        (b"view/kernels?limit=" + "ä".encode() * 1000, 400, "limit", "needs a number"), (b"view/%3Cscript%3E", 404, None, "<script>"),
    ]

    def test_what_is_wrong_is_said(self):
        path = self.demo()
        for request, status, option, said in self.WRONG:
            with self.subTest(request=request[:80]):
                error = self.fails_with(path, request, status)
                self.assertEqual(error["option"], option)
                self.assertIn(said, json.dumps([error["what"], error["where"], error["hint"]], ensure_ascii=False))
        self.assertEqual(self.fails_with(path, "view/profile?metric=gpu,nope", 400)["at"], 4)
        self.assertIsNone(self.fails_with(path, "view/statistics?from=soon", 400)["at"])

    def test_requests_that_are_written_otherwise(self):
        path = self.demo()
        pairs = [("view/kernels?limit=2", "view/%6b%65rnels?%6Cimit=%32"), ("view/kernels?limit=2", "view/kernels?limit=5&limit=2"),
                 ("view/kernels", "view/kernels?"), ("view/kernels", "view/kernels?&&"), ("view/profile?ids", "view/profile?ids="),
                 ("view/profile?bottom-up", "view/profile?top-down&bottom-up"), ("find?text=scale%3Cfloat%2C%204%3E", "find?text=scale<float,+4>"),
                 ("view/profile?derive=a%3Dgpu%2B1", "view/profile?derive=a=gpu%2b1")]
        for a, b in pairs:
            one, other = self.ask(path, a, b)
            self.assertEqual((one.status, one.bytes), (200, other.bytes), (a, b))

    # ---- a comparison ------------------------------------------------------------------------------------------------------

    def runs(self, name, kernels, count):
        paths = [self.path(f"{name}{i}.sonde") for i in range(count)]
        for i, path in enumerate(paths):
            diff_model.write(path, kernels, seed=len(name) + i, run_noise=.01)
        return paths

    def test_a_comparison_is_what_diff_prints(self):
        slower = [diff_model.PLAIN[0].but(mean_us=150), *diff_model.PLAIN[1:3], diff_model.Kernel("extra", 7, line=70)]
        before, (after,) = self.runs("a", diff_model.PLAIN, 3), self.runs("after", slower, 1)
        for side in (before, before[:1], [after]):
            printed = self.ok("diff", ",".join(side), after, "--json").out.encode()
            # Whoever asks first, and whatever else is asked meanwhile.
            for answer in self.ask(after, *["diff", "view/blame", "diff"] * 4, threads=6, before=side)[::3]:
                self.assertEqual((answer.status, answer.type), (200, "application/json"), answer.bytes[:300])
                self.assertEqual(answer.bytes, printed, asking.first_difference(answer.bytes, printed))
        self.places_are_of_the_profile(after, before, {"stencil", "reduce", "scale", "extra"})

    def places_are_of_the_profile(self, after, before, kernels):
        """`node` of a row leads to the operations that the row counts, in the measurement that is open."""
        answer, = self.ask(after, "diff", before=before)
        rows = answer.json()["rows"]
        self.assertTrue(all((row["node"] is None) == (row["match"] == "gone") for row in rows), rows)
        seen = set()
        for row in rows:
            if row["metric"] == "time" and row["node"] is not None:
                nodes = self.one(after, f"view/profile?root=%23{row['node']}&metric=gpu,ops")["rows"]
                self.assertEqual((nodes[0]["node"], nodes[0]["name"]), (row["node"], row["kernel"]))
                self.assertEqual(nodes[0]["exclusive"]["gpu"], row["after"])
                seen.add(row["kernel"])
        self.assertEqual(seen, kernels)

    def test_without_another_measurement_there_is_no_comparison(self):
        path = self.demo()
        error = self.fails_with(path, "diff", 404)
        self.assertEqual(error["what"], "there is no measurement to compare with")
        self.assertIn(f"sonde view {path} --before BEFORE", error["hint"])
        self.fails_with(path, "diff/a", 400)
        self.fails_with(path, "diff?limit=1", 400)

    def test_any_bytes_have_an_answer(self):
        path = self.odd_names()
        chance = random.Random(12)
        words = [b"view", b"text", b"run", b"find", b"operation", b"views", b"/", b"?", b"&", b"=", b"%", b"%2", b"%41", b"\xff", b"\0", b"kernels", b"profile",
                 b"limit", b"text", b"lane", b"number", b"-1", b"3", b"<", b"+", b"by", b"derive", b"a=1/0", b"sort", b"root", b"#2", b"metric", b"gpu"]
        requests = [b"".join(chance.choice(words) for _ in range(chance.randrange(1, 12))) for _ in range(3000)]
        requests += [f"view/profile?derive={''.join(chance.choice('ab=+*/()min,0.5gpus ') for _ in range(20))}".replace("+", "%2B").encode() for _ in range(300)]
        for request, answer in zip(requests, self.ask(path, *requests, threads=4)):
            self.assertIn(answer.status, (200, 400, 404), (request, answer.bytes))
            value = answer.json()
            self.assertEqual(answer.status != 200, isinstance(value, dict) and set(value) == {"error"}, request)


if __name__ == "__main__":
    cli.main()
