"""zoo.py - measurements that are odd in one way each, made by live.py: nothing, little, too much, contradictions.

ZOO is a list of functions; each takes a folder and returns the path of a measurement.
"""
import os
import struct

import live
import scenes

MS = 10**6
ZOO = []


def animal(function):
    ZOO.append(function)
    return function


def program(**more):
    """A process with one kernel and all that it needs."""
    p = live.Process("host-1-0", 1, **more)
    p.gpu = p.device("Test GPU")
    p.main, p.queue_lane = p.thread(1), p.queue(p.gpu)
    p.code = p.node(0, p.frame(live.PYTHON, p.python("step", "/home/user/main.py", 7)))
    return p


def launch(p, at, queue=None, **more):
    p.enqueue(p.main, queue or p.queue_lane, "clEnqueueNDRangeKernel", p.code, "kernel", at, at + 500, at + 1000,
              at + 2000, name="k", **more)


def written(folder, name, p):
    path = os.path.join(folder, name + ".sonde")
    live.write_manifest(path, ["zoo"])
    p.write(path)
    return path


@animal
def plain(folder):
    p = program()
    for i in range(100):
        launch(p, p.start_ns + MS + 3000 * i)
    return written(folder, "plain", p)


@animal
def no_process(folder):
    path = os.path.join(folder, "no_process.sonde")
    live.write_manifest(path, ["zoo"])
    return path


@animal
def nothing_in_it(folder):
    return written(folder, "nothing_in_it", live.Process("host-1-0", 1))


@animal
def calls_only(folder):
    p = program()
    p.call(p.main, "clFinish", p.code, p.start_ns, p.start_ns + 10)
    return written(folder, "calls_only", p)


@animal
def objects_only(folder):
    p = program()
    p.object(1, 0, 100, p.start_ns)
    return written(folder, "objects_only", p)


@animal
def one_operation(folder):
    p = program()
    launch(p, p.start_ns)
    return written(folder, "one_operation", p)


@animal
def empty_lanes(folder):
    p = program()
    launch(p, p.start_ns + MS)
    for i in range(3):
        p.queue(p.gpu)
        p.thread(100 + i)
    return written(folder, "empty_lanes", p)


@animal
def no_times(folder):
    p = program()
    for i in range(10):
        p.enqueue(p.main, p.queue_lane, "clEnqueueTask", p.code, "kernel", p.start_ns + MS * i, p.start_ns + MS * i + 500,
                  name="k", flags=live.NO_TIMES)
    return written(folder, "no_times", p)


@animal
def bad_times(folder):
    """Ends before starts, starts at 0, ends at the end of time."""
    p = program()
    for start, end in ((2 * MS, MS), (-p.start_ns, 5), (MS, 2**64 - 1 - p.start_ns), (2**64 - 1 - p.start_ns, MS)):
        p.enqueue(p.main, p.queue_lane, "clEnqueueTask", p.code, "kernel", p.start_ns + MS, p.start_ns + MS + 500,
                  p.start_ns + start, p.start_ns + end, name="k", flags=live.BAD_TIME)
    launch(p, p.start_ns + 10 * MS)
    p.stop_ns = p.start_ns + 20 * MS
    return written(folder, "bad_times", p)


@animal
def all_failed(folder):
    p = program()
    for i in range(10):
        launch(p, p.start_ns + MS * i, flags=live.FAILED)
    return written(folder, "all_failed", p)


@animal
def no_length(folder):
    """Everything at one instant."""
    p = program()
    for _ in range(10):
        p.enqueue(p.main, p.queue_lane, "clEnqueueTask", p.code, "kernel", p.start_ns, p.start_ns, p.start_ns + 300,
                  p.start_ns + 300, name="k")
    p.wait(p.main, p.start_ns, queue=p.queue_lane)
    return written(folder, "no_length", p)


