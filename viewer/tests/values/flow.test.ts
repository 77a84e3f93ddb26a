import { describe, expect, it } from "vitest";
import { layOut, pathOf, shortened } from "../../src/draw/graph.js";
import { cellOf, framesOf, matrixOf, wereRecorded, type Edge, type Found, type Values } from "../../src/model/values/answer.js";
import { drawnOf, labelOf, redundancyOf, sentenceOf, widthOf, wordsOf } from "../../src/model/values/flow.js";

const edge = (from: number, to: number, bytes: number, unchanged: number | null = null): Edge => ({
  from, to, object: "buffer in main() a.c:3", reads: false, writes: true, exact: true, operations: 1, bytes, unchanged,
});
const vertex = (id: number): Values["graph"]["vertices"][number] => ({ id, kind: "operation", name: `k${id}`, called_from: "step() a.c:9 ← main()", operations: 1200, time_ns: 1500 });
const found = (pattern: string, bytes: number): Found => ({
  pattern, operation: "k", called_from: "main()", operations: 1, share: 1, bytes, element_bytes: 4, line: null, evidence: "", exact: true,
});

describe("the value flow graph", () => {
  const graph = { vertices: [vertex(1), vertex(2), vertex(3)], edges: [edge(1, 2, 100, 0.5), edge(2, 2, 25), edge(2, 3, 1, 0)] };

  it("is drawn whole, or its edges with most bytes and their vertices", () => {
    expect(drawnOf(graph, 3)).toEqual({ ...graph, left_out: 0 });
    expect(drawnOf(graph, 2)).toEqual({ vertices: [vertex(1), vertex(2)], edges: graph.edges.slice(0, 2), left_out: 1 });
  });
  it("has wider lines for more bytes", () => {
    const [a, b, c] = [100, 25, 1].map((bytes) => widthOf(bytes, 100));
    expect(a! - 1.2).toBeCloseTo(2 * (b! - 1.2));
    expect(c!).toBeLessThan(b!);
    expect(widthOf(0, 0)).toBeCloseTo(1.2);
  });
  it("tells what was not compared from what is not redundant", () => {
    expect(graph.edges.map(redundancyOf)).toEqual(["high", "unknown", "low"]);
    expect(redundancyOf(edge(1, 2, 1, 0.33))).toBe("high");
    expect(redundancyOf(edge(1, 2, 1, 0.2))).toBe("some");
  });
  it("says what it shows", () => {
    expect(wordsOf(vertex(7))).toEqual(["k7", "step() a.c:9", "1,200 operations · 1.50 µs"]);
    expect(wordsOf({ ...vertex(0), kind: "host", called_from: null })).toEqual(["k0"]);
    expect(wordsOf({ ...vertex(3), kind: "allocation", operations: 1 })).toEqual(["k3", "step() a.c:9", "main()", "1 object"]);
    expect(labelOf(graph.edges[0]!)).toBe("100 B · 50.0 %");
    expect(sentenceOf(graph.edges[0]!, new Map([[1, vertex(1)], [2, vertex(2)]]))).toBe(
      "2 k2 writes buffer in main() a.c:3, last of 1 k1: 100 B in 1 operation; 50.0 % of what it wrote was there already");
  });
  it("is laid out from top to bottom, with room for each box, circles too", () => {
    const box = (id: string) => ({ id, width: 100, height: 40 });
    const layout = layOut([box("1"), box("2"), box("3")], [["1", "2"], ["2", "2"], ["2", "3"], ["1", "2"]].map(([from, to]) => ({ from: from!, to: to!, width: 60, height: 14 })));
    const [a, b, c] = ["1", "2", "3"].map((id) => layout.boxes.get(id)!);
    expect(a!.y + 20).toBeLessThan(b!.y - 20);
    expect(b!.y + 20).toBeLessThan(c!.y - 20);
    expect(layout.lines).toHaveLength(4);
    for (const { points } of layout.lines) expect(pathOf(points)).toMatch(/^M[\d. -]+([QL][\d. -]+)+$/);
    for (const { x, y } of layout.boxes.values()) {
      expect(x).toBeGreaterThan(49);
      expect(x + 49).toBeLessThan(layout.width);
      expect(y + 19).toBeLessThan(layout.height);
    }
  });
});

describe("objects and patterns", () => {
  const object = (name: string, patterns: Found[]) => ({ name, site: null, count: 1, bytes: 10, patterns });
  const values: Values = {
    objects: [object("a", []), object("b", [found("redundant", 1), found("redundant", 5), found("frequent", 9)])],
    coverage: [], graph: { vertices: [], edges: [] },
  };

  it("puts objects without a pattern last, and keeps their numbers", () => {
    expect(matrixOf(values).map(({ object: o, index }) => [o.name, index])).toEqual([["b", 1], ["a", 0]]);
  });
  it("puts what was found most first", () => {
    expect(cellOf(values.objects[1]!, "redundant").map((f) => f.bytes)).toEqual([5, 1]);
    expect(cellOf(values.objects[0]!, "redundant")).toEqual([]);
  });
  it("knows when nothing was recorded", () => {
    expect(wereRecorded(values)).toBe(true);
    expect(wereRecorded({ ...values, objects: [object("a", [])] })).toBe(false);
  });
  it("takes calling contexts apart", () => {
    expect(framesOf("a() ← b() c.c:1")).toEqual(["a()", "b() c.c:1"]);
    expect(framesOf(null)).toEqual([]);
  });
});

describe("long names", () => {
  it("lose their middle", () => {
    expect(shortened("abcdefghij", 10)).toBe("abcdefghij");
    expect(shortened("abcdefghijk", 10)).toBe("abcde…hijk");
    expect([...shortened("µ".repeat(300), 20)]).toHaveLength(20);
  });
});
