#!/usr/bin/env python3
"""What the user is told of a CUPTI that is too old: refused.py SONDE PROGRAMS WORK CUPTI

The program goes on; its end and the ledger say why nothing was recorded. CUPTI is made-cupti-old of tests/unit/backends/cuda.
"""
import os
import shutil
import subprocess
import sys


def main(sonde, programs, work, cupti):
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    capture, measured = os.path.join(work, "synthetic.cap"), os.path.join(work, "m.sonde")
    subprocess.run([os.path.join(programs, "replay-synthetic"), capture], check=True)
    environment = {"PATH": os.environ["PATH"], "SONDE_CUPTI": cupti, "LC_ALL": "C.UTF-8"}
    recorded = subprocess.run([sonde, "record", "-o", measured, "--", os.path.join(programs, "replay-play"), capture],
                              env=environment, capture_output=True, text=True)
    ledger = subprocess.run([sonde, "report", measured, "ledger"], env=environment, capture_output=True, text=True)
    # A note has room for 247 bytes; the name of the file comes last.
    note = ("CUDA is not recorded: CUPTI is too old: API version 17, CUDA 12.0 has 18; "
            f"set SONDE_CUPTI to a newer one instead of {cupti}")[:200]
    checks = [
        ("the program goes on", (recorded.returncode, recorded.stdout) == (0, "played\n"), recorded),
        ("its end says why", recorded.stderr.startswith(f"sonde: no operation was recorded: {note}"), recorded),
        ("so does the ledger", note in " ".join(ledger.stdout.split()), ledger),
    ]
    for what, holds, outcome in checks:
        print(f"{'ok  ' if holds else 'FAIL'} {what}" + ("" if holds else f": {outcome}"))
    return 0 if all(holds for _, holds, _ in checks) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
