"""pieces_test.py - host code in pieces between API calls: what the views say of tests/programs/pieces.c, whose gaps last
50 us to 50 ms, against what the program did.

Only parts of the time are compared: on a busy machine the time is longer than what was computed in it. A figure may be
four of its own standard errors off, which chance leaves in one of 16,000; what fails in one run must hold in the next, so that
a false alarm comes once in a million runs. Before gaps were pooled, blame and the critical path gave 30 to 80 % of the
time in gaps of up to 2 ms to the caller.
"""
import os

import views  # first: it knows where the next are
import cli
from views import PROGRAMS

LENGTHS = (50, 300, 2300, 10000, 50000)
ENOUGH = 30  # samples in a length


def by_name(rows, ns):
    """Name: time, error."""
    sums = {}
    for row in rows:
        before = sums.get(row["name"], (0, 0))
        sums[row["name"]] = (before[0] + ns(row), (before[1] ** 2 + row.get("error_ns", 0) ** 2) ** .5)
    return sums


def names_of(us):
    return ["%s_%d" % (kind, us) for kind in ("much", "little", "gaps")]


def samples_of(samples, us):
    return sum(samples.get(name, (0, 0))[0] for name in names_of(us))


class Pieces(views.Case):
    def measure(self, ms):
        path = self.record(os.path.join(PROGRAMS, "pieces"), str(ms), "print", options=("--trace",), warm=True)
        truth = {line.split()[0]: int(line.split()[1]) for line in self.said.splitlines() if line.startswith(("much_", "little_"))}
        blame = self.json(path, "blame")
        if blame["processes_by_rule"]["calls"]:
            self.skipTest("the CPU side cannot be sampled here")
        shares = self.json(path, "statistics")
        flat = self.json(path, "profile", "--by", "function", "--metric", "samples,cpu")
        tree, rest = [], [blame["scopes"][0]["contexts"]]
        while rest:
            node = rest.pop()
            tree.append({"name": node["name"], **node["exclusive"]})
            rest += node["children"]
        host = [thing for thing in self.json(path, "critical")[0]["things"] if thing["category"] == "host"]
        samples = by_name(flat["rows"], lambda row: row["exclusive"]["samples"] or 0)
        cpu = [{"name": row["name"], "ns": row["exclusive"]["cpu"], "error_ns": row["exclusive"]["cpu_error"]} for row in flat["rows"]]
        found = {"profile": by_name(cpu, lambda row: row["ns"]),
                 "blame's tree": by_name(tree, lambda row: row["waiting_ns"] + row["computing_ns"]),
                 "blame": by_name(blame["scopes"][0]["routines"], lambda row: row["waiting_ns"] + row["computing_ns"]),
                 "statistics": by_name(shares["rows"], lambda row: row["thread_ns"]),
                 "critical": by_name(host, lambda row: row["ns"])}
        return truth, found, samples, shares

    def verdicts(self, truth, found, samples, shares):
        for us in LENGTHS:
            names = names_of(us)
            part = truth[names[0]] / (truth[names[0]] + truth[names[1]])
            count = samples_of(samples, us)
            yield count >= ENOUGH, "%d us: %d samples" % (us, count)
            for view, times in found.items():
                ns = [times.get(name, (0, 0))[0] for name in names]
                error = times.get(names[0], (0, 0))[1] / sum(ns)
                said = "%s, %d us: %.3f +- %.3f is not %.3f" % (view, us, ns[0] / sum(ns), error, part)
                yield abs(ns[0] / sum(ns) - part) <= 4 * error, said
                yield 0 < error < 3 * (part * (1 - part) / count) ** .5, said + ": no such error from %d samples" % count
                yield ns[2] < sum(ns) / 50, "%s, %d us: the caller has %d of %d" % (view, us, ns[2], sum(ns))
            # One thread, nothing to wait for, and a device that idles: these have it from the same place.
            blamed, path = found["blame"][names[0]][0], found["critical"][names[0]][0]
            yield abs(blamed - path) <= blamed / 50, "%d us: blame %d, critical path %d" % (us, blamed, path)
        for row in shares["rows"]:
            yield not row["disagrees"], "by times %d, by samples %s: %s" % (row["sampled_ns"], row["cpu_ns"], row["label"])

    def test_gaps_of_any_length(self):
        ms, wrong = 400, []
        for attempt in range(2):
            found = self.measure(ms)
            while ms < 6400 and min(samples_of(found[2], us) for us in LENGTHS) < ENOUGH:
                ms *= 2  # a thread that others keep from the processor has its samples further apart
                found = self.measure(ms)
            wrong = [said for holds, said in self.verdicts(*found) if not holds]
            if not wrong:
                return
        self.fail("\n".join(wrong))


