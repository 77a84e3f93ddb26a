#!/usr/bin/env python3
"""Samples, and times off the CPU, of programs of which both are known.

    run.py --sonde build/bin/sonde --rows rows --work-program work --refuse refuse --work DIR --cache DIR CASE

The programs measure themselves: CPU time of a function by the thread's own
clock, context switches by getrusage. Bounds come from the number of samples: a
share p found by n samples has the standard error sqrt(p (1 - p) / n), and six of
these are allowed. Samples are as many as the machine has ticks for these threads;
what each stands for is measured, so that CPU time adds up on any machine.
"""
import argparse
import collections
import math
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SKIP = 77
PERF, TIMERS = 1, 2
TICK_HZ = round(1 / time.clock_getres(getattr(time, "CLOCK_MONOTONIC_COARSE", 6)))


def source_at(hz):
    """docs/developers/sampling.md: timers where they interrupt no wait, and the kernel's tick is as fast as the rate."""
    kernel = tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in os.uname().release.split("-")[0].split(".")[:2])
    return TIMERS if kernel >= (5, 9) and hz <= TICK_HZ else PERF


class Failure(Exception):
    pass


class Measured:
    """A recorded run: what the program printed, and the rows of its CPU side."""

    def __init__(self, options, name, command, *record, refuse=False):
        path = os.path.join(options.work, f"{options.case}-{name}.sonde")  # cases run side by side
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(options.work, exist_ok=True)
        os.makedirs(options.cache, exist_ok=True)
        env = {k: v for k, v in os.environ.items() if not k.startswith(("SONDE_", "OPENCL_LAYERS", "LD_PRELOAD"))}
        env["POCL_CACHE_DIR"] = options.cache
        first = [options.refuse] if refuse else []
        run = subprocess.run([*first, options.sonde, "record", "-q", "-o", path, *record, "--", *command], env=env,
                             capture_output=True, text=True, check=False)
        if run.returncode == SKIP:
            print(run.stdout.strip())
            sys.exit(SKIP)
        if run.returncode:
            raise Failure(f"record gave {run.returncode}\n{run.stdout}{run.stderr}")
        self.path = path
        self.said = {}
        for line in run.stdout.splitlines():
            key, _, value = line.partition(" ")
            self.said[key] = int(value)
        self.ledger, self.notes, self.samples, self.off, self.profile, self.calls, self.sleeps = {}, [], [], [], [], [], []
        out = subprocess.run([options.rows, path], capture_output=True, text=True, check=True).stdout
        for line in out.splitlines():
            kind, *rest = line.split(" ")
            if kind == "ledger":
                self.ledger[rest[0]] = int(rest[1])
            elif kind == "note":
                self.notes.append(" ".join(rest))
            elif kind == "sample":
                self.samples.append((int(rest[0]), int(rest[1]), int(rest[2]), int(rest[3]), int(rest[4]), " ".join(rest[5:])))
            elif kind == "off":
                self.off.append(tuple(map(int, rest)))
            elif kind == "sleep":
                self.sleeps.append((int(rest[0]), int(rest[1]), int(rest[2]), int(rest[3]), " ".join(rest[4:])))
            elif kind == "profile":
                self.profile.append(tuple(map(int, rest)))
            elif kind == "call":
                self.calls.append(" ".join(rest[2:]))

    def of(self, function):
        """CPU time and number of samples whose path has this function."""
        found = [s for s in self.samples if is_in(s, [function])]
        return sum(s[2] for s in found), len(found)


def is_in(sample, functions):
    return any(f.rstrip("!") in functions for f in sample[5].split(";"))


def require(condition, text):
    if not condition:
        raise Failure(text)


def agrees(m):
    """Trace, profile and ledger say the same."""
    by_node = collections.Counter()
    for tid, _, cpu, _, node, _ in m.samples:
        by_node[node] += cpu
    of_profile = collections.Counter()
    for tid, _, cpu, node in m.profile:
        of_profile[node] += cpu
    require(by_node == of_profile, f"the trace has {sum(by_node.values())} ns, the profile {sum(of_profile.values())}")
    require(m.ledger["sampled_ns"] == sum(by_node.values()), f"the ledger has {m.ledger['sampled_ns']} ns")
    require(m.ledger["samples"] == len(m.samples), f"the ledger has {m.ledger['samples']} samples of {len(m.samples)}")


