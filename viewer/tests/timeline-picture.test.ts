/* timeline-picture.test.ts - where lanes are in a picture, and the picture that is saved: what lies over the lanes, and counters. */
import { describe, expect, it } from "vitest";
import type { Steps } from "../src/model/path.js";
import type { Link } from "../src/model/timeline/dependencies.js";
import type { Interval } from "../src/model/timeline/intervals.js";
import { GROUP_HEIGHT, laneHeight, laneTree, rowsOf, trackBox, type Leaf, type Rows } from "../src/model/timeline/lanes.js";
import { svgOf, type PictureOf } from "../src/model/timeline/picture.js";
import type { Series } from "../src/model/timeline/series.js";
import { Places, Sight, type Pane } from "../src/model/timeline/sight.js";
import type { Lane, Run } from "../src/model/types.js";

const lane = (number: number, kind: "queue" | "thread"): Lane => ({
  lane: number, kind, title: `<b>${kind}</b>`, name: null, tid: null, threads: null, device: kind === "queue" ? 0 : null, context: null, out_of_order: false, traces: { operations: { rows: 1, from_ns: 0, to_ns: 1 } },
});
const run = {
  sonde: "", path: "", command: null, wall_begin_ns: 0, length_ns: 1000,
  processes: [{
    process: 0, name: "p", host: "h", pid: 1, executable: "/bin/heat", rank: null, local_rank: null, ranks: null, traced: true, origin_ns: 0, begin_ns: 0, recorded_ns: 0, end_ns: 1000, clock_bound_ns: null, pauses: [],
    devices: [{ device: 0, name: "GPU" }], lanes: [lane(1, "thread"), lane(2, "queue")],
  }],
} as unknown as Run;
const WINDOW = { from: 0, to: 1000 }, WIDTH = 500, H = laneHeight(1);

/* Rows, from the top: process, threads, thread, device, queue. */
function rows(closed: string[] = [], pins: string[] = []): Rows {
  return rowsOf(laneTree(run), new Set(closed), pins, () => 1);
}

function sight({ pinned, rest }: Rows, pane: Pane): Sight {
  return new Sight(new Places([pinned, rest]), [{ scroll: 0, height: 0, above: 0 }, pane], WINDOW, WIDTH);
}

const LINK: Link = { from: { lane: "0:1", time: 100 }, to: { lane: "0:2", time: 400 }, strong: true, other: "to" };
const arrow = (of: Sight) => of.arrows([LINK]).map(({ x0, y0, x1, y1 }) => [x0, y0, x1, y1])[0];
const ALL = 3 * GROUP_HEIGHT + 2 * H, box = trackBox(rows().rest[2]!, 0)!, middle = box.top + box.height / 2;

describe("an arrow", () => {
  it("goes from lane to lane", () => {
    expect(arrow(sight(rows(), { scroll: 0, height: ALL, above: 0 }))).toEqual([50, 2 * GROUP_HEIGHT + middle, 200, 3 * GROUP_HEIGHT + H + middle]);
  });

  it("is as far down as the pane is", () => {
    expect(arrow(sight(rows(), { scroll: 10, height: ALL, above: 40 }))).toEqual([50, 2 * GROUP_HEIGHT + middle + 30, 200, 3 * GROUP_HEIGHT + H + middle + 30]);
  });

  it("comes from a closed group, and goes to the edge where the lane is off screen", () => {
    expect(arrow(sight(rows(["p0t"]), { scroll: 0, height: 3 * GROUP_HEIGHT, above: 0 }))).toEqual([50, 1.5 * GROUP_HEIGHT, 200, 3 * GROUP_HEIGHT - 4]);
  });

  it("has no place where a lane has no row and no group", () => {
    expect(sight(rows(), { scroll: 0, height: ALL, above: 0 }).arrows([{ ...LINK, to: { lane: "9:9", time: 400 } }])).toEqual([]);
  });
});

const STEPS = {
  header: { process: 0, categories: ["api", "kernel"], strings: ["", ""], names: [] }, count: 2, begin: Float64Array.of(0, 400), end: Float64Array.of(400, 1000), lane: [1, 2], node: [0, 0], label: [0, 1], category: [0, 1], process: [0, 0],
} as unknown as Steps;
const COUNTER = { name: "device memory", unit: "bytes", device_name: "<i>GPU</i>", process: 0, device: 0, number: 0, key: "s0" } as Series;

