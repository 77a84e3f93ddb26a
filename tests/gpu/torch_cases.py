"""PyTorch under Sonde: operation counts against PyTorch's own profiler in a separate run of the same script."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys

import torch_nccl as nccl
from cases import check_ranks, equal
from harness import HERE, Broken, Skipped, describe, marked_line, tail
from values_cases import coverage_of

SCRIPT = os.path.join(HERE, "torch_step.py")
WARM, STEPS = 5, 20  # of that script
KINDS = {"gpu_memcpy": ("read", "write", "copy", "peer_copy", "host_copy"), "gpu_memset": ("fill",)}


def squeezed(name):
    return re.sub(r"\s+", "", name)


def kineto_counts(path):
    """Kernels by name, copies and sets, as PyTorch's profiler saw them."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    kernels, others = collections.Counter(), collections.Counter()
    for event in events:
        if event.get("ph") == "X" and event.get("cat") == "kernel":
            kernels[squeezed(event["name"])] += 1
        elif event.get("ph") == "X" and event.get("cat") in KINDS:
            others[event["cat"]] += 1
    return kernels, others


def window_counts(m):
    """The same from Sonde's trace, by when the program asked for it."""
    begin, end = m.truth["window_begin_ns"], m.truth["window_end_ns"]
    kernels, others = collections.Counter(), collections.Counter()
    for op in m.view("export")["operations"]:
        if not begin <= op["enter_ns"] <= end:
            continue
        if op["kind"] == "kernel":
            kernels[squeezed(op["name"])] += 1
        for cat, kinds in KINDS.items():
            others[cat] += op["kind"] in kinds
    return kernels, others


def first_difference(found, expected):
    for name in sorted(set(found) | set(expected)):
        if found[name] != expected[name]:
            return f"{name[:120]}: sonde {found[name]}, kineto {expected[name]}"
    return ""


def compare(m, kineto):
    kernels, others = window_counts(m)
    their_kernels, their_others = kineto_counts(kineto)
    yield equal("kernels in the window, all", sum(kernels.values()), sum(their_kernels.values()))
    yield "kernels in the window, by name", kernels == their_kernels, first_difference(kernels, their_kernels) or f"{len(kernels)} names"
    for cat in KINDS:
        yield equal(f"{cat} in the window", others[cat], their_others[cat])


def python_shares(m):
    """Operations of kernels by how they reach Python: directly, by a link to a forward call, or not."""
    shares = collections.Counter()
    for frames, leaf in m.paths():
        if leaf.get("operation") != "kernel":
            continue
        kinds = {f["kind"] for f in frames}
        how = "direct" if "python" in kinds else "linked" if "link" in kinds else "none"
        shares[how] += leaf["metrics"]["inclusive"]["operations"]
    return shares


def check_python(m):
    found = {(f["name"] or "").rsplit(".", 1)[-1] + ":" + str(f["line"]) for frames, _ in m.paths() for f in frames
             if f["kind"] == "python" and (f["file"] or "").endswith("torch_step.py")}
    for mark in ("forward", "step"):
        wanted = f"training_step:{marked_line(SCRIPT, mark)}"
        yield f"contexts name {wanted}", wanted in found, "" if wanted in found else str(sorted(found))[:300]
    shares = python_shares(m)
    whole = sum(shares.values()) or 1
    text = ", ".join(f"{how} {shares[how] / whole:.1%}" for how in ("direct", "linked", "none"))
    yield "kernels with a Python context, direct or linked: 95 % and more", (whole - shares["none"]) / whole >= 0.95, text
    yield "backward kernels are linked to their forward call", shares["linked"] > 0, text


def check_backward(m):
    """Every kernel of a backward operator says where its forward call was, also in the first step."""
    linked, lost = collections.Counter(), collections.Counter()
    for frames, leaf in m.paths():
        operators = [f["name"] for f in frames if f["kind"] == "range" and f["name"].split("::")[-1].rstrip("0").endswith("Backward")]
        if operators and leaf.get("operation") == "kernel":
            which = linked if any(f["kind"] == "link" and f["name"] for f in frames) else lost
            which[operators[-1]] += leaf["metrics"]["inclusive"]["operations"]
    yield equal("backward kernels without a link", dict(lost), {})
    yield "backward kernels with one", sum(linked.values()) >= 9 * (WARM + STEPS), str(dict(linked))


