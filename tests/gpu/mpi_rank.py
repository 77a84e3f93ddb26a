"""A rank of an MPI job in Python: rank r launches 10 * (r + 1) additions on the GPU; the sum is reduced on the host."""
import torch
from mpi4py import MPI

world = MPI.COMM_WORLD
torch.cuda.set_device(world.rank % torch.cuda.device_count())
x = torch.zeros(1024, device="cuda")
for _ in range(10 * (world.rank + 1)):
    x.add_(1.0)
total = world.allreduce(int(x[0].item()))
if world.rank == 0:
    print("total", total)
