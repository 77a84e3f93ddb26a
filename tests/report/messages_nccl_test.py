"""messages_nccl_test.py - `sonde report DIR messages` of jobs with NCCL's collectives, against waits that follow from when each rank's kernel began."""
import collections
import random

from views import Case  # first: it knows where the next are
import cli
import live
from job_path_test import Training, clocks_of
from messages_test import START, SEND, RECEIVE, US, Rank

MS = 1000 * US
KIND = {"AllReduce": "all-to-all", "Broadcast": "late root", "Reduce": "early root", "Send": None, "Recv": "late sender"}


class Recorded(Training):
    """It remembers of each collective when the kernel of each rank ran, and which others that needs."""

    def together(self, ranks, name, needs, peer=lambda rank: 0, names={}):
        before = len(self.calls)
        super().together(ranks, name, needs, peer, names)
        self.meetings = getattr(self, "meetings", [])
        self.meetings.append({rank: (api[0], kernel, [other for other in needs(rank) if other != rank]) for rank, api, _, kernel, _ in self.calls[before:]})

    def waits(self):
        """[(function, rank, for rank, ns)]"""
        for meeting in self.meetings:
            for rank, (function, (start, end), needed) in meeting.items():
                last = max(needed, key=lambda other: meeting[other][1][0], default=None)
                if last is not None and meeting[last][1][0] > start:
                    yield function, rank, last, min(meeting[last][1][0], end) - start


class Job:
    """Ranks whose kernels are named one by one, in ms."""

    def __init__(self, size, hosts=1):
        self.ranks = [Rank(number, size, host=f"host{number % hosts}") for number in range(size)]
        for rank in self.ranks:
            p = rank.process
            device = p.device("GPU")
            rank.queue, rank.comm = p.queue(device), p.lane(2, device=device, name=f"NCCL pg 0x1 rank {rank.number} of {size}")
            rank.train = rank.function("train")

    def kernel(self, rank, name, start, end, together=(), size=1000):
        """`together`: collectives that it carries out."""
        rank = self.ranks[rank]
        p, enter = rank.process, START + int((start - 0.1) * MS)
        node = p.enqueue(rank.thread, rank.queue, "cuLaunchKernelEx", rank.train, "kernel", enter, enter + 9 * US, START + int(start * MS), START + int(end * MS), name=name)
        for function in together:
            p.collective(rank.comm, node, enter, START + int(start * MS), START + int(end * MS), name=f"{function} float32", size=size)
        rank.at = max(rank.at, START + int(end * MS))

    def all_reduce(self, starts, end, **more):
        for rank, start in enumerate(starts):
            self.kernel(rank, "ncclDevKernel", start, end, more.get("together", ("AllReduce",)))

    def write(self, path):
        for rank in self.ranks:
            rank.write(path)


