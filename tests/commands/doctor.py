"""`sonde doctor`: its verdict is what a recording shows, and a broken driver cannot hurt it."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
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

    def test_counters(self):
        """From CUPTI's own tables; without CUPTI there is nothing to list."""
        r = run("doctor", "--counters", "--chip", "GH100", "--json")
        if r.returncode and "no libcupti.so found" in r.stderr:
            self.skipTest(r.stderr.strip())
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        answer = json.loads(r.stdout)
        metrics = {m["name"]: m for m in answer["metrics"]}
        self.assertEqual([s["name"] for s in answer["sets"]], ["default", "memory", "compute", "roofline", "nvlink", "pcie"])
        for of in answer["sets"]:
            self.assertEqual(of["passes"], 1, of)
            self.assertLessEqual({name.split(".")[0] for name in of["metrics"].split(",")}, set(metrics))
        self.assertEqual(metrics["dram__bytes_read"]["unit"], "byte")
        self.assertIn("dram__bytes_read", run("doctor", "--counters", "--chip", "GH100").stdout)
        wrong = run("doctor", "--counters", "--chip", "XX100")
        self.assertEqual(wrong.returncode, 1)
        self.assertRegex(wrong.stderr, r"\Asonde: CUPTI does not know the chip XX100; it knows [^\n]*GH100[^\n]*\n\Z")
        self.assertEqual(run("doctor", "--chip", "GH100").returncode, 2)
        none = run("doctor", "--counters", env=dict(os.environ, SONDE_CUPTI="/nonexistent"))
        self.assertEqual(none.returncode, 1)
        self.assertRegex(none.stderr, r"\Asonde: no libcupti.so found; [^\n]*\n\Z")

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
        sizes = lambda t: re.sub(r"[0-9.]+ [kMGT]?B", "SIZE", t)  # PoCL's memory is what is free at that moment
        for c in answer["checks"]:
            if c["name"] not in ("test recording", "output folder"):
                self.assertIn(sizes(c["text"]), sizes(text.stdout))

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

    def cuda(self, body):
        """An environment in which libcuda.so.1 is this one, and no OpenCL device is."""
        text = "#include <stddef.h>\n#include <stdint.h>\n"
        functions = {
            "cuInit(unsigned f)": "return INIT;", "cuDriverGetVersion(int *v)": "*v = 13010; return 0;",
            "cuDeviceGetCount(int *n)": "*n = 1; return 0;", "cuDeviceGet(int *d, int i)": "*d = i; return 0;",
            "cuDeviceGetName(char *n, int s, int d)": "n[0] = 'X'; n[1] = 0; return 0;",
            "cuDeviceTotalMem_v2(size_t *b, int d)": "*b = 1000000000; return 0;",
            "cuDeviceGetAttribute(int *v, int a, int d)": "*v = a == 75 ? 9 : 0; return 0;",
            "cuDevicePrimaryCtxRetain(void **c, int d)": "*c = &c; return 0;",
            "cuDevicePrimaryCtxRelease_v2(int d)": "return 0;", "cuCtxSetCurrent(void *c)": "return 0;",
            "cuCtxSynchronize(void)": "return 0;", "cuMemAlloc_v2(uint64_t *p, size_t n)": "*p = 4096; return 0;",
            "cuMemFree_v2(uint64_t p)": "return 0;", "cuMemcpyHtoD_v2(uint64_t p, const void *h, size_t n)": "return 0;",
            "cuMemcpyDtoH_v2(void *h, uint64_t p, size_t n)": "return 0;",
            "cuPointerGetAttribute(void *d, int a, uint64_t p)": "return 1;",
            "cuStreamIsCapturing(void *s, int *how)": "*how = 0; return 0;",
            "cuCtxGetDevice(int *d)": "*d = 0; return 0;",
            "cuGetErrorName(int e, const char **n)": "*n = \"CUDA_ERROR_NO_DEVICE\"; return 0;",
        }
        text += body + "".join(f"int {name} {{ {does} }}\n" for name, does in functions.items())
        os.makedirs("cuda", exist_ok=True)
        with open("cuda.c", "w") as file:
            file.write(text)
        subprocess.run(["cc", "-w", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", "cuda/libcuda.so.1", "cuda.c"], check=True)
        return {**NOTHING, "LD_LIBRARY_PATH": self.folder + "/cuda"}

    def test_cuda_driver_without_device(self):
        status, answer = doctor(**self.cuda("#define INIT 100\n"))
        self.assertEqual(status, 1)
        self.assertIn("13.1", check(answer, "CUDA driver")["text"])
        self.assertIn("CUDA_ERROR_NO_DEVICE", check(answer, "CUDA driver")["text"])
        self.assertIn("nvidia-smi -L", check(answer, "CUDA driver")["fix"])
        self.assertIsNone(check(answer, "CUDA recording"))
        hidden = doctor(**self.cuda("#define INIT 100\n"), CUDA_VISIBLE_DEVICES="")[1]
        self.assertEqual(check(hidden, "CUDA driver")["fix"], "unset CUDA_VISIBLE_DEVICES")

    def test_cuda_that_is_not_recorded(self):
        """A driver that takes the work, but loads no tool: three operations made, none recorded."""
        status, answer = doctor(**self.cuda("#define INIT 0\n"), CUDA_INJECTION64_PATH="/a/tool.so")
        self.assertEqual(status, 1)
        self.assertFalse(answer["records_cuda"])
        self.assertEqual(check(answer, "CUDA device")["text"], "X (compute capability 9.0, 1.00 GB)")
        self.assertEqual(check(answer, "CUPTI")["status"], "problem")
        self.assertIn("pip install nvidia-cuda-cupti ", check(answer, "CUPTI")["fix"])
        self.assertRegex(check(answer, "CUDA recording")["text"], "^3 operations enqueued, 0 recorded")
        self.assertIn("/a/tool.so", check(answer, "other CUDA tool")["text"])

    def test_what_values_of_machine_code_need(self):
        """The Sanitizer's library and nvdisasm, in each place where they are sought; and what to do without."""
        def made(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write("#!/bin/sh\n")
            os.chmod(path, 0o755)
            return path
        driver = self.cuda("#define INIT 0\n")
        library = made(self.folder + "/toolkit/compute-sanitizer/libsanitizer-public.so")
        of_toolkit, of_package = made(self.folder + "/toolkit/bin/nvdisasm"), made(self.folder + "/venv/lib/python3.11/site-packages/nvidia/cu13/bin/nvdisasm")
        places = [({"SONDE_NVDISASM": of_toolkit}, of_toolkit), ({"PATH": self.folder + "/toolkit/bin:" + os.environ["PATH"]}, of_toolkit)]
        if not shutil.which("nvdisasm"):
            places.append(({"CUDA_HOME": self.folder + "/toolkit"}, of_toolkit))
            if not glob.glob("/usr/local/cuda*/bin/nvdisasm"):
                places.append(({"VIRTUAL_ENV": self.folder + "/venv", "CUDA_HOME": "", "CUDA_PATH": ""}, of_package))
        for place, path in places:
            self.assertEqual(check(doctor(**driver, **place)[1], "nvdisasm")["text"], path)
        self.assertEqual(check(doctor(**driver, SONDE_SANITIZER=library)[1], "Compute Sanitizer")["text"], library)
        self.assertEqual(check(doctor(**driver, CUDA_HOME=self.folder + "/toolkit")[1], "Compute Sanitizer")["text"], library)
        without = doctor(**driver, SONDE_NVDISASM="/nonexistent", SONDE_SANITIZER="/nonexistent")[1]
        self.assertEqual(check(without, "nvdisasm")["fix"], "pip install nvidia-cuda-nvdisasm")
        self.assertIn("SONDE_SANITIZER names /nonexistent, which cannot be read", check(without, "Compute Sanitizer")["text"])
        self.assertIn("pip install nvidia-cuda-sanitizer-api ", check(without, "Compute Sanitizer")["fix"])

    def test_what_values_of_opencl_need(self):
        """clang and llvm-spirv, each with the libLLVM that reads what it writes; and what to do without."""
        if not any(p["devices"] for p in doctor()[1].get("platforms", [])):
            self.skipTest("no OpenCL device here")
        os.mkdir("tools")
        os.mkdir("libraries")
        for name in ("clang-29", "llvm-spirv-28", "llvm-spirv-29"):
            with open("tools/" + name, "w") as file:
                file.write("#!/bin/sh\n")
            os.chmod("tools/" + name, 0o755)
        with open("llvm.c", "w") as file:
            file.write("int nothing;\n")
        without = doctor(PATH=self.folder + "/tools")[1]
        subprocess.run(["cc", "-shared", "-fPIC", "-o", "libraries/libLLVM-29.so.1", "llvm.c"], check=True)
        answer = doctor(PATH=self.folder + "/tools", LD_LIBRARY_PATH=self.folder + "/libraries")[1]
        for name in ("clang", "llvm-spirv"):
            self.assertEqual((check(answer, name)["status"], check(answer, name)["text"]), ("ok", f"{self.folder}/tools/{name}-29"))
            self.assertEqual(check(without, name)["status"], "note")
            self.assertIn(f"no {name}-1", check(without, name)["text"])
            if shutil.which("apt-get"):
                self.assertIn(f"apt-get install {name}-15", check(without, name)["fix"])
        self.assertIsNone(check(doctor(**NOTHING)[1], "clang"))

    INJECTING = """#include <dlfcn.h>
#define INIT (inject(), 0)
static void inject(void)
{
    void *library = dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_NOW);
    int (*begin)(void) = library ? dlsym(library, "InitializeInjection") : 0;
    if (begin)
        begin();
}
"""

    def test_cupti_is_found(self):
        """A driver that loads the agent, which looks for CUPTI, which finds no real driver."""
        found = glob.glob("/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so*") + glob.glob("/usr/local/cuda*/lib64/libcupti.so*")
        if not found:
            self.skipTest("no CUPTI in /usr/local/cuda")
        environment = dict(self.cuda("#include <stdlib.h>\n" + self.INJECTING), SONDE_CUPTI=found[0])
        answer = doctor(**environment)[1]
        self.assertRegex(check(answer, "CUPTI")["text"], f"^{found[0]}, API version [1-9][0-9]+; ")
        self.assertRegex(check(answer, "CUDA recording")["text"], "^3 operations enqueued, 0 recorded; note: CUDA is not recorded: ")

    def test_crash_of_the_cuda_driver_leaves_opencl(self):
        body = "#include <signal.h>\n__attribute__((constructor)) static void f(void) { raise(SIGSEGV); }\n#define INIT 0\n"
        environment = {"LD_LIBRARY_PATH": self.cuda(body)["LD_LIBRARY_PATH"]}
        status, answer = doctor(**environment)
        self.assertIn("crashed", check(answer, "CUDA driver")["text"])
        self.assertEqual(answer["records_opencl"], doctor()[1]["records_opencl"])

    def test_who_else_is_attached(self):
        """By its process's name, and by the environment of this shell."""
        shutil.copy(shutil.which("sleep"), "nv-hostengine")
        with subprocess.Popen(["./nv-hostengine", "600"]) as engine:
            try:
                answer = doctor(**self.cuda("#define INIT 0\n"), NVTX_INJECTION64_PATH="/a/ranges.so",
                                NSYS_PROFILING_SESSION_ID="17")[1]
            finally:
                engine.kill()
        tool = check(answer, "other GPU tool")
        self.assertRegex(tool["text"], r"^NVIDIA's DCGM runs \(nv-hostengine, process \d+\)")
        self.assertEqual(tool["fix"], "dcgmi profile --pause")
        self.assertEqual(check(answer, "other NVTX tool")["fix"], "unset NVTX_INJECTION64_PATH")
        self.assertIn("Nsight Systems", check(answer, "other CUDA tool")["text"])

    def test_a_machine_without_nvidia(self):
        if any(os.path.exists(path) for path in ("/dev/nvidiactl", "/proc/driver/nvidia/version")):
            self.skipTest("this machine has NVIDIA's driver")
        if subprocess.run([sys.executable, "-c", "import ctypes; ctypes.CDLL('libcuda.so.1')"], capture_output=True).returncode == 0:
            self.skipTest("libcuda.so.1 is installed here")
        environment = {"NSYS_PROFILING_SESSION_ID": "17", "CUDA_INJECTION64_PATH": "/a/tool.so"}
        about = [c for c in doctor(**environment)[1]["checks"]
                 if any(word in c["name"] for word in ("CUDA", "CUPTI", "GPU", "MIG", "NVTX"))]
        self.assertEqual([(c["name"], c["status"]) for c in about], [("CUDA driver", "note")])

    def test_nothing_is_left_behind(self):
        os.mkdir("tmp")
        run("doctor", env=dict(os.environ, TMPDIR=self.folder + "/tmp"))
        self.assertEqual(os.listdir("tmp"), [])


if __name__ == "__main__":
    main()