def check_graph_replay(m):
    line = marked_line(SCRIPT, "forward")
    links = {f["line"] for frames, _ in m.paths() for f in frames
             if f["kind"] == "link" and (f["file"] or "").endswith("torch_step.py")}
    yield f"graph kernels say where they were captured (line {line})", line in links, str(sorted(map(str, links)))


def host_code(m, function, waits=None):
    """What the device waited for is this function of the script; and in it, where `waits` is given, mostly for one of these."""
    verdict = m.view("summary")["verdict"]
    part = next(p for p in verdict["parts"] if p["kind"] == "host_code")
    place = part["place"] or ""
    named = re.match(rf"(\w+\.)*{function}\(\) torch_step\.py", place)
    yield f"the summary names {function}()", bool(named), f"{place}, waits in {part['waits_in']}"
    if part in verdict["parts"][:2]:  # start-up, importing PyTorch, may be more
        yield "and so does its sentence", place in verdict["sentence"], verdict["sentence"]
    if waits:
        yield f"which waits in {' or '.join(sorted(waits))}", part["waits_in"] in waits, str(part["waits_in"])
        yield "for most of it", 2 * (part["waited_ns"] or 0) > part["place_ns"], f"{part['waited_ns']} of {part['place_ns']} ns"
    first = next((a for a in m.view("advice")["advice"] if a["rule"] == "host_code"), None)
    name = (first["frames"][0]["name"] or "").split(".")[-1] if first and first["frames"] else None
    yield equal("the first advice on host code is about", name, function)


def check_loader(m):
    """The dataset's work is done by processes that use no GPU; this one waits for their queue, and for the worker to pass
    the descriptor of a batch's memory (recvmsg), while Python's lock there is held by the dataset."""
    ledger = m.view("ledger")
    busy = [p for p in ledger["processes"] if p["seen"]]
    yield equal("processes that used the GPU", len(busy), 1)
    yield from host_code(m, "add_up", {"poll", "__poll_chk", "read", "recvmsg"})


def check_dataset(m):
    """Without workers the function that does the dataset's work is what the device waits for."""
    yield from host_code(m, "decode")


NCCL_SCRIPT = os.path.join(HERE, "torch_nccl.py")
# Of both ranks: count and bytes by name. A send or receive of 256 doubles in five calls, of 128 in three groups of both.
COLLECTIVES = {"AllReduce float32": (40, 40 << 22), "AllGather bfloat16": (20, 20 * 2000),
               "Send float64": (11, 5 * 2048 + 6 * 1024), "Recv float64": (11, 5 * 2048 + 6 * 1024)}
NCCL_KERNELS = {"AllReduce": 40, "AllGather": 20, "SendRecv": 16}


def nccl_kernels(m):
    counts = collections.Counter()
    for name, n in m.kernels().items():
        if found := re.match(r"nccl\w*?Kernel_([A-Za-z]+)", name):
            counts[found[1]] += n
    return dict(counts)


def collectives(m):
    """Count and bytes by name, from the trace."""
    sums = {}
    for op in m.rows(kind="collective"):
        count, size = sums.get(op["name"], (0, 0))
        sums[op["name"]] = (count + 1, size + op["bytes"])
    return sums


def frames_over_kernels(m):
    """How often a kernel of NCCL's lies in each range of domain nccl."""
    counts = collections.Counter()
    for frames, leaf in m.paths():
        if leaf.get("operation") == "kernel" and leaf["name"].startswith("nccl"):
            names = [f["name"] for f in frames if f["kind"] == "range" and f["module"] == "nccl"]
            counts[" ".join(names)] += leaf["metrics"]["inclusive"]["operations"]
    return dict(counts)


