"""scenes.py - measurements with known answers, made by live.py."""
import os

import live

MS = 10**6


def demo(folder, name="demo.sonde"):
    """Two processes. The first has two threads, an in-order and an out-of-order
    queue whose kernels overlap, copies, every flag, and awkward names; the
    second has the same pid on another host. Returns (path, processes)."""
    path = os.path.join(folder, name)
    live.write_manifest(path, ["demo", "2048", "a \"quoted\" word"])
    first, second = one_process(), other_host()
    first.write(path)
    second.write(path)
    return path, [first, second]


def stack(p, slot=1):
    """main.py:10 <- step main.py:20, inside a stripped native program."""
    outer = p.node(0, p.frame(live.NATIVE, p.module("/opt/demo/bin/demo"), 0x1234), slot)
    main = p.node(outer, p.frame(live.PYTHON, p.python("<module>", "/home/user/main.py", 10)), slot)
    return p.node(main, p.frame(live.PYTHON, p.python("Solver.step", "/home/user/main.py", 20)), slot)


def one_process():
    p = live.Process("alpha-4711-0", 4711)
    gpu = p.device("Test GPU 9000")
    host, host2 = p.thread(4711), p.thread(4712)
    ordered, free = p.queue(gpu), p.queue(gpu, out_of_order=True)
    here, there = stack(p), stack(p, slot=2)
    t = p.start_ns + MS
    api = "clEnqueueNDRangeKernel"
    buffer = p.object(1, p.node(here, p.frame(live.API, offset=2, name="clCreateBuffer")), 4096, t)
    p.enqueue(host, ordered, "clEnqueueWriteBuffer", here, "write", t, t + 2000, t + 3000, t + 5000, size=4096,
              obj=buffer)
    for i in range(10):
        at = t + 10000 + i * 1000
        p.enqueue(host, ordered, api, here, "kernel", at, at + 500, t + 50000 + i * 2000, t + 50000 + i * 2000 + 2000,
                  name="vadd", work=p.work((1024, 16), (64, 1) if i % 2 else ()))
    # Completed last first; four at once on the device.
    for i in reversed(range(12)):
        at = t + 100000 + i * 1000
        p.enqueue(host2, free, api, there, "kernel", at, at + 400, t + 200000 + i * 1000, t + 204000 + i * 1000,
                  name="void scale<float, 4>(float*, const char*)")
    p.call(host, "clFinish", here, t + 300000, t + 400000)
    p.enqueue(host, ordered, api, here, "kernel", t + 500000, t + 501000, t + 502000, t + 502000,
              name="say \"hi\",\r\nthere µ")
    p.enqueue(host, ordered, api, here, "kernel", t + 510000, t + 511000, t + 512000, t + 513000, name=b"caf\xe9",
              flags=live.FAILED)
    p.enqueue(host, ordered, "clEnqueueMarker", here, "marker", t + 520000, t + 521000, flags=live.NO_TIMES)
    p.enqueue(host, ordered, "clEnqueueReadBuffer", here, "read", t + 530000, t + 531000, t + 540000, t + 535000,
              size=4096, flags=live.BAD_TIME)
    p.ledger.update(unwinds=len(p.truth), hook_ns=12345, thread_cpu_ns=23456, seen=p.ledger["seen"] + 2)
    p.ledger["dropped0"] = 2  # seen, but the memory budget was spent
    p.note("one thing to know")
    return p


def other_host():
    p = live.Process("beta-4711-0", 4711, start_ns=5 * 10**11, wall_offset_ns=17 * 10**17 + 5 * 10**11 + 7)
    queue = p.queue(p.device("Other GPU"))
    thread, t = p.thread(4711), p.start_ns + MS
    p.enqueue(thread, queue, "clEnqueueFillBuffer", stack(p), "fill", t, t + 1000, t + 2000, t + 3000, size=1 << 20)
    return p


