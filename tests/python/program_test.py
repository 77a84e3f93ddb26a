"""program_test.py - recording from Python: programs that name their phases, with and without a device, and what fails."""
import importlib.util
import os
import subprocess
import sys

from common import SOURCE, Case, cli, sonde
import scenes

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.path.join(SOURCE, "python")}

PHASES = """
import sys
import threading
import sonde

def inner():
    with sonde.range("inner µ"):
        sonde.mark("here")

@sonde.range("decorated")
def work():
    inner()

def fails():
    try:
        with sonde.range("fails"):
            raise KeyError("x")
    except KeyError:
        pass

with sonde.range("step"):
    inner()
work()
fails()
thread = threading.Thread(target=work)
thread.start()
thread.join()
sys.exit(int(sys.argv[1]))
"""

KERNELS = """
import numpy, pyopencl, sonde
context = pyopencl.create_some_context(interactive=False)
queue = pyopencl.CommandQueue(context)
add = pyopencl.Program(context, "kernel void add(global int *a) { a[get_global_id(0)] += 1; }").build().add
array = numpy.zeros(64, dtype=numpy.int32)
buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE | pyopencl.mem_flags.COPY_HOST_PTR, hostbuf=array)

def launch(times):
    for _ in range(times):
        add(queue, array.shape, None, buffer)

add(queue, array.shape, None, buffer)
for _ in range(5):
    with sonde.range("step"):
        with sonde.range("forward"):
            launch(2)
        launch(1)
queue.finish()
"""


SHARED = """
import numpy, pyopencl, sonde
context = pyopencl.create_some_context(interactive=False)
queue = pyopencl.CommandQueue(context)
memory = pyopencl.csvm_empty(context, 1024, numpy.float32)

class Tensor:
    # What sonde.name asks of one of PyTorch's, over an array.
    def __init__(self, array, grad=None):
        self.array, self.shape, self.grad = array, array.shape, grad
    def data_ptr(self):
        return self.array.__array_interface__["data"][0]
    def element_size(self):
        return self.array.itemsize
    def stride(self):
        return tuple(stride // self.array.itemsize for stride in self.array.strides)

class Meta:
    shape = (3, 3)
    def element_size(self):
        return 4
    def data_ptr(self):
        raise RuntimeError("no memory")

class Model:
    def named_parameters(self):
        yield "weight", Tensor(memory[:120].reshape(2, 6, 10), Tensor(memory[120:240].reshape(2, 6, 10)))
        yield "bias", Tensor(memory[240:250])
        yield "meta", Meta()
    def named_buffers(self):
        yield "mean", Tensor(memory[250:251].reshape(()))

class Cuda:
    def __init__(self, array):
        self.__cuda_array_interface__ = dict(array.__array_interface__)

sonde.names(Model(), "layer.")
sonde.names({"columns": memory[256:456].reshape(20, 10)[:, 2:5], "turned": Tensor(memory[456:476].reshape(4, 5).T), "back": memory[479:475:-1]})
sonde.name(Cuda(memory[480:500].reshape(1, 4, 1, 5)), "cupy µ")
sonde.name(memory[500:500], "empty")
sonde.name(memory, "all of it")
sonde.name(numpy.zeros(4), "elsewhere")
for wrong in (3, None, "text", [1.0]):
    try:
        sonde.name(wrong, "wrong")
    except TypeError:
        continue
    raise SystemExit(f"{wrong} has a name")
pyopencl.enqueue_barrier(queue)
queue.finish()
"""


