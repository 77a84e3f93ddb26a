"""live.py - writes measurements with known content, as an unsealed live.sonde.

Shares nothing with src/: the layout is docs/developers/format.md's, written down once
more with struct. A measurement made here is the truth that the commands'
output is compared with.
"""
import json
import os
import struct

SEGMENT = 65536
ROOM = SEGMENT - 64
TABLES = ("FREE STRING FRAME NODE MODULE PYCODE DEVICE LANE WORK OBJECT PROFILE HISTOGRAM CLOCK NOTE OP CALL "
          "SYMBOL PROCESS INDEX RANGE SAMPLE SWITCH WAIT PAUSE SLEEP VALUE ACCESS DUPLICATE FLOW "
          "BITS TYPE GUESS REMOTE COUNTER SERIES MIGRATION MESSAGE STALL INSTRUCTION ARRAY CELL BASE PLACE TALLY SETTING JOB STRETCH").split()
KINDS = ("none kernel native read write copy fill map unmap image_read image_write image_copy image_fill image_map "
         "svm_copy svm_fill svm_map svm_unmap svm_free svm_migrate migrate marker barrier command_buffer acquire "
         "release peer_copy host_copy graph synchronize event_record event_wait collective").split()
VERSION = 7
NATIVE, PYTHON, API, OP, UNKNOWN, CUT, LINK, RANGE = 1, 2, 3, 4, 5, 6, 7, 8
MARK, ACROSS = 1, 2
PAYLOADS = {"uint64": (1, "<Q"), "int64": (2, "<q"), "double": (3, "<d")}
MEMORY = "unknown pageable pinned device array managed host".split()
LIMITERS = "none threads blocks registers shared grid".split()
FAILED, NO_TIMES, BAD_TIME, EARLY = 1, 2, 4, 8
PARTIAL = 1  # uses of an object
DROPS = "channel_full trace_full disk_full max_size after_exit reentrant agent_off page".split()
LEDGER = ("seen done failed no_times".split() + ["dropped%d" % i for i in range(16)] +
          ("unmatched bad_time early_in_bound api_calls unwinds unwind_failed unwind_truncated unwind_checked "
           "unwind_mismatched python_walks python_failed contexts_folded hook_ns thread_cpu_ns vendor_ns "
           "written_bytes busy_clipped_ns calls_dropped call_rows_dropped busy_left_out range_rows_dropped pauses_dropped "
           "unplaced silent_launches").split())
CPU = ("samples deferred lost sample_rows switch_rows wait_rows threads threads_missed handler_ns process_ns sampled_ns before_ns "
       "sleep_rows").split()
ROWS = {"FRAME": "<HHIQII", "NODE": "<II", "MODULE": "<IIQQQII", "PYCODE": "<IIIIII", "DEVICE": "<IIIIIIQII",
        "LANE": "<IIIIIIIIQQQQQQ8Q4Q", "WORK": "<II3Q3Q3IIIIHHHHII6I", "OBJECT": "<IIIIQQQQQQQII",
        "PROFILE": "<IIQQQQddQQQQQQII40I", "HISTOGRAM": "<16I", "CLOCK": "<IIQQQ", "NOTE": "<Q248s",
        "OP": "<QQQQQQQIIIHH", "CALL": "<QQQII", "RANGE": "<QQQIIIHH",
        "SAMPLE": "<QQII", "SWITCH": "<QQII", "WAIT": "<QQQII", "SLEEP": "<QQII", "VALUE": "<IIHHI10Q", "ACCESS": "<5IHBB11Q", "DUPLICATE": "<4I2Q", "FLOW": "<4I2Q",
        "REMOTE": "<5I4BIIQ", "COUNTER": "<4IQ3d", "SERIES": "<QQd", "MIGRATION": "<4I3Q", "MESSAGE": "<4Q6I", "STALL": "<8I4Q", "INSTRUCTION": "<2I", "ARRAY": "<3I2HQ", "CELL": "<4IQ", "BASE": f"<Q{len(LEDGER)}Q{len(CPU)}Q3Q", "TALLY": "<2I5Q", "PAUSE": "<QQ", "JOB": "<II", "STRETCH": "<2I4Q2IQ"}


