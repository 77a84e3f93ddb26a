"""memory_test.py - `sonde report DIR memory` of tests/programs/memory.c, recorded here on PoCL: every number
follows from its source. What no OpenCL program can show is made by tests/cli/live.py.
"""
import json
import os

from views import PROGRAMS, Case  # first: it knows where the next are
import cli
import live

PROGRAM = os.path.join(PROGRAMS, "memory")


class Memory(Case):
    def memory(self, path):
        value = self.json(path, "memory")
        for space in value["spaces"]:
            self.assertLessEqual(len(space["series"]["bytes"]), 200)
        return value


class Recorded(Memory):
    def measure(self, *args, mode="--trace"):
        path = self.record(PROGRAM, *args, options=(mode,))
        return path, self.memory(path)

    def space(self, value, of):
        found = [s for s in value["spaces"] if s["class"] == of]
        self.assertEqual(len(found), 1, [(s["class"], s["device"]) for s in value["spaces"]])
        return found[0]

    def site(self, space, kind, *functions):
        """The context whose nearest functions are these."""
        found = [s for s in space["sites"] if s["kind"] == kind and
                 tuple(f["name"] for f in s["frames"][:len(functions)]) == functions]
        self.assertEqual(len(found), 1, (functions, [[f["name"] for f in s["frames"]] for s in space["sites"]]))
        return found[0]

    def check_known(self, path, value):
        device, shared = self.space(value, "device"), self.space(value, "shared")
        self.assertEqual(value["parts"], 2)  # the sub-buffer, and the buffer over shared virtual memory
        self.assertEqual((device["device"], device["end"]), (0, "ended"))
        # guest.h's own 64 ints, early, unused, 5 leaks, 3 again, the whole, the image, big.
        self.assertEqual(device["objects"], 1 + 1 + 1 + 5 + 3 + 1 + 1 + 1)
        self.assertEqual(device["bytes"], 256 + 50000 + 3000 + 5000 + 2100 + 8192 + 512 + 1000000)
        self.assertEqual(device["peak_bytes"], 256 + 50000 + 3000 + 5000 + 1000000)
        self.assertEqual(device["peak_objects"], 9)
        self.assertEqual((device["alive"], device["alive_bytes"]), (5, 5000))
        self.assertEqual((shared["objects"], shared["peak_bytes"], shared["alive"]), (1, 2048, 0))
        leak = self.site(device, "buffer", "make", "leak")
        self.assertEqual([leak[k] for k in ("objects", "alive", "alive_bytes", "left_behind", "left_behind_bytes", "unused")],
                         [5, 5, 5000, 4, 4000, 0])
        unused = self.site(device, "buffer", "make", "never_used")
        self.assertEqual((unused["unused"], unused["unused_bytes"], unused["alive"]), (1, 3000, 0))
        again = self.site(device, "buffer", "make", "again")
        self.assertEqual((again["objects"], again["most_objects"], again["alive"]), (3, 1, 0))
        self.assertGreater(again["alloc_ns"], 0)
        whole = self.site(device, "buffer", "make", "parts")
        self.assertEqual((whole["objects"], whole["bytes"], whole["unused"]), (1, 8192, 0))  # used through its part
        image = self.site(device, "image", "picture")
        self.assertEqual((image["objects"], image["bytes"], image["unused"]), (1, 512, 0))
        # `early` waits for all the others before its only use, which waits for a kernel that may have to be compiled;
        # `big`, made in the same function, has none.
        early = [s for s in device["sites"] if [f["name"] for f in s["frames"][:2]] == ["make", "main"]]
        self.assertEqual(sorted((s["bytes"], s["unused"]) for s in early), [(50000, 0), (1000000, 1)])
        before, held = ([s[k] for s in early if s["bytes"] == 50000][0] for k in ("idle_before_byte_s", "held_byte_s"))
        self.assertTrue(0 < before < held, (before, held))
        self.assertEqual(self.site(shared, "svm", "shared")["unused"], 0)

    def test_known(self):
        path, value = self.measure()
        self.check_known(path, value)
        text = self.ok("report", path, "memory").out
        for title in ("Held at the peak", "Not freed", "Never used", "Allocated but idle", "Repeatedly allocated"):
            self.assertRegex(text, "(?m)^" + title)
        self.assertRegex(text, r"(?m)^buffer +all 5 +5\.00 kB +4 of 5 +make\(\) memory\.c:\d+ ← leak\(\)")
        self.assertRegex(text, r"(?m)^buffer +all 1 +3\.00 kB .* ← never_used\(\)")
        self.assertRegex(text, r"(?m)^buffer +3 +1 +700 B .* ← again\(\)")

    def test_profile_only(self):
        self.check_known(*self.measure(mode="--profile"))

    def test_nothing_freed(self):
        path, value = self.measure("nothing")
        space, = value["spaces"]
        self.assertEqual((space["end"], space["alive"], space["alive_bytes"]), ("freed nothing", 1, 5000))
        text = self.ok("report", path, "memory").out
        self.assertIn("exited without freeing anything", text)
        self.assertNotIn("Not freed", text)

    def test_freed_at_exit(self):
        path, value = self.measure("exit")
        space, = value["spaces"]
        self.assertEqual((space["end"], space["alive"], space["freed"], space["freed_late"]), ("ended", 0, 1, 1))
        self.assertIn("freed only during the program's exit: 1 object", self.ok("report", path, "memory").out)


