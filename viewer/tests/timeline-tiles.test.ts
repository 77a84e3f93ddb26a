import { describe, expect, it } from "vitest";
import { toNumbers } from "../src/model/columns.js";
import { Labels } from "../src/model/timeline/labels.js";
import { correlated, eachInterval, hitTest, neighbour } from "../src/model/timeline/intervals.js";
import { runsOf, stroke, Strokes, Look, STEPS } from "../src/model/timeline/strokes.js";
import { askedRange, levelOf, missing, tilesFrom, tilesOf, TileStore, type Tile } from "../src/model/timeline/tiles.js";
import { answerOf, type MadeRow } from "./timeline-made.js";

const LANE = "0:1";

/** A store that was told of these rows at a level, in these tiles. */
function storeOf(rows: MadeRow[], level: number, numbers: number[], labels = new Labels(), store = new TileStore()): TileStore {
  for (const number of numbers) {
    const { from, to, pixels } = askedRange(level, number);
    const [tile] = tilesFrom(answerOf(rows, [1], from, to, pixels), level, number, false, labels);
    store.keep(LANE, tile!);
  }
  return store;
}

describe("numbers of 64 bits", () => {
  it("are those that a BigInt says", () => {
    const numbers = [0n, 1n, 4294967295n, 4294967296n, 1234567890123456n, 2n ** 53n];
    expect([...toNumbers(BigUint64Array.from(numbers))]).toEqual(numbers.map(Number));
  });
});

describe("tiles", () => {
  it("have bins that are the largest power of two no wider than a pixel", () => {
    expect(levelOf({ from: 0, to: 1920 }, 1920)).toBe(0);
    expect(levelOf({ from: 0, to: 100 }, 1920)).toBe(0);
    expect(levelOf({ from: 0, to: 1920 * 4 }, 1920)).toBe(2);
    expect(levelOf({ from: 0, to: 1920 * 7.9 }, 1920)).toBe(2);
    expect(levelOf({ from: 5e9, to: 7e9 }, 1920)).toBe(19); /* a pixel is 1,041,667 ns, 2^19 is 524,288 */
  });

  it("are those that the window touches", () => {
    expect(tilesOf({ from: 0, to: 1024 }, 0)).toEqual({ first: 0, last: 0 });
    expect(tilesOf({ from: 1023, to: 1025 }, 0)).toEqual({ first: 0, last: 1 });
    expect(tilesOf({ from: 2048, to: 6144 }, 1)).toEqual({ first: 1, last: 2 });
    expect(askedRange(3, 2)).toEqual({ from: 16384, to: 24576, pixels: 1024 });
  });

  it("are asked for once, in batches, the middle of the window first", () => {
    const store = storeOf([], 0, [1]), lanes = [{ key: LANE, depth: 0 }, { key: "0:2", depth: 0 }, { key: "0:3", depth: 0 }, { key: "0:4", depth: 2 }];
    const wanted = missing(store, lanes, { from: 0, to: 3072 }, 0, false, 2);
    expect(wanted.map(({ number, depth, lanes }) => [number, depth, lanes.join()])).toEqual([
      [1, 0, "0:2,0:3"], [1, 2, "0:4"], [0, 0, "0:1,0:2"], [0, 0, "0:3"], [0, 2, "0:4"], [2, 0, "0:1,0:2"], [2, 0, "0:3"], [2, 2, "0:4"],
    ]);
  });

  it("that are known in part are asked for again only if all is wanted", () => {
    const store = new TileStore(), [tile] = tilesFrom(answerOf([], [1], 0, 1024, 1024, 0, true), 0, 0, false, new Labels());
    store.keep(LANE, tile!);
    const window = { from: 0, to: 1000 }, lanes = [{ key: LANE, depth: 0 }];
    expect(missing(store, lanes, window, 0, false, 8)).toEqual([]);
    expect(missing(store, lanes, window, 0, true, 8)).toHaveLength(1);
    store.keep(LANE, { ...tile!, exact: true });
    expect(missing(store, lanes, window, 0, true, 8)).toEqual([]);
  });

  it("of another zoom stand in until the right one is there", () => {
    const store = storeOf([], 2, [0], undefined, storeOf([], 0, [1]));
    const shown = store.segments(LANE, 0, 0, { from: 0, to: 4096 }).map(({ tile, from, to }) => [tile.level, tile.number, from, to]);
    expect(shown).toEqual([[2, 0, 0, 1024], [0, 1, 1024, 2048], [2, 0, 2048, 4096]]);
    expect(store.segments(LANE, 0, 1, { from: 0, to: 2048 }).map(({ tile }) => tile.level)).toEqual([2]);
    expect(store.segments(LANE, 0, 10, { from: 0, to: 4096 })).toEqual([]); /* too far from it to say anything */
    expect(store.segments(LANE, 1, 0, { from: 0, to: 4096 })).toEqual([]); /* another depth has other labels */
  });

  it("that were not used for longest are forgotten", () => {
    const rows: MadeRow[] = Array.from({ length: 500 }, (_, i) => ({ lane: 1, begin: i * 8, end: i * 8 + 4, label: "k" }));
    const store = storeOf(rows, 0, [0, 1, 2], undefined, new TileStore(16000)), known = [0, 1, 2].filter((n) => store.find(LANE, 0, 0, n));
    expect(known).toEqual([2]);
  });
});

