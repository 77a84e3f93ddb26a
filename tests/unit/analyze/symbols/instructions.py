#!/usr/bin/env python3
"""Text of sampled instructions: two processes with samples of three functions, whose code ptxas makes, against what nvdisasm prints of all of it.

    instructions.py build/tests/test-instructions FOLDER_OF_PTXAS_AND_NVDISASM build/bin/sonde
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "cli"))
import live  # noqa: E402

KERNEL = """.visible .entry {name}(.param .u64 to)
{{
 .reg .b64 %rd<4>; .reg .f32 %f<9>; .reg .b32 %r<9>;
 ld.param.u64 %rd1, [to]; cvta.to.global.u64 %rd2, %rd1;
 ld.global.f32 %f1, [%rd2]; {body} st.global.f32 [%rd2+4], %f1;
 ret;
}}
"""
BODIES = {"plain": "add.f32 %f1, %f1, %f1;", "_Z4rootPf": "sqrt.approx.f32 %f1, %f1;", "two": "mul.f32 %f1, %f1, %f1;"}
OTHER = "sin.approx.f32 %f1, %f1;"  # of another function `two`, in another piece of code


def assemble(folder, tools, name, kernels):
    source, target = os.path.join(folder, name + ".ptx"), os.path.join(folder, name + ".cubin")
    with open(source, "w", encoding="ascii") as file:
        file.write(".version 7.8\n.target sm_80\n.address_size 64\n" + "".join(KERNEL.format(name=k, body=body) for k, body in kernels.items()))
    subprocess.run([os.path.join(tools, "ptxas"), "-arch=sm_80", "-o", target, source], check=True)
    return target


def printed(tools, cubin):
    """{(function, offset): text}, by another way than Sonde's: all of it, section by section."""
    text, found = subprocess.run([os.path.join(tools, "nvdisasm"), "-c", cubin], stdout=subprocess.PIPE, check=True, text=True).stdout, {}
    for section in re.split(r"^\.text\.", text, flags=re.M)[1:]:
        name = section[:section.index(":")]
        for offset, instruction in re.findall(r"/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;", section.split("//-----")[0]):
            found[name, int(offset, 16)] = instruction
    return found


def measure(path, truth):
    for pid in (7, 8):
        p = live.Process(f"host-{pid}-1", pid)
        p.main = p.thread(pid)
        queue = p.queue(p.device("Device"))
        p.device("Other")
        at = p.start_ns + 10**6
        p.enqueue(p.main, queue, "cuLaunchKernel", 0, "kernel", at, at + 10, at + 400, at + 900, name="plain")
        for number, (function, offset) in enumerate(sorted(truth)):
            if number % 2 == pid % 2 or offset < 64: # each samples another half
                for reason in ("wait", "selected"):
                    for device in (1, 2):
                        p.stall(device, function, reason, 10 + number, offset=offset)
        p.stall(1, "plain", "wait", 5, offset=1 << 20)   # beyond its end
        p.stall(1, "absent", "wait", 5, offset=0)
        p.stall(1, "", "", 5, kind=1)
        p.write(path)


def said(sonde, path):
    done = subprocess.run([sonde, "report", path, "stalls", "--json", "--limit", "0"], stdout=subprocess.PIPE, check=True, text=True)
    return [(row["function"], row["offset"], row["text"]) for row in json.loads(done.stdout)["instructions"]]


def main():
    program, tools, sonde = sys.argv[1:]
    if not all(os.access(os.path.join(tools, name), os.X_OK) for name in ("ptxas", "nvdisasm")):
        print("skipped: no ptxas and nvdisasm")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        cubins = [assemble(folder, tools, "one", BODIES), assemble(folder, tools, "other", {"two": OTHER})]
        one, other = (printed(tools, cubin) for cubin in cubins)
        assert len(one) > 60 and any("MUFU" in text for text in one.values()), one
        for nvdisasm, known in ((os.path.join(tools, "nvdisasm"), True), (os.path.join(folder, "absent"), False), ("/bin/false", False)):
            path = os.path.join(folder, f"m-{os.path.basename(nvdisasm)}.sonde")
            os.mkdir(path)
            measure(path, one)
            for _ in range(2): # again: nothing to do
                subprocess.run([program, path, *cubins], check=True, env={**os.environ, "SONDE_NVDISASM": nvdisasm})
            rows = said(sonde, path)
            names = {"root(float*)": "_Z4rootPf"}
            assert {(names.get(f, f), o) for f, o, _ in rows} == set(one) | {("plain", 1 << 20), ("absent", 0)}
            for function, offset, text in rows:
                at = names.get(function, function), offset
                wanted = one.get(at) if other.get(at, one.get(at)) == one.get(at) else None
                assert text == (wanted if known else None), (at, text, wanted)
            notes = json.loads(subprocess.run([sonde, "report", path, "ledger", "--json"], stdout=subprocess.PIPE, check=True, text=True).stdout)["processes"]
            assert all([note.startswith("pc: what ") for note in p["notes"]] == [True] * (not known) for p in notes), notes
            assert not known or {"two", "plain"} <= {f for f, _, text in rows if text}


main()