def long_run(folder, count, name="long.sonde"):
    """One queue, `count` kernels in 32 contexts, one after the other."""
    path = os.path.join(folder, name)
    live.write_manifest(path, ["long"])
    p = live.Process("alpha-1-0", 1)
    queue, thread, base = p.queue(p.device("Test GPU")), p.thread(1), p.python("main", "long.py", 1)
    contexts = [p.node(0, p.frame(live.PYTHON, base, offset=2 * i)) for i in range(32)]
    for i in range(count):
        at = p.start_ns + 2000 * i
        p.enqueue(thread, queue, "clEnqueueNDRangeKernel", contexts[i % 32], "kernel", at, at + 700, at + 1000,
                  at + 2000, name="k%d" % (i % 7), work=p.work((256,)))
    p.write(path)
    return path, p


def profile_only(folder, name="profile.sonde"):
    path = os.path.join(folder, name)
    live.write_manifest(path, ["demo"])
    p = one_process()
    p.trace = False
    p.profile_rows()
    p.owned = {key: rows for key, rows in p.owned.items() if key[0] == "NODE"}
    p.write(path)
    return path, p


def launch_stack(p, frames, slot=1):
    """A native frame, then `frames`, outermost first."""
    at = p.node(0, p.frame(live.NATIVE, p.module("/opt/demo/bin/demo"), 0x1234), slot)
    for frame in frames:
        at = p.node(at, frame, slot)
    return at


def annotated(folder, name="annotated.sonde"):
    """Ranges of every form around API calls of one thread, a second thread that only has ranges, kernels and
    copies whose attributes are known, a kernel that was prepared elsewhere, and every ledger line that is
    mostly 0. Returns (path, process)."""
    path = os.path.join(folder, name)
    live.write_manifest(path, ["annotated"])
    p = live.Process("alpha-4711-0", 4711)
    gpu, peer = p.device("Test GPU 9000"), p.device("Test GPU 9001")
    main, worker = p.thread(4711), p.thread(4712)
    queue = p.queue(gpu)
    code = p.frame(live.PYTHON, p.python("train", "/home/user/main.py", 10))
    epoch = p.frame(live.RANGE, p.string("training"), name="epoch")
    step = p.frame(live.RANGE, name="step")
    inside = launch_stack(p, [code, epoch, step])
    forward = launch_stack(p, [p.frame(live.PYTHON, p.python("forward", "/home/user/model.py", 5))])
    linked = launch_stack(p, [code, p.frame(live.LINK, offset=forward)])
    lost = launch_stack(p, [code, p.frame(live.LINK)])
    kernel = p.work((256, 1, 1), (64, 1, 1), registers=40, cluster=(2, 1, 1), static_shared=1024, dynamic_shared=2048,
                    local_bytes=16, occupancy=625, limiter="shared")
    copy = p.work(source="device", target="device", devices=(gpu, peer))
    half = p.work(source="pinned", target="device")
    t, api = p.start_ns + MS, "cuLaunchKernel"
    # Rows come in the order of their ends, as from the agent.
    for i in range(4):
        at = t + 1000 + 10000 * i
        p.enqueue(main, queue, api, inside, "kernel", at + 1000, at + 2000, at + 3000, at + 4000, name="k", work=kernel)
        p.enqueue(main, queue, api, inside, "kernel", at + 5000, at + 6000, at + 7000, at + 8000, name="k")
        p.range(main, "step", at, at + 9000, payload=("uint64", 2**64 - 1 - i))
    p.range(main, "left", t + 500, t + 42000, domain="other")    # overlaps `epoch`: a domain of its own
    p.range(main, "epoch", t, t + 41000, domain="training", category="phases", payload=("double", 0.1))
    p.range(main, "here", t + 50000, t + 50000, payload=("int64", -3), flags=live.MARK)
    p.range(main, "same", t + 60000, t + 61000)                  # begins and ends with its call
    p.enqueue(main, queue, "cuMemcpyPeer", linked, "peer_copy", t + 60000, t + 61000, t + 62000, t + 63000, size=64,
              work=copy)
    p.enqueue(main, queue, "cuMemcpyHtoD", lost, "write", t + 64000, t + 65000, t + 66000, t + 67000, size=64,
              work=half)
    p.range(main, "request", t + 2000, t + 30000, flags=live.ACROSS)
    p.range(main, "request", t + 3000, t + 31000, flags=live.ACROSS)
    p.range(worker, "reversed", t + 9000, t + 8000)
    p.range(worker, "", t + 10000, t + 20000, payload=("double", float("inf")))
    p.range(worker, "open", t + 30000)
    p.range(main, "request", t + 40000, flags=live.ACROSS)
    p.ledger.update(busy_clipped_ns=11, calls_dropped=12, call_rows_dropped=13, busy_left_out=14, range_rows_dropped=15)
    p.write(path)
    return path, p