def check_nccl(m):
    yield equal("kernels of two ranks", nccl_kernels(m), NCCL_KERNELS)
    yield equal("collectives", collectives(m), COLLECTIVES)
    yield equal("collectives in the ledger", m.view("ledger")["operations"].get("collective"), 82)
    times = {(op["process"], op["start_ns"], op["end_ns"]) for op in m.rows(kind="kernel") if op["name"].startswith("nccl")}
    apart = [op for op in m.rows(kind="collective") if (op["process"], op["start_ns"], op["end_ns"]) not in times]
    yield "collectives have their kernels' times", not apart, str(apart[:1])
    yield equal("kernels in the ranges of their collectives", frames_over_kernels(m),
                {"AllReduce float32": 40, "AllGather bfloat16": 20, "Send float64": 5, "Recv float64": 5, "SendRecv float64": 6})
    ranks = {re.sub(r"^NCCL .*0x[0-9a-f]+ ", "", lane["name"]) for lane in m.view("lanes") if lane["name"].startswith("NCCL")}
    yield equal("communicators' lanes", ranks, {"rank 0 of 2", "rank 1 of 2"})
    wanted = marked_line(NCCL_SCRIPT, "all-reduce")
    lines = {f["line"] for frames, _ in m.paths("AllReduce float32") for f in frames
             if f["kind"] == "python" and (f["file"] or "").endswith("torch_nccl.py")}
    yield f"all-reduces are called in line {wanted}", wanted in lines, str(lines)
    yield equal("processes that used a GPU", len([p for p in m.view("ledger")["processes"] if p["seen"]]), 2)
    yield from check_ranks(m)


def check_nccl_bytes(m):
    """What each rank sends the other, and what NVLink's counters saw beside it, where the driver tells, with little else."""
    comm, both = m.view("comm"), (nccl.REDUCED + nccl.GATHERED + nccl.SCATTERED) * 4 * nccl.PART + nccl.SMALL * 4096
    sent = {(re.sub(":.*", "", p["from"] or ""), re.sub(":.*", "", p["to"] or "")): (p["bytes"], p["exact"]) for p in comm["pairs"] if p["kind"] == "collective"}
    yield equal("bytes from rank to rank", sent, {("rank 0", "rank 1"): (both + nccl.SENT * 4 * nccl.PART, True),
                                                  ("rank 1", "rank 0"): (both + (nccl.BROADCAST + nccl.TO_FIRST) * 4 * nccl.PART, True)})
    asked = collections.Counter()
    for row in comm["collectives"]:
        asked[row["name"].split()[0]] += row["operations"]
    yield equal("operations", dict(asked), {"AllReduce": 2 * (nccl.REDUCED + nccl.SMALL), "AllGather": 2 * nccl.GATHERED, "ReduceScatter": 2 * nccl.SCATTERED,
                                            "Broadcast": 2 * nccl.BROADCAST, "Reduce": 2 * nccl.TO_FIRST, "Send": nccl.SENT, "Recv": nccl.SENT})
    how = {(row["algorithm"], row["protocol"]) for row in comm["collectives"] if row["name"].startswith("AllReduce")}
    yield "algorithm and protocol of the all-reduces", all(a in ("RING", "TREE") and p in ("SIMPLE", "LL", "LL128") for a, p in how), str(how)
    for link in comm["links"]:
        ratio = link["bytes_counted"] / max(1, link["bytes_attributed"])
        yield f"NVLink of device {link['link']}: counted {link['bytes_counted']}, attributed {link['bytes_attributed']}", 1 <= ratio < 1.001, f"{ratio:.5f}"


RING = 4  # ranks