@animal
def far_off(folder):
    """One operation and one call that end centuries later, and nobody says that they are wrong."""
    p = program()
    for i in range(10):
        launch(p, p.start_ns + MS * i)
    p.enqueue(p.main, p.queue_lane, "clEnqueueTask", p.code, "kernel", p.start_ns + 20 * MS, 2**61, p.start_ns + 21 * MS,
              2**62, name="k")
    p.stop_ns = p.start_ns + 30 * MS
    return written(folder, "far_off", p)


@animal
def clocks_that_jump(folder):
    """Forward by 2 s (a host that slept), back to 0 (a device that was reset), and steady again."""
    p = program()
    for second, device in ((0, 0), (1, 10**9), (2, 4 * 10**9), (3, 10), (4, 10**9 + 10), (5, 2 * 10**9 + 10)):
        p.clock(p.gpu, p.start_ns + second * 10**9, device)
        launch(p, p.start_ns + second * 10**9 + MS)
    return written(folder, "clocks_that_jump", p)


@animal
def clocks_backwards(folder):
    """The host's own times go backwards: calls that return before they were entered, pairs out of order."""
    p = program()
    for i in reversed(range(10)):
        p.clock(p.gpu, p.start_ns + MS * i, MS * i)
        launch(p, p.start_ns + MS * i)
    p.call(p.main, "clFinish", p.code, p.start_ns + 50 * MS, p.start_ns + 50 * MS)
    calls = p.owned[("CALL", p.main)]
    calls[-1] = struct.pack("<Q", p.start_ns + 60 * MS) + calls[-1][8:]
    return written(folder, "clocks_backwards", p)


@animal
def no_cpu_side(folder):
    p = program()
    for i in range(10):
        launch(p, p.start_ns + MS * i)
    p.cpu.update(rate_hz=199, sampling=0)  # wanted, and refused
    return written(folder, "no_cpu_side", p)


@animal
def odd_cpu_side(folder):
    """Samples without a context, out of order, at no time; switches that never end or end before they begin."""
    p = program()
    p.cpu.update(rate_hz=199, sampling=1, switches_known=1, samples=6, lost=3, threads=1, threads_missed=2)
    for i in range(5):
        launch(p, p.start_ns + MS * i)
    for at, node in ((0, 0), (2**64 - 1, p.code), (p.start_ns + MS, 99999), (p.start_ns, p.code)):
        p.sample(p.main, node, at, 5000)
    p.switch(p.main, p.start_ns + 3 * MS, 0)
    p.switch(p.main, p.start_ns + 4 * MS, p.start_ns + MS)
    return written(folder, "odd_cpu_side", p)


@animal
def waits_for_nothing(folder):
    """Waits for operations, queues and devices that are not there, and for itself."""
    p = program()
    for i in range(5):
        launch(p, p.start_ns + MS * i)
        at = p.start_ns + MS * i + 3000
        p.call(p.main, "clFinish", p.code, at, at + 100)
        for named in ({"awaited": 12345}, {"queue": 77}, {"device": 88}, {"awaited": p.correlation, "waiter": p.correlation}, {}):
            p.wait(p.main, at, **named)
    p.wait(p.main, 1, waiter=4, awaited=2)
    p.wait(p.main, 2**64 - 1, awaited=1)
    return written(folder, "waits_for_nothing", p)


@animal
def circle_of_waits(folder):
    p = program()
    second = p.queue(p.gpu)
    launch(p, p.start_ns + MS)
    launch(p, p.start_ns + MS, queue=second)
    p.wait(p.main, p.start_ns + MS, waiter=1, awaited=2)
    p.wait(p.main, p.start_ns + MS, waiter=2, awaited=1)
    return written(folder, "circle_of_waits", p)


@animal
def cut_trace(folder, cause="max_size"):
    """What --max-size leaves, or too little memory: the profile has all, the trace a tenth."""
    p = program()
    for i in range(100):
        launch(p, p.start_ns + 10000 * i)
    rows = p.owned[("OP", p.queue_lane)]
    del rows[10:]
    p.ledger["dropped%d" % live.DROPS.index(cause)] = 90
    p.ledger["call_rows_dropped"] = 5
    p.cpu["wait_rows"] = 7
    return written(folder, "cut_trace" if cause == "max_size" else cause, p)


