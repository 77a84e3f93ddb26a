"""perfetto_test.py - `sonde export --to perfetto`, read with Google's definitions and compared with the truth."""
import collections
import csv
import io
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "serve"))
import cli
import dependencies_test
import live
import scenes

try:
    import perfetto_check
except ImportError as missing:
    perfetto_check = None
    WHY = "the Python package perfetto is missing (%s)" % missing

OPERATIONS = ("kernel", "copy", "set", "order")


class Perfetto(cli.Case):
    def setUp(self):
        super().setUp()
        if not perfetto_check:
            self.skipTest(WHY)

    def trace(self, path):
        self.ok("export", path, "--to", "perfetto", "-o", self.path("t"), "--force", "-q")
        return perfetto_check.load(self.path("t"))

    def demo(self):
        path, processes = scenes.demo(self.folder)
        return self.trace(path), processes

    def test_every_operation_with_its_times(self):
        trace, processes = self.demo()
        self.assertEqual(len(trace.of(*OPERATIONS)), sum(p.ledger["done"] for p in processes))
        truth = collections.Counter()
        first = processes[1]  # sorted by start: beta starts earlier on its own clock
        for p in processes:
            shift = p.wall_offset_ns - first.wall_offset_ns
            for op in p.truth:
                timed = op["start_ns"] is not None and op["end_ns"] >= op["start_ns"]
                name = op["name"] if isinstance(op["name"], str) else op["name"].decode("utf-8", "replace")
                start = op["start_ns"] if timed else op["enter_ns"]
                truth[name, start + shift, (op["end_ns"] if timed else start) + shift, not timed] += 1
        self.assertEqual(collections.Counter((s.name, s.start, s.end, s.instant) for s in trace.of(*OPERATIONS)),
                         truth)

    def test_every_api_call(self):
        trace, processes = self.demo()
        self.assertEqual(collections.Counter(s.name for s in trace.of("api")),
                         collections.Counter(c["name"] for p in processes for c in p.calls))
        self.assertEqual({trace.tracks[s.track].thread.tid for s in trace.of("api")}, {4711, 4712})

    def test_flows_lead_from_the_call_to_its_operation(self):
        trace, processes = self.demo()
        flows = trace.submissions()
        self.assertEqual(len(flows), sum(len(p.truth) for p in processes))
        self.assertEqual({(len(begin), len(end)) for begin, end in trace.flows().values()}, {(1, 1)})
        for begin, end in flows.values():
            self.assertIn(end[0].category, OPERATIONS)
            self.assertEqual(trace.process(begin[0].track).pid, trace.process(end[0].track).pid)

    def waits(self, trace):
        """{what waited: what decided}, by name and start; a call by its entry."""
        submissions, found = trace.submissions(), {}
        for flow, (begin, end) in trace.flows().items():
            self.assertEqual((len(begin), len(end)), (1, 1))
            if flow in submissions or "message" in (begin[0].category, end[0].category):
                continue
            waiter, awaited = ((s.name, s.start) for s in (end[0], begin[0]))
            self.assertNotIn(waiter, found)
            found[waiter] = awaited
        return found

    def test_flows_of_waits(self):
        """Who waited for what, in a measurement whose answers are plain."""
        p = live.Process("alpha-7-0", 7)
        thread, device, t, code = p.thread(7), p.device("GPU"), p.start_ns, scenes.stack(p)
        first, second = p.queue(device), p.queue(device)

        def launch(queue, name, enter, start, end):
            p.enqueue(thread, queue, "clEnqueueNDRangeKernel", code, "kernel", t + enter, t + enter + 100, t + start, t + end, name=name)

        launch(first, "a", 10000, 11000, 20000)
        launch(first, "b", 10200, 20500, 30000)   # order of the queue
        launch(second, "c", 10400, 31000, 35000)  # a wait list: a and b, which ended later
        p.wait(thread, t + 10400, waiter=3, awaited=1)
        p.wait(thread, t + 10400, waiter=3, awaited=2)
        p.call(thread, "clFinish", code, t + 11000, t + 30500)  # of the first queue: c is none of its
        p.wait(thread, t + 11000, queue=first)
        p.call(thread, "clWaitForEvents", code, t + 31000, t + 31500)  # b had ended: nothing was waited for
        p.wait(thread, t + 31000, awaited=2)
        p.call(thread, "clFinish", code, t + 32000, t + 36000)
        p.wait(thread, t + 32000, queue=second)
        launch(first, "d", 40000, 41000, 42000)   # its queue had run dry
        p.enqueue(thread, first, "clEnqueueReadBuffer", code, "read", t + 40500, t + 45000, t + 42100, t + 44000, size=4)
        p.wait(thread, t + 40500, awaited=5)      # it blocks
        p.write(self.path("w.sonde"))
        found = self.waits(self.trace(self.path("w.sonde")))
        self.assertEqual({(waiter, at - t): (awaited, start - t) for (waiter, at), (awaited, start) in found.items()}, {
            ("b", 20500): ("a", 11000), ("c", 31000): ("b", 20500), ("clFinish", 11000): ("b", 20500), ("clFinish", 32000): ("c", 31000),
            ("read", 42100): ("d", 41000), ("clEnqueueReadBuffer", 40500): ("read", 42100)})

    def test_flows_of_waits_of_a_recorded_program(self):
        """Each call that waited has one arrow, from what ended last of all that the JSON export says it waited for; so has each operation
        that something held up but its own submission."""
        program = dependencies_test.PROGRAM
        if cli.SANITIZED or not os.path.exists(program) or subprocess.run([program], stdout=subprocess.DEVNULL, timeout=600, check=False).returncode:
            self.skipTest("no program here that waits, or no OpenCL device that runs it (pocl-opencl-icd)")
        path = self.path("waits.sonde")
        self.ok("record", "-q", "-o", path, "--", program)
        document = json.loads(self.ok("export", path, "--to", "json", "-o", "-").out)
        export, trace, found = dependencies_test.Exported(document), self.trace(path), {}
        if document["processes"][0]["clock_bound_ns"]:
            self.skipTest("the clocks of the host and of the device differ: times are moved")
        calls = {(c["name"], c["enter_ns"]): ("call", c["lane"], c["enter_ns"]) for c in export.calls.values()}
        self.assertEqual(len(calls), len(export.calls))
        submissions = trace.submissions()
        for flow, (begin, end) in trace.flows().items():
            if flow not in submissions:
                names = [("operation", s.args["correlation"]) if s.category in OPERATIONS else calls[s.name, s.start] for s in (end[0], begin[0])]
                self.assertNotIn(names[0], found)
                found[names[0]] = names[1]
        seen = collections.Counter()
        for waiter in (*export.calls, *export.ops):
            is_call = waiter[0] == "call"
            if is_call and waiter not in export.rows_of:
                self.assertEqual(found[waiter][0] if waiter in found else "operation", "operation") # inferred from its name
                continue
            wanted = self.ended_last(export, waiter)
            self.assertIn(found.get(waiter), wanted or [None], waiter)
            seen[waiter[0], bool(wanted)] += 1
        self.assertEqual(sorted(seen), [(kind, waited) for kind in ("call", "operation") for waited in (False, True)])

    def ended_last(self, export, waiter):
        """Of what the waiter is known to have waited for: what ended last, of several at one time all; [] if that held nothing up."""
        ended = {}
        for (other, awaited), reasons in export.edges.items():
            if other == waiter and reasons != {"submission"}:
                ended[awaited] = export.ops[awaited]["end_ns"] if awaited[0] == "operation" else export.calls[awaited]["leave_ns"]
        if waiter[0] == "call":
            begun = export.calls[waiter]["enter_ns"] + 1
            ended = {name: min(at, export.calls[waiter]["leave_ns"]) for name, at in ended.items()}
        else:
            op = export.ops[waiter]
            call = next(c for c in export.calls.values() if (c["enter_ns"], c["correlation"]) == (op["enter_ns"], op["correlation"]))
            waits = ("call", call["lane"], call["enter_ns"]) in export.rows_of
            begun = call["leave_ns"] if call["leave_ns"] <= op["start_ns"] else call["enter_ns"] if waits else op["start_ns"]
            ended = {name: min(at, op["start_ns"]) for name, at in ended.items()}
        last = max(ended.values(), default=0)
        return [name for name, at in ended.items() if at == last] if last >= begun else []

    def test_tracks(self):
        trace, _ = self.demo()
        names = collections.Counter(trace.name(uuid) for uuid in trace.tracks)
        self.assertEqual(names["Queue 1 · Test GPU 9000"], 1)
        # Four kernels at once: the queue's own track and three more, one in the viewer.
        self.assertEqual(names["Queue 2 · Test GPU 9000"], 4)
        queue = [t for t in trace.tracks.values() if t.name == "Queue 2 · Test GPU 9000"]
        self.assertEqual({t.sibling_merge_key_int for t in queue}, {queue[0].uuid})
        self.assertEqual({trace.tracks[t.parent_uuid].name for t in queue}, {"Device 0 · Test GPU 9000"})
        processes = [t.process for t in trace.tracks.values() if t.HasField("process")]
        self.assertEqual(len({p.pid for p in processes}), 2)
        self.assertEqual({p.process_name for p in processes}, {"demo (alpha-4711-0)", "demo (beta-4711-0)"})

    def test_arguments(self):
        trace, _ = self.demo()
        write = next(s for s in trace.slices if s.name == "write")
        self.assertEqual({k: write.args[k] for k in ("bytes", "object", "object_bytes", "call_to_queued_ns",
                                                     "queued_to_submit_ns", "submit_to_start_ns", "called_from")},
                         {"bytes": 4096, "object": 1, "object_bytes": 4096, "call_to_queued_ns": 100,
                          "queued_to_submit_ns": 200, "submit_to_start_ns": 2700,
                          "called_from": "Solver.step() main.py:20 ← <module> main.py:10"})
        self.assertEqual(write.args["stack"],
                         "Solver.step() main.py:20\n<module> main.py:10\ndemo+0x1234")
        sizes = {(s.args["global_size"], s.args.get("local_size")) for s in trace.slices if s.name == "vadd"}
        self.assertEqual(sizes, {("1024 × 16", None), ("1024 × 16", "64 × 1")})
        status = {s.name: s.args["status"] for s in trace.of(*OPERATIONS) if "status" in s.args}
        self.assertEqual(status, {"caf\ufffd": "failed", "marker": "no device times", "read": "invalid times"})

    def test_clocks(self):
        trace, processes = self.demo()
        monotonic_raw, realtime = 5, 1
        self.assertEqual(trace.primary, monotonic_raw)
        self.assertEqual(trace.clocks[realtime] - trace.clocks[monotonic_raw], processes[1].wall_offset_ns)

    def test_ledger(self):
        trace, processes = self.demo()
        ledgers = {trace.process(s.track).process_name: s for s in trace.of("sonde")}
        alpha = ledgers["demo (alpha-4711-0)"]
        self.assertEqual(alpha.name, "ledger: %d seen, 2 dropped, 0 unmatched" % processes[0].ledger["seen"])
        self.assertEqual((alpha.args["done"], alpha.args["hook_ns"], alpha.args["dropped"], alpha.args["note"]),
                         (processes[0].ledger["done"], 12345, "2 channel_full", "one thing to know"))

    def test_ranges_lie_around_the_calls_of_their_thread(self):
        path, p = scenes.annotated(self.folder)
        trace = self.trace(path)
        t = p.start_ns + scenes.MS
        self.assertEqual(sorted((s.name, s.start - t, s.end - t) for s in trace.of("range") if not s.instant),
                         [("epoch", 0, 41000), ("left", 500, 42000), ("open", 30000, p.stop_ns + 1000 - t),
                          ("range", 10000, 20000), ("request", 2000, 30000), ("request", 3000, 31000),
                          ("request", 40000, p.stop_ns + 1000 - t), ("same", 60000, 61000)] +
                         [("step", 1000 + 10000 * i, 10000 + 10000 * i) for i in range(4)])
        self.assertEqual([(s.name, s.start - t, s.args["status"]) for s in trace.of("range") if s.instant],
                         [("reversed", 9000, "invalid times")])
        self.assertEqual([(s.name, s.start - t, s.instant) for s in trace.of("mark")], [("here", 50000, True)])
        main = next(u for u, track in trace.tracks.items() if track.thread.tid == 4711)
        on_main = {s.name for s in trace.slices if s.track == main}
        self.assertEqual(on_main, {"epoch", "step", "same", "here", "cuLaunchKernel", "cuMemcpyPeer", "cuMemcpyHtoD"})
        self.assertEqual(sorted(trace.name(s.track) for s in trace.slices if s.name in ("left", "request")),
                         ["Thread 4711"] +
                         ["Thread 4711 · ranges across threads"] * 3)
        # Two are open at once, the third has a place in the first one's row.
        self.assertEqual(len({s.track for s in trace.slices if s.name == "request"}), 2)

    def test_how_ranges_and_calls_nest(self):
        """On the thread's own track: each call inside its step, each step inside the epoch."""
        path, _ = scenes.annotated(self.folder)
        trace = self.trace(path)
        main = next(u for u, track in trace.tracks.items() if track.thread.tid == 4711)
        self.assertEqual(collections.Counter(trace.around[s.track, s.start, s.name] for s in trace.of("api")),
                         {("epoch", "step"): 8, ("same",): 1, (): 1})
        self.assertTrue(all(s.track == main for s in trace.of("api")))

    def test_messages_between_ranks(self):
        """One slice for each call of MPI, within its range and around what it calls itself."""
        p = live.Process("alpha-7-0", 7)
        thread, queue, t = p.thread(7), p.queue(p.device("Device")), p.start_ns + scenes.MS
        code = p.node(0, p.frame(live.NATIVE, p.module("/opt/demo/bin/demo"), 0x1000))
        p.range(thread, "exchange", t, t + 9000)
        p.message(thread, 1, "MPI_Send", code, t + 1000, t + 4000, size=80, comm="2 ranks, a, 1", peer=3, tag=5)
        for peer in (1, 2):
            p.message(thread, 2, "MPI_Waitall", code, t + 5000, t + 8000, posted=t + 500, size=8 * peer, comm="2 ranks, a, 1", peer=peer)
        p.message(thread, 0, "MPI_Finalize", code, t + 20000, t + 21000)
        p.enqueue(thread, queue, "cuMemcpyHtoD", code, "write", t + 2000, t + 3000, t + 3100, t + 3200, size=80)
        p.write(self.path("ranks.sonde"))
        trace = self.trace(self.path("ranks.sonde"))
        self.assertEqual([(s.name, s.start - t, s.end - t, s.args) for s in trace.of("message")],
                         [("MPI_Send", 1000, 4000, {"communicator": "2 ranks, a, 1", "peer": 3, "bytes": 80}),
                          ("MPI_Waitall", 5000, 8000, {"communicator": "2 ranks, a, 1", "peer": 1, "bytes": 8}), ("MPI_Finalize", 20000, 21000, {})])
        self.assertEqual([trace.around[s.track, s.start, s.name] for s in trace.of("api", "message")], [("exchange", "MPI_Send"), ("exchange",), ("exchange",), ()])

    def test_arguments_of_ranges(self):
        path, _ = scenes.annotated(self.folder)
        trace = self.trace(path)
        args = {s.name: s.args for s in trace.of("range", "mark")}
        self.assertEqual(args["epoch"], {"domain": "training", "category": "phases", "payload": 0.1})
        self.assertEqual((args["here"], args["range"], args["same"]), ({"payload": -3}, {"payload": float("inf")}, {}))
        self.assertEqual({s.args["payload"] for s in trace.slices if s.name == "step"},
                         {2**64 - 1 - i for i in range(4)})
        self.assertEqual(args["open"], {"status": "not ended"})

    def test_attributes_of_launches_and_copies(self):
        path, _ = scenes.annotated(self.folder)
        trace = self.trace(path)
        names = ("registers", "static_shared_bytes", "dynamic_shared_bytes", "local_bytes", "cluster", "occupancy",
                 "occupancy_limiter", "source", "target", "source_device", "target_device")
        found = {(s.name, tuple((n, s.args[n]) for n in names if n in s.args)) for s in trace.of(*OPERATIONS)}
        self.assertEqual(found, {
            ("k", (("registers", 40), ("static_shared_bytes", 1024), ("dynamic_shared_bytes", 2048),
                   ("local_bytes", 16), ("cluster", "2 × 1 × 1"), ("occupancy", 0.625),
                   ("occupancy_limiter", "shared memory"))),
            ("k", ()),
            ("peer_copy", (("source", "device"), ("target", "device"), ("source_device", "Device 0 · Test GPU 9000"),
                           ("target_device", "Device 1 · Test GPU 9001"))),
            ("write", (("source", "pinned"), ("target", "device")))})
        self.assertEqual({s.name: s.args["stack"] for s in trace.of(*OPERATIONS)}, {
            "k": "[step]\n[training: epoch]\ntrain() main.py:10\ndemo+0x1234",
            "peer_copy": "prepared in forward() model.py:5\ntrain() main.py:10\ndemo+0x1234",
            "write": "prepared elsewhere\ntrain() main.py:10\ndemo+0x1234"})

    def test_rare_lines_of_the_ledger(self):
        path, p = scenes.annotated(self.folder)
        ledger, = self.trace(path).of("sonde")
        for key in ("busy_clipped_ns", "calls_dropped", "call_rows_dropped", "busy_left_out", "range_rows_dropped"):
            self.assertEqual(ledger.args[key], p.ledger[key], key)
        self.assertEqual(ledger.args["clock_bound_ns"], 50)
        p.clock_bound_ns = 0
        p.write(self.path("clock.sonde"))
        ledger, = self.trace(self.path("clock.sonde")).of("sonde")
        self.assertNotIn("clock_bound_ns", ledger.args)

    def test_operations_in_flight(self):
        """The counter of each device, against a count by hand at every instant at which it changes."""
        path, processes = scenes.demo(self.folder)
        trace = self.trace(path)
        found = {(trace.process(u).process_name, trace.name(trace.tracks[u].parent_uuid)): values
                 for u, values in trace.counters.items() if trace.name(u) == "operations in flight"}
        rows = list(csv.DictReader(io.StringIO(self.ok("export", path, "--to", "csv", "-o", "-").out, newline="")))
        kept = [r for r in rows if r["start_ns"] and int(r["end_ns"] or 0) >= int(r["start_ns"]) > 0 and r["enter_ns"]]
        self.assertEqual({name for name, _ in found}, {"demo (%s)" % r["process"] for r in kept})
        for (name, device), values in found.items():
            spans = [(int(r["enter_ns"]), int(r["end_ns"])) for r in kept if "demo (%s)" % r["process"] == name and
                     device.endswith(r["device"])]
            self.assertEqual(values[0][1], 0)
            self.assertEqual(values[-1][1], 0)
            self.assertEqual(len(values), 1 + len({at for span in spans for at in span}))
            shift = values[-1][0] - max(end for _, end in spans)  # another host's clock
            for at, value in values[1:]:
                self.assertEqual(value, sum(begin <= at - shift < end for begin, end in spans), (name, at))

    def test_device_memory(self):
        """The counter has the peaks of the view memory."""
        path, _ = scenes.demo(self.folder)
        trace = self.trace(path)
        spaces = json.loads(self.ok("report", path, "memory", "--json").out)["spaces"]
        peaks = sorted(max(v for _, v in values) for u, values in trace.counters.items() if trace.name(u).endswith("memory"))
        self.assertEqual(peaks, sorted(s["peak_bytes"] for s in spaces))
        self.assertTrue(peaks)

    def test_samples(self):
        p = live.Process("alpha-4711-0", 4711)
        thread, device = p.thread(4711), p.device("Test GPU")
        queue = p.queue(device)
        main = p.node(0, p.frame(live.PYTHON, p.python("main", "train.py", 3)))
        load = p.node(main, p.frame(live.PYTHON, p.python("load", "train.py", 9)))
        t = p.start_ns + 1000
        p.enqueue(thread, queue, "clEnqueueNDRangeKernel", main, "kernel", t, t + 10, t + 400, t + 500, name="k")
        for at, node, cpu in ((t + 200, load, 5000), (t + 300, main, 70), (t + 400, load, 4000)):
            p.sample(thread, node, at, cpu)
        p.write(self.path("s.sonde"))
        trace = self.trace(self.path("s.sonde"))
        samples = trace.of("sample")
        self.assertEqual([(s.start, s.instant, s.name, s.args["cpu_ns"]) for s in samples],
                         [(t + 200, True, "load() train.py:9", 5000), (t + 300, True, "main() train.py:3", 70),
                          (t + 400, True, "load() train.py:9", 4000)])
        self.assertEqual(samples[0].args["stack"], "load() train.py:9\nmain() train.py:3")
        self.assertEqual({trace.name(s.track) for s in samples}, {"Thread 4711 \u00b7 samples"})
        self.assertEqual(trace.process(samples[0].track).pid, 4711)

    def test_waits(self):
        """On the thread's own track, within the range and between the calls."""
        p = live.Process("alpha-4711-0", 4711)
        thread = p.thread(4711)
        main = p.node(0, p.frame(live.PYTHON, p.python("main", "train.py", 3)))
        nap = p.node(main, p.frame(live.PYTHON, p.python("nap", "train.py", 9)))
        step = p.node(main, p.frame(live.PYTHON, p.python("step", "train.py", 12)))
        t = p.start_ns + 1000
        p.range(thread, "epoch", t, t + 900)
        p.call(thread, "clFlush", step, t + 100, t + 200)
        p.sleep(thread, "nanosleep", nap, t + 250, t + 450, 1)
        p.sleep(thread, "sem_wait", nap, t + 460, t + 500, 3)
        p.call(thread, "clFinish", step, t + 500, t + 600)
        p.write(self.path("w.sonde"))
        trace = self.trace(self.path("w.sonde"))
        waits = sorted(trace.of("wait"), key=lambda s: s.start)
        self.assertEqual([(s.name, s.start - t, s.end - t, s.args["waits_for"]) for s in waits],
                         [("nanosleep in nap()", 250, 450, "sleep"), ("sem_wait in nap()", 460, 500, "queue")])
        self.assertEqual(waits[0].args["stack"], "nap() train.py:9\nmain() train.py:3")
        self.assertEqual({s.track for s in waits}, {s.track for s in trace.of("api")})
        self.assertEqual({trace.around[s.track, s.start, s.name] for s in waits}, {("epoch",)})

    def test_equals_csv(self):
        path, p = scenes.long_run(self.folder, 20000)
        trace = self.trace(path)
        self.assertLess(os.path.getsize(self.path("t")) / len(p.truth), 205) # docs/export.md
        rows = csv.DictReader(io.StringIO(self.ok("export", path, "--to", "csv", "-o", "-").out, newline=""))
        self.assertEqual(collections.Counter((r["name"], int(r["start_ns"]), int(r["end_ns"]), r["called_from"])
                                             for r in rows),
                         collections.Counter((s.name, s.start, s.end, s.args["called_from"])
                                             for s in trace.of("kernel")))
        self.assertEqual(len(trace.of("kernel")), len(p.truth))

    def test_a_broken_trace_is_seen(self):
        """The checker itself: every rule can fail."""
        path, _ = scenes.demo(self.folder)
        self.ok("export", path, "--to", "perfetto", "-o", self.path("t"), "-q")
        pb = perfetto_check.pb
        with open(self.path("t"), "rb") as file:
            data = file.read()

        def broken(change):
            trace = pb.Trace.FromString(data)
            change(trace.packet)
            with self.assertRaises(perfetto_check.Broken):
                perfetto_check.Trace(trace.SerializeToString())

        def first(packets, test):
            return next(i for i, p in enumerate(packets) if test(p))

        def kind(t):
            return lambda p: p.WhichOneof("data") == "track_event" and p.track_event.type == t
        begin, end = kind(pb.TrackEvent.TYPE_SLICE_BEGIN), kind(pb.TrackEvent.TYPE_SLICE_END)
        broken(lambda p: p.pop(first(p, end)))
        broken(lambda p: p.pop(first(p, begin)))
        broken(lambda p: setattr(p[first(p, end)], "timestamp", 1))
        broken(lambda p: p.pop(first(p, lambda q: q.HasField("interned_data"))))
        broken(lambda p: p.pop(first(p, lambda q: q.HasField("track_descriptor"))))


if __name__ == "__main__":
    cli.main()
