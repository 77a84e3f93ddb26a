/* chord.test.ts - places on a circle and the ribbons between them. */
import { describe, expect, it } from "vitest";
import { arcPath, hasRoom, labelAt, layOutChord, ribbonPath, type Arc } from "../src/draw/chord.js";

const span = ({ begin, end }: Arc) => end - begin;
const FLOWS = [{ from: 0, to: 1, value: 6 }, { from: 1, to: 2, value: 6 }, { from: 2, to: 0, value: 3 }, { from: 2, to: 2, value: 1 }];

describe("the layout", () => {
  const { arcs, ribbons } = layOutChord(4, FLOWS);

  it("gives each place what goes out and comes in, to one scale", () => {
    const scale = span(ribbons[0]!.from) / 6;
    const sums = [6 + 3, 6 + 6, 6 + 3 + 1 + 1, 0];
    arcs.forEach((arc, place) => expect(span(arc)).toBeCloseTo(sums[place]! * scale, 9));
    ribbons.forEach(({ from, to }, i) => {
      expect(span(from)).toBeCloseTo(FLOWS[i]!.value * scale, 9);
      expect(span(to)).toBeCloseTo(FLOWS[i]!.value * scale, 9);
    });
  });

  it("fills the circle but for the gaps, in the order of the places", () => {
    arcs.slice(1).forEach((arc, i) => expect(arc.begin).toBeGreaterThan(arcs[i]!.end));
    expect(arcs[0]!.begin).toBeGreaterThan(0);
    expect(arcs.at(-1)!.end).toBeLessThan(2 * Math.PI);
    expect(arcs.reduce((sum, arc) => sum + span(arc), 0)).toBeGreaterThan(0.69 * 2 * Math.PI);
  });

  it("has each end within its place, and no two over each other", () => {
    const ends = ribbons.flatMap(({ from, to }, i) => [{ ...from, place: FLOWS[i]!.from }, { ...to, place: FLOWS[i]!.to }]);
    for (const { begin, end, place } of ends) {
      expect(begin).toBeGreaterThanOrEqual(arcs[place]!.begin - 1e-9);
      expect(end).toBeLessThanOrEqual(arcs[place]!.end + 1e-9);
    }
    ends.sort((a, b) => a.begin - b.begin).slice(1).forEach((one, i) => expect(one.begin).toBeGreaterThanOrEqual(ends[i]!.end - 1e-9));
  });

  it("does not cross what goes around in a ring", () => {
    const ring = layOutChord(4, [0, 1, 2, 3].map((from) => ({ from, to: (from + 1) % 4, value: 1 })));
    ring.ribbons.forEach(({ from, to }, i) => {
      expect(from.end).toBeCloseTo(ring.arcs[i]!.end, 9); /* it leaves beside its neighbour */
      expect(to.begin).toBeCloseTo(ring.arcs[(i + 1) % 4]!.begin, 9);
    });
  });

  it("is empty where nothing was sent", () => {
    expect(layOutChord(0, [])).toEqual({ arcs: [], ribbons: [] });
    expect(layOutChord(2, [{ from: 0, to: 1, value: 0 }]).ribbons.every(({ from, to }) => span(from) === 0 && span(to) === 0)).toBe(true);
  });
});

describe("paths", () => {
  it("go the long way where a place has more than half of the rim", () => {
    expect(arcPath({ begin: 0, end: 4 }, 90, 100)).toMatch(/^M0\.00 -100\.00A100\.00 100\.00 0 1 1 .*A90\.00 90\.00 0 1 0 0\.00 -90\.00Z$/);
    expect(arcPath({ begin: 0, end: 1 }, 90, 100)).toContain("A100.00 100.00 0 0 1");
  });

  it("end in a point at the rim", () => {
    const path = ribbonPath({ from: { begin: 0, end: 0.2 }, to: { begin: Math.PI - 0.1, end: Math.PI + 0.1 } }, 100, 8);
    expect(path).toContain("L0.00 100.00L");
    expect(path.startsWith("M0.00 -100.00A100.00 100.00")).toBe(true);
  });

  it("have their names outside", () => {
    expect(labelAt({ begin: 0, end: Math.PI }, 100)).toEqual({ x: 100, y: expect.closeTo(0, 9), anchor: "start" });
    expect(labelAt({ begin: Math.PI, end: 2 * Math.PI }, 100).anchor).toBe("end");
    expect(labelAt({ begin: -0.1, end: 0.1 }, 100).anchor).toBe("middle");
  });

  it("have none where it would touch the next", () => {
    expect(hasRoom({ begin: -0.1, end: 0.1 }, 100, 60, 14)).toBe(false); /* at the top they are side by side */
    expect(hasRoom({ begin: -0.4, end: 0.4 }, 100, 60, 14)).toBe(true);
    expect(hasRoom({ begin: 1.5, end: 1.7 }, 100, 60, 14)).toBe(true); /* at the side one above the other */
    expect(hasRoom({ begin: 1.5, end: 1.6 }, 100, 60, 14)).toBe(false);
  });
});
