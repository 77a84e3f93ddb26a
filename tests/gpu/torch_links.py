#!/usr/bin/env python3
"""Which kernels of a ResNet-50 training step have a Python context of their own, and which through a link?

    torch_links.py [--sonde build/bin/sonde] [--steps 20] [-o DIR] [--min-linked PERCENT]
    torch_links.py --read DIR         the shares of a measurement that is there already
    torch_links.py --train STEPS      the program itself, without Sonde

direct: Python frames call the kernel. linked: it runs on one of autograd's
threads, named by its operator, with a link to the forward call (or to where
its CUDA graph was captured). named: with the operator only. none: neither.
Exit status 1 when fewer than --min-linked percent of the kernels without
Python frames are linked; 77 when there is no GPU or no torchvision.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile


def train(steps):
    try:
        import torch
        import torchvision
    except ImportError as missing:
        print(missing)
        sys.exit(77)
    if not torch.cuda.is_available():
        print("no CUDA device")
        sys.exit(77)
    torch.manual_seed(0)
    model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    images = torch.randn(32, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (32,), device="cuda")
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    print("finite loss" if torch.isfinite(loss).item() else "the loss is not finite")


def kernels(node, path):
    """(kind, path, count, device ns) of each kernel in the tree."""
    own = node["metrics"]["exclusive"]
    path = path + [node]
    if own["operations"] and node["kind"] == "operation" and node["label"].startswith("kernel"):
        has = {step["kind"] for step in path}
        if "python" in has:
            kind = "direct"
        elif "link" in has and any(step["kind"] == "link" and step["name"] for step in path):
            kind = "linked"
        else:
            kind = "named" if "range" in has else "none"
        yield kind, path, own["operations"], own["device_ns"] or 0
    for child in node["children"]:
        yield from kernels(child, path)


def report(sonde, measurement):
    out = subprocess.run([sonde, "report", measurement, "contexts", "--json"], capture_output=True, text=True,
                         check=False)
    if out.returncode:
        sys.exit(out.stderr)
    sys.setrecursionlimit(100000)
    count, time, operators = {}, {}, {}
    for kind, path, n, ns in kernels(json.loads(out.stdout), []):
        count[kind] = count.get(kind, 0) + n
        time[kind] = time.get(kind, 0) + ns
        if kind in ("named", "none"):
            name = next((step["name"] for step in path if step["kind"] == "range"), path[-1]["name"])
            operators[name] = operators.get(name, 0) + n
    total, total_ns = sum(count.values()) or 1, sum(time.values()) or 1
    for kind in ("direct", "linked", "named", "none"):
        print(f"{kind:8}{count.get(kind, 0):9} kernels {100 * count.get(kind, 0) / total:6.1f} %"
              f"{100 * time.get(kind, 0) / total_ns:8.1f} % of device time")
    for name, n in sorted(operators.items(), key=lambda item: -item[1])[:10]:
        print(f"  without Python context: {n:7} {name}")
    without = total - count.get("direct", 0)
    return 100 * count.get("linked", 0) / without if without else 100.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--sonde", default=os.path.join(here, "..", "..", "build", "bin", "sonde"))
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--train", type=int)
    parser.add_argument("--read")
    parser.add_argument("-o", "--output")
    parser.add_argument("--min-linked", type=float, default=0)
    options = parser.parse_args()
    if options.train:
        return train(options.train)
    if options.read:
        return 0 if report(options.sonde, options.read) >= options.min_linked else 1
    with tempfile.TemporaryDirectory() as folder:
        output = options.output or os.path.join(folder, "links.sonde")
        status = subprocess.run([options.sonde, "record", "-f", "-o", output, "--", sys.executable, __file__, "--train",
                                 str(options.steps)], check=False).returncode
        if status:
            return status
        return 0 if report(options.sonde, output) >= options.min_linked else 1


if __name__ == "__main__":
    sys.exit(main())