def check_nccl_ring(m):
    """More than two ranks: what each sends in all, to whom what it sends to the next goes, and what NVLink's counters saw that each sent."""
    comm, part = m.view("comm"), 4 * nccl.PART
    pairs = [(re.sub(":.*", "", p["from"] or "?"), re.sub(":.*", "", p["to"] or "?"), p["bytes"], p["exact"]) for p in comm["pairs"] if p["kind"] == "collective"]
    together = nccl.REDUCED * 2 * (RING - 1) * part // RING + (nccl.GATHERED + nccl.SCATTERED) * (RING - 1) * part
    print("   ", pairs, {(row["algorithm"], row["protocol"], row["channels"]) for row in comm["collectives"]}, flush=True)
    known = sorted([(f"rank {i}", "?", together, True) for i in range(RING)] + [(f"rank {i}", f"rank {(i + 1) % RING}", nccl.SENT * part, True) for i in range(RING)])
    yield equal("bytes that each rank sends", sorted(pairs), known)
    for link in comm["links"]:
        if "sent" in link["link"]:
            ratio = link["bytes_counted"] / max(1, link["bytes_attributed"])
            yield f"NVLink of device {link['link']}: counted {link['bytes_counted']}, attributed {link['bytes_attributed']}", 1 <= ratio < 1.002, f"{ratio:.5f}"


def check_nccl_ring_machine(m):
    """The same as machine code: in which order the ranks of a ring stand is seen there, where it is known whose the memory is."""
    comm, moved = m.view("comm"), collections.Counter()
    for p in comm["pairs"]:
        if p["kind"] in ("load", "store", "atomic"):
            moved[p["from"], p["to"], p["kind"]] += p["bytes"]
    print("   ", dict(moved), flush=True)
    for link in comm["links"]:
        print("   ", link, flush=True)
    yield "its kernels were looked at", any("nccl" in row["kernel"].lower() and row["looked_at"] for row in comm["coverage"]), str(comm["coverage"])


def check_nccl_machine(m):
    """What NCCL's kernels themselves store in the other rank's memory and load from it, which is what the links carry; and what the algorithm says beside it."""
    comm = m.view("comm")
    engines = {row["kernel"].split("(")[0]: (row["engine"], row["launches"], row["looked_at"]) for row in comm["coverage"] if "nccl" in row["kernel"].lower()}
    yield "its kernels were looked at", engines and all(e == "sanitizer" and n == k for e, n, k in engines.values()), str(engines)
    yield equal("collectives count once", [p for p in comm["pairs"] if p["kind"] == "collective"], [])
    moved = collections.Counter()
    for p in comm["pairs"]:
        if p["kind"] in ("load", "store", "atomic"):
            moved[p["from"], p["to"], p["kind"]] += p["bytes"]
    print("   ", dict(moved), flush=True)
    for link in comm["links"]:
        ratio = link["bytes_counted"] / max(1, link["bytes_attributed"])
        yield f"NVLink of device {link['link']}: counted {link['bytes_counted']}, attributed {link['bytes_attributed']}", 0.99 < ratio < 1.05, f"{ratio:.5f}"


def check_nccl_graph(m):
    """What is captured happens when it is replayed: kernels, in the range of the capture, and no collective."""
    yield equal("kernels of two ranks", nccl_kernels(m), {"AllReduce": 2 + 2 * 7})
    yield equal("collectives", collectives(m), {"AllReduce float32": (2, 2 << 22)})
    line = marked_line(NCCL_SCRIPT, "captured")
    links = {f["line"] for frames, leaf in m.paths() for f in frames
             if f["kind"] == "link" and leaf["name"].startswith("nccl")}
    yield f"replayed kernels say where they were captured (line {line})", line in links, str(links)


def on_path(m, category, word):
    """Time on the path through all ranks of what is called so, and which rank has most of it."""
    rows = [row for row in m.view("critical")[0]["things"] if row["category"] == category and word in row["name"].lower()]
    return sum(row["ns"] for row in rows), {row["most_rank"] for row in rows}


