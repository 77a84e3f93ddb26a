"""values_test.py - the patterns of `sonde report DIR values` from what accesses are known to have read and written.

The rows are computed here from lists of values, as docs/developers/format.md defines them; what the view must say follows from
the definitions in docs/values.md.
"""
import math
import os
import random
import re
import struct

from views import Case  # first: it knows where the next are
import cli
import live

US = 1000
BITS, UNSIGNED, SIGNED, FLOAT = range(4)
NAN = float("nan")


def row_of(values, type, size):
    """OR, AND, least, most."""
    form = {(FLOAT, 4): "f", (FLOAT, 8): "d"}.get((type, size), {1: "b", 2: "h", 4: "i", 8: "q"}[size])
    signed = {1: "b", 2: "h", 4: "i", 8: "q"}[size]
    bits = [struct.unpack("<" + signed, struct.pack("<" + form, v))[0] for v in values]
    any, all = 0, 2**64 - 1
    for b in bits:
        any, all = any | b % 2**(8 * size), all & b % 2**(8 * size)
    numbers = [b for b, v in zip(bits, values) if v == v]
    if type == FLOAT:
        numbers = [b if b >= 0 else b ^ (2**(8 * size - 1) - 1) for b in numbers]
    return any, all, min(numbers, default=2**63 - 1), max(numbers, default=-2**63)


