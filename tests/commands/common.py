"""What the tests of the commands share: where things are, and one run of sonde."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SONDE = os.environ["SONDE"]
STATE = os.environ.get("STATE", "")
SOURCE = os.environ.get("SOURCE", "")


def run(*args, **options):
    """Run sonde; text in and out."""
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("timeout", 600)
    return subprocess.run([SONDE, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", **options)


class InFolder(unittest.TestCase):
    """Each test starts in an empty folder of its own."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="sonde-test-")
        self.before = os.getcwd()
        os.chdir(self.folder)

    def tearDown(self):
        os.chdir(self.before)
        shutil.rmtree(self.folder, ignore_errors=True)

    def assertOneLine(self, text):
        self.assertEqual(text.count("\n"), 1, text)
        self.assertTrue(text.startswith("sonde"), text)


def main():
    result = unittest.main(exit=False, verbosity=1).result
    sys.exit(0 if result.wasSuccessful() else 1)
