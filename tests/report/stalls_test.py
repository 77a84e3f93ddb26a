"""stalls_test.py - `sonde report DIR stalls` of a measurement whose samples are known (tests/cli/live.py)."""
import random
import re

from views import Case, columns  # first: it knows where the next are  # noqa: F401
import cli
import live

MANGLED = {"_Z3addPfi": "add(float*, int)", "plain": "plain", "_ZN2at4gemmIfEEvPT_": "void at::gemm<float>(float*)"}
REASONS = ("selected", "long_scoreboard", "wait", "barrier", "not_selected", "of_tomorrow")


class Stalls(Case):
    def measurement(self, sampled=True, damaged=False):
        """Three functions on two devices, a kernel of them from two places; the rows in any order. [(device, function, file, line, code, offset,
        reason, samples, idle)]."""
        chance, p, truth = random.Random(7), live.Process("host-7-1", 7), []
        p.main = p.thread(7)
        queues = [p.queue(p.device(f"Device {d}")) for d in range(2)]
        module = p.module("/opt/demo/bin/demo")
        at = p.start_ns
        for place, ns in enumerate((900, 300)):
            code = p.node(0, p.frame(live.NATIVE, module, 0x1000 * (place + 1)))
            for device, queue in enumerate(queues):
                at += 10**6
                p.enqueue(p.main, queue, "cuLaunchKernel", code, "kernel", at, at + 10, at + 400, at + 400 + ns, name="_Z3addPfi")
        for device in (1, 2):
            for name in MANGLED:
                for code in (11, 12) if name == "plain" else (13,):  # two pieces of code have a function of this name
                    for offset in range(0, 0x80, 0x10):
                        file, line = ("/src/add.cu", 10 + offset // 0x30) if name == "_Z3addPfi" else ("", 0)
                        for reason in chance.sample(REASONS, 3):
                            samples = chance.randrange(1, 10**6)
                            truth.append((device, name, file, line, code, offset, reason, samples, chance.randrange(samples + 1)))
        chance.shuffle(truth)
        for device, name, file, line, code, offset, reason, samples, idle in truth if sampled else ():
            p.stall(device, name, reason, samples, idle, file, line, code, offset)
        if sampled:
            for kind, count in ((1, 100), (2, 20), (3, 3)):
                p.stall(1, "", "", count, kind=kind)
        if damaged:  # a string that is not there, a device that is not, a kind of tomorrow
            p.add("STALL", 77, 4000000, 4000000, 1, 4000000, 65536, 0, 0, 1, 0, 5, 9)
            p.stall(1, "", "", 4, kind=9)
        p.write(self.path("m.sonde"))
        return self.path("m.sonde"), truth

    @staticmethod
    def sums(truth, key):
        found = {}
        for row in truth:
            of = found.setdefault(key(row), {"samples": 0, "issued_samples": 0, "idle_samples": 0, "reasons": {}})
            _, _, _, _, _, _, reason, samples, idle = row
            of["samples"] += samples
            of["idle_samples"] += idle
            if reason == "selected":
                of["issued_samples"] += samples
            else:
                had = of["reasons"].get(reason, (0, 0))
                of["reasons"][reason] = (had[0] + samples, had[1] + idle)
        return found

    def compare(self, rows, wanted, key, whole):
        got = {}
        for row in rows:
            reasons = [(r["reason"], r["samples"], r["idle_samples"]) for r in row["reasons"]]
            self.assertEqual([r[1] for r in reasons], sorted((r[1] for r in reasons), reverse=True))
            self.assertAlmostEqual(row["share"], row["samples"] / whole)
            got[key(row)] = {**{name: row[name] for name in ("samples", "issued_samples", "idle_samples")}, "reasons": {r[0]: r[1:] for r in reasons}}
        self.assertEqual(len(got), len(rows))
        self.assertEqual(got, wanted)
        self.assertEqual([row["samples"] for row in rows], sorted((row["samples"] for row in rows), reverse=True))

    def test_sums(self):
        path, truth = self.measurement()
        said, whole = self.json(path, "stalls"), sum(row[7] for row in truth)
        self.assertEqual([said[name] for name in ("cycles", "samples", "elsewhere_samples", "dropped_samples", "lost_samples")], [65536, whole, 100, 20, 3])
        everything = self.sums(truth, lambda _: 0)[0]
        self.assertEqual(said["issued_samples"], everything["issued_samples"])
        self.assertEqual({r["reason"]: (r["samples"], r["idle_samples"]) for r in said["reasons"]}, everything["reasons"])
        self.assertEqual([r["reason"] for r in said["reasons"] if r["meaning"] is None], ["of_tomorrow"])
        self.compare(said["functions"], self.sums(truth, lambda r: (r[0] - 1, MANGLED[r[1]])), lambda r: (r["device"], r["function"]), whole)
        self.compare(said["lines"], self.sums(truth, lambda r: (r[0] - 1, MANGLED[r[1]], r[2] or None, r[3] or None)),
                     lambda r: (r["device"], r["function"], r["file"], r["line"]), whole)
        # Which piece of code an instruction is of is not shown; two of the same function and offset are two rows.
        instructions = [(r["device"], r["function"], r["offset"], r["samples"]) for r in said["instructions"]]
        wanted = self.sums(truth, lambda r: (r[0] - 1, MANGLED[r[1]], r[5], r[4]))
        self.assertEqual(sorted(instructions), sorted((*key[:3], value["samples"]) for key, value in wanted.items()))

    def test_contexts(self):
        path, truth = self.measurement()
        said = self.json(path, "stalls")
        add = sum(row[7] for row in truth if row[1] == "_Z3addPfi")
        self.assertEqual([(c["function"], c["operations"], c["device_ns"], c["exact"]) for c in said["contexts"]],
                         [("add(float*, int)", 2, 1800, False), ("add(float*, int)", 2, 600, False)])
        for context, part in zip(said["contexts"], (.75, .25)):
            self.assertAlmostEqual(context["samples"], add * part)
            self.assertEqual(len(context["frames"]), 1)

    def test_text(self):
        path, truth = self.measurement()
        text = self.ok("report", path, "stalls").out
        text = " ".join(text.split())
        for wanted in ("add(float*, int) on 0 Device 0", "add.cu:10 in add()", "no lines of plain()",
                       "long_scoreboard: waits for data of global, local or texture memory", "one of each multiprocessor every 65,536 cycles",
                       "100 more of code", "23 are missing"):
            self.assertIn(wanted, text)
        self.assertIn("add() + 0x10 add.cu:10", " ".join(self.ok("report", path, "stalls", "--limit", "0").out.split()))
        self.assertEqual(len(re.findall(r"^\w.* \+ 0x", self.ok("report", path, "stalls", "--limit", "3").out, re.M)), 3)
        self.assertEqual(len(self.json(path, "stalls")["instructions"]), len({(r[0], r[1], r[4], r[5]) for r in truth}))

    def test_advice(self):
        """Of the kernel's 10 ms three quarters of the samples saw nothing issued; another one has too few samples, a third too few such cycles."""
        p = live.Process("host-7-1", 7)
        p.main, ms = p.thread(7), 10**6
        queues = [p.queue(p.device(f"Device {d}")) for d in range(2)]
        code = p.node(0, p.frame(live.PYTHON, p.python("step", "/demo/step.py", 7)))
        at = p.start_ns + ms
        for queue in queues:
            for name in ("stalls", "seldom", "busy"):
                p.enqueue(p.main, queue, "cuLaunchKernel", code, "kernel", at, at + 10, at + 400, at + 400 + 10 * ms, name=name)
                at += 11 * ms
        p.stall(2, "stalls", "long_scoreboard", 7000, 6000, "/demo/k.cu", 6)
        p.stall(2, "stalls", "selected", 1000, 0, "/demo/k.cu", 5)
        p.stall(2, "seldom", "wait", 900, 900)
        p.stall(2, "busy", "wait", 5000, 2400)
        p.write(self.path("m.sonde"))
        [found] = [a for a in self.json(self.path("m.sonde"), "advice")["advice"] if a["rule"] == "stalled_kernels"]
        self.assertEqual((found["count"], found["saving_ns"], found["device"]), (1, 7500000, 1))
        text = " ".join(self.ok("report", self.path("m.sonde"), "advice").out.split())
        self.assertIn("1 launch on device 1, 10.0 ms in total: in 75.0 % of the samples their scheduler issued nothing; most of their warps were held up by "
                      "long_scoreboard, 87.5 % (waits for data of global, local or texture memory), most of all at k.cu:6", text)

    def test_damage(self):
        path, truth = self.measurement(damaged=True)
        said, whole = self.json(path, "stalls"), sum(row[7] for row in truth)
        self.assertEqual((said["samples"], said["lost_samples"]), (whole + 5, 7))
        self.assertIn("unknown", self.ok("report", path, "stalls").out)

    def test_there_are_none(self):
        path, _ = self.measurement(sampled=False)
        self.assertIn("sonde record --pc", self.ok("report", path, "stalls").out)
        said = self.json(path, "stalls")
        self.assertEqual((said["cycles"], said["samples"], said["functions"]), (None, 0, []))

    def test_options(self):
        for options, why in ((("--pc", "--values"), "--pc and --values each take hold"), (("--pc", "--comm"), "--pc and --comm"),
                             (("--pc", "--counters=default"), "--pc and --counters"), (("--pc", "--counter-series=1ms"), "--pc and --counter-series"),
                             (("--pc=1000",), "a power of two, not 1000"), (("--pc=16",), "must be between 32"), (("--pc=many",), "needs a number"),
                             (("--pc", "--delay=1s"), "the whole run: without --delay"), (("--pc", "--start-off"), "without --start-off"),
                             (("--pc", "--capture-range=cuda"), "without --capture-range"), (("--light", "--pc"), "--light goes without --pc")):
            done = cli.run("record", *options, "true")
            self.assertEqual(done.returncode, 2, options)
            self.assertRegex(done.err, r"\Asonde[^\n]*: [^\n]*%s[^\n]*\n" % re.escape(why))


if __name__ == "__main__":
    cli.main()
