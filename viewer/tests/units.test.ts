/* units.test.ts - numbers are written as src/base/number.c writes them: the same cases as tests/unit has of it, and its edges. */
import { expect, test } from "vitest";
import { formatBytes, formatCount, formatShare, formatTime } from "../src/model/units.js";

test("times", () => {
  const cases: [number | null, string][] = [
    [0, "0 ns"], [1, "1 ns"], [999, "999 ns"], [999.4, "999 ns"], [999.5, "1.00 µs"], [1000, "1.00 µs"], [1504, "1.50 µs"], [9994, "9.99 µs"],
    [9996, "10.0 µs"], [99_940, "99.9 µs"], [99_960, "100 µs"], [248_000, "248 µs"], [999_499, "999 µs"], [999_500, "1.00 ms"], [1_390_000_000, "1.39 s"],
    [999_400_000_000, "999 s"], [1_000_000_000_000, "16 min 40 s"], [3_599_600_000_000, "1 h 00 min"], [3_840_000_000_000, "1 h 04 min"], [null, "-"],
  ];
  for (const [ns, text] of cases) expect(formatTime(ns), String(ns)).toBe(text);
});

test("bytes", () => {
  const cases: [number | null, string][] = [[0, "0 B"], [999, "999 B"], [1000, "1.00 kB"], [8000, "8.00 kB"], [33_600_000, "33.6 MB"], [2.5e15, "2.50 PB"], [3e18, "3000 PB"], [null, "-"]];
  for (const [bytes, text] of cases) expect(formatBytes(bytes), String(bytes)).toBe(text);
});

test("shares", () => {
  const cases: [number | null, string][] = [[0, "0.0 %"], [0.0001, "<0.1 %"], [0.0006, "0.1 %"], [0.812, "81.2 %"], [1, "100.0 %"], [null, "-"]];
  for (const [share, text] of cases) expect(formatShare(share), String(share)).toBe(text);
});

test("counts", () => {
  expect(formatCount(1504)).toBe("1,504");
  expect(formatCount(0)).toBe("0");
  expect(formatCount(undefined)).toBe("-");
});
