import { describe, expect, it } from "vitest";
import { axisOf, clamped, fitting, formatPoint, moved, niceStep, revealing, timeAt, xAt, zoomed } from "../src/model/timeline/window.js";

const SECOND = 1e9;

describe("the window", () => {
  it("zooms about the time under the pointer", () => {
    const window = zoomed({ from: 0, to: SECOND }, SECOND, 0.25 * SECOND, 2);
    expect(window).toEqual({ from: 0.125 * SECOND, to: 0.625 * SECOND });
    expect(xAt(window, 1000, 0.25 * SECOND)).toBe(xAt({ from: 0, to: SECOND }, 1000, 0.25 * SECOND));
  });

  it("comes back when it zooms out as far as it zoomed in", () => {
    const start = { from: 2e8, to: 6e8 };
    const window = zoomed(zoomed(start, SECOND, 3e8, 1.6), SECOND, 3e8, 1 / 1.6);
    expect(window.from).toBeCloseTo(start.from, 3);
    expect(window.to).toBeCloseTo(start.to, 3);
  });

  it("stays within the run", () => {
    expect(zoomed({ from: 0, to: 1000 }, 1000, 900, 0.1)).toEqual({ from: 0, to: 1000 });
    expect(moved({ from: 100, to: 300 }, 1000, -500)).toEqual({ from: 0, to: 200 });
    expect(moved({ from: 100, to: 300 }, 1000, 5000)).toEqual({ from: 800, to: 1000 });
    expect(clamped({ from: -50, to: 150 }, 1000)).toEqual({ from: 0, to: 200 });
  });

  it("is never shorter than what can be told apart, also where the run is", () => {
    const window = zoomed({ from: 0, to: 1000 }, 1000, 500, 1e9);
    expect(window.to - window.from).toBe(100);
    expect(clamped({ from: 0, to: 0 }, 0)).toEqual({ from: 0, to: 100 });
  });

  it("moves to what is out of sight and stays where it is not", () => {
    const window = { from: 1000, to: 2000 };
    expect(revealing(window, 10000, 1200, 1300)).toBe(window);
    expect(revealing(window, 10000, 5000, 5100)).toEqual({ from: 4550, to: 5550 });
    expect(revealing(window, 10000, 5000, 7000)).toEqual({ from: 4800, to: 7200 });
    expect(fitting(10000, 5000, 7000)).toEqual({ from: 4800, to: 7200 });
  });

  it("tells times of pixels and pixels of times", () => {
    const window = { from: 500, to: 1500 };
    for (const x of [0, 1, 333, 999]) expect(xAt(window, 1000, timeAt(window, 1000, x))).toBeCloseTo(x, 9);
  });
});

describe("the axis", () => {
  it("has steps of 1, 2 and 5", () => {
    expect([1, 3, 6, 11, 21, 51, 0.2].map(niceStep)).toEqual([1, 5, 10, 20, 50, 100, 1]);
  });

  it("has ticks at round times within the window", () => {
    const axis = axisOf({ from: 0, to: 2 * SECOND }, 1100);
    expect(axis.step).toBe(2e8);
    expect(axis.base).toBeNull();
    expect(axis.ticks.map((tick) => tick.label)).toEqual(["0 s", "0.2 s", "0.4 s", "0.6 s", "0.8 s", "1.0 s", "1.2 s", "1.4 s", "1.6 s", "1.8 s", "2.0 s"]);
  });

  it("counts from a round time before where times have too many digits", () => {
    const axis = axisOf({ from: 12_345_678_000, to: 12_345_679_000 }, 1000);
    expect(axis.step).toBe(200);
    expect(axis.base).toBe(12_345_678_000);
    expect(axis.ticks.map((tick) => tick.label)).toEqual(["+0 µs", "+0.2 µs", "+0.4 µs", "+0.6 µs", "+0.8 µs", "+1.0 µs"]);
  });

  it("keeps labels apart", () => {
    for (let span = 100; span < 1e13; span *= 3.7)
      for (const width of [200, 1280, 2560]) {
        const axis = axisOf({ from: span / 3, to: span / 3 + span }, width);
        expect((axis.step / span) * width).toBeGreaterThanOrEqual(109.9);
        expect(axis.ticks.length).toBeLessThanOrEqual(width / 109 + 1);
      }
  });

  it("says a point with as many digits as the window can tell apart", () => {
    expect(formatPoint(1_234_567_890, 2e9)).toBe("1.235 s");
    expect(formatPoint(1_234_567_890, 2000)).toBe("1.234567890 s");
    expect(formatPoint(0, 2000)).toBe("0 ns");
  });
});
