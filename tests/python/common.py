"""common.py - what the tests of `import sonde` share: the package of the source tree with the library and the command that were built,
and the measurements of tests/cli."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(SOURCE, "python"), os.path.join(HERE, "..", "cli")]
import cli  # noqa: E402
import live  # noqa: E402

os.environ["SONDE_PREFIX"] = cli.BUILD
import sonde  # noqa: E402

try:
    import numpy  # noqa: F401
    import pandas  # noqa: F401
    import pyarrow  # noqa: F401
    import dask.dataframe  # noqa: F401
except ImportError as error:
    print("skipped:", error)
    sys.exit(cli.SKIP)

__all__ = ["Case", "cli", "sonde"]


class Case(cli.Case):
    def report(self, path, *view):
        """What `sonde report --json` says; None where it fails."""
        done = cli.run("report", path, *view, "--json", cwd=self.folder)
        return json.loads(done.out) if done.returncode == 0 else None

    def job(self, name="job.sonde"):
        """A job of three ranks: rank 1 has two processes, rank 2 another that did nothing; the launcher has no rank and an operation of its own.
        Its path, and the device time of each rank and kernel."""
        path, truth = self.path(name), {}
        for i, (rank, launches) in enumerate(((None, 1), (0, 4), (1, 5), (1, 6), (2, 7), (2, 0))):
            p = live.Process(f"alpha-{100 + i}-0", 100 + i, start_ns=10**12 + i)
            p.rank = (0, 0, 0) if rank is None else (rank + 1, rank + 1, 3)
            thread, at = p.thread(100 + i), p.start_ns
            queue = p.queue(p.device("Device"))
            code = p.node(0, p.frame(live.PYTHON, p.python(f"rank{rank}", "/u/main.py", 3)))
            for k in range(launches):
                kernel, ns = f"kernel{(i + k) % 4}", 1000 * (k + 1) + i
                p.enqueue(thread, queue, "clEnqueueNDRangeKernel", code, "kernel", at, at + 500, at + 1000, at + 1000 + ns, name=kernel)
                truth[rank, kernel] = truth.get((rank, kernel), 0) + ns
                at += 20000
            p.write(path)
        return path, truth

    def export(self, path):
        return json.loads(self.ok("export", path, "--to", "json", "-o", "-").stdout)
