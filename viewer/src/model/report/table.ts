/* table.ts - the rows of a table of the report in the order, and as few, as a reader wants: sorted, filtered, with a tree opened and closed. */
import type { Column, TextRow, TextTable } from "../types.js";

export interface Sort {
  column: number;
  descending: boolean;
}

export interface Wanted {
  sort: Sort | null;
  /** Part of any cell's text; small and capital letters are the same. */
  filter: string;
  /** Rows (numbers in the table) whose children are hidden. */
  closed: ReadonlySet<number>;
}

/** A row on screen. `row` is its number in the table; `parent` that of the row above it in the tree, -1 at the root. */
export interface ShownRow {
  row: number;
  depth: number;
  parent: number;
  children: boolean;
  cells: (string | null)[];
}

const NUMBERS = new Set(["count", "id", "time", "bytes", "share", "number", "figure"]);

export function isNumber(column: Column): boolean {
  return NUMBERS.has(column.kind) || column.style.includes("right");
}

/** The column that is indented: the last of text. -1: the table is no tree. */
export function treeColumn(table: TextTable): number {
  return table.rows.some((row) => row.depth) ? table.columns.map((column) => column.kind).lastIndexOf("text") : -1;
}

/** Numbers begin with the largest, texts with A. */
export function sortedBy(sort: Sort | null, column: number, described: Column): Sort | null {
  const first = isNumber(described);
  if (sort?.column !== column) return { column, descending: first };
  return sort.descending === first ? { column, descending: !first } : null;
}

export function shownRows(table: TextTable, wanted: Wanted): ShownRow[] {
  const { rows } = table, parents = parentsOf(rows), order = orderOf(table, parents, wanted.sort);
  const kept = filtered(rows, parents, wanted.filter.trim().toLowerCase());
  const hasChildren = new Uint8Array(rows.length);
  for (let i = 0; i < rows.length; i++) if (kept[i] && parents[i]! >= 0) hasChildren[parents[i]!] = 1;
  const hidden = new Uint8Array(rows.length), full = filledDown(table, wanted), shown: ShownRow[] = [];
  for (const row of order) {
    const parent = parents[row]!;
    hidden[row] = parent >= 0 && (hidden[parent] || wanted.closed.has(parent)) ? 1 : 0;
    if (kept[row] && !hidden[row]) shown.push({ row, parent, depth: rows[row]!.depth ?? 0, children: hasChildren[row] === 1, cells: full(row) });
  }
  return shown;
}

/** Of each row the one that it is below; -1: none. */
function parentsOf(rows: TextRow[]): Int32Array {
  const parents = new Int32Array(rows.length), path: number[] = [];
  rows.forEach((row, i) => {
    path.length = Math.min(path.length, row.depth ?? 0);
    parents[i] = path.length ? path[path.length - 1]! : -1;
    path.push(i);
  });
  return parents;
}

/** In a tree the children of one row are sorted among themselves. */
function orderOf(table: TextTable, parents: Int32Array, sort: Sort | null): number[] {
  const all = table.rows.map((_, i) => i);
  if (!sort || !table.columns[sort.column]) return all;
  const compare = comparison(table, sort), children = new Map<number, number[]>();
  for (const i of all) {
    const of = children.get(parents[i]!);
    if (of) of.push(i);
    else children.set(parents[i]!, [i]);
  }
  for (const list of children.values()) list.sort(compare);
  const order: number[] = [], stack = [...(children.get(-1) ?? [])].reverse();
  while (stack.length) {
    const row = stack.pop()!, below = children.get(row);
    order.push(row);
    if (below) for (let i = below.length - 1; i >= 0; i--) stack.push(below[i]!);
  }
  return order;
}

/** What is unknown comes last either way; equals stay as they were. */
function comparison(table: TextTable, { column, descending }: Sort): (a: number, b: number) => number {
  const numbers = table.rows.map((row) => row.values[column] ?? null), texts = table.rows.map((row) => row.cells[column] ?? "");
  const turn = descending ? -1 : 1, collator = new Intl.Collator("en", { numeric: true });
  const byNumber = numbers.some((value) => value !== null);
  return (a, b) => {
    const x = numbers[a]!, y = numbers[b]!;
    if (!byNumber) return turn * collator.compare(texts[a]!, texts[b]!) || a - b;
    if (x === null || y === null) return x === y ? a - b : x === null ? 1 : -1;
    return turn * (x - y) || a - b;
  };
}

/** With a row those stay that it is below. */
function filtered(rows: TextRow[], parents: Int32Array, filter: string): Uint8Array {
  const kept = new Uint8Array(rows.length).fill(filter ? 0 : 1);
  if (!filter) return kept;
  rows.forEach((row, i) => {
    if (!row.cells.some((cell) => cell?.toLowerCase().includes(filter))) return;
    for (let at = i; at >= 0 && !kept[at]; at = parents[at]!) kept[at] = 1;
  });
  return kept;
}

/** A first cell of text that is empty means what is above it; where rows change their places, it is said again. */
function filledDown(table: TextTable, wanted: Wanted): (row: number) => (string | null)[] {
  const { rows, columns } = table;
  if ((!wanted.sort && !wanted.filter.trim()) || columns.length < 2 || columns[0]!.kind !== "text" || !rows.some((row) => row.cells[0] === null)) return (row) => rows[row]!.cells;
  const firsts: (string | null)[] = [];
  for (const row of rows) firsts.push(row.cells[0] ?? firsts[firsts.length - 1] ?? null);
  return (row) => [firsts[row]!, ...rows[row]!.cells.slice(1)];
}

/** What is shown, for a spreadsheet: titles, and numbers as numbers, in the unit that the title then names. */
export function csvRows(table: TextTable, shown: ShownRow[]): (string | number | null)[][] {
  const tree = treeColumn(table);
  const titles = table.columns.map((column) => (column.title ?? "") + unitOf(column));
  const rows = shown.map(({ row, cells, depth }) =>
    cells.map((cell, i) => {
      const value = table.rows[row]!.values[i];
      return value !== null && value !== undefined ? value : i === tree ? "  ".repeat(depth) + (cell ?? "") : cell;
    }));
  return [titles, ...rows];
}

function unitOf(column: Column): string {
  if (column.kind === "time") return " (ns)";
  if (column.kind === "bytes") return " (bytes)";
  if (column.kind === "share") return " (0 to 1)";
  return column.unit && !(column.title ?? "").includes(column.unit) ? ` (${column.unit})` : "";
}

/** The cell speaks of the routine that is highlighted: it is called so, or it is a line of it, or the kernel of that name. */
export function speaksOf(cell: string | null, routine: string): boolean {
  if (!cell || !routine) return false;
  if (cell === routine || cell.startsWith(routine + ":") || cell.startsWith(routine + " ← ")) return true;
  const kernel = /^[a-z_]+ (.+)$/s.exec(routine);
  return kernel !== null && isShort(cell, kernel[1]!);
}

/** Tables leave out a kernel's return type, namespaces and parameters. */
function isShort(cell: string, name: string): boolean {
  const at = name.indexOf(cell), after = name[at + cell.length];
  return at >= 0 && (at === 0 || name[at - 1] === " " || name[at - 1] === ":") && (after === undefined || after === "(");
}
