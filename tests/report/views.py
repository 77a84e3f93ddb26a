"""views.py - what the tests of the views share: JSON that fits its schema, recordings on PoCL, widths."""
import json
import os
import subprocess
import sys
import unicodedata

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import cli  # noqa: E402
import sums  # noqa: E402

try:
    import jsonschema
except ImportError:
    print("skipped: the Python package jsonschema is missing")
    sys.exit(cli.SKIP)

SCHEMA = os.environ.get("SONDE_SCHEMA", os.path.join(HERE, "../../docs/schema"))
PROGRAMS = os.path.join(cli.BUILD, "tests", "programs")


def columns(text):
    """Of a terminal."""
    wide = lambda c: 0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
    return sum(map(wide, text))


class Case(cli.Case):
    def holds_once(self, check, runs=5):
        """On a machine that is kept busy by others a launch may lose the processor for longer than all waits together
        last. So what must lead need not lead in every run, but in one of a few."""
        for left in reversed(range(runs)):
            try:
                return check()
            except AssertionError:
                if not left:
                    raise

    def json(self, path, view, *more):
        """A view's answer, which fits its schema."""
        value = json.loads(self.ok("report", path, view, "--json", *more).out)
        with open(os.path.join(SCHEMA, view + ".json")) as file:
            jsonschema.validate(value, json.load(file))
        return value

    def record(self, program, *args, options=(), warm=False):
        """The measurement of a program on PoCL; `warm`: its kernels were compiled by a run before."""
        path = self.path("program.sonde")
        if not os.access(program, os.X_OK):
            self.skipTest("%s is not built" % program)
        env = {**os.environ, "POCL_CACHE_DIR": cli.POCL_CACHE}
        os.makedirs(env["POCL_CACHE_DIR"], exist_ok=True)
        if warm:
            subprocess.run([program, *args], env=env, capture_output=True, check=False)
        done = subprocess.run([cli.SONDE, "record", "--force", *options, "-o", path, "--", program, *args], env=env, text=True,
                              capture_output=True, check=False)
        if "clGetPlatformIDs" in done.stdout:
            self.skipTest("no OpenCL platform here: " + done.stdout.strip())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.said = done.stdout
        self.adds_up(path)
        return path

    def hold(self, verdicts):
        for what, holds, detail in verdicts:
            self.assertTrue(holds, "%s: %s" % (what, detail))

    def adds_up(self, path):
        """What every view must say of any measurement."""
        exported = self.path("adds-up.json")
        self.ok("export", path, "--to", "json", "--force", "-o", exported)
        with open(exported) as file:
            self.hold(sums.verdicts(lambda view: self.json(path, *view.split()), json.load(file)))
