#!/usr/bin/env python3
"""Attach to programs that run, at random moments, and leave them; they must not notice, and what was recorded must be what they did.

    run.py --sonde build/bin/sonde --work DIR --cache DIR [--times N] [--seed N] CASE PROGRAM

CASE is `cycles` (attach to one busy program N times), or the name of one of the functions below. PROGRAM keeps count of what it
enqueues in a file that we read: a measurement holds at least what was enqueued between the moments when `sonde record` had begun and
when it was told to end, and at most what was enqueued while it ran; and of each queue the launches one after the other, without a gap.
"""
import argparse
import collections
import contextlib
import csv
import io
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

PATIENCE = 600  # seconds until something counts as hung
SKIP = 77
WORKERS, SIZES, AT_ONCE = 3, 61, 8  # launches between two clFinish
FIELDS = 1 + 2 * WORKERS + 6  # of struct state in busy.c


started = []  # programs, which end with us


class Failure(Exception):
    """What was expected, and what came."""


def check(holds, text):
    if not holds:
        raise Failure(text)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        check(time.monotonic() < deadline, f"{what}: not within {PATIENCE} s")
        time.sleep(0.005)


def environment(options):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SONDE_", "OPENCL_LAYERS", "LD_PRELOAD"))}
    env["POCL_CACHE_DIR"] = options.cache
    env["LC_ALL"] = "C.UTF-8"
    return env


