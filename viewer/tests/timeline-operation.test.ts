/* The distribution of operations that are alike: where its bars are, and how high. */
import { describe, expect, it } from "vitest";
import { durationBars, durationScale, type Alike } from "../src/model/timeline/operation.js";

const alike = (min_ns: number, max_ns: number, durations: Alike["durations"]): Alike => ({
  count: 0, timed: 0, mean_ns: null, min_ns, max_ns, p50_ns: null, p95_ns: null, p99_ns: null, durations,
});

describe("a distribution of durations", () => {
  it("has bars whose area is their count, on a scale of logarithms", () => {
    const bars = durationBars(alike(1024, 4096, [{ from_ns: 1024, to_ns: 1088, count: 30 }, { from_ns: 2048, to_ns: 2176, count: 60 }, { from_ns: 4096, to_ns: 4352, count: 1 }]));
    expect(bars[0]!.from).toBe(0);
    expect(bars[1]!.from).toBeCloseTo(0.5, 12);
    expect(bars[0]!.to - bars[0]!.from).toBeCloseTo(bars[1]!.to - bars[1]!.from, 12);
    expect(bars.map((bar) => bar.count)).toEqual([30, 60, 1]);
    expect(bars[0]!.height / bars[1]!.height).toBeCloseTo(0.5, 12);
    expect(Math.max(...bars.map((bar) => bar.height))).toBe(1);
    expect(bars.every((bar) => bar.from >= 0 && bar.to <= 1)).toBe(true);
  });

  it("stays within the shortest and the longest", () => {
    const scale = durationScale(alike(100, 1000, []));
    expect([scale(10), scale(100), scale(1000), scale(5000)]).toEqual([0, 0, 1, 1]);
    expect(durationScale(alike(7, 7, []))(7)).toBe(0.5);
    expect(durationBars(alike(100, 1000, []))).toEqual([]);
  });
});
