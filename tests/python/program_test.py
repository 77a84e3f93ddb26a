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
