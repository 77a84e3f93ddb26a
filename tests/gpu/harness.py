"""What the GPU tests share: building the programs, running them with and without Sonde, reading what Sonde wrote.

Standard library only, so that it runs wherever a GPU is.
"""
import concurrent.futures
import ctypes
import ctypes.util
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import time

SKIP = 77
HERE = os.path.dirname(os.path.abspath(__file__))
ORDER_KINDS = {"none", "marker", "barrier", "synchronize", "event_record", "event_wait", "collective"}
DRIVER_PROGRAMS = {"between", "unchanged", "rectangles", "batch", "destroyed", "entries", "green", "imported", "memory", "jit", "refused", "remote", "stalls", "unloaded"}
CODE_FILES = {"module": "cubin", "fat": "fatbin"}  # that programs load
sys.setrecursionlimit(20000)  # calling contexts nest as deeply as stacks do


class Skipped(Exception):
    """Cannot be tried here; the text says why."""


class Broken(Exception):
    """The run itself went wrong; the text says how."""


# ---- the machine ----------------------------------------------------------------------


class Gpu:
    """What the driver says, asked without a CUDA toolkit. `reason`: why there is no GPU, else None."""

    def __init__(self):
        self.count, self.capability, self.driver, self.library, self.reason = 0, (9, 0), None, None, None
        try:
            cuda = ctypes.CDLL("libcuda.so.1")
        except OSError:
            self.reason = "no NVIDIA driver on this machine (libcuda.so.1 cannot be opened)"
            return
        count, value = ctypes.c_int(0), ctypes.c_int(0)
        if status := cuda.cuInit(0):
            self.reason = f"the NVIDIA driver finds no usable GPU (cuInit says {status})"
            return
        cuda.cuDeviceGetCount(ctypes.byref(count))
        if not count.value:
            self.reason = "the NVIDIA driver lists no GPU"
            return
        self.count = count.value
        cuda.cuDriverGetVersion(ctypes.byref(value))
        self.driver = value.value
        capability = []
        for attribute in (75, 76):  # compute capability, major and minor
            cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, 0)
            capability.append(value.value)
        self.capability = tuple(capability)
        with open("/proc/self/maps", encoding="utf-8") as maps:
            for line in maps:
                if "/libcuda.so" in line:
                    self.library = line.split(None, 5)[5].strip()


