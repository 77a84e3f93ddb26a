/* ranks.test.ts - the page Ranks: what follows from its views' answers. */
import { describe, expect, it } from "vitest";
import { arrowsOf, causeText, distributionOf, figuresOf, imbalanceOf, membersText, sentOf, type Job, type Messages, type Sent, type Waiting } from "../src/model/ranks.js";

const rank = (number: number, busy_ns: number, cpu_ns: number | null = 0) => ({ rank: number, process: `p-${number}`, processes: 1, group: 0, wall_ns: 100, busy_ns, kernel_ns: 0, cpu_ns });
const job = { ranks: [rank(0, 10), rank(1, 30), rank(2, 20)] } as unknown as Job;
const messages = (ranks: { rank: number; calls_ns: number; wait_ns: number }[], pairs: Sent[] = []) => ({ messages: 0, step: null, ranks: ranks.map((one) => ({ nccl_ns: 0, nccl_wait_ns: 0, ...one })), waits: [], pairs }) as Messages;

describe("ranks and figures", () => {
  it("leave out what no rank has", () => {
    expect(figuresOf(job, messages([])).figures.map(({ name }) => name)).toEqual(["wall_ns", "busy_ns"]);
  });

  it("have those of messages beside them, of ranks that are known", () => {
    const matrix = figuresOf(job, messages([{ rank: 1, calls_ns: 9, wait_ns: 4 }]));
    expect(matrix.figures.map(({ name }) => name)).toEqual(["wall_ns", "busy_ns", "calls_ns", "wait_ns"]);
    expect(matrix.cells).toEqual([[100, 10, null, null], [100, 30, 9, 4], [100, 20, null, null]]);
    expect(matrix.ranks).toEqual([0, 1, 2]);
  });

  it("say the most, the mean and the imbalance of each", () => {
    const matrix = figuresOf(job, messages([]));
    expect([matrix.most, matrix.mean]).toEqual([[100, 30], [100, 20]]);
    expect([imbalanceOf(matrix, 0), imbalanceOf(matrix, 1)]).toEqual([0, 0.5]);
  });
});

describe("how ranks spread", () => {
  it("is told from the least to the most, with whose they are", () => {
    const many = { ranks: [10, 30, 20, 11, 12, 30].map((busy, number) => rank(number, busy)) } as unknown as Job;
    const matrix = figuresOf(many, messages([{ rank: 1, calls_ns: 9, wait_ns: 4 }]));
    expect(distributionOf(matrix, 1, 4)).toEqual({ least: 10, leastRank: 0, median: 16, most: 30, mostRank: 5, ranks: [3, 0, 1, 2] });
    expect(distributionOf(matrix, 0, 4)!.ranks).toEqual([6, 0, 0, 0]);
    expect(distributionOf(matrix, 2, 4)).toBeNull(); // one rank has it
  });

  it("is nothing of two, which show themselves", () => {
    expect(distributionOf(figuresOf({ ranks: [rank(0, 10), rank(1, 30)] } as unknown as Job, messages([])), 1, 4)).toBeNull();
  });
});

describe("who sent to whom", () => {
  const pair = (from: number, to: number, bytes: number): Sent => ({ from, to, count: 1, bytes, largest: bytes });

  it("has each pair once, in the row of who sent", () => {
    const pairs = [pair(3, 1, 9), pair(1, 3, 4), pair(10, 1, 2)], matrix = sentOf(messages([], pairs), 64)!;
    expect(matrix.ranks).toEqual([1, 3, 10]);
    expect(matrix.cells).toEqual([[null, pairs[1], null], [pairs[0], null, null], [pairs[2], null, null]]);
    expect(matrix.most).toBe(9);
  });

  it("is no picture of nobody, or of very many", () => {
    expect(sentOf(messages([]), 64)).toBeNull();
    expect(sentOf(messages([], [pair(0, 1, 1), pair(1, 2, 1)]), 2)).toBeNull();
  });
});

describe("what the awaited rank did", () => {
  it("is said in words", () => {
    const row = (cause: Waiting["cause"], cause_name: string | null, root_name: string | null, root_rank = 2) => ({ cause, cause_name, root_name, root_rank }) as Waiting;
    expect([row(null, null, null), row("code", "step() a.c", "step() a.c"), row("messages", "MPI_Recv", "step() a.c")].map(causeText)).toEqual(["-", "step() a.c", "waited in MPI_Recv, in the end for rank 2: step() a.c"]);
  });
});

describe("arrows", () => {
  const sent = (from: number, to: number, bytes: number): Sent => ({ from, to, count: 1, bytes, largest: bytes });

  it("are the pairs with the most bytes, between the ranks that have one", () => {
    const arrows = arrowsOf(messages([], [sent(3, 0, 10), sent(0, 9, 40), sent(9, 3, 20), sent(3, 9, 0), sent(5, 6, 5)]), 3)!;
    expect(arrows.pairs.map(({ from, to }) => [from, to])).toEqual([[0, 9], [9, 3], [3, 0]]);
    expect(arrows.ranks).toEqual([0, 3, 9]);
    expect(arrows.leftOut).toBe(1);
    expect(arrowsOf(messages([], [sent(0, 1, 0)]), 3)).toBeNull();
  });

  it("names members by runs", () => expect(membersText([0, 1, 2, 4, 7, 8])).toBe("0-2, 4, 7-8"));
});
