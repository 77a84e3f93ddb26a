/* critical.test.ts - the pages Critical path and Memory: what follows from their views' answers. */
import { describe, expect, it } from "vitest";
import { frameText, partsOf, savingOf, type CriticalPath, type PathThing } from "../src/model/critical.js";
import { holdersAt, pointAt, siteText, spaceText, stackedLines, type MemorySpace } from "../src/model/memory.js";
import { binSteps, isOf, longestStep, marksOf, stepAt, type Steps } from "../src/model/path.js";
import { kindColour } from "../src/draw/colours.js";
import { categoryColour } from "../src/views/critical/palette.js";
import { compare } from "../src/views/memory/sorttable.jsx";

const thing: PathThing = { ns: 100, steps: 2, delay_ns: null, category: "kernel", name: "work", operation: "kernel", file: null, module: null, error_ns: 0, inferred_ns: 0, behind_inferred_ns: 0, half_ns: 50, saving_ns: 40, most_rank: null, most_ns: null };

const CATEGORIES = ["host", "off_cpu", "api", "launch", "gap", "kernel", "copy", "set", "order", "unknown", "start_up", "paused", "message"];

function path(): CriticalPath {
  return {
    process: "host-1-0", length_ns: 200, begin_ns: 0, end_ns: 200, tail_ns: 0, limited: false, dropped: false, sampled: false, waits_recorded: 0, waits_inferred: 0, rank: null,
    composition: { host: { ns: 50, steps: 1 }, api: { ns: 0, steps: 0 }, kernel: { ns: 150, steps: 3 } }, things: [thing], contexts: [], stays: [],
  };
}

/* host 0-100, kernel 100-400, api 400-450, kernel 450-1000 */
const steps: Steps = {
  header: { process: 0, from_ns: 0, to_ns: 1000, limited: false, categories: ["host", "api", "kernel"], strings: ["main() a.c", "clFinish", "kernel k<int>", "kernel other"], names: ["main", "clFinish", "void k<int>", "other"] },
  count: 4, begin: Float64Array.of(0, 100, 400, 450), end: Float64Array.of(100, 400, 450, 1000), lane: [1, 2, 1, 2], node: [1, 2, 3, 4], label: [0, 2, 1, 3], category: [0, 2, 1, 2], process: [0, 0, 0, 0],
};

describe("the critical path", () => {
  it("has the colours of other pages, and one for each category", () => {
    for (const dark of [false, true]) {
      expect(["host", "api", "kernel", "start_up", "unknown"].map((category) => categoryColour(category, { dark }))).toEqual(["host_code", "api_calls", "busy", "start_up", "unknown"].map((kind) => kindColour(kind, { dark })));
      expect(new Set(CATEGORIES.map((category) => categoryColour(category, { dark }))).size).toBe(CATEGORIES.length);
    }
  });

  it("is made of parts whose shares are those of its length", () => {
    expect(partsOf(path())).toEqual([{ category: "host", ns: 50, steps: 1, share: 0.25 }, { category: "kernel", ns: 150, steps: 3, share: 0.75 }]);
  });

  it("gives the report's own answer to what if, and says where there is none", () => {
    expect(savingOf(path(), thing)).toEqual({ saved_ns: 40, evaluated: true, inferred: false, length_ns: 160 });
    expect(savingOf(path(), { ...thing, behind_inferred_ns: 60 }).inferred).toBe(true);
    expect(savingOf(path(), { ...thing, behind_inferred_ns: 50 }).inferred).toBe(false);
    expect(savingOf(path(), { ...thing, saving_ns: null })).toEqual({ saved_ns: 50, evaluated: false, inferred: false, length_ns: 150 });
  });

  it("names the step at a time", () => {
    expect([0, 99, 100, 449, 450, 999].map((time) => stepAt(steps, time))).toEqual([0, 0, 1, 2, 3, 3]);
    expect([stepAt(steps, -1), stepAt(steps, 1000)]).toEqual([-1, -1]);
  });

  it("is drawn over the lanes step by step where each has its pixels", () => {
    expect(marksOf(steps, { from: 0, to: 1000 }, 1000)).toEqual([{ process: 0, lane: 1, from: 0, to: 100 }, { process: 0, lane: 2, from: 100, to: 400 }, { process: 0, lane: 1, from: 400, to: 450 }, { process: 0, lane: 2, from: 450, to: 1000 }]);
    expect(marksOf(steps, { from: 120, to: 420 }, 300)).toEqual([{ process: 0, lane: 2, from: 100, to: 400 }, { process: 0, lane: 1, from: 400, to: 450 }]);
    expect(marksOf(steps, { from: 2000, to: 3000 }, 100)).toEqual([]);
  });

  it("is drawn with a few marks for each pixel, of every lane, however long it is", () => {
    const count = 100_000, begin = Float64Array.from({ length: count }, (_, i) => i * 10), end = begin.map((time) => time + 10), lane = Array.from({ length: count }, (_, i) => 1 + (i % 3));
    const long: Steps = { ...steps, count, begin, end, lane, process: lane.map(() => 0) }, marks = marksOf(long, { from: 0, to: count * 10 }, 100);
    expect(marks.length).toBeLessThanOrEqual(100 * 4);
    expect(new Set(marks.map((mark) => mark.lane))).toEqual(new Set([1, 2, 3]));
    expect([marks[0]!.from, marks.at(-1)!.to]).toEqual([0, count * 10]);
    for (let i = 1; i < marks.length; i++) expect(marks[i]!.from === marks[i - 1]!.from || marks[i]!.from === marks[i - 1]!.to).toBe(true);
  });

  it("goes from rank to rank: lanes of several processes have the same numbers", () => {
    const job: Steps = { ...steps, process: [0, 1, 1, 0] };
    expect(marksOf(job, { from: 0, to: 1000 }, 1).map(({ process, lane }) => [process, lane])).toEqual([[0, 1], [1, 2], [1, 1], [0, 2]]);
    expect(marksOf(job, { from: 0, to: 1000 }, 1000).map((mark) => mark.process)).toEqual([0, 1, 1, 0]);
  });

  it("finds the steps of an activity", () => {
    const named = isOf(steps, { ...thing, name: "k<int>" }), all = isOf(steps, { ...thing, name: "kernel" });
    expect([0, 1, 2, 3].map(named)).toEqual([false, true, false, false]);
    expect([0, 1, 2, 3].map(all)).toEqual([false, true, false, true]);
    expect(longestStep(steps, all)).toBe(3);
    expect(longestStep(steps, () => false)).toBe(-1);
  });

  it("is put into bins without a loss", () => {
    for (const [from, to, bins] of [[0, 1000, 10], [0, 1000, 7], [120, 777, 13], [50, 60, 3]] as const) {
      const times = binSteps(steps, from, to, bins, null);
      for (let category = 0; category < 3; category++) {
        let sum = 0, expected = 0;
        for (let bin = 0; bin < bins; bin++) {
          expect(times[bin * 3 + category]).toBeLessThanOrEqual((to - from) / bins + 1e-9);
          sum += times[bin * 3 + category]!;
        }
        for (let ns = from; ns < to; ns++) for (let i = 0; i < 4; i++) if (steps.category[i] === category && ns >= steps.begin[i]! && ns < steps.end[i]!) expected++;
        expect(sum).toBeCloseTo(expected, 6);
      }
    }
    expect(binSteps(steps, 0, 1000, 1, (step) => step === 2)).toEqual(Float64Array.of(0, 50, 0));
    expect(binSteps(steps, 5, 5, 4, null).every((ns) => ns === 0)).toBe(true);
  });
});

