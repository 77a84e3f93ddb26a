"""path_test.py - the request `path`: its steps are those that the view `critical` sums up, and lie on the axis of the run."""
import json
import os
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import asking  # noqa: E402
import cli  # noqa: E402
import live  # noqa: E402
import scenes  # noqa: E402

ASK = os.path.join(cli.BUILD, "tests", "sonde-ask")
SYNTH = os.path.join(cli.BUILD, "tests", "sonde-synth")
TYPES = {"u64": "Q", "u32": "I", "u16": "H", "u8": "B"}


def columns(data):
    """The header, and rows as dicts."""
    if data[:8] != b"SNDCOLS1":
        raise AssertionError(data[:8])
    length, = struct.unpack_from("<I", data, 8)
    header, at, values = json.loads(data[16:16 + length]), (16 + length + 7) & ~7, {}
    for column in header["columns"]:
        form = "<%d%s" % (column["count"], TYPES[column["type"]])
        values[column["name"]] = struct.unpack_from(form, data, at)
        at = (at + struct.calcsize(form) + 7) & ~7
    return header, [dict(zip(values, row)) for row in zip(*values.values())]


class Path(cli.Case):
    def path_of(self, path, process=0):
        """None: through all ranks."""
        answer, = asking.ask(ASK, path, ["path?job" if process is None else f"path?process={process}"])
        self.assertEqual((answer.status, answer.type), (200, "application/octet-stream"), answer.bytes[:300])
        return columns(answer.bytes)

    def check(self, path):
        """Against the view, of all processes; returns the rows of the first, with words."""
        run, critical = (answer.json() for answer in asking.ask(ASK, path, ["run", "view/critical"]))
        first = None
        for there in critical:
            process = next(p for p in run["processes"] if p["name"] == there["process"])
            header, rows = self.path_of(path, process["process"])
            self.assertEqual(header["process"], process["process"])
            axis = [there[key] - process["origin_ns"] for key in ("begin_ns", "end_ns")]
            self.assertEqual([header["from_ns"], header["to_ns"]], axis)
            self.assertEqual([rows[0]["begin_ns"], rows[-1]["end_ns"]], axis)
            for a, b in zip(rows, rows[1:]):
                self.assertEqual(a["end_ns"], b["begin_ns"])
            self.assertEqual({row["process"] for row in rows}, {process["process"]})
            sums = dict.fromkeys(header["categories"], 0)
            for row in rows:
                sums[header["categories"][row["category"]]] += row["end_ns"] - row["begin_ns"]
            self.assertEqual(sums, {name: part["ns"] for name, part in there["composition"].items()})
            self.things(header, rows, there)
            if first is None or process["process"] == 0:
                first = [dict(row, label=header["strings"][row["label"]], category=header["categories"][row["category"]]) for row in rows]
        return first

    def things(self, header, rows, there):
        """Operations and API calls by name: what the view has as activities."""
        sums = {}
        for row in rows:
            category = header["categories"][row["category"]]
            if category in ("kernel", "api"):
                name = header["names"][row["label"]]
                key = (category, name[5:] if name.startswith("void ") else name)
                sums[key] = sums.get(key, 0) + row["end_ns"] - row["begin_ns"]
        self.assertEqual(sums, {(t["category"], t["name"]): t["ns"] for t in there["things"] if t["category"] in ("kernel", "api")})

    def test_a_known_one(self):
        """One kernel, for which the program waits: host code (before the first call its outermost frame), the call, the launch delay, the kernel, the rest of the wait."""
        path = self.path("one.sonde")
        live.write_manifest(path, ["one"])
        p = live.Process("host-1-0", 1)
        thread, queue, t = p.thread(1), p.queue(p.device("GPU")), p.start_ns
        p.enqueue(thread, queue, "clEnqueueNDRangeKernel", scenes.stack(p), "kernel", t + 1000, t + 1100, t + 1300, t + 51300, name="<b>work")
        p.call(thread, "clFinish", scenes.stack(p), t + 1400, t + 51350)
        p.wait(thread, t + 1400, queue=queue)
        p.write(path)
        rows = self.check(path)
        self.assertEqual([(row["category"], row["begin_ns"], row["end_ns"], row["lane"]) for row in rows],
                         [("host", 0, 1000, thread), ("api", 1000, 1100, thread), ("launch", 1100, 1300, queue), ("kernel", 1300, 51300, queue),
                          ("api", 51300, 51350, thread)])
        self.assertEqual([row["label"] for row in rows], ["<module> main.py", "clEnqueueNDRangeKernel", "launch delay", "<b>work", "clFinish"])

    def test_through_all_ranks(self):
        """Rank 1 waits for a message of rank 0's: the steps go over to it, on the axis of the run, and the call of MPI is among the thread's ranges."""
        path, ms = self.path("job.sonde"), 1000 * 1000
        ranks = []
        for number in range(2):
            p = live.Process(f"host-{number + 1}-0", number + 1, start_ns=10**12 + number * ms)
            p.rank = (number + 1, number + 1, 2)
            ranks.append((p, p.thread(number + 1), scenes.stack(p)))
        t = 10**12
        (a, a_thread, a_code), (b, b_thread, b_code) = ranks
        a.message(a_thread, 1, "MPI_Send", a_code, t + 40 * ms, t + 41 * ms, size=8, comm="w", peer=1, tag=0)
        b.message(b_thread, 2, "MPI_Recv", b_code, t + 10 * ms, t + 43 * ms, size=8, comm="w", peer=0, tag=0)
        for p, _, _ in ranks:
            p.stop_ns = t + 50 * ms
            p.write(path)
        header, rows = self.path_of(path, None)
        self.assertEqual([(header["categories"][row["category"]], row["begin_ns"], row["end_ns"], row["lane"], row["process"]) for row in rows],
                         [("host", 0, 40 * ms, a_thread, 0), ("message", 40 * ms, 43 * ms, b_thread, 1)])
        self.assertEqual((header["process"], header["from_ns"], header["to_ns"], header["strings"][rows[1]["label"]]), (0, 0, 43 * ms, "MPI_Recv"))
        lanes, hit, none = asking.ask(ASK, path, [f"timeline?exact&lanes=1:{b_thread}", "next?routine=%5BMPI_Recv%5D&at=0", "path?process=7"])
        self.assertIn(b'"[MPI_Recv]"', lanes.bytes)
        self.assertEqual((hit.json()["hit"]["process"], hit.json()["hit"]["begin_ns"], hit.json()["hit"]["end_ns"]), (1, 10 * ms, 43 * ms))
        self.assertEqual(none.status, 404)

    def test_no_ranks(self):
        path = scenes.demo(self.folder)[0]
        answer, = asking.ask(ASK, path, ["path?job"])
        self.assertEqual(answer.status, 404)
        self.assertIn("no ranks wait for each other", answer.bytes.decode())

    def test_of_scenes(self):
        for scene in (scenes.demo, scenes.annotated, scenes.sampled):
            self.check(scene(self.folder)[0])

    def test_of_many(self):
        path = self.path("synth.sonde")
        subprocess.run([SYNTH, "--operations", "20000", "--lanes", "40", "--threads", "8", "--processes", "3", "--cpu", "100", "--waits", "5", path],
                       check=True, stdout=subprocess.DEVNULL)
        self.check(path)

    def test_what_is_not_there(self):
        path = scenes.demo(self.folder)[0]
        profile = scenes.profile_only(self.folder)[0]
        for measured, request, status, option in ((path, "path?process=2", 404, "process"), (path, "path?process=-1", 400, "process"), (path, "path?lane=1", 400, None),
                                                  (profile, "path", 404, None)):
            answer, = asking.ask(ASK, measured, [request])
            self.assertEqual((answer.status, answer.type, answer.json()["error"]["option"]), (status, "application/json", option), answer.bytes)


if __name__ == "__main__":
    cli.main()
