#!/usr/bin/env python3
"""Messages between ranks, end to end: ranks.c says by hand what it sends and does, and `sonde report messages` must say the same, no more and no less.

    run.py --sonde build/bin/sonde --programs build/tests/mpi --work DIR CASE

Programs are ranks.openmpi and ranks.mpich, one source built with each library. Cases: openmpi, mpich (the launcher is recorded),
openmpi.each (each rank is recorded by a record of its own), eager (from which size on messages wait for their receivers: eager.c), unchanged (the program is as it is without Sonde), python, fortran, hosts (two, as far as their ranks can see), tool (another one), off,
together (`mpirun sonde report` with each library), large (MPI 4.0's functions with counts of 64 bits).
"""
import argparse
import collections
import json
import os
import re
import shutil
import statistics
import subprocess
import sys

RANKS, LATE, LATE_NS = 4, 15, 20_000_000
PLAIN = {k: v for k, v in os.environ.items() if not k.startswith(("SONDE_", "OMPI_", "PMI"))}
PLAIN.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")


def require(yes, what):
    if not yes:
        sys.exit(f"wrong: {what}")


def run(*command, more={}, **options):
    return subprocess.run(command, env={**PLAIN, **more}, capture_output=True, text=True, timeout=900, **options)


class Said:
    """What the program says that it sent and did."""

    def __init__(self, text):
        self.pairs, self.together, self.late = {}, collections.Counter(), []
        for word in map(str.split, text.splitlines()):
            if word[0] == "pair":
                self.pairs[int(word[1]), int(word[2])] = int(word[3]), int(word[4])
            elif word[0] == "all":
                self.together[word[1], "calls"] += int(word[2])
                self.together[word[1], "bytes"] += int(word[3])
            else:
                self.late.append(int(word[1]))


