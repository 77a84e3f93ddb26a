/* table.test.ts - rows sorted, filtered, opened and closed, with orders written by hand. */
import { expect, test } from "vitest";
import { csvRows, shownRows, sortedBy, speaksOf, treeColumn, type Sort } from "../src/model/report/table.js";
import { csvOf } from "../src/draw/save.js";
import type { Column, Kind, TextRow, TextTable } from "../src/model/types.js";

function column(title: string, kind: Kind, more: Partial<Column> = {}): Column {
  return { name: null, shown: true, title, kind, style: [], spare: 0, unit: null, definition: null, table: null, of: null, ...more };
}

function row(cells: (string | null)[], values: (number | null)[], depth?: number): TextRow {
  return depth === undefined ? { cells, values } : { depth, cells, values };
}

function table(columns: Column[], rows: TextRow[]): TextTable {
  return { name: "t", columns, rows, left_out: 0, left_out_view: null };
}

const KERNELS = table(
  [column("Kernel", "text"), column("count", "count"), column("total", "time")],
  [row(["b10", "9", "1.00 ms"], [null, 9, 1e6]), row(["b9", "10", "-"], [null, 10, null]), row(["a", "9", "900 µs"], [null, 9, 9e5])],
);
const order = (of: TextTable, sort: Sort | null, filter = "", closed: number[] = []) => shownRows(of, { sort, filter, closed: new Set(closed) }).map((one) => one.row);

test("numbers sort by what they are, not by how they are written; unknown is last", () => {
  expect(order(KERNELS, null)).toEqual([0, 1, 2]);
  expect(order(KERNELS, { column: 2, descending: true })).toEqual([0, 2, 1]);
  expect(order(KERNELS, { column: 2, descending: false })).toEqual([2, 0, 1]);
  expect(order(KERNELS, { column: 1, descending: true })).toEqual([1, 0, 2]); /* equals stay as they were */
  expect(order(KERNELS, { column: 1, descending: false })).toEqual([0, 2, 1]);
});

test("texts sort as people do", () => {
  expect(order(KERNELS, { column: 0, descending: false })).toEqual([2, 1, 0]);
  expect(order(KERNELS, { column: 7, descending: false })).toEqual([0, 1, 2]);
});

test("a click sorts, turns, and ends", () => {
  const number = column("n", "time"), text = column("t", "text");
  expect(sortedBy(null, 1, number)).toEqual({ column: 1, descending: true });
  expect(sortedBy({ column: 1, descending: true }, 1, number)).toEqual({ column: 1, descending: false });
  expect(sortedBy({ column: 1, descending: false }, 1, number)).toBeNull();
  expect(sortedBy({ column: 1, descending: true }, 0, text)).toEqual({ column: 0, descending: false });
});

/* main 10: step 7 (read 2, kernel 5), init 3; other 20 */
const TREE = table(
  [column("time", "time"), column("call path", "text")],
  [row(["10", "main"], [10, null]), row(["7", "step"], [7, null], 1), row(["2", "read"], [2, null], 2), row(["5", "kernel"], [5, null], 2), row(["3", "init"], [3, null], 1), row(["20", "other"], [20, null])],
);

test("in a tree the children of one row are sorted among themselves", () => {
  expect(treeColumn(TREE)).toBe(1);
  expect(treeColumn(KERNELS)).toBe(-1);
  expect(order(TREE, { column: 0, descending: true })).toEqual([5, 0, 1, 3, 2, 4]);
  expect(order(TREE, { column: 0, descending: false })).toEqual([0, 4, 1, 2, 3, 5]);
});

test("closed rows hide all that is below them", () => {
  expect(order(TREE, null, "", [1])).toEqual([0, 1, 4, 5]);
  expect(order(TREE, null, "", [0])).toEqual([0, 5]);
  expect(shownRows(TREE, { sort: null, filter: "", closed: new Set() }).map((one) => one.children)).toEqual([true, true, false, false, false, false]);
});

test("a filter keeps the way to what it finds", () => {
  expect(order(TREE, null, "KERNEL")).toEqual([0, 1, 3]);
  expect(order(TREE, null, "nowhere")).toEqual([]);
  expect(order(KERNELS, null, " 900 ")).toEqual([2]);
  expect(shownRows(TREE, { sort: null, filter: "step", closed: new Set() }).map((one) => one.children)).toEqual([true, false]);
});

const GROUPED = table(
  [column("Device", "text"), column("time", "time")],
  [row(["0", "3"], [null, 3]), row([null, "1"], [null, 1]), row(["1", "2"], [null, 2])],
);

test("a first cell that means the one above it is said again where rows change places", () => {
  const cells = (sort: Sort | null, filter = "") => shownRows(GROUPED, { sort, filter, closed: new Set() }).map((one) => one.cells[0]);
  expect(cells(null)).toEqual(["0", null, "1"]);
  expect(cells({ column: 1, descending: false })).toEqual(["0", "1", "0"]);
  expect(cells(null, "1")).toEqual(["0", "1"]);
});

test("CSV has what is shown, with numbers in full and their unit", () => {
  const rows = csvRows(TREE, shownRows(TREE, { sort: null, filter: "", closed: new Set([1]) }));
  expect(csvOf(rows)).toBe("time (ns),call path\r\n10,main\r\n7,  step\r\n3,  init\r\n20,other\r\n");
  expect(csvOf([['say "x", y', "=1+1", 5, null]])).toBe('"say ""x"", y",\'=1+1,5,\r\n');
});

test("which cells speak of the highlighted routine", () => {
  for (const cell of ["step() heat.c", "step() heat.c:17", "step() heat.c ← main() heat.c"]) expect(speaksOf(cell, "step() heat.c"), cell).toBe(true);
  for (const cell of [null, "", "step()", "heat.c", "first_step() heat.c"]) expect(speaksOf(cell, "step() heat.c"), String(cell)).toBe(false);
  expect(speaksOf("sum", "kernel sum")).toBe(true);
  expect(speaksOf("void sum<int>(int*)", "kernel void sum<int>(int*)")).toBe(true);
  expect(speaksOf("sum<int>", "kernel void ns::sum<int>(int*)")).toBe(true);
  expect(speaksOf("sum", "kernel void prefix_sum(int*)")).toBe(false);
  expect(speaksOf("sum", "kernel summary")).toBe(false);
  expect(speaksOf("sum", "")).toBe(false);
});

test("ten thousand rows are sorted at once", () => {
  const many = table([column("n", "count")], Array.from({ length: 10_000 }, (_, i) => row([String((i * 7919) % 10_000)], [(i * 7919) % 10_000])));
  const values = shownRows(many, { sort: { column: 0, descending: true }, filter: "", closed: new Set() }).map((one) => many.rows[one.row]!.values[0]);
  expect(values).toEqual(Array.from({ length: 10_000 }, (_, i) => 9_999 - i));
});
