"""measurements.py - what the page is shown with: programs recorded now, a replay of a GPU machine's capture, and measurements whose
contents are known.

    measurements.py --sonde build/bin/sonde --examples build/bin/examples --replay build/tests/replay --work DIR

Prints a JSON object: the path of each, and under "missing" why one could not be made.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "cli"), os.path.join(HERE, "..", "..", "gpu")]
import harness  # noqa: E402
import live  # noqa: E402
import scenes  # noqa: E402
import zoo  # noqa: E402

CAPTURE = os.path.join(HERE, "..", "..", "replay", "data", "streams.cap.zst")
# A name that a page which takes it for markup would run, in each place that names come from.
SCRIPT = "<script>alert(1)</script>"
IMAGE = "\"><img src=x onerror=alert(2)>"


def record(options, name, program, **env):
    path = os.path.join(options.work, name)
    done = subprocess.run([options.sonde, "record", "-q", "--force", "-o", path, *program], env={**os.environ, **env}, cwd=options.work,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=600, check=False)
    if done.returncode or not os.path.isdir(path):
        raise RuntimeError(done.stderr.strip() or f"status {done.returncode}")
    return path


def recorded(options):
    return record(options, "recorded.sonde", ["--values=all", "--", os.path.join(options.examples, "heat"), "96", "30"])


def before(options):
    """What `recorded` is compared with: it did less."""
    return record(options, "before.sonde", ["--values=all", "--", os.path.join(options.examples, "heat"), "96", "20"])


def cuda(options):
    if not options.replay or not os.path.exists(os.path.join(options.replay, "replay-play")):
        raise RuntimeError("built without CUDA")
    library = os.path.join(options.replay, "libcupti-replay.so")
    return record(options, "cuda.sonde", ["--", os.path.join(options.replay, "replay-play"), CAPTURE], **harness.environment(SONDE_CUPTI=library))


def names(options):
    """Markup, controls, right-to-left, bytes that are no UTF-8, and 300 letters."""
    p = live.Process(IMAGE + "-1-0", 1)
    gpu = p.device(SCRIPT)
    thread, queue = p.thread(1), p.lane(2, device=gpu, name=IMAGE)
    at = p.frame(live.PYTHON, p.python(SCRIPT, "/home/" + IMAGE + ".py", 7))
    code = p.node(p.node(0, at), p.frame(live.RANGE, name="<b>range</b>"))
    buffer = p.object(1, p.node(code, p.frame(live.API, offset=2, name="clCreateBuffer")), 4096, p.start_ns)
    for i, name in enumerate([SCRIPT, IMAGE, b"caf\xe9 \xff\xfe", "a\x01\x1b[31m\x7fb\n", "\u202etfel", "k" * 300, "&lt;&amp;", "__proto__", "constructor"]):
        at = p.start_ns + zoo.MS + 100000 * i
        node = p.enqueue(thread, queue, "clEnqueueNDRangeKernel", code, "kernel", at, at + 500, at + 1000, at + 90000, name=name, obj=buffer)
        p.value(node, buffer, 1, 1000, 900)
    p.range(thread, "<b>range</b>", p.start_ns, p.start_ns + 5 * zoo.MS)
    p.note("<i>note</i>")
    path = os.path.join(options.work, "names.sonde")
    live.write_manifest(path, ["demo", SCRIPT, IMAGE])
    p.write(path)
    return path


MADE = {
    "recorded": recorded,
    "before": before,
    "cuda": cuda,
    "names": names,
    "sampled": lambda options: scenes.sampled(options.work)[0],
    "annotated": lambda options: scenes.annotated(options.work)[0],
    "lanes": lambda options: zoo.many_lanes(options.work),
    "nothing": lambda options: zoo.nothing_in_it(options.work),
    "profile": lambda options: scenes.profile_only(options.work)[0],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--sonde", "--examples", "--work"):
        parser.add_argument(option, required=True)
    parser.add_argument("--replay")
    options = parser.parse_args()
    options.work = os.path.abspath(options.work)
    shutil.rmtree(options.work, ignore_errors=True)
    os.makedirs(options.work)
    paths, missing = {}, {}
    for name, make in MADE.items():
        try:
            paths[name] = make(options)
        except RuntimeError as why:
            missing[name] = str(why)
    json.dump({"paths": paths, "missing": missing}, sys.stdout)


if __name__ == "__main__":
    main()
