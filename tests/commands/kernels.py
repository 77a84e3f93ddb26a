"""File and line of a kernel, from the device code in a measurement, as a user sees them.

PoCL's kernels have no such code. So a program puts some into the measurement
while it runs, whose kernel has the name of the one that the program launches:
code/NAME.cubin.zst are what nvcc 13.0 made of code/vector_add.cu (its comment
says how). What is expected is the line in that file.
"""
import json
import os
import shutil
import stat
import subprocess
import unittest

from common import InFolder, SOURCE, main, run

PROGRAM = os.path.join(os.environ["BUILD"], "bin", "examples", "vector_add")
CODE = os.path.join(SOURCE, "tests", "commands", "code")
WITH_CODE = """mkdir -p "$SONDE_OUT/code" && for name in $2; do
    cp "$1/$name.cubin.zst" "$SONDE_OUT/code/" || exit 1
done && exec "$3"
"""
OTHER = os.path.join(SOURCE, "tests", "unit", "analyze", "symbols", "fixtures", "code", "lines.cubin.zst")
KILLED = """#include <CL/cl.h>
#include <signal.h>
int main(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int e = clGetPlatformIDs(1, &platform, 0) | clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, 0);
    cl_context context = clCreateContext(0, 1, &device, 0, 0, &e);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &e);
    clFinish(queue);
    return raise(SIGKILL);
}
"""
# Of the three kernels in the module `lines` this launches one.
ONE_OF_THREE = r"""#include <CL/cl.h>
int main(void)
{
    const char *source = "kernel void _Z5firstPfi(global float *x) { x[0] = 1; }";
    const size_t one = 1;
    cl_platform_id platform;
    cl_device_id device;
    cl_int e[6];
    e[0] = clGetPlatformIDs(1, &platform, 0) | clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, 0);
    cl_context context = clCreateContext(0, 1, &device, 0, 0, &e[1]);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &e[2]);
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, 0, &e[3]);
    cl_program program = clCreateProgramWithSource(context, 1, &source, 0, &e[4]);
    clBuildProgram(program, 1, &device, 0, 0, 0);
    cl_kernel kernel = clCreateKernel(program, "_Z5firstPfi", &e[5]);
    for (int i = 0; i < 6; i++)
        if (e[i])
            return 1;
    return clSetKernelArg(kernel, 0, sizeof memory, &memory) || clEnqueueNDRangeKernel(queue, kernel, 1, 0, &one, 0, 0, 0, 0) ||
           clFinish(queue);
}
"""


def marked_line():
    with open(os.path.join(CODE, "vector_add.cu"), encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if "void vector_add(" in line)


class Kernels(InFolder):
    def setUp(self):
        super().setUp()
        if not os.access(PROGRAM, os.X_OK) or subprocess.run([PROGRAM], capture_output=True).returncode:
            self.skipTest("no OpenCL device here, or the examples are not built")

    def record(self, *code):
        r = run("record", "-f", "-o", "x.sonde", "--", "sh", "-c", WITH_CODE, "sh", CODE, " ".join(code), PROGRAM)
        self.assertEqual(r.returncode, 0, r.stderr)

    def seen(self):
        """(source in JSON, its text in the views kernels and contexts)."""
        kernel, = json.loads(run("report", "x.sonde", "kernels", "--json").stdout)
        wide = dict(os.environ, COLUMNS="200")
        views = [run("report", "x.sonde", view, env=wide).stdout for view in ("kernels", "contexts")]
        return kernel.get("source"), ["vector_add.cu:" in text for text in views], views

    def test_line_table(self):
        self.record("vector_add")
        shutil.rmtree("x.sonde/code")  # it was looked up when recording ended
        source, shown, views = self.seen()
        self.assertEqual(source, {"file": "/tmp/w/vector_add.cu", "line": marked_line()})
        self.assertEqual(shown, [True, True])
        for text in views:
            self.assertIn(f"vector_add vector_add.cu:{marked_line()}", text)
        export = json.loads(run("export", "x.sonde", "--to", "json", "-o", "-").stdout)
        kernel, = (c for c in export["contexts"] if c["kind"] == "operation" and c["name"] == "vector_add")
        self.assertEqual((kernel["file"], kernel["line"]), ("/tmp/w/vector_add.cu", marked_line()))

    def test_code_without_line_table(self):
        self.record("no-lines")
        self.assertEqual(self.seen()[:2], (None, [False, False]))

    def test_with_and_without(self):
        self.record("no-lines", "vector_add")
        self.assertEqual(self.seen()[0], {"file": "/tmp/w/vector_add.cu", "line": marked_line()})

    def test_two_of_one_name(self):
        """Which of them ran is not known: no line is better than a wrong one."""
        self.record("vector_add", "elsewhere")
        self.assertEqual(self.seen()[:2], (None, [False, False]))

    def test_damaged_code(self):
        with open(os.path.join(CODE, "vector_add.cubin.zst"), "rb") as file:
            whole = file.read()
        with open("torn.cubin.zst", "wb") as file:
            file.write(whole[:len(whole) // 2])
        r = run("record", "-o", "x.sonde", "--", "sh", "-c", WITH_CODE, "sh", ".", "torn", PROGRAM)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(self.seen()[:2], (None, [False, False]))

    def left(self, program, *options):
        """Pieces left of two, `lines` being a module of which the program launches no kernel."""
        os.makedirs("pieces", exist_ok=True)
        for path in (os.path.join(CODE, "vector_add.cubin.zst"), OTHER):
            shutil.copy(path, "pieces")
        run("record", "-f", "-o", "x.sonde", *options, "--", "sh", "-c", program, "sh", "pieces",
            "vector_add lines", PROGRAM)
        return sorted(os.listdir("x.sonde/code")) if os.path.isdir("x.sonde/code") else []

    def test_code_of_which_nothing_ran(self):
        self.assertEqual(self.left(WITH_CODE), ["vector_add.cubin.zst"])

    def test_code_stays_where_not_all_that_ran_is_known(self):
        """The first process launches nothing and is killed."""
        killed = WITH_CODE.replace('exec "$3"', '"$3" && "$1/../killed"')
        with open("killed.c", "w") as file:
            file.write(KILLED)
        subprocess.run(["gcc", "-o", "killed", "killed.c", "-lOpenCL"], check=True)
        self.assertEqual(self.left(killed), ["lines.cubin.zst", "vector_add.cubin.zst"])

    def test_what_is_left_of_a_piece_is_private(self):
        """Under umask 0777 only root reads what the shell copied."""
        with open("one.c", "w") as file:
            file.write(ONE_OF_THREE)
        subprocess.run(["gcc", "-o", "one", "one.c", "-lOpenCL"], check=True)
        with open(OTHER, "rb") as file:
            whole = file.read()
        for mask in (0, 0o22) if os.geteuid() else (0, 0o22, 0o777):
            r = run("record", "-f", "-o", "x.sonde", "--", "sh", "-c", WITH_CODE, "sh", os.path.dirname(OTHER), "lines", "./one",
                    preexec_fn=lambda: os.umask(mask), env=dict(os.environ, POCL_CACHE_DIR=os.path.join(self.folder, f"cache-{mask}")))
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertEqual(os.listdir("x.sonde/code"), ["lines.cubin.zst"])
            with open("x.sonde/code/lines.cubin.zst", "rb") as file:
                self.assertNotEqual(file.read(), whole)  # two kernels were taken out
                self.assertEqual(stat.S_IMODE(os.fstat(file.fileno()).st_mode), 0o600, oct(mask))


if __name__ == "__main__":
    main()
