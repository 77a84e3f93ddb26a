/* compare.test.ts - the page Compare: what follows from the answer of the request `diff`. */
import { describe, expect, it } from "vitest";
import { differenceColour } from "../src/draw/colours.js";
import { changeOfNode, contextTree, sideOf } from "../src/model/comparetree.js";
import { layoutFlame } from "../src/draw/flame.js";
import { changeOf, compareSvg, csvRows, deltaText, matchText, metricsIn, ratioText, relativeText, scaleOf, testText, valueText, type Diff, type DiffRow } from "../src/model/compare.js";

function row(before: number, after: number, more: Partial<DiffRow> = {}): DiffRow {
  return {
    context: "step() a.c:1", context_before: null, kernel: "k", kernel_before: null, path: ["main() a.c", "step() a.c", "k"], match: "same", node: 7, metric: "time",
    before, after, delta: after - before, low: null, high: null, p: null, significant: null, ...more,
  };
}

describe("bars", () => {
  it("of both sides are on one scale", () => {
    expect(scaleOf([row(5, 2), row(1, 9), row(3, 3)])).toBe(9);
    expect(scaleOf([])).toBe(0);
  });

  it("have a colour by the relative difference, the same beyond a half, and none where it may be noise", () => {
    expect([row(100, 125), row(100, 150), row(100, 400), row(100, 75), row(100, 0), row(100, 100), row(0, 3), row(0, 0)].map(changeOf)).toEqual([0.5, 1, 1, -0.5, -1, 0, 1, 0]);
    expect(changeOf(row(100, 400, { significant: false }))).toBeNull();
    expect(changeOf(row(100, 400, { significant: true }))).toBe(1);
  });

  it("are grey in the middle, and blue and vermilion at the ends", () => {
    for (const dark of [false, true]) {
      const [faster, none, slower] = [-1, 0, 1].map((change) => differenceColour(change, { dark }));
      const part = (colour: string, at: number) => parseInt(colour.slice(1 + 2 * at, 3 + 2 * at), 16);
      expect(part(faster!, 2) - part(faster!, 0)).toBeGreaterThan(100);
      expect(part(slower!, 0) - part(slower!, 2)).toBeGreaterThan(100);
      expect(Math.abs(part(none!, 0) - part(none!, 2))).toBeLessThan(12);
      expect(differenceColour(null, { dark })).toBe(none);
    }
  });
});

describe("words", () => {
  it("have a sign, and the unit of their metric", () => {
    expect(deltaText(row(1e6, 2.5e6))).toBe("+1.50 ms");
    expect(deltaText(row(12, 9, { metric: "count" }))).toBe("−3");
    expect(deltaText(row(12, 12, { metric: "count" }))).toBe("0");
    expect(valueText("count", 4 / 3)).toBe("1.3");
    expect(valueText("bytes", 4.2e6)).toBe("4.20 MB");
  });

  it("give the relative difference with its interval where there is one", () => {
    expect(relativeText(row(200, 300, { low: 90, high: 110 }))).toBe("+50.0 % [+45.0, +55.0]");
    expect(relativeText(row(200, 100))).toBe("−50.0 %");
    expect(relativeText(row(0, 5, { match: "new" }))).toBe("new");
    expect(relativeText(row(5, 0, { match: "gone" }))).toBe("gone");
    expect(relativeText(row(0, 5))).toBe("from 0");
    expect(ratioText({ before_ns: 1, after_ns: 2, ratio: 1.34, low: 1.324, high: 1.356 })).toBe("+34.0 % [+32.4, +35.6]");
    expect(ratioText({ before_ns: 1, after_ns: 2, ratio: 0.9999, low: null, high: null })).toBe("0.0 % (how much runs differ is unknown)");
    expect(ratioText({ before_ns: null, after_ns: 2, ratio: null, low: null, high: null })).toBe("unknown");
  });

  it("tell what was not tested from what is not significant", () => {
    expect([null, true, false].map((significant) => testText(row(1, 2, { significant })))).toEqual(["not tested", "significant", "not significant"]);
  });

  it("say what was matched by its surroundings, and what it was", () => {
    expect(matchText(row(1, 2))).toBeNull();
    expect(matchText(row(1, 2, { match: "moved", context_before: "step() a.c:3" }))).toBe("moved, matched by its surroundings: was step() a.c:3");
    expect(matchText(row(1, 2, { match: "renamed", kernel_before: "old", context_before: "f() a.c:1" }))).toBe("renamed, matched by its surroundings: was old in f() a.c:1");
    expect(matchText(row(0, 2, { match: "new" }))).toBe("new");
  });

  it("are of the metrics that there are", () => {
    expect(metricsIn({ rows: [row(1, 2, { metric: "cpu" }), row(1, 2), row(3, 4)] } as Diff)).toEqual(["time", "cpu"]);
  });
});

describe("what is saved", () => {
  const rows = [row(1e6, 2e6, { significant: true, context: "<a> & b" }), row(4e6, 4e6, { kernel: null })];

  it("has numbers in full", () => {
    const [head, first] = csvRows(rows);
    expect(first![head!.indexOf("before")]).toBe(1e6);
    expect(first![head!.indexOf("significant")]).toBe("true");
    expect(csvRows(rows)[2]![head!.indexOf("kernel")]).toBeNull();
  });

  it("is one scale as a picture, and names are text", () => {
    const svg = compareSvg(rows, 1200, (change) => differenceColour(change, { dark: false }), { paper: "#fff", ink: "#000", line: "#ccc" });
    const widths = [...svg.matchAll(/<rect x="[\d.]+" y="[\d.]+" width="([\d.]+)" height="10"/g)].map(([, width]) => Number(width));
    expect(widths).toHaveLength(4);
    expect(widths[1]! / widths[0]!).toBeCloseTo(2);
    expect(widths[2]! / widths[0]!).toBeCloseTo(4);
    expect(svg).toContain("&lt;a&gt; &amp; b");
    expect(svg).toContain("+1.00 ms");
  });
});

describe("the tree of contexts", () => {
  const nodes = contextTree([
    row(10, 40, { path: ["main", "a", "k"], significant: true }), row(30, 31, { path: ["main", "a", "j"], significant: false }), row(20, 0, { path: ["main", "b"], match: "gone" }), row(0, 5, { path: ["other"] }),
  ]);
  const find = (label: string) => nodes.find((node) => node.label === label)!;

  it("adds up rows along their paths, on both sides", () => {
    expect(["all", "main", "a", "k", "j", "b", "other"].map((label) => [find(label).before, find(label).after])).toEqual([[60, 76], [60, 71], [40, 71], [10, 40], [30, 31], [20, 0], [0, 5]]);
    expect(nodes[find("main").children[0]!]!.label).toBe("a");
  });

  it("colours by what is significant, or was not tested", () => {
    expect(["a", "k", "j", "b", "other"].map((label) => changeOfNode(find(label)))).toEqual([1, 1, null, -1, 1]);
    expect(changeOfNode(find("main"))).toBeCloseTo((2 * 10) / 60);
  });

  it("lays both sides out in one order", () => {
    const [before, after] = (["before", "after"] as const).map((side) => layoutFlame(sideOf(nodes, side), 0, 0.001).map(({ row: at }) => nodes[at]!.label));
    expect(before).toEqual(["all", "main", "a", "b", "k", "j"]);
    expect(after).toEqual(["all", "main", "other", "a", "k", "j"]);
  });
});
