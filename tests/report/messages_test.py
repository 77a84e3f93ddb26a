"""messages_test.py - `sonde report DIR messages` of jobs whose messages are known (tests/cli/live.py), against what follows from them one by one."""
import collections
import random

from views import Case  # first: it knows where the next are
import cli
import live

US = 1000
CALL, SEND, RECEIVE, BARRIER, ALL_TO_ALL, FROM_ROOT, TO_ROOT, PREFIX = range(8)
START = 10**12


class Rank:
    """A rank with one thread, whose calls follow each other."""

    def __init__(self, number, size, host="alpha"):
        self.number, self.host = number, host
        self.process = live.Process(f"{host}-{100 + number}-0", 100 + number, start_ns=START)
        self.process.rank = (number + 1, number + 1, size)
        self.thread = self.process.thread(100 + number)
        module = self.process.module("/opt/demo/bin/demo")
        self.code = self.process.node(0, self.process.frame(live.NATIVE, module, 0x1000))
        self.module, self.at, self.calls, self.messages = module, START + 1000, [], []

    def function(self, name):
        return self.process.node(0, self.process.frame(live.PYTHON, self.process.python(name, "/u/demo.py", 3)))

    def call(self, enter, leave):
        self.calls.append((enter, leave))
        self.at = leave

    def message(self, kind, function, enter, leave, posted=0, **more):
        self.messages.append((kind, function, enter, leave, posted, more))

    def move(self, by):
        """To another clock."""
        self.messages = [(kind, function, by(enter), by(leave), posted and by(posted), more) for kind, function, enter, leave, posted, more in self.messages]
        self.calls = [(by(enter), by(leave)) for enter, leave in self.calls]
        self.process.start_ns, self.at = by(START), by(self.at)

    def write(self, path):
        for kind, function, enter, leave, posted, more in self.messages:
            self.process.message(self.thread, kind, function, self.code, enter, leave, posted=posted, **more)
        self.process.stop_ns = self.at + 1000
        self.process.write(path)


class Truth:
    def __init__(self):
        self.pairs = collections.defaultdict(lambda: [0, 0])
        self.waits = collections.defaultdict(list)  # (kind, function) -> [(rank, for rank, ns)]

    def sent(self, sender, receiver, size):
        self.pairs[sender, receiver][0] += 1
        self.pairs[sender, receiver][1] += size

    def waited(self, kind, function, rank, whom, enter, leave, until):
        if min(until, leave) > enter:
            self.waits[kind, function].append((rank, whom, min(until, leave) - enter))