class InTheKernel(views.Case):
    """System calls of 20 ms beside code of 10 ms: each sample that comes in one is taken as it ends. tests/programs/kernel-time.c
    Before samples were weighed, the gaps of three to four such calls went to the code beside them; before their time was
    counted in whole periods, they had a tenth of that code's."""

    def parts(self, path):
        """View: {name of a function: its time with all that it calls}; and the errors that statistics states."""
        rows = {row["name"]: row for row in self.json(path, "statistics", "--depth", "3")["rows"]}
        found = {"statistics": {name: row["thread_ns"] for name, row in rows.items()}, "profile": {}, "blame": {}, "critical": {}}

        def add(view, name, ns):
            found[view][name] = found[view].get(name, 0) + ns

        def add_below(node):
            add("blame", node["name"], node["inclusive"]["waiting_ns"] + node["inclusive"]["computing_ns"])
            for child in node["children"]:
                add_below(child)
        add_below(self.json(path, "blame")["scopes"][0]["contexts"])
        for row in self.json(path, "profile", "--metric", "cpu")["rows"]:
            add("profile", row["name"], row["inclusive"]["cpu"] or 0)
        for place in self.json(path, "critical")[0]["contexts"]:
            for frame in place["frames"] or ():
                add("critical", frame["name"], place["ns"] if place["category"] == "host" else 0)
        return found, {name: row["error_ns"] for name, row in rows.items()}

    def verdicts(self, truth, found, errors):
        for length, most in ("long", 2), ("alone", 2), ("short", 4):  # where each call is found the scatter is less than stated
            names = ["%s_%s" % (kind, length) for kind in ("kernel", "user")]
            part = truth[names[0]] / sum(truth[name] for name in names)
            for view, times in found.items():
                ns = [times.get(name, 0) for name in names]
                error = errors[names[0]] / sum(found["statistics"][name] for name in names)
                yield (abs(ns[0] / sum(ns) - part) <= most * error,
                       "%s, %s: %.3f +- %.3f is not %.3f" % (view, length, ns[0] / sum(ns), error, part))
                yield 0 < error < .1, "%s: %.3f" % (length, error)
            used = sum(truth[name] for name in names)  # of CPU time, which only these two say
            for view in "statistics", "profile":
                ns = sum(found[view].get(name, 0) for name in names)
                yield abs(ns - used) <= used / 20, "%s, %s: %d ns is not %d" % (view, length, ns, used)

    def test_long_system_calls(self):
        for attempt in range(2):
            path = self.record(os.path.join(PROGRAMS, "kernel-time"), "1200", "print", options=("--trace",), warm=True)
            truth = {line.split()[0]: int(line.split()[1]) for line in self.said.splitlines() if line.startswith(("kernel_", "user_"))}
            if self.json(path, "blame")["processes_by_rule"]["calls"]:
                self.skipTest("the CPU side cannot be sampled here")
            with_timers = "timers" in self.ok("report", path, "ledger").out
            if not with_timers:
                self.skipTest("perf events do not see the kernel's part of a thread's time")
            wrong = [said for holds, said in self.verdicts(truth, *self.parts(path)) if not holds]
            if not wrong:
                return
        self.fail("\n".join(wrong))


if __name__ == "__main__":
    cli.main()
