"""dependencies_test.py - the request `dependencies`: what it says of written measurements, and of a program recorded now against the
waits that `sonde export --to json` has, by docs/waits.md."""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import asking  # noqa: E402
import cli  # noqa: E402
import live  # noqa: E402
import path_test  # noqa: E402
import scenes  # noqa: E402

ASK = os.path.join(cli.BUILD, "tests", "sonde-ask")
SYNTH = os.path.join(cli.BUILD, "tests", "sonde-synth")
PROGRAM = os.path.join(cli.BUILD, "tests", "opencl", "opencl-waits")


class Exported:
    """Who waited for whom in an export of one process, whose clocks agree: {(waiter, awaited): reasons}. An operation is
    ("operation", correlation), a call ("call", lane, entry)."""

    def __init__(self, document):
        process, = document["processes"]
        self.lanes = {lane["id"]: lane for lane in process["lanes"]}
        self.calls = {("call", call["lane"], call["enter_ns"]): call for call in document["calls"]}
        self.ops = {("operation", op["correlation"]): op for op in document["operations"] if op["start_ns"] is not None and not op["bad_time"]}
        self.by_lane = {}
        for name, op in self.ops.items():
            self.by_lane.setdefault(op["lane"], []).append(name)
        for names in self.by_lane.values():
            names.sort(key=self.began)
        self.rows_of, self.sets, self.edges = {}, {}, {}
        for wait in document["waits"]:
            call = ("call", wait["lane"], wait["enter_ns"])
            if wait["completes_user_event"]:
                self.sets.setdefault(wait["completes_user_event"], call)
            else:
                self.rows_of.setdefault(("operation", wait["waiter"]) if wait["waiter"] else call, []).append(wait)
        for name in self.ops:
            self.of_operation(name)
        for name in self.calls:
            self.of_call(name)

    def began(self, name):
        op = self.ops[name]
        return op["start_ns"], op["end_ns"], op["enter_ns"]

    def add(self, waiter, awaited, reason):
        self.edges.setdefault((waiter, awaited), set()).add(reason)

    def stands_for_all(self, name):
        """A barrier without a list: it waits for all before it, and all after wait for it."""
        op = self.ops[name]
        return op["kind"] == "barrier" and self.lanes[op["lane"]]["out_of_order"] and not self.listed(name)

    def listed(self, name):
        return any(row["operation"] and ("operation", row["operation"]) in self.ops for row in self.rows_of.get(name, []))

    def told(self, lane, until, at):
        """Of all that a queue had before `until`: its last operation, of an out-of-order one all that no barrier stands for."""
        there = [name for name in self.by_lane.get(lane, []) if self.ops[name]["enter_ns"] < until and self.ops[name]["end_ns"] <= at]
        there.sort(key=lambda name: (self.ops[name]["end_ns"], self.began(name)), reverse=True)
        if not self.lanes[lane]["out_of_order"]:
            return there[:1]
        first = next((i for i, name in enumerate(there) if self.stands_for_all(name)), len(there))
        return there[:first + 1]

    def covered(self, row):
        if row["queue"]:
            return [row["queue"]]
        return [lane for lane, one in self.lanes.items() if one["kind"] == "queue" and row["device"] in (None, one["device"])]

    def of_operation(self, name):
        op, lane = self.ops[name], self.lanes[self.ops[name]["lane"]]
        start, mates = op["start_ns"], self.by_lane[op["lane"]]
        for call, row in self.calls.items():
            if row["enter_ns"] == op["enter_ns"] and row["correlation"] == op["correlation"]:
                self.add(name, call, "submission")
        if lane["out_of_order"]:
            barriers = [other for other in mates if self.ops[other]["kind"] == "barrier" and self.ops[other]["enter_ns"] < op["enter_ns"]]
            last = max(barriers, key=lambda other: self.ops[other]["enter_ns"], default=None)
            if last and self.ops[last]["end_ns"] <= start:
                self.add(name, last, "barrier")
            if op["kind"] in ("marker", "barrier") and not self.listed(name):
                for other in self.told(op["lane"], op["enter_ns"], start):
                    self.add(name, other, "barrier")
        else:
            earlier = [other for other in mates[:mates.index(name)] if self.ops[other]["end_ns"] <= start]
            if earlier:
                self.add(name, max(earlier, key=lambda other: (self.ops[other]["end_ns"], self.began(other))), "queue")
        for row in self.rows_of.get(name, []):
            awaited = ("operation", row["operation"])
            if row["user_event"]:
                call = self.sets.get(row["user_event"])
                if call and call[2] <= start:
                    self.add(name, call, "user_event")
            elif awaited in self.ops and awaited != name and self.ops[awaited]["end_ns"] <= start and self.began(awaited) < self.began(name):
                self.add(name, awaited, "wait_list")

    def of_call(self, name):
        call = self.calls[name]
        for row in self.rows_of.get(name, []):
            awaited = ("operation", row["operation"])
            if row["user_event"]:
                done = self.sets.get(row["user_event"])
                if done and done[1] != call["lane"] and done[2] <= call["leave_ns"]:
                    self.add(name, done, "user_event")
            elif row["operation"]:
                if awaited in self.ops and self.ops[awaited]["end_ns"] <= call["leave_ns"]:
                    self.add(name, awaited, "call_wait")
            else:
                for lane in self.covered(row):
                    for other in self.told(lane, call["enter_ns"] + 1, call["leave_ns"]):
                        self.add(name, other, "call_queue" if row["queue"] else "call_device")