function saved(more: Partial<PictureOf> = {}, from = rows()): Document {
  const places = new Places([from.pinned, from.rest]), chosen = { lane: "0:2", track: 0, begin: 400, end: 600 } as Interval;
  const svg = svgOf({
    pinned: from.pinned, rest: from.rest, width: WIDTH, window: WINDOW, texts: [], segments: () => [], use: () => null, counters: [],
    over(panes, height) {
      const of = new Sight(places, panes, WINDOW, WIDTH);
      return { width: WIDTH, height, range: { x0: 100, x1: 300 }, lines: [], cursor: null, paths: [of.path(STEPS)], outlines: of.outline(chosen, true), arrows: of.arrows([LINK]) };
    },
    colour: () => "#123", counterColour: () => "#456", shade: () => 0, paper: "#fff", ink: "#000", quiet: "#777", line: "#ccc", accent: "#00f", inkOn: () => "#000", ...more,
  });
  const page = new DOMParser().parseFromString(svg, "image/svg+xml");
  expect(page.querySelector("parsererror, b, i")).toBeNull();
  return page;
}

describe("the picture that is saved", () => {
  const lines = (page: Document, stroke: string) => [...page.querySelectorAll(`g path[stroke="${stroke}"]`)].map((path) => path.getAttribute("d"));
  const bottom = box.top + box.height, thread = 2 * GROUP_HEIGHT, queue = 3 * GROUP_HEIGHT + H;

  it("has the critical path, the chosen interval and its arrows where the lanes are", () => {
    const page = saved();
    expect(lines(page, "#00f")).toEqual([`M0 ${thread + bottom}L200 ${thread + bottom}L200 ${queue + bottom}L500 ${queue + bottom}`]);
    expect(lines(page, "#000")).toEqual([
      `M200 ${queue + box.top}H300V${queue + bottom}H200Z`,
      `M50 ${thread + middle}C125 ${thread + middle} 125 ${queue + middle} 194 ${queue + middle}`,
    ]);
    expect([...page.querySelectorAll('g rect[fill="#00f"]')].map((rect) => rect.getAttribute("x"))).toEqual(["100", "300"]);
    expect(page.querySelector("g")!.getAttribute("transform")).toBe("translate(220 30)");
  });

  it("is hatched where nothing was recorded", () => {
    const row = rows().rest[2]!, leaf = row.node as Leaf, pauses = [{ from_ns: 200, to_ns: 300 }, { from_ns: 500, to_ns: 501 }];
    const page = saved({ rest: [{ ...row, node: { ...leaf, process: { ...leaf.process, pauses } } }] });
    expect([...page.querySelectorAll('rect[fill="url(#unread)"]')].map((one) => ["x", "width"].map((name) => one.getAttribute(name)))).toEqual([["320", "50"]]);
  });

  it("begins below what is pinned, and where it was scrolled to", () => {
    const from = rows([], ["0:2"]), page = saved({ rest: from.rest.slice(2) }, from); /* the thread, and the device without its queue */
    expect(lines(page, "#00f")).toEqual([`M0 ${H + bottom}L200 ${H + bottom}L200 ${bottom}L500 ${bottom}`]);
  });

  it("has the counters below, each value up to the next, and nothing where none is known", () => {
    const points = { time: [0, 400, 600, 1000], min: [], mean: [], max: [100, 50, null, null] }, page = saved({ counters: [{ series: COUNTER, points }] });
    const floor = 30 + ALL + 60 - 7;
    expect(page.querySelector('path[fill="#456"]')!.getAttribute("d")).toBe(`M220 ${floor}V${floor - 46}H420V${floor - 23}H520V${floor}Z`);
    expect(page.documentElement.getAttribute("height")).toBe(String(30 + ALL + 60));
    expect(page.documentElement.textContent).toContain("100 B");
  });

  it("shows how busy what is closed was", () => {
    const page = saved({ use: ({ node }) => (node.kind === "device" ? Float32Array.of(0, 0.5, 0.5, 1) : null), over: (_panes, height) => ({ width: WIDTH, height, range: null, lines: [], cursor: null, paths: [], outlines: [], arrows: [] }) }, rows(["p0d0"]));
    const room = GROUP_HEIGHT - 4, top = 30 + 2 * GROUP_HEIGHT + H + 2;
    expect([...page.querySelectorAll('rect[fill="#00f"]')].map((rect) => ["x", "y", "width", "height"].map((name) => Number(rect.getAttribute(name))))).toEqual([[221, top + room / 2, 2, room / 2], [223, top, 1, room]]);
  });
});
