"""ranks_test.py - `sonde report DIR ranks` of jobs whose ranks are known (tests/cli/live.py), against what follows from them by itself."""
import random
import statistics

from views import Case  # first: it knows where the next are
import cli
import live

MS = 10**6
KERNELS = ("advance", "exchange", "reduce")


def size_of(rank, kernel):
    """Bytes that a rank's operations say they move."""
    return 100 * max(rank, 0) + len(kernel)


class Ranks(Case):
    def rank(self, number, size, times, host="alpha", pid=None, program="/opt/demo/bin/demo", start_ns=10**12, build_id=b"", job=None):
        """A process of the rank whose kernels take these times, in ms, one launch each: {kernel: times}."""
        pid = pid or 100 + number
        p = live.Process(f"{host}-{pid}-0", pid, executable=program, start_ns=start_ns)
        p.rank = (number + 1, number + 1, size)
        if job:
            p.job(job)
        thread, queue = p.thread(pid), p.queue(p.device("Device"))
        module, at = p.module(program, build_id), p.start_ns
        for i, (kernel, launches) in enumerate(times.items()):
            code = p.node(0, p.frame(live.NATIVE, module, 0x1000 * (1 + KERNELS.index(kernel))))
            for ms in launches:
                end = at + 1000 + int(ms * MS)
                p.enqueue(thread, queue, "clEnqueueNDRangeKernel", code, "kernel", at, at + 500, at + 1000, end, name=kernel, size=size_of(number, kernel))
                at = end + 10
        p.write(self.path("m.sonde"))
        return p

    def job(self, size, slow=None, more=30):
        """{kernel: [ms of each rank]}; `slow` has so much more of `reduce` than the others."""
        chance, truth = random.Random(size), {kernel: [] for kernel in KERNELS}
        for number in range(size):
            times = {"advance": [chance.uniform(9.9, 10.1) for _ in range(8)], "exchange": [2.0], "reduce": [5.0 + (more if number == slow else 0)]}
            for kernel, launches in times.items():
                truth[kernel].append(sum(int(ms * MS) for ms in launches))
            self.rank(number, size, times)
        return self.json(self.path("m.sonde"), "ranks"), truth

    def test_spread(self):
        said, truth = self.job(7)
        self.assertEqual((said["size"], said["hosts"], said["missing"], said["twice"]), (7, 1, [], []))
        self.assertEqual([row["rank"] for row in said["ranks"]], list(range(7)))
        busy = [sum(of[i] for of in truth.values()) for i in range(7)]
        self.assertEqual([row["busy_ns"] for row in said["ranks"]], busy)
        self.assertEqual([row["operations"] for row in said["ranks"]], [10] * 7)
        row = next(row for row in said["metrics"] if row["metric"] == "busy_ns")
        self.assertEqual((row["least"], row["most"], row["median"]), (min(busy), max(busy), statistics.median(busy)))
        self.assertAlmostEqual(row["mean"], statistics.mean(busy), delta=1)
        self.assertAlmostEqual(row["imbalance"], max(busy) / statistics.mean(busy) - 1, places=6)
        self.assertEqual((row["least_rank"], row["most_rank"]), (busy.index(min(busy)), busy.index(max(busy))))
        device = {row["name"]: row for row in said["contexts"] if row["kind"] == "device"}
        self.assertEqual(set(device), set(KERNELS))
        for kernel, of in truth.items():
            row = device[kernel]
            self.assertEqual((row["ranks"], row["least_ns"], row["most_ns"]), (7, min(of), max(of)))
            self.assertAlmostEqual(row["lost_ns"], max(of) - statistics.mean(of), delta=1)
        lost = [row["lost_ns"] for row in said["contexts"]]
        self.assertEqual(lost, sorted(lost, reverse=True))
        self.assertEqual((said["stragglers"], len(said["groups"])), ([], 1))

    def test_every_metric_of_a_context(self):
        """Rank i has i launches of `advance`, and rank 0 none; each begins 1,000 ns after its call."""
        for number in range(5):
            self.rank(number, 5, {"advance": [2.0] * number, "exchange": [1.0]})
        row = next(row for row in self.json(self.path("m.sonde"), "ranks")["contexts"] if row["kind"] == "device" and row["name"] == "advance")
        truth = {"count": list(range(5)), "bytes": [number * size_of(number, "advance") for number in range(5)], "delay_ns": [1000 * number for number in range(5)],
                 "waiting_ns": [0] * 5}
        self.assertEqual({m["metric"] for m in row["metrics"]}, set(truth))
        for m in row["metrics"]:
            of = truth[m["metric"]]
            self.is_spread(m, of)

    def is_spread(self, m, of):
        """A figure over ranks that have these values, of whole numbers."""
        self.assertEqual((m["least"], m["most"], m["median"]), (min(of), max(of), statistics.median(of)), m["metric"])
        self.assertEqual((of[m["least_rank"]], of[m["most_rank"]]), (min(of), max(of)), m["metric"])
        self.assertAlmostEqual(m["mean"], statistics.mean(of))
        if any(of):
            self.assertAlmostEqual(m["imbalance"], max(of) / statistics.mean(of) - 1, places=6)
        else:
            self.assertIsNone(m["imbalance"])

    def test_calls_that_are_there_to_wait(self):
        for number in range(4):
            p = live.Process(f"alpha-{number + 1}-0", number + 1)
            p.rank = (number + 1, number + 1, 4)
            thread, code = p.thread(number + 1), p.node(0, p.frame(live.PYTHON, p.python("step", "/u/a.py", 3)))
            p.enqueue(thread, p.queue(p.device("Device")), "clEnqueueNDRangeKernel", code, "kernel", p.start_ns, p.start_ns + 9, p.start_ns + 900, p.start_ns + 9000)
            for api in ("clFinish", "clSetKernelArg"):
                p.call(thread, api, code, p.start_ns, p.start_ns + 1000 * (number + 1))
            p.write(self.path("m.sonde"))
        calls = {row["name"]: row for row in self.json(self.path("m.sonde"), "ranks")["contexts"] if row["kind"] == "call"}
        for api, of in ("clFinish", [1000, 2000, 3000, 4000]), ("clSetKernelArg", [0] * 4):
            self.is_spread(next(m for m in calls[api]["metrics"] if m["metric"] == "waiting_ns"), of)

    def random_rank(self, number, size, path):
        """A process that calls, waits, sleeps and computes in contexts by chance, some of which other ranks have, too; also a child of a rank."""
        chance = random.Random(number)
        p = live.Process(f"alpha-{100 + number}-0", 100 + number)
        p.rank, p.cpu["rate_hz"], p.cpu["sampling"] = (number % size + 1, number % size + 1, size), 1000, 1
        thread, queue, at = p.thread(100 + number), p.queue(p.device("Device")), p.start_ns
        for i in range(60):
            path_of = 0
            for level in range(chance.randrange(1, 6)):
                path_of = p.node(path_of, p.frame(live.PYTHON, p.python(f"f{chance.randrange(3)}", f"/u/{level}.py", chance.randrange(1, 3))))
            at += chance.randrange(1000, 2 * MS)
            enter, leave = at, at + chance.randrange(1000, MS)
            kind = chance.choice(("kernel", "kernel", "untimed", "finish", "release", "sleep", "sample"))
            if kind in ("kernel", "untimed"):
                at = leave + chance.randrange(1000, 3 * MS)
                p.enqueue(thread, queue, "clEnqueueNDRangeKernel", path_of, "kernel", enter, leave, leave + 500, at, name=f"k{i % 3}", size=chance.randrange(9),
                          flags=live.NO_TIMES if kind == "untimed" else chance.choice((0, 0, live.FAILED)))
            elif kind == "finish":
                p.call(thread, "clFinish", path_of, enter, leave)
            elif kind == "release":
                p.call(thread, "clReleaseMemObject", path_of, enter, leave)
                if chance.random() < 0.5:
                    p.wait(thread, enter, queue=queue)
            elif kind == "sleep":
                p.sleep(thread, "nanosleep", path_of, enter, leave)
            else:
                p.sample(thread, path_of, leave, MS)
            at = max(at, leave)
        p.stop_ns = max(p.stop_ns, at)
        p.write(path)

    def rows_of(self, said):
        """{path of frames: row}."""
        out, path = {}, {}
        for row in said:
            key = tuple(row[name] for name in ("kind", "name", "file", "line", "module"))
            path[row["row"]] = (path[row["parent"]] if row["parent"] is not None else ()) + (key,)
            self.assertEqual(len(path[row["row"]]), row["depth"] + 1)
            out[path[row["row"]]] = row
        self.assertEqual(len(out), len(said))
        return out

    def test_each_calling_context(self):
        """Of every metric, inclusive and exclusive: what the profile says of measurements of each rank alone."""
        size, metrics = 5, "gpu,ops,bytes,api,sync,queue,cpu,blame,calls,samples,slept,timed,failed"
        for number in (*range(size), size + 2):  # rank 2 has a child
            for path in ("m.sonde", f"{number % size}.sonde"):
                self.random_rank(number, size, self.path(path))
        self.rank(-1, 0, {"advance": [10]}, pid=1)  # in no rank
        for by in ("line", "function"):
            each = [self.rows_of(self.json(self.path(f"{number}.sonde"), "profile", "--top-down", "--by", by, "--metric", metrics)["rows"]) for number in range(size)]
            got = self.rows_of(self.json(self.path("m.sonde"), "ranks", "--metric", metrics, "--by", by)["paths"])
            some = {path for rows in each for path, row in rows.items() if any(row["inclusive"].values())}
            self.assertEqual(set(got), some)
            for path, row in got.items():
                for side in ("inclusive", "exclusive"):
                    self.assertEqual([m["metric"] for m in row[side]], metrics.split(","))
                    for m in row[side]:
                        of = [rows[path][side][m["metric"]] or 0 if path in rows else 0 for rows in each]
                        if m["metric"] == "blame":  # no whole numbers
                            self.assertTrue(abs(m["least"] - min(of)) < 1 and abs(m["most"] - max(of)) < 1 and abs(m["mean"] - statistics.mean(of)) < 1, (m, of))
                            self.assertTrue(max(of) < 1 or max(of) - of[m["most_rank"]] < 1)
                        elif m["least"] is not None:
                            self.is_spread(m, of)
                        else:  # operations, and no times of any
                            self.assertIn(m["metric"], ("gpu", "queue"))
                            self.assertEqual(max(of), 0)
        kept = {path for path, row in got.items() if row["depth"] <= 2 and row["inclusive"][0]["most"] * 10 >= got[next(iter(got))]["inclusive"][0]["most"]}
        few = self.rows_of(self.json(self.path("m.sonde"), "ranks", "--metric", "gpu", "--by", "function", "--depth", "2", "--min-percent", "10")["paths"])
        self.assertTrue(set(few) == kept and 1 < len(kept) < len(got))

    def test_calling_contexts_for_people(self):
        """What is lost most comes first, whatever takes longest; rank 2 alone has the last."""
        for number in range(3):
            p = live.Process(f"alpha-{number + 1}-0", number + 1)
            p.rank = (number + 1, number + 1, 3)
            thread, queue, at = p.thread(number + 1), p.queue(p.device("Device")), p.start_ns
            main = p.node(0, p.frame(live.PYTHON, p.python("main", "/u/a.py", 1)))
            of = {name: p.node(main, p.frame(live.PYTHON, p.python(name, "/u/a.py", line))) for line, name in enumerate(("even", "uneven", "once"), 10)}
            for name, ms in ("even", 100), ("uneven", 10 * number), *([("once", 0.001)] if number == 2 else []):
                p.enqueue(thread, queue, "clEnqueueNDRangeKernel", of[name], "kernel", at, at + 500, at + 1000, at + 1000 + int(ms * MS) + 1, name="add")
                at += int(ms * MS) + 5000
            p.write(self.path("m.sonde"))
        text = self.ok("report", self.path("m.sonde"), "ranks", "--metric", "gpu,calls", "--depth", "2").out
        gpu, calls = (next(part for part in text.strip().split("\n\n") if f"{metric} by call path" in part) for metric in ("gpu", "calls"))
        self.assertEqual([line.split() for line in gpu.splitlines()],
                         [["least", "mean", "most", "rank", "imbalance", "most", "−", "mean", "gpu", "by", "call", "path"],
                          ["100", "ms", "110", "ms", "120", "ms", "2", "9.1", "%", "10.0", "ms", "all"],
                          ["100", "ms", "110", "ms", "120", "ms", "2", "9.1", "%", "10.0", "ms", "main()", "a.py:1"],
                          ["1", "ns", "10.0", "ms", "20.0", "ms", "2", "100.0", "%", "10.0", "ms", "uneven()", "a.py:11"],
                          ["100", "ms", "100", "ms", "100", "ms", "0", "0.0", "%", "0", "ns", "even()", "a.py:10"]])
        self.assertIn("once()", calls)
        self.assertNotIn("recorded", text)
        self.assertIn("3 more: sonde report", self.ok("report", self.path("m.sonde"), "ranks", "--metric", "gpu", "--depth", "2", "--limit", "1").out)
        for wrong, said in (("--metric", "cpu_error"), "standard errors are none of ranks"), (("--metric", "nothing"), "no column 'nothing'"), (("--metric", "gpu", "--by", "kernel"), "no tree"):
            done = self.report(*wrong)
            self.assertTrue(done.returncode and said in done.err, done)

    def report(self, *more):
        return cli.run("report", self.path("m.sonde"), "ranks", *more)

    def test_a_straggler_and_its_cause(self):
        said, truth = self.job(8, slow=5)
        straggler, = said["stragglers"]
        busy = [sum(of[i] for of in truth.values()) for i in range(8)]
        self.assertEqual((straggler["rank"], straggler["metric"]), (5, "busy_ns"))
        self.assertAlmostEqual(straggler["excess_ns"], busy[5] - statistics.median(busy), delta=1)
        self.assertIn("reduce", straggler["cause"])
        self.assertAlmostEqual(straggler["cause_ns"], 30 * MS, delta=1)
        self.assertEqual(sorted(row["count"] for row in said["groups"]), [1, 7])
        self.assertEqual([row["members"] for row in said["groups"] if row["count"] == 1], [[5]])
        text = self.ok("report", self.path("m.sonde"), "ranks").out
        self.assertRegex(text, r"\Arank 5 has 30\.\d ms more device time than the median of the ranks \(3\d\.\d %\): 30\.0 ms of it in reduce ←\s")
        self.assertRegex(text, r"0-4, 6-7")

    def groups(self, jobs):
        """Members of each group, of ranks with these times; the rows of ranks agree."""
        for number, times in enumerate(jobs):
            self.rank(number, len(jobs), {kernel: [ms] for kernel, ms in times.items()})
        said = self.json(self.path("m.sonde"), "ranks")
        self.assertEqual([(row["group"], row["count"], row["members"]) for row in said["groups"]],
                         [(i, len(row["members"]), [r["rank"] for r in said["ranks"] if r["group"] == i]) for i, row in enumerate(said["groups"])])
        return [row["members"] for row in said["groups"]]

    def test_groups_are_roles(self):
        """Ranks that compute, that gather, and that exchange, among each other; each a little different from its like."""
        chance = random.Random(7)
        roles = [{"advance": 100, "exchange": 20}, {"reduce": 60}, {"exchange": 80, "reduce": 10}]
        of = [0, 0, 1, 0, 2, 0, 0, 1, 2, 0, 1, 0, 2, 2, 0]
        jobs = [{kernel: ms * chance.uniform(0.98, 1.02) for kernel, ms in roles[role].items()} for role in of]
        self.assertEqual(self.groups(jobs), [[i for i, role in enumerate(of) if role == one] for one in range(3)])
        text = self.ok("report", self.path("m.sonde"), "ranks").out
        for members in ("0-1, 3, 5-6, 9, 11, 14", "2, 7, 10", "4, 8, 12-13"):
            self.assertIn(members, text)

    def test_how_alike_a_group_is(self):
        """5 % of the larger, over all kernels, from the group's first rank: with 95 and 105.2 a rank is like that with 100, with 94.9 and 105.3 not;
        91 is like 95, but that is not the first of its group; the last has 100, too, but of two kernels."""
        times = [100, 95, 94.9, 105.3, 105.2, 91, 100]
        jobs = [{"advance": ms} for ms in times[:-1]] + [{"advance": 97, "exchange": 3}]
        self.assertEqual(self.groups(jobs), [[0, 1, 4], [2, 5], [3], [6]])

    def test_a_routine_is_one_wherever_it_is_called(self):
        """CPU time of samples, of two callers and two lines of one function."""
        for number in range(3):
            p = live.Process(f"alpha-{number + 1}-0", number + 1)
            p.rank = (number + 1, number + 1, 3)
            thread = p.thread(number + 1)
            for caller in ("one", "other"):
                above = p.node(0, p.frame(live.PYTHON, p.python(caller, "/home/user/main.py", 3)))
                for line in (7, 9):
                    p.account(p.node(above, p.frame(live.PYTHON, p.python("work", "/home/user/main.py", line))), thread, (number + 1) * 5 * MS)
            queue = p.queue(p.device("Device"))
            p.enqueue(thread, queue, "clEnqueueNDRangeKernel", above, "kernel", p.start_ns, p.start_ns + 9, p.start_ns + 900, p.start_ns + 9000, name="add")
            p.write(self.path("m.sonde"))
        code = [row for row in self.json(self.path("m.sonde"), "ranks")["contexts"] if row["kind"] == "code"]
        self.assertEqual([(row["name"], row["least_ns"], row["mean_ns"], row["most_ns"]) for row in code], [("work", 20 * MS, 40 * MS, 60 * MS)])

    def test_a_kernel_that_one_rank_alone_has(self):
        for number in range(5):
            self.rank(number, 5, {"advance": [10], **({"exchange": [50]} if number == 2 else {})})
        said = self.json(self.path("m.sonde"), "ranks")
        row = next(row for row in said["contexts"] if row["name"] == "exchange")
        self.assertEqual((row["ranks"], row["least_ns"], row["mean_ns"], row["most_ns"], row["most_rank"]), (1, 0, 10 * MS, 50 * MS, 2))
        self.assertEqual(said["stragglers"][0]["rank"], 2)

    def test_noise_makes_no_straggler(self):
        chance = random.Random(3)
        for number in range(40):
            self.rank(number, 40, {"advance": [chance.gauss(100, 3)]})
        self.assertEqual(self.json(self.path("m.sonde"), "ranks")["stragglers"], [])

    def test_ranks_that_left_nothing(self):
        for number in (0, 1, 4, 6):
            self.rank(number, 8, {"advance": [10]})
        said = self.json(self.path("m.sonde"), "ranks")
        self.assertEqual(said["missing"], [2, 3, 5, 7])
        self.assertIn("of 8 ranks 4 left nothing, because they died, made no GPU call or were not recorded: 2-3, 5, 7",
                      self.ok("report", self.path("m.sonde"), "ranks").out)

    def test_two_jobs_in_one(self):
        self.rank(0, 2, {"advance": [10]})
        self.rank(0, 3, {"advance": [20]}, host="beta", start_ns=10**12 + 5 * MS, program="/opt/other")
        self.rank(0, 2, {"reduce": [1]}, pid=900)  # its child
        self.rank(1, 2, {"advance": [10]})
        said = self.json(self.path("m.sonde"), "ranks")
        self.assertEqual((said["twice"], said["hosts"], len(said["ranks"]), said["ranks"][0]["processes"]), ([0], 1, 2, 3))
        self.assertEqual(said["ranks"][0]["busy_ns"], 31 * MS)
        text = self.ok("report", self.path("m.sonde"), "ranks").out
        self.assertIn("processes on several hosts say that they are rank 0", text)
        self.assertIn("some processes say that there are 2 ranks, others 3", text)

    def test_two_jobs_of_one_host(self):
        """Which a launcher gave other names: rank 1 has a child, and one that lost its environment."""
        for number in range(4):
            self.rank(number % 2, 2, {"advance": [10]}, pid=100 + number, job="prterun-a-1@1" if number in (0, 1) else "prterun-a-9@1" if number == 2 else None)
        self.rank(1, 2, {"advance": [10]}, pid=110, job="prterun-a-1@1")
        said = self.json(self.path("m.sonde"), "ranks")
        self.assertEqual((said["twice"], [row["processes"] for row in said["ranks"]]), ([0], [2, 3]))
        self.assertIn("processes of several jobs (prterun-a-1@1, prterun-a-9@1) say that they are rank 0: what stands there is of both",
                      " ".join(self.ok("report", self.path("m.sonde"), "ranks").out.split()))

    def test_hosts_begin_and_programs(self):
        for number in range(4):
            self.rank(number, 4, {"advance": [10]}, host=("alpha", "beta-2")[number % 2], start_ns=10**12 + number * MS,
                      program=("/opt/demo/bin/demo", "/opt/demo/bin/demo2")[number // 3])
        said = self.json(self.path("m.sonde"), "ranks")
        self.assertEqual((said["clock_bound_ns"], said["hosts_apart"]), (0, 1))
        self.assertEqual((said["hosts"], [row["begin_ns"] for row in said["ranks"]]), (2, [0, MS, 2 * MS, 3 * MS]))
        text = self.ok("report", self.path("m.sonde"), "ranks").out
        self.assertIn("the ranks ran 2 different programs", text)
        self.assertRegex(text, r"\n1 on beta-2 ")
        self.assertIn("by the clocks of 2 hosts, which nothing aligns", text)

    def test_builds(self):
        """Of one path; a rank whose program has no build id says nothing. An id of raw bytes may hold zeros."""
        for number, build_id in enumerate((b"\0" * 20, b"", b"\0" * 20, b"\0" * 19 + b"\1", b"\2" * 20, b"\0" * 20)):
            self.rank(number, 6, {"advance": [10]}, build_id=build_id)
        text = self.ok("report", self.path("m.sonde"), "ranks").out
        self.assertIn("the ranks ran 3 different builds of /opt/demo/bin/demo (by its build id; rank 3 is the first that ran another): their times may not be comparable",
                      " ".join(text.split()))
        self.assertNotIn("different programs", text)

    def test_one_build_of_each_program(self):
        for number in range(6):
            self.rank(number, 6, {"advance": [10]}, program=f"/opt/demo/bin/demo{number % 2}", build_id=b"%d" % (number % 2) * 20 if number < 4 else b"")
        text = self.ok("report", self.path("m.sonde"), "ranks").out
        self.assertIn("the ranks ran 2 different programs", text)
        self.assertNotIn("builds", text)

    def test_there_are_none(self):
        self.rank(-1, 0, {"advance": [10]}, pid=1)
        said = self.json(self.path("m.sonde"), "ranks")
        self.assertEqual((said["size"], said["ranks"], said["metrics"], said["contexts"]), (None, [], [], []))
        self.assertIn("no process has a rank", self.ok("report", self.path("m.sonde"), "ranks").out)


if __name__ == "__main__":
    cli.main()