class Program:
    """busy, while it runs."""

    def __init__(self, options, env=None, prefix=()):
        self.options = options
        self.path = os.path.join(options.work, "state")
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.process = subprocess.Popen([*prefix, options.program, self.path], env=env or environment(options), cwd=options.work,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        started.append(self.process)
        until(lambda: self.process.poll() is not None or self.state()[-1] == WORKERS + 2, "the program's start")
        check(self.process.poll() is None, "the program ended at its start")

    @property
    def pid(self):
        return self.process.pid

    def state(self):
        data = read(self.path) if os.path.exists(self.path) else b""
        return struct.unpack(f"<{FIELDS}Q", data[:8 * FIELDS]) if len(data) >= 8 * FIELDS else (0,) * FIELDS

    def begun(self):
        return sum(self.state()[1:1 + WORKERS])

    def made(self):
        return sum(self.state()[1 + WORKERS:1 + 2 * WORKERS])

    def goes_on(self):
        before = self.made()
        until(lambda: self.made() > before + 50, "the program does not go on")

    def compiled(self):
        """Every size has been launched by every worker: the runtime has nothing to compile any more."""
        until(lambda: min(self.state()[1 + WORKERS:1 + 2 * WORKERS]) > SIZES + AT_ONCE, "the program's kernels are not compiled")

    def end(self, was_stopped=False, is_recorded=False, rarely=0):
        """It says what it found out of order. SIGSTOP by itself ends some waits (signal(7)); what is recorded has the samples' handler.
        `rarely`: so many waits may have ended early, which docs/attach.md does not rule out."""
        with open(self.path, "r+b") as file:
            file.write(struct.pack("<Q", 1))
        out, _ = self.process.communicate(timeout=PATIENCE)
        check(self.process.returncode == 0, f"the program ended with {self.process.returncode}: {out}")
        few = all(int(n) <= rarely for n in re.findall(r"(?:interrupted|early) (\d+)", out))
        found = re.sub(r"interrupted \d+, early \d+", "interrupted 0, early 0", out) if was_stopped or few else out
        found = found.replace("handled 1", "handled 0") if is_recorded else found
        check(found == "wrong 0, interrupted 0, early 0, SIGURG handled 0\n", f"the program found: {out}")

    def threads(self):
        for tid in os.listdir(f"/proc/{self.pid}/task"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                yield read(f"/proc/{self.pid}/task/{tid}/comm").decode().strip()

    def descriptors(self):
        """But for those of files that PoCL has open for a moment."""
        for number in os.listdir(f"/proc/{self.pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                target = os.readlink(f"/proc/{self.pid}/fd/{number}")
                if not target.startswith(self.options.cache):
                    yield number, target

    def traits(self):
        """What must be afterwards as it was before: threads, descriptors, handlers, libraries but ours, who traces it."""
        folder = f"/proc/{self.pid}"
        status = dict(line.split(":\t", 1) for line in read(f"{folder}/status").decode().splitlines() if ":\t" in line)
        return {
            "threads": sorted(self.threads()),
            "descriptors": sorted(self.descriptors()),
            **{name: status[name].strip() for name in ("SigCgt", "SigIgn", "TracerPid")},
        }

    def memory(self):
        """Resident, in MB; and how many mappings there are of ours, and of anything."""
        maps = read(f"/proc/{self.pid}/maps").decode().splitlines()
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
        return pages * 4096 / 1e6, sum("libsonde-agent" in line for line in maps), len(maps)


class Record:
    """sonde record --pid, while it runs."""

    def __init__(self, options, pid, name="m.sonde", *more):
        self.output = os.path.join(options.work, name)
        self.process = subprocess.Popen([options.sonde, "record", "--pid", str(pid), "-f", "-o", self.output, *more],
                                        env=environment(options), cwd=options.work, stderr=subprocess.PIPE, text=True)
        self.said = self.process.stderr.readline()

    def begun(self):
        check("recording process" in self.said, f"did not begin: {self.said}")
        return self

    def end(self, number=signal.SIGTERM):
        if number:
            self.process.send_signal(number)
        _, more = self.process.communicate(timeout=PATIENCE)
        self.said += more
        return self.process.returncode


def refused(options, pid, *expected, sonde=(), more=()):
    """It says why, in one line, and leaves no folder."""
    output = os.path.join(options.work, "refused.sonde")
    result = subprocess.run([*sonde, options.sonde, "record", "--pid", str(pid), "-o", output, *more], env=environment(options),
                            cwd=options.work, capture_output=True, text=True, timeout=PATIENCE)
    check(result.returncode == 125, f"status {result.returncode}, not 125: {result.stderr}")
    check(result.stderr.count("\n") == 1 and result.stderr.startswith("sonde: "), f"not one line: {result.stderr}")
    for text in expected:
        check(text in result.stderr, f"'{text}' is not in: {result.stderr}")
    check(not os.path.exists(output), "a folder is left")
    return result.stderr


def operations(options, output):
    """Of each queue the sizes of its launches, in their order, and how many operations there were of all."""
    out = subprocess.run([options.sonde, "export", output, "--to", "csv", "-o", "-"], env=environment(options), capture_output=True,
                         text=True, timeout=PATIENCE)
    check(out.returncode == 0 or "there are no operations" in out.stderr, f"export failed: {out.stderr}")
    lanes = collections.defaultdict(list)
    rows = list(csv.DictReader(io.StringIO(out.stdout)))
    for row in sorted((row for row in rows if row["kind"] == "kernel"), key=lambda row: int(row["correlation"])):
        lanes[row["lane"]].append(int(row["global_size"]))
        check(row["name"] == "advance" and "work" in row["called_from"], f"a launch of {row['name']} from {row['called_from']}")
    return lanes


def check_measurement(options, record, least, most):
    lanes = operations(options, record.output)
    count = sum(map(len, lanes.values()))
    lost = re.search(r"(\d+) dropped, (\d+) unmatched", record.said)
    dropped, unmatched = (int(lost[1]), int(lost[2])) if lost else (0, 0)
    check(least <= count + unmatched and count <= most, f"{count} launches were recorded, {unmatched} unmatched, of {least} to {most} that were made")
    for lane, sizes in lanes.items():
        gaps = [(a, b) for a, b in zip(sizes, sizes[1:]) if b != a % SIZES + 1]
        check(not gaps, f"lane {lane}: after the launch of {gaps[:1]} one is missing, {len(gaps)} in all")
    # dropped: of a thread that was about to record when it was over; unmatched: those, and what a runtime that compiles has not finished a second later
    check(dropped <= WORKERS and unmatched <= WORKERS * AT_ONCE and (lost or (not count and "enqueued no operation" in record.said)),
          f"the ledger: {record.said}")
    return count


# ---- cases ------------------------------------------------------------------------------------------


def once(options, program, seconds, name="m.sonde"):
    made_before = program.made()
    record = Record(options, program.pid, name).begun()
    begun_then = program.begun()
    time.sleep(seconds)
    made_then = program.made()
    status = record.end()
    check(status == 0, f"record ended with {status}: {record.said}")
    return check_measurement(options, record, made_then - begun_then, program.begun() - made_before)


def cycles(options):
    program = Program(options)
    before = program.traits()
    counts, memory = [], []
    for n in range(options.times):
        time.sleep(options.random.uniform(0, 0.03))
        counts.append(once(options, program, options.random.uniform(0, 0.1)))
        now = program.traits()
        for _ in range(100):  # the program opens files, too, where its runtime compiles
            if now == before:
                break
            time.sleep(0.1)
            now = program.traits()
        check(now == before, f"attach {n + 1} left something: {before} {now}")
        memory.append(program.memory())
    program.goes_on()
    program.end(rarely=1 + options.times // 200)
    check(max(m[1] for m in memory) == memory[0][1], "the agent is mapped more than once")
    first, last = memory[min(10, len(memory) - 1)], memory[-1]
    check(last[0] - first[0] < 48, f"the program grew from {first[0]:.1f} to {last[0]:.1f} MB")
    print(f"{len(counts)} times, {sum(counts)} launches; {first[0]:.1f} to {last[0]:.1f} MB, {first[2]} to {last[2]} mappings")


def duration(options):
    """By its own time, as a profile, and what the manifest says."""
    import json
    program = Program(options)
    program.compiled()
    for _ in range(5):  # on a busy machine a runtime that compiles may launch nothing for two seconds
        record = Record(options, program.pid, "m.sonde", "--profile", "--duration", "2s").begun()
        begun_then = program.begun()
        check(record.end(0) == 0, record.said)
        if program.made() > begun_then + 20:
            break
    manifest = json.loads(read(os.path.join(record.output, "manifest.json")).rstrip(b"\0"))
    check(manifest["attached"] == {"pid": program.pid, "goes_on": True}, f"attached: {manifest.get('attached')}")
    check(manifest["command"] == [options.program, program.path], f"command: {manifest['command']}")
    check("exit" not in manifest and manifest["options"]["mode"] == "profile", "exit, or the mode")
    report = subprocess.run([options.sonde, "report", record.output, "--json"], capture_output=True, text=True, check=True)
    check(json.loads(report.stdout), "no report")
    objects = subprocess.run([options.sonde, "report", record.output, "objects"], capture_output=True, text=True, check=True).stdout
    check(re.search(r"buffer +3 +768 B .* unknown", objects), f"the buffers that were there before: {objects}")
    program.end()


def recorded(options):
    """A program that is recorded is not attached to: by us, and by whoever started it."""
    program = Program(options)
    record = Record(options, program.pid).begun()
    refused(options, program.pid, "another sonde record --pid records it")
    copy = os.path.join(options.work, "installed")  # the same of another installation
    shutil.copytree(os.path.dirname(os.path.dirname(options.sonde)), copy, symlinks=True, ignore=lambda folder, names: [
        name for name in names if os.path.basename(folder) == "build" and name not in ("bin", "lib")])
    refused(argparse.Namespace(**{**vars(options), "sonde": os.path.join(copy, "bin", "sonde")}), program.pid, "another sonde record --pid records it")
    check(record.end() == 0, record.said)
    once(options, program, 0.05)
    program.end()
    program = Program(options, prefix=(options.sonde, "record", "-q", "-o", os.path.join(options.work, "own.sonde"), "--"))
    child = int(read(f"/proc/{program.pid}/task/{program.pid}/children").split()[0])
    refused(options, child, "sonde record started it", "own.sonde")
    program.end()


def stopped(options):
    """Before, and while it is recorded."""
    program = Program(options)
    os.kill(program.pid, signal.SIGSTOP)
    until(lambda: b"\nState:\tT" in read(f"/proc/{program.pid}/status"), "it does not stop")
    refused(options, program.pid, "it is stopped", f"kill -CONT {program.pid}")
    os.kill(program.pid, signal.SIGCONT)
    record = Record(options, program.pid).begun()
    os.kill(program.pid, signal.SIGSTOP)
    check(record.end() == 0 and f"kill -CONT {program.pid}" in record.said, record.said)
    os.kill(program.pid, signal.SIGCONT)
    until(lambda: not any(name.startswith("sonde") for name in program.traits()["threads"]), "the agent does not leave it")
    once(options, program, 0.05, "again.sonde")
    program.end(was_stopped=True)


def ends(options):
    """While it is recorded: by itself, and killed. And while somebody attaches to it."""
    program = Program(options)
    record = Record(options, program.pid).begun()
    begun_then = program.begun()
    time.sleep(0.1)
    made = program.made() - begun_then
    program.end(is_recorded=True)
    check(record.end(0) == 0, record.said)
    check(made <= sum(map(len, operations(options, record.output).values())), "launches are missing")
    program = Program(options)
    record = Record(options, program.pid).begun()
    program.goes_on()
    time.sleep(1.2)  # of the last second something may be lost
    program.process.kill()
    check(record.end(0) == 0, record.said)
    check(operations(options, record.output), "nothing was recorded")
    for _ in range(options.times):
        program = Program(options)
        record = subprocess.Popen([options.sonde, "record", "--pid", str(program.pid), "-q", "-f", "-o", os.path.join(options.work, "m.sonde")],
                                  env=environment(options), stderr=subprocess.PIPE, text=True)
        time.sleep(options.random.uniform(0, 0.06))
        program.process.kill()
        _, said = record.communicate(timeout=PATIENCE)
        check(record.returncode in (0, 125) and said.count("\n") <= 2, f"{record.returncode}: {said}")
        program.process.communicate()


def killed(options):
    """sonde record is: the agent leaves by itself, and the next one goes on from there."""
    program = Program(options)
    program.compiled()
    before = program.traits()
    record = Record(options, program.pid).begun()
    time.sleep(0.1)
    record.end(signal.SIGKILL)
    until(lambda: program.traits() == before, "the agent does not leave")
    report = subprocess.run([options.sonde, "report", record.output], capture_output=True, text=True, check=False)
    check(report.returncode == 0 and "advance" in report.stdout, report.stdout + report.stderr)
    once(options, program, 0.05, "again.sonde")
    program.end()


def others(options):
    """What cannot be attached to, and why."""
    refused(options, 2**22 + 1, "there is no process")
    sleep = subprocess.Popen(["sleep", "1000"])
    with contextlib.ExitStack() as stack:
        stack.callback(lambda: (sleep.kill(), sleep.wait()))
        until(lambda: b"sleep" in read(f"/proc/{sleep.pid}/cmdline"), "sleep")
        refused(options, sleep.pid, "neither OpenCL nor CUDA")
        if os.path.exists(options.static):
            static = subprocess.Popen([options.static, "1000"])
            stack.callback(lambda: (static.kill(), static.wait()))
            until(lambda: b"static" in read(f"/proc/{static.pid}/cmdline"), "static")
            refused(options, static.pid, "linked statically")
        program = Program(options)
        tids = [int(tid) for tid in os.listdir(f"/proc/{program.pid}/task") if int(tid) != program.pid]
        refused(options, tids[0], "it is a thread", f"--pid {program.pid}")
        for option in (["--values"], ["--light"], ["--delay", "1s"], ["--start-off"], ["--calibrate"], ["--capture-range", "cuda"]):
            result = subprocess.run([options.sonde, "record", "--pid", str(program.pid), *option], capture_output=True, text=True, check=False)
            check(result.returncode == 2 and f"goes without {option[0]}" in result.stderr, f"{option}: {result.stderr}")
        result = subprocess.run([options.sonde, "record", "--pid", str(program.pid), "--", "true"], capture_output=True, text=True, check=False)
        check(result.returncode == 2 and "goes without a program" in result.stderr, result.stderr)
        if os.geteuid() == 0 and shutil.which("setpriv"):
            as_nobody = ("setpriv", "--reuid=65534", "--clear-groups", "--regid=65534")
            shutil.chown(options.work, 65534)
            os.chmod(options.work, 0o777)
            refused(options, program.pid, "it runs as user root", f"sudo sonde record --pid {program.pid}", sonde=as_nobody)
            program.end()
            env = environment(options)
            env["POCL_CACHE_DIR"] = os.path.join(options.work, "cache")
            program = Program(options, env=env, prefix=as_nobody)
            once(options, program, 0.05)  # by root, into a folder that the process may write to
        program.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sonde", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--cache", required=True)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--static", default="")
    parser.add_argument("case")
    parser.add_argument("program")
    options = parser.parse_args()
    options.work = os.path.abspath(options.work)
    options.cache = os.path.realpath(options.cache)
    options.program, options.sonde = os.path.abspath(options.program), os.path.abspath(options.sonde)
    options.random = random.Random(options.seed)
    shutil.rmtree(options.work, ignore_errors=True)
    os.makedirs(options.work)
    probe = subprocess.run([sys.executable, "-c", "import ctypes, os, time\npid = os.fork() or time.sleep(60)\n"
                            "print(ctypes.CDLL(None).ptrace(0x4206, pid, 0, 0)); os.kill(pid, 9)"], capture_output=True, text=True, check=False)
    if probe.stdout.strip() != "0":
        print("skipped: this machine lets nobody trace a process (ptrace)")
        return SKIP
    try:
        globals()[options.case](options)
    except Failure as failure:
        print(f"{options.case}, --seed {options.seed}: {failure}")
        return 1
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
