"""The section `nccl` of bench/gpu.py: what two ranks' all-reduces cost more where NCCL tells Sonde of them. By itself it is the load: two ranks, one GPU each,
which print how long an all-reduce of each size took, in ns.
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "gpu"))
import torch_nccl  # noqa: E402

SIZES = {"4 KiB": (4 << 10, 4000), "1 MiB": (1 << 20, 2000), "64 MiB": (64 << 20, 200)}  # bytes, how many
BLOCKS = 5
VARIANTS = {"sonde --cpu 0, without NCCL's plugin": (("--cpu", "0"), {"NCCL_PROFILER_PLUGIN": "none"}), "sonde --cpu 0": (("--cpu", "0"), {}), "sonde": ((), {}),
            "--comm-engine=sanitizer": (("--cpu", "0", "--comm", "--comm-engine=sanitizer", "--comm-sample", "1/1"), {}),
            "--comm-engine=sanitizer, one launch of 20": (("--cpu", "0", "--comm", "--comm-engine=sanitizer"), {})}


def rank():
    import torch
    import torch.distributed as dist
    me = int(os.environ["RANK"])
    torch.cuda.set_device(me)
    dist.init_process_group("nccl")
    for name, (size, count) in SIZES.items():
        x, best = torch.zeros(size // 4, device="cuda"), float("inf")
        for block in range(1 + BLOCKS):  # the first warms up
            torch.cuda.synchronize()
            dist.barrier()
            begin = time.perf_counter_ns()
            for _ in range(count // BLOCKS):
                dist.all_reduce(x)
            torch.cuda.synchronize()
            best = min(best, (time.perf_counter_ns() - begin) / (count // BLOCKS)) if block else best
        if me == 0:
            print(f"{name}: {best:.0f}", flush=True)
    dist.destroy_process_group()


def main():
    if "RANK" in os.environ:
        rank()
        return 0
    return torch_nccl.start(__file__)


def run(bench, seconds, nothing):
    bench.say("## NCCL's all-reduces, two ranks\n")
    plain = [bench.python, os.path.abspath(__file__)]

    def figures(command, env=None):
        lines = [line.rsplit(":", 1) for line in bench.run(command, env).splitlines() if ":" in line]
        found = {name: float(value) for name, value in lines if name in SIZES}
        return found if len(found) == len(SIZES) else None

    variants = {nothing: lambda: figures(plain)}
    for name, (options, env) in VARIANTS.items():
        variants[name] = lambda options=options, env=env: figures(bench.record(plain, *options), env)
    values = bench.rounds("nccl", variants, set(variants), seconds, 9)
    bench.say("Each figure is of the fastest of five blocks; × of the same without Sonde, median [lowest, highest].\n")
    bench.say("| Recorded with | " + " | ".join(SIZES) + " |\n|---|" + "---|" * len(SIZES))
    bench.say(f"| {nothing}, µs each | " + " | ".join(f"{(bench.median(values, nothing, size) or 0) / 1000:,.1f}" for size in SIZES) + " |")
    for name in VARIANTS:
        bench.say(f"| {name} | " + " | ".join(bench.cell(bench.ratio(values, name, nothing, size)) for size in SIZES) + " |")
    bench.say()


if __name__ == "__main__":
    sys.exit(main())
