/* profile.test.ts - the tree of the page Profile against brute force over made-up trees. */
import { describe, expect, it } from "vitest";
import { askCallees, askProfile, formatColumn, metricsOf, parseColumn, parseShown, type ProfileAnswer, type ProfileRow, type Shown } from "../src/model/profile/answer.js";
import { readAsked, shownColumns, sortColumn, toggled } from "../src/model/profile/asked.js";
import { figureCell, figureText, findKey, keyOf, routineOf, sourceRow } from "../src/model/profile/figures.js";
import { filterRows, hotPath, isOpen, linesOf, ProfileTree, unbranched, type Openness } from "../src/model/profile/tree.js";

const GPU: Shown = { name: "gpu", side: "inclusive" };

/** A small generator of its own: the same numbers every time. */
function chance(seed: number): () => number {
  let state = seed;
  return () => ((state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32);
}

/** Rows in the view's order: a parent before its children. `above[i]` is the parent of row i + 1. */
function answerOf(above: number[], exclusive: (row: number) => number, change: (row: ProfileRow) => Partial<ProfileRow> = () => ({})): ProfileAnswer {
  const count = above.length + 1, own = Array.from({ length: count }, (_, row) => (row ? exclusive(row) : 0)), all = [...own];
  for (let row = count - 1; row > 0; row--) all[above[row - 1]!]! += all[row]!;
  const rows: ProfileRow[] = [];
  for (let row = 0; row < count; row++) {
    const parent = row ? above[row - 1]! : null;
    const made: ProfileRow = {
      row, parent, depth: parent === null ? 0 : rows[parent]!.depth + 1, node: row, label: row ? `f${row % 7}() a.c:${row}` : "all", kind: row ? "native" : "none", name: row ? `f${row % 7}` : null,
      file: row ? "/home/u/a.c" : null, line: row || null, module: row ? "/bin/a" : null, code: row ? "user" : null, inclusive: { gpu: all[row]!, ops: row }, exclusive: { gpu: own[row]!, ops: 0 },
    };
    rows.push({ ...made, ...change(made) });
  }
  return { shape: "top-down", by: "line", columns: [{ name: "gpu", unit: "ns", formula: null }, { name: "ops", unit: "count", formula: null }], sort: { column: "gpu", side: "inclusive" }, left_out: 0, rows };
}

function random(seed: number, count: number): ProfileAnswer {
  const next = chance(seed);
  return answerOf(Array.from({ length: count }, (_, i) => Math.floor(next() * (i + 1))), () => Math.floor(next() * 1000));
}

describe("the tree", () => {
  it("has the children of each row, sorted by any column", () => {
    for (let seed = 1; seed < 20; seed++) {
      const answer = random(seed, 200), tree = new ProfileTree(answer);
      for (const descending of [true, false]) {
        tree.sort(GPU, descending);
        for (let row = 0; row <= 200; row++) {
          const expected = answer.rows.filter((one) => one.parent === row).sort((a, b) => (descending ? -1 : 1) * ((a.inclusive.gpu as number) - (b.inclusive.gpu as number)) || a.row - b.row);
          expect(tree.childrenOf(row)).toEqual(expected.map((one) => one.row));
        }
      }
    }
  });

  it("puts what is unknown last, whichever way it is sorted", () => {
    const answer = answerOf([0, 0, 0, 0], (row) => row);
    answer.rows[2]!.inclusive.gpu = null;
    answer.rows[3]!.inclusive.gpu = "error";
    const tree = new ProfileTree(answer);
    tree.sort(GPU, true);
    expect(tree.childrenOf(0)).toEqual([4, 1, 2, 3]);
    tree.sort(GPU, false);
    expect(tree.childrenOf(0)).toEqual([1, 4, 2, 3]);
  });

  it("passes over frames of the runtime that have no numbers of their own", () => {
    /* all > main > interpreter (nothing) > loader (nothing) > work, and an allocator that has time */
    const runtime = (row: ProfileRow): Partial<ProfileRow> => ([2, 3, 5].includes(row.row) ? { code: "runtime" } : {});
    const answer = answerOf([0, 1, 2, 3, 1], (row) => (row === 4 ? 10 : row === 5 ? 3 : 0), runtime);
    const tree = new ProfileTree(answer, false);
    tree.sort(GPU, true);
    expect(tree.childrenOf(1)).toEqual([4, 5]);
    expect(tree.parentOf(4)).toBe(1);
    expect(tree.path(4)).toEqual([0, 1, 4]);
    expect(findKey(tree, "3")).toBe(1);
    expect(new ProfileTree(answer, true).path(4)).toEqual([0, 1, 2, 3, 4]);
  });

  it("shows lines of what is open, with their level and place", () => {
    const tree = new ProfileTree(answerOf([0, 1, 1, 0], (row) => 10 - row));
    tree.sort(GPU, true);
    const open: Openness = { opened: new Set([0, 1]), closed: new Set() };
    expect(linesOf(tree, open, null).map(({ row, level, place, siblings }) => [row, level, place, siblings])).toEqual([[0, 1, 1, 1], [1, 2, 1, 2], [2, 3, 1, 2], [3, 3, 2, 2], [4, 2, 2, 2]]);
    expect(linesOf(tree, { opened: new Set(), closed: new Set() }, null).map((line) => line.row)).toEqual([0]);
  });

  it("holds 100,000 rows", () => {
    const tree = new ProfileTree(random(3, 100_000));
    tree.sort(GPU, true);
    const all: Openness = { opened: new Set(tree.rows.map((row) => row.row)), closed: new Set() };
    expect(linesOf(tree, all, null).length).toBe(100_001);
    expect(filterRows(tree, "f3()")!.count).toBe(tree.rows.filter((row) => row.label.includes("f3()")).length);
  }, 60_000);
});

describe("rows that are left out", () => {
  const whole = answerOf([0, 1, 1, 1, 3], (row) => 10 * row);
  const some: ProfileAnswer = { ...whole, left_out: 2, rows: whole.rows.slice(0, 3) };

  it("are seen by what is missing in the sum, and become rows when they were asked for", () => {
    const tree = new ProfileTree(some);
    tree.sort(GPU, true);
    expect(tree.hasMore(0)).toBe(false);
    expect(tree.hasMore(1)).toBe(true);
    expect(tree.missing(1, "gpu")).toBe(30 + 40 + 50);
    expect(linesOf(tree, { opened: new Set([0, 1]), closed: new Set() }, null).map((line) => [line.row, line.more])).toEqual([[0, false], [1, false], [2, false], [1, true]]);
    const callees: ProfileAnswer = { ...whole, rows: [{ ...whole.rows[1]!, parent: null, depth: 0 }, ...[2, 3, 4].map((row, i) => ({ ...whole.rows[row]!, row: i + 1, parent: 0, depth: 1 }))] };
    expect(tree.graft(1, callees)).toBe(2);
    expect(tree.hasMore(1)).toBe(false);
    expect(tree.childrenOf(1).map((row) => tree.rows[row]!.node)).toEqual([3, 4, 2]);
    expect(tree.rows.slice(3).every((row) => row.parent === 1 && row.depth === 2)).toBe(true);
    const grafted = tree.childrenOf(1)[0]!;
    expect(tree.hasMore(grafted)).toBe(true); /* what it calls was not asked for */
    expect(tree.graft(1, callees)).toBe(0);
  });

  it("below a frame that is passed over are asked of that frame", () => {
    const answer = answerOf([0, 1, 2, 2], (row) => (row > 2 ? 5 : 0), (row) => (row.row === 2 ? { code: "runtime" } : {}));
    const tree = new ProfileTree({ ...answer, left_out: 1, rows: answer.rows.slice(0, 4) }, false);
    expect(tree.incomplete(1)).toEqual([2]);
    expect(tree.childrenOf(1)).toEqual([3]);
    tree.graft(2, { ...answer, rows: [{ ...answer.rows[2]!, depth: 0 }, { ...answer.rows[3]!, depth: 1 }, { ...answer.rows[4]!, depth: 1 }] });
    expect(tree.childrenOf(1)).toEqual([3, 4]);
    expect(tree.incomplete(1)).toEqual([]);
  });
});

describe("the hot path", () => {
  it("follows the child with most until it is below half of its parent", () => {
    for (let seed = 1; seed < 50; seed++) {
      const answer = random(seed, 100), tree = new ProfileTree(answer), value = (row: number) => answer.rows[row]!.inclusive.gpu as number;
      const path = hotPath(tree, 0, GPU);
      for (let i = 0; i < path.length; i++) {
        const children = answer.rows.filter((row) => row.parent === path[i]).map((row) => row.row), most = Math.max(...children.map(value), 0);
        if (i + 1 < path.length) {
          expect(children).toContain(path[i + 1]);
          expect(value(path[i + 1]!)).toBe(most);
          expect(most * 2).toBeGreaterThanOrEqual(value(path[i]!));
        } else expect(most === 0 || most * 2 < value(path[i]!)).toBe(true);
      }
    }
  });

  it("ends where nothing is known, and by exclusive numbers begins with whatever has most", () => {
    const answer = answerOf([0, 0, 2], () => 5);
    expect(hotPath(new ProfileTree(answer), 0, { name: "cpu", side: "inclusive" })).toEqual([0]);
    const bottom: ProfileAnswer = { ...answer, shape: "bottom-up" };
    expect(hotPath(new ProfileTree(bottom), 0, { name: "gpu", side: "exclusive" })).toEqual([0, 1]);
  });
});

describe("where a table begins", () => {
  it("is open as long as there is no choice", () => {
    expect(unbranched(new ProfileTree(answerOf([0, 1, 1], () => 5)))).toEqual([0, 1]);
    expect(unbranched(new ProfileTree(answerOf([0, 0], () => 5)))).toEqual([0]);
    expect(unbranched(new ProfileTree(answerOf([0, 1], () => 5)))).toEqual([0, 1, 2]);
  });
});

describe("the filter", () => {
  it("keeps hits, what is above them, and what is below them", () => {
    for (let seed = 1; seed < 20; seed++) {
      const answer = random(seed, 150), tree = new ProfileTree(answer), kept = filterRows(tree, "F3()")!;
      const hit = (row: number) => row > 0 && answer.rows[row]!.label.includes("f3()"), above = (row: number): boolean => answer.rows.some((one) => one.parent === row && (hit(one.row) || above(one.row)));
      for (let row = 0; row <= 150; row++) {
        expect(kept.hits[row] === 1).toBe(hit(row));
        expect(kept.above[row] === 1).toBe(above(row));
      }
      const lines = linesOf(tree, { opened: new Set([0]), closed: new Set() }, kept).map((line) => line.row);
      const below = (row: number): boolean => row > 0 && (hit(row) || below(answer.rows[row]!.parent!));
      for (const row of lines) expect(row === 0 || hit(row) || above(row) || below(row)).toBe(true);
      for (let row = 1; row <= 150; row++) if (hit(row)) expect(lines).toContain(row);
    }
  });

  it("opens what leads to a hit, unless it was closed by hand", () => {
    const tree = new ProfileTree(answerOf([0, 1, 2], (row) => row, (row) => (row.row === 3 ? { label: "wanted" } : {})));
    const kept = filterRows(tree, " Wanted ")!;
    expect(isOpen(1, { opened: new Set(), closed: new Set() }, kept)).toBe(true);
    expect(isOpen(1, { opened: new Set(), closed: new Set([1]) }, kept)).toBe(false);
    expect(isOpen(3, { opened: new Set(), closed: new Set() }, kept)).toBe(false);
    expect(filterRows(tree, "  ")).toBeNull();
  });
});

describe("the address", () => {
  const metrics = ["gpu", "ops", "cpu", "api", "blame"].map((name) => ({ name, unit: "ns", definition: name }));

  it("asks what the view's options say", () => {
    expect(askProfile(readAsked({}, metrics).question)).toBe("view/profile?top-down&by=line&metric=gpu%2Ccpu%2Capi%2Cops&sort=gpu%3Aincl&min-percent=0.1");
    const asked = readAsked({ shape: "flat", by: "kernel", columns: "ops,each", derive: "each=gpu/ops", least: "0" }, metrics);
    expect(askProfile(asked.question)).toBe("view/profile?by=kernel&metric=ops&derive=each%3Dgpu%2Fops&sort=ops%3Aincl&min-percent=0");
    expect(askCallees(readAsked({ columns: "gpu" }, metrics).question, 12)).toBe("view/profile?top-down&by=line&metric=gpu&sort=gpu%3Aincl&root=%2312&depth=1&min-percent=0");
  });

  it("takes what it does not know for what is usual", () => {
    const asked = readAsked({ shape: "sideways", by: "kernel", columns: "nope,", sort: "nope", least: "-3", picture: "cube" }, metrics);
    expect([asked.question.shape, asked.question.by, asked.question.least, asked.picture, asked.sort]).toEqual(["top-down", "line", 0.1, "table", null]);
    expect(asked.columns.map(formatColumn)).toEqual(["gpu", "gpu:excl", "cpu", "api", "ops"]);
    expect(readAsked({ shape: "flat", picture: "flame" }, metrics).picture).toBe("table");
  });

  it("leaves out usual columns that the run has nothing of, and sorts by the first that it has", () => {
    const answer = answerOf([0], () => 1), whole = answer.rows[0]!.inclusive;
    Object.assign(whole, { gpu: 0, cpu: null, api: 7 });
    const asked = readAsked({}, metrics), columns = shownColumns(asked, answer);
    expect(columns.map(formatColumn)).toEqual(["gpu", "gpu:excl", "api", "ops"]);
    expect(sortColumn(asked, columns, answer)).toEqual({ name: "api", side: "inclusive" });
    expect(shownColumns(asked, { ...answer, by: "kernel" }).map(formatColumn)).toEqual(["gpu", "api", "ops"]);
    expect(shownColumns(readAsked({ columns: "cpu" }, metrics), answer).map(formatColumn)).toEqual(["cpu"]);
  });

  it("names columns and rows", () => {
    expect(parseShown("gpu,gpu:excl,,ops:incl").map(formatColumn)).toEqual(["gpu", "gpu:excl", "ops"]);
    expect(parseColumn("gpu:excl")).toEqual({ name: "gpu", side: "exclusive" });
    expect(toggled(parseShown("gpu,ops"), GPU)).toBe("ops");
    expect(toggled(parseShown("ops"), GPU)).toBe("ops,gpu");
    const answer = answerOf([0, 1, 1, 3], (row) => row), tree = new ProfileTree(answer), up = new ProfileTree({ ...answer, shape: "bottom-up" });
    for (let row = 1; row < 5; row++) {
      expect(findKey(tree, keyOf(tree, row))).toBe(row);
      expect(findKey(up, keyOf(up, row))).toBe(row);
    }
    expect(keyOf(up, 4)).toBe("1.3.4");
    for (const key of ["", "x", "99", "1.x", "#1"]) expect(findKey(tree, key)).toBe(-1);
    expect(findKey(up, "1.99")).toBe(1);
  });

  it("reads metrics from the view's descriptors, without standard errors", () => {
    const column = (name: string) => ({ name, shown: false, title: name, kind: "figure" as const, style: [], spare: 0, unit: "ns", definition: `what ${name} is` });
    const view = { name: "profile", summary: "", description: "", single: true, needs_operations: true, hidden: false, options: [], tables: [{ name: "figures", columns: [column("gpu"), column("cpu_error")] }] };
    expect(metricsOf(view)).toEqual([{ name: "gpu", unit: "ns", definition: "what gpu is" }]);
    expect(metricsOf(undefined)).toEqual([]);
  });
});

describe("figures", () => {
  it("tell unknown, zero and errors apart", () => {
    expect([null, undefined, 0, "error" as const].map((figure) => figureText(figure, "ns"))).toEqual(["-", "-", "0", "error"]);
    expect([figureText(1.5e6, "ns"), figureText(2048, "bytes"), figureText(12345, "count"), figureText(0.123456, null)]).toEqual(["1.50 ms", "2.05 kB", "12,345", "0.1235"]);
  });

  it("have their standard error in percent", () => {
    const row = answerOf([0], () => 1).rows[1]!;
    Object.assign(row.inclusive, { cpu: 1000, cpu_error: 33 });
    expect(figureCell(row, { name: "cpu", side: "inclusive" }, "ns")).toBe("1.00 µs ±3 %");
    row.inclusive.cpu_error = 4;
    expect(figureCell(row, { name: "cpu", side: "inclusive" }, "ns")).toBe("1.00 µs");
  });

  it("name the routine without its line, and the caller whose source can be shown", () => {
    const answer = answerOf([0, 1, 2], () => 1, (row) => (row.row === 3 ? { kind: "operation", label: "kernel k", file: null, line: null } : {})), tree = new ProfileTree(answer);
    expect(routineOf(tree.rows[2]!)).toBe("f2() a.c");
    expect(routineOf(tree.rows[3]!)).toBe("kernel k");
    expect(sourceRow(tree, 3)).toBe(2);
    expect(sourceRow(new ProfileTree({ ...answer, shape: "bottom-up" }), 3)).toBe(-1);
  });
});