def check_nccl_late(m):
    """The path through both ranks has the host code of one and the kernels of the other, for which the all-reduces waited."""
    path = m.view("critical")[0]
    yield "NCCL: a path through both ranks", path["process"] is None and {row["rank"] for row in path["stays"]} == {0, 1} and path["messages"] >= 2 * nccl.LATE - 1, str(path["stays"])
    yield equal("NCCL: it has its length", (sum(row["ns"] for row in path["stays"]), sum(part["ns"] for part in path["composition"].values())), (path["length_ns"],) * 2)
    thought, ranks = on_path(m, "host", "think")
    yield "NCCL: what rank 1 computes is on it", ranks == {1} and 0.85 < thought / (nccl.LATE * nccl.LATE_S * 1e9) < 1.1, f"{thought} ns, {ranks}"
    ran = sum(row["total_ns"] for row in m.view("kernels") if "gemm" in row["name"].lower())
    gemm, ranks = on_path(m, "kernel", "gemm")
    yield "NCCL: so are rank 0's kernels", ranks == {0} and 0.8 < gemm / ran <= 1, f"{gemm} of {ran} ns, {ranks}"
    reduced, _ = on_path(m, "kernel", "nccl")
    all_of = sum(row["total_ns"] for row in m.view("kernels") if "nccl" in row["name"].lower())
    yield "NCCL: and of its own kernels what nobody waited in", reduced < 0.2 * all_of, f"{reduced} of {all_of} ns"


def check_nccl_hosts(m):
    """The same, of two hosts whose clocks are 5,000 s apart and aligned by the collectives alone."""
    yield from check_nccl_late(m)
    path = m.view("critical")[0]
    yield equal("NCCL: two hosts", m.view("ranks")["hosts"], 2)
    yield "NCCL: whose clocks are aligned", 0 < path["clock_bound_ns"] < nccl.LATE_S * 1e9 / 20 and path["left_out"] == 0, f"{path['clock_bound_ns']} ns, {path['left_out']} left out"


def check_mpi_wait(m):
    """Rank 1 waits for a kernel of rank 0's."""
    said, steps, side = m.view("messages"), 8, 8192
    line = marked_line(os.path.join(HERE, "mpi_wait.py"), "receive")
    yield "MPI: one pair", [(row["from"], row["to"], row["count"], row["bytes"]) for row in said["pairs"]] == [(0, 1, steps, 4 * steps * side)], str(said["pairs"])
    row = said["waits"][0]
    yield "MPI: rank 1 waits to receive", (row["call"], row["kind"], row["rank"], row["for_rank"], row["count"]) == ("MPI_Recv", "late sender", 1, 0, steps), str(row)
    yield "MPI: at its line", row["frames"][0]["name"] == "consume" and row["frames"][0]["line"] == line, str(row["frames"])
    yield "MPI: for a kernel of rank 0's", row["cause"] == "device" and "gemm" in row["cause_name"].lower() and row["cause_ns"] > 0.8 * row["for_ns"], str(row)
    busy = {one["rank"]: one["busy_ns"] for one in m.view("ranks")["ranks"]}
    gemm, ranks = on_path(m, "kernel", "gemm")
    yield "MPI: which is on the path through both ranks", ranks == {0} and gemm > 0.8 * row["cause_ns"], f"{gemm} ns, {ranks}"
    yield "MPI: no longer than that ran", row["wait_ns"] <= 1.1 * busy[0], f"{row['wait_ns']} of {busy}"


def check_mpi(m):
    adds = sum(n for name, n in m.kernels().items() if re.search(r"CUDAFunctorOnSelf_add|CUDAFunctor_add", name))
    yield equal("additions of two ranks", adds, 30)


def check_looked_at(m):
    """Of machine code through Compute Sanitizer: no kernel is left out without a reason, and what is found of the activations is so by the source."""
    coverage = [c for c in m.view("values")["coverage"] if c["engine"] == "sanitizer" or c["reason"]]
    looked_at = sum(c["looked_at"] for c in coverage if c["engine"] == "sanitizer")
    yield "kernels were looked at", looked_at > 0, str([(c["kernel"][:60], c["launches"], c["looked_at"], c["reason"]) for c in coverage])[:600]
    silent = [c["kernel"] for c in m.view("values")["coverage"] if c["looked_at"] < c["launches"] and not c["reason"]]
    yield equal("kernels left out without a reason", silent, [])
    zeros = [p for o in m.view("values")["objects"] for p in o["patterns"] if p["pattern"] == "single_zero"]
    yield "what is left of negative numbers is zero", bool(zeros), str([p["operation"][:60] for p in zeros])