def messages(folder, name="messages.sonde"):
    """Three ranks: each sends the next one `rank + 1` messages of 100 bytes, receives those of the one before, and all meet; recording was
    off for a while, and a counter was read. Returns (path, processes)."""
    path, ranks = os.path.join(folder, name), []
    for number in range(3):
        p = live.Process(f"alpha-{number + 20}-0", number + 20)
        p.rank = (number + 1, number + 1, 3)
        thread, device = p.thread(p.pid), p.device("Device")
        queue, t = p.queue(device), p.start_ns + MS
        code = p.node(0, p.frame(live.NATIVE, p.module("/opt/demo/bin/demo"), 0x1000))
        for i in range(number + 1):
            p.message(thread, 1, "MPI_Send", code, t + i * 1000, t + i * 1000 + 500, size=100, comm="3 ranks, a, 1", peer=(number + 1) % 3, tag=7)
        for i in range((number + 2) % 3 + 1):
            p.message(thread, 2, "MPI_Recv", code, t + i * 1000 + 500, t + i * 1000 + 900, posted=t + i * 1000, size=100, comm="3 ranks, a, 1", peer=(number + 2) % 3, tag=7)
        p.message(thread, 4, "MPI_Allreduce", code, t + 10000, t + 12000, size=8, comm="3 ranks, a, 1")
        p.message(thread, 0, "MPI_Finalize", code, t + 20000, t + 21000)
        p.enqueue(thread, queue, "cuMemcpyHtoD", code, "write", t + 2000, t + 3000, t + 3100, t + 3200, size=80)
        p.series(device, "sm__cycles_active.avg", "cycles", [(t, t + 1000, 2.5), (t + 1000, t + 2000, float("nan"))])
        p.pause(t + 30000, t + 40000 if number else 0)
        p.write(path)
        ranks.append(p)
    return path, ranks


def sampled(folder, name="sampled.sonde"):
    """A recursive walk whose CPU side was sampled: `tree` calls itself through `visit`, launches kernels, reads
    from two data objects and waits; one range is open around it. Returns (path, process)."""
    path = os.path.join(folder, name)
    live.write_manifest(path, ["sampled"])
    p = live.Process("alpha-4711-0", 4711)
    p.cpu.update(rate_hz=199, sampling=1, switches_known=1, threads=1)
    main, queue = p.thread(4711), p.queue(p.device("Test GPU 9000"))
    code = lambda function, line: p.frame(live.PYTHON, p.python(function, "/home/user/walk.py", line))
    top = launch_stack(p, [code("<module>", 40), p.frame(live.RANGE, name="walk")])
    first = p.node(top, code("tree", 10))
    visit = p.node(first, code("visit", 20))
    second = p.node(visit, code("tree", 10))
    leaf = p.node(second, code("leaf", 30))
    other = p.node(top, code("leaf", 30))
    api = lambda node, call: p.node(node, p.frame(live.API, offset=9, name=call))
    small, large = p.object(1, api(top, "clCreateBuffer"), 4096, p.start_ns), p.object(1, api(first, "clCreateBuffer"), 1 << 20, p.start_ns)
    t = p.start_ns + MS
    for i, (node, count) in enumerate([(first, 2), (visit, 1), (second, 3), (leaf, 8), (other, 4), (top, 1)]):
        for k in range(count):
            p.sample(main, node, t + (10 * i + k) * 5 * MS, 5 * MS)
    t += 400 * MS
    launch = "clEnqueueNDRangeKernel"
    for i in range(6):
        at = t + i * 4 * MS
        p.enqueue(main, queue, launch, second if i % 3 else first, "kernel", at, at + 20000, at + 50000, at + 50000 + (i + 1) * MS,
                  name="fold" if i % 2 else "map_tree")
    p.enqueue(main, queue, "clEnqueueReadBuffer", leaf, "read", t + 30 * MS, t + 30 * MS + 9000, t + 31 * MS, t + 33 * MS,
              size=1 << 20, obj=large)
    p.enqueue(main, queue, "clEnqueueReadBuffer", other, "read", t + 34 * MS, t + 34 * MS + 9000, t + 35 * MS, t + 36 * MS,
              size=4096, obj=small)
    p.enqueue(main, queue, "clEnqueueWriteBuffer", other, "write", t + 37 * MS, t + 37 * MS + 9000, size=64, flags=live.NO_TIMES)
    p.call(main, "clFinish", first, t + 38 * MS, t + 45 * MS)
    p.switch(main, t + 38 * MS, t + 45 * MS)
    p.cpu["samples"] = 19
    p.stop_ns = t + 50 * MS
    p.write(path)
    return path, p


