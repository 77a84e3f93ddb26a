import { describe, expect, it } from "vitest";
import type { Columns } from "../src/model/columns.js";
import { certaintyRequest, certaintyWords } from "../src/model/timeline/certainty.js";
import { KINDS } from "../src/model/timeline/tiles.js";
import type { Interval } from "../src/model/timeline/intervals.js";
import { Loader } from "../src/model/timeline/loader.js";
import { nextRequest } from "../src/model/timeline/next.js";
import { binAt, binWords, formatValue, pointsOf, seriesClosedAtFirst, seriesGroups, seriesTiles, type SeriesAbout, type SeriesHeader, type SeriesTile } from "../src/model/timeline/series.js";
import { askedRange, TileStore } from "../src/model/timeline/tiles.js";
import type { Process, Run } from "../src/model/types.js";

const about = (name: string, unit: string, device: number | null = 0, process = 0): SeriesAbout => ({ process, device, device_name: device === null ? null : `${device} GPU`, name, unit });
const process = (number: number): Process => ({ process: number, name: `host-${number}-0`, pid: 40 + number, executable: "/bin/heat", lanes: [{ lane: 2, kind: "thread", tid: 77 }], devices: [] }) as unknown as Process;
const run = (count: number) => ({ processes: Array.from({ length: count }, (_, i) => process(i)) }) as unknown as Run;

/** An answer of one series whose bin i has i as its least, 2 i as its most, and something between as its mean. */
function answer(from: number, bin: number, count: number, partial = false): Columns<SeriesHeader> {
  const of = (value: (i: number) => number) => Float64Array.from({ length: count }, (_, i) => value(from / bin + i));
  return {
    header: { from_ns: from, to_ns: from + bin * count, bin_ns: bin, partial, read_rows: 0, series: [about("device memory", "bytes")], lines: [{ series: 0, first: 0, count, from_ns: from, bin_ns: bin, partial }] },
    columns: { min: of((i) => i), max: of((i) => 2 * i), last: of((i) => i), mean: of((i) => 1.5 * i) },
  };
}

function storeOf(...tiles: [number, number, Columns<SeriesHeader>][]): TileStore<SeriesTile> {
  const store = new TileStore<SeriesTile>();
  for (const [level, number, made] of tiles) store.keep("s0", seriesTiles(made, level, number, false)[0]!);
  return store;
}

