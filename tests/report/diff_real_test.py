"""diff_real_test.py - `sonde diff` of recorded programs on PoCL: what is alike differs in nothing, a kernel that does half as much
again is found with its factor in the interval, and moved lines, another name and one more kernel are what they are.

What varies is the machine's: recordings of both sides take turns, and counted are findings over all ways to divide them.
"""
import csv
import itertools
import json
import os
import shutil
import statistics
import subprocess

import views
from views import cli

SOURCE = r"""
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdlib.h>
static const char *text =
    "kernel void spin(global uint *out, uint n) { uint x = get_global_id(0); for (uint i = 0; i < n; i++) x = x * 1664525u + 1013904223u;"
    "                                            out[get_global_id(0)] = x; }"
    "kernel void fill_all(global uint *out, uint n) { out[get_global_id(0)] = n; }";
static cl_command_queue queue;
static cl_kernel make(cl_program program, const char *name, cl_mem out, cl_uint n)
{
    cl_kernel kernel = clCreateKernel(program, name, NULL);
    clSetKernelArg(kernel, 0, sizeof out, &out);
    clSetKernelArg(kernel, 1, sizeof n, &n);
    return kernel;
}
MORE_LINES
__attribute__((noinline)) void COMPUTE(cl_kernel kernel)
{
    size_t items = 64;
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
    __asm__ volatile("");
}
__attribute__((noinline)) void step(cl_kernel spin, cl_kernel fill)
{
    COMPUTE(spin);
    MORE_WORK
    clFinish(queue);
}
int main(int argc, char **argv)
{
    cl_platform_id platform;
    cl_device_id device;
    if (argc < 3 || clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 77;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    clBuildProgram(program, 1, &device, "", NULL, NULL);
    cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE, 64 * sizeof(cl_uint), NULL, NULL);
    cl_kernel spin = make(program, "spin", out, (cl_uint)atoi(argv[2])), fill = make(program, "fill_all", out, 1);
    for (int i = 0; i < atoi(argv[1]); i++)
        step(spin, fill);
    return 0;
}
"""
ITERATIONS, STEPS = 4000, 20 # short, since the machine may be loaded: most launches are not held up


