/* comm.test.ts - the page Communication: what follows from its view's answer. */
import { describe, expect, it } from "vitest";
import { isOfObject, lineKey, lineText, matrixOf, measured, measuredText, objectKey, pairText, partText, queuesOf, rateText, shapeOf, timesText, wayKey, wayText, type Comm, type Elements, type End, type Line, type Pair, type SentObject } from "../src/model/comm.js";
import type { Run } from "../src/model/types.js";

function pair(from: End, to: End, bytes: number): Pair {
  return { from, to, from_name: `name of ${from}`, to_name: `name of ${to}`, bytes } as Pair;
}

describe("the matrix", () => {
  const comm = { matrix: [pair(10, 2, 9), pair("host", 10, 5), pair(null, "host", 3), pair(2, 2, 1)] } as Comm;

  it("has the host first, then devices by their numbers, then the unknown", () => {
    expect(matrixOf(comm).ends.map(({ end }) => end)).toEqual(["host", 2, 10, null]);
    expect(matrixOf(comm).ends.map(({ name }) => name)).toEqual(["name of host", "name of 2", "name of 10", "name of null"]);
  });

  it("has each pair once, in the row of where it came from", () => {
    const { ends, cells } = matrixOf(comm);
    cells.forEach((row, from) => row.forEach((cell, to) => expect(cell).toBe(comm.matrix.find((one) => one.from === ends[from]!.end && one.to === ends[to]!.end) ?? null)));
    expect(cells.flat().filter((cell) => cell !== null).reduce((sum, cell) => sum + cell!.bytes, 0)).toBe(18);
  });

  it("tells devices of several processes apart", () => {
    const ranks = { matrix: [pair("rank 10: 0", "host", 1), pair("rank 2: 0", "host", 1), pair("host", "rank 2: 1", 1)] } as Comm;
    expect(matrixOf(ranks).ends.map(({ end }) => end)).toEqual(["host", "rank 2: 0", "rank 2: 1", "rank 10: 0"]);
  });

  it("is empty where nothing was sent", () => {
    expect(matrixOf({ matrix: [] as Pair[] } as Comm)).toEqual({ ends: [], cells: [] });
  });
});

describe("words", () => {
  it("say what is unknown", () => {
    expect(wayText({ from: null, to: 0 })).toBe("unknown → 0");
    expect(wayText({ from: "host", to: 1 })).toBe("host → 1");
    expect([null, 0, 1.234e9, 381e9].map(rateText)).toEqual(["-", "0.00 GB/s", "1.23 GB/s", "381 GB/s"]);
  });
});

describe("what is measured", () => {
  const one = { ...pair(0, 1, 2_000), operations: 3, bytes_per_s: 4e9, exact: true };

  it("is bytes, operations or the rate", () => {
    expect((["bytes", "operations", "rate"] as const).map((by) => measured(one, by))).toEqual([2000, 3, 4e9]);
    expect((["bytes", "operations", "rate"] as const).map((by) => measuredText(one, by))).toEqual(["2.00 kB", "3", "4.00 GB/s"]);
    expect(measured({ ...one, bytes_per_s: null }, "rate")).toBe(0);
  });

  it("is said to be at least so much where launches were not looked at", () => {
    const some = { ...one, exact: false, bytes_per_s: null };
    expect(measuredText(some, "bytes")).toBe("≥ 2.00 kB");
    expect(measuredText(some, "operations")).toBe("≥ 3");
    expect(pairText(some)).toBe("name of 0 to name of 1: ≥ 2.00 kB in ≥ 3 operations");
  });
});

