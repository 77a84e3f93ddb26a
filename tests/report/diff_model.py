"""diff_model.py - made-up runs of a program whose truth is known, and the statistics of docs/diff.md, computed the slow way."""
import math
import os
import random
import shutil
import statistics

import live

STEPS = 60
US = 1000


class Kernel:
    """Launched once a step, from `function` at `line` of `file`, perhaps through a function of a name of its own."""

    def __init__(self, name, mean_us, function="step", line=20, file="main.py", size=0, kind="kernel", times=1, outer=()):
        self.outer = outer  # (function, line): what calls `function`, the outermost first
        self.name, self.mean_us, self.function, self.line, self.file = name, mean_us, function, line, file
        self.size, self.kind, self.times = size, kind, times

    def but(self, **changes):
        return Kernel(**{**self.__dict__, **changes})


PLAIN = [Kernel("stencil", 100), Kernel("reduce", 20, line=24), Kernel("scale", 10, function="finish", line=40),
         Kernel("", 30, function="save", line=50, kind="read", size=4096)]


def write(path, kernels, seed=0, steps=STEPS, noise=.03, drift=0, run_noise=0, first=1, main_line=10, named=True, trace=True, state=2,
          program="heat.py", device="Test GPU", warm_up=0, tick=1, ledger=()):
    """A run. Durations: mean * factor of the run * autocorrelated drift * independent noise. `ledger`: {line: what is
    added to it}. Returns the process."""
    draw = random.Random(seed)
    p = live.Process("host-%d-0" % (seed + 1), seed + 1, trace=trace, state=state)
    thread, queue = p.thread(1), p.queue(p.device(device))
    main = p.node(0, p.frame(live.PYTHON, p.python("main", "/home/user/main.py", main_line)))
    nodes = []
    for k in kernels:
        nodes.append(main)
        for function, line in (*k.outer, (k.function, k.line)):
            nodes[-1] = p.node(nodes[-1], p.frame(live.PYTHON, p.python(function, "/home/user/" + k.file, line)))
    of_the_run, slow, at = math.exp(draw.gauss(0, run_noise)), 0.0, p.start_ns + 1000 * US
    for step in range(steps):
        begin, slow = at, .9 * slow + drift * draw.gauss(0, 1)
        for k, node in zip(kernels, nodes):
            for _ in range(k.times):
                ns = max(1, round(k.mean_us * US * of_the_run * math.exp(slow + draw.gauss(0, noise))))
                ns = max(tick, round(ns / tick) * tick) + (warm_up * US if step == 0 else 0)
                p.enqueue(thread, queue, "clEnqueueNDRangeKernel", node, k.kind, at, at + 500, at + 1000, at + 1000 + ns, name=k.name,
                          size=k.size)
                at += ns + 2000
        p.call(thread, "clFinish", main, at - 1500, at)
        at += 500
        if named:
            p.range(thread, "step %d" % step, begin, at)
    p.stop_ns = at
    for line, more in dict(ledger).items():
        p.ledger[line] += more
    if not trace:
        p.owned = {key: rows for key, rows in p.owned.items() if key[0] == "NODE"}
    shutil.rmtree(path, ignore_errors=True)
    live.write_manifest(path, [program], program="/home/user/" + program)
    p.write(path)
    return p


def sums(p):
    """(kernel) -> (time, count, bytes), of what was written."""
    found = {}
    for op in p.truth:
        time, count, size = found.get(op["name"], (0, 0, 0))
        found[op["name"]] = (time + op["end_ns"] - op["start_ns"], count + 1, size + op["bytes"])
    return found


# ---- Student's t, by integration -------------------------------------------------------------------------------

def tail(t, freedom):
    """Two-sided, by Simpson's rule over the angle in which the density is a power of the cosine."""
    parts, top = 2000, math.atan(abs(t) / math.sqrt(freedom))
    area = lambda to: to / parts / 3 * sum((1 if i in (0, parts) else 4 if i % 2 else 2) * math.cos(to * i / parts) ** (freedom - 1)
                                           for i in range(parts + 1))
    near_pole = area(math.pi / 2) if freedom >= 1 else None
    return 1 - area(top) / near_pole


def limit(freedom, share=.95):
    low, high = 0.0, 1e4
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle, freedom) > 1 - share else (low, middle)
    return high


def typical(p, name, pieces=20):
    """What the durations of a kernel add up to when each is the median of the means of twenty parts of the run."""
    times = [op["end_ns"] - op["start_ns"] for op in p.truth if op["name"] == name]
    parts = [times] if not times else [[t for i, t in enumerate(times) if i * min(pieces, len(times)) // len(times) == k]
                                       for k in range(min(pieces, len(times)))]
    return len(times) * statistics.median(map(statistics.mean, parts)) if times else 0


def welch(a, b, measured):
    """(low, high, p) of the difference of the means; the interval holds the measured one, too, and the lesser of both is tested."""
    va, vb = statistics.variance(a) / len(a), statistics.variance(b) / len(b)
    delta = statistics.mean(b) - statistics.mean(a)
    tested = 0 if delta * measured <= 0 else min(delta, measured, key=abs)
    if va + vb == 0:
        return min(delta, measured), max(delta, measured), float(tested == 0)
    freedom = (va + vb) ** 2 / (va ** 2 / (len(a) - 1) + vb ** 2 / (len(b) - 1))
    error = math.sqrt(va + vb)
    half = error * limit(freedom)
    return min(delta, measured) - half, max(delta, measured) + half, tail(tested / error, freedom)


def discoveries(p_values, rate=.05):
    """Benjamini and Hochberg: which of them are significant."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    last = max((rank for rank, i in enumerate(order, 1) if p_values[i] <= rate * rank / len(order)), default=0)
    return {i for i in order if last and p_values[i] <= p_values[order[last - 1]]}
