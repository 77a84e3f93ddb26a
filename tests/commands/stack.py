"""Commands under a small limit of the stack (ulimit -s), a hard one too: the debug information is read on a stack of ours."""
import json
import os
import resource
import signal
import subprocess
import time
import unittest

from common import SONDE, InFolder, main, run

PROGRAM = os.path.join(os.environ["BUILD"], "bin", "examples", "heat")
ARGUMENTS = ("64", "20")
SMALL = 128 << 10


def small(hard):
    def limit():
        before = resource.getrlimit(resource.RLIMIT_STACK)
        resource.setrlimit(resource.RLIMIT_STACK, (SMALL, SMALL if hard else before[1]))
    return limit


class Stack(InFolder):
    def setUp(self):
        super().setUp()
        if not os.access(PROGRAM, os.X_OK):
            self.skipTest("the examples are not built")
        if subprocess.run([PROGRAM, *ARGUMENTS], capture_output=True, preexec_fn=small(True)).returncode:
            self.skipTest("no OpenCL device here, or none that works with such a stack")

    def places(self, path, **more):
        """Functions, files and lines of all contexts, as `export` writes them."""
        r = run("export", path, "--to", "json", "-o", "-", **more)
        self.assertEqual(r.returncode, 0, r.stderr)
        return {(c["name"], os.path.basename(c["file"] or ""), c["line"]) for c in json.loads(r.stdout)["contexts"]}

    def unresolved(self):
        """A measurement whose record was killed: reports look for the names themselves."""
        record = subprocess.Popen([SONDE, "record", "-q", "-o", "left.sonde", "--", "sh", "-c",
                                   'kill -STOP $$; exec "$@"', "sh", PROGRAM, *ARGUMENTS], stderr=subprocess.DEVNULL)
        children = f"/proc/{record.pid}/task/{record.pid}/children"
        child = None
        while not child:
            time.sleep(0.01)
            with open(children) as file:
                child = int((file.read().split() or [0])[0])
        record.kill()
        record.wait()
        while os.path.exists(f"/proc/{child}") and not self.ended(child):
            os.kill(child, signal.SIGCONT)
            time.sleep(0.02)
        return "left.sonde"

    @staticmethod
    def ended(pid):
        try:
            with open(f"/proc/{pid}/stat") as file:
                return file.read().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            return True

    def test_record(self):
        for hard in (False, True):
            r = run("record", "-o", f"{hard}.sonde", "--", PROGRAM, *ARGUMENTS, preexec_fn=small(hard))
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertIn("next: sonde report", r.stderr)
            self.assertIn("heat.c", [file for _, file, _ in self.places(f"{hard}.sonde")])

    def test_report_and_export(self):
        left = self.unresolved()
        for view in ("summary", "contexts", "blame", "kernels"):
            large, little = run("report", left, view), run("report", left, view, preexec_fn=small(True))
            self.assertEqual((little.returncode, little.stdout), (0, large.stdout), little.stderr)
        self.assertIn("heat.c", run("report", left, "contexts", preexec_fn=small(True)).stdout)
        places = self.places(left)
        self.assertEqual(self.places(left, preexec_fn=small(True)), places)
        self.assertTrue([line for name, file, line in places if (name, file) == ("main", "heat.c") and line])


main()
