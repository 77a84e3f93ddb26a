"""common.py - what the tests of `import sonde` share: the package of the source tree with the library and the command that were built,
and the measurements of tests/cli."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(SOURCE, "python"), os.path.join(HERE, "..", "cli")]
import cli  # noqa: E402

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

    def export(self, path):
        return json.loads(self.ok("export", path, "--to", "json", "-o", "-").stdout)
