"""The PyTorch part of bench/gpu.py: every tool's process is alive at once, and they take turns.

Starting PyTorch takes ten seconds and an iteration milliseconds, so a process serves many short blocks of iterations
(gpu_load.py). A round asks each process for one block of each load, in random order, one process at a time; the others
sleep. A process that wakes up may be slow at first, so the first part of a block is untimed. A ratio is taken within its round, so that what the machine does in the meantime hurts both
sides. What differs from process to process (placement of code, memory, threads) does not: therefore several generations
of processes, and the median of each is told. Peers take part in every PEER_EVERY-th round. The load without a tool also
runs some rounds before any other process is there, which shows what their presence costs.

Of a block the median stands for it. Told apart is what is left in quiet moments, for on a shared machine what others do only
adds, by half in one second and not in the next: of each block its lowest tenth, of a generation's blocks the lower
quartile of these, and ratios of that.
"""
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import time

import harness

LOADS = {"small": (20, 40), "train": (4, 9)}  # iterations of a block: untimed, timed
ALONE_ROUNDS, PEER_EVERY, READY_SECONDS, BLOCK_SECONDS = 6, 5, 150, 60


class Gone(Exception):
    """A process does not serve; the text says why."""


class Server:
    """One process that serves blocks, under its tool."""

    def __init__(self, name, command, env, folder):
        self.name, self.path = name, os.path.join(folder, f"{abs(hash(name)):x}.socket")
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(1)
        self.control, self.lines = None, None
        self.log = open(self.path + ".log", "w+b")
        full = harness.environment(**env)
        full.pop("CUBLAS_WORKSPACE_CONFIG", None)  # with it, PyTorch 2.11 takes 9 ms for the small load, without it 3
        self.child = subprocess.Popen(command + [self.path], env=full, cwd=folder, stdin=subprocess.DEVNULL,
                                      stdout=self.log, stderr=self.log, start_new_session=True)

    def said(self):
        self.log.seek(0)
        return self.log.read()[-300:].decode(errors="replace").strip()

    def ready(self, deadline):
        self.listener.settimeout(1)
        while not self.control:
            try:
                self.control = self.listener.accept()[0]
            except TimeoutError:
                if self.child.poll() is not None or time.monotonic() > deadline:
                    raise Gone(f"did not get ready: status {self.child.poll()}, {self.said()}") from None
        self.control.settimeout(BLOCK_SECONDS)
        self.lines = self.control.makefile("r", encoding="utf-8")
        self.pid = self.answer()["ready"]

    def answer(self):
        try:
            line = self.lines.readline()
        except TimeoutError:
            raise Gone(f"did not answer within {BLOCK_SECONDS} s") from None
        if not line:
            raise Gone(f"ended: {self.said()}")
        return json.loads(line)

    def block(self, load, warm, count):
        return self.ask(f"{load} {warm} {count}")

    def ask(self, line):
        try:
            self.control.sendall((line + "\n").encode())
        except OSError as error:
            raise Gone(f"{error}: {self.said()}") from None
        return self.answer()

    def let_go(self):
        """The process ends by itself now, if it serves."""
        for part in (self.lines, self.control, self.listener):
            if part:
                part.close()

    def end(self, seconds=60):
        """The process's own end, or its group's."""
        self.let_go()
        try:
            self.child.wait(seconds if self.control else 0.1)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()
        self.log.close()