def shares(m, names, total):
    """Shares of functions, each within its statistical bound; samples that stand for unequal times say as much as fewer equal ones."""
    found = {name: m.of(name) for name in names}
    cpu, count = sum(f[0] for f in found.values()), sum(f[1] for f in found.values())
    require(count > 0, f"no sample in {names}")
    worth = cpu ** 2 / sum(s[2] ** 2 for s in m.samples if is_in(s, names))
    for name in names:
        truth = m.said[name] / total
        share, bound = found[name][0] / cpu, 6 * math.sqrt(truth * (1 - truth) / worth) + 0.01
        require(abs(share - truth) < bound, f"{name}: {share:.3f} of the time, in truth {truth:.3f}; bound {bound:.3f}, {count} samples")
    return cpu, count


def known(options, name, ms, *, hz=199, refuse=False):
    m = Measured(options, name, [options.work_program, name, str(ms)], f"--cpu={hz}", refuse=refuse)
    expected = TIMERS if refuse else source_at(hz)
    if expected == PERF and m.ledger["sampling"] == TIMERS:
        print("skipped: this kernel refuses perf events")
        sys.exit(SKIP)
    require(m.ledger["sampling"] == expected, f"sampled by {m.ledger['sampling']}, not {expected}")
    require(m.ledger["rate_hz"] == hz, f"{m.ledger['rate_hz']} Hz")
    agrees(m)
    return m


def adds_up(m, names, hz):
    """Each function has its share, and what they used is in samples but for what the measurement says of itself."""
    total = sum(m.said[name] for name in names)
    cpu, count = shares(m, names, total)
    require(count > total * hz / 8e9, f"{count} samples of {total / 1e6:.0f} ms")  # the views take none for longer than eight periods
    # One that comes next to them, before or after, stands for time of both sides.
    before = after = 0
    for tid in {s[0] for s in m.samples}:
        inside = False
        for s in (s for s in m.samples if s[0] == tid):
            before += s[2] if is_in(s, names) and not inside else 0
            after += s[2] if inside and not is_in(s, names) else 0
            inside = is_in(s, names)
    nowhere = max(0, m.ledger["process_ns"] - m.ledger["sampled_ns"])  # handlers, and what came after a thread's last sample
    lacking = total - cpu
    said = f"{lacking / 1e6:.1f} ms of {total / 1e6:.0f} lack; {before / 1e6:.1f} before, {after / 1e6:.1f} after, {nowhere / 1e6:.1f} nowhere"
    require(-before - m.said.get("going_to_sleep", 0) - 1e6 < lacking < after + nowhere + 1e6, said)
    return total, count


def of_three_threads(m, hz):
    total, _ = adds_up(m, ["spin_a", "spin_b", "spin_c"], hz)
    threads = {s[0] for s in m.samples if "shares_of_a_thread" in s[5]}
    require(len(threads) == 3, f"{len(threads)} threads were sampled, not 3")
    for tid in threads:
        mine = sum(s[2] for s in m.samples if s[0] == tid and "shares_of_a_thread" in s[5])
        used = m.said[f"used_by_{tid}"]
        require(abs(mine - used) < 0.05 * total + 12e9 / hz, f"thread {tid}: {mine / 1e6:.0f} ms, in truth {used / 1e6:.0f}")
    exact = [s for s in m.samples if s[5].rstrip(";").endswith("!")]
    require(len(exact) > 0.9 * len(m.samples), f"{len(exact)} of {len(m.samples)} samples have an exact place")
    parts = m.ledger["process_ns"] - m.ledger["sampled_ns"] - m.ledger["handler_ns"]
    require(abs(parts) < 0.1 * m.ledger["process_ns"], f"{parts / 1e6:.0f} ms of the process's CPU time are in no sample")
    require(m.ledger["handler_ns"] < 0.05 * m.ledger["process_ns"], "the handlers took too long")


def case_shares(options):
    of_three_threads(known(options, "shares", 2000), 199)


def case_perf(options):
    hz = 2 * TICK_HZ - 1
    of_three_threads(known(options, "shares", 2000, hz=hz), hz)


def case_refused(options):
    m = known(options, "shares", 2000, refuse=True)
    of_three_threads(m, 199)
    require(m.ledger["switches"] == 0 and not m.off, "times off the CPU without perf events")


def case_naps(options):
    """What going to sleep takes is in the sample that comes next, which is in one of the three."""
    adds_up(known(options, "naps", 2000), ["spin_a", "spin_b", "spin_c"], 199)


