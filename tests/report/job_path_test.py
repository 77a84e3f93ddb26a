"""job_path_test.py - the critical path through the ranks of random jobs, against a longest path of its own.

A job is made up as ranks that compute, and calls of MPI that need others to have come so far. It is run here by adding up durations, and run again
with one thing twice as fast: nothing of Sonde helps with that. docs/critical-path.md has the rules.
"""
import collections
import random

from views import Case  # first: it knows where the next are
import cli
from messages_test import ALL_TO_ALL, BARRIER, CALL, FROM_ROOT, RECEIVE, SEND, START, TO_ROOT, US, Rank


def clocks_of(chance, count, drift):
    """Of hosts: what each shows at a time of the first one."""
    shifts = [(chance.randrange(-(10**12), 10**12), chance.uniform(-drift, drift)) for _ in range(count - 1)]
    return [lambda ns: ns] + [lambda ns, shift=shift, part=part: ns + shift + round((ns - START) * part) for shift, part in shifts]


def host_of(number, clocks):
    return f"host{number % len(clocks)}" if clocks else "alpha"


class Step:
    """A call of a rank, after some computing. `needs`: steps that have to be entered before it can be left."""

    def __init__(self, rank, name, gap, own):
        self.rank, self.name, self.gap, self.own, self.needs = rank, name, gap, own, []
        self.enter = self.leave = self.until = None

    def waited(self):
        return self.until > self.enter