class Program(Case):
    def program(self, text):
        path = self.path("program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_phases_are_ranges(self):
        m = sonde.record([sys.executable, self.program(PHASES), "0"], self.path("phases.sonde"), env=ENVIRONMENT)
        rows = m.ranges().rows()
        names = sorted(row["name"] for row in rows)
        self.assertEqual(names, sorted(["here"] * 3 + ["inner µ"] * 3 + ["decorated"] * 2 + ["step", "fails"]))
        self.assertEqual({row["name"] for row in rows if row["mark"]}, {"here"})
        step = next(row for row in rows if row["name"] == "step")
        within = [row for row in rows if row["begin_ns"] > step["begin_ns"] and row["end_ns"] < step["end_ns"]]
        self.assertEqual(sorted(row["name"] for row in within), ["here", "inner µ"])
        self.assertEqual(len({row["lane"] for row in rows}), 2)

    def test_without_a_tool_they_do_nothing(self):
        plain = {key: value for key, value in ENVIRONMENT.items() if not key.startswith("NVTX")}
        for tool in (None, "/nowhere/tool.so", os.path.join(cli.BUILD, "lib/libsonde.so.1")):
            env = plain if tool is None else {**plain, "NVTX_INJECTION64_PATH": tool}
            done = subprocess.run([sys.executable, self.program(PHASES), "5"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            self.assertEqual((done.returncode, done.stdout), (5, b""))

    def test_kernels_are_in_their_ranges(self):
        if importlib.util.find_spec("pyopencl") is None or "none found" in cli.run("doctor", "--json").out:
            self.skipTest("no pyopencl, or no device, here")
        m = sonde.record([sys.executable, self.program(KERNELS)], self.path("kernels.sonde"), env=ENVIRONMENT)
        table = m.operations(["kind", "ranges"]).pandas()
        found = table[table["kind"] == "kernel"]["ranges"].value_counts(dropna=False).to_dict()
        self.assertEqual({key if isinstance(key, str) else None: count for key, count in found.items()},
                         {"[forward] ← [step]": 10, "[step]": 5, None: 1})
        node = m.tree().find(lambda node: node["kind"] == "range" and node["name"] == "forward")[0]
        self.assertEqual((node["inclusive_operations"], node.parent["name"]), (10, "step"))

    def test_a_program_that_runs(self):
        """While it is being written, each opening has what the last had, and more; in the end it has all."""
        text = ("import os, sys, sonde\ncount = 0\nwhile not os.path.exists(sys.argv[1]):\n"
                "    for _ in range(100):\n        with sonde.range('turn'):\n            count += 1\nprint(count)\n")
        path, stop = self.path("running.sonde"), self.path("stop")
        command = [cli.SONDE, "record", "--quiet", "-o", path, "--", sys.executable, self.program(text), stop]
        with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as child:
            try:
                counts = [0]
                while len(counts) < 15 or counts[-1] < 30000:
                    self.assertIsNone(child.poll())
                    try:
                        with sonde.open(path) as m:
                            begins = m.ranges(["begin_ns"])["begin_ns"]
                            self.assertEqual(len(m.ranges()), len(begins))
                            m.view("ledger")
                    except sonde.SondeError as error: # it has not begun to write
                        self.assertEqual(counts, [0], error)
                        continue
                    self.assertTrue((begins[1:] >= begins[:-1]).all())
                    self.assertGreaterEqual(len(begins), counts[-1])
                    counts.append(len(begins))
            finally:
                with open(stop, "w", encoding="utf-8"):
                    pass
            said = int(child.communicate(timeout=600)[0])
        with sonde.open(path) as m:
            lost = self.export(path)["processes"][0]["ledger"]["range_rows_dropped"]
            self.assertEqual((len(m.ranges()) + lost, m.processes().row()["damaged_chunks"]), (said, 0))

    def test_start_and_stop(self):
        text = "import sonde\nwith sonde.range('out'):\n    pass\nsonde.start()\nwith sonde.range('in'):\n    pass\nsonde.stop()\nwith sonde.range('out'):\n    pass\n"
        m = sonde.record([sys.executable, self.program(text)], self.path("part.sonde"), env=ENVIRONMENT, start_off=True)
        self.assertEqual([row["name"] for row in m.ranges().rows()], ["in"])

    def test_arrays_have_names(self):
        """Bytes from the object's beginning, bytes, rows, columns and bytes of an element, of what each array's slice is of."""
        if importlib.util.find_spec("pyopencl") is None or "none found" in cli.run("doctor", "--json").out:
            self.skipTest("no pyopencl, or no device, here")
        script, path = self.program(SHARED), self.path("names.sonde")
        done = subprocess.run([sys.executable, script], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        m = sonde.record([sys.executable, script], path, env=ENVIRONMENT)
        found = {row["name"]: tuple(row[key] for key in ("offset", "bytes", "rows", "columns", "element_bytes")) for row in m.names().rows() if row["object"]}
        self.assertEqual([row["name"] for row in m.names().rows() if not row["object"]], ["elsewhere"])
        self.assertEqual(found, {
            "layer.weight": (0, 480, 12, 10, 4), "layer.weight.grad": (480, 480, 12, 10, 4), "layer.bias": (960, 40, 1, 10, 4), "layer.mean": (1000, 4, 1, 1, 4),
            "columns": (1024 + 8, 19 * 40 + 12, None, None, 4), "turned": (1824, 80, None, None, 4), "back": (1904, 16, None, None, 4),
            "cupy µ": (1920, 80, 4, 5, 4), "all of it": (0, 4096, 1, 1024, 4)})

    def test_what_fails(self):
        script = self.program(PHASES)
        with self.assertRaises(subprocess.CalledProcessError) as caught:
            sonde.record([sys.executable, script, "7"], self.path("seven.sonde"), env=ENVIRONMENT)
        self.assertEqual(caught.exception.returncode, 7)
        m = sonde.record([sys.executable, script, "7"], self.path("seven.sonde"), env=ENVIRONMENT, check=False, force=True)
        self.assertEqual(len(m.ranges()), 10)
        with self.assertRaisesRegex(sonde.SondeError, "nothing was recorded"):
            sonde.record([sys.executable, script, "0"], self.path("none.sonde"), nonsense=3)
        with self.assertRaises(TypeError):
            sonde.record("python3 program.py")
        with self.assertRaises(TypeError):
            sonde.record([])

    def test_text_and_magic(self):
        scenes.demo(self.folder, "m.sonde")
        m = sonde.open(self.path("m.sonde"))
        want = cli.run("report", self.path("m.sonde"), "ledger", env={"COLUMNS": "80"}).out
        os.environ["COLUMNS"] = "80"
        self.assertEqual(m.text("ledger").split(), want.split())
        from sonde import _magic
        self.assertEqual(repr(_magic.sonde(f"{self.path('m.sonde')} ledger")).split(), want.split())
        with self.assertRaisesRegex(sonde.SondeError, "nonsense"):
            m.text("nonsense")


if __name__ == "__main__":
    cli.main()