describe("series", () => {
  it("are in groups by process and device, what is no device's last", () => {
    const groups = seriesGroups([about("pinned host memory", "bytes", null), about("busy", "share"), about("operations in flight", "operations"), about("busy", "share", 1), about("busy", "share", 0, 1)], run(2));
    expect(groups.map((group) => [group.key, group.title, group.series.map((one) => one.key)])).toEqual([
      ["c0d0", "Device 0", ["s1", "s2"]], ["c0d1", "Device 1", ["s3"]], ["c0d", "No known device", ["s0"]], ["c1d0", "Device 0", ["s4"]],
    ]);
    expect(groups[0]!.detail).toBe("GPU · heat 40");
    expect([...seriesClosedAtFirst(groups)]).toEqual(["c0d1", "c0d", "c1d0"]);
    expect(seriesClosedAtFirst(groups.slice(0, 3)).size).toBe(0);
  });

  it("of a unit that is not known are shown all the same", () => {
    const power = about("power", "watts");
    expect(binWords(power, { min: 100, max: 250.5, mean: 120 })).toBe("100 to 251");
    expect(formatValue(about("m", "bytes"), 65536)).toBe("65.5 kB");
    expect(binWords(about("busy", "share"), { min: 0, max: 1, mean: 0.25 })).toBe("25.0 %");
    expect(binWords(about("n", "operations"), { min: 3, max: 3, mean: 3 })).toBe("3");
    expect(binWords(power, null)).toBe("not read");
  });

  it("have the bins of the answer in the window, each from its begin on", () => {
    const store = storeOf([0, 0, answer(0, 1, 1024)]), window = { from: 10, to: 14 };
    const points = pointsOf(store.segments("s0", 0, 0, window), window);
    expect(points).toEqual({ time: [10, 11, 12, 13, 14], min: [10, 11, 12, 13, 13], max: [20, 22, 24, 26, 26], mean: [15, 16.5, 18, 19.5, 19.5] });
  });

  it("have a gap where nothing is known", () => {
    const store = storeOf([0, 1, answer(1024, 1, 1024)], [0, 3, answer(3072, 1, 0, true)]), window = { from: 1022, to: 3074 };
    const { time, max } = pointsOf(store.segments("s0", 0, 0, window), window);
    expect([time[0], max[0]]).toEqual([1022, null]);
    expect([time[1], max[1]]).toEqual([1024, 2048]);
    expect([time[1025], max[1025]]).toEqual([2048, null]);
    expect(max[max.length - 1]).toBe(null);
    expect(binAt(store.segments("s0", 0, 0, window), 1030.5)).toEqual({ min: 1030, max: 2060, mean: 1545 });
    expect(binAt(store.segments("s0", 0, 0, window), 2050)).toBe(null);
    expect(binAt(store.segments("s0", 0, 0, window), 3073)).toBe(null);
  });

  it("show wider bins where finer ones are not known", () => {
    const { from } = askedRange(0, 2), store = storeOf([0, 2, answer(from, 256, 4, true)]), window = { from: from + 100, to: from + 600 };
    const points = pointsOf(store.segments("s0", 0, 0, window), window);
    expect(points.time).toEqual([from + 100, from + 256, from + 512, from + 600]);
    expect(points.min).toEqual([8, 9, 10, 10]);
  });

  it("are asked for in tiles, and again with exact where they are partial", async () => {
    const store = new TileStore<SeriesTile>(), asked: [number, number, boolean][] = [];
    let changed = () => undefined as void;
    const loader = new Loader(store, async ({ lanes, level, number }, exact) => {
      asked.push([level, number, exact]);
      return lanes.flatMap(() => seriesTiles(answer(number * 1024, 1, exact ? 1024 : 0, !exact), level, number, exact));
    }, () => changed());
    const still = () => new Promise<void>((done) => (changed = () => !loader.busy && done()));
    const view = { lanes: [{ key: "s0", depth: 0 }], window: { from: 0, to: 1000 }, width: 1000 };
    loader.show({ ...view, exact: false });
    await still();
    expect(asked).toEqual([[0, 0, false]]);
    loader.show({ ...view, exact: true });
    await still();
    expect(asked).toEqual([[0, 0, false], [0, 0, true]]);
    loader.show({ ...view, exact: true });
    await still();
    expect(asked.length).toBe(2);
    loader.stop();
  });
});

describe("the next one", () => {
  const at = { lane: "0:7", track: 1, begin: 500, correlation: 9 };
  it("comes after a place, or at a time", () => {
    expect(nextRequest({ routine: "a b" }, at, 1, 0)).toBe("next?routine=a%20b&at=500&place=0%3A7%3A1%3A9");
    expect(nextRequest({ text: "k" }, at, -1, 2)).toBe("next?text=k&at=500&place=0%3A7%3A1%3A9&back&depth=2");
    expect(nextRequest({ text: "k" }, -3.5, 1, 0)).toBe("next?text=k&at=0");
    expect(nextRequest({ text: "k" }, 3.5, -1, 0)).toBe("next?text=k&at=4&back");
  });
});

describe("how sure a stretch is", () => {
  const interval = { lane: "0:2", track: 0, begin: 10, end: 30, kind: KINDS[5] } as unknown as Interval;
  it("is what the view statistics says of its thread in its time", () => {
    expect(certaintyRequest(interval, process(0), 3)).toBe("view/statistics?from=10ns&to=30ns&lane=host-0-0%3A77&depth=3");
    expect(certaintyRequest({ ...interval, kind: "call" }, process(0), 0)).toBe(null);
    const row = { kind: "routine", label: "f() a.c", thread_ns: 20e3, sampled_ns: 20e3, pooled_ns: 0, error_ns: 3e3 };
    expect(certaintyWords({ rows: [{ ...row, label: "other" }, row] }, "f() a.c")).toBe("20.0 µs ± 3.00 µs (standard error)");
    expect(certaintyWords({ rows: [{ ...row, pooled_ns: 5e3 }] }, "f() a.c")).toContain("25.0 %");
    expect(certaintyWords({ rows: [{ ...row, sampled_ns: 0 }] }, "f() a.c")).toBe(null);
    expect(certaintyWords({ rows: [] }, "f() a.c")).toBe(null);
  });
});
