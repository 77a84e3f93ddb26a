/* figures.ts - figures of a profile as text, and rows as they are named in the page's address. */
import { formatBytes, formatCount, formatTime } from "../units.js";
import type { Figure, ProfileRow, Shown } from "./answer.js";
import type { ProfileTree } from "./tree.js";

export function figureText(figure: Figure | undefined, unit: string | null): string {
  if (figure === "error") return "error";
  if (figure === null || figure === undefined) return "-";
  if (figure === 0) return "0";
  if (unit === "ns") return formatTime(figure);
  if (unit === "bytes") return formatBytes(figure);
  if (unit === "count") return formatCount(figure);
  const size = Math.abs(figure);
  return size >= 1e15 || size < 1e-3 ? figure.toExponential(2) : Number(figure.toPrecision(4)).toLocaleString("en-US", { maximumFractionDigits: 6 });
}

/** The figure with its standard error in percent, where there is one of half a percent or more: "863 ms ±3 %". */
export function figureCell(row: ProfileRow, column: Shown, unit: string | null): string {
  const figure = row[column.side][column.name], error = row[column.side][`${column.name}_error`], text = figureText(figure, unit);
  if (typeof figure !== "number" || typeof error !== "number" || !(figure > 0)) return text;
  const percent = (100 * error) / figure;
  return percent < 0.5 ? text : `${text} ±${Math.min(percent, 999).toFixed(0)} %`;
}

/** What pictures and tables that sum up by routine call it: without the line. */
export function routineOf(row: ProfileRow): string {
  const end = `:${row.line}`;
  return row.line !== null && row.label.endsWith(end) ? row.label.slice(0, -end.length) : row.label;
}

/** A row in the address: top-down its call path's number; else the numbers of the rows that lead to it. */
export function keyOf(tree: ProfileTree, row: number): string {
  if (tree.shape === "top-down") return String(tree.rows[row]!.node);
  return tree
    .path(row)
    .slice(1)
    .map((at) => tree.rows[at]!.node)
    .join(".");
}

/** The row that the address means, or the nearest above it that is shown; -1: it is not there. */
export function findKey(tree: ProfileTree, key: string): number {
  if (!/^\d+(\.\d+)*$/.test(key)) return -1;
  if (tree.shape === "top-down") {
    const row = tree.find(Number(key.split(".").pop()));
    return row > 0 && tree.isPassedOver(row) ? tree.parentOf(row) : row;
  }
  let at = 0;
  for (const word of key.split(".")) {
    const next = tree.childrenOf(at).find((child) => tree.rows[child]!.node === Number(word));
    if (next === undefined) return at === 0 ? -1 : at;
    at = next;
  }
  return at;
}

/** The nearest frame with a line in a source file: the row's own, or that of who called it. -1: there is none. */
export function sourceRow(tree: ProfileTree, row: number): number {
  if (tree.shape !== "top-down") return hasPlace(tree.rows[row]!) ? row : -1;
  for (let at = row; at > 0; at = tree.parentOf(at)) if (hasPlace(tree.rows[at]!)) return at;
  return -1;
}

function hasPlace(row: ProfileRow): boolean {
  return row.file !== null && row.line !== null && row.kind !== "link";
}