/* Two tiles of level 0: a call that crosses the border and calls something twice, and an operation that does. */
const cut: MadeRow[] = [
  { lane: 1, begin: 100, end: 200, label: "a", correlation: 7 },
  { lane: 1, begin: 900, end: 1024, label: "call", kind: "call", correlation: 9 },
  { lane: 1, begin: 1024, end: 1500, label: "call", kind: "call", correlation: 9 },
  { lane: 1, begin: 1600, end: 1600, label: "mark", kind: "call" },
];

describe("intervals", () => {
  it("are those that lie at a point, all of them", () => {
    const segments = storeOf(cut, 0, [0, 1]).segments(LANE, 0, 0, { from: 0, to: 2048 });
    expect(hitTest(LANE, segments, 0, 150, 0)).toMatchObject({ begin: 100, end: 200, correlation: 7, kind: "operation", merged: false });
    for (const time of [900, 1000, 1024, 1499]) expect(hitTest(LANE, segments, 0, time, 0)).toMatchObject({ begin: 900, end: 1500, time: 600, kind: "call", cut: false });
    expect(hitTest(LANE, segments, 0, 500, 0)).toBeNull();
    expect(hitTest(LANE, segments, 0, 500, 350)).toMatchObject({ begin: 100 });
    expect(hitTest(LANE, segments, 0, 1598, 3)).toMatchObject({ begin: 1600, end: 1601, time: 0, merged: true }); /* an instant is in a bin */
    expect(hitTest(LANE, segments, 1, 150, 0)).toBeNull();
  });

  it("say that they may go on where what lies there is not known", () => {
    const segments = storeOf(cut, 0, [1]).segments(LANE, 0, 0, { from: 0, to: 2048 });
    expect(hitTest(LANE, segments, 0, 1100, 0)).toMatchObject({ begin: 1024, end: 1500, cut: true });
  });

  it("that several tiles have are given once", () => {
    const rows: MadeRow[] = [{ lane: 1, begin: 500, end: 3000, label: "long" }, { lane: 1, begin: 1200, end: 1300, label: "b" }];
    const segments = storeOf(rows, 0, [0, 1, 2]).segments(LANE, 0, 0, { from: 0, to: 3072 });
    const given = (from: number, to: number) => {
      const seen: number[] = [];
      eachInterval(segments, 0, from, to, (_, tile, i) => void seen.push(tile.begin[i]!));
      return seen;
    };
    expect(given(0, 3072)).toEqual([500, 1200]);
    expect(given(2500, 2600)).toEqual([500]);
    expect(hitTest(LANE, segments, 0, 2900, 0)).toMatchObject({ begin: 500, end: 3000 });
    expect(hitTest(LANE, segments, 0, 1250, 0)).toMatchObject({ begin: 1200 });
  });

  it("have neighbours before and after, pieces of one counted as one", () => {
    const segments = storeOf(cut, 0, [0, 1]).segments(LANE, 0, 0, { from: 0, to: 2048 });
    const first = hitTest(LANE, segments, 0, 150, 0)!, second = neighbour(LANE, segments, first, 1)!, third = neighbour(LANE, segments, second, 1)!;
    expect([second.begin, second.end, third.begin]).toEqual([900, 1500, 1600]);
    expect(neighbour(LANE, segments, third, 1)).toBeNull();
    expect(neighbour(LANE, segments, third, -1)).toMatchObject({ begin: 900, end: 1500 });
    expect(neighbour(LANE, segments, second, -1)).toMatchObject({ begin: 100 });
    expect(neighbour(LANE, segments, first, -1)).toBeNull();
  });

  it("are found by their correlation", () => {
    const segments = storeOf(cut, 0, [0, 1]).segments(LANE, 0, 0, { from: 0, to: 2048 });
    expect(correlated(LANE, segments, { from: 0, to: 2048 }, 9).map(({ begin, end }) => [begin, end])).toEqual([[900, 1500]]);
    expect(correlated(LANE, segments, { from: 0, to: 2048 }, 8)).toEqual([]);
  });
});

