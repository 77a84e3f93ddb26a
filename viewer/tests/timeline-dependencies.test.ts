/* timeline-dependencies.test.ts - which dependencies are asked for, where they lead, and the arrows that are drawn of them. */
import { describe, expect, it } from "vitest";
import { arrowsOf, decidedBy, decidingOf, dependenciesOf, linksOf, placeOfStep, reasonWords, unknownWords, type Dependencies, type Dependency, type Sight } from "../src/model/timeline/dependencies.js";
import type { Interval } from "../src/model/timeline/intervals.js";
import type { Process } from "../src/model/types.js";

const process = { process: 3, origin_ns: 1000 } as Process;

function interval(more: Partial<Interval>): Interval {
  return { lane: "3:2", track: 0, begin: 50, end: 90, time: 40, correlation: 7, label: 0, node: 0, rows: 1, busy: 1, kind: "operation", merged: false, cut: false, ...more };
}

function dependency(more: Partial<Dependency>): Dependency {
  return { kind: "operation", lane: 2, name: "k", correlation: 1, begin_ns: 1010, end_ns: 1040, reasons: ["queue"], inferred: false, decided: false, slack_ns: 5, ...more };
}

function dependencies(more: Partial<Dependencies>): Dependencies {
  return {
    process: 3, kind: "operation", lane: 2, name: "k", correlation: 7, begin_ns: 1050, end_ns: 1090, unknown: null, dropped: false, delay_ns: 10,
    before: [], before_left_out: 0, after: [], after_left_out: 0, ...more,
  };
}

describe("what is asked", () => {
  it("is an operation by its begin, a call by a time within it", () => {
    expect(dependenciesOf(interval({}), process)).toBe("dependencies?process=3&lane=2&begin=1050&correlation=7");
    expect(dependenciesOf(interval({ kind: "call", lane: "3:1" }), process)).toBe("dependencies?process=3&lane=1&begin=1050");
  });

  it("is nothing of what is neither, or several", () => {
    for (const more of [{ kind: "sample" as const }, { kind: "wait" as const }, { kind: "range" as const, track: 1 }, { merged: true }, { kind: "unread" as const }, { kind: "call" as const, rows: 2 }])
      expect(dependenciesOf(interval(more), process)).toBeNull();
  });
});

describe("where it leads", () => {
  const call = dependency({ kind: "call", lane: 1, correlation: 7, begin_ns: 1000, end_ns: 1020, reasons: ["submission"], slack_ns: 20 });

  it("is what decided, and what it decided, which need not be the first", () => {
    const of = dependencies({ before: [dependency({ decided: true, slack_ns: 0 }), call], after: [dependency({ name: "a" }), dependency({ name: "b", decided: true }), dependency({ name: "c", decided: true })] });
    expect([decidingOf(of)?.name, decidedBy(of)?.name]).toEqual(["k", "b"]);
    expect([decidingOf(dependencies({ before: [call] })), decidedBy(dependencies({}))]).toEqual([null, null]);
  });

  it("is on the axis of the run, on the lane of the process", () => {
    expect(placeOfStep(call, process)).toEqual({ lane: "3:1", track: 0, begin: 0, correlation: 7 });
    expect(placeOfStep({ ...call, begin_ns: null }, process)).toBeNull();
  });

  it("is said in words, also what a newer version answers", () => {
    expect(reasonWords(dependency({ reasons: ["queue", "wait_list"] }))).toBe("order of the queue, wait list");
    expect(reasonWords(dependency({ reasons: ["call_wait"], inferred: true }))).toBe("the call waits for it (inferred)");
    expect(reasonWords(dependency({ reasons: ["graph"] }))).toBe("graph");
    expect(unknownWords("untimed")).not.toBe(unknownWords("something new"));
  });
});

describe("links", () => {
  it("go from the end of what had to finish first to where the other went on: the start of an operation, the end of a call", () => {
    const finish = dependency({ kind: "call", lane: 1, begin_ns: 1030, end_ns: 1100, reasons: ["call_queue"], decided: true });
    const running = dependency({ kind: "call", lane: 1, begin_ns: 1045, end_ns: 1060, reasons: ["submission"] });
    expect(linksOf(dependencies({ before: [dependency({ decided: true }), running], after: [finish] }), process)).toEqual([
      { from: { lane: "3:2", time: 40 }, to: { lane: "3:2", time: 50 }, strong: true, other: "from" },
      { from: { lane: "3:1", time: 50 }, to: { lane: "3:2", time: 50 }, strong: false, other: "from" }, /* it was still running */
      { from: { lane: "3:2", time: 90 }, to: { lane: "3:1", time: 100 }, strong: true, other: "to" },
    ]);
  });
});

describe("arrows", () => {
  const heights: Record<string, number> = { "3:1": 10, "3:2": 30, "3:8": 50, "3:9": 50 }; /* two in a closed group */
  const sight: Sight = { width: 100, x: (time) => time, y: (lane) => heights[lane] ?? null };
  const link = (from: [string, number], to: [string, number], strong = false) => ({ from: { lane: from[0], time: from[1] }, to: { lane: to[0], time: to[1] }, strong, other: "to" as const });

  it("draw the deciding one last, above the others", () => {
    expect(arrowsOf([link(["3:1", 20], ["3:2", 40], true), link(["3:2", 20], ["3:2", 40])], sight)).toEqual([
      { x0: 20, y0: 30, x1: 40, y1: 30, strong: false, count: 1, other: "to" },
      { x0: 20, y0: 10, x1: 40, y1: 30, strong: true, count: 1, other: "to" },
    ]);
  });

  it("point to the edge where the other end is off screen, and are one with a count", () => {
    const far = [500, 600, 700].map((time) => link(["3:1", 20], ["3:2", time]));
    expect(arrowsOf(far, sight)).toEqual([{ x0: 20, y0: 10, x1: 100, y1: 30, strong: false, count: 3, other: "to" }]);
  });

  it("point to the closed group, and are one with a count; the deciding one is apart", () => {
    const group = [link(["3:1", 20], ["3:8", 41]), link(["3:1", 20], ["3:9", 42]), link(["3:1", 20], ["3:9", 43], true)];
    expect(arrowsOf(group, sight).map(({ y1, strong, count }) => [y1, strong, count])).toEqual([[50, false, 2], [50, true, 1]]);
  });

  it("are not drawn where both ends are on one side, or a lane has no place", () => {
    expect(arrowsOf([link(["3:1", -50], ["3:2", -20]), link(["3:1", 120], ["3:2", 150]), link(["3:1", 20], ["3:7", 40])], sight)).toEqual([]);
    expect(arrowsOf([link(["3:1", -50], ["3:2", 150])], sight).map(({ x0, x1 }) => [x0, x1])).toEqual([[0, 100]]);
  });
});
