#!/usr/bin/env python3
"""Counters of the CPU (record --cpu-counters), of programs whose page faults are known.

    counters.py --sonde build/bin/sonde --faults faults --refuse refuse --work DIR --cache DIR CASE

The program says how many faults each function took, by getrusage of the thread, which the kernel
counts by other code than that of perf events. Bounds of a share p come from the number of samples n:
six times sqrt(p (1 - p) / n).
"""
import argparse
import json
import math
import os
import resource
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SKIP = 77
FUNCTIONS = ("touch_a", "touch_b", "touch_c")
# What Sonde's own code takes in the program's threads, and what comes while an event is opened.
FEW = 60


class Failure(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Failure(text)


class Measured:
    """A recorded run: what the program printed, and the view `counters`. `warm`: its kernels were compiled by a run before."""

    def __init__(self, options, command, *record, first=(), limit=None, warm=False):
        path = os.path.join(options.work, f"counters-{options.case}.sonde")
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(options.work, exist_ok=True)
        os.makedirs(options.cache, exist_ok=True)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("SONDE_", "OPENCL_LAYERS", "LD_PRELOAD"))}
        self.env["POCL_CACHE_DIR"] = options.cache
        if warm:
            subprocess.run(command, env=self.env, capture_output=True, check=False)
        set_limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))) if limit else None
        run = subprocess.run([*first, options.sonde, "record", "-q", "-o", path, *record, "--", *command], env=self.env,
                             capture_output=True, text=True, check=False, preexec_fn=set_limit)
        if run.returncode == SKIP:
            print(run.stdout.strip())
            sys.exit(SKIP)
        require(run.returncode == 0, f"record gave {run.returncode}\n{run.stdout}{run.stderr}")
        self.sonde, self.path, self.said = options.sonde, path, {}
        for line in run.stdout.splitlines():
            key, _, value = line.partition(" ")
            self.said.setdefault(key, []).append(int(value))
        self.view = json.loads(self.report("counters", "--json"))
        self.ledger = json.loads(self.report("ledger", "--json"))

    def report(self, *arguments):
        return subprocess.run([self.sonde, "report", self.path, *arguments], env=self.env, capture_output=True, text=True, check=True).stdout

    def all(self, name="minor-faults"):
        return [row for row in self.view["cpu"] if row["counter"] == name]

    def of(self, function, name="minor-faults"):
        return sum(row["count"] for row in self.view["cpu_routines"] if (row["routine"], row["counter"]) == (function, name))


def adds_up(m):
    """Routines, contexts and what is in no sample are all that was counted."""
    for row in m.view["cpu"]:
        key = (row["counter"], row["process"])
        routines = [r for r in m.view["cpu_routines"] if (r["counter"], r["process"]) == key]
        contexts = [c for c in m.view["cpu_contexts"] if (c["counter"], c["process"]) == key]
        require(sum(r["count"] for r in routines) == row["count"], f"{key}: routines are not all of {row['count']}")
        require(sum(c["count"] for c in contexts) == row["sampled"] == row["samples"] * row["period"], f"{key}: contexts are not the samples'")
        require(row["sampled"] + row["unsampled"] == row["count"], f"{key}: {row}")
        for r in contexts:
            require(r["error"] == (row["period"] * math.sqrt(r["samples"]) if row["period"] > 1 else 0) or
                    abs(r["error"] / row["period"] ** 2 * row["period"] / math.sqrt(r["samples"]) - 1) < 1e-6, f"{key}: error {r['error']}")


def program(options, *arguments):
    return [options.faults, *map(str, arguments)]


def has_perf(m, name="minor-faults"):
    if not m.all(name) or any("perf events are refused" in note for note in notes(m)):
        print("skipped: this kernel refuses perf events")
        sys.exit(SKIP)
    return m


