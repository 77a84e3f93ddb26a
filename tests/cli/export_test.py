"""export_test.py - `sonde export`: every format against a measurement whose content is known."""
import csv
import io
import json
import os
import re
import unittest

import cli
import live
import scenes


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def whole(text):
    return int(text) if text else None


class Csv(cli.Case):
    def test_every_operation_as_it_was_written(self):
        path, processes = scenes.demo(self.folder)
        done = self.ok("export", path, "--to", "csv", "-o", "-")
        self.assertEqual(done.err, "")
        rows = rows_of(done.stdout.decode("utf-8"))
        truth = {(p.name, op["correlation"]): op for p in processes for op in p.truth}
        self.assertEqual(len(rows), len(truth))
        for row in rows:
            op = truth.pop((row["process"], int(row["correlation"])))
            name = op["name"] if isinstance(op["name"], str) else op["name"].decode("utf-8", "replace")
            self.assertEqual((row["kind"], row["name"], int(row["lane"])), (op["kind"], name, op["lane"]))
            for key in ("enter_ns", "queued_ns", "submit_ns", "start_ns", "end_ns", "bytes"):
                self.assertEqual(whole(row[key]), op[key], key)
            self.assertEqual((row["failed"], row["bad_time"]), (str(int(op["failed"])), str(int(op["bad_time"]))))
            known = op["start_ns"] is not None and op["end_ns"] >= op["start_ns"]
            self.assertEqual(whole(row["duration_ns"]), op["end_ns"] - op["start_ns"] if known else None)
            self.assertEqual(row["called_from"], "Solver.step() main.py:20 ← <module> main.py:10")
        self.assertEqual(truth, {})

    def test_work_sizes_and_objects(self):
        path, _ = scenes.demo(self.folder)
        rows = rows_of(self.ok("export", path, "--to", "csv", "-o", "-").stdout.decode("utf-8"))
        sizes = {(r["global_size"], r["local_size"]) for r in rows if r["name"] == "vadd"}
        self.assertEqual(sizes, {("1024 × 16", ""), ("1024 × 16", "64 × 1")})
        self.assertEqual([(r["object"], r["object_bytes"]) for r in rows if r["kind"] == "write"], [("1", "4096")])
        self.assertEqual({r["queue"] for r in rows if r["process"].startswith("alpha")},
                         {"Queue 1 · Test GPU 9000", "Queue 2 · Test GPU 9000"})

    def test_attributes_and_ranges(self):
        path, _ = scenes.annotated(self.folder)
        rows = rows_of(self.ok("export", path, "--to", "csv", "-o", "-").stdout.decode("utf-8"))
        names = ("registers", "static_shared_bytes", "dynamic_shared_bytes", "local_bytes", "cluster", "occupancy",
                 "occupancy_limiter", "source", "target", "source_device", "target_device")
        known = {(row["name"], tuple(row[n] for n in names)) for row in rows}
        self.assertEqual(known, {
            ("k", ("40", "1024", "2048", "16", "2 × 1 × 1", "0.625", "shared memory", "", "", "", "")),
            ("k", ("",) * 11),
            ("peer_copy", ("",) * 7 + ("device", "device", "Device 0 · Test GPU 9000", "Device 1 · Test GPU 9001")),
            ("write", ("",) * 7 + ("pinned", "device", "", "")),
        })
        self.assertEqual({(row["name"], row["ranges"], row["called_from"]) for row in rows}, {
            ("k", "[step] ← [training: epoch]", "train() main.py:10"),
            ("peer_copy", "", "prepared in forward() model.py:5, launched from train() main.py:10"),
            ("write", "", "train() main.py:10")})

    def test_lines_end_as_rfc_4180_says(self):
        path, _ = scenes.demo(self.folder)
        data = self.ok("export", path, "--to", "csv", "-o", "-").stdout
        self.assertTrue(data.endswith(b"\r\n"))
        self.assertIn(b'"say ""hi"",\r\nthere \xc2\xb5"', data)


