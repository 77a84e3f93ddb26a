import { describe, expect, it } from "vitest";
import { nextHit } from "../src/model/timeline/step.js";
import { answerOf, type MadeRow } from "./timeline-made.js";

/* Rows of a rare routine among others that take more time in every bin: no bin is led by it. */
function rowsWith(rare: number[]): MadeRow[] {
  const rows: MadeRow[] = [];
  for (let i = 0; i < 2000; i++) rows.push({ lane: 1 + (i % 2), begin: i * 1000, end: i * 1000 + 700, label: "often" });
  for (const begin of rare) rows.push({ lane: 2, begin, end: begin + 20, label: "rare" });
  return rows;
}

async function walk(rows: MadeRow[], direction: 1 | -1, start: number, label = "rare"): Promise<number[]> {
  const seen: number[] = [];
  let questions = 0;
  for (let at = start; ; ) {
    const hit = await nextHit(async (from, to) => (questions++, answerOf(rows, [1, 2], from, to, 64)), (text) => text === label, at, direction, 2_000_000);
    if (!hit) return seen;
    expect(questions).toBeLessThan(130 * (seen.length + 1));
    seen.push((at = hit.begin));
  }
}

describe("stepping through a routine", () => {
  const rare = [750, 123_800, 124_800, 1_999_900];

  it("finds each of its intervals, in order, whatever leads the bins", async () => {
    expect(await walk(rowsWith(rare), 1, -1)).toEqual(rare);
  });

  it("and back", async () => {
    expect(await walk(rowsWith(rare), -1, 2_000_000)).toEqual([...rare].reverse());
  });

  it("finds none where there is none", async () => {
    expect(await walk(rowsWith([]), 1, -1)).toEqual([]);
  });

  it("finds long ones among short ones", async () => {
    const rows: MadeRow[] = [{ lane: 1, begin: 0, end: 500_000, label: "rare" }, { lane: 2, begin: 1000, end: 1005, label: "rare" }, { lane: 1, begin: 600_000, end: 900_000, label: "rare" }];
    expect(await walk(rows, 1, -1)).toEqual([0, 1000, 600_000]);
    expect(await walk(rows, -1, 2_000_000)).toEqual([600_000, 1000, 0]);
  });
});
