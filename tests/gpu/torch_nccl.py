"""Two ranks, one GPU each, twenty all-reduces of 4 MiB: started as torchrun would, by this same script."""
import os
import socket
import subprocess
import sys

ROUNDS = 20


def rank():
    import torch
    import torch.distributed as dist
    me = int(os.environ["RANK"])
    torch.cuda.set_device(me)
    dist.init_process_group("nccl")
    x = torch.empty(1 << 20, device="cuda")
    for _ in range(ROUNDS):
        x.fill_(me + 1)
        dist.all_reduce(x)
    torch.cuda.synchronize()
    assert x.eq(3).all().item()
    dist.destroy_process_group()


def main():
    if "RANK" in os.environ:
        rank()
        return 0
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = [subprocess.Popen([sys.executable, __file__],
                              env=dict(os.environ, RANK=str(i), LOCAL_RANK=str(i), WORLD_SIZE="2",
                                       MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)))
             for i in range(2)]
    statuses = [p.wait() for p in ranks]
    print("all-reduce", statuses)
    return max(map(abs, statuses))


if __name__ == "__main__":
    sys.exit(main())