def case_kernel(options):
    """A timer's signal comes at the end of the system call that it falls into; one of perf would wait for user mode."""
    if source_at(199) != TIMERS:
        print("skipped: this kernel's timers are not used")
        sys.exit(SKIP)
    adds_up(known(options, "kernel", 2000), ["spin_a", "spin_k"], 199)


def case_short(options):
    """Threads that end before their first period: their time is that of their start routine, and few have a sample in spin_b."""
    m = known(options, "short", 1000)
    mine = m.of("short_thread")[0]
    require(mine > 0.95 * m.said["spin_b"], f"{mine / 1e6:.0f} ms of {m.said['spin_b'] / 1e6:.0f} are in samples of the threads")
    require(m.of("spin_b")[0] < mine, "no time of a thread without a sample")
    require(m.of("spin_a")[0] > m.said["spin_a"] - 12e9 / 199, "the long thread has lost samples")


def case_brief(options):
    """Threads of 15 ms, one after the other: each is known, and so is nearly all of their time."""
    m = known(options, "brief", 40)
    threads = {s[0] for s in m.samples if "brief_thread" in s[5]}
    require(len(threads) >= 38, f"{len(threads)} of 40 threads have samples")
    mine, inner = m.of("brief_thread")[0], m.of("spin_b")[0]
    require(mine > 0.95 * m.said["spin_b"], f"{mine / 1e6:.0f} ms of {m.said['spin_b'] / 1e6:.0f} are in samples")
    require(inner > 0.5 * mine, f"{inner / 1e6:.0f} ms are in the function, of {mine / 1e6:.0f}")
    rest = [s for s in m.samples if s[3] & 2]
    require(all(s[5].endswith("brief_thread!;") or s[0] not in threads for s in rest), "the rest is not the start routine's")


def case_blocked(options):
    """Every thread of glibc's blocks all signals in its first steps; one that is met there must not be given up for long."""
    m = known(options, "blocked", 10)
    mine, total = m.of("spin_b")[0] + m.of("spin_c")[0], m.said["spin_b"] + m.said["spin_c"]
    require(mine > 0.6 * total, f"{mine / 1e6:.0f} of {total / 1e6:.0f} ms are in samples")


def case_profile(options):
    m = Measured(options, "profile", [options.work_program, "shares", "1000"], "--cpu=499", "--profile")
    require(not m.samples and not m.off, "rows of a trace in profile mode")
    require(sum(p[2] for p in m.profile) == m.ledger["sampled_ns"] > 0, "the profile does not add up")
    require(sum(p[1] for p in m.profile) == m.ledger["samples"] > 100, f"{m.ledger['samples']} samples")


def case_off(options):
    m = Measured(options, "off", [options.work_program, "shares", "200"], "--cpu=0")
    require(not m.samples and not m.profile and not m.off, "samples, though there should be none")
    require(m.ledger["sampling"] == 0 and m.ledger["rate_hz"] == 0, "the ledger speaks of sampling")


def case_default(options):
    m = Measured(options, "default", [options.work_program, "shares", "600"])
    require(m.ledger["rate_hz"] == 199 and m.samples, f"{m.ledger['rate_hz']} Hz, {len(m.samples)} samples")


def case_namespace(options):
    """A time namespace, whose clocks are 5,000 s ahead of the kernel's records."""
    launcher = ["unshare", "--time", "--monotonic", "5000", "--fork"]
    if not shutil.which("unshare") or subprocess.run([*launcher, "true"], capture_output=True, check=False).returncode:
        print("skipped: this machine lets nobody have a clock of their own (unshare --time)")
        sys.exit(SKIP)
    case_switches(options, launcher)


def case_switches(options, launcher=()):
    m = Measured(options, "switches", [*launcher, options.work_program, "waits", "400"])
    if not m.ledger["switches"]:
        print("skipped: this kernel gives no context-switch records")
        sys.exit(SKIP)
    mine = sorted(o for o in m.off if o[0] == m.said["tid"])
    inside = [o for o in mine if m.said["begin"] <= o[1] <= m.said["end"]]
    slept, pushed = sum(not o[3] & 1 for o in inside), sum(o[3] & 1 for o in inside)
    require(m.ledger["switch_rows_dropped"] == 0, f"{m.ledger['switch_rows_dropped']} rows were dropped")
    # One switch more may stand at either end, between the clock and getrusage.
    require(abs(slept - m.said["slept"]) <= 2, f"slept {slept} times, in truth {m.said['slept']}")
    require(abs(pushed - m.said["pushed"]) <= 2, f"pushed off {pushed} times, in truth {m.said['pushed']}")
    require(slept >= 300, f"slept {slept} times of 400")
    for before, after in zip(mine, mine[1:]):
        require(before[1] <= before[2] <= after[1], f"times off the CPU overlap: {before} {after}")
    for tid, at, *_ in m.samples:
        require(tid != m.said["tid"] or not any(o[1] + 1000 < at < o[2] - 1000 for o in mine), "a sample while off the CPU")