def shares(m, counter="minor-faults"):
    """Each function has its share; in one process."""
    found = {name: m.of(name, counter) for name in FUNCTIONS}
    total, samples = sum(found.values()), sum(found.values()) / m.all(counter)[0]["period"]
    require(total > 0, f"no faults in {FUNCTIONS}")
    for name in FUNCTIONS:
        truth = sum(m.said[name]) / sum(sum(m.said[n]) for n in FUNCTIONS)
        bound = 6 * math.sqrt(truth * (1 - truth) / samples) + 0.005
        require(abs(found[name] / total - truth) < bound, f"{name}: {found[name] / total:.3f} of the faults, in truth {truth:.3f}; bound {bound:.3f}")


def case_shares(options):
    """Three threads, two of which never call OpenCL."""
    m = has_perf(Measured(options, program(options, "shares", 20000), "--cpu-counters=minor-faults@100"))
    adds_up(m)
    shares(m)
    counted, truth = m.all()[0]["count"], m.said["faults"][0]
    require(truth - FEW <= counted <= m.said["process"][0], f"{counted} faults were counted, {truth} in these functions, {m.said['process'][0]} in all")
    require(sum(m.of(n) for n in FUNCTIONS) > 0.9 * truth, f"{sum(m.of(n) for n in FUNCTIONS)} of {truth} are in samples")


def exact(m, lost=0):
    """With a period of 1 each fault has its sample, but for those that are said to be in none."""
    for name in FUNCTIONS:
        found, truth = m.of(name), sum(m.said[name])
        require(truth - FEW - lost <= found <= truth + FEW, f"{name}: {found} faults, in truth {truth}, {lost} in no sample")


def case_exact(options):
    m = has_perf(Measured(options, program(options, "shares", 1000), "--cpu-counters=minor-faults@1"))
    adds_up(m)
    exact(m, m.all()[0]["unsampled"])
    require(m.all()[0]["unsampled"] < 0.1 * m.all()[0]["count"] + FEW, f"{m.all()[0]['unsampled']} are in no sample")


def case_without(options):
    """--cpu 0: counters alone."""
    m = has_perf(Measured(options, program(options, "shares", 1000), "--cpu-counters=minor-faults@1,major-faults", "--cpu=0"))
    adds_up(m)
    exact(m, m.all()[0]["unsampled"])
    require(m.ledger["cpu"] is None, f"CPU time was sampled: {m.ledger['cpu']}")


def case_all(options):
    """page-faults are counted as they begin, and once more where one that was sampled had to begin anew."""
    m = has_perf(Measured(options, program(options, "shares", 20000), "--cpu-counters=page-faults@100"), "page-faults")
    adds_up(m)
    shares(m, "page-faults")


def case_profile(options):
    m = has_perf(Measured(options, program(options, "shares", 20000), "--cpu-counters=minor-faults@100", "--profile", "--cpu=499"))
    adds_up(m)
    shares(m)


def case_short(options):
    """Threads that end before anybody has seen them are not counted, and nothing is said of them that is not so."""
    m = has_perf(Measured(options, program(options, "short", 20000), "--cpu-counters=minor-faults@10"))
    adds_up(m)
    for name in FUNCTIONS:
        require(m.of(name) <= sum(m.said[name]) + FEW, f"{name}: {m.of(name)} faults, in truth {sum(m.said[name])}")


def case_many(options):
    """More threads than descriptors: some are not counted, a note says how many, and the program runs."""
    m = has_perf(Measured(options, program(options, "many", 200), "--cpu-counters=minor-faults@1,major-faults@1", limit=256))
    adds_up(m)
    require(any("too few descriptors" in note for note in notes(m)), f"no note: {notes(m)}")
    require(0 < m.of("touch_a") < sum(m.said["touch_a"]), f"{m.of('touch_a')} of {m.said['touch_a']}")


def case_off(options):
    m = has_perf(Measured(options, program(options, "off", 1000), "--cpu-counters=minor-faults@1", warm=True))  # a compiler has faults, too
    adds_up(m)
    exact(m, m.all()[0]["unsampled"])
    require(m.of("touch_b") < sum(m.said["touch_b"]) + FEW, "faults while recording was off")
    require(m.all()[0]["count"] < sum(m.said["faults"]) + 0.5 * 20000, f"{m.all()[0]['count']} were counted, {m.said['faults']} while recording")


