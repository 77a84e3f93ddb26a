"""partners_test.py - the request `partners`: with whom each call of a random job exchanged what, and who waited for whom."""
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("cli", "report"):
    sys.path.insert(0, os.path.join(HERE, "..", folder))
import asking  # noqa: E402
import cli  # noqa: E402
from job_path_test import Job  # noqa: E402
from messages_nccl_test import Job as Kernels, Recorded  # noqa: E402
from messages_test import CALL, START, SEND  # noqa: E402

ASK = os.path.join(cli.BUILD, "tests", "sonde-ask")


class Partners(cli.Case):
    def expected(self, job):
        """[step] -> {(rank, begin, end, kind, decided, waited)}."""
        of, single, alike = {}, {}, {}
        for step, kind, more in job.rows:
            of.setdefault(step, set())
            if "tag" in more:
                single.setdefault(more["tag"], []).append((step, kind, more))
            elif kind != CALL:
                alike.setdefault(job.group[step], []).append(step)
        for (send, _, _), (last, _, more) in single.values():
            begin = next((step for step, kind, _ in job.rows if kind == CALL and step.rank == last.rank and step.enter == more["posted"]), None)
            of[send].add((last.rank, last.enter, last.leave, "send", send.waited(), last.waited()))
            of[last].add((send.rank, send.enter, send.leave, "receive", last.waited(), send.waited()))
            if begin:  # it began what that ended
                of[begin].add((send.rank, send.enter, send.leave, "receive", (begin if begin.needs else last).waited(), send.waited()))
        for steps in alike.values():
            for step in steps:
                for other in steps:
                    if other is not step:
                        of[step].add((other.rank, other.enter, other.leave, None, job.waited_for(step, other), job.waited_for(other, step)))
        return of

    def test_random(self):
        for seed in range(3):
            chance = random.Random(seed)
            job = Job(chance, 4, 60)
            path = self.path(f"{seed}.sonde")
            job.write(path)
            expected = self.expected(job)
            run, = asking.ask(ASK, path, ["run"])
            numbers = {p["rank"]: (p["process"], next(lane["lane"] for lane in p["lanes"] if lane["traces"].get("messages"))) for p in run.json()["processes"]}
            steps = list(expected)
            answers = asking.ask(ASK, path, ["partners?process=%d&lane=%d&begin=%d" % (*numbers[step.rank], step.enter) for step in steps])
            for step, answer in zip(steps, answers):
                said = answer.json()
                self.assertEqual((said["name"], said["begin_ns"], said["end_ns"], said["left_out"]), (step.name, step.enter, step.leave, 0))
                got = {(p["rank"], p["begin_ns"], p["end_ns"], p["kind"] if p["kind"] in ("send", "receive") else None, p["decided"], p["waited"]) for p in said["partners"]}
                self.assertEqual(got, expected[step], step.name)
                for partner in said["partners"]:
                    self.assertEqual((partner["process"], partner["lane"]), numbers[partner["rank"]])
                if any(partner["decided"] for partner in said["partners"]) and step.waited():
                    self.assertEqual(said["wait_ns"], step.until - step.enter)

    def test_none(self):
        job, path = Job(random.Random(1), 2, 5), self.path("none.sonde")
        job.write(path)
        outside, wrong = asking.ask(ASK, path, [f"partners?process=0&lane=1&begin={START}", "partners?process=9&lane=1&begin=0"])
        self.assertEqual((outside.status, wrong.status), (404, 404))
        self.assertIn(b"no call of MPI, and no collective of NCCL, there", outside.bytes)

    def lanes(self, path):
        """{rank: (process, communicator's lane)}."""
        run, = asking.ask(ASK, path, ["run"])
        return {p["rank"]: (p["process"], next(lane["lane"] for lane in p["lanes"] if (lane["name"] or "").startswith("NCCL "))) for p in run.json()["processes"]}

    def test_random_collectives(self):
        """Of NCCL: each with all others of its meeting; who waited, did so for the last that it needed."""
        kinds = {"AllReduce": "all-to-all", "Broadcast": "from root", "Reduce": "to root", "Send": "send", "Recv": "receive"}
        for seed in range(4):
            chance = random.Random(seed)
            job, path = Recorded(chance, chance.randrange(2, 6), 25), self.path(f"nccl{seed}.sonde")
            job.write(path)
            numbers = self.lanes(path)
            asked = [(meeting, rank) for meeting in job.meetings for rank in meeting]
            waits = {(rank, meeting[rank][1]): max(meeting[rank][2], key=lambda other: meeting[other][1][0], default=None) for meeting, rank in asked}
            late = lambda meeting, rank, other: other is not None and waits[rank, meeting[rank][1]] == other and meeting[other][1][0] > meeting[rank][1][0]
            middle = lambda meeting, rank: sum(meeting[rank][1]) // 2
            answers = asking.ask(ASK, path, ["partners?process=%d&lane=%d&begin=%d" % (*numbers[rank], middle(meeting, rank)) for meeting, rank in asked])
            for (meeting, rank), answer in zip(asked, answers):
                said, (function, kernel, _) = answer.json(), meeting[rank]
                self.assertEqual((said["name"], said["begin_ns"], said["end_ns"], said["left_out"]), (f"{function} float32", *kernel, 0))
                self.assertEqual([(p["rank"], p["name"], p["begin_ns"], p["end_ns"], p["kind"], p["tag"], p["bytes"], p["decided"], p["waited"]) for p in said["partners"]],
                                 [(other, f"{meeting[other][0]} float32", *meeting[other][1], kinds[function], None, 4096, late(meeting, rank, other), late(meeting, other, rank))
                                  for other in sorted(meeting) if other != rank])
                last = waits[rank, kernel]
                self.assertEqual(said["wait_ns"], min(meeting[last][1][0], kernel[1]) - kernel[0] if late(meeting, rank, last) else 0)
                for partner in said["partners"]:
                    self.assertEqual((partner["process"], partner["lane"]), numbers[partner["rank"]])

    def test_several_in_one_kernel(self):
        """All of them are told, with the same wait."""
        job, path = Kernels(2), self.path("group.sonde")
        job.all_reduce((10, 40), 50, together=("AllReduce", "AllGather"))
        job.write(path)
        numbers = self.lanes(path)
        one, between = asking.ask(ASK, path, ["partners?process=%d&lane=%d&begin=%d" % (*numbers[0], START + ms * 10**6) for ms in (45, 5)])
        self.assertEqual([(p["name"], p["decided"]) for p in one.json()["partners"]], [("AllReduce float32", True), ("AllGather float32", True)])
        self.assertEqual((one.json()["wait_ns"], between.status), (30 * 10**6, 404))


if __name__ == "__main__":
    cli.main()
