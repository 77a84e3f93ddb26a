"""counters_test.py - `sonde report DIR counters` of a measurement whose counters are known (tests/cli/live.py)."""
import random
import re

from views import Case, columns  # first: it knows where the next are  # noqa: F401
import cli
import live


class Counters(Case):
    def measurement(self, counted=True):
        """Two kernels from three places on two devices; {(kernel, place, device, metric): values}."""
        chance, p, truth = random.Random(14), live.Process("host-7-1", 7), {}
        p.main = p.thread(7)
        queues = [p.queue(p.device(f"Device {d}")) for d in range(2)]
        module = p.module("/opt/demo/bin/demo")
        at = p.start_ns
        for place in range(3):
            code = p.node(0, p.frame(live.NATIVE, module, 0x1000 * (place + 1)))
            for device, queue in enumerate(queues):
                for kernel in ("add", "scale")[place % 2:]:
                    for _ in range(3):
                        at += 10**6
                        node = p.enqueue(p.main, queue, "cuLaunchKernel", code, "kernel", at, at + 10, at + 400, at + 900, name=kernel)
                    if not counted:
                        continue
                    for metric, unit in (("inst.sum", "inst"), ("busy.avg.pct_of_peak", "%")):
                        values = [chance.randrange(1, 10**9) for _ in range(3)]
                        p.counter(node, device + 1, metric, unit, values)
                        truth[kernel, place, device, metric] = values
        if counted:
            p.counter(node, 1, "", "", [0, 0])
        p.write(self.path("m.sonde"))
        return self.path("m.sonde"), truth

    def test_sums(self):
        path, truth = self.measurement()
        said = self.json(path, "counters")
        self.assertEqual((said["operations"], said["missed"]), (sum(map(len, truth.values())) // 2, 2))
        self.assertEqual(len(said["contexts"]), len(truth))
        wanted = {}
        for (kernel, _, device, metric), values in truth.items():
            wanted.setdefault((kernel, device, metric), []).extend(values)
        got = {(row["kernel"], row["device"], row["metric"]): row for row in said["kernels"]}
        self.assertEqual(set(got), set(wanted))
        for key, values in wanted.items():
            row = got[key]
            self.assertEqual((row["operations"], row["least"], row["most"]), (len(values), min(values), max(values)))
            self.assertAlmostEqual(row["mean"], sum(values) / len(values), delta=1e-6 * row["mean"])
            self.assertEqual(row["total"], sum(values) if key[2] == "inst.sum" else None)
            self.assertEqual(row["unit"], {"inst.sum": "inst"}.get(key[2], "%"))
        by_context = sorted((row["kernel"], row["device"], row["metric"], row["least"], row["most"]) for row in said["contexts"])
        self.assertEqual(by_context, sorted((k, d, m, min(v), max(v)) for (k, _, d, m), v in truth.items()))

    def test_text(self):
        path, truth = self.measurement()
        text = self.ok("report", path, "counters").out
        self.assertIn("busy.avg.pct_of_peak", text)
        self.assertRegex(text, r"%d launches measured, 2 not" % (sum(map(len, truth.values())) // 2))

    def test_there_are_none(self):
        path, _ = self.measurement(counted=False)
        self.assertIn("sonde record --counters", self.ok("report", path, "counters").out)
        self.assertEqual(self.json(path, "counters"), {"operations": 0, "missed": 0, "kernels": [], "contexts": []})

    def test_options(self):
        for options, why in ((("--counters=default", "--values"), "--values each take hold"), (("--counters=default", "--comm"), "--comm each take"),
                             (("--replay",), "--replay is for --counters"), (("--counters=",), "--counters takes"),
                             (("--counters=" + "x" * 2000,), "--counters takes"), (("--light", "--counters=default"), "--light goes without --counters")):
            done = cli.run("record", *options, "true")
            self.assertEqual(done.returncode, 2, options)
            self.assertRegex(done.err, r"\Asonde: [^\n]*%s[^\n]*\n" % re.escape(why))


if __name__ == "__main__":
    cli.main()