class Json(cli.Case):
    def document(self, path):
        return json.loads(self.ok("export", path, "--to", "json", "-o", "-").stdout.decode("utf-8"))

    def test_agrees_with_the_truth(self):
        path, processes = scenes.demo(self.folder)
        doc = self.document(path)
        names = [p["name"] for p in doc["processes"]]
        truth = {(p.name, op["correlation"]): op for p in processes for op in p.truth}
        self.assertEqual(len(doc["operations"]), len(truth))
        for row in doc["operations"]:
            op = truth.pop((names[row["process"]], row["correlation"]))
            for key in ("kind", "lane", "enter_ns", "queued_ns", "submit_ns", "start_ns", "end_ns", "bytes", "failed",
                        "bad_time"):
                self.assertEqual(row[key], op[key], key)
        calls = {(p.name, c["enter_ns"], c["leave_ns"], c["name"], c["correlation"] or None)
                 for p in processes for c in p.calls}
        self.assertEqual({(names[c["process"]], c["enter_ns"], c["leave_ns"], c["name"], c["correlation"])
                          for c in doc["calls"]}, calls)

    def test_ledger_and_totals(self):
        path, processes = scenes.demo(self.folder)
        doc = self.document(path)
        for process in doc["processes"]:
            ledger = next(p for p in processes if p.name == process["name"]).ledger
            for key in ("seen", "done", "failed", "no_times", "unmatched", "bad_time", "api_calls", "hook_ns"):
                self.assertEqual(process["ledger"][key], ledger[key], key)
            self.assertEqual(process["ledger"]["dropped"]["channel_full"], ledger["dropped0"])
        vadd = next(t for t in doc["operation_totals"] if t["name"] == "vadd")
        self.assertEqual((vadd["count"], vadd["total_ns"], vadd["mean_ns"], vadd["stddev_ns"], vadd["kind"]),
                         (10, 20000, 2000, 0, "kernel"))
        marker = next(t for t in doc["operation_totals"] if t["name"] == "marker")
        self.assertEqual((marker["count"], marker["timed"], marker["total_ns"], marker["min_ns"]), (1, 0, None, None))

    def test_ranges(self):
        path, p = scenes.annotated(self.folder)
        expected = [dict(r, process=0) for r in p.ranges]
        next(r for r in expected if r["payload"] == float("inf"))["payload"] = None
        key = lambda r: (r["lane"], r["begin_ns"])
        self.assertEqual(sorted(self.document(path)["ranges"], key=key), sorted(expected, key=key))

    def test_waits_samples_and_switches(self):
        path = self.path("cpu.sonde")
        live.write_manifest(path, ["demo"])
        p = live.Process("alpha-4711-0", 4711)
        gpu = p.device("Test GPU 9000")
        thread, queue = p.thread(4711), p.lane(2, device=gpu, flags=4)
        apart = p.lane(2, device=gpu, flags=8)
        code = scenes.launch_stack(p, [p.frame(live.PYTHON, p.python("train", "/home/user/main.py", 10))])
        t = p.start_ns
        p.enqueue(thread, queue, "clEnqueueNDRangeKernel", code, "kernel", t + 1000, t + 2000, t + 3000, t + 4000, name="k")
        p.wait(thread, t + 5000, 0, awaited=1)
        p.wait(thread, t + 6000, 2, queue=apart)
        p.wait(thread, t + 7000, 0, device=gpu)
        p.wait(thread, t + 8000)
        p.wait(thread, t + 8100, 1, awaited=(1 << 62) + 3)
        p.wait(thread, t + 8200, (1 << 62) + 3)
        p.sample(thread, code, t + 1500, 400)
        p.sample(thread, code, t + 1900, 300, deferred=True)
        p.switch(thread, t + 2000, t + 2500)
        p.switch(thread, t + 3000, preempted=True)
        p.object(1, code, 64, t + 10, t + 9000, uses=(t + 1000, t + 3000, 3), device=gpu)
        p.object(5, code, 32, t + 20, uses=(0, 0, 0), parent=1, flags=live.PARTIAL)
        p.cpu.update(sample_rows=1, switch_rows=2, wait_rows=3, sleep_rows=4)
        p.write(path)
        doc = self.document(path)
        self.assertEqual([doc["processes"][0]["ledger"][k + "_rows_dropped"] for k in ("sample", "switch", "wait", "sleep")],
                         [1, 2, 3, 4])
        row = {"process": 0, "lane": thread}
        none = {"waiter": None, "operation": None, "user_event": None, "completes_user_event": None, "queue": None, "device": None}
        self.assertEqual(doc["waits"], [
            {**row, "enter_ns": t + 5000, **none, "operation": 1},
            {**row, "enter_ns": t + 6000, **none, "waiter": 2, "queue": apart},
            {**row, "enter_ns": t + 7000, **none, "device": gpu},
            {**row, "enter_ns": t + 8000, **none},
            {**row, "enter_ns": t + 8100, **none, "waiter": 1, "user_event": 3},
            {**row, "enter_ns": t + 8200, **none, "completes_user_event": 3}])
        names = {c["id"]: c["name"] for c in doc["contexts"]}
        self.assertEqual([(s["time_ns"], s["cpu_ns"], names[s["context"]], s["deferred"]) for s in doc["samples"]],
                         [(t + 1500, 400, "train", False), (t + 1900, 300, "train", True)])
        self.assertEqual(doc["switches"], [
            {**row, "out_ns": t + 2000, "in_ns": t + 2500, "preempted": False},
            {**row, "out_ns": t + 3000, "in_ns": None, "preempted": True}])
        keys = ("first_use_ns", "last_use_ns", "uses", "uses_partial", "device", "parent")
        self.assertEqual([[o[k] for k in keys] for o in doc["processes"][0]["objects"]],
                         [[t + 1000, t + 3000, 3, False, gpu, None], [None, None, 0, True, None, 1]])
        self.assertEqual([(lane["legacy_default"], lane["non_blocking"]) for lane in doc["processes"][0]["lanes"]],
                         [(False, False), (True, False), (False, True)])

    def test_attributes_links_and_the_rare_lines(self):
        path, p = scenes.annotated(self.folder)
        doc = self.document(path)
        process = doc["processes"][0]
        works = {w["id"]: w for w in process["works"]}
        kernel = next(o for o in doc["operations"] if o["kind"] == "kernel" and o["work"])
        self.assertEqual({k: v for k, v in works[kernel["work"]].items() if k != "id"}, {
            "global": [256, 1, 1], "local": [64, 1, 1], "registers": 40, "static_shared_bytes": 1024,
            "dynamic_shared_bytes": 2048, "local_bytes": 16, "cluster": [2, 1, 1], "occupancy": 0.625,
            "occupancy_limiter": "shared memory"})
        copy = next(o for o in doc["operations"] if o["kind"] == "peer_copy")
        self.assertEqual([works[copy["work"]][k] for k in ("source", "target", "source_device", "target_device")],
                         ["device", "device", 1, 2])
        for key in ("busy_clipped_ns", "calls_dropped", "call_rows_dropped", "busy_left_out", "range_rows_dropped"):
            self.assertEqual(process["ledger"][key], p.ledger[key], key)
        links = [c for c in doc["contexts"] if c["kind"] == "link"]
        self.assertEqual(sorted((c["name"] or "", c["line"]) for c in links if c["prepared_in"]), [("forward", 5)])
        to = doc["contexts"][next(c["prepared_in"] for c in links if c["prepared_in"])]
        self.assertEqual((to["kind"], to["name"], to["file"]), ("python", "forward", "/home/user/model.py"))
        self.assertEqual(len(links), 2)
        self.assertEqual({(c["name"], c["module"]) for c in doc["contexts"] if c["kind"] == "range"},
                         {("epoch", "training"), ("step", None)})

    def test_a_clock_that_was_never_compared(self):
        path = self.path("clock.sonde")
        live.write_manifest(path, ["demo"])
        p = scenes.one_process()
        p.clock_bound_ns = 0
        p.write(path)
        self.assertIsNone(self.document(path)["processes"][0]["clock_bound_ns"])
        self.assertEqual(self.document(scenes.demo(self.folder)[0])["processes"][0]["clock_bound_ns"], 50)

    def test_contexts_lead_to_the_root(self):
        path, _ = scenes.demo(self.folder)
        doc = self.document(path)
        contexts = {c["id"]: c for c in doc["contexts"]}
        row = next(o for o in doc["operations"] if o["name"] == "vadd")
        frames, at = [], row["context"]
        while at:
            frames.append((contexts[at]["kind"], contexts[at]["name"], contexts[at]["line"]))
            at = contexts[at]["parent"]
        self.assertEqual(frames, [("operation", "vadd", None), ("api", "clEnqueueNDRangeKernel", None),
                                  ("python", "Solver.step", 20), ("python", "<module>", 10), ("native", None, None)])

    def test_one_operation_per_line(self):
        path, processes = scenes.demo(self.folder)
        text = self.ok("export", path, "--to", "json", "-o", "-").out
        body = text.split('"operations":[\n')[1].split("\n]")[0]
        lines = [json.loads(line.rstrip(",")) for line in body.split("\n")]
        self.assertEqual(len(lines), sum(len(p.truth) for p in processes))

    def test_profile_without_trace(self):
        path, p = scenes.profile_only(self.folder)
        doc = self.document(path)
        self.assertEqual(doc["operations"], [])
        self.assertFalse(doc["processes"][0]["trace"])
        self.assertEqual(sum(t["count"] for t in doc["operation_totals"]), len(p.truth))

    def test_schema(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("the Python package jsonschema is missing")
        with open(os.path.join(cli.HERE, "../../docs/schema/export.json")) as file:
            schema = json.load(file)
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        for path in (scenes.demo(self.folder)[0], scenes.profile_only(self.folder)[0],
                     scenes.annotated(self.folder)[0]):
            errors = ["%s: %s" % (list(e.absolute_path), e.message) for e in validator.iter_errors(self.document(path))]
            self.assertEqual(errors, [])
        with open(os.path.join(cli.HERE, "../../include/sonde/kinds.h"), encoding="utf-8") as file:
            table = file.read().split("#define SONDE_OP_KIND_MAP", 1)[1].split("enum sonde_op_kind", 1)[0]
        kinds = re.findall(r'X\(\w+, +"(\w+)"', table)
        self.assertEqual(schema["$defs"]["operation_kind"]["enum"], kinds + ["unknown"])


class Command(cli.Case):
    def test_default_name_stands_next_to_the_measurement(self):
        scenes.demo(self.folder)
        done = self.ok("export", "demo.sonde", "--to", "csv")
        self.assertEqual(sorted(os.listdir(self.folder)), ["demo.csv", "demo.sonde"])
        self.expect("export-done", done.err, normalize=True)
        self.ok("export", self.path("demo.sonde") + "/", "--to", "json", "-q", cwd="/")
        self.ok("export", ".", "--to", "perfetto", "-q", cwd=self.path("demo.sonde"))
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["demo.csv", "demo.json", "demo.perfetto-trace", "demo.sonde"])

    def test_an_existing_file_needs_force(self):
        scenes.demo(self.folder)
        with open(self.path("demo.csv"), "w") as file:
            file.write("mine")
        self.expect("export-exists", self.fails("export", "demo.sonde", "--to", "csv").err)
        with open(self.path("demo.csv")) as file:
            self.assertEqual(file.read(), "mine")
        self.ok("export", "demo.sonde", "--to", "csv", "--force")
        with open(self.path("demo.csv")) as file:
            self.assertTrue(file.readline().startswith("process,pid,"))

    def test_output_that_cannot_be(self):
        scenes.demo(self.folder)
        self.expect("export-no-folder", self.fails("export", "demo.sonde", "--to", "csv", "-o", "none/a.csv").err)
        self.expect("export-full", self.fails("export", "demo.sonde", "--to", "csv", "-o", "/dev/full").err)
        with open("/dev/full", "w") as full:
            self.fails("export", "demo.sonde", "--to", "perfetto", "-o", "-", stdout=full)
        self.assertEqual(os.listdir(self.folder), ["demo.sonde"])

    def test_the_page_says_what_each_format_loses(self):
        with open(os.path.join(cli.HERE, "../../docs/export.md"), encoding="utf-8") as file:
            sections = dict(part.split("\n", 1) for part in file.read().split("\n## ")[1:])
        sections.pop("Sizes and rates")
        profiles = sections.pop("Profiles: speedscope, pprof, folded")
        self.assertEqual(len(re.findall(r"\bLost: ", profiles)), 3)
        self.assertEqual({name.lower() for name in sections}, {"perfetto", "json", "csv", "sqlite", "parquet", "chrome", "otf2", "tau"})
        for name, text in sections.items():
            self.assertRegex(text, "what is lost|What is lost: ", name)

    def test_a_killed_export_leaves_nothing(self):
        import signal
        import subprocess
        import time
        path, _ = scenes.long_run(self.folder, 300000)
        for delay in (0.0, 0.05, 0.1, 0.2, 0.3):
            child = subprocess.Popen([cli.SONDE, "export", path, "--to", "json", "-o", self.path("out.json")],
                                     stderr=subprocess.DEVNULL)
            time.sleep(delay)
            child.send_signal(signal.SIGKILL)
            child.wait()
            if os.path.exists(self.path("out.json")):  # the signal came too late: then it is all there
                with open(self.path("out.json"), encoding="utf-8") as file:
                    json.load(file)
                os.unlink(self.path("out.json"))
            self.assertEqual([n for n in os.listdir(self.folder) if not n.endswith((".sonde", ".part"))], [])

    def test_usage(self):
        scenes.demo(self.folder)
        self.expect("export-usage", self.fails("export", "demo.sonde", status=2).err +
                    self.fails("export", "demo.sonde", "--to", "nothing", status=2).err)
        self.expect("export-help", self.ok("export", "--help").out)

    def test_no_trace_no_operations(self):
        scenes.profile_only(self.folder)
        live.write_manifest(self.path("empty.sonde"), ["true"])
        self.expect("export-no-trace", "".join(
            self.fails("export", name, "--to", to).err
            for name in ("profile.sonde", "empty.sonde") for to in ("perfetto", "csv")))
        self.ok("export", "empty.sonde", "--to", "json", "-q")

    def test_the_measurement_is_not_changed(self):
        path, _ = scenes.demo(self.folder)

        def state():
            return [(root, name, os.stat(os.path.join(root, name)).st_mtime_ns)
                    for root, _, names in os.walk(path) for name in sorted(names)]
        before = state()
        for to in ("perfetto", "json", "csv"):
            self.ok("export", path, "--to", to)
        self.assertEqual(state(), before)


if __name__ == "__main__":
    cli.main()