describe("memory", () => {
  const space = {
    process: "host-1-0", class: "device", device: 0, name: "GPU", begin_ns: 1000, end_ns: 2000, rank: null, sites: [{}, {}, {}],
    series: { at_ns: [1000, 1100, 1100, 1500], bytes: [0, 30, 35, 10], sites: [[0, 10, 20, 0], [0, 20, 10, 10]], other: [0, 0, 5, 0] },
  } as unknown as MemorySpace;

  it("has the level of the last point that is not later", () => {
    expect([999, 1000, 1099, 1100, 1499, 1500, 9999].map((at) => pointAt(space, at))).toEqual([-1, 0, 0, 2, 2, 3, 3]);
  });

  it("is held by whom at each point, most first, and the sum is the level", () => {
    expect(holdersAt(space, 2)).toEqual([{ site: 0, bytes: 20 }, { site: 1, bytes: 10 }, { site: -1, bytes: 5 }]);
    expect(holdersAt(space, 3)).toEqual([{ site: 1, bytes: 10 }]);
    expect(holdersAt(space, -1)).toEqual([]);
    for (let point = 0; point < 4; point++) expect(holdersAt(space, point).reduce((sum, holder) => sum + holder.bytes, 0)).toBe(space.series.bytes[point]);
  });

  it("is drawn as lines upon each other, the highest of which is the whole", () => {
    const lines = stackedLines(space);
    expect(lines.map((line) => line.site)).toEqual([-1, 1, 0]);
    expect(lines[2]!.levels).toEqual(space.series.bytes);
    for (let i = 1; i < lines.length; i++) lines[i]!.levels.forEach((level, point) => expect(level).toBeGreaterThanOrEqual(lines[i - 1]!.levels[point]!));
  });

  it("is named", () => {
    expect(spaceText(space, false)).toBe("device memory of 0 GPU");
    expect(spaceText({ ...space, device: null, class: "host" }, true)).toBe("pinned host memory (host-1-0)");
    expect(frameText({ name: "f", file: "/a/b.c", line: 7, module: null })).toBe("f b.c:7");
    expect(frameText({ name: null, file: null, line: null, module: "/lib/x.so" })).toBe("unknown code x.so");
    expect(siteText([])).toBe("unknown call path");
  });
});

describe("sorting", () => {
  it("has what is unknown last", () => {
    expect([3, null, 1, 2].sort((a, b) => compare(a, b, true))).toEqual([3, 2, 1, null]);
    expect([3, null, 1, 2].sort((a, b) => compare(a, b, false))).toEqual([1, 2, 3, null]);
    expect(["b", null, "a"].sort((a, b) => compare(a, b, false))).toEqual(["a", "b", null]);
  });
});
