#!/usr/bin/env python3
"""Hooks among PyTorch's own work, without a GPU: bench/imitation.py [--steps N] [--rounds N] [--cold KB] [--pages N] BUILD [BUILD ...]

Each tensor that PyTorch's CPU allocator makes is a hooked call (imitation.c), in the loads of gpu_load.py made small.
Before each call so many KB are written to (that of a core's second cache is what a launch leaves
cold), and a line of so many pages (translations of addresses), which is not in the figures. A Python without torch has the load
*frames* alone: calls under 13 Python frames and the native ones of four functions in C between them. With several build folders their libraries take turns, a process each. Printed: cycles (of the
time-stamp counter) of a call's hook, before and after the allocation: the median over all calls of a process, and of
these the median over the rounds [lowest, highest].
"""
import argparse, ctypes, json, os, statistics, subprocess, sys


def frames(library):
    """Two calls in different lines, and one with another frame within."""
    def inner(_):
        library.imitation_call()
        library.imitation_call()
        nested()

    def nested():
        library.imitation_call()

    def through_c(depth):
        if depth == 0:
            return inner(0)
        return max(map(python, (depth,)))

    def python(depth):
        return between(depth) or 0

    def between(depth):
        return through_c(depth - 1)
    return lambda: through_c(3)


def loads(library):
    out = {"frames": frames(library)}
    try:
        import torch
    except ImportError:
        return out
    import small_load
    torch.set_num_threads(1)
    torch.manual_seed(0)

    class Residual(torch.nn.Module):
        def __init__(self, width):
            super().__init__()
            layer = lambda: torch.nn.Sequential(torch.nn.Conv2d(width, width, 3, padding=1, bias=False), torch.nn.BatchNorm2d(width))
            self.one, self.two, self.relu = layer(), layer(), torch.nn.ReLU()

        def forward(self, x):
            return self.relu(x + self.two(self.relu(self.one(x))))

    small = small_load.Small("cpu", width=32, heads=2, length=8)
    net = torch.nn.Sequential(*[Residual(8) for _ in range(8)])
    image = torch.randn(2, 8, 8, 8)
    optimizer = torch.optim.SGD(net.parameters(), 0.01, foreach=False)

    def train():
        optimizer.zero_grad(set_to_none=True)
        net(image).square().mean().backward()
        optimizer.step()
    return {**out, "small": small.step, "train": train}


def child(steps, cold, pages):
    library = ctypes.CDLL(None)
    library.imitation_begin(cold, pages, 0)
    out = {}
    for name, step in loads(library).items():
        library.imitation_switch(1)
        if name == "train":
            steps = steps // 4 + 1
        for _ in range(steps):
            step()
        most = 1 << 20
        enter, leave = (ctypes.c_uint32 * most)(), (ctypes.c_uint32 * most)()
        library.imitation_take(enter, leave, most)  # the first steps make what the next ones find
        for i in range(steps):
            if i == steps - 1 and os.environ.get("IMITATION_WHERE"):
                library.imitation_where()  # for lines.py, which looks at the last step
            step()
        library.imitation_switch(0)
        n = library.imitation_take(enter, leave, most)
        out[name] = [n / steps, statistics.median(enter[:n]), statistics.median(leave[:n])]
    counts = [ctypes.c_uint64() for _ in range(3)]
    library.imitation_ledger(*map(ctypes.byref, counts))
    out["ledger"] = [c.value for c in counts]
    library.imitation_end()
    print(json.dumps(out))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cold", type=int, default=0)
    parser.add_argument("--pages", type=int, default=0)
    parser.add_argument("--child", action="store_true")
    parser.add_argument("builds", nargs="*")
    args = parser.parse_args()
    if args.child:
        child(args.steps, args.cold, args.pages)
        return
    variants = {(build, python): [] for build in args.builds for python in (True, False)}
    for _ in range(args.rounds):
        for build, python in variants:
            env = dict(os.environ, LD_PRELOAD=os.path.abspath(f"{build}/bench/libbench-imitation.so"), **({} if python else {"SONDE_PYTHON": "0"}))
            done = subprocess.run([sys.executable, __file__, "--child", "--steps", str(args.steps), "--cold", str(args.cold), "--pages", str(args.pages)], env=env, stdout=subprocess.PIPE,
                                  text=True, check=True, cwd=os.environ.get("TMPDIR", "/tmp"))
            variants[build, python].append(json.loads(done.stdout.splitlines()[-1]))
    print("Cycles of a hook in Python and PyTorch on a CPU: before the call + after it, medians")
    for (build, python), rounds in variants.items():
        for load in (name for name in rounds[0] if name != "ledger"):
            before, after = ([r[load][i] for r in rounds] for i in (1, 2))
            both = [a + b for a, b in zip(before, after)]
            print(f"  {load:6} {'native and Python' if python else 'native only':18} {statistics.median(both):6,.0f} [{min(both):,.0f}, {max(both):,.0f}]"
                  f"  = {statistics.median(before):,.0f} + {statistics.median(after):,.0f}   {rounds[0][load][0]:.0f} calls a step   {build}")
        if any(r["ledger"][1] for r in rounds):
            sys.exit(f"contexts differ from those of a full walk: {rounds}")


if __name__ == "__main__":
    main()