def check_numba(m):
    engine, launches, looked_at, reason = coverage_of(m).get(next((k for k in coverage_of(m) if "scaled" in k), ""), (None, 0, 0, None))
    yield "the kernel was looked at, or it is told why not", launches == 5 and (looked_at == 5 or bool(reason)), f"{engine} {launches} {looked_at} {reason}"
    found = [p["evidence"] for o in m.view("values")["objects"] for p in o["patterns"] if "scaled" in p["operation"] and p["pattern"] == "single_value"]
    yield "it reads threes, where it was looked at", (looked_at == 0) == (not any(text.endswith("all are 3") for text in found)), str(found)


def check_triton(m):
    """Through the PTX that Triton keeps beside the machine code that it gives to the driver."""
    coverage = coverage_of(m)
    engine, launches, looked_at, reason = coverage.get("scaled", (None, 0, 0, None))
    yield equal("launches of Triton's kernel, looked at through PTX", (engine, launches, looked_at), ("ptx", 5, 5))
    found = [p["evidence"] for o in m.view("values")["objects"] for p in o["patterns"] if p["operation"] == "scaled" and p["pattern"] == "single_value"]
    yield "it reads threes", any(text.endswith("all are 3") for text in found), f"{found} {reason}"
    compiled = {kernel: row for kernel, row in coverage.items() if kernel.startswith("triton_")}
    yield "torch.compile's kernels were looked at through PTX", bool(compiled) and all(r[0] == "ptx" and r[1] == r[2] for r in compiled.values()), str(compiled)