class MessagesNccl(Case):
    def said(self, job, name="m.sonde", **more):
        self.out = self.path(name)
        job.write(self.out, **more)
        return self.json(self.out, "messages", "--limit", "0")

    def text(self):
        return " ".join(self.ok("report", self.out, "messages").out.split())

    def test_random(self):
        for seed in range(8):
            chance = random.Random(seed)
            job = Recorded(chance, chance.randrange(2, 6), 25)
            said = self.said(job, f"{seed}.sonde")
            by, whom, count = (collections.defaultdict(collections.Counter) for _ in range(3))
            for function, rank, other, ns in job.waits():
                by[function][rank] += ns
                whom[function][other] += ns
                count[function]["waits"] += 1
            calls = collections.Counter(function for meeting in job.meetings for function, _, _ in meeting.values())
            self.assertEqual({row["function"]: (row["library"], row["comm"], row["count"], row["bytes"]) for row in said["collectives"]},
                             {f"{name} float32": ("NCCL", f"NCCL pg 0x1, {job.size} ranks", n, 4096 * n) for name, n in calls.items()})
            for row in said["collectives"]:
                name = row["function"].split()[0]
                kernels = [kernel for meeting in job.meetings for function, kernel, _ in meeting.values() if function == name]
                self.assertEqual((row["calls_ns"], row["wait_ns"]), (sum(end - start for start, end in kernels), sum(by[name].values())))
                self.most(row, by[name], whom[name])
            rows = {row["call"].split()[0]: row for row in said["waits"]}
            self.assertEqual((len(rows), set(rows)), (len(said["waits"]), {name for name in by if by[name]}))
            for name, row in rows.items():
                self.assertEqual((row["kind"], row["comm"], row["count"], row["wait_ns"]),
                                 (KIND[name], f"NCCL pg 0x1, {job.size} ranks", count[name]["waits"], sum(by[name].values())))
                self.most(row, by[name], whom[name])
            for row in said["ranks"]:
                own = [kernel for meeting in job.meetings for rank, (_, kernel, _) in meeting.items() if rank == row["rank"]]
                self.assertEqual((row["nccl_ns"], row["nccl_wait_ns"], row["calls_ns"], row["wait_ns"]),
                                 (sum(end - start for start, end in own), sum(of[row["rank"]] for of in by.values()), 0, 0))
            self.assertEqual([said[name] for name in ("messages", "alone", "apart", "mixed", "lost", "step")], [0, 0, 0, 0, 0, None])
            self.over_ranks({f"{name} float32": [by[name][rank] for rank in range(job.size)] for name in by if by[name]})

    def over_ranks(self, waited):
        """{operation: ns of each rank}: as figures of calling contexts."""
        rows = self.json(self.out, "ranks", "--metric", "peers")["paths"]
        got = {row["name"]: row["exclusive"][0] for row in rows if row["kind"] == "operation"}
        self.assertEqual({name: (m["least"], m["most"], round(m["mean"] * len(of))) for (name, m), of in zip(sorted(got.items()), (waited[name] for name in sorted(waited)))},
                         {name: (min(of), max(of), sum(of)) for name, of in waited.items()})
        if rows:
            all_of_them = [sum(of) for of in zip(*waited.values())]
            whole = rows[0]["inclusive"][0]
            self.assertEqual((whole["least"], whole["most"]), (min(all_of_them), max(all_of_them)))
            profile = self.json(self.out, "profile", "--metric", "peers")["rows"][0]["inclusive"]["peers"]
            self.assertEqual(profile, sum(all_of_them))

    def most(self, row, by, whom):
        if not by:
            self.assertEqual([row[name] for name in ("rank", "rank_ns", "for_rank", "for_ns")], [None] * 4)
            return
        self.assertEqual((row["rank_ns"], row["for_ns"]), (max(by.values()), max(whom.values())))
        self.assertEqual((by[row["rank"]], whom[row["for_rank"]]), (row["rank_ns"], row["for_ns"]))

    def test_on_hosts(self):
        """Hosts whose clocks are minutes apart: to within what the collectives align them to."""
        chance = random.Random(5)
        job = Recorded(random.Random(1), 6, 60)
        said = self.said(job, clocks=clocks_of(chance, 3, 1e-4))
        wanted = collections.Counter()
        for function, _, _, ns in job.waits():
            wanted[function + " float32"] += ns
        bound = said["clock_bound_ns"]
        self.assertTrue(0 < bound < 100 * US)
        self.assertEqual((said["hosts"], said["apart"]), (3, 0))
        for row in said["collectives"]:
            self.assertLessEqual(abs(row["wait_ns"] - wanted[row["function"]]), row["count"] * 2 * bound)

    def test_hosts_apart(self):
        """What nothing aligns is counted, not compared."""
        job = Job(2, hosts=2)
        for i in range(2):
            job.all_reduce((1 + 10 * i, 5 + 10 * i), 7 + 10 * i)
        job.ranks[1].process.pause(START, START + US)  # so it is not certain which belong together
        said = self.said(job)
        self.assertEqual((said["apart"], said["waits"], [(row["count"], row["wait_ns"]) for row in said["collectives"]]), (2, [], [(4, 0)]))

    def test_rank_3_waits_for_rank_1(self):
        """Steps of 10 ms, of which rank 3 waits 4 for a kernel of rank 1."""
        job = Job(4)
        for step in range(5):
            at = 1 + 10 * step
            for rank in job.ranks:
                rank.process.range(rank.thread, f"step {step}", START + at * MS, START + (at + 10) * MS)
                rank.process.range(rank.thread, "ncclAllReduce", START + (at + 10) * MS, START + (at + 10) * MS + US, domain="NCCL")
                rank.process.range(rank.thread, "[nccl: AllReduce]", START + (at + 10) * MS + 2 * US, START + (at + 10) * MS + 3 * US, domain="nccl")
                rank.process.range(rank.thread, "[nccl: AllReduce]", START + (at + 10) * MS + 4 * US, START + (at + 10) * MS + 5 * US, domain="nccl")
            job.kernel(1, "slow", at + 1, at + 8)
            job.all_reduce((at + 6, at + 8, at + 7, at + 4), at + 9)
        said = self.said(job)
        row, = said["waits"]
        self.assertEqual(said["step"], "step")
        self.assertEqual((row["call"], row["kind"], row["count"], row["wait_ns"]), ("AllReduce float32", "all-to-all", 15, 5 * 7 * MS))
        self.assertEqual((row["rank"], row["rank_ns"], row["rank_ratio"], row["for_rank"], row["for_ns"]), (3, 20 * MS, 0.4, 1, 35 * MS))
        self.assertEqual((row["cause"], row["cause_name"], row["cause_ns"], row["root_rank"]), ("device", "slow", 5 * 4 * MS, 1))
        text = self.text()
        self.assertIn("the ranks waited 35.0 ms for each other", text)
        self.assertIn("35.0 ms of it in AllReduce float32 ← train() demo.py:3, mostly for rank 1, whose device ran slow; "
                      "rank 3 longest: 40.0 % of its steps (step)", text)
        self.assertIn("of steps", text)
        self.assertNotIn("in MPI", text)

    def test_of_a_window(self):
        """What began in it: steps 2 and 3 of five, and the message of one of them."""
        job = Job(2)
        for step in range(5):
            at = 10 * step
            for rank in job.ranks:
                rank.process.range(rank.thread, "step", START + at * MS, START + (at + 10) * MS)
            job.all_reduce((at + 2, at + 5 + step % 2), at + 8)
        for sent in (1, 25, 49):
            job.ranks[0].message(SEND, "MPI_Send", START + sent * MS, START + sent * MS + US, size=8 * sent, comm="w", peer=1, tag=0)
            job.ranks[1].message(RECEIVE, "MPI_Recv", START + (sent - 1) * MS, START + sent * MS + US, size=8 * sent, comm="w", peer=0, tag=0)
        for rank in job.ranks:
            rank.at = START + 60 * MS
        self.said(job)
        said = self.json(self.out, "messages", "--limit", "0", "--from", "20ms", "--to", "40ms")
        self.assertEqual((said["messages"], [(row["from"], row["to"], row["count"], row["bytes"]) for row in said["pairs"]]), (1, [(0, 1, 1, 200)]))
        rows = {row["call"]: row for row in said["waits"]}
        self.assertEqual({name: (row["count"], row["wait_ns"]) for name, row in rows.items()}, {"AllReduce float32": (2, 7 * MS), "MPI_Recv": (1, MS)})
        self.assertAlmostEqual(rows["AllReduce float32"]["rank_ratio"], 7 / 20, 3)
        self.assertEqual([(row["count"], row["bytes"], row["wait_ns"]) for row in said["collectives"]], [(4, 4000, 7 * MS)])
        self.assertEqual(self.json(self.out, "messages", "--from", "0")["messages"], 3)
        self.assertIn("in this time", cli.run("report", self.out, "messages", "--from", "55ms").out)

    def test_share_of_what_was_recorded(self):
        """Without ranges: of the time in which recording was on, as --capture-range leaves it."""
        job = Job(2)
        job.all_reduce((10, 40), 50)
        for rank in job.ranks:
            rank.process.pause(START + 60 * MS, START + 90 * MS)
            rank.at = START + 100 * MS - 1000
        row, = self.said(job)["waits"]
        self.assertEqual((row["rank"], row["rank_ns"]), (0, 30 * MS))
        self.assertAlmostEqual(row["rank_ratio"], 30 / 70, 4)
        self.assertIn("rank 0 longest: 42.9 % of its run", self.text())

    def test_a_group_is_one_kernel(self):
        """Of several collectives in one kernel each is counted, and waiting once."""
        job = Job(2)
        job.all_reduce((10, 40), 50, together=("AllReduce", "AllReduce", "AllGather"))
        said = self.said(job)
        self.assertEqual({row["function"]: (row["count"], row["bytes"], row["calls_ns"], row["wait_ns"]) for row in said["collectives"]},
                         {"AllReduce float32": (4, 4000, 50 * MS, 30 * MS), "AllGather float32": (2, 2000, 50 * MS, 30 * MS)})
        self.assertEqual([(row["rank"], row["nccl_ns"], row["nccl_wait_ns"]) for row in said["ranks"]], [(0, 40 * MS, 30 * MS), (1, 10 * MS, 0)])
        self.assertEqual(sum(row["wait_ns"] for row in said["waits"]), 30 * MS)

    def test_through_mpi(self):
        """Rank 0 waits in NCCL for rank 1, which waits in MPI for rank 2, which computes: both are told, and the chain leads to rank 2."""
        job = Job(3)
        job.ranks[2].message(SEND, "MPI_Send", START + 50 * MS, START + 51 * MS, size=8, comm="w", peer=1, tag=0)
        job.ranks[1].message(RECEIVE, "MPI_Recv", START + 5 * MS, START + 52 * MS, size=8, comm="w", peer=2, tag=0)
        job.ranks[2].process.sample(job.ranks[2].thread, job.ranks[2].function("compute"), START + 49 * MS, 48 * MS)
        job.all_reduce((10, 54, 12), 60)
        said = self.said(job)
        rows = {row["call"]: row for row in said["waits"]}
        self.assertEqual((rows["AllReduce float32"]["wait_ns"], rows["MPI_Recv"]["wait_ns"]), ((44 + 42) * MS, 45 * MS))
        row = rows["AllReduce float32"]
        self.assertEqual((row["for_rank"], row["cause"], row["cause_name"], row["root_rank"], row["root_cause"], row["root_name"]),
                         (1, "messages", "MPI_Recv", 2, "code", "compute() demo.py"))
        self.assertEqual((rows["MPI_Recv"]["comm"], rows["MPI_Recv"]["kind"]), (None, "late sender"))
        text = self.text()
        self.assertIn("the ranks waited 131 ms for each other", text)
        self.assertIn("mostly for rank 1, which waited itself in MPI_Recv, in the end for rank 2, which ran compute() demo.py", text)
        self.assertIn("in MPI", text)


if __name__ == "__main__":
    cli.main()