class Real(views.Case):
    def build(self, name, compute="compute", more_lines="", more_work=""):
        if not shutil.which("gcc"):
            self.skipTest("gcc is missing")
        os.makedirs(self.path(name), exist_ok=True)
        text = SOURCE.replace("COMPUTE", compute).replace("MORE_LINES", more_lines).replace("MORE_WORK", more_work)
        with open(self.path(name, "program.c"), "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run(["gcc", "-g", "-O1", "-fno-inline", "-fno-optimize-sibling-calls", "-o", self.path(name, "program"),
                               self.path(name, "program.c"), "-lOpenCL"], text=True, capture_output=True, check=False)
        if done.returncode:
            self.skipTest("no OpenCL program can be built: " + done.stderr[-200:])
        return self.path(name, "program")

    def run_once(self, out, program, steps=STEPS, iterations=ITERATIONS):
        env = {**os.environ, "POCL_CACHE_DIR": cli.POCL_CACHE}
        done = subprocess.run([cli.SONDE, "record", "--force", "-q", "-o", self.path(out), "--", program, str(steps), str(iterations)], env=env,
                              text=True, capture_output=True, check=False)
        if done.returncode == 77:
            self.skipTest("no OpenCL platform here")
        self.assertEqual(done.returncode, 0, done.stderr)

    def diff(self, before, after):
        return json.loads(self.ok("diff", ",".join(before), ",".join(after), "--json").out)

    def median_ns(self, run, kernel):
        table = csv.DictReader(self.ok("export", run, "--to", "csv", "-o", "-").out.splitlines())
        return statistics.median(int(row["duration_ns"]) for row in table if row["name"] == kernel)

    def rows(self, value, metric, kernel):
        return [r for r in value["rows"] if r["metric"] == metric and r["kernel"] == kernel]

    def test_alike(self):
        program = self.build("a")
        runs = ["a%d.sonde" % i for i in range(6)]
        self.run_once("warm.sonde", program)
        for run in runs:
            self.run_once(run, program)
        false = tested = 0
        for side in itertools.combinations(runs, 3):
            value = self.diff(side, [run for run in runs if run not in side])
            false += sum(bool(r["significant"]) for r in value["rows"])
            tested += sum(r["significant"] is not None for r in value["rows"])
            self.assertFalse([r for r in value["rows"] if r["kernel"] and r["match"] != "same"])
        self.assertGreater(tested, 100)
        self.assertLessEqual(false / tested, .05, "%d of %d" % (false, tested))

    def test_single_runs_that_are_alike(self):
        """What other programs take from one run and not from the other is in neither; single durations would find most rows. A whole run
        that the machine ran slower is another thing, which one run a side cannot tell: those compared are equally fast by their launches' median."""
        program = self.build("a")
        self.run_once("warm.sonde", program)
        self.holds_once(lambda: self.look_at_pairs(program))

    def look_at_pairs(self, program):
        runs = ["a%d.sonde" % i for i in range(18)]
        for run in runs:
            self.run_once(run, program)
        usual = {run: self.median_ns(run, "spin") for run in runs}
        runs.sort(key=usual.get)
        runs = min((runs[at:at + 6] for at in range(len(runs) - 5)), key=lambda six: usual[six[5]] / usual[six[0]])
        self.assertLess(usual[runs[5]] / usual[runs[0]], 1.05, "no six runs were equally fast")
        rows = [r for pair in itertools.combinations(runs, 2) for r in self.diff(pair[:1], pair[1:])["rows"] if r["significant"] is not None]
        false = [r for r in rows if r["significant"]]
        self.assertGreater(len(rows), 40)
        self.assertLessEqual(len(false) / len(rows), .1, "%d of %d: %s" % (len(false), len(rows), false[:2]))

    def test_a_kernel_that_does_half_as_much_again(self):
        program = self.build("a")
        self.run_once("warm.sonde", program)
        self.holds_once(lambda: self.look_for_half(program), runs=12)

    def look_for_half(self, program):
        sides = [["a%d.sonde" % i for i in range(3)], ["b%d.sonde" % i for i in range(3)]]
        for i in range(3):
            self.run_once(sides[0][i], program)
            self.run_once(sides[1][i], program, iterations=ITERATIONS * 3 // 2)
        for before, after in (sides, [sides[0][:1], sides[1][:1]]):
            value = self.diff(before, after)
            row, = self.rows(value, "time", "spin")
            self.assertTrue(row["significant"], row)
            usual = STEPS * statistics.mean(self.median_ns(run, "spin") for run in before)
            self.assertLess(row["low"], .5 * usual) # what is not the loop does not grow: less than a tenth
            self.assertGreater(row["high"], .45 * usual)
            self.assertRegex(row["context"], r"^compute\(\) program.c:\d+ ← step\(\) program.c:\d+ ← main\(\) program.c:\d+$")
            count, = self.rows(value, "count", "spin")
            self.assertEqual((count["delta"], count["significant"]), (0, False))

    def test_moved_renamed_and_one_more(self):
        first = self.build("a")
        second = self.build("b", compute="compute_all", more_lines="\n" * 7, more_work="compute_all(fill);")
        self.run_once("a.sonde", first)
        self.run_once("b.sonde", second)
        value = self.diff(["a.sonde"], ["b.sonde"])
        row, = self.rows(value, "time", "spin")
        self.assertEqual(row["match"], "renamed")
        self.assertTrue(row["context_before"].startswith("compute() program.c:"))
        self.assertTrue(row["context"].startswith("compute_all() program.c:"))
        new, = self.rows(value, "count", "fill_all")
        self.assertEqual((new["match"], new["before"], new["after"], new["significant"]), ("new", 0, STEPS, True))
        self.assertRegex(value["sentence"], "; 1 new kernel")
        moved = self.build("c", more_lines="\n" * 7)
        self.run_once("c.sonde", moved)
        rows = [r for r in self.diff(["a.sonde"], ["c.sonde"])["rows"] if r["kernel"]]
        self.assertEqual({r["match"] for r in rows}, {"moved"})


if __name__ == "__main__":
    cli.main()