def python_with_torch():
    """The interpreter that has PyTorch, or Skipped."""
    for python in dict.fromkeys(filter(None, (os.environ.get("SONDE_TEST_PYTHON"), sys.executable, shutil.which("python3")))):
        try:
            code = "import torch,sys; sys.exit(0 if torch.cuda.is_available() else 3)"
            status = subprocess.run([python, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                    timeout=120, check=False).returncode
        except (OSError, subprocess.TimeoutExpired):
            continue
        if status == 0:
            return python
    raise Skipped("no Python here has PyTorch with CUDA")


class TorchCase:
    """`mode`: of torch_step.py, compared with Kineto. Else `script` with its own checks. `options`: of `sonde record`."""

    def __init__(self, name, mode=None, script=None, checks=(), gpus=1, launcher=(), inside=False, module="torch",
                 env=None, options=(), hosts=False):
        self.name, self.mode, self.script, self.checks, self.gpus = name, mode, script, checks, gpus
        self.launcher, self.inside, self.module, self.env = list(launcher), inside, module, env or {}
        self.options, self.hosts = options, hosts

    def command(self, python):
        script = SCRIPT if self.mode else os.path.join(HERE, self.script)
        return self.launcher + [python, script] + ([self.mode] if self.mode else [])

    def environment(self, folder):
        return {**self.env, "TORCHINDUCTOR_CACHE_DIR": os.path.join(os.path.dirname(folder), "inductor"),
                "TRITON_CACHE_DIR": os.path.join(os.path.dirname(folder), "triton")}

    def test(self, runner, python):
        """Yields checks; raises Broken or Skipped."""
        folder = runner.folder(self.name)
        command, env = self.command(python), self.environment(folder)
        if self.hosts and subprocess.run(["unshare", "--uts", "--time", "--monotonic", "5000", "--fork", "true"], check=False, stderr=subprocess.DEVNULL).returncode:
            raise Skipped("this machine lets nobody have a clock of their own (unshare --time)")
        if self.launcher and not shutil.which(self.launcher[0]):
            raise Skipped(f"{self.launcher[0]} is not installed")
        if self.module != "torch" and subprocess.run([python, "-c", f"import {self.module}"], check=False,
                                                     stderr=subprocess.DEVNULL).returncode:
            raise Skipped(f"{python} has no {self.module}")
        plain = runner.plain(command, env, folder, timeout=300)
        if plain.status and self.module != "torch":
            raise Skipped(f"{self.module} does not work here: {describe(plain.status)} without Sonde: {tail(plain.err)}")
        if plain.status:
            raise Broken(f"{describe(plain.status)} without Sonde: {tail(plain.err)}")
        kineto = os.path.join(folder, "kineto.json")
        with_kineto = dict(env, SONDE_TEST_KINETO=kineto)
        if self.mode and not self.inside:
            other = runner.plain(command, with_kineto, folder, timeout=300)
            if other.status:
                raise Broken(f"{describe(other.status)} under Kineto: {tail(other.err)}")
        m = runner.record(command, with_kineto if self.inside else env, folder, timeout=300, options=self.options)
        yield equal("status", m.outcome.status, plain.status)
        yield equal("standard output", m.outcome.out.decode(errors="replace"), plain.out.decode(errors="replace"))
        if self.inside:
            return  # who gets the records is between the two tools; the program must not notice
        yield "nothing lost", not m.losses(), str(m.losses())
        if self.mode:
            yield from compare(m, kineto)
        for check in self.checks:
            yield from check(m)
        runner.sums(self, m)


CASES = [
    TorchCase("torch-eager", "eager", checks=[check_python, check_backward]),
    TorchCase("torch-compiled", "compiled", checks=[check_backward]),
    TorchCase("torch-graphed", "graphed", checks=[check_graph_replay]),
    TorchCase("torch-loader", "loader", checks=[check_loader]),
    TorchCase("torch-dataset", "dataset", checks=[check_dataset]),
    TorchCase("torch-values", "products", checks=[check_looked_at], options=["--values=fine", "--values-engine=sanitizer"]),
    TorchCase("triton", script="triton_scaled.py", checks=[check_triton], options=["--values=fine"]),
    TorchCase("numba", script="numba_scaled.py", checks=[check_numba], module="numba.cuda", options=["--values=fine"]),
    TorchCase("torch-profiler-inside", "eager", inside=True),
    TorchCase("torch-nccl", script="torch_nccl.py", checks=[check_nccl], gpus=2),
    TorchCase("torchrun", script="torch_nccl.py", checks=[check_nccl], gpus=2,
              launcher=["torchrun", "--standalone", "--nproc-per-node=2", "--no-python"]),
    TorchCase("torch-nccl-bytes", script="torch_nccl.py", checks=[check_nccl_bytes], gpus=2, env={"SONDE_TEST_NCCL": "bytes"}, options=["--comm"]),
    TorchCase("torch-nccl-machine", script="torch_nccl.py", checks=[check_nccl_machine], gpus=2, env={"SONDE_TEST_NCCL": "bytes"},
              options=["--comm", "--comm-engine=sanitizer", "--comm-sample", "1/1"]),
    TorchCase("torch-nccl-ring", script="torch_nccl.py", checks=[check_nccl_ring], gpus=RING, env={"SONDE_TEST_NCCL": "ring", "SONDE_TEST_RANKS": str(RING)}, options=["--comm"]),
    TorchCase("torch-nccl-ring-machine", script="torch_nccl.py", checks=[check_nccl_ring_machine], gpus=RING, env={"SONDE_TEST_NCCL": "ring", "SONDE_TEST_RANKS": str(RING)},
              options=["--comm", "--comm-engine=sanitizer", "--comm-sample", "1/1"]),
    TorchCase("torch-nccl-graph", script="torch_nccl.py", checks=[check_nccl_graph], gpus=2, env={"SONDE_TEST_NCCL": "graph"}),
    TorchCase("torch-nccl-late", script="torch_nccl.py", checks=[check_nccl_late], gpus=2, env={"SONDE_TEST_NCCL": "late"}),
    TorchCase("torch-nccl-hosts", script="torch_nccl.py", checks=[check_nccl_hosts], gpus=2, hosts=True, env={"SONDE_TEST_NCCL": "late", "SONDE_TEST_HOSTS": "1"}),
    TorchCase("torch-mpi-wait", script="mpi_wait.py", checks=[check_mpi_wait], module="mpi4py",
              launcher=["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2"]),
    TorchCase("torch-mpi", script="mpi_rank.py", checks=[check_mpi], module="mpi4py",
              launcher=["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2"]),
]
