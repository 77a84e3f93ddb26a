"""Ranks, one GPU each: collectives and pairs, counted in torch_cases.py. Started as torchrun would, by this same script; SONDE_TEST_RANKS of them, else two.

With SONDE_TEST_NCCL=graph: one all-reduce, captured and replayed. With SONDE_TEST_NCCL=bytes: each collective, large, so that NVLink's counters have little else.
With SONDE_TEST_NCCL=ring: the same of any number of ranks, of which each sends to the next; no broadcasts, no small ones.
With SONDE_TEST_NCCL=late: all-reduces for which by turns rank 1 is late, since it computes on the host, and rank 0, since its device does.
With SONDE_TEST_HOSTS=1 rank 1 runs on another host, as far as it can see (tests/mpi/host.sh), so that NCCL's data goes through sockets.
"""
import os
import random
import socket
import subprocess
import sys
import time

ROUNDS, GATHERS, SENDS, EXCHANGES, REPLAYS = 20, 10, 5, 3, 7
PART = 16 << 20  # elements of 4 bytes
REDUCED, GATHERED, SCATTERED, BROADCAST, TO_FIRST, SENT, SMALL = 10, 4, 4, 3, 2, 2, 50  # how often


def collectives(torch, dist, me):
    x = torch.empty(1 << 20, device="cuda")
    for _ in range(ROUNDS):
        x.fill_(me + 1)
        dist.all_reduce(x)  # LINE all-reduce
    part = torch.full((1000,), me, dtype=torch.bfloat16, device="cuda")
    whole = torch.empty(2000, dtype=torch.bfloat16, device="cuda")
    for _ in range(GATHERS):
        dist.all_gather_into_tensor(whole, part)
    torch.cuda.synchronize()
    assert x.eq(3).all().item() and whole.sum().item() == 1000


def pairs(torch, dist, me):
    x = torch.full((256,), float(me), dtype=torch.float64, device="cuda")
    for _ in range(SENDS):
        dist.recv(x, 0) if me else dist.send(x, 1)
    mine = torch.full((128,), float(me), dtype=torch.float64, device="cuda")
    theirs = torch.empty_like(mine)
    for _ in range(EXCHANGES): # each a group: one kernel
        for request in dist.batch_isend_irecv([dist.P2POp(dist.isend, mine, 1 - me), dist.P2POp(dist.irecv, theirs, 1 - me)]):
            request.wait()
    torch.cuda.synchronize()
    assert x.eq(0).all().item() and theirs.eq(1 - me).all().item()


def graph(torch, dist, me):
    x = torch.full((1 << 20,), me + 1.0, device="cuda")
    dist.all_reduce(x) # makes the communicator
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured, capture_error_mode="thread_local"): # NCCL's watchdog asks events meanwhile
        dist.all_reduce(x)  # LINE captured
    x.fill_(1.0)
    for _ in range(REPLAYS):
        captured.replay()
    torch.cuda.synchronize()
    assert x.eq(2.0 ** REPLAYS).all().item()
    del captured


def large(torch, dist, me):
    part, whole = torch.ones(PART, device="cuda"), torch.ones(2 * PART, device="cuda")
    for _ in range(REDUCED):
        dist.all_reduce(part.fill_(1.0))
    for _ in range(GATHERED):
        dist.all_gather_into_tensor(whole, part)
    for _ in range(SCATTERED):
        dist.reduce_scatter_tensor(part, whole)
    for _ in range(BROADCAST):
        dist.broadcast(part.fill_(me), 1)
    assert part.eq(1).all().item()
    for _ in range(TO_FIRST):
        dist.reduce(part, 0)
    for _ in range(SENT):
        dist.recv(part, 0) if me else dist.send(part, 1)
    few = torch.ones(1024, device="cuda")
    for _ in range(SMALL):
        dist.all_reduce(few.fill_(1.0))
    torch.cuda.synchronize()
    assert few.eq(2).all().item()


def ring(torch, dist, me):
    n = dist.get_world_size()
    part, whole, sum_of_all = torch.ones(PART, device="cuda"), torch.ones(n * PART, device="cuda"), n * (n + 1) // 2
    for _ in range(REDUCED):
        dist.all_reduce(part.fill_(me + 1.0))
    for _ in range(GATHERED):
        dist.all_gather_into_tensor(whole, part)
    assert whole.eq(sum_of_all).all().item()
    for _ in range(SCATTERED):
        dist.reduce_scatter_tensor(part, whole)
    assert part.eq(n * sum_of_all).all().item()
    mine = part.clone().fill_(me)
    for _ in range(SENT):
        for request in dist.batch_isend_irecv([dist.P2POp(dist.isend, mine, (me + 1) % n), dist.P2POp(dist.irecv, part, (me - 1) % n)]):
            request.wait()
    torch.cuda.synchronize()
    assert part.eq((me - 1) % n).all().item()


HOST = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "mpi", "host.sh")
LATE, LATE_S, SIDE = 6, 0.02, 8192


def think():
    until = time.perf_counter() + LATE_S
    while time.perf_counter() < until:
        pass


def late(torch, dist, me):
    x, y = torch.ones(1 << 16, device="cuda"), torch.full((SIDE, SIDE), 1e-4, device="cuda")
    dist.all_reduce(x), torch.mm(y, y)
    torch.cuda.synchronize()
    dist.barrier()
    for _ in range(LATE):
        if me == 1:
            think()
        dist.all_reduce(x)
        torch.cuda.synchronize()
        if me == 0:
            for _ in range(8):
                y = torch.mm(y, y)
        dist.all_reduce(x)
        torch.cuda.synchronize()


def rank():
    import torch
    import torch.distributed as dist
    me = int(os.environ["RANK"])
    torch.cuda.set_device(me)
    dist.init_process_group("nccl")
    if os.environ.get("SONDE_TEST_NCCL") == "graph":
        graph(torch, dist, me)
    elif os.environ.get("SONDE_TEST_NCCL") == "bytes":
        large(torch, dist, me)
    elif os.environ.get("SONDE_TEST_NCCL") == "ring":
        ring(torch, dist, me)
    elif os.environ.get("SONDE_TEST_NCCL") == "late":
        late(torch, dist, me)
    else:
        collectives(torch, dist, me)
        pairs(torch, dist, me)
    dist.destroy_process_group()


def free_port():
    """One that no connection gets by itself until it is used."""
    while True:
        port = random.randrange(20000, 30000)
        with socket.socket() as free:
            try:
                free.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


def start(script):
    """Its ranks; the worst of their statuses."""
    port, count = free_port(), int(os.environ.get("SONDE_TEST_RANKS", "2"))
    hosts = os.environ.get("SONDE_TEST_HOSTS") == "1"
    ranks = [subprocess.Popen((["sh", HOST] if hosts else []) + [sys.executable, os.path.abspath(script)],
                              env=dict(os.environ, **({"NCCL_SOCKET_IFNAME": "lo", "GLOO_SOCKET_IFNAME": "lo"} if hosts else {}), RANK=str(i), LOCAL_RANK=str(i), WORLD_SIZE=str(count),
                                       MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)))
             for i in range(count)]
    statuses = [p.wait() for p in ranks]
    print("ranks", statuses)
    return max(map(abs, statuses))


def main():
    if "RANK" in os.environ:
        rank()
        return 0
    return start(__file__)


if __name__ == "__main__":
    sys.exit(main())