class Named(Memory):
    """tests/programs/names.c: the names of what lies in its memory, each at the line that allocated it."""

    def test_names(self):
        for mode in ("--trace", "--profile"):
            path = self.record(os.path.join(PROGRAMS, "names"), options=(mode,))
            found = {site["bytes"]: site["names"] for site in self.json(path, "objects")["sites"]}
            self.assertEqual(found, {4096: ["activation 0", "activation 1", "activation 2", "bias", "weights"], 1000: ["other"]})
            space, = self.memory(path)["spaces"]
            self.assertEqual(sorted(name for site in space["sites"] for name in site["names"]), ["activation 0", "activation 1", "activation 2", "bias", "other", "weights"])
            self.assertRegex(self.ok("report", path, "objects").out, r"(?m)^svm: activation 0, activation 1, activation 2, … ")


class Made(Memory):
    """Measurements of CUDA programs, by hand."""

    def test_pytorch(self):
        path = self.path("torch.sonde")
        p = live.Process("host-1-0", 1)
        gpu = p.device("Test GPU")
        at = p.node(0, p.frame(live.PYTHON, p.python("forward", "/home/user/model.py", 5)))
        at = p.node(at, p.frame(live.NATIVE, p.module("/venv/torch/lib/libc10_cuda.so"), 0x1234))
        api = p.node(at, p.frame(live.API, offset=2, name="cuMemAlloc_v2"))
        for i in range(3):
            p.object(5, api, 2 << 20, p.start_ns + 1500 * i, device=gpu, flags=live.PARTIAL)
        p.enqueue(p.thread(1), p.queue(gpu), "cuLaunchKernel", at, "kernel", p.start_ns, p.start_ns + 10,
                  p.start_ns + 1000, p.start_ns + 2000, name="k")
        p.write(path)
        self.adds_up(path)
        space, = self.memory(path)["spaces"]
        self.assertEqual(space["cached_bytes"], 3 * (2 << 20))
        self.assertEqual([space["sites"][0][k] for k in ("cached", "uses_known", "uses_bounded")], [True, 0, 3])
        self.assertEqual([space["sites"][0][k] for k in ("unused", "unnamed")], [1, 2])  # the last, after the kernel
        text = self.ok("report", path, "memory").out.replace("\n ", "")
        self.assertIn("PyTorch's caching allocator: only its segments are recorded (6.29 MB in 3 at the peak), "
                      "not the blocks inside; torch.cuda.memory._snapshot() shows those", text)
        self.assertIn("kernel arguments are unknown for 3 of 3 objects", text)
        self.assertRegex(text, r"(?m)^Never used +count .*\n^device +1 of 3 ")
        self.assertRegex(text, r"(?m)^Possibly unused +never copied .*\n^device +2 of 3 ")


cli.main()