def case_leaves(options):
    """What threads do while the end waits for operations is known as before: a thread that sleeps goes on, the one that ends waits."""
    m = Measured(options, "leaves", [options.work_program, "leaves"])
    if not m.ledger["switches"]:
        print("skipped: this kernel gives no context-switch records")
        sys.exit(SKIP)
    require(m.ledger["switch_rows_dropped"] == 0, f"{m.ledger['switch_rows_dropped']} rows were dropped")
    begin, end = m.said["leaves"], max(max(o[1], o[2]) for o in m.off)
    require(end - begin > 0.9e9, f"the end took {end - begin} ns")
    for name in ("sleeper", "tid"):
        off = sum((o[2] or end) - o[1] for o in m.off if o[0] == m.said[name] and o[1] > begin)
        require(off > 0.6 * (end - begin), f"{name}: {off} ns off the CPU, of {end - begin}")


def case_hands(options):
    """Times off the CPU are recorded 1,500 times in a second of CPU time, whatever the number of threads; more in one turn of the
    monitor's, which may be late: 512 of each of eight threads."""
    m = Measured(options, "hands", [options.work_program, "hands", "3000"])
    most = 1500 * (max(m.said["wall_ns"], m.said["cpu_ns"]) / 1e9 + 2) + 8 * 512
    require(len(m.off) <= most, f"{len(m.off)} times off the CPU of {m.said['hands']} hand-overs, at most {most:.0f} were to be recorded")
    require(m.said["hands"] <= 2 * most or not m.ledger["switches"], "the ledger says that all were recorded")


NAMED = {  # function of work.c: that of the C library, kind (format/rows.h)
    "nap_nanosleep": ("nanosleep", 1), "nap_usleep": ("usleep", 1), "nap_poll": ("poll", 4),
    "nap_condition": ("pthread_cond_timedwait", 3), "nap_lock": ("pthread_mutex_lock", 2), "nap_semaphore": ("sem_wait", 3),
    "nap_read": ("read", 4), "nap_join": ("pthread_join", 5), "nap_rdlock": ("pthread_rwlock_rdlock", 2),
    "nap_wrlock": ("pthread_rwlock_wrlock", 2)}


def case_named(options):
    """Each wait stands for the function that waited, with its kind and its time, by the thread's own clock."""
    m = Measured(options, "named", [options.work_program, "named", "20"])
    named_waits(m)


def case_named_only(options):
    """The same without samples."""
    m = Measured(options, "named_only", [options.work_program, "named", "20"], "--cpu=0")
    require(not m.samples, "samples, though there should be none")
    named_waits(m)


def named_waits(m):
    require(m.ledger["sleep_rows_dropped"] <= 2, f"{m.ledger['sleep_rows_dropped']} waits are lost")
    for function, (name, kind) in NAMED.items():
        mine = [s for s in m.sleeps if s[4].endswith(f"main;named;{function};{name};")]
        require(all(s[3] == kind for s in mine), f"{function} is of the kinds {set(s[3] for s in mine)}, not {kind}")
        ns = sum(s[2] - s[1] for s in mine)
        require(len(mine) >= 17, f"{function}: {len(mine)} of 20 waits")
        # The clock is read before and after, where others may take the processor away.
        require(ns <= m.said[function] and ns > 0.8 * len(mine) / 20 * m.said[function],
                f"{function}: {ns / 1e6:.1f} ms, in truth {m.said[function] / 1e6:.1f}")
    for one, other in zip(sorted(m.sleeps), sorted(m.sleeps)[1:]):
        require(one[0] != other[0] or one[2] <= other[1], f"waits of a thread overlap: {one} {other}")


def case_named_profile(options):
    m = Measured(options, "named_profile", [options.work_program, "named", "5"], "--profile")
    require(not m.sleeps, "rows of a trace in profile mode")