class Process:
    """One process; ids are what the add functions return."""

    def __init__(self, name, pid, start_ns=10**12, wall_offset_ns=17 * 10**17, executable="/opt/demo/bin/demo",
                 trace=True, state=2):
        self.name, self.pid, self.start_ns, self.state = name, pid, start_ns, state
        self.wall_offset_ns, self.executable, self.trace = wall_offset_ns, executable, trace
        self.tables = {name: [] for name in TABLES}
        self.owned = {}  # (table, owner) -> rows
        self.strings, self.frames, self.nodes, self.works = {}, {}, {}, {}
        self.accumulators = {}
        self.ledger = dict.fromkeys(LEDGER, 0)
        self.stop_ns, self.clock_bound_ns = start_ns, 50
        self.truth = []  # operations, in the words of the exports
        self.calls = []
        self.ranges = []
        self.correlation = 0
        self.version = VERSION
        self.cpu = dict.fromkeys(["rate_hz", "sampling", "switches_known", *CPU], 0)
        self.launched = {}  # (node, queue) -> work of the last
        self.histograms = False  # of durations
        self.series_rows_dropped = self.message_rows_dropped = 0
        self.rank = (0, 0, 0)  # rank and local rank, each plus one, of how many

    def string(self, text):
        data = text if isinstance(text, bytes) else text.encode()
        if not data:
            return 0
        if data not in self.strings:
            self.strings[data] = len(self.strings) + 1
            self.tables["STRING"].append(data)
        return self.strings[data]

    def add(self, table, *values):
        self.tables[table].append(struct.pack(ROWS[table], *values))
        return len(self.tables[table])

    def module(self, path, build_id=b""):
        return self.add("MODULE", self.string(path), self.string(build_id), 0, 0, 1 << 20, 1, 0)

    def clock(self, device, host_ns, device_ns, bound_ns=50):
        self.add("CLOCK", device, 0, host_ns, device_ns, bound_ns)

    def pause(self, from_ns, to_ns):
        self.add("PAUSE", from_ns, to_ns)

    def python(self, function, file, line):
        return self.add("PYCODE", self.string(function), self.string(file), line, 0, 0x030B, 0)

    def frame(self, kind, module=0, offset=0, op=0, name=""):
        key = (kind, module, offset, op, name)
        if key not in self.frames:
            self.frames[key] = self.add("FRAME", kind, op, module, offset, self.string(name), 0)
        return self.frames[key]

    def node(self, parent, frame, slot=1):
        key = (parent, frame, slot)
        if key not in self.nodes:
            rows = self.owned.setdefault(("NODE", slot), [])
            if len(rows) >= 8000:
                raise ValueError("more nodes than one segment of this writer holds")
            rows.append(struct.pack(ROWS["NODE"], parent, frame))
            self.nodes[key] = (slot << 13) + len(rows) - 1
        return self.nodes[key]

    def device(self, name, kind=2, compute_units=0, pci=0, backend="opencl"):
        return self.add("DEVICE", self.string("Platform"), self.string(name), self.string("Vendor"),
                        self.string("1.0"), kind, self.string(backend), 1 << 34, compute_units, pci)

    def lane(self, kind, device=0, tid=0, flags=0, name=""):
        return self.add("LANE", kind, device, 1 if device else 0, flags, self.string(name), tid, 1, 0,
                        self.start_ns, 0, 0, 0, 0, 0, *[0] * 12)

    def thread(self, tid):
        return self.lane(1, tid=tid)

    def queue(self, device, out_of_order=False):
        return self.lane(2, device=device, flags=1 if out_of_order else 0)

    def series(self, device, metric, unit, values):
        """A counter over time: [(from_ns, to_ns, value)]."""
        lane = self.add("LANE", 3, device, self.string(unit), 0, self.string(metric), 0, 0, 0, 0, 0, 0, 0, 0, 0, *[0] * 12)
        self.owned[("SERIES", lane)] = [struct.pack(ROWS["SERIES"], *row) for row in values]
        return lane

    def work(self, global_size=(), local_size=(), registers=0, cluster=(), static_shared=0, dynamic_shared=0,
             local_bytes=0, occupancy=0, limiter="none", source="unknown", target="unknown", devices=(0, 0), collective=(0, 0, 0, 0, 0, 0)):
        key = tuple(map(str, (global_size, local_size, registers, cluster, static_shared, dynamic_shared, local_bytes,
                              occupancy, limiter, source, target, devices, collective)))
        if key not in self.works:
            pad = lambda sizes: list(sizes) + [0] * (3 - len(sizes))
            self.works[key] = self.add("WORK", len(global_size), registers, *pad(global_size), *pad(local_size),
                                       *pad(cluster), static_shared, dynamic_shared, local_bytes, occupancy,
                                       LIMITERS.index(limiter), MEMORY.index(source), MEMORY.index(target), *devices, *collective)
        return self.works[key]

    def range(self, thread, name, begin, end=0, domain="", category="", payload=None, flags=0):
        """A range, or with flags=MARK a mark; payload is (type, value). They are stored in the order of calls."""
        kind, form = PAYLOADS[payload[0]] if payload else (0, "<Q")
        bits, = struct.unpack("<Q", struct.pack(form, payload[1] if payload else 0))
        self.owned.setdefault(("RANGE", thread), []).append(
            struct.pack(ROWS["RANGE"], begin, end, bits, self.string(name), self.string(domain), self.string(category),
                        kind, flags))
        self.ranges.append({"lane": thread, "name": name or None, "domain": domain or None,
                            "category": category or None, "begin_ns": begin, "end_ns": end or None,
                            "payload": payload[1] if payload else None, "payload_type": payload[0] if payload else None,
                            "mark": bool(flags & MARK), "across": bool(flags & ACROSS)})

    def wait(self, thread, enter, waiter=0, awaited=0, queue=0, device=0):
        """What the call entered at `enter`, or its operation `waiter`, waited for."""
        self.owned.setdefault(("WAIT", thread), []).append(
            struct.pack(ROWS["WAIT"], enter, waiter, awaited, queue, device))

    def sample(self, thread, node, time, cpu, deferred=False):
        """CPU time of a thread; it counts in the profile too."""
        self.owned.setdefault(("SAMPLE", thread), []).append(
            struct.pack(ROWS["SAMPLE"], time, cpu, node, int(deferred)))
        self.account(node, thread, cpu)

    def switch(self, thread, out, back=0, preempted=False):
        """The thread was off the CPU."""
        self.owned.setdefault(("SWITCH", thread), []).append(
            struct.pack(ROWS["SWITCH"], out, back, int(preempted), 0))

    def sleep(self, thread, function, parent, begin, end, kind=1):
        """It waited in a function of the C library."""
        node = self.node(parent, self.frame(API, offset=0xff000001, name=function))
        self.owned.setdefault(("SLEEP", thread), []).append(struct.pack(ROWS["SLEEP"], begin, end, node, kind))
        self.account(node, 0, end - begin)
        return node

    def message(self, thread, kind, function, parent, enter, leave, posted=0, size=0, comm="", peer=None, tag=0):
        """One end of a message between ranks, or a part in what all of a communicator do."""
        node = self.node(parent, self.frame(API, offset=0x4000001, name=function))
        self.owned.setdefault(("MESSAGE", thread), []).append(
            struct.pack(ROWS["MESSAGE"], enter, leave, posted or enter, size, node, self.string(comm), 0 if peer is None else peer + 1, tag, kind, 0))
        return node

    def object(self, kind, node, size, alloc_ns, free_ns=0, uses=(0, 0, 0), device=0, parent=0, flags=0):
        """`uses` is (entry of the first, entry of the last, how many)."""
        return self.add("OBJECT", kind, node, 1, flags, size, 0x1000, alloc_ns, free_ns, *uses, device, parent)

    def value(self, node, obj, operations, elements, unchanged, maybe=False):
        """What operations did to an object: elements of 4 bytes compared, and those that were left as they were."""
        self.add("VALUE", node, obj, int(maybe), 0, 4, operations, 4 * elements, *[elements] * 4, *[unchanged] * 4)

    def access(self, node, obj, number, elements, any, all, least, most, what=0, type=1, size=4, file="", line=0,
               checked=0, equal=0, lined=0, value=0, slope=0, offset=0):
        """What the elements of one access of a kernel were."""
        self.add("ACCESS", node, obj, self.string(file) if file else 0, line, number, size, what, type, elements, any, all,
                 least % 2**64, most % 2**64, checked, equal, lined, value, slope % 2**64, offset % 2**64)

    def duplicate(self, node, obj, other, operations, size):
        """So often an object of that size held what another did."""
        self.add("DUPLICATE", node, obj, other, 0, operations, operations * size)

    def remote(self, node, obj, number, count, device, owner=0, what=0, size=4, file="", line=0):
        """So many threads of a device accessed what is another's, or the host's."""
        self.add("REMOTE", node, obj, self.string(file) if file else 0, line, number, what, size, 0, 0, device, owner, count)

    def looked_at(self, node, count, missed=0):
        """Of a kernel so many launches were looked at, or were not."""
        self.add("REMOTE", node, 0, 0, 0, 0, 0, 0, missed, 0 if missed else 1, 0, 0, count)

    def array(self, obj, size, device, owner=0, shift=2, read=True, alone=False):
        """Objects of that size, or one alone, whose elements were looked at: cells of 1 << shift bytes."""
        return self.add("ARRAY", obj, device, owner, shift, int(read) + 2 * alone, size)

    def stretch(self, obj, offset, size, name, rows=0, columns=0, element=0, at_ns=0):
        """The program gave a part of an object a name."""
        self.add("STRETCH", obj, self.string(name), offset, size, rows, columns, element, 0, at_ns or self.start_ns + 1)

    def cells(self, array, kind, first, count, size):
        """Cells that follow each other, and the bytes that were loaded (0), stored (1) or accessed atomically (2) in each."""
        self.add("CELL", array, kind, first, count, size)

    def base(self, at_ns, ledger, cpu):
        """Counters as they were at a time, of a recording of the last seconds."""
        self.add("BASE", at_ns, *[ledger.get(k, 0) for k in LEDGER], *[cpu.get(k, 0) for k in CPU], 0, 0, 0)

    def migration(self, obj, source, target, count, size=0, ns=0, faults=False):
        """What the driver moved of managed memory, or how many page faults `target` met."""
        self.add("MIGRATION", obj, source, target, int(faults), count, size, ns)

    def counter(self, node, device, metric, unit, values):
        """What a counter was for operations; metric "": these have none."""
        self.add("COUNTER", node, device, self.string(metric) if metric else 0, self.string(unit) if unit else 0, len(values),
                 sum(values), min(values), max(values))

    def tally(self, node, name, period, samples, count=0, enabled_ns=0, running_ns=0):
        """What the CPU counted: of all (node 0, samples: lost ones), or of samples in a context."""
        self.add("TALLY", node, self.string(name), period, samples, count if not node else samples * period, enabled_ns, running_ns)

    def stall(self, device, function, reason, samples, idle=0, file="", line=0, code=1, offset=0, cycles=65536, kind=0):
        """Samples of warps at an instruction; kind 1, 2, 3: elsewhere, dropped, lost."""
        of = [self.string(text) if text else 0 for text in (function, file)]
        self.add("STALL", device, *of, line, self.string(reason) if reason else 0, cycles, kind, 0, code, offset, samples, idle)

    def job(self, name):
        """What the launcher calls the job whose rank this is."""
        self.add("JOB", self.string(name), 0)

    def note(self, text):
        self.add("NOTE", self.start_ns, text.encode())

    def account(self, node, lane, duration, size=0, delays=(0, 0, 0), failed=0):
        self.accumulators.setdefault((node, lane), []).append((duration, size, delays, failed))

    def call(self, thread, api, parent, enter, leave, correlation=0, queue=0):
        node = self.node(parent, self.frame(API, offset=1, name=api))
        self.owned.setdefault(("CALL", thread), []).append(
            struct.pack(ROWS["CALL"], enter, leave, correlation, node, queue))
        self.account(node, 0, leave - enter)
        self.ledger["api_calls"] += 1
        self.calls.append({"name": api, "enter_ns": enter, "leave_ns": leave, "correlation": correlation})
        return node

    def enqueue(self, thread, queue, api, parent, kind, enter, leave, start=0, end=0, name="", size=0, work=0, obj=0,
                flags=0):
        """An API call and its operation. Returns its node."""
        self.correlation += 1
        api_node = self.call(thread, api, parent, enter, leave, self.correlation, queue)
        index = KINDS.index(kind)
        node = self.node(api_node, self.frame(OP, op=index, name=name))
        timed = not flags & NO_TIMES
        queued, submit = (enter + 100, enter + 300) if timed else (0, 0)
        self.owned.setdefault(("OP", queue), []).append(
            struct.pack(ROWS["OP"], start, end, queued, submit, enter, size, self.correlation, node, work, obj, index,
                        flags))
        delays = (100, 200, start - submit) if timed and not flags & BAD_TIME else (0, 0, 0)
        self.account(node, queue, end - start if timed and not flags & BAD_TIME else None, size, delays,
                     1 if flags & FAILED else 0)
        self.launched[node, queue] = work
        for key, bit in (("failed", FAILED), ("no_times", NO_TIMES), ("bad_time", BAD_TIME)):
            self.ledger[key] += bool(flags & bit)
        self.ledger["seen"] += 1
        self.ledger["done"] += 1
        self.stop_ns = max(self.stop_ns, end, leave)
        self.truth.append({"correlation": self.correlation, "lane": queue, "kind": kind, "name": name or kind,
                           "enter_ns": enter, "start_ns": start if timed else None, "end_ns": end if timed else None,
                           "queued_ns": queued or None, "submit_ns": submit or None, "bytes": size,
                           "failed": bool(flags & FAILED), "bad_time": bool(flags & BAD_TIME)})
        return node

    def collective(self, lane, api_node, enter, start, end, name, size=0, work=0):
        """One of NCCL's, over the kernel that carries it out: on its communicator's lane, of the kernel's call."""
        self.correlation += 1
        index = KINDS.index("collective")
        node = self.node(api_node, self.frame(OP, op=index, name=name))
        self.owned.setdefault(("OP", lane), []).append(
            struct.pack(ROWS["OP"], start, end, enter, enter, enter, size, self.correlation, node, work, 0, index, 0))
        self.account(node, lane, end - start, size, (0, 0, start - enter))
        self.launched[node, lane] = work
        self.ledger["seen"] += 1
        self.ledger["done"] += 1

    # ---- writing -------------------------------------------------------------

    def histogram(self, times):
        """Numbers of the rows, one for each doubling, of sixteen equal parts each; 0: none."""
        parts = {}
        for ns in times if self.histograms else ():
            octave = ns.bit_length() - 1
            parts.setdefault(octave, [0] * 16)[(ns - (1 << octave)) * 16 >> octave] += 1
        return [self.add("HISTOGRAM", *parts[octave]) if octave in parts else 0 for octave in range(40)]

    def profile_rows(self):
        for (node, lane), items in self.accumulators.items():
            times = [d for d, *_ in items if d is not None]
            mean = sum(times) / len(times) if times else 0.0
            delays = [sum(i[2][k] for i in items) for k in range(3)]
            self.add("PROFILE", node, lane, len(items), sum(times), min(times, default=0), max(times, default=0),
                     mean, sum((t - mean) ** 2 for t in times), sum(i[1] for i in items), delays[1], delays[2],
                     delays[0], len(times), sum(i[3] for i in items), self.launched.get((node, lane), 0), 0, *self.histogram(times))

    def segments(self):
        def cut(table, owner, first, rows):
            per = ROOM // struct.calcsize(ROWS[table])
            for at in range(0, len(rows), per):
                part = rows[at:at + per]
                yield table, owner, first + at, len(part), struct.calcsize(ROWS[table]), b"".join(part)

        strings = b""
        for data in self.tables["STRING"]:
            strings += struct.pack("<I", len(data)) + data + b"\0" * (-len(data) % 4)
        if len(strings) > ROOM:
            raise ValueError("more strings than one segment of this writer holds")
        yield "STRING", 0, 1, len(strings), 1, strings
        for table, rows in self.tables.items():
            if table in ROWS:
                yield from cut(table, 0, 1, rows)
        for (table, owner), rows in self.owned.items():
            yield from cut(table, owner, owner << 13 if table == "NODE" else 0, rows)

    def header(self, count):
        head = struct.pack("<QIIIIIIQQQQQII512s", 0x314556494C444E53, self.version, SEGMENT, count, self.state, self.pid,
                           int(self.trace), self.start_ns, self.stop_ns + 1000, self.wall_offset_ns, 0, self.clock_bound_ns, 0, 0,
                           self.executable.encode())
        head += struct.pack("<%dQ" % len(LEDGER), *[self.ledger[k] for k in LEDGER])
        busy = [self.busy(device) for device in range(64)]
        for all_of_it, kernels, copies in busy:
            head += struct.pack("<4Q", *all_of_it)
        for all_of_it, kernels, copies in busy:
            head += struct.pack("<2Q", kernels[1], copies[1])
        head += struct.pack("<6I", *self.rank, *[self.cpu[k] for k in ("rate_hz", "sampling", "switches_known")])
        return head + struct.pack("<%dQ" % len(CPU), *[self.cpu[k] for k in CPU]) + struct.pack("<2Q", self.series_rows_dropped, self.message_rows_dropped)

    def busy(self, device):
        """(count, ns in the union of intervals, first, last) of all, kernels and copies of a device."""
        def union(spans):
            total, until = 0, 0
            for start, end in sorted(spans):
                total += max(0, end - max(start, until))
                until = max(until, end)
            return len(spans), total, min(s for s, _ in spans) if spans else 0, until
        lanes = [i + 1 for i, row in enumerate(self.tables["LANE"]) if struct.unpack_from("<II", row) == (2, device)]
        timed = [op for op in self.truth if op["lane"] in lanes and op["start_ns"] and op["end_ns"] >= op["start_ns"]]
        every = union([(op["start_ns"], op["end_ns"]) for op in timed])
        kernels = union([(op["start_ns"], op["end_ns"]) for op in timed if op["kind"] == "kernel"])
        copies = union([(op["start_ns"], op["end_ns"]) for op in timed if op["kind"] in ("read", "write", "copy")])
        return every, kernels, copies

    def write(self, folder):
        if not self.tables["PROFILE"]:
            self.profile_rows()
        path = os.path.join(folder, self.name)
        os.makedirs(path)
        with open(os.path.join(path, "live.sonde"), "wb") as file:
            segments = list(self.segments())
            file.write(self.header(1 + len(segments)).ljust(SEGMENT, b"\0"))
            for table, owner, first, used, width, data in segments:
                head = struct.pack("<IHHIIQI36s", 0x47455353, TABLES.index(table), 0, owner, used, first, width, b"")
                file.write((head + data).ljust(SEGMENT, b"\0"))


def write_manifest(folder, command, version=VERSION, **more):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "manifest.json"), "w") as file:
        json.dump({"format": "sonde", "format_version": version, "sonde_version": "0.1.0", "command": command, **more}, file)