def ask_gpu():
    """In a child: a process that has used CUDA must not be the parent of programs that fork before they use it."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        with os.fdopen(writer, "w") as out:
            json.dump(vars(Gpu()), out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as source:
        text = source.read()
    os.waitpid(pid, 0)
    gpu = Gpu.__new__(Gpu)
    vars(gpu).update(json.loads(text) if text else {"reason": "asking the NVIDIA driver ended in a crash"})
    return gpu


def output_of(command):
    """The standard output of a command, or None when it cannot be run."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def find_nvcc():
    for place in (shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc"):
        if place and os.access(place, os.X_OK):
            return place
    return None


def toolkit_of(nvcc):
    """Its folder; what is found in PATH may be a script that runs the real one."""
    roots = [os.path.dirname(os.path.dirname(os.path.realpath(nvcc))), "/usr/local/cuda"]
    return next((root for root in roots if os.path.exists(f"{root}/include/cuda_runtime.h")), roots[0])


def find_nsys():
    """Nsight Systems, also the one that lies within Nsight Compute, which collects but cannot import; None."""
    places = [shutil.which("nsys")] + sorted(glob.glob("/opt/nvidia/nsight-systems*/**/nsys", recursive=True)) + sorted(
        glob.glob("/opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys"), reverse=True) + sorted(
        glob.glob("/usr/local/cuda*/nsight-compute*/host/target-linux-x64/nsys"), reverse=True)
    return next((p for p in places if p and os.access(p, os.X_OK)), None)


def cupti_of_toolkit(nvcc):
    """Its headers' folder and its library, each None when not there."""
    roots = [toolkit_of(nvcc), "/usr/local/cuda"] + sorted(glob.glob("/usr/local/cuda-*"), reverse=True)
    headers = next((d for r in roots for d in (f"{r}/extras/CUPTI/include", f"{r}/include")
                    if os.path.exists(f"{d}/cupti.h")), None)
    libraries = next((p for r in roots for p in (f"{r}/extras/CUPTI/lib64/libcupti.so", f"{r}/lib64/libcupti.so")
                      if os.path.exists(p)), None)
    return headers, libraries


# ---- building ----------------------------------------------------------------------------


def build_command(nvcc, gpu, name, target, variant):
    major, minor = gpu.capability
    headers, library = cupti_of_toolkit(nvcc)
    toolkit = toolkit_of(nvcc)
    command = [nvcc, "-std=c++17", f"-arch=sm_{major}{minor}", "-lineinfo", "-g", "-O1",
               "-Xcompiler", "-Wall,-Wextra,-fno-omit-frame-pointer,-fno-optimize-sibling-calls",
               "-o", target, os.path.join(HERE, "programs", name + ".cu")]
    if headers:
        command += ["-I", headers]
    if "machine" in (name, variant):
        command[2:3] = ["-gencode", f"arch=compute_{major}{minor},code=sm_{major}{minor}"]
    if name == "tensor":
        command[2:3] = ["-gencode", "arch=compute_90a,code=[sm_90a,compute_90a]"]
    if name == "fat":
        command[2:3] = ["-gencode", f"arch=compute_{major}{minor},code=[sm_{major}{minor},compute_{major}{minor}]", "--no-compress"]
    if name in CODE_FILES:
        return command + ["-" + CODE_FILES[name]]
    if name == "apart":
        command += [os.path.join(HERE, "programs", "apart", "reader.cu"), "-rdc=true", "-lcudadevrt"]
    if name == "jit":
        command += [f'-DNVRTC_LIBRARY="{toolkit}/lib64/libnvrtc.so"']
    if name == "perthread":
        command += ["--default-stream", "per-thread"]
    if name == "held":
        command += [f'-DCUPTI_LIBRARY="{library or "libcupti.so"}"']
    if name == "patched":
        command += [f'-DSANITIZER_LIBRARY="{toolkit}/compute-sanitizer/libsanitizer-public.so"']
    if name == "alone":
        command += ["-x", "c++", "-cudart", "none"] + (["-Xcompiler", "-static"] if variant == "static" else [])
    if variant == "shared":
        command += ["-cudart", "shared", "-Xlinker", f"-rpath,{toolkit}/lib64"]
    # The toolkit's stub library may be missing; the driver's own is on every machine that can run this.
    if name in DRIVER_PROGRAMS:
        command += ["-Xlinker", gpu.library] if gpu.library else ["-Xlinker", "--unresolved-symbols=ignore-all"]
    return command


def build(nvcc, gpu, folder, say):
    """Every program, and some of them again: with the shared runtime, fully static, as machine code only. Returns {target: error text}."""
    os.makedirs(folder, exist_ok=True)
    names = sorted(os.path.basename(p)[:-3] for p in glob.glob(os.path.join(HERE, "programs", "*.cu")))
    jobs = [(name, name + ("." + CODE_FILES[name] if name in CODE_FILES else ""), "") for name in names]
    jobs += [("counts", "counts-shared", "shared"), ("alone", "alone-static", "static"), ("engines", "engines-machine", "machine")]
    newest_header = max(os.path.getmtime(p) for p in glob.glob(os.path.join(HERE, "programs", "*.h")) +
                        glob.glob(os.path.join(HERE, "programs", "apart", "*")) + [__file__])
    failed = {}

    def one(job):
        name, target, variant = job
        path, source = os.path.join(folder, target), os.path.join(HERE, "programs", name + ".cu")
        if os.path.exists(path) and os.path.getmtime(path) > max(newest_header, os.path.getmtime(source)):
            return target, None
        done = subprocess.run(build_command(nvcc, gpu, name, path, variant), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        return target, done.stdout[-2000:] if done.returncode else None

    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for target, error in pool.map(one, jobs):
            if error:
                failed[target] = error
    say(f"built {len(jobs) - len(failed)} of {len(jobs)} programs in {time.monotonic() - begin:.0f} s")
    return failed


# ---- running --------------------------------------------------------------------------------


class Outcome:
    def __init__(self, status, out, err, seconds):
        self.status, self.out, self.err, self.seconds = status, out, err, seconds


def run(command, env, cwd, timeout):
    begin = time.monotonic()
    child = subprocess.Popen(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, start_new_session=True)
    try:
        out, err = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        out, err = child.communicate()
        raise Broken(f"did not end within {timeout} s: {' '.join(command)}: {tail(out)} {tail(err)}") from None
    return Outcome(child.returncode, out, err, time.monotonic() - begin)


def tail(data, size=600):
    return data.decode(errors="replace")[-size:].strip()


def describe(status):
    return f"signal {-status}" if status < 0 else f"status {status}"


def environment(**more):
    """The caller's, without what would disturb; NVLink multicast off, which shared machines ask for."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("SONDE_", "CUDA_INJECTION", "NVTX_INJECTION", "NCCL_PROFILER", "LD_PRELOAD"))}
    env.setdefault("NCCL_NVLS_ENABLE", "0")
    env.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")
    env.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    env.pop("_", None)
    env.update(more)
    return env


def read_truth(path):
    truth = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                key, value = line.split(None, 1)
                truth[key] = int(value)
    return truth


class Measurement:
    """What Sonde wrote, view by view; each is read once."""

    def __init__(self, sonde, path, truth, outcome):
        self.sonde, self.path, self.truth, self.outcome = sonde, path, truth, outcome
        self.views = {}

    def command(self, *arguments):
        done = subprocess.run([self.sonde, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
                              timeout=300, check=False)
        # 1 is also said of a measurement without operations, beside all that there is.
        if done.returncode and not (done.returncode == 1 and done.stdout.strip()):
            raise Broken(f"sonde {' '.join(arguments)} gave {describe(done.returncode)}: {tail(done.stderr)}")
        try:
            return json.loads(done.stdout)
        except ValueError as error:
            raise Broken(f"sonde {' '.join(arguments)} printed no JSON: {error}") from None

    def view(self, name):
        if name not in self.views:
            self.views[name] = (self.command("export", self.path, "--to", "json", "-o", "-") if name == "export"
                                else self.command("report", self.path, *name.split(), "--json"))
        return self.views[name]

    # -- the ledger

    def operations(self):
        """By kind, without those that only order others."""
        return {k: v for k, v in self.view("ledger")["operations"].items() if v and k not in ORDER_KINDS}

    def losses(self, allowed=()):
        ledger = self.view("ledger")
        names = ("dropped", "trace_dropped", "unmatched", "in_flight", "bad_time", "damaged_chunks", "contexts_folded",
                 "unwind_mismatched")
        return {name: ledger[name] for name in names if ledger[name] and name not in allowed}

    def notes(self):
        return [note for process in self.view("ledger")["processes"] for note in process["notes"]]

    # -- kernels and copies

    def kernels(self):
        counts = {}
        for row in self.view("kernels") if self.operations().get("kernel") else ():
            if row["kind"] == "kernel":
                counts[row["name"]] = counts.get(row["name"], 0) + row["count"]
        return counts

    def kernel(self, name):
        rows = [row for row in self.view("kernels") if row["name"] == name]
        return rows[0] if len(rows) == 1 else None

    def copies(self):
        """Kind: (count, bytes)."""
        sums = {}
        for row in self.view("copies") if self.operations() else ():
            count, size = sums.get(row["kind"], (0, 0))
            sums[row["kind"]] = (count + row["count"], size + row["bytes"])
        return sums

    # -- the trace

    def rows(self, name=None, kind=None):
        return [op for op in self.view("export")["operations"]
                if (name is None or op["name"] == name) and (kind is None or op["kind"] == kind)]

    def by_lane(self, name=None, kind=None):
        """Rows of each lane, in the order of their start."""
        lanes = {}
        for op in self.rows(name, kind):
            lanes.setdefault((op["process"], op["lane"]), []).append(op)
        for ops in lanes.values():
            ops.sort(key=lambda op: op["start_ns"] or 0)
        return lanes

    def work(self, op):
        """Launch attributes of a row of the trace."""
        works = self.view("export")["processes"][op["process"]]["works"]
        return next((w for w in works if w["id"] == op["work"]), None)

    # -- calling contexts

    def paths(self, leaf=None):
        """Each operation's leaf with its ancestors from the outermost inwards: (frames, leaf)."""
        def walk(node, above):
            if node["kind"] == "operation" and (leaf is None or node["name"] == leaf):
                yield above, node
            for child in node["children"]:
                yield from walk(child, above + [node])
        return list(walk(self.view("contexts"), []))

    def objects(self):
        """Kind: {count, bytes, alive, alive_bytes}."""
        sums = {}
        for site in self.view("objects")["sites"]:
            at = sums.setdefault(site["kind"], {"count": 0, "bytes": 0, "alive": 0, "alive_bytes": 0})
            for key in at:
                at[key] += site[key]
        return sums


def marked_line(source, mark):
    """Number of the line of a source that ends in the comment LINE mark."""
    with open(source, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.rstrip().endswith(f"LINE {mark}"):
                return number
    raise ValueError(f"{source} has no line marked {mark}")
