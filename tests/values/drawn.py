#!/usr/bin/env python3
"""Kernels drawn at random, with barriers in branches and loops that all work-items of a group take or none: they compute under `sonde record --values`
what they compute without.

    drawn.py --sonde S --program P --work DIR --cache DIR [--runtime LIBRARY] [--kernels N] [--seeds FIRST-LAST]

The program is accesses.c. A work-item reads and writes what is its own, and what nobody writes, so that no order among them shows.
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys

ALL = ["n > 5", "n < 5", "i < n", "(n & 1) == 0", "(get_group_id(0) & 1) == 0", "n == 320"]  # of a group
SOME = ["a[i] < b[i]", "i % 3 == 0", "x > 7", "(b[i] & 2) != 0"]
VALUES = ["a[i]", "b[i]", "b[i ^ 1]", "x", "i", "l[get_local_id(0)]"]


class Drawn:
    def __init__(self, seed):
        self.draw, self.loops = random.Random(seed), 0

    def statement(self, deep, uniform):
        """`uniform`: all work-items of the group come here, or none."""
        draw = self.draw
        value, kind = draw.choice(VALUES), draw.random()
        if kind < .15:
            return f"c[i] += {value};"
        if kind < .25:
            return f"x = x * 3 + {value};"
        if kind < .33:
            return f"l[get_local_id(0)] = {value};"
        if kind < .43:
            return f"a[i] = x ^ {value};"
        if kind < .48:
            return f"atomic_add(c + 1024 + i, {value});"
        if uniform and kind < .66:
            return "barrier(CLK_LOCAL_MEM_FENCE);"
        if not deep:
            return f"c[i] = c[i] * 5 + {value};"
        if kind < .78:
            return f"if ({draw.choice(SOME)}) {{ {self.block(deep - 1, False)} }}{self.other(deep, False)}"
        if kind < .92:
            return f"if ({draw.choice(ALL)}) {{ {self.block(deep - 1, uniform)} }}{self.other(deep, uniform)}"
        if kind < .97:
            self.loops += 1
            k = f"k{self.loops}"
            return f"for (int {k} = 0; {k} < n - {draw.choice([318, 319, 320])}; {k}++) {{ {self.block(deep - 1, uniform)} }}"
        return "if (i >= n) return;" if uniform else "x++;"

    def other(self, deep, uniform):
        return f" else {{ {self.block(deep - 1, uniform)} }}" if self.draw.random() < .3 else ""

    def block(self, deep, uniform):
        return " ".join(self.statement(deep, uniform) for _ in range(self.draw.randint(1, 4)))

    def kernel(self, number):
        return (f"kernel void k{number:03}(global int *a, global const int *b, global int *c, int n, local int *l)\n"
                f"{{ int i = get_global_id(0), x = b[i]; l[get_local_id(0)] = x; {self.block(3, True)} {self.block(2, True)} }}\n")


def run(command, env):
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{' '.join(command)}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        sys.exit(1)
    return done.stdout


def compare(options, env, seed):
    """Kernels that were looked at."""
    source, path = os.path.join(options.work, f"{seed}.cl"), os.path.join(options.work, f"{seed}.sonde")
    with open(source, "w") as file:
        file.writelines(Drawn(seed * 1000 + number).kernel(number) for number in range(options.kernels))
    plain, looked = run([options.program, source], env), 0
    for mode in ["--values=fine"], ["--values=all"], ["--values=fine", "--values-blocks=1/3"]:
        shutil.rmtree(path, ignore_errors=True)
        recorded = run([options.sonde, "record", "-q", "-o", path, *mode, "--", options.program, source], env)
        wrong = [before.split()[0] for before, after in zip(plain.splitlines(), recorded.splitlines()) if before != after]
        if plain.count("\n") != options.kernels or recorded.count("\n") != options.kernels or wrong:
            print(f"{source}, {' '.join(mode)}: other results of {' '.join(wrong)}")
            sys.exit(1)
        coverage = json.loads(run([options.sonde, "report", path, "values", "--json"], env))["coverage"]
        looked += sum(c["looked_at"] for c in coverage if c["kernel"].startswith("k") and c["engine"] == "spirv")
    return looked


def main():
    parser = argparse.ArgumentParser()
    for name in ("sonde", "program", "work", "cache"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--runtime")
    parser.add_argument("--kernels", type=int, default=10)
    parser.add_argument("--seeds", default="1-1")
    options = parser.parse_args()
    if options.runtime and not (os.path.exists(options.runtime) and any(shutil.which(f"clang-{version}") for version in range(15, 31))):
        print(f"skipped: {options.runtime} (tests/values/intel.sh) or clang-15 or newer is not there")
        sys.exit(77)
    first, last = map(int, options.seeds.split("-"))
    os.makedirs(options.work, exist_ok=True)
    os.makedirs(options.cache, exist_ok=True)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SONDE_", "OPENCL_LAYERS", "LD_PRELOAD"))}
    env["POCL_CACHE_DIR"] = options.cache
    if options.runtime:
        env["OCL_ICD_VENDORS"] = os.path.join(options.work, "runtime.icd")
        with open(env["OCL_ICD_VENDORS"], "w") as file:
            file.write(options.runtime + "\n")
    looked, launches = sum(compare(options, env, seed) for seed in range(first, last + 1)), 3 * options.kernels * (last + 1 - first)
    print(f"{looked} of {launches} launches looked at")
    sys.exit(looked < launches / 2)


main()