ODD_NAMES = (b"\xff\xfe broken", "<b onload=\"x\">&amp;</b>;'`", "a\x01\x1b[31m\tb\r\nc", "k" * 5000, "; 17", "100", " ", "\\", "\u202e µ \U0001f600")


def odd_names(folder, name="odd_names.sonde"):
    """A kernel, a function, a range and a mark of each odd name, one operation each. Returns (path, process)."""
    path = os.path.join(folder, name)
    live.write_manifest(path, ["odd"])
    p = live.Process("alpha-4711-0", 4711)
    gpu = p.device(ODD_NAMES[1])
    main, queue = p.thread(4711), p.queue(gpu)
    for i, odd in enumerate(ODD_NAMES):
        at = p.start_ns + MS + 10000 * i
        code = launch_stack(p, [p.frame(live.RANGE, name=odd), p.frame(live.PYTHON, p.python(odd, odd, i + 1))])
        p.enqueue(main, queue, "clEnqueueNDRangeKernel", code, "kernel", at, at + 500, at + 1000, at + 2000 + i, name=odd)
        p.range(main, odd, at - 100, at + 600, domain=odd)
    p.stop_ns = p.start_ns + 10 * MS
    p.write(path)
    return path, p


def cuda(folder, name="cuda.sonde"):
    """A step of training as CUDA's runtime makes it: three kernels of two names on one stream and a collective on another, each launched
    by cudaLaunchKernel and beginning 4 us after its call, a copy and a fill. Returns (path, process)."""
    path = os.path.join(folder, name)
    live.write_manifest(path, ["train"])
    p = live.Process("alpha-4711-0", 4711)
    gpu = p.device("Test GPU 9000")
    main, compute, network = p.thread(4711), p.queue(gpu), p.queue(gpu)
    code = launch_stack(p, [p.frame(live.PYTHON, p.python("train", "/home/user/main.py", 10))])
    t = p.start_ns + MS

    def call(at, api, queue, kind, kernel, duration, **more):
        p.enqueue(main, queue, api, code, kind, at, at + 1000, at + 4000, at + 4000 + duration, name=kernel, **more)

    call(t, "cudaMemcpyAsync", compute, "write", "", 8000, size=4096, work=p.work(source="pinned", target="device"))
    call(t + 10000, "cudaMemsetAsync", compute, "fill", "", 500, size=64)
    call(t + 20000, "cudaLaunchKernel", compute, "kernel", "gemm", 20000)
    call(t + 50000, "cudaLaunchKernel", compute, "kernel", "gemm", 22000)
    call(t + 55000, "cudaLaunchKernel", network, "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 30000)
    call(t + 80000, "cudaLaunchKernel", compute, "kernel", "relu<float>", 1500)
    p.stop_ns = t + 100000
    p.write(path)
    return path, p