def case_fork(options):
    m = has_perf(Measured(options, program(options, "fork", 1000), "--cpu-counters=minor-faults@1"))
    adds_up(m)
    rows = m.all()
    require(len({row["process"] for row in rows}) == 2, f"{len(rows)} processes have counters")
    for process in {row["process"] for row in rows}:
        for name, pages in zip(FUNCTIONS, (3000, 2000, 1000)):
            found = sum(r["count"] for r in m.view["cpu_routines"] if (r["routine"], r["process"]) == (name, process))
            lost = next(row["unsampled"] for row in rows if row["process"] == process)
            require(pages - FEW - lost <= found <= pages + FEW, f"{process}: {name} has {found} faults of {pages}")


def case_blocked(options):
    """A thread that blocks SIGURG gets no signal, and so no counter: a note says so."""
    m = has_perf(Measured(options, program(options, "blocked", 1000), "--cpu-counters=minor-faults@1"))
    adds_up(m)
    require(not any(m.of(name) for name in FUNCTIONS), "faults of a thread that blocks the signal")
    require(any("threads were not counted" in note and "SIGURG" in note for note in notes(m)), f"no note: {notes(m)}")


def case_call(options):
    """Faults within a call of OpenCL are the call's."""
    m = has_perf(Measured(options, program(options, "call", 3000), "--cpu-counters=minor-faults@1"))
    adds_up(m)
    found = m.of("clReleaseMemObject")
    require(3000 - FEW < found < 3000 + 4 * FEW, f"{found} faults in clReleaseMemObject, of 3000 and few more")
    require(m.of("touch_c") == 0, f"{m.of('touch_c')} in the callback")


def case_python(options):
    m = has_perf(Measured(options, ["/usr/bin/python3", os.path.join(HERE, "faults.py"), "500"], "--cpu-counters=minor-faults@20"))
    adds_up(m)
    contexts = {}
    for row in m.view["cpu_contexts"]:
        names = [frame["name"] for frame in row["frames"]]
        for name in ("heavy", "light"):
            if name in names:
                contexts[name] = contexts.get(name, 0) + row["count"]
    truth = {name: m.said[name][0] for name in ("heavy", "light")}
    for name, said in truth.items():
        bound = 6 * 20 * math.sqrt(said / 20) + 0.02 * said
        require(abs(contexts.get(name, 0) - said) < bound, f"{name}: {contexts.get(name, 0)} faults, in truth {said}; bound {bound:.0f}")


def notes(m):
    return [note for process in m.ledger["processes"] for note in process["notes"]]


def case_refused(options):
    m = Measured(options, program(options, "shares", 1000), "--cpu-counters=major-faults,minor-faults", first=[options.refuse])
    said = [note for note in notes(m) if "counters" in note]
    require(len(said) == 1 and "perf events are refused" in said[0], f"{notes(m)}")
    require(not m.view["cpu_contexts"] and not any(row["count"] for row in m.view["cpu"]), f"{m.view['cpu']}")


def case_lacking(options):
    """A counter of the hardware: where the machine has none a note says so, and the others are counted."""
    m = Measured(options, program(options, "shares", 1000), "--cpu-counters=cycles,minor-faults@1")
    has_perf(m)
    adds_up(m)
    if any(row["count"] for row in m.all("cycles")):
        require(not any("cycles is not counted" in note for note in notes(m)), f"{notes(m)}")
    else:
        require(sum("cycles is not counted" in note for note in notes(m)) == 1, f"{notes(m)}")
    exact(m, m.all()[0]["unsampled"])


def main():
    parser = argparse.ArgumentParser()
    for name in ("sonde", "faults", "refuse", "work", "cache"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("case")
    options = parser.parse_args()
    try:
        globals()["case_" + options.case](options)
    except Failure as failure:
        print(f"{options.case}: {failure}")
        sys.exit(1)
    print(f"{options.case}: ok")


main()
