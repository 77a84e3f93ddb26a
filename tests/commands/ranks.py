"""Ranks of a parallel job: read in each process, shown wherever processes are named."""
import json
import os
import re
import shutil
import signal
import subprocess
import unittest

from common import InFolder, main, run

PROGRAM = os.path.join(os.environ["BUILD"], "bin", "examples", "vector_add")
SONDE = os.path.join(os.environ["BUILD"], "bin", "sonde")
NAMES = ("PMIX_NAMESPACE", "RANK", "WORLD_SIZE", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK",
         "SLURM_PROCID")
PLAIN = {k: v for k, v in os.environ.items() if k not in NAMES}
JOB = """for rank in 0 1 2; do
    OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_LOCAL_RANK=$((rank % 2)) "$1" &
done
wait
"""


class Ranks(InFolder):
    def setUp(self):
        super().setUp()
        if not os.access(PROGRAM, os.X_OK):
            self.skipTest("the examples are not built")
        if subprocess.run([PROGRAM], capture_output=True).returncode:
            self.skipTest("no OpenCL device here")

    def view(self, path, name):
        return json.loads(run("report", path, name, "--json").stdout)

    def test_one_measurement_of_a_job(self):
        self.assertEqual(run("record", "-o", "job.sonde", "--", "sh", "-c", JOB, "sh", PROGRAM, env=PLAIN).returncode, 0)
        expected = [(0, 0, 3), (1, 1, 3), (2, 0, 3)]
        processes = self.view("job.sonde", "ledger")["processes"]
        self.assertEqual(sorted((p["rank"], p["local_rank"], p["ranks"]) for p in processes), expected)
        by_name = {p["name"]: p["rank"] for p in processes}
        for view in (self.view("job.sonde", "lanes"), self.view("job.sonde", "summary")["devices"]):
            self.assertEqual({(row["process"], row["rank"]) for row in view}, set(by_name.items()))
        ranks = self.view("job.sonde", "ranks")
        self.assertEqual((ranks["size"], ranks["missing"], [row["rank"] for row in ranks["ranks"]]), (3, [], [0, 1, 2]))
        self.assertEqual([row["operations"] for row in ranks["ranks"]], [4, 4, 4])  # as the example makes
        self.assertEqual({row["ranks"] for row in ranks["contexts"] if row["kind"] == "device"}, {3})
        text = run("report", "job.sonde", env=dict(PLAIN, COLUMNS="300")).stdout
        lanes = run("report", "job.sonde", "lanes", env=dict(PLAIN, COLUMNS="300")).stdout
        for name, rank in by_name.items():
            self.assertRegex(text, rf"rank {rank}: 0 .* \({name}\)")
            self.assertRegex(lanes, rf"rank {rank}: thread \d+ .*\({name}\)")
        export = json.loads(run("export", "job.sonde", "--to", "json", "-o", "-").stdout)
        self.assertEqual(sorted((p["rank"], p["local_rank"], p["ranks"]) for p in export["processes"]), expected)
        self.assertEqual(run("export", "job.sonde", "--to", "perfetto", "-o", "trace", "-q").returncode, 0)
        with open("trace", "rb") as file:
            trace = file.read()
        for name, rank in by_name.items():
            self.assertIn(f"rank {rank} of 3: vector_add ({name})".encode(), trace)

    def test_two_jobs_in_one_measurement(self):
        """One after the other, each rank with children: of one job they are one rank."""
        job = 'for job in %s; do for rank in 0 1; do PMIX_NAMESPACE=$job OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=$rank sh -c "$1; $1" & done; wait; done'
        for name, jobs, twice in (("one", "17", []), ("two", "17 18", [0, 1])):
            self.assertEqual(run("record", "-o", name, "--", "sh", "-c", job % jobs, "sh", PROGRAM, env=PLAIN).returncode, 0)
            ranks = self.view(name, "ranks")
            self.assertEqual((ranks["twice"], [row["processes"] for row in ranks["ranks"]]), (twice, [2 * len(jobs.split())] * 2))
        self.assertIn("processes of several jobs (17, 18) say that they are rank 0", run("report", "two", "ranks").stdout)

    # ---- a record for each rank, and one measurement ------------------------------------------------------------

    def start(self, rank, size, *program, job="17", options=("-o", "job.sonde")):
        environment = dict(PLAIN, PMIX_NAMESPACE=job, OMPI_COMM_WORLD_RANK=str(rank), OMPI_COMM_WORLD_SIZE=str(size))
        return subprocess.Popen([SONDE, "record", *options, "--", *(program or (PROGRAM,))], env=environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True)

    def end(self, *records):
        """What they said, of those that said something."""
        said = [record.communicate(timeout=600) for record in records]
        for out, _ in said:
            self.assertIn(out, ("", "1 sums of 100000 elements, 0 wrong\n"))
        return [err for _, err in said if err]

    def is_whole(self, path, ranks, size):
        with open(os.path.join(path, "manifest.json")) as file:
            manifest = json.load(file)
        found = self.view(path, "ranks")
        self.assertEqual(([row["rank"] for row in found["ranks"]], found["size"]), (ranks, size))
        self.assertEqual({row["operations"] for row in found["ranks"]}, {4})
        left = [name for folder, _, names in os.walk(path) for name in names if name == "live.sonde" or name.endswith(".tmp")]
        self.assertEqual(left, [])
        return manifest

    def test_a_record_for_each_rank(self):
        said = self.end(*[self.start(rank, 5) for rank in range(5)])
        self.assertEqual(len(said), 1, said)  # by the last one, of all
        self.assertRegex(said[0], r"\Asonde: 20 operations, 0 dropped, 0 unmatched, .*; job\.sonde ")
        manifest = self.is_whole("job.sonde", list(range(5)), 5)
        self.assertEqual([line["ranks"]["rank"] for line in manifest["job"]], list(range(5)))
        self.assertEqual(manifest["exit"], {"status": 0})
        self.assertEqual(os.listdir("."), ["job.sonde"])
        self.assertEqual(len(self.end(*[self.start(rank, 5) for rank in range(5)])), 1)  # a second run of the same job
        self.assertEqual(sorted(os.listdir(".")), ["job-2.sonde", "job.sonde"])
        self.end(*[self.start(rank, 5, options=("-f", "-o", "job.sonde")) for rank in range(5)])  # and a third
        self.assertEqual(sorted(os.listdir(".")), ["job-2.sonde", "job.sonde"])
        for path in "job.sonde", "job-2.sonde":
            self.is_whole(path, list(range(5)), 5)
            self.assertEqual({row["processes"] for row in self.view(path, "ranks")["ranks"]}, {1})

    def test_another_job_has_another_folder_or_replaces_it(self):
        self.end(*[self.start(rank, 3) for rank in range(3)])
        self.end(*[self.start(rank, 3, job="18") for rank in range(3)])
        self.assertEqual(sorted(os.listdir(".")), ["job-2.sonde", "job.sonde"])
        for path in os.listdir("."):
            self.is_whole(path, [0, 1, 2], 3)
        self.end(*[self.start(rank, 4, job="19", options=("-f", "-o", "job.sonde")) for rank in range(4)])
        self.assertEqual(sorted(os.listdir(".")), ["job-2.sonde", "job.sonde"])
        self.is_whole("job.sonde", [0, 1, 2, 3], 4)

    def test_ranks_that_fail_are_killed_or_do_nothing(self):
        held = self.start(0, 5, "sh", "-c", f"{PROGRAM}; echo there; exec sleep 1000")
        self.assertIn("0 wrong", held.stdout.readline())
        self.assertEqual(held.stdout.readline(), "there\n")
        failed = self.start(1, 5, "sh", "-c", f"{PROGRAM}; exit 7")
        nothing = self.start(2, 5, "true")
        self.assertEqual(self.end(nothing, failed), [])
        self.assertEqual((failed.returncode, nothing.returncode), (7, 0))
        report = self.view("job.sonde", "ranks")  # while it is being written
        self.assertEqual(([row["rank"] for row in report["ranks"]], report["missing"]), ([0, 1], [2, 3, 4]))
        fine = self.start(3, 5)
        self.assertEqual(self.end(fine), [])
        os.killpg(held.pid, signal.SIGKILL)  # the record, and its program
        held.communicate()
        last = self.start(4, 5)
        self.assertEqual(len(self.end(last)), 1)
        manifest = self.is_whole("job.sonde", [0, 1, 3, 4], 5)
        self.assertEqual({line["ranks"]["rank"]: line["exit"]["status"] for line in manifest["job"]}, {1: 7, 2: 0, 3: 0, 4: 0})
        self.assertEqual(manifest["exit"], {"status": 7})
        self.assertEqual(self.view("job.sonde", "ranks")["missing"], [2])

    def test_a_program_that_is_not_there(self):
        records = [self.start(rank, 3, "./nowhere") for rank in range(3)]
        said = self.end(*records)
        self.assertEqual(([record.returncode for record in records], len(said)), ([127] * 3, 3))
        self.assertEqual(os.listdir("."), [])

    def launched_by(self, mpirun, *options):
        if not shutil.which(mpirun):
            self.skipTest(f"{mpirun} is not installed")
        environment = dict(PLAIN, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        done = subprocess.run([mpirun, *options, "-n", "3", SONDE, "record", "-o", "job.sonde", "--", PROGRAM], env=environment, capture_output=True, text=True, timeout=600)
        self.assertEqual((done.returncode, done.stdout), (0, "1 sums of 100000 elements, 0 wrong\n" * 3), done.stderr)
        self.assertEqual(len(re.findall("^sonde: 12 operations, 0 dropped, 0 unmatched", done.stderr, re.M)), 1, done.stderr)
        self.assertEqual(os.listdir("."), ["job.sonde"])
        self.is_whole("job.sonde", [0, 1, 2], 3)

    def test_openmpi(self):
        self.launched_by("mpirun.openmpi", "--oversubscribe")

    def test_mpich(self):
        self.launched_by("mpirun.mpich")

    def test_a_measurement_per_rank(self):
        environment = dict(PLAIN, SLURM_PROCID="5", SLURM_NTASKS="8", SLURM_LOCALID="1")
        self.assertEqual(run("record", "-o", "heat-%{rank}.sonde", "--", PROGRAM, env=environment).returncode, 0)
        self.assertIn("1 process (rank 5 of 8)", run("report", "heat-5.sonde").stdout)
        with open("heat-5.sonde/manifest.json") as file:
            self.assertEqual(json.load(file)["ranks"], {"rank": 5, "size": 8, "local_rank": 1})

    def test_a_rank_in_the_name_that_nobody_gave(self):
        r = run("record", "-o", "x-%{rank}.sonde", "--", PROGRAM, env=PLAIN)
        self.assertEqual(r.returncode, 125)
        self.assertOneLine(r.stderr)
        self.assertIn("no launcher", r.stderr)
        self.assertEqual(os.listdir("."), [])

    def test_no_rank(self):
        run("record", "-o", "plain.sonde", "--", PROGRAM, env=PLAIN)
        process = self.view("plain.sonde", "ledger")["processes"][0]
        self.assertEqual((process["rank"], process["local_rank"], process["ranks"]), (None, None, None))
        self.assertNotRegex(run("report", "plain.sonde").stdout, r"\brank\b")


if __name__ == "__main__":
    main()
