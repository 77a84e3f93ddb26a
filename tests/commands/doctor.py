"""`sonde doctor`: its verdict is what a recording shows, and a broken driver cannot hurt it."""
import json
import os
import subprocess
import unittest

from common import InFolder, SONDE, main, run

NOTHING = {"OCL_ICD_VENDORS": "/nonexistent", "OPENCL_VENDOR_PATH": "/nonexistent"}


def doctor(**environment):
    r = run("doctor", "--json", env=dict(os.environ, **environment))
    return r.returncode, json.loads(r.stdout)


def check(answer, name):
    return next((c for c in answer["checks"] if c["name"] == name), None)


class Doctor(InFolder):
    def vendor(self, library):
        """A folder of OpenCL drivers with only this one in it."""
        os.makedirs("vendors", exist_ok=True)
        with open("vendors/only.icd", "w") as file:
            file.write(library + "\n")
        return {"OCL_ICD_VENDORS": self.folder + "/vendors", "OPENCL_VENDOR_PATH": self.folder + "/vendors"}

    def driver(self, text):
        with open("driver.c", "w") as file:
            file.write("#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\n" + text)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", "driver.so", "driver.c"], check=True)
        return self.vendor(self.folder + "/driver.so")

    def test_verdict(self):
        status, answer = doctor()
        self.assertEqual(status, 0 if answer["records_opencl"] else 1)
        if not any(p["devices"] for p in answer.get("platforms", [])):
            self.skipTest("no OpenCL device here")
        self.assertTrue(answer["records_opencl"], answer["checks"])
        self.assertEqual(check(answer, "test recording")["status"], "ok")

    def test_text_says_the_same(self):
        text, (status, answer) = run("doctor"), doctor()
        self.assertEqual(text.returncode, status)
        self.assertEqual(text.stderr, "")
        for c in answer["checks"]:
            if c["name"] not in ("test recording", "output folder"):
                self.assertIn(c["text"], text.stdout)

    def test_no_device(self):
        status, answer = doctor(**NOTHING)
        self.assertEqual(status, 1)
        device = check(answer, "OpenCL device")
        self.assertEqual(device["status"], "problem")
        self.assertRegex(device["fix"], "pocl")

    def test_driver_that_crashes(self):
        status, answer = doctor(**self.driver("__attribute__((constructor)) static void f(void) { raise(SIGSEGV); }\n"))
        self.assertEqual(status, 1)
        self.assertIn("crashed", check(answer, "OpenCL")["text"])

    def test_driver_that_ends_the_process(self):
        status, answer = doctor(**self.driver("__attribute__((constructor)) static void f(void) { _exit(0); }\n"))
        self.assertEqual(status, 1)
        self.assertEqual(check(answer, "OpenCL")["status"], "problem")

    def test_nothing_is_left_behind(self):
        os.mkdir("tmp")
        run("doctor", env=dict(os.environ, TMPDIR=self.folder + "/tmp"))
        self.assertEqual(os.listdir("tmp"), [])


if __name__ == "__main__":
    main()