describe("strokes", () => {
  const labels = new Labels();
  const strokesOf = (rows: MadeRow[], window: { from: number; to: number }, width: number, level = levelOf(window, width), numbers = [0, 1, 2, 3]) => {
    const out = new Strokes(width);
    stroke(out, storeOf(rows, level, numbers, labels).segments(LANE, 0, level, window), 0, window, 30);
    return out;
  };

  it("cover what an interval covers, and no less than a pixel", () => {
    const rows: MadeRow[] = [{ lane: 1, begin: 100, end: 200, label: "a" }, { lane: 1, begin: 300, end: 301, label: "b" }, { lane: 1, begin: 400, end: 400, label: "m" }];
    const out = strokesOf(rows, { from: 0, to: 1000 }, 1000);
    expect(runsOf(out).map(({ x0, x1, label, look }) => [x0, x1, labels.texts[label], look])).toEqual([[100, 200, "a", Look.Solid], [300, 301, "b", Look.Solid], [400, 401, "m", Look.Mark]]);
    expect(out.named.map(({ x0, x1, label }) => [x0, x1, labels.texts[label]])).toEqual([[100, 200, "a"]]);
  });

  it("of bins are as high as they are busy", () => {
    const rows: MadeRow[] = Array.from({ length: 256 }, (_, i) => ({ lane: 1, begin: i * 8, end: i * 8 + (i < 128 ? 2 : 6), label: "k" }));
    const out = strokesOf(rows, { from: 0, to: 2048 }, 256);
    expect(runsOf(out).map(({ x0, x1, height }) => [x0, x1, height / STEPS])).toEqual([[0, 128, 0.25], [128, 256, 0.75]]);
    expect(out.named).toEqual([]);
  });

  it("name an interval once, though tiles cut it", () => {
    const out = strokesOf(cut, { from: 0, to: 2048 }, 2048, 0);
    expect(out.named.filter(({ label }) => labels.texts[label] === "call").map(({ x0, x1 }) => [x0, x1])).toEqual([[900, 1500]]);
    const long = strokesOf([{ lane: 1, begin: 500, end: 3000, label: "long" }], { from: 0, to: 3072 }, 3072, 0);
    expect(runsOf(long).map(({ x0, x1 }) => [x0, x1])).toEqual([[500, 3000]]);
    expect(long.named.map(({ x0, x1 }) => [x0, x1])).toEqual([[500, 3000]]);
  });

  it("leave idle time as it is", () => {
    const out = strokesOf([], { from: 0, to: 1000 }, 100);
    expect(out.any).toBe(false);
    expect(runsOf(out)).toEqual([]);
  });

  it("are the same as if each pixel looked for its interval", () => {
    let seed = 1;
    const chance = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
    const rows: MadeRow[] = [];
    for (let at = 0; at < 3900; ) {
      const begin = at + 2 + chance(40), end = begin + 2 + chance(90);
      rows.push({ lane: 1, begin, end, label: `k${chance(5)}` });
      at = end;
    }
    const out = strokesOf(rows, { from: 0, to: 4096 }, 4096, 0, [0, 1, 2, 3]);
    for (let x = 0; x < 4096; x++) {
      const there = rows.find((row) => row.begin <= x && x < row.end);
      expect(out.label[x] === -1 ? undefined : labels.texts[out.label[x]!]).toBe(there?.label);
    }
  });
});

describe("a tile", () => {
  it("has its tracks one after the other", () => {
    const rows: MadeRow[] = [{ lane: 1, begin: 0, end: 500, label: "outer", kind: "range", track: 1 }, { lane: 1, begin: 100, end: 200, label: "inner", kind: "range", track: 2 }, { lane: 1, begin: 50, end: 60, label: "f", kind: "sample" }];
    const [tile] = tilesFrom(answerOf(rows, [1], 0, 1024, 1024), 0, 0, false, new Labels()) as [Tile];
    expect([...tile.starts]).toEqual([0, 1, 2, 3]);
    expect([...tile.spans]).toEqual([10, 500, 100]);
  });
});