describe("what is chosen", () => {
  const line = { file: "/src/halo.cu", line: 31, kernel: "void halo<4>(float*)", node: 7, frames: [] as Line["frames"] } as Line;

  it("is known by its ends, its place in the source, or who allocated it", () => {
    expect(wayKey({ from: null, to: "rank 1: 0" })).toBe("unknown>rank 1: 0");
    expect(lineKey({ ...line, from: 0, to: 1 } as Line)).toBe(lineKey({ ...line, from: 1, to: 0, node: 9 } as Line));
    expect(lineKey({ ...line, line: null })).not.toBe(lineKey({ ...line, line: null, node: 9 }));
    const object = { name: "device", site: "setup() ring.py:3", owner: 1, process: "a" } as SentObject;
    expect(objectKey({ ...object, from: 0 } as SentObject)).toBe(objectKey({ ...object, from: 1 } as SentObject));
    expect(objectKey({ ...object, owner: 0 })).not.toBe(objectKey(object));
  });

  it("is said as the report does", () => {
    const frames = [{ name: "step", file: "halo.py", line: 7, module: null }, { name: "main", file: "halo.py", line: 9, module: null }];
    expect(lineText({ ...line, frames })).toMatch(/^halo<4>\(\) halo\.cu:31 ← step/);
    expect(lineText({ ...line, file: null, line: null })).toBe("halo<4>()");
    expect(lineText({ ...line, kernel: "at::(anonymous namespace)::copy<(int)4>(char*)" })).toBe("at::(anonymous namespace)::copy<(int)4>() halo.cu:31");
    expect(lineText({ ...line, kernel: null, frames })).toMatch(/^step.* ← main/);
  });
});

describe("queues of a device", () => {
  const lane = (number: number, device: number | null) => ({ lane: number, kind: device === null ? "thread" : "queue", device });
  const process = (number: number, name: string) => ({ process: number, name, lanes: [lane(1, null), lane(2, 0), lane(3, 1), lane(4, 1)] });
  const run = (...names: string[]) => ({ processes: names.map((name, i) => process(i, name)) }) as unknown as Run;

  it("are those of its number", () => {
    expect(queuesOf(run("a"), 1, [{ ...pair(0, 1, 1), process: "a" }])).toEqual(["0:3", "0:4"]);
    expect(queuesOf(run("a"), "host", [{ ...pair("host", 1, 1), process: "a" }])).toEqual([]);
  });

  it("are those of its process", () => {
    const pairs = [{ ...pair("rank 0: 1", "host", 1), process: "a" }, { ...pair("rank 1: 0", "host", 1), process: "b" }];
    expect(queuesOf(run("a", "b"), "rank 1: 0", pairs)).toEqual(["1:2"]);
    expect(queuesOf(run("a", "b"), "rank 2: 0", pairs)).toEqual([]);
  });
});

describe("elements", () => {
  const line = { rows: 1, columns: 1000, object_bytes: 1000, grid_rows: 1, grid_columns: 10, times: 40 } as Elements;

  it("are a matrix of whole numbers, or none", () => {
    expect(["512x1024", "1x1", "512", "x4", "0x4", "4x0", "4 x 4", "4x4x4", undefined].map(shapeOf)).toEqual([{ rows: 512, columns: 1024 }, { rows: 1, columns: 1 }, ...Array(7).fill(null)]);
  });

  it("are of the objects of their line, whoever called it", () => {
    const object = { name: "device", site: "make() a.cu:7 ← main() a.cu:9", owner: 1, process: "p" } as SentObject, row = { ...object, site: "make() a.cu:7 ← step() a.cu:3" } as unknown as Elements;
    expect([row, { ...row, site: "make() a.cu:8" }, { ...row, owner: 0 }].map((one) => isOfObject(one, object))).toEqual([true, false, false]);
  });

  it("are told by where they are", () => {
    expect(partText(line, 0, 9, 2000)).toBe("bytes 900 to 999: 2.00 kB");
    const matrix = { ...line, rows: 2000, columns: 3, grid_rows: 250, grid_columns: 3 };
    expect(partText(matrix, 1, 2, 5)).toBe("rows 8 to 15, column 2: 5 B");
    expect([line, { ...line, times: 1 }, { ...line, times: 1.25 }].map(timesText)).toEqual(["40 times each", "1 time each", "1.3 times each"]);
  });
});