@animal
def rows_without_calls(folder):
    """A trace whose calls were lost, and one whose operations were."""
    p = program()
    for i in range(20):
        launch(p, p.start_ns + 10000 * i)
    p.owned.pop(("CALL", p.main))
    return written(folder, "rows_without_calls", p)


@animal
def rows_without_operations(folder):
    p = program()
    for i in range(20):
        launch(p, p.start_ns + 10000 * i)
    p.owned.pop(("OP", p.queue_lane))
    return written(folder, "rows_without_operations", p)


@animal
def profile_only(folder):
    return scenes.profile_only(folder, "profile_only.sonde")[0]


@animal
def partly_traced(folder):
    path, _ = scenes.demo(folder, "partly_traced.sonde")
    p = program(trace=False)
    launch(p, p.start_ns)
    p.profile_rows()
    p.owned = {key: rows for key, rows in p.owned.items() if key[0] == "NODE"}
    p.write(path)
    return path


@animal
def killed(folder):
    p = program(state=1)
    for i in range(10):
        launch(p, p.start_ns + MS * i)
    p.ledger["seen"] += 5
    return written(folder, "killed", p)


@animal
def switched_off(folder):
    p = program(state=3)
    launch(p, p.start_ns)
    p.note("Sonde switched itself off: a test")
    return written(folder, "switched_off", p)


@animal
def lost_contexts(folder):
    """Operations and calls whose contexts, names and launch configurations are not there."""
    p = program()
    for i in range(5):
        launch(p, p.start_ns + MS * i, work=999, obj=888)
    p.code = 1 << 20
    launch(p, p.start_ns + 6 * MS)
    p.owned[("NODE", 1)] = p.owned[("NODE", 1)][:1]
    return written(folder, "lost_contexts", p)


@animal
def huge_objects(folder):
    p = program()
    for i in range(5):
        launch(p, p.start_ns + MS * i)
    for size, alloc, free in ((2**64 - 1, p.start_ns, 0), (2**63, p.start_ns + 1, p.start_ns), (0, 0, 2**64 - 1),
                              (5, 2**64 - 1, 0), (7, p.start_ns + 2, p.start_ns + 2)):
        p.object(1, p.code, size, alloc, free, uses=(2**64 - 1, 1, 3), device=77, parent=0)
    p.object(99, 12345, 10, p.start_ns, parent=1)
    p.object(1, p.code, 10, p.start_ns, parent=7)  # a part of itself
    return written(folder, "huge_objects", p)


@animal
def deep(folder):
    p = program()
    for i in range(400):
        p.code = p.node(p.code, p.frame(live.PYTHON, p.python("f%d" % (i % 7), "/home/user/main.py", i)))
    launch(p, p.start_ns)
    return written(folder, "deep", p)


@animal
def many_lanes(folder):
    p = program()
    for i in range(300):
        launch(p, p.start_ns + 5000 * i, queue=p.queue(p.device("GPU %d" % i) if i < 70 else p.gpu))
    return written(folder, "many_lanes", p)


@animal
def many_processes(folder):
    path = os.path.join(folder, "many_processes.sonde")
    live.write_manifest(path, ["zoo"])
    for i in range(40):
        p = live.Process("host-%d-0" % i, i, start_ns=10**12 + i * 10**13)  # hosts whose clocks have nothing in common
        thread, queue = p.thread(i), p.queue(p.device("GPU"))
        p.enqueue(thread, queue, "clEnqueueTask", scenes.stack(p), "kernel", p.start_ns, p.start_ns + 10,
                  p.start_ns + 1000, p.start_ns + 2000, name="k")
        p.write(path)
    return path


@animal
def demo(folder):
    return scenes.demo(folder, "demo.sonde")[0]


@animal
def annotated(folder):
    return scenes.annotated(folder, "annotated.sonde")[0]
