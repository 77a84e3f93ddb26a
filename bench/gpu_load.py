"""Two PyTorch loads for bench/gpu_rounds.py: gpu_load.py TOOL SOCKET

small: twelve small transformer blocks (small_load.py), eager, inference: about 260 launches, bound by the host.
train: one training step of ResNet-50, batch 32, bf16 autocast, channels-last.

TOOL is none, or a profiler that runs inside the process: proton-shadow, proton-python, kineto-stack; it is started after
both loads have warmed up. Then the process connects to SOCKET and serves: a line "LOAD WARM COUNT" runs so many
iterations untimed and so many timed, and is answered by one line of JSON: milliseconds of each, and both ends of the
timed part (CLOCK_MONOTONIC_RAW). "samples on" and "samples off" turn Sonde's samples (gpu_samples.py). "quit", or the end of the connection, ends it.
"""
import contextlib
import json
import os
import socket
import sys
import tempfile
import time

import torch
import torchvision

import gpu_samples
from small_load import Small


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
    return {"ms": times, "window": [begin, time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)]}


@contextlib.contextmanager
def under(tool):
    if tool == "kineto-stack":
        from torch.profiler import ProfilerActivity, profile
        profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], with_stack=True).start()
    if tool.startswith("proton-"):
        import triton.profiler as proton
        proton.start(os.path.join(tempfile.mkdtemp(), "proton"), context=tool.split("-")[1], backend="cupti")
    yield
    if tool != "none":
        os._exit(0)  # what the profiler would write now is not asked for, and takes minutes


def serve(loads, lines, answer):
    for line in lines:
        word = line.split()
        if word[0] == "quit":
            return
        if word[0] == "samples":
            answer(gpu_samples.turn(word[1] == "on"))
            continue
        timed(loads[word[0]], int(word[1]))
        answer(timed(loads[word[0]], int(word[2])))


def main():
    tool, address = sys.argv[1:]
    torch.manual_seed(0)
    loads = {"small": Small("cuda"), "train": Train()}
    timed(loads["small"], 30)
    timed(loads["train"], 8)
    with socket.socket(socket.AF_UNIX) as control, under(tool):
        control.connect(address)

        def answer(value):
            control.sendall((json.dumps(value) + "\n").encode())
        answer({"ready": os.getpid()})
        serve(loads, control.makefile("r", encoding="utf-8"), answer)


if __name__ == "__main__":
    main()
