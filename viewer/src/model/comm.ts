/* comm.ts - what `view/comm` answers (docs/schema/comm.json): who sent how much to whom, and how it stands in a matrix. */
import type { PathFrame } from "./critical.js";
import type { View } from "./types.js";

/** A device's number, of several processes with its process before it; "host"; null: unknown. */
export type End = number | string | null;

export interface Sums {
  from: End;
  to: End;
  kind: "copy" | "migration";
  operations: number;
  bytes: number;
  exact: boolean;
  timed: number;
  total_ns: number | null;
  process: string | null;
}

export interface Pair extends Sums {
  from_name: string;
  to_name: string;
  bytes_per_s: number | null;
}

export interface Line extends Sums {
  function: string | null;
  file: string | null;
  line: number | null;
  kernel: string | null;
  node: number | null;
  frames: PathFrame[];
}

export interface SentObject extends Sums {
  name: string | null;
  site: string | null;
  owner: End;
  frames: PathFrame[];
}

export interface Comm {
  operations: number;
  bytes: number;
  unknown_operations: number;
  unknown_bytes: number;
  untraced: number;
  pairs: Pair[];
  lines: Line[];
  objects: SentObject[];
  links: { link: string; bytes_counted: number; bytes_attributed: number }[];
  matrix: Pair[];
}

export interface Matrix {
  ends: { end: End; name: string }[];
  /** [from][to]; null: nothing went there. */
  cells: (Pair | null)[][];
}

/** Rows and columns are the same ends: the host, the devices in their order, the unknown. */
export function matrixOf(comm: Comm): Matrix {
  const names = new Map<End, string>();
  for (const pair of comm.matrix) names.set(pair.from, pair.from_name).set(pair.to, pair.to_name);
  const ends = [...names].map(([end, name]) => ({ end, name })).sort((a, b) => rank(a.end) - rank(b.end) || String(a.end).localeCompare(String(b.end), "en", { numeric: true }));
  return { ends, cells: ends.map(({ end: from }) => ends.map(({ end: to }) => comm.matrix.find((pair) => pair.from === from && pair.to === to) ?? null)) };
}

function rank(end: End): number {
  return end === "host" ? 0 : end === null ? 2 : 1;
}

/** "host → 1". */
export function wayText(row: { from: End; to: End }): string {
  return `${row.from ?? "unknown"} → ${row.to ?? "unknown"}`;
}

/** 10^9 bytes in a second; "-": unknown. */
export function rateText(bytes_per_s: number | null): string {
  if (bytes_per_s === null) return "-";
  const rate = bytes_per_s / 1e9;
  return `${rate >= 100 ? rate.toFixed(0) : rate.toPrecision(3)} GB/s`;
}

/** A number as it is in a column of this table; the view says what it means. */
export function meaningOf(views: readonly View[], table: string, column: string): string | undefined {
  const columns = views.find((view) => view.name === "comm")?.tables.find((one) => one.name === table)?.columns ?? [];
  return columns.find((one) => one.name === column)?.definition ?? undefined;
}
