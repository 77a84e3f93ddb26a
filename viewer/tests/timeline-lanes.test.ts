import { describe, expect, it } from "vitest";
import { closedAtFirst, closedNow, GROUP_HEIGHT, laneHeight, laneTree, rowAt, rowsBetween, rowsOf, trackAt, trackBox, type TreeNode } from "../src/model/timeline/lanes.js";
import type { Lane, Process, Run } from "../src/model/types.js";

function lane(number: number, kind: "queue" | "thread", device: number | null = null, used = true): Lane {
  return {
    lane: number, kind, title: `${kind} ${number}`, name: null, tid: kind === "thread" ? 100 + number : null, threads: kind === "thread" ? 1 : null, device, context: null,
    out_of_order: false, traces: used ? { [kind === "thread" ? "calls" : "operations"]: { rows: 1, from_ns: 0, to_ns: 1 } } : {},
  };
}

function process(number: number, host: string, lanes: Lane[], devices = 1): Process {
  return {
    process: number, name: `${host}-${number}-1`, host, pid: 10 + number, executable: "/bin/heat", rank: null, local_rank: null, ranks: null, traced: true,
    origin_ns: 0, begin_ns: 0, recorded_ns: 0, end_ns: 10, clock_bound_ns: null, pauses: [],
    devices: Array.from({ length: devices }, (_, device) => ({ device, name: `GPU ${device}`, vendor: null, driver: null, platform: null, backend: null, memory_bytes: null, compute_units: null })),
    lanes,
  };
}

function run(processes: Process[]): Run {
  return { sonde: "", path: "", command: null, wall_begin_ns: 0, length_ns: 10, processes };
}

const keys = (nodes: TreeNode[]): unknown[] => nodes.map((node) => (node.kind === "lane" ? node.key : [node.key, keys(node.children)]));
const two = run([process(0, "a", [lane(1, "thread", null, false), lane(2, "thread"), lane(3, "queue", 1), lane(4, "queue", 0), lane(5, "queue")], 2)]);

describe("the tree of lanes", () => {
  it("groups by process, threads and devices; what was not used comes last", () => {
    expect(keys(laneTree(two))).toEqual([["p0", [["p0t", ["0:2", "0:1"]], ["p0d0", ["0:4"]], ["p0d1", ["0:3"]], ["p0d", ["0:5"]]]]]);
  });

  it("does not say a queue's device again beside it", () => {
    const queue = { ...lane(1, "queue", 0), title: "queue 1 on 0 GPU 0" }, [tree] = laneTree(run([process(0, "a", [queue, { ...queue, lane: 2, title: "transfers" }])]));
    const leaves = (node: TreeNode): string[] => (node.kind === "lane" ? [`${node.short} | ${node.title}`] : node.children.flatMap(leaves));
    expect(leaves(tree!)).toEqual(["queue 1 | queue 1 on 0 GPU 0", "transfers | transfers"]);
  });

  it("groups by host where there are several", () => {
    const tree = laneTree(run([process(0, "a", [lane(1, "thread")]), process(1, "b", [lane(1, "thread")]), process(2, "a", [lane(1, "thread")])]));
    expect(keys(tree)).toEqual([["ha", [["p0", [["p0t", ["0:1"]]]], ["p2", [["p2t", ["2:1"]]]]]], ["hb", [["p1", [["p1t", ["1:1"]]]]]]]);
  });

  it("opens a small run, and of a large one no more than a screen holds", () => {
    expect([...closedAtFirst(laneTree(two))]).toEqual([]);
    const many = laneTree(run([process(0, "a", Array.from({ length: 1000 }, (_, i) => lane(i + 1, "queue", 0)))]));
    expect([...closedAtFirst(many)]).toEqual(["p0d0"]);
    const ranks = laneTree(run(Array.from({ length: 100 }, (_, i) => process(i, "a", Array.from({ length: 10 }, (_, k) => lane(k + 1, "queue", 0))))));
    const closed = closedAtFirst(ranks);
    expect([...Array(100).keys()].filter((i) => !closed.has(`p${i}`))).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it("opens and closes by hand", () => {
    expect([...closedNow(new Set(["p1"]), ["p1", "p2"])]).toEqual(["p2"]);
  });
});

describe("rows", () => {
  const tree = laneTree(two);

  it("follow each other without a gap", () => {
    const { rest, restHeight } = rowsOf(tree, new Set(), [], () => 1);
    expect(rest.map((row) => row.node.key)).toEqual(["p0", "p0t", "0:2", "0:1", "p0d0", "0:4", "p0d1", "0:3", "p0d", "0:5"]);
    rest.forEach((row, i) => expect(row.top).toBe(i ? rest[i - 1]!.top + rest[i - 1]!.height : 0));
    expect(restHeight).toBe(5 * GROUP_HEIGHT + 5 * laneHeight(1));
  });

  it("hide what is closed, and show what is pinned on top even then", () => {
    const rows = rowsOf(tree, new Set(["p0t"]), ["0:2", "0:4", "9:9"], () => 1);
    expect(rows.pinned.map((row) => row.node.key)).toEqual(["0:2", "0:4"]);
    expect(rows.rest.map((row) => row.node.key)).toEqual(["p0", "p0t", "p0d0", "p0d1", "0:3", "p0d", "0:5"]);
  });

  it("are found by where they are", () => {
    const { rest, restHeight } = rowsOf(tree, new Set(), [], (leaf) => (leaf.key === "0:2" ? 3 : 1));
    for (let y = 0; y < restHeight; y += 0.5) expect(rowAt(rest, y)).toBe(rest.find((row) => y >= row.top && y < row.top + row.height));
    expect(rowAt(rest, restHeight)).toBeNull();
    expect(rowsBetween(rest, 0, restHeight)).toEqual({ first: 0, end: rest.length });
    expect(rowsBetween(rest, rest[2]!.top, rest[3]!.top)).toEqual({ first: 2, end: 3 });
  });

  it("have ranges above what a thread did, the outermost first", () => {
    const row = rowsOf(tree, new Set(), [], () => 3).rest[2]!, boxes = [0, 1, 2].map((track) => trackBox(row, track)!);
    expect(boxes[1]!.top).toBeLessThan(boxes[2]!.top);
    expect(boxes[2]!.top).toBeLessThan(boxes[0]!.top);
    expect(boxes[0]!.top + boxes[0]!.height).toBeLessThanOrEqual(row.height);
    boxes.forEach((box, track) => expect(trackAt(row, box.top + box.height / 2)).toBe(track));
    expect(trackBox(row, 3)).toBeNull();
  });
});
