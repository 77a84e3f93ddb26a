"""One kind of PyTorch program: torch_step.py eager|compiled|graphed|loader|dataset|products

Its steady part is a window, whose ends (CLOCK_MONOTONIC_RAW) go into the file that
SONDE_TEST_TRUTH names. With SONDE_TEST_KINETO=FILE PyTorch's own profiler records the
window and writes its trace there: the independent count.
"""
import contextlib
import os
import sys
import time

import torch

WARM, STEPS = 5, 20


def truth(key, value):
    if path := os.environ.get("SONDE_TEST_TRUTH"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{key} {value}\n")


@contextlib.contextmanager
def window():
    torch.cuda.synchronize()
    kineto = os.environ.get("SONDE_TEST_KINETO")
    if kineto:
        from torch.profiler import ProfilerActivity, profile
        with profile(activities=[ProfilerActivity.CUDA]) as recorded:
            yield
            torch.cuda.synchronize()
        recorded.export_chrome_trace(kineto)
        return
    truth("window_begin_ns", time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW))
    yield
    torch.cuda.synchronize()
    truth("window_end_ns", time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW))


def make_model():
    return torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.LayerNorm(512),
                               torch.nn.Linear(512, 256)).cuda()


def training_step(model, optimizer, x, y):
    optimizer.zero_grad(set_to_none=True)
    out = model(x)  # LINE forward
    loss = torch.nn.functional.mse_loss(out, y)
    loss.backward()  # LINE backward
    optimizer.step()  # LINE step
    return loss


def train(compiled):
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    run = torch.compile(model) if compiled else model
    x, y = torch.randn(64, 256, device="cuda"), torch.randn(64, 256, device="cuda")
    for _ in range(WARM):
        training_step(run, optimizer, x, y)
    with window():
        for _ in range(STEPS):
            loss = training_step(run, optimizer, x, y)
    return loss.item()


def graphed():
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    x, y = torch.randn(64, 256, device="cuda"), torch.randn(64, 256, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM):
            training_step(model, optimizer, x, y)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        loss = training_step(model, optimizer, x, y)
    with window():
        for _ in range(STEPS):
            graph.replay()
    return loss.item()


def decode(index):
    """Some ten milliseconds of Python."""
    value = 0
    for i in range(200000):
        value = (value + i * index) % 9973
    return value


class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, index):
        return torch.full((64,), float(decode(index)))


def add_up(batches):
    total = torch.zeros(64, device="cuda")
    with window():
        for batch in batches:
            total += batch.cuda().sum(0)
    return total.sum().item()


def loader():
    return add_up(torch.utils.data.DataLoader(Slow(), batch_size=4, num_workers=2, multiprocessing_context="fork"))


def dataset():
    return add_up(torch.utils.data.DataLoader(Slow(), batch_size=4))


def products():
    """Matrix products whose elements are -16 or 16, by columns, and by themselves elements that are negative: what is left of those is zero."""
    signs = torch.ones(512, device="cuda")
    signs[::2] = -1
    x = torch.full((512, 512), 0.25, device="cuda")
    y = torch.full((512, 512), 0.125, device="cuda") * signs
    lost = torch.full((512, 512), -1.0, device="cuda")
    total = torch.zeros((), device="cuda")
    with window():
        for _ in range(3):
            product = torch.relu(x @ y)
            zeros = torch.relu(lost)
            total += product.sum()
            total += zeros.sum()
    return total.item()


def main():
    torch.manual_seed(1)
    mode = sys.argv[1]
    value = {"eager": lambda: train(False), "compiled": lambda: train(True), "graphed": graphed, "loader": loader,
             "dataset": dataset, "products": products}[mode]()
    print(f"{mode} {value:.3f}")


if __name__ == "__main__":
    main()