def case_calls(options):
    m = Measured(options, "calls", [options.work_program, "build"], "--cpu=997")
    agrees(m)
    built = [s for s in m.samples if s[5].endswith("clBuildProgram;")]
    require(built and all(s[3] & 1 for s in built), "samples within the call are not the call's")
    cpu = sum(s[2] for s in built)
    require(cpu > 0.9 * m.said["in_calls"], f"{cpu / 1e6:.0f} ms in the call, in truth {m.said['in_calls'] / 1e6:.0f}")
    require(all(s[5] in m.calls for s in built), "not the nodes of the calls")


def case_python(options):
    m = Measured(options, "python", ["/usr/bin/python3", os.path.join(HERE, "work.py"), "3"], "--cpu=499")
    agrees(m)
    cpu, count = shares(m, ["heavy", "light"], m.said["heavy"] + m.said["light"])
    total = m.said["heavy"] + m.said["light"]
    require(abs(total - cpu) < 0.05 * total + 24e9 / 499, f"{cpu / 1e6:.0f} of {total / 1e6:.0f} ms")
    below = [s for s in m.samples if "heavy;spin;" in s[5]]
    require(len(below) > 0.5 * count, f"{len(below)} of {count} samples have main; heavy; spin in this order")
    require(not any("Python" in note for note in m.notes), f"{m.notes}")


def forget_map(m):
    for end in ("", ".other"):
        try:
            os.unlink(f"/tmp/perf-{m.said['pid']}.map{end}")
        except FileNotFoundError:
            pass


def labels(options, m):
    """Of the whole tree, as a user sees it; the map is gone by then."""
    env = dict(os.environ, COLUMNS="160")
    run = subprocess.run([options.sonde, "report", m.path, "profile", "--min-percent", "0"], env=env, capture_output=True, text=True, check=True)
    return run.stdout


def case_made(options):
    m = Measured(options, "made", [options.made, "names"], "--cpu=199")
    forget_map(m)
    agrees(m)
    # Names as the map has them last, Rust's made readable, V8's taken apart; samples and calls alike.
    m.said["solver step<float>"] = m.said["step"]
    shares(m, ["solver step<float>", "multiply"], m.said["step"] + m.said["multiply"])
    require(any("mycrate::launcher;" in c and c.endswith("clEnqueueNDRangeKernel;") for c in m.calls), f"{m.calls}")
    out = labels(options, m)
    for text in ("multiply() matrix.js:10", "solver step<float>() [JIT]", "mycrate::launcher() [JIT]"):
        require(text in out, f"no {text} in\n{out}")
    require("unknown code" not in out and "stale" not in out, out)
    ledger = subprocess.run([options.sonde, "report", m.path, "ledger"], capture_output=True, text=True, check=True).stdout
    require("[JIT]" not in ledger, ledger) # nothing to compile with -g


def case_made_refused(options):
    for how, why in (("old", "older than the process"), ("link", "is a link"), ("stranger", "belongs to another user")):
        m = Measured(options, "made_" + how, [options.made, "names", how], "--cpu=199")
        forget_map(m)
        require(any(why in note and f"perf-{m.said['pid']}.map" in note for note in m.notes), f"{how}: {m.notes}")
        out = labels(options, m)
        require("unknown code" in out and "multiply" not in out, out)


def case_made_many(options):
    """Half of the calls come from places beyond those that are kept by address: none is lost, and they share pages."""
    m = Measured(options, "made_many", [options.made, "many", "100000"], "--cpu=0", "--memory=256M")
    forget_map(m)
    made = [int(m.ledger[name]) for name in ("made_places", "made_pages")]
    require(made[0] == 65536 and 0 < made[1] <= 100000 * 16 // 4096 + 1, f"{made[0]} places, {made[1]} pages")
    require(m.ledger["folded"] == 0 and not m.notes, f"{m.ledger['folded']} call paths merged; {m.notes}")
    out = labels(options, m)
    require(" many() [JIT]" in out and "unknown code" in out, out)


def case_delay(options):
    m = Measured(options, "delay", [options.work_program, "shares", "1500"], "--cpu=499", "--delay=500ms", "--duration=500ms")
    require(m.samples, "no samples in the range")
    first, last = min(s[1] for s in m.samples), max(s[1] for s in m.samples)
    require(last - first < 5e9, f"samples over {(last - first) / 1e9:.1f} s")
    # Three threads on at most all processors for what the range was.
    require(m.ledger["sampled_ns"] <= (last - first + 1e9) * (os.cpu_count() or 1), "more CPU time than there was")


def main():
    parser = argparse.ArgumentParser()
    for name in ("sonde", "rows", "work-program", "made", "refuse", "work", "cache"):
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
