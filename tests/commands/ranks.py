"""Ranks of a parallel job: read in each process, shown wherever processes are named."""
import json
import os
import subprocess
import unittest

from common import InFolder, main, run

PROGRAM = os.path.join(os.environ["BUILD"], "bin", "examples", "vector_add")
NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK",
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