class Test:
    def __init__(self, options):
        self.options = options
        self.out = os.path.join(options.work, "job.sonde")
        self.renamed = {}  # functions: what the program calls them

    def program(self, library, name="ranks"):
        program = os.path.join(self.options.programs, f"{name}.{library}")
        if not os.path.exists(program) or not shutil.which(f"mpirun.{library}"):
            print(f"skipped: mpicc.{library} or mpirun.{library} is missing")
            sys.exit(77)
        return program

    def recorded(self, *command, more={}):
        done = run(*command, more=more)
        require(done.returncode == 0, f"status {done.returncode}: {done.stdout[-1000:]}{done.stderr[-3000:]}")
        return done

    def record(self, *command, more={}):
        return self.recorded(self.options.sonde, "record", "--force", "-o", self.out, "--", *command, more=more)

    def view(self, name, *options):
        done = self.recorded(self.options.sonde, "report", self.out, name, "--json", "--limit", "0", *options)
        return json.loads(done.stdout)

    def compare(self, said, late):
        got = self.view("messages")
        pairs = {(row["from"], row["to"]): (row["count"], row["bytes"]) for row in got["pairs"]}
        require(pairs == said.pairs, f"who sent to whom: {pairs}, not {said.pairs}")
        together = collections.Counter()
        for row in got["collectives"]:
            name = self.renamed.get(row["function"], row["function"])
            together[name, "calls"] += row["count"]
            together[name, "bytes"] += row["bytes"]
        require(+together == +said.together, f"what all did: {+together}, not {+said.together}")
        faults = {name: got[name] for name in ("alone", "apart", "mixed", "lost")}
        require(not any(faults.values()) and got["messages"] == sum(count for count, _ in said.pairs.values()), f"{faults}, {got['messages']} messages")
        for row in got["ranks"]:
            require(row["sent"] == sum(n for (of, _), (n, _) in said.pairs.items() if of == row["rank"]), f"sent by {row}")
            require(row["received"] == sum(n for (_, to), (n, _) in said.pairs.items() if to == row["rank"]), f"received by {row}")
            require(row["received_bytes"] == sum(n for (_, to), (_, n) in said.pairs.items() if to == row["rank"]), f"received by {row}")
            waits = [value for name, value in row.items() if name.endswith("_ns") and name not in ("calls_ns", "wait_ns")]
            require(sum(waits) == row["wait_ns"] <= row["calls_ns"], f"the waits of {row}")
        require(sum(row["wait_ns"] for row in got["waits"]) == sum(row["wait_ns"] for row in got["ranks"]), "the waits by place and by rank")
        ends = collections.defaultdict(set)
        for m in self.messages():
            ends[m["process"], m["lane"], m["enter_ns"]].add(m["leave_ns"])
        require(all(len(leave) == 1 for leave in ends.values()), f"calls that ended more than once: {[leave for leave in ends.values() if len(leave) > 1][:3]}")
        if late:
            self.compare_late(said, got)
            self.compare_otf2(said)
            self.compare_perfetto(said)

    def compare_late(self, said, got):
        """Each was late by what the program's clock says at both ends; on a busy machine more, or less."""
        require(len(said.late) == LATE, f"{len(said.late)} were late")
        row = next(row for row in got["waits"] if row["call"] in ("MPI_Recv", "MPI_Recv_c") and row["frames"][0]["name"] == "late")  # the longest first
        require((row["kind"], row["rank"], row["for_rank"], row["for_ns"]) == ("late sender", 1, 0, row["wait_ns"]) and row["count"] <= LATE, str(row))
        messages = [m for m in self.messages() if m["tag"] == 20]
        require([m["kind"] for m in messages].count("send") == len(messages) / 2 == LATE, f"{len(messages)} ends of these")
        sends, receives = ([m for m in messages if m["kind"] == kind] for kind in ("send", "receive"))
        waits = [max(min(s["enter_ns"], r["leave_ns"]) - r["enter_ns"], 0) for s, r in zip(sends, receives)]
        apart = [abs(wait - max(late, 0)) for wait, late in zip(waits, said.late)]
        require(sum(waits) == row["wait_ns"], f"{sum(waits)} of the rows, {row['wait_ns']} of the view")
        require(statistics.median(apart) < LATE_NS / 10, f"late by {said.late}, found {waits}")

    def compare_otf2(self, said):
        """What OTF2's own tool reads in an archive: the messages by both ends, and what all did together."""
        if not shutil.which("otf2-print"):
            print("not looked at: otf2-print (otf2-tools) is missing")
            return
        folder = os.path.join(self.options.work, "job.otf2")
        self.recorded(self.options.sonde, "export", self.out, "--to", "otf2", "-q", "-f", "-o", folder)
        printed = [self.recorded("otf2-print", *options, os.path.join(folder, "traces.otf2")) for options in (["-G"], [])]
        require(not any(done.stderr for done in printed), printed[1].stderr[:1000])
        members = next(line for line in printed[0].stdout.splitlines() if line.startswith("GROUP") and 'Name: "ranks"' in line).split("Members: ")[1]
        rank_of = {location: rank for rank, location in enumerate(re.findall(r'" <(\d+)>', members))}
        groups = {}  # communicator: its members
        for number, of in re.findall(r"^GROUP +(\d+) .*Type: COMM_GROUP, Paradigm: MPI.*Members: (.*)$", printed[0].stdout, re.M):
            groups[number] = list(map(int, re.findall(r'(\d+) \("', of)))
        comms = {number: groups[group] for number, group in re.findall(r'^COMM +(\d+) .*Group: "[^"]*" <(\d+)>', printed[0].stdout, re.M) if group in groups}
        ends = {"MPI_SEND": collections.Counter(), "MPI_RECV": collections.Counter()}
        event = re.compile(r'^(MPI_SEND|MPI_RECV) +(\d+) +\d+ +(?:Receiver|Sender): (\d+) .*Communicator: ".*" <(\d+)>, Tag: \d+, Length: (\d+)$', re.M)
        for kind, location, peer, comm, size in event.findall(printed[1].stdout):
            pair = rank_of[location], comms[comm][int(peer)]
            pair = pair if kind == "MPI_SEND" else pair[::-1]
            ends[kind][pair, "count"] += 1
            ends[kind][pair, "bytes"] += int(size)
        truth = collections.Counter({(pair, what): n for pair, both in said.pairs.items() for what, n in zip(("count", "bytes"), both)})
        for kind, found in ends.items():
            require(+found == +truth, f"{kind} of OTF2: {+found}, not {+truth}")
        together = sum(n for (_, what), n in said.together.items() if what == "calls")
        counts = [len(re.findall(rf"^{name} ", printed[1].stdout, re.M)) for name in ("MPI_COLLECTIVE_BEGIN", "MPI_COLLECTIVE_END")]
        require(counts == [together] * 2, f"{counts} of {together} collective calls in OTF2")

    def compare_perfetto(self, said):
        """Flows from the call that sent to the end of the one that received, by Perfetto's own definitions."""
        sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
        try:
            import perfetto_check
        except ImportError:
            print("not looked at: Perfetto's definitions (pip install perfetto) are missing")
            return
        path = os.path.join(self.options.work, "job.perfetto")
        self.recorded(self.options.sonde, "export", self.out, "--to", "perfetto", "-q", "-f", "-o", path)
        trace, found = perfetto_check.load(path), collections.Counter()
        rank_of = lambda item: int(re.match(r"rank (\d+)", trace.process(item.track).process_name)[1])
        for begins, ends in trace.flows().values():
            if begins[0].category == "message":
                require(len(begins) == len(ends) == 1 and ends[0].category == "message", f"a flow from {begins} to {ends}")
                require(begins[0].start <= ends[0].end, f"{begins[0]} was received before it was sent: {ends[0]}")
                found[rank_of(begins[0]), rank_of(ends[0])] += 1
        require(dict(found) == {pair: count for pair, (count, _) in said.pairs.items()}, f"flows of Perfetto: {dict(found)}, not {said.pairs}")

    def exported(self):
        return json.loads(self.recorded(self.options.sonde, "export", self.out, "--to", "json", "-o", "-").stdout)

    def messages(self):
        return self.exported()["messages"]

    def offsets(self):
        """Of processes: (name, by how much their wall clock is ahead of their own)."""
        return [(process["name"], process["wall_offset_ns"]) for process in self.exported()["processes"] if process["rank"] is not None]

    # ---- cases ----

    def launched(self, library):
        done = self.record(f"mpirun.{library}", "-n", str(RANKS), self.program(library))
        self.compare(Said(done.stdout), late=True)
        require([row["rank"] for row in self.view("ranks")["ranks"]] == list(range(RANKS)), "the ranks")
        # within MPI_Reduce, a call of the GPU's runtime
        kernels = [row for row in self.view("copies") if row["kind"] == "write"]
        require(sum(row["count"] for row in kernels) == RANKS - 1, f"writes: {kernels}")
        self.compare_path()

    def compare_path(self):
        """The path through all ranks: rank 0 computes before each of LATE messages, for which all others wait."""
        job, *paths = self.view("critical")
        require(job["process"] is None and sorted(path["rank"] for path in paths) == list(range(RANKS)), "the paths")
        require(sum(stay["ns"] for stay in job["stays"]) == job["length_ns"] == sum(part["ns"] for part in job["composition"].values()), "the length")
        hosts = job["clock_bound_ns"] > 0  # else all times are by one clock
        require(job["messages"] >= 2 * LATE and (hosts or job["end_ns"] == max(path["end_ns"] for path in paths)), f"{job['messages']} steps between ranks")
        require(job["length_ns"] < 10**11 and job["left_out"] == 0, f"{job['length_ns']} ns, {job['left_out']} left out")
        late = [row for row in job["contexts"] if row["category"] == "host" and any(frame["name"] == "late" for frame in row["frames"])]
        require(sum(row["ns"] for row in late) > 0.7 * LATE * LATE_NS, f"what all waited for: {late}")
        for path in paths:  # which none of the others has on its own path
            here = [row for row in path["contexts"] if row["category"] == "host" and any(frame["name"] == "late" for frame in row["frames"])]
            require(path["rank"] == 0 or sum(row["ns"] for row in here) < 0.3 * LATE * LATE_NS, f"rank {path['rank']}: {here}")

    def openmpi(self):
        self.launched("openmpi")

    def mpich(self):
        self.launched("mpich")

    def each(self):
        program = self.program("openmpi")
        done = self.recorded("mpirun.openmpi", "-n", str(RANKS), self.options.sonde, "record", "--force", "-o", self.out, "--", program)
        self.compare(Said(done.stdout), late=True)

    def unchanged(self):
        """Results, errors (ranks.c asks for one) and the order of what each rank prints."""
        for library in ("openmpi", "mpich"):
            command = [f"mpirun.{library}", "-n", "3", self.program(library), "few"]
            alone, recorded = self.recorded(*command), self.record(*command)
            require(sorted(alone.stdout.splitlines()) == sorted(recorded.stdout.splitlines()), f"{library}: {alone.stdout}\n{recorded.stdout}")

    def eager_limits(self, library, more, *words, before=()):
        """What the view says, and what eager.c says of itself: (limits by reach, {bytes: times of MPI_Send}, variables)."""
        program = os.path.join(self.options.programs, f"eager.{library}")
        self.program(library)
        done = self.record(f"mpirun.{library}", "-n", "2", *before, program, *map(str, words), more=more)
        said = [line.split() for line in done.stdout.splitlines()]
        sent = collections.defaultdict(list)
        for word in said:
            if word[0] == "sent":
                sent[int(word[1])].append(int(word[2]))
        got = self.view("messages")
        require(all(row["ranks"] == 2 for row in got["limits"]) and len(got["limits"]) == 2, f"limits {got['limits']}")
        return got, {row["network"]: (row["variable"], row["bytes"]) for row in got["limits"]}, sent, {word[1]: int(word[2]) for word in said if word[0] == "variable"}

    def compare_eager(self, got, sent, limit):
        """A message waits for its receiver from the limit on, and not below: by the program's clock, and by the rows of the trace."""
        delay = 60_000_000
        rows = self.messages()
        sends, receives = ([m for m in rows if m["kind"] == kind] for kind in ("send", "receive"))
        waits = collections.defaultdict(list)
        for s, r in zip(sends, receives):
            waits[s["bytes"]].append(r["posted_ns"] - s["enter_ns"] if s["enter_ns"] < r["posted_ns"] <= s["leave_ns"] else 0)
        late = sum(row["late_receiver_ns"] for row in got["ranks"])
        require(late == sum(map(sum, waits.values())), f"{late} ns, not those of {dict(waits)}")
        if not limit:
            require(got["large_ns"] is None, f"no limit, and {got['large_ns']} ns of it")
            return
        require(got["large_ns"] == sum(sum(times) for size, times in waits.items() if size >= limit), f"{got['large_ns']} ns of {dict(waits)}")
        for size, times in sent.items():
            for what, list_of in ("MPI_Send took", times), ("Sonde found", waits[size]):
                often = statistics.median(list_of) if size >= limit else min(list_of) # on a busy machine a smaller one may wait for the receiver's next look
                waited = often > delay / 2
                require(waited == (size >= limit), f"{size} bytes, {what} {list_of}, the limit is {limit}")

    def eager(self):
        """From which size on messages wait for their receivers: what Open MPI's own ompi_info says, what MPI_T says in the program, and what was asked for."""
        info = self.recorded("ompi_info", "--param", "btl", "vader", "--level", "9", "--parsable").stdout
        default = int(re.search(r"^mca:btl:vader:param:btl_vader_eager_limit:value:(\d+)$", info, re.M)[1])
        name = "btl_vader_eager_limit"
        for more, limit in ({}, default), ({"OMPI_MCA_btl_vader_eager_limit": "65536"}, 65536):
            got, limits, sent, variables = self.eager_limits("openmpi", more, limit - 128, limit, name)
            require(limits[False] == (name, limit) == (name, variables[name]), f"{limits}, not {limit}; MPI_T says {variables}")
            self.compare_eager(got, sent, limit)
        text = self.recorded(self.options.sonde, "report", self.out, "messages").stdout
        version = re.search(r"^mpi:version:full:v(.*)|Open MPI: (.*)", self.recorded("ompi_info").stdout, re.M)
        require(f"Open MPI {version[1] or version[2]}: a message of 65.5 kB or more waits for its receiver ({name})" in " ".join(text.split()), text)
        more = {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_btl_tcp_eager_limit": "20000"}
        got, limits, sent, variables = self.eager_limits("openmpi", more, 20000 - 128, 20000)
        require(limits == {reach: ("btl_tcp_eager_limit", 20000) for reach in (False, True)}, f"without shared memory {limits}")
        self.compare_eager(got, sent, 20000)

    def eager_mpich(self):
        """On UCX the limit is UCX's; else MPI_T has it, which is asked here by a library that says it sends in another way (device.c)."""
        self.program("mpich")
        if "ch4:ucx\n" not in self.recorded("mpichversion").stdout + "\n":
            print("skipped: this MPICH does not send by UCX alone")
            sys.exit(77)
        for text, limit in ("16k", 16384), ("20000", 20000):
            got, limits, sent, _ = self.eager_limits("mpich", {"UCX_RNDV_THRESH": text}, limit - 1, limit)
            require(limits == {reach: ("UCX_RNDV_THRESH", limit) for reach in (False, True)}, f"{limits}, not {limit}")
            self.compare_eager(got, sent, limit)
        got, limits, sent, _ = self.eager_limits("mpich", {"UCX_RNDV_THRESH": "auto"}, 100, 300000)
        require(limits == {reach: (None, None) for reach in (False, True)}, f"auto: {limits}")
        self.compare_eager(got, sent, 0)
        preload = os.path.join(self.options.programs, "device.mpich.so")
        name = "MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE"
        shell = ["sh", "-c", f'LD_PRELOAD="$LD_PRELOAD:{preload}" exec "$@"', "sh"]
        for device, more, expected in (
                ("ch3:sock", {name: "70000"}, {False: (name, 70000), True: (name, 70000)}),
                ("ch3:nemesis", {name: "70001", "MPIR_CVAR_NEMESIS_SHM_EAGER_MAX_SZ": "30000"}, {False: ("MPIR_CVAR_NEMESIS_SHM_EAGER_MAX_SZ", 30000), True: (name, 70001)}),
                ("ch3:nemesis", {name: "70002"}, {False: (name, 70002), True: (name, 70002)}),
                ("ch4:ofi", {}, {False: (None, None), True: (None, None)}),
                ("ch4:ucx ofi", {"UCX_RNDV_THRESH": "5k"}, {False: (None, None), True: (None, None)}),
                ("none", {}, {False: (None, None), True: (None, None)}),
                ("nameless", {}, {False: (None, None), True: (None, None)})):
            _, limits, _, variables = self.eager_limits("mpich", {"DEVICE": device, **more}, name, 10, before=shell)
            require(limits == expected, f"{device}: {limits}, not {expected}")
            require(variables[name] == int(more.get(name, variables[name])), f"MPI_T says {variables} in the program")

    def off(self):
        """What began before recording began is not told of, and what was told of has both its ends or is counted."""
        program = self.program("openmpi")
        done = self.recorded(self.options.sonde, "record", "--force", "--start-off", "-o", self.out, "--", "mpirun.openmpi", "-n", str(RANKS), program, "few")
        require("pair 0 1" in done.stdout, done.stdout)
        got = run(self.options.sonde, "report", self.out, "messages", "--json")
        require(got.returncode == 1 and json.loads(got.stdout)["messages"] == 0, f"messages of a program that was not recorded: {got.stdout}{got.stderr}")

    def hosts(self):
        """Ranks on two hosts, as far as they can see: of two names, with clocks that are 5,000 seconds apart. What they waited for each other is what it is by one clock."""
        apart = 5000 * 10**9
        if run("unshare", "--uts", "--time", "--monotonic", "5000", "--fork", "true").returncode:
            print("skipped: this machine lets nobody have a clock of their own (unshare --time)")
            sys.exit(77)
        launcher = os.path.join(os.path.dirname(os.path.abspath(__file__)), "host.sh")
        done = self.record("mpirun.openmpi", "-n", str(RANKS), launcher, self.program("openmpi"))
        said, got = Said(done.stdout), self.view("messages")
        require({(row["from"], row["to"]): (row["count"], row["bytes"]) for row in got["pairs"]} == said.pairs, "who sent to whom")
        require((got["hosts"], got["apart"], got["alone"], got["mixed"]) == (2, 0, 0, 0), f"{got['hosts']} hosts, {got['apart']} apart")
        bound = got["clock_bound_ns"]
        require(0 < bound < LATE_NS / 20, f"a bound of {bound} ns")
        row = next(row for row in got["waits"] if row["call"] == "MPI_Recv" and row["frames"][0]["name"] == "late")
        require((row["kind"], row["rank"], row["for_rank"], row["root_rank"]) == ("late sender", 1, 0, 0) and row["count"] <= LATE, str(row))
        messages = [m for m in self.messages() if m["tag"] == 20]
        sends, receives = ([m for m in messages if m["kind"] == kind] for kind in ("send", "receive"))
        require(all(r["enter_ns"] - s["enter_ns"] > apart - 10**12 for s, r in zip(sends, receives)), "the clocks are no more apart than those of one host")
        waits = [max(min(s["enter_ns"] + apart, r["leave_ns"]) - r["enter_ns"], 0) for s, r in zip(sends, receives)]
        require(abs(sum(waits) - row["wait_ns"]) <= LATE * (bound + 10), f"{sum(waits)} ns by one clock, {row['wait_ns']} by two, to within {bound} each")
        self.compare_path()
        require(self.view("critical")[0]["clock_bound_ns"] == bound, "the path has other clocks")
        ranks, offsets = self.view("ranks"), {name.rsplit("-", 2)[0]: offset for name, offset in self.offsets()}
        require((ranks["hosts_apart"], len(offsets)) == (0, 2) and bound <= ranks["clock_bound_ns"] < LATE_NS / 10, f"{ranks['clock_bound_ns']} ns, {offsets}")
        off = abs(max(offsets.values()) - min(offsets.values()) - apart)
        require(off <= ranks["clock_bound_ns"], f"the axis is off by {off} ns, and says {ranks['clock_bound_ns']}")

    def together(self):
        """`mpirun sonde report` prints what one process alone prints, once, to the byte, and ends where that fails."""
        self.record("mpirun.openmpi", "-n", str(RANKS), self.program("openmpi"))
        synth, sonde = os.path.join(self.options.programs, "..", "sonde-synth"), os.path.abspath(self.options.sonde)
        views = ("summary", "critical", "messages", "ranks", "statistics", "profile", "blame")
        questions = [[view, *more] for view in views for more in ([], ["--json", "--limit", "0"])] + [["advice", "--json"], ["nothing"], ["kernels", "--lane", "x"]]
        questions += [["ranks", "--metric", "gpu,api,sync,cpu,blame,peers", *more] for more in ([], ["--json"])]
        for library, size in (("openmpi", 3), ("mpich", 2)):
            self.program(library)
            launch = [f"mpirun.{library}", "-n"]
            for question in questions if library == "openmpi" else questions[1:4]:
                alone, done = (run(*before, sonde, "report", self.out, *question) for before in ([], [*launch, str(size)]))
                require((done.returncode, done.stdout) == (alone.returncode, alone.stdout), f"{library}, {question}: {done.stdout[:2000]}\nnot\n{alone.stdout[:2000]}{done.stderr}")
                said = [line for line in done.stderr.splitlines() if line.startswith("sonde")]
                require(said == [line for line in alone.stderr.splitlines() if line.startswith("sonde")], f"{library}, {question}: {done.stderr}\nnot\n{alone.stderr}")
            once = run(sonde, "report", self.out, "kernels").stdout
            # the second of them finds nothing there, or something else
            for name in ("nothing", "other"):
                os.makedirs(os.path.join(self.options.work, name), exist_ok=True)
            other = os.path.join(self.options.work, "other", "job.sonde")
            shutil.rmtree(other, ignore_errors=True)
            self.recorded(synth, "--ranks", "--processes", "2", other)
            question = [sonde, "report", "job.sonde", "kernels"]
            for name, said in ("nothing", "No such file"), ("other", "find the same"):
                done = run(*launch, "1", "-wdir", self.options.work, *question, ":", "-n", "1", "-wdir", os.path.join(self.options.work, name), *question)
                require(done.returncode and not done.stdout and "process 1 of 2" in done.stderr and said in done.stderr, f"{library}, {name}: {done}")
            done = run(*launch, "1", *question, ":", "-n", "1", *question[:-1], "copies")
            require(done.returncode and not done.stdout and "asked the same" in done.stderr, f"{library}: {done}")
            # without MPI's library, or where nobody wants it
            for name, line in ("off", 0), (os.path.join(self.options.work, "none.so"), 1):
                done = subprocess.run([*launch, "2", *question], cwd=self.options.work, env={**PLAIN, "SONDE_MPI": name}, capture_output=True, text=True, timeout=900)
                require(done.returncode == 0 and done.stderr.count("reads and prints for itself") == line, f"{library}, {name}: {done}")
                require(sorted(done.stdout.splitlines()) == sorted(once.splitlines() * 2), f"{library}, {name}: {done.stdout}")
            # a program of a job asks for a report: each gets its own
            done = run(*launch, "2", "sh", "-c", f"{sonde} report {self.out} kernels; exit 0")
            require(sorted(done.stdout.splitlines()) == sorted(once.splitlines() * 2), f"{library}: {done.stdout}")
            # of one that is being written, which is what a process that was killed left
            live = os.path.join(self.options.work, "live.sonde")
            shutil.rmtree(live, ignore_errors=True)
            self.recorded(synth, "--ranks", "--processes", "2", "--unsealed", live)
            done = run(*launch, "3", sonde, "report", live, "kernels")
            require((done.returncode, done.stdout) == (0, run(sonde, "report", live, "kernels").stdout) and "one process of 3 reads it" in done.stderr, f"{library}: {done}")

    def tool(self):
        """Another tool of the profiling interface works beside us, and what it hands on to the library by that is told of once."""
        for library in ("openmpi", "mpich"):
            out = os.path.join(self.options.work, f"sends.{library}")
            preload = os.path.join(self.options.programs, f"tool.{library}.so")
            command = [f"mpirun.{library}", "-n", "3", "sh", "-c", f'LD_PRELOAD="$LD_PRELOAD:{preload}" TOOL_OUT={out} exec "$@"', "sh", self.program(library), "few"]
            self.recorded(*command)
            with open(out) as file:
                alone = sorted(map(int, file))
            os.remove(out)
            said = Said(self.record(*command).stdout)
            with open(out) as file:
                require(sorted(map(int, file)) == alone and sum(alone) > 10, f"{library}: the tool counts otherwise with Sonde: {alone} without")
            self.compare(said, late=False)

    def large(self):
        """The same program by MPI 4.0's functions with counts of 64 bits, which are told by their own names."""
        program = self.program("mpich", "large")
        self.renamed = {f"MPI_{name}_c": f"MPI_{name}" for name in re.findall(r"^#define MPI_(\w+) MPI_\w+_c$", open(os.path.join(os.path.dirname(__file__), "ranks.c")).read(), re.M)}
        done = self.record("mpirun.mpich", "-n", str(RANKS), program)
        self.compare(Said(done.stdout), late=True)
        got = {row["function"] for row in self.view("messages")["collectives"]}
        require(got & set(self.renamed.values()) == set() and len(got & set(self.renamed)) > 8, f"names of what all did: {got}")

    def fortran(self):
        """By the libraries' own functions for Fortran, which call those of C: by these names (MPICH), or those of the profiling interface (Open MPI)."""
        found = [library for library in ("openmpi", "mpich") if os.path.exists(os.path.join(self.options.programs, f"fortran.{library}"))]
        if not found:
            print("skipped: mpif90.openmpi and mpif90.mpich are missing")
            sys.exit(77)
        for library in found:
            command = [f"mpirun.{library}", "-n", "3", os.path.join(self.options.programs, f"fortran.{library}")]
            alone, done = self.recorded(*command), self.record(*command)
            require(sorted(alone.stdout.splitlines()) == sorted(done.stdout.splitlines()), f"{library}: {alone.stdout}\n{done.stdout}")
            self.compare(Said(done.stdout), late=False)
            row = next(row for row in self.view("messages")["waits"] if row["for_rank"] == 0 and row["call"] != "MPI_Init")
            require(row["frames"] and row["frames"][0]["file"].endswith("ranks.f90") and row["wait_ns"] > 20e6, f"{library}: {row}")

    def python(self):
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ranks.py")
        if run(sys.executable, "-c", "import mpi4py").returncode:
            print("skipped: mpi4py is missing")
            sys.exit(77)
        line = next(i for i, text in enumerate(open(program), 1) if "LINE receive" in text)
        for library in ("openmpi", "mpich"):  # mpi4py takes MPI_Send_c where there is one
            env = {"MPI4PY_MPIABI": library}
            if found := re.search(r"=> (\S*/libmpich\.so\.12) ", run("ldd", self.program(library)).stdout):  # Debian's name of libmpi.so.12
                os.symlink(found[1], os.path.join(self.options.work, "libmpi.so.12"))
                env["LD_LIBRARY_PATH"] = self.options.work
            done = self.record(f"mpirun.{library}", "-n", "3", sys.executable, program, more=env)
            self.compare(Said(done.stdout), late=False)
            row = next(row for row in self.view("messages")["waits"] if row["for_rank"] == 0 and row["call"] == "MPI_Mprobe")  # which computes before it sends
            require((row["kind"], row["rank"]) == ("late sender", 1) and row["wait_ns"] > 20e6, f"{library}: {row}")
            frame = row["frames"][0]
            require((frame["name"], frame["line"]) == ("ring", line) and frame["file"].endswith("ranks.py"), f"{library}: {frame}")
            exported = self.exported()
            ended = {c["id"] for c in exported["contexts"] if c["name"] == "MPI_Finalize"}  # which mpi4py jumps to
            require(len({m["process"] for m in exported["messages"] if m["context"] in ended}) == 3, f"{library}: MPI_Finalize was not called by all")


def main():
    parser = argparse.ArgumentParser()
    for name in ("sonde", "programs", "work"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("case")
    options = parser.parse_args()
    options.work = os.path.join(options.work, options.case)
    shutil.rmtree(options.work, ignore_errors=True)
    os.makedirs(options.work)
    getattr(Test(options), options.case)()


if __name__ == "__main__":
    main()
