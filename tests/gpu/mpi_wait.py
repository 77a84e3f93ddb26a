"""Two ranks, one GPU each where there are two: in each step rank 0 multiplies large matrices and sends what came out, rank 1 waits for it. Counted in torch_cases.py."""
import numpy
import torch
from mpi4py import MPI

STEPS, SIDE = 8, 8192

comm = MPI.COMM_WORLD
me = comm.Get_rank()
torch.cuda.set_device(me % torch.cuda.device_count())


def produce(x):
    y = x
    for _ in range(12):
        y = torch.mm(x, y) * 1e-3
    part = y[0].cpu().numpy()  # waits for the device
    comm.Send(part, dest=1, tag=5)


def consume():
    part = numpy.empty(SIDE, dtype=numpy.float32)
    comm.Recv(part, source=0, tag=5)  # LINE receive
    return torch.from_numpy(part).cuda().sum().item()


def main():
    x = torch.full((SIDE, SIDE), 0.125, device="cuda")
    torch.mm(x, x)
    torch.cuda.synchronize()
    comm.Barrier()
    for _ in range(STEPS):
        produce(x) if me == 0 else consume()


main()