class Values(Case):
    def launched(self):
        """A process with one launch, and its node."""
        p = live.Process("host-1-0", 1)
        device, thread = p.device("Test GPU"), p.thread(1)
        queue = p.queue(device)
        place = p.node(0, p.frame(live.PYTHON, p.python("step", "/home/user/main.py", 7)))
        start = p.start_ns + 1000 * US
        node = p.enqueue(thread, queue, "cuLaunchKernel", place, "kernel", start, start + US, start + 2 * US, start + 5 * US, name="work")
        return p, node

    def measure(self, *accesses):
        """One launch whose kernel has these accesses: (object 0 or 1, values, type, size[, what was guessed])."""
        p, node = self.launched()
        objects = [p.object(1, p.node(0, p.frame(live.PYTHON, p.python(name, "/home/user/main.py", 3))), 4096, p.start_ns) for name in ("first", "second")]
        for number, (which, values, type, size, *guess) in enumerate(accesses):
            p.access(node, objects[which], number, len(values), *row_of(values, type, size), type=type, size=size, file="/src/work.cu", line=10 + number,
                     **(guess[0] if guess else {}))
        return self.written(p)

    def written(self, p):
        path = os.path.join(self.folder, "m%d.sonde" % len(os.listdir(self.folder)))
        live.write_manifest(path, ["demo"])
        p.write(path)
        return path

    def found(self, *accesses, options=()):
        """(pattern, share, line, what is said of the values, exact) of the first object."""
        answer = self.json(self.measure(*accesses), "values", *options)
        patterns = [p for o in answer["objects"] if "first" in o["name"] for p in o["patterns"]]
        for p in patterns:
            self.assertEqual((p["operation"], p["operations"], p["called_from"]), ("work", 1, "step() main.py:7"))
        return [(p["pattern"], p["share"], p["line"], p["evidence"].split(": ", 1)[1], p["exact"]) for p in patterns]

    def one(self, values, type, size, options=()):
        found = self.found((0, values, type, size), options=options)
        self.assertLessEqual(len(found), 1)
        for pattern in found:
            self.assertEqual(pattern[1:3], (1.0, "work.cu:10"))
        return tuple(found[0][k] for k in (0, 3, 4)) if found else None

    def test_zeros(self):
        for type, size in (UNSIGNED, 4), (SIGNED, 8), (FLOAT, 4), (FLOAT, 8), (BITS, 2):
            self.assertEqual(self.one([0, 0, 0], type, size), ("single_zero", "all are zero", True))
        self.assertEqual(self.one([0.0, -0.0], FLOAT, 4), ("single_zero", "all are zero", True))

    def test_one_value(self):
        self.assertEqual(self.one([2.5] * 4, FLOAT, 4), ("single_value", "all are 2.5", True))
        self.assertEqual(self.one([-7], SIGNED, 4), ("single_value", "all are -7", True))
        self.assertEqual(self.one([NAN, NAN], FLOAT, 8), ("single_value", "all are NaN", True))
        self.assertEqual(self.one([-1e300] * 2, FLOAT, 8), ("single_value", "all are -1e+300", True))

    def test_integers_in_a_narrower_type(self):
        for values, size, narrower in (([-125, 125], 8, "int8_t"), ([0, 200], 4, "uint8_t"), ([-1, 200], 4, "int16_t"), ([0, 65535], 4, "uint16_t"),
                                       ([-129, 0], 2, None), ([-128, 127], 2, "int8_t"), ([-2**31, 2**31 - 1], 8, "int32_t"), ([0, 2**32 - 1], 8, "uint32_t"),
                                       ([-1, 2**31], 8, None), ([-5, 5], 1, None)):
            expected = ("heavy_type", f"{values[0]} to {values[1]}: {narrower} would do", True) if narrower else None
            self.assertEqual(self.one(values, SIGNED, size), expected, values)
        self.assertIsNone(self.one([1, 2], BITS, 8))  # perhaps no numbers

    def test_doubles_that_a_float_holds(self):
        self.assertEqual(self.one([1.5, 1024.25], FLOAT, 8), ("heavy_type", "1.5 to 1024.25: float would do", True))
        self.assertEqual(self.one([-4.0, 8.0], FLOAT, 8), ("heavy_type", "-4 to 8: float would do", False))  # a small one may lie between
        self.assertIsNone(self.one([1.5, 1.1], FLOAT, 8))
        self.assertIsNone(self.one([1.0, 2.0**200], FLOAT, 8))
        self.assertEqual(self.one([2.0**-200, 1.0], FLOAT, 8)[2], False)
        self.assertIsNone(self.one([1.5, 1024.25], FLOAT, 4))

    def test_values_that_are_nearly_the_same(self):
        self.assertEqual(self.one([1.0, 1.0004], FLOAT, 4)[0], "approximate")
        self.assertEqual(self.one([-3.0001, -3.0002], FLOAT, 8)[0], "approximate")
        self.assertEqual(self.one([0.9999, 1.0001], FLOAT, 4)[0], "approximate")  # which have no bit in common
        self.assertIsNone(self.one([-0.0001, 0.0001], FLOAT, 4))
        self.assertIsNone(self.one([0.0, 1e-30], FLOAT, 4))
        self.assertIsNone(self.one([1.0, 1.01], FLOAT, 4))
        self.assertIsNone(self.one([1.0001, 1.0002, NAN], FLOAT, 4))

    def test_bits_of_the_mantissa(self):
        for values, type, size, bits in (([1 + k * 2.0**-23 for k in range(8)], FLOAT, 4, 20), ([1 + k * 2.0**-52 for k in range(64)], FLOAT, 8, 46),
                                         ([320.0, 331.7, 340.0], FLOAT, 4, 4), ([318.0, 331.7, 340.0], FLOAT, 4, 3),
                                         ([-0.1875, -0.125], FLOAT, 4, 1), ([0.875, 1.0], FLOAT, 4, 3), ([0.125, 1.0], FLOAT, 4, 0)):
            asked = ("--mantissa", str(bits))
            self.assertEqual(self.one(values, type, size, asked)[0], "approximate", bits)
            self.assertRegex(self.one(values, type, size, asked)[1], f": the same within {bits} bits of mantissa$")
            self.assertNotIn("the same within", str(self.one(values, type, size, ("--mantissa", str(bits + 1)))), bits)
        # As many bits as a reduced mantissa keeps: numbers that differ by the last of them, and by twice that.
        for of_float, of_double in (20, 46), (15, 36), (11, 28), (7, 20), (3, 12):
            for type_bytes, bits in (4, of_float), (8, of_double):
                near, far = [1 - 2.0**-bits, 1.0], [1 - 2.0**(1 - bits), 1.0]
                is_near = [any("the same within" in p[3] for p in self.found((0, v, FLOAT, type_bytes), options=("--mantissa", str(bits)))) for v in (near, far)]
                self.assertEqual(is_near, [True, False], bits)
        self.assertEqual(self.one([5e-7] * 3, FLOAT, 4), ("single_value", "all are 4.99999999e-07", True))  # not zero

    def test_a_type_that_is_wide_enough_for_short_mantissas(self):
        of = lambda values, size, bits: self.one(values, FLOAT, size, ("--mantissa", str(bits)))
        self.assertIsNone(self.one([1.1, 1000.7], FLOAT, 4))  # nobody has said that ten bits will do
        self.assertEqual(of([1.1, 1000.5], 4, 10), ("approximate", "1.10000002 to 1000.5: half would do for 10 bits of mantissa", True))
        self.assertEqual(of([-1.1, 1000.5], 4, 10)[1:], ("-1.10000002 to 1000.5: half would do for 10 bits of mantissa", False))  # a small one may lie between
        self.assertIsNone(of([1.1, 1000.5], 4, 11))
        self.assertIsNone(of([1.1, 70000.5], 4, 10))  # a half ends at 65504
        self.assertIn("bfloat16 would do for 7 bits", of([1.1, 70000.5], 4, 7)[1])
        self.assertIn("half would do for 10 bits", of([1.1, 1000.7], 8, 10)[1])
        self.assertIn("float would do for 23 bits", of([1.1, 1e30], 8, 23)[1])
        self.assertIsNone(of([1.1, 1e30], 8, 24))
        self.assertIsNone(of([1.1, 1e300], 8, 23))
        self.assertFalse(of([1e-6, 2.5], 4, 10)[2])  # a denormal half
        self.assertIsNone(of([1.5, float("inf")], 4, 10))
        self.assertEqual([p[0] for p in self.found((0, [1.5, 1024.25], FLOAT, 8), options=("--mantissa", "23"))], ["heavy_type"])  # whatever the mantissas
        for v in 1.1, 1000.5, 65504.0, 6.2e-5:  # of the types themselves: they hold it within half of the last bit that is kept
            half = struct.unpack("<e", struct.pack("<e", v))[0]
            self.assertLessEqual(abs(half - v), v * 2.0**-11)

    def test_values_that_are_frequent_together(self):
        bits = lambda v: struct.unpack("<I", struct.pack("<f", v))[0]

        def often(shares, mantissa="10", percent="50"):
            p, node = self.launched()
            thing = p.object(1, p.node(0, p.frame(live.PYTHON, p.python("first", "/home/user/main.py", 3))), 4096, p.start_ns)
            for value, share in shares:  # an area for each value that was counted
                p.access(node, thing, 0, 1000, *row_of([-5.0, 7.7e9], FLOAT, 4), type=FLOAT, size=4, checked=1000, value=bits(value), equal=round(1000 * share))
            answer = self.json(self.written(p), "values", "--mantissa", mantissa, "--frequent", percent)
            return [(q["evidence"].split(": ", 1)[1], round(q["share"], 3), q["exact"]) for o in answer["objects"] for q in o["patterns"]
                    if q["pattern"] == "approximate" and "are" in q["evidence"]]

        self.assertEqual(often([(2.5, .3), (2.5001, .25)]), [("≥ 55.0 % are 2.5 within 10 bits of mantissa", .55, False)])
        self.assertEqual(often([(2.5, .3), (2.5001, .25)], percent="60"), [])
        self.assertEqual(often([(2.5, .3), (2.5001, .25)], mantissa="20"), [])
        self.assertEqual(often([(2.5, .3), (3.5, .25)]), [])
        self.assertEqual(often([(2.5, .2), (-2.5, .4), (2.5002, .2), (2.5001, .2)]), [("≥ 60.0 % are 2.5 within 10 bits of mantissa", .6, False)])
        self.assertEqual(often([(2.5, .7)]), [])  # that is frequent by itself

    def test_accesses_of_one_object(self):
        # Together, where all match; else each alone, with its part of the elements; those of another object are no matter.
        self.assertEqual(self.found((0, [0] * 6, UNSIGNED, 4), (0, [0] * 2, UNSIGNED, 4), (1, [5, 2**30], UNSIGNED, 4)),
                         [("single_zero", 1.0, None, "all are zero", True)])
        self.assertEqual(self.found((0, [0] * 6, UNSIGNED, 4), (0, [1, 2**30], UNSIGNED, 4)), [("single_zero", 0.75, "work.cu:10", "all are zero", True)])
        self.assertEqual(self.found((0, [0] * 4, UNSIGNED, 4), (0, [0.0] * 4, FLOAT, 4)), [
            ("single_zero", 0.5, "work.cu:10", "all are zero", True), ("single_zero", 0.5, "work.cu:11", "all are zero", True)])
        self.assertEqual(self.found((0, [], UNSIGNED, 4)), [])

    def guessed(self, values, type, size, **guess):
        """What is said besides heavy types."""
        return [(p[0], round(p[1], 3), *p[3:]) for p in self.found((0, values, type, size, guess)) if p[0] != "heavy_type"]

    def test_a_frequent_value(self):
        values = [7] * 6 + [-1, 2**30]
        self.assertEqual(self.guessed(values, SIGNED, 4, checked=8, equal=6, value=7), [("frequent", 0.75, "75.0 % are 7", True)])
        self.assertEqual(self.guessed(values, SIGNED, 4, checked=8, equal=4, value=7), [])  # more than half
        self.assertEqual(self.guessed(values, SIGNED, 4, checked=4, equal=3, value=7), [("frequent", 0.75, "≈ 75.0 % are 7", False)])
        self.assertEqual(self.guessed(values, SIGNED, 4, checked=3, equal=3, value=7), [])  # too few
        self.assertEqual(self.guessed([0, 0, 0, 1], SIGNED, 4, checked=4, equal=3), [("frequent", 0.75, "75.0 % are 0", True)])
        self.assertEqual(self.guessed([-2, -2, -2, 2**30], SIGNED, 4, checked=4, equal=3, value=2**32 - 2), [("frequent", 0.75, "75.0 % are -2", True)])
        bits = struct.unpack("<I", struct.pack("<f", -1.5))[0]
        self.assertEqual(self.guessed([-1.5, -1.5, -1.5, 3], FLOAT, 4, checked=4, equal=3, value=bits), [("frequent", 0.75, "75.0 % are -1.5", True)])
        self.assertEqual(self.guessed([5] * 4, SIGNED, 4, checked=4, equal=4, value=5), [("single_value", 1.0, "all are 5", True)])

    def test_values_on_a_line(self):
        line = [3 * i - 2 for i in range(10)]
        real = lambda x: struct.unpack("<q", struct.pack("<d", x))[0]
        self.assertEqual(self.guessed(line, SIGNED, 4, checked=10, lined=10, slope=3, offset=-2, value=99), [("structured", 1.0, "all are 3 * i - 2", True)])
        self.assertEqual(self.guessed(line, SIGNED, 8, checked=9, lined=9, slope=-3), [("structured", 1.0, "≈ 100.0 % are -3 * i", False)])
        self.assertEqual(self.guessed(line * 2, SIGNED, 4, checked=20, lined=19, slope=3, offset=1), [("structured", 0.95, "95.0 % are 3 * i + 1", True)])
        self.assertEqual(self.guessed(line, SIGNED, 4, checked=10, lined=9, slope=3, offset=1), [])  # more than nine of ten
        self.assertEqual(self.guessed([0.5 * i for i in range(10)], FLOAT, 4, checked=10, lined=10, slope=real(-0.5), offset=real(1.25)),
                         [("structured", 1.0, "all are -0.5 * i + 1.25", True)])

    def test_guesses_of_several_accesses(self):
        # One value is that of both; of two values each is of one access; an access that was not compared is no matter.
        one, other = dict(checked=4, equal=3, value=9), dict(checked=4, equal=4, value=8)
        values = [9, 9, 9, 2**30]
        self.assertEqual(self.found((0, values, SIGNED, 4, one), (0, values, SIGNED, 4, one)), [("frequent", 0.75, None, "75.0 % are 9", True)])
        self.assertEqual(self.found((0, values, SIGNED, 4, one), (0, values, SIGNED, 4, {})), [("frequent", 0.375, "work.cu:10", "75.0 % are 9", True)])
        self.assertEqual([p[0:2] for p in self.found((0, values, SIGNED, 4, one), (0, [2**29, 2**30, 8, 8], SIGNED, 4, dict(other, equal=3)))],
                         [("frequent", 0.375), ("frequent", 0.375)])

    def counted(self, launches, asked=(), type=SIGNED, size=4):
        """What is told of one access of which these were counted, in turn: (elements, value, how many equal), in rows of its own each."""
        p, node = self.launched()
        object = p.object(1, p.node(0, p.frame(live.PYTHON, p.python("first", "/home/user/main.py", 3))), 4096, p.start_ns)
        for elements, value, equal in launches:
            p.access(node, object, 0, elements, *row_of([0, 1 << 30, -1], type, size), type=type, size=size, file="/src/work.cu", line=10,
                     checked=elements if equal is not None else 0, equal=equal or 0, value=value)
        answer = self.json(self.written(p), "values", *asked)
        return [(round(q["share"], 3), q["evidence"], q["exact"]) for o in answer["objects"] for q in o["patterns"] if q["pattern"] == "frequent"]

    def test_several_frequent_values(self):
        # Each of the launches in which it was counted: 40 of 100, twice 35 of 100, 12 of 80; of the last nothing was.
        launches = [(100, 11, 40), (100, 22, 35), (100, 22, 36), (80, 33, 12), (120, 0, None)]
        whole = "elements of 4 bytes, accessed in 1 place"
        first = (0.4, f"500 {whole}, 100 of them counted: ≈ 40.0 % are 11", False)
        second = (0.354, f"500 {whole}, 200 of them counted: ≈ 35.5 % are 22", False)
        third = (0.15, f"500 {whole}, 80 of them counted: ≈ 15.0 % are 33", False)
        self.assertEqual(self.counted(launches), [])
        self.assertEqual(self.counted(launches, ("--frequent", "20")), [first, second])
        self.assertEqual(self.counted(launches, ("--frequent", "15")), [first, second])  # more than that
        self.assertEqual(self.counted(launches, ("--frequent", "14.9")), [first, second, third])
        self.assertEqual(self.counted([(100, 7, 55), (100, 7, 65)], ("--frequent", "20")), [(0.6, f"200 {whole}: 60.0 % are 7", True)])

    def test_no_more_values_than_are_kept(self):
        # Of six the four with the most elements; one that comes again is the same.
        launches = [(100, value, 10 + value) for value in (1, 2, 3, 4, 5, 6)] + [(100, 6, 16)]
        found = self.counted(launches, ("--frequent", "1"))
        self.assertEqual([e.split(": ")[1] for _, e, _ in found], [f"≈ {10 + value}.0 % are {value}" for value in (6, 5, 4, 3)])

    def test_several_values_of_several_accesses(self):
        # What one access has alone is told of each; what both have, of both.
        p = [9, 9, 8, 2**30]
        one, other = dict(checked=4, equal=2, value=9), dict(checked=4, equal=1, value=8)
        asked = ("--frequent", "20")
        self.assertEqual(self.found((0, p, SIGNED, 4, one), (0, p, SIGNED, 4, one), options=asked), [("frequent", 0.5, None, "50.0 % are 9", True)])
        self.assertEqual(self.found((0, p, SIGNED, 4, one), (0, p, SIGNED, 4, other), options=asked),
                         [("frequent", 0.25, "work.cu:10", "50.0 % are 9", True), ("frequent", 0.125, "work.cu:11", "25.0 % are 8", True)])

    def launches(self, nodes_are_operations, flags):
        """Three launches of a graph that wrote an object; its one kernel is an operation, or the launch is."""
        p = live.Process("host-1-0", 1)
        device, thread = p.device("Test GPU"), p.thread(1)
        queue = p.queue(device)
        place = p.node(0, p.frame(live.PYTHON, p.python("step", "/home/user/main.py", 7)))
        for k in range(3):
            start = p.start_ns + (1000 + 10 * k) * US
            p.enqueue(thread, queue, "cuGraphLaunch", place, "kernel" if nodes_are_operations else "graph", start, start + US, start + 2 * US, start + 5 * US,
                      name="inner" if nodes_are_operations else "")
        call = p.node(place, p.frame(live.API, offset=1, name="cuGraphLaunch"))
        leaf = p.node(call, p.frame(live.OP, op=live.KINDS.index("graph")))
        written = p.object(1, p.node(0, p.frame(live.PYTHON, p.python("first", "/home/user/main.py", 3))), 4096, p.start_ns)
        p.add("VALUE", leaf, written, flags, 0, 4, 3, 3 * 4096, *[3 * 1024] * 4, *[1024] * 4)
        p.add("VALUE", leaf, 0, 1, 0, 0, 3, *[0] * 9)
        answer = self.json(self.written(p), "values")
        (pattern,) = [p for o in answer["objects"] for p in o["patterns"]]
        return pattern, answer["coverage"]

    def test_a_launch_of_a_graph_is_named_by_its_call(self):
        for nodes_are_operations in (True, False):
            pattern, coverage = self.launches(nodes_are_operations, 0)
            self.assertEqual((pattern["operation"], pattern["operations"], pattern["called_from"], pattern["exact"]), ("cuGraphLaunch", 3, "step() main.py:7", True))
            self.assertEqual(coverage, [{"kernel": "cuGraphLaunch", "engine": "none", "launches": 3, "looked_at": 3, "blocks": None, "blocks_looked_at": None, "reason": None}])

    def test_why_a_share_is_not_exact(self):
        for flags, evidence, reason in ((1, "some of them may not have been written", "what it wrote is not known: all of its buffers were compared"),
                                        (2, "others may have written them meanwhile", "another queue, or the host, may have written the same memory meanwhile"),
                                        (3, "some of them may not have been written", "what it wrote is not known: all of its buffers were compared")):
            pattern, (coverage,) = self.launches(True, flags)
            self.assertFalse(pattern["exact"])
            self.assertEqual((pattern["evidence"].split("; ")[1], coverage["reason"]), (evidence, reason))

    def of_blocks(self, draws, blocks, looked_at, launches=1):
        """Draws are (elements, how many of them are 7): of each what is said of the share of sevens, and of the kernel's coverage."""
        p, node = self.launched()
        p.add("VALUE", node, 0, 1 << 1, 0, 0, launches, 0, launches * blocks, launches * looked_at, *[0] * 6)
        for number, (elements, sevens) in enumerate(draws):
            thing = p.object(1, p.node(0, p.frame(live.PYTHON, p.python("thing%03d" % number, "/home/user/main.py", 3))), 4096, p.start_ns)
            p.access(node, thing, number, elements, *row_of([7, 8, 1 << 30], SIGNED, 4), type=SIGNED, size=4, checked=elements, value=7, equal=sevens)
        answer = self.json(self.written(p), "values", "--frequent", "1")
        found = {o["name"].split("thing")[1][:3]: q for o in answer["objects"] for q in o["patterns"] if q["pattern"] == "frequent"}
        return [found["%03d" % number] for number in range(len(draws))], answer["coverage"]

    def test_an_interval_is_as_wide_as_few_blocks_make_it(self):
        for share, looked_at, launches in ((.75, 10, 1), (.02, 40, 3), (.999, 100, 1)):
            (found,), (coverage,) = self.of_blocks([(1000, round(1000 * share))], 10 ** 9, looked_at, launches)
            self.assertEqual((found["share"], found["exact"]), (share, False))
            distance = lambda end: share * math.log(share / end) + (1 - share) * math.log((1 - share) / (1 - end))
            near = [k / 10 ** 6 for k in range(1, 10 ** 6) if looked_at * distance(k / 10 ** 6) <= math.log(2 / .05)]
            self.assertAlmostEqual(found["share_low"], near[0], 4)
            self.assertAlmostEqual(found["share_high"], near[-1], 4)
            self.assertTrue(found["share_low"] < share < found["share_high"])
            self.assertEqual((coverage["blocks"], coverage["blocks_looked_at"]), (launches * 10 ** 9, launches * looked_at))
            self.assertIn("%d of %s blocks (--values-blocks)" % (launches * looked_at, format(launches * 10 ** 9, ",")), coverage["reason"])
        (all_of_them,), _ = self.of_blocks([(1000, 1000)], 10 ** 9, 12)
        self.assertAlmostEqual(all_of_them["share_low"], .025 ** (1 / 12), 6)
        self.assertEqual(all_of_them["share_high"], 1)
        (most,), _ = self.of_blocks([(1000, 500)], 10, 9)  # what was seen is true whatever the rest is
        self.assertTrue(.45 <= most["share_low"] and most["share_high"] <= .55)
        (exact,), (coverage,) = self.of_blocks([(1000, 500)], 10, 10)
        self.assertEqual((exact["exact"], exact["share_low"], exact["share_high"], coverage["reason"]), (True, None, None, None))

    def test_the_truth_lies_in_the_interval(self):
        """Blocks of which each is all 7 or not at all, or which differ little: in 19 of 20 draws at least, the truth of a population is within."""
        r = random.Random(3)
        for of_block in (lambda: 100 * (r.random() < .6), lambda: 100 * (r.random() < .95), lambda: r.randrange(50, 71), lambda: r.choice((0, 30, 100))):
            population = [of_block() for _ in range(200)]
            truth = sum(population) / 100 / len(population)
            draws = [sum(r.sample(population, 20)) for _ in range(150)]
            found, _ = self.of_blocks([(2000, sevens) for sevens in draws], 200, 20)
            within = sum(q["share_low"] <= truth <= q["share_high"] for q in found)
            self.assertGreaterEqual(within, .95 * len(draws))
            self.assertTrue(any(q["share"] != truth for q in found))

    def line_of(self, *lines, other=()):
        """The line of what a kernel wrote in two objects of one site, each of which was told to be written there: (file, line)."""
        p, node = self.launched()
        sites = [p.node(0, p.frame(live.PYTHON, p.python(name, "/home/user/main.py", 3))) for name in ("first", "second")]
        objects = [p.object(1, site, 4096, p.start_ns) for site in (sites[0], sites[0], sites[1])]
        for written in objects:
            p.add("VALUE", node, written, 0, 0, 4, 1, 4096, *[1024] * 8)
        for where, (file, line) in [(objects[0], lines) for lines in lines] + [(objects[2], lines) for lines in other]:
            p.access(node, where, 0, 0, 0, 0, 0, 0, what=1, type=0, size=0, file=file, line=line)
        answer = self.json(self.written(p), "values")["objects"]
        self.assertEqual(sorted((o["count"], len(o["patterns"])) for o in answer), [(1, 1), (2, 1)])
        return {name: o["patterns"][0]["line"] for o in answer for name in ("first", "second") if name in o["name"]}

    def test_the_line_of_a_redundant_write(self):
        self.assertEqual(self.line_of(), {"first": None, "second": None})
        self.assertEqual(self.line_of(("/src/work.cu", 12)), {"first": "work.cu:12", "second": None})
        self.assertEqual(self.line_of(("/src/work.cu", 12), ("/src/work.cu", 12), other=[("/src/other.cu", 3)]), {"first": "work.cu:12", "second": "other.cu:3"})
        self.assertEqual(self.line_of(("/src/work.cu", 12), ("/src/work.cu", 13)), {"first": None, "second": None})
        self.assertEqual(self.line_of(("/src/work.cu", 12), ("/src/other.cu", 12)), {"first": None, "second": None})
        self.assertEqual(self.line_of(("", 0), ("/src/work.cu", 12)), {"first": None, "second": None})
        self.assertEqual(self.line_of(("/src/work.cu", 12), ("", 0), ("/src/work.cu", 12)), {"first": None, "second": None})

    def elements_of(self, *accesses, own=0):
        """Bytes of the elements of which half are unchanged if they have 4 bytes, and none if they have 8; None: they were taken for 4."""
        p, node = self.launched()
        site = p.node(0, p.frame(live.PYTHON, p.python("first", "/home/user/main.py", 3)))
        first, second = (p.object(1, site, 4096, p.start_ns) for _ in range(2))
        p.add("VALUE", node, second, 0, 0, own, 1, 4096, *[4096, 2048, 1024, 512], *[3000, 1200, 512, 0])
        for what, size in accesses:
            p.access(node, first, 0, 0, 0, 0, 0, 0, what=what, size=size)
        (found,) = [q for o in self.json(self.written(p), "values", "--threshold", "0")["objects"] for q in o["patterns"]]
        self.assertEqual(found["share"], {4: 0.5, 8: 0}[found["element_bytes"]])
        return None if "assumed" in found["evidence"] else found["element_bytes"]

    def test_elements_are_those_of_what_reads_them(self):
        load, store = 0, 1
        self.assertIsNone(self.elements_of())
        self.assertIsNone(self.elements_of((store, 8), (load, 16)))
        self.assertEqual(self.elements_of((load, 8)), 8)
        self.assertEqual(self.elements_of((load, 8), (load, 4)), 4)
        self.assertEqual(self.elements_of((load, 4), own=8), 8)

    def looked_at(self, kernels, **manifest):
        """A run of these kernels: {name: (launches, {reason: launches})}, where reason 0 is that they were looked at."""
        p = live.Process("host-1-0", 1)
        device, thread = p.device("Test GPU"), p.thread(1)
        queue = p.queue(device)
        place = p.node(0, p.frame(live.PYTHON, p.python("step", "/home/user/main.py", 7)))
        start = p.start_ns + 1000 * US
        for name, (launches, reasons) in kernels.items():
            for _ in range(launches):
                start += 10 * US
                node = p.enqueue(thread, queue, "cuLaunchKernel", place, "kernel", start, start + US, start + 2 * US, start + 5 * US, name=name)
            for reason, times in reasons.items():
                p.add("VALUE", node, 0, 1, reason, 0, times, *[0] * 9)
        path = os.path.join(self.folder, "m%d.sonde" % len(os.listdir(self.folder)))
        live.write_manifest(path, ["demo"], **manifest)
        p.write(path)
        return path

    def test_the_ledger_says_what_was_not_looked_at(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../include/sonde/kinds.h")) as file:
            reasons = re.findall(r'X\((\w+), "(.*?)"\)', file.read().split("define SONDE_VALUE_MISSED_MAP")[1].split("#define")[0])
        names = [name for name, _ in reasons]
        texture, cluster = names.index("TEXTURE"), names.index("CLUSTER")
        asked = {"options": {"values": "fine"}}
        path = self.looked_at({"scan": (1, {0: 1}), "warp": (3, {0: 1, texture: 2}), "blur": (4, {texture: 4}), "late": (2, {0: 1}), "near": (5, {cluster: 5})}, **asked)
        missed = self.json(path, "ledger")["values_missed"]
        self.assertEqual(missed, [{"reason": reasons[texture][1], "operations": 6, "names": ["blur", "warp"]},
                                  {"reason": reasons[cluster][1], "operations": 5, "names": ["near"]},
                                  {"reason": "not enqueued or not finished while values were compared", "operations": 1, "names": ["late"]}])
        coverage = self.json(path, "values")["coverage"]
        self.assertEqual(sum(c["launches"] - c["looked_at"] for c in coverage), sum(m["operations"] for m in missed))
        self.assertEqual({c["kernel"]: c["reason"] for c in coverage}["blur"], missed[0]["reason"])
        self.assertEqual(self.json(path, "summary")["ledger"]["values_missed"], missed)
        text = self.ok("report", path, "ledger").out
        self.assertRegex(text, r"values not looked at +6 +its code uses textures or surfaces: blur, warp")
        self.assertRegex(text, r"values not looked at +5 +its blocks run in clusters: near")
        many = {"kernel%02d" % k: (1, {cluster: 1}) for k in range(10)}
        self.assertRegex(self.ok("report", self.looked_at(many, **asked), "ledger").out, r"kernel06, kernel07 and 2 more|: kernel00, ker.*…")
        all_seen = self.looked_at({"scan": (1, {0: 1})}, **asked)
        self.assertEqual(self.json(all_seen, "ledger")["values_missed"], [])
        self.assertRegex(self.ok("report", all_seen, "ledger").out, r"values not looked at +0 ")
        unasked = self.looked_at({"scan": (1, {})})
        self.assertIsNone(self.json(unasked, "ledger")["values_missed"])
        self.assertNotIn("not looked at", self.ok("report", unasked, "ledger").out)

    def test_the_table(self):
        text = self.ok("report", self.measure((0, [2.5] * 4, FLOAT, 4)), "values").out
        self.assertRegex(text, r"single_value +work +.*100\.0 % +work\.cu:10 +all are 2\.5")


cli.main()
