#!/usr/bin/env python3
"""Run one real program without Sonde and with it: same results, same status, and every operation counted.

    run.py --sonde build/bin/sonde --counting libcounting.so --work DIR --cache DIR NAME
    run.py --list

The independent count comes from the counting layer, stacked behind Sonde in
the very same run, because some programs choose their work by timing. Timings
in the output are replaced before outputs are compared.
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "guest"))
import harness  # noqa: E402
from harness import Failure  # noqa: E402

PYTHON = "/usr/bin/python3"  # the distribution's modules belong to the distribution's Python
TESTSRC = "testsrc=size=1280x720:rate=25:duration=2"
UNSHARP = "format=yuv420p,hwupload,unsharp_opencl=lx=5:ly=5:la=1.5,hwdownload,format=yuv420p"

# name: command, package, lines whose content is chosen by timing, files whose bytes must be equal
PROGRAMS = {
    "clpeak-latency": (["clpeak", "--kernel-latency"], "clpeak", "", []),
    "clpeak-transfer": (["clpeak", "--transfer-bandwidth"], "clpeak", "", []),
    "clpeak-global": (["clpeak", "--global-bandwidth"], "clpeak", "", []),
    "hashcat": (["hashcat", "-b", "-m", "1400", "-D", "1", "--force"], "hashcat", "Speed|Started|Stopped", []),
    "xaxpy": (["clblast_tuner_xaxpy", "-n", "262144"], "clblast-utils", r"Best parameters|^\|", []),
    "xdot": (["clblast_tuner_xdot", "-n", "65536"], "clblast-utils", r"Best parameters|^\|", []),
    "ffmpeg": (["ffmpeg", "-v", "error", "-nostdin", "-y", "-init_hw_device", "opencl=ocl:0.0", "-filter_hw_device",
                "ocl", "-f", "lavfi", "-i", TESTSRC, "-vf", UNSHARP, "-f", "rawvideo", "out.yuv"],
               "ffmpeg", "", ["out.yuv"]),
    "arrays": ([PYTHON, os.path.join(HERE, "arrays.py")], "python3-pyopencl", "", []),
    "umat": ([PYTHON, os.path.join(HERE, "umat.py")], "python3-opencv", "", []),
    "usm": ([sys.executable, os.path.join(HERE, "usm.py")], "dpctl of PyPI", "", []),
    "ndarrays": ([sys.executable, os.path.join(HERE, "ndarrays.py")], "dpnp of PyPI", "", []),
}
PYTHON_MODULES = {"arrays": "pyopencl", "umat": "cv2", "usm": "dpctl", "ndarrays": "dpnp"}
SYCL = ("usm", "ndarrays")


def normalized(text, by_timing):
    """The output without colours, numbers and lines that timing decides."""
    text = re.sub(rb"\x1b\[[0-9;]*m", b"", text)
    lines = []
    for line in text.splitlines():
        if by_timing and re.search(by_timing.encode(), line.strip()):
            if b"match" not in line:
                continue
            line = b"results match"
        line = re.sub(rb"\d+(\.\d+)?", b"N", line)
        lines.append(re.sub(rb"\s+", b" ", line).strip())
    return b"\n".join(lines) + b"\n"


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def run(options, prefix, env):
    cwd = os.path.join(options.folder, "cwd")
    shutil.rmtree(cwd, ignore_errors=True)
    os.makedirs(cwd)
    command, _package, by_timing, files = PROGRAMS[options.name]
    outcome = harness.run(prefix + command, env, cwd, timeout=1500)
    raw_out, raw_err = outcome.out, outcome.err
    # The arrays and umat scripts print checksums, which must be equal digit by digit.
    if options.name not in PYTHON_MODULES:
        outcome.out, outcome.err = (normalized(text, by_timing) for text in (raw_out, raw_err))
    outcome.files = {name: digest(os.path.join(cwd, name)) for name in files if os.path.exists(os.path.join(cwd, name))}
    outcome.raw = harness.tail(raw_out) + harness.tail(raw_err)
    return outcome


def packages(options):
    """Where those are that were put into a folder of their own."""
    if not options.prefix:
        return {}
    version = "python%d.%d" % sys.version_info[:2]
    return {"PYTHONPATH": os.path.join(options.prefix, "lib", version, "site-packages"),
            "LD_LIBRARY_PATH": os.path.join(options.prefix, "lib")}


def skip_if_missing(options):
    command, package, _, _ = PROGRAMS[options.name]
    missing = not shutil.which(command[0])
    if module := PYTHON_MODULES.get(options.name):
        missing = missing or harness.run([command[0], "-c", f"import {module}"], harness.environment(options, **packages(options))).status
    if missing:
        print(f"skipped: {options.name} is not installed (package {package})")
        sys.exit(harness.SKIP)


def check_callers(options, measurement, env):
    """Between the program's line and OpenCL lie libraries of SYCL's: none of them is who launched a kernel."""
    if options.name not in SYCL:
        return
    out = harness.run([options.sonde, "report", measurement, "kernels", "--json"], env).out
    callers = [caller for row in json.loads(out) for caller in row["callers"]]
    nearest = [next((frame for frame in caller["frames"] if not (frame["module"] or "").endswith("libcounting.so")), None) for caller in callers]
    alone = sum(caller["count"] for caller, frame in zip(callers, nearest) if not frame)
    # What is behind a task of the host's is launched by a thread of SYCL's when that ends: it has no line of the program.
    if alone > sum(caller["count"] for caller in callers) / 10:
        raise Failure(f"{alone} kernels are called by nobody")
    others = {frame["name"] for frame in nearest if frame and not (frame["file"] or "").endswith(options.name + ".py")}
    if others:
        raise Failure(f"kernels are called from {others}")


def check_kinds(options, measurement, env):
    """SYCL's ways are in the measurement: shared memory of three kinds, a queue out of order, programs of SPIR-V."""
    if options.name not in SYCL:
        return
    trace = json.loads(harness.run([options.sonde, "export", measurement, "--to", "json", "-q", "-o", "-"], env).out)
    kinds = {thing["kind"] for process in trace["processes"] for thing in process["objects"]}
    queues = [lane["out_of_order"] for process in trace["processes"] for lane in process["lanes"] if lane["kind"] == "queue" and lane["seen"]]
    calls = {call["name"] for call in trace["calls"]}
    if not {"device", "managed", "pinned"} <= kinds or not any(queues) or "clCreateProgramWithIL" not in calls:
        raise Failure(f"no USM, queue out of order or SPIR-V: {kinds}, {queues}, {sorted(calls)}")


