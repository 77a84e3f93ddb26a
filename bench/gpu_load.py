"""Two PyTorch loads for bench/gpu.py: gpu_load.py TOOL SMALL TRAIN

small: twelve small transformer blocks, eager, inference: about 260 launches, bound by the host.
train: one training step of ResNet-50, batch 32, bf16 autocast, channels-last.

TOOL is none, or a profiler that runs inside the process: proton-shadow, proton-python, kineto-stack.
Prints one line, GPULOAD and JSON: milliseconds of each iteration, and the ends of both windows
(CLOCK_MONOTONIC_RAW), so that operations can be counted in them.
"""
import json
import os
import sys
import tempfile
import time

import torch
import torchvision


class Block(torch.nn.Module):
    def __init__(self, width, heads=8):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def attend(self, x):
        batch, length, width = x.shape
        each = width // self.heads
        q, k, v = (z.view(batch, length, self.heads, each).transpose(1, 2) for z in self.qkv(x).chunk(3, -1))
        weights = (q @ k.transpose(-1, -2) / each ** .5).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))


class Small:
    def __init__(self):
        self.model = torch.nn.Sequential(*[Block(256) for _ in range(12)]).cuda()
        self.x = torch.randn(1, 32, 256, device="cuda")

    def step(self):
        with torch.no_grad():
            self.model(self.x)


class Train:
    def __init__(self):
        self.model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.01)
        self.x = torch.randn(32, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
        self.y = torch.randint(0, 1000, (32,), device="cuda")

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(self.model(self.x), self.y)
        loss.backward()
        self.optimizer.step()


def timed(load, count):
    """Milliseconds of each iteration, and the window."""
    times = []
    begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    for _ in range(count):
        at = time.perf_counter()
        load.step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - at) * 1e3)
    return times, [begin, time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)]


def under(tool, run):
    if tool == "kineto-stack":
        from torch.profiler import ProfilerActivity, profile
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], with_stack=True):
            return run()
    if tool.startswith("proton-"):
        import triton.profiler as proton
        with tempfile.TemporaryDirectory() as folder:
            proton.start(os.path.join(folder, "proton"), context=tool.split("-")[1], backend="cupti")
            result = run()
            proton.finalize()
            return result
    return run()


def main():
    tool, small_count, train_count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.manual_seed(0)
    small, train = Small(), Train()
    timed(small, 30)
    timed(train, 8)
    (small_ms, small_window), (train_ms, train_window) = under(tool, lambda: (timed(small, small_count), timed(train, train_count)))
    print("GPULOAD", json.dumps({"small": small_ms, "train": train_ms, "windows": {"small": small_window, "train": train_window}}),
          flush=True)


if __name__ == "__main__":
    main()