class Messages(Case):
    def finish(self, ranks):
        self.count = getattr(self, "count", 0) + 1
        self.job = self.path(f"{self.count}.sonde")
        for rank in ranks:
            rank.write(self.job)
        return self.json(self.job, "messages", "--limit", "0")

    def text(self, view="messages"):
        return " ".join(self.ok("report", self.job, view).out.split())

    def compare(self, said, truth, ranks):
        self.assertEqual({(row["from"], row["to"]): [row["count"], row["bytes"]] for row in said["pairs"]}, dict(truth.pairs))
        self.assertEqual(said["messages"], sum(count for count, _ in truth.pairs.values()))
        got = {(row["kind"], row["call"]): row for row in said["waits"]}
        self.assertEqual(set(got), set(truth.waits))
        for key, waits in truth.waits.items():
            row, by, whom = got[key], collections.Counter(), collections.Counter()
            for rank, other, ns in waits:
                by[rank] += ns
                whom[other] += ns
            self.assertEqual((row["count"], row["wait_ns"]), (len(waits), sum(by.values())), key)
            self.assertEqual((row["rank_ns"], row["for_ns"]), (max(by.values()), max(whom.values())), key)
            self.assertEqual((by[row["rank"]], whom[row["for_rank"]]), (row["rank_ns"], row["for_ns"]), key)
        lengths = [row["wait_ns"] for row in said["waits"]]
        self.assertEqual(lengths, sorted(lengths, reverse=True))
        for row, rank in zip(said["ranks"], ranks):
            self.assertEqual((row["rank"], row["calls_ns"]), (rank.number, sum(leave - enter for enter, leave in rank.calls)))
            for name in ("late_sender", "late_receiver", "barrier", "all_to_all", "late_root", "early_root"):
                want = sum(ns for (kind, _), waits in truth.waits.items() for by, _, ns in waits if by == rank.number and kind.replace(" ", "_").replace("-", "_") == name)
                self.assertEqual(row[name + "_ns"], want, name)

    def one_to_one(self, chance, ranks, truth):
        """A message: sent before or after its receive began, by a call that may wait for that."""
        a, b = chance.sample(ranks, 2)
        size, comm, tag = chance.randrange(10**6), chance.choice(("w", "x")), chance.randrange(3)
        enter, begun = (rank.at + chance.randrange(1, 900) * US for rank in (a, b))
        leave = max(enter, begun) + 5 * US if chance.random() < 0.5 else enter + chance.randrange(1, 9) * US  # it waits for the receive, or not
        a.message(SEND, "MPI_Send", enter, leave, size=size, comm=comm, peer=b.number, tag=tag)
        a.call(enter, leave)
        truth.sent(a.number, b.number, size)
        if begun <= leave:
            truth.waited("late receiver", "MPI_Send", a.number, b.number, enter, leave, begun)
        what = {"size": size, "comm": comm, "peer": a.number, "tag": tag}
        way = chance.choice(("MPI_Recv", "MPI_Wait", "MPI_Mrecv"))
        if way == "MPI_Recv":
            first, last = begun, max(begun, enter) + 7 * US
        elif way == "MPI_Wait":
            posted = begun + chance.choice((2, 40)) * US  # a busy machine makes it long, but it waits for nobody
            b.message(CALL, "MPI_Irecv", begun, posted)
            b.call(begun, posted)
            first = b.at + chance.randrange(500) * US
            last = max(first, enter) + 7 * US
        else:  # it waits where it looks for it
            found = max(begun, enter) + 3 * US
            b.message(CALL, "MPI_Mprobe", begun, found)
            b.call(begun, found)
            truth.waited("late sender", "MPI_Mprobe", b.number, a.number, begun, found, enter)
            first, last = found + US, found + 3 * US
        b.message(RECEIVE, way, first, last, posted=begun, **what)
        b.call(first, last)
        truth.waited("late sender", way, b.number, a.number, first, last, enter)

    def together(self, chance, ranks, truth):
        of = sorted(chance.sample(ranks, chance.randrange(2, len(ranks) + 1)), key=lambda rank: rank.number)
        comm, root = "c" + "".join(str(rank.number) for rank in of), chance.choice(of)
        kind, function, name = chance.choice(((BARRIER, "MPI_Barrier", "barrier"), (ALL_TO_ALL, "MPI_Allreduce", "all-to-all"),
                                              (FROM_ROOT, "MPI_Bcast", "late root"), (TO_ROOT, "MPI_Reduce", "early root"), (PREFIX, "MPI_Scan", None)))
        enters = {rank: rank.at + chance.randrange(1, 900) * US for rank in of}
        last = max(of, key=lambda rank: enters[rank])
        others = max((rank for rank in of if rank is not root), key=lambda rank: enters[rank])
        for rank in of:
            until, whom = enters[last], last
            if kind == FROM_ROOT:
                until, whom = enters[root], root
            elif kind == TO_ROOT:
                until, whom = (enters[others], others) if rank is root else (0, None)
            enter, leave = enters[rank], max(enters[rank], until) + 4 * US
            rank.message(kind, function, enter, leave, size=100, comm=comm, peer=root.number if kind in (FROM_ROOT, TO_ROOT) else None)
            rank.call(enter, leave)
            if name and whom and whom is not rank:
                truth.waited(name, function, rank.number, whom.number, enter, leave, until)
        return function, comm, len(of)

    def test_random(self):
        for seed in range(5):
            chance, truth = random.Random(seed), Truth()
            ranks = [Rank(number, 6) for number in range(6)]
            all_of = collections.Counter()
            for _ in range(400):
                if chance.random() < 0.7:
                    self.one_to_one(chance, ranks, truth)
                else:
                    function, comm, count = self.together(chance, ranks, truth)
                    all_of[function, comm] += count
            said = self.finish(ranks)
            self.compare(said, truth, ranks)
            self.assertEqual({(row["function"], row["comm"]): row["count"] for row in said["collectives"]}, dict(all_of))
            self.assertEqual([said[name] for name in ("alone", "apart", "mixed", "lost")], [0] * 4)
            self.over_ranks(truth, len(ranks))

    def over_ranks(self, truth, size):
        """As figures of calling contexts: of each function what each rank waited in it, for whatever reason."""
        waited = collections.defaultdict(lambda: [0] * size)
        for (_, function), waits in truth.waits.items():
            for rank, _, ns in waits:
                waited[function][rank] += ns
        got = {row["name"]: row["exclusive"][0] for row in self.json(self.job, "ranks", "--metric", "peers")["paths"] if row["kind"] == "api"}
        self.assertEqual({name: (m["least"], m["most"], round(m["mean"] * size)) for name, m in got.items()},
                         {name: (min(of), max(of), sum(of)) for name, of in waited.items()})

    def test_several_in_one_call(self):
        """MPI_Waitall waits once: for the latest."""
        ranks = [Rank(number, 3) for number in range(3)]
        for sender, at in ((1, 40), (2, 90)):
            ranks[sender].message(SEND, "MPI_Send", START + at * US, START + (at + 1) * US, size=8, comm="w", peer=0, tag=0)
            ranks[sender].call(START + at * US, START + (at + 1) * US)
            ranks[0].message(RECEIVE, "MPI_Waitall", START + 10 * US, START + 100 * US, posted=START + US, size=8, comm="w", peer=sender, tag=0)
        ranks[0].call(START + 10 * US, START + 100 * US)
        truth = Truth()
        truth.sent(1, 0, 8)
        truth.sent(2, 0, 8)
        truth.waited("late sender", "MPI_Waitall", 0, 2, START + 10 * US, START + 100 * US, START + 90 * US)
        self.compare(self.finish(ranks), truth, ranks)

    def test_cause(self):
        """Rank 2 waits for 1, which waits for 0, which computes, or whose device does."""
        for device in (False, True):
            ranks = [Rank(number, 3) for number in range(3)]
            for at, (sender, receiver) in enumerate(((0, 1), (1, 2))):
                ms = 1000 * US
                enter = START + (100 + at) * ms
                ranks[receiver].message(RECEIVE, "MPI_Recv" if receiver == 1 else "MPI_Wait", START + 2 * ms, enter + 500 * US, size=8, comm="w", peer=sender, tag=0)
                ranks[receiver].call(START + 2 * ms, enter + 500 * US)
                ranks[sender].message(SEND, "MPI_Send", enter, enter + 100 * US, size=8, comm="w", peer=receiver, tag=0)
                ranks[sender].call(enter, enter + 100 * US)
            late = ranks[0]
            busy, idle = late.function("work"), late.function("rest")
            for i in range(9):
                late.process.sample(late.thread, busy if i < 6 else idle, START + (10 + 10 * i) * ms, 10 * ms)
            late.process.sample(late.thread, idle, START + 300 * ms, 190 * ms)  # nobody waits then
            if device:
                queue = late.process.queue(late.process.device("Device"))
                late.process.enqueue(late.thread, queue, "clEnqueueNDRangeKernel", late.code, "kernel", START + 1000, START + 2000, START + 5 * ms, START + 95 * ms, name="slow")
            said = self.finish(ranks)
            by = {row["rank"]: row for row in said["waits"]}
            self.assertEqual((by[2]["cause"], by[2]["cause_name"], by[2]["for_rank"], by[2]["root_rank"], by[2]["root_cause"]), ("messages", "MPI_Recv", 1, 0, by[1]["cause"]))
            self.assertEqual([by[1]["root_" + name] for name in ("cause", "name", "ns", "rank")], [by[1]["cause"], by[1]["cause_name"], by[1]["cause_ns"], 0])
            if device:
                self.assertEqual((by[1]["cause"], by[1]["cause_name"], by[1]["cause_ns"]), ("device", "slow", 90 * ms))
            else:
                self.assertEqual((by[1]["cause"], by[1]["cause_name"], by[1]["cause_ns"]), ("code", "work() demo.py", 58 * ms))  # of 60, two lie before
            self.assertIn("which waited itself in MPI_Recv, in the end for rank 0, wh", self.text())

    def test_what_does_not_fit(self):
        """Ends without the other, ranks of two hosts, calls that do not belong together, rows that were lost."""
        ranks = [Rank(0, 4), Rank(1, 4), Rank(2, 4, host="beta")]
        a, b, far = ranks
        for i in range(3):
            a.message(SEND, "MPI_Send", START + (100 * i + 50) * US, START + (100 * i + 60) * US, size=8, comm="w", peer=1, tag=0)
        b.message(RECEIVE, "MPI_Recv", START + US, START + 70 * US, size=8, comm="w", peer=0, tag=0)
        a.message(SEND, "MPI_Send", START + 500 * US, START + 501 * US, size=8, comm="w", peer=2, tag=0)
        far.message(RECEIVE, "MPI_Recv", START + 90 * US, START + 501 * US, size=8, comm="w", peer=0, tag=0)
        a.message(BARRIER, "MPI_Barrier", START + 600 * US, START + 700 * US, comm="ab")
        b.message(ALL_TO_ALL, "MPI_Allreduce", START + 690 * US, START + 700 * US, size=8, comm="ab")
        for rank, at in ((a, 800), (far, 900)):
            rank.message(FROM_ROOT, "MPI_Bcast", START + at * US, START + 1000 * US, size=8, comm="all", peer=0)
        b.process.message_rows_dropped = 5
        for rank in ranks:
            rank.at = START + 1000 * US
        said = self.finish(ranks)
        self.assertEqual([said[name] for name in ("messages", "alone", "apart", "mixed", "lost")], [4, 2, 3, 2, 5])
        self.assertEqual([(row["kind"], row["wait_ns"]) for row in said["waits"]], [("late sender", 49 * US)])
        text = self.text()
        for words in ("ran on different hosts: 3; their messages do not align the clocks", "only one end is known: 2;", "do not belong together as recorded: 2;", "found no room in the measurement: 5;"):
            self.assertIn(words, text)

    def test_hosts(self):
        """Random jobs whose hosts' clocks are seconds apart, and drift, each by its own: what they wait for is what it was before, to within the bound."""
        for seed in range(4):
            chance, truth = random.Random(seed), Truth()
            ranks = [Rank(number, 6, host=f"host{number % 3}") for number in range(6)]
            for _ in range(500):
                (self.one_to_one if chance.random() < 0.7 else self.together)(chance, ranks, truth)
            drift = seed % 2 * 3e-4
            moves = [lambda ns, shift=shift, part=part: ns + shift + round((ns - START) * part) for shift, part in ((0, 0), (-3 * 10**11, drift), (7 * 10**12, -2 * drift))]
            for rank in ranks:
                rank.move(moves[rank.number % 3])
            said = self.finish(ranks)
            self.assertEqual([said[name] for name in ("alone", "apart", "mixed", "lost", "hosts")], [0, 0, 0, 0, 3])
            self.assertEqual({(row["from"], row["to"]): [row["count"], row["bytes"]] for row in said["pairs"]}, dict(truth.pairs))
            bound = said["clock_bound_ns"]
            self.assertTrue(0 < bound < 30 * US, bound)
            got = {(row["kind"], row["call"]): row for row in said["waits"]}
            for key, waits in truth.waits.items():
                want, most = sum(ns for _, _, ns in waits), len(waits) * (bound + 2)
                self.assertLessEqual(abs(got[key]["wait_ns"] - want), most, (key, got[key]["wait_ns"], want, bound))
            self.assertIn("the clocks of 3 hosts are aligned by messages", self.text())

    def test_hosts_that_contradict(self):
        """A clock that is set by a second in the middle: no line lies between the bounds."""
        chance, truth = random.Random(1), Truth()
        ranks = [Rank(number, 2, host=f"host{number}") for number in range(2)]
        for _ in range(100):
            self.one_to_one(chance, ranks, truth)
        middle = ranks[1].at - (ranks[1].at - START) // 2
        ranks[1].move(lambda ns: ns + (10**9 if ns > middle else 0))
        said = self.finish(ranks)
        self.assertEqual((said["apart"], said["clock_bound_ns"], said["waits"]), (100, 0, []))
        self.assertIn("the clocks of host0 and host1 contradict each other: one of them was probably set while the ranks ran", self.text())
        self.assertIn("begin: by the clocks of 2 hosts, which contradict each other: one was probably set while the ranks ran", self.text("ranks"))

    def test_hosts_of_which_one_contradicts(self):
        """A third, whose clock nobody set, is aligned with the first; its messages with the second contradict each other, too."""
        chance, truth = random.Random(2), Truth()
        ranks = [Rank(number, 3, host=f"host{number}") for number in range(3)]
        for _ in range(300):
            self.one_to_one(chance, ranks, truth)
        middle = ranks[1].at - (ranks[1].at - START) // 2
        ranks[1].move(lambda ns: ns + (10**9 if ns > middle else 0))
        said = self.finish(ranks)
        self.assertTrue(said["clock_bound_ns"] > 0 and said["apart"] > 0, said)
        self.assertRegex(self.text(), r"the clocks of host\d and host\d contradict each other: one of them was probably set")
        self.assertIn("nothing aligns the clocks of 1 host with the others' begin: clocks of hosts contradict each other: one was probably set", self.text("ranks"))

    def test_hosts_that_do_not_contradict(self):
        """Messages one way leave the clocks apart, and say nothing against them."""
        ranks = [Rank(number, 2, host=f"host{number}") for number in range(2)]
        for i in range(20):
            enter = START + i * 10**6
            ranks[0].message(SEND, "MPI_Send", enter, enter + US, size=8, comm="w", peer=1, tag=0)
            ranks[0].call(enter, enter + US)
            ranks[1].message(RECEIVE, "MPI_Recv", enter, enter + 9 * US, size=8, comm="w", peer=0, tag=0)
            ranks[1].call(enter, enter + 9 * US)
        self.assertEqual(self.finish(ranks)["apart"], 20)
        for view in ("messages", "ranks"):
            self.assertNotIn("contradict", self.text(view))

    def test_hosts_where_one_is_missing(self):
        """Rank 1 lacks the first of the calls: the n-th of one would be the next of the other, by which its clock would be a round too late."""
        for missing in (0, 1):
            ranks = [Rank(number, 2, host=f"host{number}") for number in range(2)]
            for i in range(50):
                for rank in ranks[missing if not i else 0:]:
                    enter = START + i * 10**7 + rank.number * 1000
                    rank.message(ALL_TO_ALL, "MPI_Allreduce", enter, enter + 20 * US, size=8, comm="w")
                    rank.call(enter, enter + 20 * US)
            said = self.finish(ranks)
            self.assertEqual((said["clock_bound_ns"] > 0, said["apart"] > 0), (not missing, bool(missing)))

    def test_hosts_that_were_off(self):
        """Recording was off for a while: which belong together is not certain."""
        ranks = [Rank(number, 2, host=f"host{number}") for number in range(2)]
        for i in range(50):
            for rank in ranks:
                enter = START + i * 10**7
                rank.message(ALL_TO_ALL, "MPI_Allreduce", enter, enter + 20 * US, size=8, comm="w")
                rank.call(enter, enter + 20 * US)
        ranks[1].process.pause(START, START + 10**6)
        self.assertEqual(self.finish(ranks)["clock_bound_ns"], 0)

    def test_none(self):
        Rank(0, 1).write(self.path("none.sonde"))
        done = cli.run("report", self.path("none.sonde"), "messages")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no rank sent or received anything through MPI", done.out)


if __name__ == "__main__":
    cli.main()