def test(options):
    options.folder = os.path.join(os.path.abspath(options.work), options.name)
    shutil.rmtree(options.folder, ignore_errors=True)
    os.makedirs(options.folder)
    prefix = os.path.join(options.folder, "count")
    env = harness.environment(options, COUNT_OUT=prefix, HOME=os.path.join(options.cache, "home"), **packages(options))
    os.makedirs(env["HOME"], exist_ok=True)
    plain = run(options, [], env)
    if plain.status == harness.SKIP or plain.status != 0:
        raise Failure(f"{harness.describe(plain.status)} even without Sonde\n{plain.raw}")
    env["OPENCL_LAYERS"] = os.path.abspath(options.counting)
    measurement = os.path.join(options.folder, "m.sonde")
    sonde = [options.sonde, "record", "-q", "-o", measurement, "--"] if options.sonde else []
    other = run(options, sonde, env)
    if plain.status != other.status:
        raise Failure(f"{harness.describe(plain.status)} without, {harness.describe(other.status)} with\n{other.raw}")
    for name in ("out", "err"):
        if difference := harness.differing("std" + name, getattr(plain, name), getattr(other, name)):
            raise difference
    if plain.files != other.files:
        raise Failure(f"results differ: {plain.files} without, {other.files} with")
    counted = harness.counts.read(prefix)
    if not counted:
        raise Failure("the counting layer counted nothing")
    if options.sonde:
        harness.check_counts(harness.ledger(options, measurement, env), counted)
        check_callers(options, measurement, env)
        check_kinds(options, measurement, env)
    print(f"ok   {options.name}: {counted}")


def main():
    if "--list" in sys.argv:
        print("\n".join(PROGRAMS))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_arguments(parser)
    parser.add_argument("--prefix", help="a folder of packages: their Python modules and libraries")
    parser.add_argument("name", choices=sorted(PROGRAMS))
    options = parser.parse_args()
    harness.device_or_skip(options.runtime)
    skip_if_missing(options)
    try:
        test(options)
    except Failure as why:
        print(f"FAIL {options.name}: {why}")
        sys.exit(1)
    shutil.rmtree(options.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
