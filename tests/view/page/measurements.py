"""measurements.py - what the page is shown with: programs recorded now, a replay of a GPU machine's capture, and measurements whose
contents are known.

    measurements.py --sonde build/bin/sonde --examples build/bin/examples --replay build/tests/replay --work DIR

Prints a JSON object: the path of each, and under "missing" why one could not be made.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "cli"), os.path.join(HERE, "..", "..", "gpu")]
import harness  # noqa: E402
import live  # noqa: E402
import scenes  # noqa: E402
import zoo  # noqa: E402

CAPTURE = os.path.join(HERE, "..", "..", "replay", "data", "streams.cap.zst")
# A name that a page which takes it for markup would run, in each place that names come from.
SCRIPT = "<script>alert(1)</script>"
IMAGE = "\"><img src=x onerror=alert(2)>"


def record(options, name, program, **env):
    path = os.path.join(options.work, name)
    done = subprocess.run([options.sonde, "record", "-q", "--force", "-o", path, *program], env={**os.environ, **env}, cwd=options.work,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=600, check=False)
    if done.returncode or not os.path.isdir(path):
        raise RuntimeError(done.stderr.strip() or f"status {done.returncode}")
    return path


def recorded(options):
    return record(options, "recorded.sonde", ["--values=all", "--", os.path.join(options.examples, "heat"), "96", "30"])


def before(options):
    """What `recorded` is compared with: it did less."""
    return record(options, "before.sonde", ["--values=all", "--", os.path.join(options.examples, "heat"), "96", "20"])


def cuda(options):
    if not options.replay or not os.path.exists(os.path.join(options.replay, "replay-play")):
        raise RuntimeError("built without CUDA")
    library = os.path.join(options.replay, "libcupti-replay.so")
    return record(options, "cuda.sonde", ["--", os.path.join(options.replay, "replay-play"), CAPTURE], **harness.environment(SONDE_CUPTI=library))


def names(options):
    """Markup, controls, right-to-left, bytes that are no UTF-8, and 300 letters."""
    p = live.Process(IMAGE + "-1-0", 1)
    gpu = p.device(SCRIPT)
    thread, queue = p.thread(1), p.lane(2, device=gpu, name=IMAGE)
    at = p.frame(live.PYTHON, p.python(SCRIPT, "/home/" + IMAGE + ".py", 7))
    code = p.node(p.node(0, at), p.frame(live.RANGE, name="<b>range</b>"))
    buffer = p.object(1, p.node(code, p.frame(live.API, offset=2, name="clCreateBuffer")), 4096, p.start_ns)
    for i, name in enumerate([SCRIPT, IMAGE, b"caf\xe9 \xff\xfe", "a\x01\x1b[31m\x7fb\n", "\u202etfel", "k" * 300, "&lt;&amp;", "__proto__", "constructor"]):
        at = p.start_ns + zoo.MS + 100000 * i
        node = p.enqueue(thread, queue, "clEnqueueNDRangeKernel", code, "kernel", at, at + 500, at + 1000, at + 90000, name=name, obj=buffer)
        p.value(node, buffer, 1, 1000, 900)
    p.range(thread, "<b>range</b>", p.start_ns, p.start_ns + 5 * zoo.MS)
    p.note("<i>note</i>")
    path = os.path.join(options.work, "names.sonde")
    live.write_manifest(path, ["demo", SCRIPT, IMAGE])
    p.write(path)
    return path


HALO = """// halo.cu - what the launches below access.
__global__ void halo(float *mine, const float *theirs, const double *table, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        mine[i] += theirs[i] * (float)table[i % 16];
    if (i == 0)
        atomicAdd(mine + n, 1.0f);
}
"""


def comm(options):
    """A ring of four GPUs of which one sends to the wrong neighbour, as in Snoopie's second demonstration, and a kernel that reads other memory. Page faults,
    links' counters, and a collective in which another rank sends, are in no pair."""
    source = os.path.join(options.work, "halo.cu")
    with open(source, "w", encoding="utf-8") as file:
        file.write(HALO)
    p = live.Process("ring-4711-1", 4711)
    gpus, thread, at = [p.device("Test GPU", pci=(0x1A + k) << 8) for k in range(4)], p.thread(4711), p.start_ns + zoo.MS
    queues = [p.queue(gpu) for gpu in gpus]
    here = lambda name, line: p.node(0, p.frame(live.PYTHON, p.python(name, os.path.join(options.work, "ring.py"), line)))
    call = lambda node, name: p.node(node, p.frame(live.API, offset=2, name=name))
    main, setup = here("step", 21), here("setup", 3)
    arrays = [p.object(5, call(setup, "cuMemAlloc"), 1 << 20, p.start_ns, device=gpu) for gpu in gpus]
    pinned = p.object(8, call(here("tables", 9), "cuMemHostAlloc"), 128, p.start_ns)
    for k, array in enumerate(arrays):
        at += 10**4
        p.enqueue(thread, queues[k], "cuMemcpyHtoD", setup, "write", at, at + 10, at + 500, at + 40500, size=1 << 20, obj=array, work=p.work(source="pageable", target="device"))
    for i in range(6):
        for k, gpu in enumerate(gpus):
            to, at = gpus[0 if k == 2 else (k + 1) % 4], at + 10**5
            p.enqueue(thread, queues[k], "cuMemcpyPeerAsync", main, "peer_copy", at, at + 10, at + 500, at + 20500, size=1 << 18, obj=arrays[k],
                      work=p.work(source="device", target="device", devices=(gpu, to)))
    halo = p.enqueue(thread, queues[0], "cuLaunchKernel", here("step", 22), "kernel", at, at + 10, at + 30500, at + 90500, name="void halo(float*, float const*, double const*, int)")
    p.remote(halo, arrays[1], 1, 65536, gpus[0], gpus[1], what=0, size=4, file=source, line=6)
    p.remote(halo, pinned, 2, 65536, gpus[0], 0, what=0, size=8, file=source, line=6)
    p.remote(halo, arrays[1], 3, 1, gpus[0], gpus[1], what=3, size=4, file=source, line=8)
    read, row = p.array(arrays[1], 1 << 20, gpus[0], gpus[1], shift=4), 2048 // 16  # 512 rows of 512 floats: the left eighth of each
    for k in range(512):
        p.cells(read, 0, k * row, row // 8, 32)
    p.cells(read, 2, 0, 1, 4)
    p.looked_at(halo, 3)
    p.looked_at(halo, 1, 18)
    p.migration(p.object(7, call(here("shared", 11), "cuMemAllocManaged"), 4096, p.start_ns), 0, gpus[0], 321, faults=True)
    for offset, line, waits in ((0x10, 4, {"selected": 200, "wait": 300}), (0x80, 6, {"selected": 400, "lg_throttle": 900}),
                                (0x120, 6, {"selected": 500, "long_scoreboard": 7000, "wait": 50}), (0x200, 8, {"drain": 650})):
        for reason, samples in waits.items():
            for gpu in gpus[:2]:
                p.stall(gpu, "void halo(float*, float const*, double const*, int)", reason, samples // gpu, samples // (2 * gpu), file=source, line=line, offset=offset)
    p.stall(gpus[0], "_Z5plainv", "not_selected", 77)
    p.stall(gpus[0], "", "", 12, kind=3)
    world = p.lane(2, device=gpus[0], name="NCCL world 0xabc rank 0 of 2")
    p.enqueue(thread, world, "cuLaunchKernelEx", main, "collective", at, at + 10, at + 30500, at + 90500, name="Broadcast float32", size=5 << 20,
              work=p.work(collective=(p.string("RING"), p.string("SIMPLE"), 16, 0, 2, 2)))
    path = os.path.join(options.work, "comm.sonde")
    live.write_manifest(path, ["python3", "ring.py"], nvlinks=[{"pci": "00000000:1A:00.0", "name": "Test GPU", "sent_bytes": 3 << 20, "received_bytes": 5 << 20}])
    p.write(path)
    return path


def ranks(options):
    """Three ranks, of which the first has more to do: the others wait for it, the last one for the second; in a collective of NCCL both others for the last."""
    path = os.path.join(options.work, "ranks.sonde")
    live.write_manifest(path, ["mpirun", "-n", "3", "./ring"])
    for number, ms in enumerate((90, 30, 30)):
        p = live.Process(f"alpha-{4711 + number}-1", 4711 + number)
        p.rank = (number + 1, number + 1, 3)
        thread, queue, t = p.thread(4711 + number), p.queue(p.device("Test GPU")), p.start_ns
        here = lambda name, line: p.node(0, p.frame(live.PYTHON, p.python(name, "/home/demo/ring.py", line)))
        step, exchange, work = here("step", 21), here("exchange", 33), here("work", 7)
        p.enqueue(thread, queue, "cuLaunchKernel", step, "kernel", t + 1000, t + 2000, t + 3000, t + ms * zoo.MS, name="advance")
        for i in range(9):
            p.sample(thread, work, t + (10 + 10 * i) * zoo.MS, 10 * zoo.MS)
        sent = t + (100 + number) * zoo.MS
        if number:
            p.message(thread, 2, "MPI_Recv", exchange, t + 40 * zoo.MS, sent - 500000, size=4096, comm="3 ranks, 1, 1", peer=number - 1, tag=1)
        p.message(thread, 1, "MPI_Send", exchange, sent, sent + 1000, size=4096 * (number + 1), comm="3 ranks, 1, 1", peer=(number + 1) % 3, tag=1)
        p.message(thread, 3, "MPI_Barrier", step, t + 110 * zoo.MS, t + 120 * zoo.MS, comm="3 ranks, 1, 1")
        comm, came, done = p.lane(2, device=1, name=f"NCCL pg 0x1 rank {number} of 3"), t + (122 + number) * zoo.MS, t + 128 * zoo.MS
        kernel = p.enqueue(thread, queue, "cuLaunchKernelEx", step, "kernel", t + 121 * zoo.MS, t + 121 * zoo.MS + 5000, came, done, name="ncclDevKernel_AllReduce")
        p.collective(comm, kernel, t + 121 * zoo.MS, came, done, name="AllReduce float32", size=4096)
        p.stop_ns = t + 130 * zoo.MS
        p.write(path)
    return path


MADE = {
    "recorded": recorded,
    "before": before,
    "cuda": cuda,
    "names": names,
    "comm": comm,
    "ranks": ranks,
    "sampled": lambda options: scenes.sampled(options.work)[0],
    "annotated": lambda options: scenes.annotated(options.work)[0],
    "lanes": lambda options: zoo.many_lanes(options.work),
    "nothing": lambda options: zoo.nothing_in_it(options.work),
    "profile": lambda options: scenes.profile_only(options.work)[0],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--sonde", "--examples", "--work"):
        parser.add_argument(option, required=True)
    parser.add_argument("--replay")
    options = parser.parse_args()
    options.work = os.path.abspath(options.work)
    shutil.rmtree(options.work, ignore_errors=True)
    os.makedirs(options.work)
    paths, missing = {}, {}
    for name, make in MADE.items():
        try:
            paths[name] = make(options)
        except RuntimeError as why:
            missing[name] = str(why)
    json.dump({"paths": paths, "missing": missing}, sys.stdout)


if __name__ == "__main__":
    main()
