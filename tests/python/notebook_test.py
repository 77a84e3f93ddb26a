"""notebook_test.py - examples/notebook.ipynb runs from its first cell to its last, and what it shows is what reports say."""
import json
import os
import sys

from common import SOURCE, Case, cli

try:
    import nbclient
    import nbformat
    import ipykernel  # noqa: F401
except ImportError as error:
    print("skipped:", error)
    sys.exit(cli.SKIP)


def shown(cell):
    """The text of a cell's outputs."""
    return "".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell["outputs"])


class Notebook(Case):
    def test_it_runs(self):
        if "none found" in cli.run("doctor", "--json").out:
            self.skipTest("no OpenCL device here")
        os.environ["PATH"] = os.pathsep.join([os.path.join(cli.BUILD, "bin"), os.path.join(cli.BUILD, "bin/examples"), os.environ["PATH"]])
        os.environ["PYTHONPATH"] = os.path.join(SOURCE, "python")
        os.environ["IPYTHONDIR"] = self.path("ipython")
        notebook = nbformat.read(os.path.join(SOURCE, "examples/notebook.ipynb"), as_version=4)
        nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": self.folder}}).execute()
        text = {"".join(cell["source"]): shown(cell) for cell in notebook.cells if cell["cell_type"] == "code"}
        of = {source.splitlines()[-1]: output for source, output in text.items()}
        kernels = json.loads(self.ok("report", "heat.sonde", "kernels", "--json").stdout)
        for kernel in kernels:
            row = next(line.split() for line in of['m.kernels().pandas()[["name", "count", "total_ns", "mean_ns"]]'].splitlines() if kernel["name"] in line)
            self.assertEqual((int(row[2]), int(row[3])), (kernel["count"], kernel["total_ns"]))
        self.assertEqual(of['bool(m.tree().root["inclusive_device_ns"] == frame["duration_ns"].sum())'], "True")
        self.assertIn(kernels[0]["name"], of["%sonde heat.sonde"])
        self.assertIn("main() heat.c", of["print(m.tree().text(least=0.05))"])
        late, all_of_them = map(int, of["len(late), len(ops)"].strip("()\n").split(", "))
        self.assertTrue(0 < late < all_of_them)

    def test_outputs_are_not_committed(self):
        with open(os.path.join(SOURCE, "examples/notebook.ipynb"), encoding="utf-8") as file:
            cells = [cell for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
        self.assertGreater(len(cells), 8)
        self.assertEqual({(len(cell["outputs"]), cell["execution_count"]) for cell in cells}, {(0, None)})


if __name__ == "__main__":
    cli.main()
