/* stalls.test.ts - the page Stalls: what follows from its view's answer. */
import { expect, test } from "vitest";
import { functionKey, functionText, marksOf, offsetText, partsOf, placeText, ranksOf, waitText, type Instruction, type Reason, type StallLine, type Stalls, type Sum } from "../src/model/stalls.js";

const reason = (name: string, samples: number): Reason => ({ reason: name, samples, idle_samples: 0 });
const sum = (name: string | null, device: number | null, issued: number, ...reasons: Reason[]): Sum => ({
  function: name, device, process: "p", share: null, issued_samples: issued, idle_samples: 0, samples: issued + reasons.reduce((all, one) => all + one.samples, 0), reasons,
});
const line = (of: Sum, file: string | null, number: number | null): StallLine => ({ ...of, file, line: number });
const a = sum("a", 0, 10, reason("wait", 60), reason("barrier", 30)), b = sum("a", 1, 5, reason("barrier", 5));
const stalls = {
  functions: [a, b], reasons: [reason("wait", 60), reason("barrier", 35)].map((one) => ({ ...one, meaning: null })),
  lines: [line(sum("a", 0, 0, reason("wait", 60)), "/x/k.cu", 7), line(sum("a", 0, 10, reason("barrier", 30)), "/x/k.cu", 9), line(b, "/x/k.cu", 7), line(sum("a", 0, 1), null, null)],
} as unknown as Stalls;

test("functions of two devices are two, and say whose", () => {
  expect(functionKey(a)).not.toBe(functionKey(b));
  expect(functionText(stalls, b)).toBe("a on p: 1");
  expect(functionText({ ...stalls, functions: [a] }, a)).toBe("a");
  expect(functionText({ ...stalls, functions: [sum(null, null, 1)] }, sum(null, null, 1))).toBe("unknown");
});

test("parts add up, in one order in every bar", () => {
  const ranks = ranksOf(stalls), turned = sum("c", 0, 0, reason("barrier", 9), reason("wait", 1), reason("new", 3));
  expect(partsOf(a, ranks).map((part) => part.reason)).toEqual([null, "wait", "barrier"]);
  expect(partsOf(turned, ranks).map((part) => part.reason)).toEqual(["wait", "barrier", "new"]);
  expect(partsOf(a, ranks).reduce((all, part) => all + part.samples, 0)).toBe(a.samples);
  expect(waitText(turned)).toBe("barrier 69.2 %");
  expect(waitText(sum("d", 0, 3))).toBe("");
});

test("lines and instructions are told as disassemblers and editors do", () => {
  expect(placeText(stalls.lines[0]!)).toBe("k.cu:7");
  expect(placeText(stalls.lines[3]!)).toBe("no line");
  expect(offsetText({ ...stalls.lines[0]!, offset: 0x1f0, text: null } as Instruction)).toBe("+ 0x1f0");
});

test("marks are of the chosen function's lines alone", () => {
  const marks = marksOf(stalls, a, "/x/k.cu");
  expect([...marks.keys()]).toEqual([7, 9]);
  expect(marks.get(7)!.share).toBeCloseTo(0.6);
  expect(marks.get(9)!.text).toContain("barrier: 75.0 %");
  expect(marksOf(stalls, a, "/y").size).toBe(0);
});