class Dependencies(cli.Case):
    def ask(self, path, *requests):
        return asking.ask(ASK, path, requests)

    def one(self, path, request):
        answer, = self.ask(path, request)
        self.assertEqual(answer.status, 200, answer.bytes)
        return answer.json()

    # ---- a program that is recorded now ------------------------------------------------------------------------------

    def recorded(self):
        if cli.SANITIZED:
            self.skipTest("a sanitized agent cannot be loaded into an ordinary program")
        if not os.path.exists(PROGRAM):
            self.skipTest("opencl-waits is not built here")
        if subprocess.run([PROGRAM], stdout=subprocess.DEVNULL, timeout=600, check=False).returncode:
            self.skipTest("no OpenCL device here that runs (pocl-opencl-icd)")
        path = self.path("recorded.sonde")
        self.ok("record", "-q", "-o", path, "--", PROGRAM)
        return path

    def name_of(self, answer):
        return ("operation", answer["correlation"]) if answer["kind"] == "operation" else ("call", answer["lane"], answer["begin_ns"])

    def test_a_recorded_program(self):
        path = self.recorded()
        process, = self.one(path, "run")["processes"]
        if process["clock_bound_ns"]:
            self.skipTest("the clocks of the host and of the device differ: times are moved")
        export = Exported(json.loads(self.ok("export", path, "--to", "json", "-o", "-").out))
        names = [*export.ops, *export.calls]
        answers = self.ask(path, *(f"dependencies?limit=10000&correlation={name[1]}" if name[0] == "operation" else
                                   f"dependencies?limit=10000&lane={name[1]}&begin={name[2]}" for name in names))
        before, after, inferred, reasons = {}, {}, set(), set()
        for name, answer in zip(names, answers):
            self.assertEqual(answer.status, 200, answer.bytes)
            told = answer.json()
            self.assertEqual((self.name_of(told), told["unknown"], told["dropped"], told["before_left_out"], told["after_left_out"]), (name, None, False, 0, 0))
            for one in told["before"]:
                before[name, self.name_of(one)] = set(one["reasons"])
                if one["inferred"]:
                    inferred.add((name, self.name_of(one)))
            for one in told["after"]:
                after[self.name_of(one), name] = set(one["reasons"])
            self.decided(told)
        self.assertEqual(after, before)
        for waiter, awaited in inferred: # a call that waits by its name, and has no row
            self.assertEqual((waiter[0], waiter in export.rows_of), ("call", False))
            del before[waiter, awaited]
        self.assertEqual(before, export.edges)
        for words in before.values():
            reasons |= words
        self.assertGreater(self.agrees_with_the_critical_path(path), 10)
        self.assertEqual(reasons & {"submission", "queue", "barrier", "wait_list", "user_event", "call_wait", "call_queue"},
                         {"submission", "queue", "barrier", "wait_list", "user_event", "call_wait", "call_queue"})

    def decided(self, told):
        """One decided an operation's start: it comes first, has no slack, and ended as long before as is said."""
        first = told["before"][:1]
        self.assertEqual([one["decided"] for one in told["before"][1:]], [False] * len(told["before"][1:]))
        self.assertEqual(sorted(one["slack_ns"] for one in told["before"]), [one["slack_ns"] for one in told["before"]])
        if told["kind"] == "call":
            self.assertIsNone(told["delay_ns"])
            return
        self.assertEqual(told["delay_ns"] is not None, bool(first))
        for one in first:
            self.assertTrue(one["decided"])
            self.assertEqual(told["delay_ns"], max(told["begin_ns"] - one["end_ns"], 0))

    # ---- written ones --------------------------------------------------------------------------------------------------

    def test_names_and_what_is_left_out(self):
        """A kernel, for which ten others wait, in an out-of-order queue."""
        path = self.path("fan.sonde")
        live.write_manifest(path, ["fan"])
        p = live.Process("host-1-0", 1)
        thread, t = p.thread(1), p.start_ns
        queue, apart, code = p.queue(p.device("GPU")), [p.queue(1) for _ in range(10)], scenes.stack(p)
        p.enqueue(thread, queue, "clEnqueueNDRangeKernel", code, "kernel", t + 1000, t + 1100, t + 1300, t + 2000, name="<b>first")
        for i, lane in enumerate(apart):
            at = t + 1200 + 50 * i
            p.enqueue(thread, lane, "clEnqueueNDRangeKernel", code, "kernel", at, at + 20, t + 2100 + i, t + 3000 + i, name="other")
            p.wait(thread, at, waiter=2 + i, awaited=1)
        p.write(path)
        told = self.one(path, f"dependencies?lane={queue}&number=0&limit=3")
        self.assertEqual((told["name"], told["kind"], told["begin_ns"], told["end_ns"]), ("<b>first", "operation", t + 1300, t + 2000))
        self.assertEqual([(one["name"], one["kind"], one["lane"]) for one in told["before"]], [("clEnqueueNDRangeKernel", "call", thread)])
        self.assertEqual([(one["name"], one["lane"], one["begin_ns"], one["reasons"]) for one in told["after"]],
                         [("other", lane, t + 2100 + i, ["wait_list"]) for i, lane in enumerate(apart[:3])])
        self.assertEqual((told["before_left_out"], told["after_left_out"]), (0, 7))
        same = self.one(path, f"dependencies?lane={queue}&begin={t + 1300}")
        self.assertEqual((len(same["after"]), same["after_left_out"]), (10, 0))
        self.assertEqual(self.one(path, "dependencies?correlation=1"), same)
        call = self.one(path, f"dependencies?lane={thread}&begin={t + 1050}")
        self.assertEqual((call["kind"], call["name"], call["begin_ns"], call["end_ns"], call["before"]), ("call", "clEnqueueNDRangeKernel", t + 1000, t + 1100, []))
        self.assertEqual([(one["name"], one["decided"], one["slack_ns"]) for one in call["after"]], [("<b>first", True, 0)])

    def agrees_with_the_critical_path(self, path):
        """Before an operation on the path lies its delay, and before that what is said to have decided its start. Returns how many there were."""
        origin = self.one(path, "run")["processes"][0]["origin_ns"]
        header, steps = path_test.columns(self.ask(path, "path")[0].bytes)
        category = [header["categories"][step["category"]] for step in steps]
        wanted = [i for i in range(2, len(steps)) if category[i] in ("kernel", "copy", "set")]
        answers = self.ask(path, *(f"dependencies?lane={steps[i]['lane']}&begin={steps[i]['begin_ns'] + origin}" for i in wanted))
        compared = 0
        for i, answer in zip(wanted, answers):
            if answer.status == 404: # the step is a piece: another operation led away from it
                continue
            told, delay, before = answer.json(), 0, i - 1
            if category[before] in ("launch", "gap"):
                delay = steps[before]["end_ns"] - steps[before]["begin_ns"]
                self.assertEqual(category[before], "launch" if told["before"][0]["kind"] == "call" else "gap")
                before -= 1
            self.assertEqual(told["delay_ns"], delay)
            self.assertTrue(told["before"][0]["decided"])
            self.assertEqual(told["before"][0]["lane"], steps[before]["lane"])
            compared += 1
        return compared

    def test_agrees_with_the_critical_path(self):
        path = self.path("synth.sonde")
        subprocess.run([SYNTH, "--operations", "1000", "--lanes", "1", "--threads", "2", "--waits", "5", path], check=True, stdout=subprocess.DEVNULL)
        self.assertGreater(self.agrees_with_the_critical_path(path), 500)

    def test_what_is_not_there(self):
        path = scenes.demo(self.folder)[0]
        thread = next(lane["lane"] for lane in self.one(path, "run")["processes"][0]["lanes"] if lane["kind"] == "thread")
        for request, status, option in (("dependencies", 400, None), ("dependencies?process=9&lane=1&begin=1", 404, "process"), ("dependencies?begin=1", 400, "lane"),
                                        ("dependencies?lane=1000&begin=1", 404, "lane"), (f"dependencies?lane={thread}&number=1", 400, "begin"),
                                        (f"dependencies?lane={thread}&begin=1", 404, None), ("dependencies?correlation=99999999", 404, None),
                                        ("dependencies?correlation=1&limit=0", 400, "limit"), ("dependencies?correlation=1&more", 400, None)):
            answer, = self.ask(path, request)
            self.assertEqual((answer.status, answer.json()["error"]["option"]), (status, option), (request, answer.bytes))

    def test_threads_that_ask_at_once(self):
        path = self.path("many.sonde")
        subprocess.run([SYNTH, "--operations", "2000", "--lanes", "4", "--processes", "2", path], check=True, stdout=subprocess.DEVNULL)
        lanes = [(p["process"], lane["lane"]) for p in self.one(path, "run")["processes"] for lane in p["lanes"] if "operations" in lane["traces"]]
        asked = [f"dependencies?process={process}&lane={lane}&number={number}" for number in range(5) for process, lane in lanes]
        alone = self.ask(path, *asked)
        for a, b in zip(alone * 2, asking.ask(ASK, path, asked * 2, threads=8)):
            self.assertEqual((a.status, a.bytes), (b.status, b.bytes))


if __name__ == "__main__":
    cli.main()