def tenth(ms):
    return sorted(ms)[len(ms) // 10]


def interval(values, times=400):
    """Median and its 95 % interval (bootstrap)."""
    if not values:
        return None
    dice = random.Random(len(values))
    medians = sorted(statistics.median(dice.choices(values, k=len(values))) for _ in range(times))
    return statistics.median(values), medians[int(0.025 * times)], medians[int(0.975 * times) - 1]


class Rounds:
    """variants: {name: (command, environment)}; `key` ones take part in every round."""

    def __init__(self, variants, key, folder, nothing):
        self.variants, self.key, self.folder, self.nothing = variants, key, folder, nothing
        self.table = []  # of each round: {"generation": n, name: {load: [ms, ...]}}
        self.alone, self.failed, self.seconds = [], {}, {}

    def lose(self, server, why):
        self.failed[server.name] = str(why)
        server.end(0.1)

    def start(self, names):
        servers, begin = [], time.monotonic()
        for name in names:
            command, env = self.variants[name]
            servers.append(Server(name, command, env, self.folder))
        good = []
        for server in servers:
            try:
                server.ready(begin + READY_SECONDS)
                good.append(server)
            except Gone as why:
                self.lose(server, why)
        self.seconds["start"] = round(time.monotonic() - begin, 1)
        return good

    def round(self, servers, dice):
        row, order = {}, list(servers)
        dice.shuffle(order)
        for server in order:
            try:
                row[server.name] = {load: server.block(load, *counts)["ms"] for load, counts in LOADS.items()}
            except Gone as why:
                servers.remove(server)
                self.lose(server, why)
        return row

    def generation(self, number, end, after):
        """`after` is called with each server that ended by itself."""
        dice, alone = random.Random(number), []
        names = [n for n in self.variants if number == 0 or n not in self.failed]
        if number == 0:
            alone = self.start([self.nothing])
            self.alone = [self.round(alone, dice) for _ in range(ALONE_ROUNDS)] if alone else []
        servers = alone + self.start([n for n in names if n not in (s.name for s in alone)])
        count = 0
        while servers and (time.monotonic() < end or count < 3):
            some = [s for s in servers if s.name in self.key] if count % PEER_EVERY else servers
            row = self.round(some, dice)
            if some is not servers:
                servers = [s for s in servers if s.name not in self.failed]
            self.table.append({"generation": number, **row})
            count += 1
        for server in servers:
            server.let_go()
        for server in servers:
            server.end(60 if server.name in self.key else 2)
            after(server)

    def run(self, seconds, generations, after):
        begin = time.monotonic()
        for number in range(generations):
            left = seconds - (time.monotonic() - begin)
            if number and left < 2 * self.seconds["start"]:
                break
            # What is left is shared; the end of a generation (writing, symbols) is taken from the next one's share.
            self.generation(number, time.monotonic() + left / (generations - number) - (15 if number == 0 else 5), after)

    # ---- what came out ----------------------------------------------------------------------------------

    def short(self):
        """The table for a file: of each block the median, the mean and the lowest tenth."""
        blocks = lambda row: {name: {load: [round(of(ms), 4) for of in (statistics.median, statistics.fmean, tenth)]
                                     for load, ms in value.items()} if isinstance(value, dict) else value
                              for name, value in row.items()}
        return {"rounds": [blocks(row) for row in self.table], "alone": [blocks(row) for row in self.alone]}

    def middles(self, name, load, rows=None, of=statistics.median):
        return [of(r[name][load]) for r in (self.table if rows is None else rows) if name in r]

    def per_round(self, figure, load, *names):
        """figure(median ms of each name) for the rounds in which all took part: [(generation, value)]."""
        return [(r["generation"], figure(*(statistics.median(r[n][load]) for n in names)))
                for r in self.table if all(n in r for n in names)]

    def quiet(self, figure, load, *names):
        """The same of quiet moments: figure(ms of each name), the median over the generations, its interval, each."""
        rows = {}
        for row in self.table:
            if all(n in row for n in names):
                rows.setdefault(row["generation"], []).append([tenth(row[n][load]) for n in names])
        if not rows:
            return None
        dice = random.Random(len(self.table))
        low = lambda table: figure(*(sorted(column)[len(column) // 4] for column in zip(*table)))
        tried = sorted(statistics.median(low(dice.choices(table, k=len(table))) for table in rows.values()) for _ in range(400))
        each = [low(table) for _, table in sorted(rows.items())]
        return statistics.median(each), tried[10], tried[389], each

    def told(self, figure, load, *names):
        """(median, low, high of its 95 % interval, medians of the generations)."""
        pairs = self.per_round(figure, load, *names)
        whole = interval([v for _, v in pairs])
        each = [statistics.median([v for g, v in pairs if g == n]) for n in sorted({g for g, _ in pairs})]
        return (*whole, each) if whole else None
