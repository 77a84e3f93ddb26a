/* flame.test.ts - the layout of icicles and flames against a brute-force sum. */
import { describe, expect, it } from "vitest";
import { boxAt, BOX_HEIGHT, flameHeight, flameSvg, layoutFlame, levelsOf, type FlameTree } from "../src/draw/flame.js";
import { escapeMarkup } from "../src/model/svg.js";
import { csvOf } from "../src/draw/save.js";

interface Made extends FlameTree {
  above: number[];
  own: number[];
}

function made(seed: number, count: number): Made {
  let state = seed;
  const next = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const above = [-1], own = [0];
  for (let row = 1; row < count; row++) {
    above.push(Math.floor(next() * row));
    own.push(Math.floor(next() * 100));
  }
  const all = [...own];
  for (let row = count - 1; row > 0; row--) all[above[row]!]! += all[row]!;
  return { above, own, childrenOf: (row) => above.flatMap((parent, at) => (parent === row ? [at] : [])), valueOf: (row) => all[row]!, labelOf: (row) => `<f${row}> & "g"`, parentOf: (row) => above[row]! };
}

/** What is below a row, added up one by one. */
function sum(tree: Made, row: number): number {
  return tree.own.reduce((all, value, at) => {
    for (let up = at; up >= 0; up = tree.above[up]!) if (up === row) return all + value;
    return all;
  }, 0);
}

describe("the layout", () => {
  it("makes each box as wide as its part of what fills the width, inside of the box above it, beside the others", () => {
    for (let seed = 1; seed < 15; seed++) {
      const tree = made(seed, 60);
      for (const root of [0, 1, 5]) {
        const whole = sum(tree, root), boxes = layoutFlame(tree, root, 0), by = new Map(boxes.map((box) => [box.row, box]));
        if (!(whole > 0)) continue;
        for (let row = 0; row < 60; row++) {
          const path: number[] = [];
          for (let up = row; up >= 0; up = tree.above[up]!) path.push(up);
          const inside = path.includes(root), box = by.get(row);
          if (!inside) {
            const leads = (() => {
              for (let up = root; up >= 0; up = tree.above[up]!) if (up === row) return true;
              return false;
            })();
            expect(box === undefined).toBe(!leads);
            if (box) expect([box.from, box.width]).toEqual([0, 1]);
            continue;
          }
          if (sum(tree, row) === 0) {
            expect(box).toBeUndefined();
            continue;
          }
          expect(box!.width).toBeCloseTo(sum(tree, row) / whole, 12);
          expect(box!.level).toBe(path.length - 1);
          if (row === root) continue;
          const over = by.get(tree.above[row]!)!;
          expect(box!.from).toBeGreaterThanOrEqual(over.from - 1e-12);
          expect(box!.from + box!.width).toBeLessThanOrEqual(over.from + over.width + 1e-12);
        }
        for (const a of boxes) for (const b of boxes) if (a !== b && a.level === b.level) expect(a.from + a.width <= b.from + 1e-12 || b.from + b.width <= a.from + 1e-12).toBe(true);
      }
    }
  });

  it("puts what is too narrow together, so that no width is lost", () => {
    const tree = made(7, 200), least = 0.02, boxes = layoutFlame(tree, 0, least);
    for (const box of boxes.filter((one) => one.row >= 0)) {
      const below = boxes.filter((one) => one.parent === box.row && one !== box).reduce((all, one) => all + one.width, 0);
      const there = tree.childrenOf(box.row).reduce((all, row) => all + tree.valueOf(row) / tree.valueOf(0), 0);
      expect(there - below).toBeLessThan(least);
      expect(there - below).toBeGreaterThan(-1e-12);
    }
    for (const box of boxes) expect(box.width).toBeGreaterThanOrEqual(least);
  });

  it("has the whole alone where there is nothing", () => {
    const tree: FlameTree = { childrenOf: (row) => (row === 0 ? [1] : []), valueOf: () => 0, labelOf: () => "", parentOf: (row) => row - 1 };
    expect(layoutFlame(tree, 0, 0.01)).toEqual([{ row: 0, parent: -1, level: 0, from: 0, width: 1 }]);
  });

  it("finds the box at a point, hanging and standing", () => {
    const tree = made(3, 50), boxes = layoutFlame(tree, 0, 0), levels = levelsOf(boxes), width = 1000;
    for (const box of boxes) {
      const x = (box.from + box.width / 2) * width;
      expect(boxAt(boxes, x, (box.level + 0.5) * BOX_HEIGHT, width, false)).toBe(box);
      expect(boxAt(boxes, x, (levels - box.level - 0.5) * BOX_HEIGHT, width, true)).toBe(box);
    }
    expect(boxAt(boxes, -1, 1, width, false)).toBeNull();
    expect(flameHeight(boxes)).toBe(levels * BOX_HEIGHT);
  });
});

describe("the picture as a file", () => {
  it("is well-formed, whatever names hold, and has a box for each", () => {
    const tree = made(5, 30), names = ["<script>alert(1)</script>", "a & b", "\"'\u0001\ud800\uffff", "ä".repeat(300)];
    const odd: FlameTree = { ...tree, labelOf: (row) => names[row % names.length]! };
    const boxes = layoutFlame(odd, 0, 0), svg = flameSvg(odd, boxes, 2000, false, { dark: false }, (row) => `${row} <ns>`);
    const page = new DOMParser().parseFromString(svg, "application/xml");
    expect(page.querySelector("parsererror")).toBeNull();
    expect(svg).not.toContain("<script");
    expect(svg).not.toContain("style=");
    expect(svg.match(/<title>/g)).toHaveLength(boxes.length);
    expect(escapeMarkup("<&>\"'\u0000x")).toBe("&lt;&amp;&gt;&quot;&#39; x");
  });
});

describe("a table as a file", () => {
  it("is quoted, and no cell is a formula", () => {
    expect(csvOf([["a,b", 'say "hi"', null, 1.5], ["=1+1", "@x", "-1", -1], ["two\nlines", "", "plain", 0]])).toBe('"a,b","say ""hi""",,1.5\r\n\'=1+1,\'@x,\'-1,-1\r\n"two\nlines",,plain,0\r\n');
  });
});
