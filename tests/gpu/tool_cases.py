"""Runs that are more than one program and one measurement: other tools beside Sonde, kills, other versions of CUPTI.

A case is a name and a function of the runner, which yields (what, holds, detail).
"""
import glob
import json
import os
import random
import signal
import subprocess
import sys
import time

import harness
from harness import Measurement, Skipped, tail

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


CASES = [ToolCase("beside-nsys", beside_nsys), ToolCase("kills", kills), ToolCase("older-cupti", older_cupti),
         *(ToolCase("kills-" + mode, kills_while(mode)) for mode in ("slow", "fast", "queued", "idle", "long"))]
