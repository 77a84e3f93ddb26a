/* comm.test.ts - the page Communication: what follows from its view's answer. */
import { describe, expect, it } from "vitest";
import { matrixOf, rateText, wayText, type Comm, type End, type Pair } from "../src/model/comm.js";

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
