#!/usr/bin/env python3
"""Hooks among PyTorch's own work, without a GPU: bench/imitation.py [--steps N] [--rounds N] [--cold KB] BUILD [BUILD ...]

Each tensor that PyTorch's CPU allocator makes is a hooked call (imitation.c), in the loads of gpu_load.py made small.
Needs a Python with torch. Before each call so many KB are written to (that of a core's second cache is what a launch leaves
cold), which is not in the figures. With several build folders their libraries take turns, a process each. Printed: cycles (of the
time-stamp counter) of a call's hook, before and after the allocation: the median over all calls of a process, and of
these the median over the rounds [lowest, highest].
"""
import argparse, ctypes, json, os, statistics, subprocess, sys


def loads():
    import torch
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
    return {"small": small.step, "train": train}


def child(steps, cold):
    library = ctypes.CDLL(None)
    library.imitation_begin(cold, 0)
    out = {}
    for name, step in loads().items():
        library.imitation_switch(1)
        if name == "train":
            steps = steps // 4 + 1
        for _ in range(steps):
            step()
        most = 1 << 20
        enter, leave = (ctypes.c_uint32 * most)(), (ctypes.c_uint32 * most)()
        library.imitation_take(enter, leave, most)  # the first steps make what the next ones find
        for _ in range(steps):
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
    parser.add_argument("--child", action="store_true")
    parser.add_argument("builds", nargs="*")
    args = parser.parse_args()
    if args.child:
        child(args.steps, args.cold)
        return
    variants = {(build, python): [] for build in args.builds for python in (True, False)}
    for _ in range(args.rounds):
        for build, python in variants:
            env = dict(os.environ, LD_PRELOAD=os.path.abspath(f"{build}/bench/libbench-imitation.so"), **({} if python else {"SONDE_PYTHON": "0"}))
            done = subprocess.run([sys.executable, __file__, "--child", "--steps", str(args.steps), "--cold", str(args.cold)], env=env, stdout=subprocess.PIPE,
                                  text=True, check=True, cwd=os.environ.get("TMPDIR", "/tmp"))
            variants[build, python].append(json.loads(done.stdout.splitlines()[-1]))
    print("Cycles of a hook in PyTorch on a CPU: before the call + after it, medians")
    for (build, python), rounds in variants.items():
        for load in ("small", "train"):
            before, after = ([r[load][i] for r in rounds] for i in (1, 2))
            both = [a + b for a, b in zip(before, after)]
            print(f"  {load:6} {'native and Python' if python else 'native only':18} {statistics.median(both):6,.0f} [{min(both):,.0f}, {max(both):,.0f}]"
                  f"  = {statistics.median(before):,.0f} + {statistics.median(after):,.0f}   {rounds[0][load][0]:.0f} calls a step   {build}")
        if any(r["ledger"][1] for r in rounds):
            sys.exit(f"contexts differ from those of a full walk: {rounds}")


if __name__ == "__main__":
    main()