class Job:
    def __init__(self, chance, size, rounds):
        self.chance, self.steps, self.size = chance, [], size
        self.at = [START] * size
        self.rows = []  # (step, kind, more of the row)
        self.group = {}  # of what several ranks do together: a number
        self.count = 0
        for _ in range(rounds):
            chance.choice((self.one_to_one, self.one_to_one, self.together))()

    def step(self, rank, name):
        step = Step(rank, name, self.chance.randrange(1, 900) * US + self.chance.randrange(1000), self.chance.randrange(1, 300) * US + self.chance.randrange(1000))
        step.enter = self.at[rank] + step.gap
        self.steps.append(step)
        return step

    def done(self, step, wait=True):
        """By the clocks: it waited until the last of what it needs had come, if that was within it."""
        step.until = max((other.enter for other in step.needs), default=0)
        step.leave = max(step.enter, step.until if wait else 0) + step.own
        step.own = step.leave - max(step.enter, step.until)
        self.at[step.rank] = step.leave

    def one_to_one(self):
        a, b = self.chance.sample(range(self.size), 2)
        self.count += 1
        what = {"size": 8, "comm": "w", "tag": self.count}
        send, way = self.step(a, "MPI_Send"), self.chance.choice(("MPI_Recv", "MPI_Wait", "MPI_Mrecv"))
        if way == "MPI_Recv":
            begin = last = self.step(b, way)
        else:
            begin = self.step(b, "MPI_Irecv" if way == "MPI_Wait" else "MPI_Mprobe")
        if self.chance.random() < 0.5 or send.enter < begin.enter <= send.enter + send.own:  # it waits until that is begun
            send.needs += [begin] * (begin.enter > send.enter)
        self.done(send)
        if way != "MPI_Recv":
            begin.needs = [send] if way == "MPI_Mrecv" else []
            self.done(begin)
            last = self.step(b, way)
        last.needs = [send]
        self.done(last)
        self.rows.append((send, SEND, {**what, "peer": b}))
        if begin is not last:
            self.rows.append((begin, CALL, {}))
        self.rows.append((last, RECEIVE, {**what, "peer": a, "posted": begin.enter}))

    def together(self):
        of = sorted(self.chance.sample(range(self.size), self.chance.randrange(2, self.size + 1)))
        root = self.chance.choice(of)
        kind, name = self.chance.choice(((BARRIER, "MPI_Barrier"), (ALL_TO_ALL, "MPI_Allreduce"), (FROM_ROOT, "MPI_Bcast"), (TO_ROOT, "MPI_Reduce")))
        steps = {rank: self.step(rank, name) for rank in of}
        self.count += 1
        self.group.update(dict.fromkeys(steps.values(), self.count))
        for rank, step in steps.items():
            if kind in (BARRIER, ALL_TO_ALL):
                step.needs = list(steps.values())
            elif kind == FROM_ROOT and rank != root:
                step.needs = [steps[root]]
            elif kind == TO_ROOT and rank == root:
                step.needs = [other for other in steps.values() if other is not step]
            self.done(step)
            self.rows.append((step, kind, {"size": 8, "comm": "c" + "-".join(map(str, of)), "peer": root if kind in (FROM_ROOT, TO_ROOT) else None}))

    @staticmethod
    def waited_for(step, other):
        return step.waited() and other in step.needs and other.enter == step.until

    def write(self, path, clocks=None):
        ranks = [Rank(number, self.size, host=host_of(number, clocks)) for number in range(self.size)]
        for rank in ranks:
            rank.code = rank.function("work")
        for step, kind, more in self.rows:
            ranks[step.rank].message(kind, step.name, step.enter, step.leave, **more)
            ranks[step.rank].call(step.enter, step.leave)
        for rank in ranks:
            rank.at = self.at[rank.number]
            if clocks:
                rank.move(clocks[rank.number % len(clocks)])
            rank.write(path)

    def end(self, half=None):
        """When the job ends, with one thing (a function of MPI, or "host") twice as fast. Steps lie in an order in which they can happen."""
        at, enter = [START] * self.size, {}
        by_entry = sorted(self.steps, key=lambda step: step.enter)
        left, events = {}, sorted([(step.enter, 0, i) for i, step in enumerate(by_entry)] + [(step.leave, 1, i) for i, step in enumerate(by_entry)])
        for _, leaves, i in events:
            step = by_entry[i]
            if not leaves:
                enter[step] = at[step.rank] + step.gap - (step.gap // 2 if half == "host" else 0)
                continue
            own = step.own - (step.own // 2 if half == step.name else 0)
            came = max((enter[other] for other in step.needs), default=0)
            left[step] = max(enter[step], came) + own if step.waited() else max(enter[step] + own, came)
            at[step.rank] = left[step]
        return max(left.values())

    def path(self):
        """From the end back to what each step waited for: time by (rank, thing), and how often it went over to another rank."""
        by_rank = collections.defaultdict(list)
        for step in self.steps:
            by_rank[step.rank].append(step)
        spent, over = collections.Counter(), 0
        rank = max(range(self.size), key=lambda rank: self.at[rank])
        at = self.at[rank]
        while True:
            step = max((step for step in by_rank[rank] if step.enter < at), key=lambda step: step.enter, default=None)
            if not step:
                spent[rank, "host"] += at - START
                return spent, over
            if at > step.leave:
                spent[rank, "host"] += at - step.leave
                at = step.leave
            if step.waited():
                spent[rank, step.name] += at - step.until
                at, rank, over = step.until, max(step.needs, key=lambda other: other.enter).rank, over + 1
            else:
                spent[rank, step.name] += at - step.enter
                at = step.enter


class Node:
    """Something that lasts `own` from the last of what it needs on; where that is not `first`, it needed the rest only to have come by its end."""

    def __init__(self, rank, thing, own, needs, late=()):
        self.rank, self.thing, self.own, self.needs = rank, thing, own, needs
        self.start = max((node.end for node in needs), default=START)
        self.late = [node for node in late if node.end <= self.start + own]  # they did not decide
        self.end = self.start + own


class Training:
    """Ranks that launch kernels, and collectives whose kernels need those of all ranks, or the root's, or as the root the others', and sends to one
    other; now and then a rank waits for its device. Nodes in an order in which they can happen."""

    def __init__(self, chance, size, steps):
        self.chance, self.size, self.nodes = chance, size, []
        self.thread, self.queue = [None] * size, [None] * size  # the latest node of each
        self.calls = []  # (rank, API, its node, kernel's nodes (begin, own) or None, kernel's name)
        for _ in range(steps):
            for rank in range(size):
                for _ in range(chance.randrange(3) if self.nodes else 1):
                    self.launch(rank, chance.choice(("gemm", "relu")))
            chance.choice((self.all_reduce, self.all_reduce, self.broadcast, self.reduce, self.send))()
            for rank in range(size):
                if self.queue[rank] and chance.random() < 0.5:
                    self.wait(rank)

    def node(self, *of, **more):
        node = Node(*of, **more)
        self.nodes.append(node)
        return node

    def call(self, rank, name):
        host = self.node(rank, "host", self.some(200), [self.thread[rank]] if self.thread[rank] else [])
        self.thread[rank] = self.node(rank, name, self.some(9), [host])
        return self.thread[rank]

    def some(self, most):
        return self.chance.randrange(1, most) * US + self.chance.randrange(1000)

    def launch(self, rank, name):
        call = self.call(rank, "cuLaunchKernel")
        kernel = self.node(rank, name, self.some(300), [call] + ([self.queue[rank]] if self.queue[rank] else []))
        self.queue[rank] = kernel
        self.calls.append((rank, "cuLaunchKernel", call, (kernel.start, kernel.end), name))

    def all_reduce(self):
        self.together(range(self.size), "AllReduce", lambda rank: range(self.size))

    def broadcast(self):
        root = self.chance.randrange(self.size)
        self.together(range(self.size), "Broadcast", lambda rank: [root], lambda rank: root + 1)

    def reduce(self):
        root = self.chance.randrange(self.size)
        self.together(range(self.size), "Reduce", lambda rank: range(self.size) if rank == root else [], lambda rank: root + 1)

    def send(self):
        sender, receiver = self.chance.sample(range(self.size), 2)
        self.together((sender, receiver), "Send", lambda rank: [sender] if rank == receiver else [], lambda rank: (receiver if rank == sender else sender) + 1,
                      names={receiver: "Recv"})

    def together(self, ranks, name, needs, peer=lambda rank: 0, names={}):
        """`needs`: of a rank, whose kernels have to have begun before its own can end; `peer`: root, or the other one, from 1."""
        begins = {}
        for rank in ranks:
            call = self.call(rank, "cuLaunchKernelEx")
            begins[rank] = call, self.node(rank, "nccl", 0, [call] + ([self.queue[rank]] if self.queue[rank] else []))
        for rank, (call, begin) in begins.items():
            others = [begins[other][1] for other in needs(rank) if other != rank] + [begin]
            decided = max(others, key=lambda other: other.end)
            kernel = self.node(rank, "nccl", self.some(100), others if decided is not begin else [begin], late=others if decided is begin else ())
            self.queue[rank] = kernel
            self.calls.append((rank, (names.get(rank, name), peer(rank)), call, (begin.end, kernel.end), "nccl"))

    def wait(self, rank):
        enter = self.node(rank, "host", self.some(200), [self.thread[rank]])
        kernel = self.queue[rank]
        if kernel.end > enter.end:
            call = self.node(rank, "cuStreamSynchronize", self.some(9), [enter, kernel])
        else:
            call = self.node(rank, "cuStreamSynchronize", self.some(9), [enter], late=[kernel])
        self.thread[rank] = call
        self.calls.append((rank, "cuStreamSynchronize", (enter.end, call.end), None, None))

    def write(self, path, clocks=None, left_out=()):
        """`left_out`: indices of calls that were not recorded."""
        for number in range(self.size):
            by = clocks[number % len(clocks)] if clocks else lambda ns: ns
            rank = Rank(number, self.size, host=host_of(number, clocks))
            p, code = rank.process, rank.function("work")
            p.start_ns = p.stop_ns = by(START)
            device = p.device("GPU")
            queue, comm = p.queue(device), p.lane(2, device=device, name=f"NCCL pg 0x1 rank {number} of {self.size}")
            for i, (of, api, call, kernel, name) in enumerate(self.calls):
                if of != number:
                    continue
                if not kernel:
                    p.call(rank.thread, api, code, by(call[0]), by(call[1]))
                    p.wait(rank.thread, by(call[0]), queue=queue)
                    continue
                collective = isinstance(api, tuple)
                enter, times = by(call.start), (by(kernel[0]), by(kernel[1]))
                node = p.enqueue(rank.thread, queue, "cuLaunchKernelEx" if collective else api, code, "kernel", enter, by(call.end), *times, name=name)
                if collective and i not in left_out:
                    work = p.work(collective=(p.string("RING"), p.string("SIMPLE"), 16, number, self.size, api[1]))
                    p.collective(comm, node, enter, *times, name=f"{api[0]} float32", size=4096, work=work)
            rank.at = max(p.stop_ns, by(self.thread[number].end))
            rank.write(path)

    def end(self, half=None):
        ends = {}
        for node in self.nodes:
            own = node.own - (node.own // 2 if node.thing == half else 0)
            ends[node] = max([ends[other] for other in node.needs], default=START) + own
            ends[node] = max([ends[node], *(ends[other] for other in node.late)])
        return max(ends.values())

    def path(self):
        spent, over = collections.Counter(), 0
        node = max(self.nodes, key=lambda node: node.end)
        while True:
            spent[node.rank, node.thing] += node.own
            before = max(node.needs, key=lambda other: other.end, default=None)
            if not before:
                return spent, over
            over += before.rank != node.rank
            node = before


class JobPath(Case):
    def test_collectives(self):
        all_over = 0
        for seed in range(12):
            chance = random.Random(seed)
            job = Training(chance, chance.randrange(2, 6), 25)
            out = self.path(f"nccl{seed}.sonde")
            job.write(out)
            said = self.json(out, "critical", "--limit", "0")[0]
            spent, over = job.path()
            end = max(node.end for node in job.nodes)
            self.assertEqual(job.end(), end, "the model itself")
            self.assertEqual((said["process"], said["length_ns"], said["messages"], said["lost"]), (None, end - START, over, 0))
            ranks, things = collections.Counter(), collections.Counter()
            for (rank, thing), ns in spent.items():
                ranks[rank] += ns
                things[thing] += ns
            self.assertEqual({row["rank"]: row["ns"] for row in said["stays"]}, dict(+ranks))
            got = {"host" if row["category"] == "host" else row["name"]: row for row in said["things"]}
            self.assertEqual({name: row["ns"] for name, row in got.items()}, dict(+things))
            all_over += over
            for name, row in got.items():
                self.assertEqual(row["saving_ns"], min(end - job.end(name), row["ns"] // 2), name)
        self.assertGreater(all_over, 50)

    def test_random(self):
        for seed in range(12):
            chance = random.Random(seed)
            job = Job(chance, chance.randrange(2, 7), 120)
            self.out = self.path(f"{seed}.sonde")
            job.write(self.out)
            paths = self.json(self.out, "critical", "--limit", "0")
            self.assertEqual(len(paths), job.size + 1)
            self.compare(paths[0], job)
            self.assertEqual(sorted(row["rank"] for row in paths[1:]), list(range(job.size)))

    def compare(self, said, job):
        spent, over = job.path()
        self.assertEqual(job.end(), max(job.at), "the model itself")
        self.assertEqual((said["process"], said["rank"], said["ranks"]), (None, None, job.size))
        self.assertEqual((said["length_ns"], said["messages"], said["lost"]), (max(job.at) - START, over, 0))
        ranks, things = collections.Counter(), collections.Counter()
        for (rank, thing), ns in spent.items():
            ranks[rank] += ns
            things[thing] += ns
        self.assertEqual({row["rank"]: row["ns"] for row in said["stays"]}, dict(+ranks))
        for row in said["stays"]:
            host = row["composition"]["host"]
            self.assertEqual((host, host + row["composition"]["message"]), (spent[row["rank"], "host"], row["ns"]))
        got = collections.Counter()
        for row in said["things"]:
            got[row["name"] if row["category"] == "message" else "host"] += row["ns"]
            self.assertIn(row["category"], ("message", "host"))
        self.assertEqual(got, +things)
        for row in said["things"]:
            if row["category"] == "message":
                most = max(spent[rank, row["name"]] for rank in range(job.size))
                self.assertEqual((row["most_ns"], spent[row["most_rank"], row["name"]]), (most, most))
        end, saved = job.end(), 0
        for row in said["things"]:
            if row["saving_ns"] is not None:
                want = end - job.end(row["name"] if row["category"] == "message" else "host")
                self.assertEqual(row["saving_ns"], min(want, row["ns"] // 2), row["name"])
                saved += 1
        self.assertGreater(saved, 3)

    def on_hosts(self, jobs, write, bound_most):
        """Jobs on three hosts, whose clocks are minutes apart and drift: which of two came last is open where they came within the bound of each other, so paths may differ a little."""
        lengths = differs = 0
        for seed, job in enumerate(jobs):
            out = self.path(f"hosts{seed}.sonde")
            write(job, out)
            said = self.json(out, "critical", "--limit", "0")[0]
            (spent, _), end, bound = job.path(), job.end(), said["clock_bound_ns"]
            self.assertTrue(0 < bound < bound_most, bound)
            self.assertLessEqual(abs(said["length_ns"] - (end - START)), 2 * bound)
            self.assertEqual((said["lost"], said["left_out"], sum(row["ns"] for row in said["stays"])), (0, 0, said["length_ns"]))
            axis = self.json(out, "ranks")
            self.assertEqual((axis["hosts"], axis["hosts_apart"]), (3, 0))
            self.assertLessEqual(max(row["begin_ns"] for row in axis["ranks"]), axis["clock_bound_ns"], "all began at the same time")
            self.assertLess(axis["clock_bound_ns"], 2 * bound + 2e-4 * (end - START))
            ranks = collections.Counter()
            for (rank, _), ns in spent.items():
                ranks[rank] += ns
            ranks.subtract({row["rank"]: row["ns"] for row in said["stays"]})
            lengths += end - START
            differs += sum(map(abs, ranks.values())) / 2
            for row in said["things"]:
                if row["saving_ns"] is not None:
                    name = "host" if row["category"] == "host" else row["name"]
                    want = min(end - job.end(name), row["ns"] // 2)
                    self.assertLessEqual(abs(row["saving_ns"] - want), 0.05 * want + bound, name)
        self.assertLess(differs, 0.02 * lengths)

    def test_hosts(self):
        chance = random.Random(3)
        jobs = [Job(random.Random(seed), 6, 200) for seed in range(6)]
        self.on_hosts(jobs, lambda job, out: job.write(out, clocks_of(chance, 3, 1e-4)), 400 * US)

    def test_collectives_on_hosts(self):
        chance = random.Random(4)
        jobs = [Training(random.Random(seed), 6, 60) for seed in range(6)]
        self.on_hosts(jobs, lambda job, out: job.write(out, clocks_of(chance, 3, 1e-4)), 100 * US)

    def test_collectives_missing_on_a_host(self):
        """Of one rank the first is missing: its n-th collectives are not those of the others, by which its clock would be a step too late."""
        class Together(Training):
            send = Training.all_reduce  # what two send each other aligns their clocks, too

        job, out = Together(random.Random(0), 6, 60), self.path("missing.sonde")
        first = next(i for i, call in enumerate(job.calls) if call[:2] == (1, ("AllReduce", 0)))
        job.write(out, [lambda ns, later=later: ns + later * 10**11 for later in range(3)], left_out={first})
        said = self.json(out, "critical", "--limit", "0")[0]
        self.assertEqual((said["clock_bound_ns"], said["left_out"]), (0, 4))
        self.assertEqual({row["rank"] for row in said["stays"]}, {0, 3})
        self.assertIn("4 ranks are left out: nothing aligns the clock of their hosts with the others'.", " ".join(self.ok("report", out, "critical").out.split()))

    def test_kernel_of_another_rank(self):
        """Rank 1 waits for a message that rank 0 sends when its kernel has ended."""
        ms = 1000 * US
        ranks = [Rank(number, 2) for number in range(2)]
        late, other = ranks
        queue = late.process.queue(late.process.device("Device"))
        late.process.enqueue(late.thread, queue, "clEnqueueNDRangeKernel", late.code, "kernel", START + ms, START + 2 * ms, START + 3 * ms, START + 83 * ms, name="slow")
        late.process.call(late.thread, "clFinish", late.code, START + 4 * ms, START + 84 * ms)
        late.message(SEND, "MPI_Send", START + 85 * ms, START + 86 * ms, size=8, comm="w", peer=1, tag=0)
        other.message(RECEIVE, "MPI_Recv", START + 5 * ms, START + 87 * ms, size=8, comm="w", peer=0, tag=0)
        late.at, other.at = START + 86 * ms, START + 87 * ms
        out = self.path("kernel.sonde")
        for rank in ranks:
            rank.write(out)
        said = self.json(out, "critical")[0]
        things = {row["name"]: row for row in said["things"]}
        self.assertEqual((things["slow"]["ns"], things["slow"]["most_rank"], things["slow"]["saving_ns"]), (80 * ms, 0, 40 * ms))
        self.assertEqual({row["rank"]: row["ns"] for row in said["stays"]}, {0: 85 * ms, 1: 2 * ms})
        text = self.ok("report", out, "critical").out
        for words in ("all ranks: 87.0 ms", "Path in", "mostly in", "rank 0 of 2"):
            self.assertIn(words, text)

    def test_a_call_within(self):
        """A call of the GPU's runtime within one of MPI's, which waits before and after it."""
        ms = 1000 * US
        ranks = [Rank(number, 2) for number in range(2)]
        late, other = ranks
        late.message(SEND, "MPI_Send", START + 60 * ms, START + 61 * ms, size=8, comm="w", peer=1, tag=0)
        other.message(RECEIVE, "MPI_Recv", START + 10 * ms, START + 70 * ms, size=8, comm="w", peer=0, tag=0)
        other.process.call(other.thread, "clGetDeviceInfo", other.code, START + 20 * ms, START + 30 * ms)
        late.at, other.at = START + 61 * ms, START + 70 * ms
        out = self.path("within.sonde")
        for rank in ranks:
            rank.write(out)
        job, *paths = self.json(out, "critical")
        self.assertEqual({row["rank"]: row["ns"] for row in job["stays"]}, {0: 60 * ms, 1: 10 * ms})
        alone = next(path for path in paths if path["rank"] == 1)
        self.assertEqual([alone["composition"][name]["ns"] for name in ("host", "message", "api")], [10 * ms, 50 * ms, 10 * ms])


if __name__ == "__main__":
    cli.main()
