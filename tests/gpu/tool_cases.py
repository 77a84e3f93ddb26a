"""Runs that are more than one program and one measurement: other tools beside Sonde, kills, other versions of CUPTI.

A case is a name and a function of the runner, which yields (what, holds, detail).
"""
import glob
import json
import os
import random
import re
import signal
import struct
import subprocess
import sys
import time
import urllib.request

import harness
from code_cases import found_in
from harness import Measurement, Skipped, tail

sys.path.append(os.path.join(harness.HERE, "..", "values"))
from known_patterns import GUESSED, KNOWN  # noqa: E402

KILLS = 20


class ToolCase:
    def __init__(self, name, test):
        self.name, self.test, self.gpus = name, test, 1


def recorded_or_said(m, kernels):
    counted, notes = sum(m.kernels().values()), m.notes()
    said = [note for note in notes if "CUPTI" in note or "tool" in note]
    return counted == kernels or bool(said), f"{counted} kernels, notes {notes}"


def nsys_command(nsys, folder, command):
    return [nsys, "profile", "-t", "cuda", "-s", "none", "--cpuctxsw=none", "--force-overwrite=true",
            "-o", os.path.join(folder, "nsys"), *command]


def built_with(runner, name, module, *options):
    """A program of this folder that needs headers and libraries of one of NVIDIA's wheels: its path and its text's; `{lib}` in options is the wheel's. Or Skipped."""
    wheel = subprocess.run([sys.executable, "-c", f"import nvidia.{module} as n; print(list(n.__path__)[0])"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    nvcc, place = harness.find_nvcc(), wheel.stdout.strip()
    if not nvcc or not os.path.isdir(os.path.join(place, "include")):
        raise Skipped(f"there is no {module} on this machine (pip install nvidia-{module}-cu13)")
    if runner.gpu.count < 2:
        raise Skipped("needs two GPUs")
    text, program, lib = os.path.join(harness.HERE, name + ".cu"), os.path.join(runner.folder(name), "program"), os.path.join(place, "lib")
    major, minor = runner.gpu.capability
    built = subprocess.run([nvcc, "-std=c++17", f"-arch=sm_{major}{minor}", "-lineinfo", "-I", os.path.join(place, "include"), "-o", program, text, "-L", lib, *options,
                            "-Xlinker", "-rpath," + lib], stderr=subprocess.PIPE, text=True, check=False)
    if built.returncode:
        raise Skipped("it cannot be compiled: " + built.stderr[-200:])
    return program, text


def accesses_by_line(m, kernels):
    """(kernel, line, (from, to), kind) -> operations, bytes of what these kernels access of other memory."""
    found = {}
    for row in m.view("comm")["lines"]:
        if row["kind"] in ("load", "store", "atomic") and row["kernel"].split("(")[0] in kernels:
            ends = tuple((str(row[end]) if row[end] is not None else "?").rsplit(" ", 1)[-1] for end in ("from", "to"))
            key = row["kernel"].split("(")[0], row["line"], ends, row["kind"]
            before = found.get(key, (0, 0))
            found[key] = before[0] + row["operations"], before[1] + row["bytes"]
    return found


def nvshmem(runner):
    """What two processing elements put into each other's symmetric memory, get from it and add to it, in NVSHMEM's own code."""
    program, text = built_with(runner, "nvshmem_put", "nvshmem", "-rdc=true", "-l:libnvshmem_host.so.3", "-lnvshmem_device", "-lcuda")
    folder = os.path.dirname(program)
    env = {"NVSHMEM_REMOTE_TRANSPORT": "none"}
    plain = harness.run([program], harness.environment(**env), folder, 60)
    m = runner.record([program], env, folder, 100, comm_cases.MACHINE)
    yield "the program computes the same", plain.status == m.outcome.status == 0 and plain.out == m.outcome.out, tail(m.outcome.err)
    yield "nothing lost", not m.losses(), str(m.losses())
    elements, times = 4096, 5
    found = accesses_by_line(m, ("put_each", "get_each", "put_block", "add_each"))
    line = {name: harness.marked_line(text, name) for name in ("put_each", "get_each", "put_block", "add_each")}
    known = {}
    for here, there in (("0", "1"), ("1", "0")):
        known["put_each", line["put_each"], (here, there), "store"] = elements * times, 4 * elements * times
        known["get_each", line["get_each"], (there, here), "load"] = elements * times, 4 * elements * times
        known["put_block", line["put_block"], (here, there), "store"] = elements // 4 * times, 4 * elements * times
        known["add_each", line["add_each"], (here, there), "atomic"] = 64 * times, 4 * 64 * times
    yield "what goes to the other element, by line", found == known, f"found {found}, expected {known}"


def nccl_device(runner):
    """What kernels store into the next rank's window and load from it, by pointers that they make through NCCL's device interface: of their PTX, and as machine code."""
    import comm_cases
    program, text = built_with(runner, "nccl_device", "nccl", "-l:libnccl.so.2")
    folder, count = os.path.dirname(program), runner.gpu.count
    plain = harness.run([program], harness.environment(), folder, 60)
    if plain.status == 4:
        raise Skipped("NCCL does not register windows here: " + tail(plain.err))
    line = {name: harness.marked_line(text, name) for name in ("store_next", "load_next")}
    known = {}
    for here in range(count):
        there = (here + 1) % count
        known["store_next", line["store_next"], (str(here), str(there)), "store"] = 4096 * 5, 4 * 4096 * 5
        known["load_next", line["load_next"], (str(there), str(here)), "load"] = 4096 * 5, 4 * 4096 * 5
    for engine, options in (("PTX", ["--comm"]), ("machine code", comm_cases.MACHINE)):
        m = runner.record([program], {}, folder, 100, options)
        yield f"{engine}: the program computes the same", plain.status == m.outcome.status == 0 and plain.out == m.outcome.out, tail(m.outcome.err)
        yield f"{engine}: nothing lost", not m.losses(), str(m.losses())
        found = accesses_by_line(m, ("store_next", "load_next", "store_own"))
        yield f"{engine}: what goes to the next rank, by line", found == known, f"found {found}, expected {known}"


class Served:
    """A `sonde monitor`; its figures, by name and labels."""

    def __init__(self, sonde, folder, *options):
        self.monitor = subprocess.Popen([sonde, "monitor", "--listen", "127.0.0.1:0", "--folder", folder, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = self.monitor.stdout.readline().strip()

    def sums(self, name, **labels):
        """Of the samples with these labels, by the label `by`."""
        by, found = labels.pop("by", None), {}
        with urllib.request.urlopen(self.url, timeout=30) as answer:
            for line in answer.read().decode().splitlines():
                if line.startswith(name + "{"):
                    has = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', line))
                    if all(has.get(k) == v for k, v in labels.items()):
                        found[has.get(by)] = found.get(has.get(by), 0) + float(line.rsplit(" ", 1)[1])
        return found

    def stop(self):
        self.monitor.send_signal(signal.SIGTERM)
        return self.monitor.communicate(timeout=30)[1]


READ, WRITTEN, EXECUTED = "dram__bytes_read.sum", "dram__bytes_write.sum", "smsp__inst_executed.sum"
ARRAY, LAUNCHES = 4 << 24, 4000  # bytes of an array of series.cu


def monitor_counters(runner):
    """What the hardware counts while a vector add runs, with nobody in the program, and with it announced; and that nobody else can have it meanwhile."""
    folder = runner.folder("monitor-counters")
    program, announced = [os.path.join(runner.bin, "series"), str(LAUNCHES)], os.path.join(folder, "announced")
    os.mkdir(announced, 0o700)
    served = Served(runner.sonde, announced, "--interval", "200ms", "--counters", f"{READ},{WRITTEN},dram__throughput.avg.pct_of_peak_sustained_elapsed,{EXECUTED}",
                    "--counter-interval", "50ms")
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and not (len(seen := served.sums("sonde_pm_sampled_seconds_total", by="device")) == runner.gpu.count and all(seen.values())):
            time.sleep(0.2)
        began, seconds = time.monotonic(), served.sums("sonde_pm_sampled_seconds_total", by="device")
        yield "every device is sampled", len(seconds) == runner.gpu.count, str(seconds)
        before = {metric: sum(served.sums("sonde_pm_counted_total", metric=metric, device="0").values()) for metric in (READ, WRITTEN)}
        done = harness.run(program, harness.environment(), folder, 60)
        time.sleep(1)
        grown = {metric: sum(served.sums("sonde_pm_counted_total", metric=metric, device="0").values()) - before[metric] for metric in before}
        known = {READ: 2 * ARRAY * LAUNCHES, WRITTEN: ARRAY * LAUNCHES}
        for metric in known:
            ratio = grown[metric] / known[metric]
            yield f"{metric}: counted {grown[metric]:.0f}, that the vector adds must move {known[metric]}", done.status == 0 and 0.99 < ratio < 1.02, f"{ratio:.5f}"
        later = served.sums("sonde_pm_sampled_seconds_total", by="device")
        passed = time.monotonic() - began
        yield "all of the time is sampled", all(0.9 * passed < later[d] - seconds[d] < passed + 0.5 for d in seconds), f"{passed} {seconds} {later}"
        light = harness.run([runner.sonde, "record", "--light", "-o", announced, "--", *program], harness.environment(), folder, 60)
        time.sleep(1)
        mine = served.sums("sonde_pm_attributed_total", metric=READ, by="kernel")
        adds = sum(value for kernel, value in mine.items() if kernel.startswith("vadd"))
        # Copies that end within the same look have their share by time of what the vector adds read: 0.876 of it once (2026-11-28).
        yield f"by kernel: bytes read by the vector adds: {mine}", light.status == 0 and 0.8 < adds / known[READ] < 1.02, f"{adds / known[READ]:.5f}"
        yield "all of it is somebody's", 0.98 < sum(mine.values()) / known[READ] < 1.02, f"{sum(mine.values()) / known[READ]:.5f}"
        run = sum(value for kernel, value in served.sums("sonde_pm_attributed_total", metric=EXECUTED, by="kernel").items() if kernel.startswith("vadd"))
        # More than 20, and what left() and right() executed within a look that they share: of 12.7e9 in 0.2 s, by 128 warps each 4 cycles, at most 6 for each warp of the vector adds.
        yield "instructions of a warp of theirs", 20 <= run / LAUNCHES / (ARRAY / 4 / 32) < 36, f"{run / LAUNCHES / (ARRAY / 4 / 32):.3f}"
        m = runner.record(program, {}, folder, 60, ["--counter-series", "1ms"])
        yield "another one is told that the device is taken", m.outcome.status == 0 and any("another tool has this device's counters" in note for note in m.notes()), str(m.notes())
    finally:
        said = served.stop()
    print("   ", said.strip().replace("\n", "\n    "), flush=True)


def beside_nsys(runner):
    """Whichever of the two comes first, the program must run, and who was not recorded is said."""
    nsys = harness.find_nsys()
    if not nsys:
        raise Skipped("there is no nsys on this machine")
    folder, program = runner.folder("beside-nsys"), os.path.join(runner.bin, "counts")
    plain = harness.run([program], harness.environment(), folder, 60)
    for name in ("record of nsys", "nsys of record"):
        path = os.path.join(folder, name.split()[0] + ".sonde")
        record = [runner.sonde, "record", "--force", "-o", path, "--"]
        command = record + nsys_command(nsys, folder, [program]) if name == "record of nsys" else nsys_command(nsys, folder, record + [program])
        outcome = harness.run(command, harness.environment(), folder, 120)
        yield f"{name}: the program's answer", plain.out.strip() in outcome.out, tail(outcome.out) + tail(outcome.err)
        if not os.path.isdir(path):
            yield f"{name}: what was not recorded is said", b"nothing recorded" in outcome.err, tail(outcome.err)
            continue
        yield (f"{name}: recorded, or said who holds CUPTI", *recorded_or_said(Measurement(runner.sonde, path, {}, outcome), 140))


def child_named(pid, name):
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        with open(path, encoding="utf-8") as file:
            for child in map(int, file.read().split()):
                with open(f"/proc/{child}/comm", encoding="utf-8") as comm:
                    if comm.read().strip() == name:
                        return child
    return None


def killed_once(runner, folder, number, dice):
    """SIGKILL at some moment: status, ledger or None, how long the program lived."""
    path = os.path.join(folder, f"m{number}.sonde")
    child = subprocess.Popen([runner.sonde, "record", "-q", "-o", path, "--", os.path.join(runner.bin, "threads")], cwd=folder,
                             env=harness.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begin, pid = time.monotonic(), None
    while pid is None and child.poll() is None and time.monotonic() - begin < 30:
        pid = child_named(child.pid, "threads")
    wait = dice.uniform(0.0, 1.2)
    time.sleep(wait)
    if pid:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    status = child.wait(120)
    if not os.path.isdir(path):
        return status, None, wait
    done = subprocess.run([runner.sonde, "report", path, "ledger", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=harness.environment(), check=False)
    return status, json.loads(done.stdout) if done.stdout.strip() else {"error": tail(done.stderr)}, wait


def kills(runner):
    folder, dice = runner.folder("kills"), random.Random(20)
    runs = [killed_once(runner, folder, number, dice) for number in range(KILLS)]
    ledgers = [ledger for _, ledger, _ in runs if ledger]
    unread = [ledger["error"] for ledger in ledgers if "error" in ledger]
    yield "record ends as the program did", all(status in (-signal.SIGKILL, 128 + signal.SIGKILL, 0) for status, _, _ in runs), str(
        sorted({status for status, _, _ in runs}))
    yield "every measurement is readable", not unread, str(unread[:2])
    whole = [ledger for ledger in ledgers if "seen" in ledger]
    yield "no chunk is damaged", not any(ledger["damaged_chunks"] for ledger in whole), ""
    states = sorted({p["state"] for ledger in whole for p in ledger["processes"]})
    yield "their processes are said to have been killed", "killed" in states and set(states) <= {"killed", "exited"}, str(states)
    counts = [ledger["operations"].get("kernel") or 0 for ledger in whole]
    yield "never more kernels than there were", all(count <= 200000 for count in counts), str(max(counts, default=0))
    yield "operations were kept of some", any(counts), f"{len(whole)} of {KILLS} left a measurement; kernels {sorted(counts)}"


def kills_while(mode):
    """Each signal at a random moment, record with the program, and starts: what had finished is kept, by the program's own log."""
    def test(runner):
        folder = runner.folder("kills-" + mode)
        outcome = harness.run([sys.executable, os.path.join(harness.HERE, "..", "kill", "run.py"), "--sonde", runner.sonde, "--counting", "",
                               "--work", folder, "--cache", os.path.join(folder, "cache"), "--runs", "15", "--verbose", "--cuda",
                               "--longest", "6" if mode == "long" else "2.5", "--modes", mode, "--", os.path.join(runner.bin, "killed")], harness.environment(), folder, 400)
        print(tail(outcome.out, 4000), flush=True)
        yield "killed 15 times, by five signals", outcome.status == 0, tail(outcome.out) + tail(outcome.err)
    return test


TIMES, THOUSAND = 6, 1000  # of engines.cu
# What engines.cu has beyond the kernels of tests/values: of float4 there are four thousand.
MORE = {"read_fours": [("single_value", 16 * THOUSAND, "all are 2.5")], "read_half": [("single_zero", 4 * THOUSAND, "all are zero")], "read_nan": [],
        "read_mixed": []}
MORE_GUESSED = {"read_ints": [("frequent", "7")], "read_floats": [("structured", "-1 * i + 100")], "read_nan": [("frequent", "1.5")]}
GUESSES = ("frequent", "structured")


def tail_of(evidence):
    return evidence.split(" are ")[-1]


def of_engine(runner, engine, program):
    """Kernel: [(pattern, evidence, bytes)] that are exact, {(pattern, tail of the evidence)} that were guessed, what coverage says; and the program's output."""
    folder = runner.folder("codes-engines")
    command = [os.path.join(runner.bin, program)]
    plain = harness.run(command, harness.environment(), folder, 60)
    options = {"ptx": [], "sanitizer": ["--values-engine=sanitizer", "--values-sample=1/1"]}
    m = runner.record(command, {}, folder, 120, ["--values=fine", *options[engine]])
    exact, guessed = {}, {}
    for kernel in {**KNOWN, **MORE, **MORE_GUESSED}:
        found = found_in(m, kernel)
        exact[kernel] = sorted((pattern, None if pattern == "approximate" else text, size) for (pattern, text), size in found.items() if pattern not in GUESSES)
        guessed[kernel] = {(pattern, tail_of(text)) for pattern, text in found if pattern in GUESSES}
    coverage = {c["kernel"]: (c["engine"], c["launches"], c["looked_at"], c["reason"]) for c in m.view("values")["coverage"]}
    return exact, guessed, coverage, m, plain.out == m.outcome.out and plain.status == m.outcome.status == 0


def engines(runner):
    """The same kernels as PTX and as machine code: what is found is the same, and what tests/values/known_patterns.py says; tests/values/run.py
    asks the same of the same kernels in OpenCL (patterns)."""
    exact, guessed = {}, {}
    for engine, program in (("ptx", "engines"), ("sanitizer", "engines-machine")):
        exact[engine], guessed[engine], coverage, m, same = of_engine(runner, engine, program)
        if engine == "sanitizer" and any("nvdisasm was not found" in note for note in m.notes()):
            raise Skipped("nvdisasm is not installed: the types of machine code are not known")
        yield f"{engine}: the program computes the same", same, tail(m.outcome.err)
        yield f"{engine}: nothing lost", not m.losses(), str(m.losses())
        for kernel in exact[engine]:
            yield (f"{engine}: {kernel} was looked at", coverage.get(kernel) == (engine, TIMES, TIMES, None), str(coverage.get(kernel)))
        for kernel, patterns in {**KNOWN, **MORE}.items():
            known = sorted((pattern, text, TIMES * size) for pattern, size, text in patterns)
            yield f"{engine}: {kernel}", exact[engine][kernel] == known, f"found {exact[engine][kernel]}, expected {known}"
    lines = {kernel: [(pattern, tail_of(text)) for pattern, _, text in patterns if text] for kernel, patterns in GUESSED.items()}
    for kernel, patterns in {**lines, **MORE_GUESSED}.items():
        found = guessed["ptx"][kernel]
        yield f"ptx: {kernel}: what is guessed", set(patterns) <= found, f"found {found}, expected {patterns}"
        other = guessed["sanitizer"][kernel]  # an engine that guesses must not guess otherwise
        yield f"sanitizer: {kernel}: what is guessed, if it guesses", not other or set(patterns) <= other, f"found {other}, expected {patterns}"
    for kernel in exact["ptx"]:
        yield (f"{kernel}: both engines agree", exact["ptx"][kernel] == exact["sanitizer"][kernel],
               f"ptx {exact['ptx'][kernel]}, sanitizer {exact['sanitizer'][kernel]}")


def endless(runner):
    """A kernel that never ends, and SIGKILL: what had ended is in the measurement, with what was found of it."""
    folder = runner.folder("codes-endless")
    path, truth = os.path.join(folder, "m.sonde"), os.path.join(folder, "truth")
    with open(os.path.join(folder, "err"), "wb") as err:
        child = subprocess.Popen([runner.sonde, "record", "-q", "-o", path, "--values=all", "--", os.path.join(runner.bin, "endless")], cwd=folder,
                                 env=harness.environment(SONDE_TEST_TRUTH=truth), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
    begin = time.monotonic()
    while child.poll() is None and not harness.read_truth(truth) and time.monotonic() - begin < 60:
        time.sleep(0.1)
    yield "the endless kernel was launched", bool(harness.read_truth(truth)), ""
    time.sleep(1)
    pid = child_named(child.pid, "endless")
    if pid:
        os.kill(pid, signal.SIGKILL)
    else:
        child.kill()
    status = child.wait(120)
    yield "record ends as the program did", bool(pid) and status in (-signal.SIGKILL, 128 + signal.SIGKILL), str(status)
    m = Measurement(runner.sonde, path, {}, None)
    ledger = m.view("ledger")
    yield "its process is said to have been killed", [p["state"] for p in ledger["processes"]] == ["killed"], str([p["state"] for p in ledger["processes"]])
    yield "kernels that ended", m.kernels() in ({"before": 20}, {"before": 20, "endless": 0}), str(m.kernels())
    yield "the one that did not is open", ledger["in_flight"] + ledger["unmatched"] >= 1, f"{ledger['in_flight']} in flight, {ledger['unmatched']} unmatched"
    coverage = {c["kernel"]: (c["engine"], c["launches"], c["looked_at"]) for c in m.view("values")["coverage"]}
    yield "all of them were looked at", coverage.get("before", (None,))[0] == "ptx" and coverage["before"][1:] == (20, 20), str(coverage)
    found = found_in(m, "before")
    yield "they read threes", found.get(("single_value", "all are 3")) == 20 * 4096 * 4, str(found)


def folders_of_older_cupti():
    return sorted(glob.glob(os.path.join(os.environ.get("SONDE_TEST_CUPTI", "/nonexistent"), "libcupti*.so*")))


def older_cupti(runner):
    """SONDE_TEST_CUPTI names a folder of CUPTI libraries of other versions."""
    libraries = folders_of_older_cupti()
    if not libraries:
        raise Skipped("SONDE_TEST_CUPTI names no folder with CUPTI of other versions")
    for library in libraries:
        name = os.path.basename(library)
        folder = runner.folder("older-cupti")
        path, env = os.path.join(folder, "m.sonde"), harness.environment(SONDE_CUPTI=library)
        outcome = harness.run([runner.sonde, "record", "-q", "-o", path, "--", os.path.join(runner.bin, "counts")], env, folder, 60)
        m = Measurement(runner.sonde, path, {}, outcome)
        yield f"{name}: status", outcome.status == 0, tail(outcome.err)
        yield f"{name}: kernels", m.kernels() == {"add": 100, "twice": 40}, f"{m.kernels()} {m.notes()}"
        yield f"{name}: copies and sets", {k: n for k, (n, _) in m.copies().items()} == {"write": 11, "fill": 6, "copy": 3, "read": 8}, str(m.copies())
        yield f"{name}: nothing lost", not m.losses(), str(m.losses())


def words_of(path):
    with open(path, "rb") as file:
        return struct.unpack("<5Q", file.read(40))


def attach_once(runner, folder, child, words, number):
    """One attach to the running program: what it had launched before, meanwhile and at the end bounds what is recorded."""
    path = os.path.join(folder, f"m{number}.sonde")
    before = words_of(words)
    record = subprocess.Popen([runner.sonde, "record", "--pid", str(child.pid), "-o", path], env=harness.environment(),
                              stderr=subprocess.PIPE, text=True)
    said = record.stderr.readline()
    begun = words_of(words)
    time.sleep(0.5)
    done = words_of(words)
    record.terminate()
    said += record.communicate(timeout=120)[1]
    after = words_of(words)
    yield f"attach {number}: begins and ends", record.returncode == 0 and "recording process" in said, said
    if not os.path.isdir(path):
        return
    m = Measurement(runner.sonde, path, {}, None)
    least = done[2] + done[4] - begun[1] - begun[3]
    yield (f"attach {number}: the launches between", least <= m.kernels().get("add_one", 0) <= after[1] + after[3] - before[2] - before[4],
           f"{m.kernels()}, at least {least}; {said}; {m.notes()}")
    ledger = m.view("ledger")
    yield (f"attach {number}: what was lost", ledger["dropped"] <= 2 and ledger["unmatched"] <= 4 and not ledger["in_flight"],
           f"{m.losses()} {m.notes()}")
    rows = [row for row in m.view("kernels") if row["name"] == "add_one"]
    yield f"attach {number}: with times, and where from", bool(rows) and rows[0]["total_ns"] > 0 and found_work(rows), str(rows)[:300]


def found_work(rows):
    return any("work" in (frame["name"] or "") for row in rows for caller in row["callers"] for frame in caller["frames"])


def attach(runner):
    """Twice to one program, which goes on; then it says whether every launch ran."""
    folder = runner.folder("attach")
    words = os.path.join(folder, "state")
    child = subprocess.Popen([os.path.join(runner.bin, "attached"), words], cwd=folder, env=harness.environment(), stdout=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60
        while child.poll() is None and time.monotonic() < deadline and not (os.path.exists(words) and os.path.getsize(words) and min(words_of(words)[1:]) > 1000):
            time.sleep(0.05)
        descriptors = len(os.listdir(f"/proc/{child.pid}/fd"))
        for number in (1, 2):
            yield from attach_once(runner, folder, child, words, number)
            names = [open(f"/proc/{child.pid}/task/{tid}/comm", encoding="utf-8").read() for tid in os.listdir(f"/proc/{child.pid}/task")]
            yield f"attach {number}: no thread of ours is left", not any(name.startswith("sonde") for name in names), str(names)
            yield (f"attach {number}: the descriptors", len(os.listdir(f"/proc/{child.pid}/fd")) == descriptors,
                   str([os.readlink(f"/proc/{child.pid}/fd/{n}") for n in os.listdir(f"/proc/{child.pid}/fd")]))
        before = words_of(words)[2]
        time.sleep(0.3)
        yield "the program goes on", words_of(words)[2] > before, ""
        with open(words, "r+b") as file:
            file.write(struct.pack("<Q", 1))
        out, _ = child.communicate(timeout=60)
        yield "every launch ran", child.returncode == 0 and len(set(n.strip(",") for n in out.split() if n.strip(",").isdigit())) == 1, out
    finally:
        if child.poll() is None:
            child.kill()


CASES = [ToolCase("attach", attach), ToolCase("nvshmem", nvshmem), ToolCase("nccl-device", nccl_device), ToolCase("monitor-counters", monitor_counters), ToolCase("beside-nsys", beside_nsys), ToolCase("kills", kills), ToolCase("older-cupti", older_cupti), ToolCase("codes-engines", engines),
         ToolCase("codes-endless", endless),
         *(ToolCase("kills-" + mode, kills_while(mode)) for mode in ("slow", "fast", "queued", "idle", "long"))]
