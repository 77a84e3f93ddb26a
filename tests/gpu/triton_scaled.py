"""Kernels that Triton compiles while the program runs: five launches that read an array of threes, and what torch.compile makes of a sum of ones."""
import torch
import triton
import triton.language as tl

N, BLOCK = 4096, 256


@triton.jit
def scaled(source, target, number, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(source + i, mask=i < n)
    tl.store(target + i, x * number + i * i, mask=i < n)


@torch.compile
def shifted(x, y):
    return torch.relu(x * y + 1) - x


def main():
    source = torch.full((N,), 3, dtype=torch.int32, device="cuda")
    i = torch.arange(N, dtype=torch.int32, device="cuda")
    for number in range(2, 7):
        target = torch.empty(N, dtype=torch.int32, device="cuda")
        scaled[(N // BLOCK,)](source, target, number, N, BLOCK=BLOCK)
        assert torch.equal(target, 3 * number + i * i)
    print("scaled is right")
    ones = torch.ones(100, 1000, device="cuda")
    for k in range(3):
        assert (shifted(ones, ones * k) == k).all()
    print("shifted is right")


main()
