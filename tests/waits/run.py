#!/usr/bin/env python3
"""What waited for what, end to end: a program says it, and `sonde export --to json` must say the same, no more and no less.

    run.py --sonde build/bin/sonde --program build/tests/opencl/opencl-waits --work DIR

The program numbers its operations from 1 in the order of its calls, its queues by their first operation, its objects by
their creation, and prints `wait WAITER op OPERATION`, `wait WAITER lane LANE` and `used OBJECT COUNT`.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys


def lines_of(text, word):
    return [line for line in text.splitlines() if line.startswith(word + " ")]


def record(options, out, *extra):
    done = subprocess.run([options.sonde, "record", "-q", "--force", *extra, "-o", out, "--", options.program],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"status {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return done.stdout


def export(options, measurement):
    done = subprocess.run([options.sonde, "export", measurement, "--to", "json", "-o", "-"], stdout=subprocess.PIPE, check=True,
                          text=True, timeout=600)
    return json.loads(done.stdout)


def words(document):
    """The measurement's waits, in the order of the calls, and its uses, as the program says them."""
    process, = document["processes"]
    operations = sorted(document["operations"], key=lambda op: op["correlation"])
    number = {op["correlation"]: i for i, op in enumerate(operations, 1)}
    queues = [lane["id"] for lane in process["lanes"] if lane["kind"] == "queue"]
    waits = []
    for wait in document["waits"]:
        waiter = number[wait["waiter"]] if wait["waiter"] else 0
        if wait["completes_user_event"]:
            waits.append(f"wait {(1 << 62) + wait['completes_user_event']} device 0")
        elif wait["user_event"]:
            waits.append(f"wait {waiter} op {(1 << 62) + wait['user_event']}")
        elif wait["operation"]:
            waits.append(f"wait {waiter} op {number[wait['operation']]}")
        elif wait["queue"]:
            waits.append(f"wait {waiter} lane {1 + queues.index(wait['queue'])}")
        else:
            waits.append(f"wait {waiter} device {wait['device']}")
    return waits, {o["id"]: o for o in process["objects"] if o["uses"]}


class Test:
    failed = 0

    def check(self, what, found, expected):
        good = found == expected
        if not good and isinstance(found, list) and isinstance(expected, list):
            found, expected = [x for x in found if x not in expected], [x for x in expected if x not in found]
        self.failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {what}" + ("" if good else f": found {found}, expected {expected}"))


def expected_uses(said):
    """Objects and their counts; a part's are its whole's too, which only the measurement adds (and no operation here
    names a part and its whole, or two parts)."""
    uses = {int(line.split()[1]): int(line.split()[2]) for line in lines_of(said, "used")}
    for line in lines_of(said, "used"):
        if line.endswith(" part"):
            uses[2] += uses[int(line.split()[1])]
    return uses


def check_objects(test, document, objects, said):
    calls = {call["enter_ns"] for call in document["calls"]}
    test.check("uses of objects", {i: o["uses"] for i, o in objects.items()}, expected_uses(said))
    buffers = [call["leave_ns"] for call in document["calls"] if call["name"] == "clCreateCommandBufferKHR"]
    partial = {o["id"]: bool(buffers) and (o["free_ns"] is None or o["free_ns"] > buffers[0])
               for o in document["processes"][0]["objects"]}
    test.check("command buffers may use what lives", {o["id"]: o["uses_partial"] for o in document["processes"][0]["objects"]}, partial)
    test.check("and are there or not", bool(buffers), bool(lines_of(said, "hidden_uses")))
    test.check("first and last uses are entries of calls", [i for i, o in objects.items() if o["first_use_ns"] not in calls or
                                                            o["last_use_ns"] not in calls or o["first_use_ns"] > o["last_use_ns"]], [])
    late = [i for i, o in objects.items() if o["first_use_ns"] < o["alloc_ns"] or (o["free_ns"] and o["last_use_ns"] > o["free_ns"])]
    test.check("no use before an object was made or after it was freed", late, [])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--sonde", "--program", "--work"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    test = Test()
    shutil.rmtree(options.work, ignore_errors=True)
    os.makedirs(options.work)
    if subprocess.run([options.program], stdout=subprocess.DEVNULL, timeout=600).returncode:
        print("skipped: no OpenCL device here that runs (pocl-opencl-icd)")
        return 77
    measurement = os.path.join(options.work, "m.sonde")
    said = record(options, measurement)
    document = export(options, measurement)
    waits, objects = words(document)
    test.check("every wait", waits, lines_of(said, "wait"))
    test.check("none was dropped", document["processes"][0]["ledger"]["wait_rows_dropped"], 0)
    calls = {(call["lane"], call["enter_ns"]): call for call in document["calls"]}
    test.check("each names its call", [w for w in document["waits"] if (w["lane"], w["enter_ns"]) not in calls], [])
    check_objects(test, document, objects, said)
    said = record(options, measurement, "--profile")
    document = export(options, measurement)
    test.check("a profile has no waits", document["waits"], [])
    test.check("but uses", {o["id"]: o["uses"] for o in document["processes"][0]["objects"] if o["uses"]}, expected_uses(said))
    if not test.failed:
        shutil.rmtree(options.work, ignore_errors=True)
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
