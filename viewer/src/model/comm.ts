/* comm.ts - what `view/comm` answers (docs/schema/comm.json): who sent how much to whom, and how it stands in a matrix. */
import type { PathFrame } from "./critical.js";
import { siteText } from "./memory.js";
import { laneKey } from "./timeline/lanes.js";
import type { Run, View } from "./types.js";
import { formatBytes, formatCount } from "./units.js";

/** A device's number, of several processes with its process before it; "host"; null: unknown. */
export type End = number | string | null;

export interface Sums {
  from: End;
  to: End;
  /** load, store and atomic are accesses of kernels; collective: what a rank of NCCL's sends. */
  kind: "copy" | "migration" | "load" | "store" | "atomic" | "collective";
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
  faults: Faults[];
  collectives: Collective[];
  coverage: Coverage[];
  elements: Elements[];
}

/** Which parts of objects kernels accessed, one way. */
export interface Elements extends Pick<SentObject, "name" | "site" | "owner" | "process"> {
  from: End;
  to: End;
  kind: "load" | "store" | "atomic";
  /** A name that the program gave to a part of one object. */
  part: string | null;
  object_bytes: number;
  cell_bytes: number;
  bytes: number;
  touched_bytes: number;
  times: number;
  rows: number;
  columns: number;
  grid_rows: number;
  grid_columns: number;
  grid: { row: number; column: number; bytes: number }[];
}

/** NVLink's counters of a device, one way, beside what is attributed. */
export type Link = Comm["links"][number];

/** Page faults of a processor on managed memory of one place. */
export interface Faults {
  at: End;
  at_name: string;
  faults: number;
  name: string | null;
  site: string | null;
  process: string;
}

/** What one rank asked of NCCL, and how that was carried out. */
export interface Collective {
  name: string;
  communicator: string;
  ranks: number | null;
  algorithm: string | null;
  protocol: string | null;
  channels: number | null;
  operations: number;
  bytes: number;
  sent_bytes: number | null;
  total_ns: number | null;
  process: string;
}

/** A kernel whose accesses were counted. */
export interface Coverage {
  kernel: string;
  engine: string;
  launches: number;
  looked_at: number;
  reason: string | null;
}

export interface Place {
  end: End;
  name: string;
}

export interface Matrix {
  ends: Place[];
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

const LONG_NAMES_MOST = 8;

/** What places are called where there is little room: of many, their numbers. */
export function shortNames(ends: readonly Place[]): string[] {
  return ends.map(({ end, name }) => (ends.length > LONG_NAMES_MOST ? endKey(end) : name));
}

function rank(end: End): number {
  return end === "host" ? 0 : end === null ? 2 : 1;
}

export function isOfKernel({ kind }: Sums): boolean {
  return kind === "load" || kind === "store" || kind === "atomic";
}

/** What the matrix and the picture beside it show. */
export const MEASURES = ["bytes", "operations", "rate"] as const;
export type Measure = (typeof MEASURES)[number];

/** 0: nothing, or it is not known. */
export function measured(pair: Pair, by: Measure): number {
  return by === "bytes" ? pair.bytes : by === "operations" ? pair.operations : (pair.bytes_per_s ?? 0);
}

export function measuredText(pair: Pair, by: Measure): string {
  return by === "bytes" ? bytesText(pair) : by === "operations" ? operationsText(pair) : rateText(pair.bytes_per_s);
}

/** At least so much where not all launches of a kernel were looked at; of collectives about so much. */
export function bytesText(row: { bytes: number; exact: boolean; kind: string }): string {
  return (row.exact ? "" : row.kind === "collective" ? "≈ " : "≥ ") + formatBytes(row.bytes);
}

function operationsText(row: Sums): string {
  return (row.exact || row.kind === "collective" ? "" : "≥ ") + formatCount(row.operations);
}

/** What a pair is, in words. */
export function pairText(pair: Pair): string {
  const rate = pair.bytes_per_s === null ? "" : `, ${rateText(pair.bytes_per_s)}`;
  return `${pair.from_name} to ${pair.to_name}: ${bytesText(pair)} in ${operationsText(pair)} operations${rate}`;
}

/* ---- what is chosen, as addresses hold it ------------------------------------------------------------ */

export function endKey(end: End): string {
  return end === null ? "unknown" : String(end);
}

/** "host>1". */
export function wayKey({ from, to }: { from: End; to: End }): string {
  return `${endKey(from)}>${endKey(to)}`;
}

/** Of the same place in the source, whichever way its bytes go. */
export function lineKey(row: Line): string {
  return row.file !== null && row.line !== null ? `${row.file}:${row.line}` : `#${row.node ?? ""} ${row.kernel ?? ""}`;
}

/** Of the same data objects, whoever reads or writes them. */
export function objectKey({ name, site, owner, process }: SentObject): string {
  return [name ?? "", endKey(owner), process ?? "", site ?? ""].join(" ");
}

/** Objects are of a line, whoever called it; elements tell call paths apart. */
export function isOfObject(row: Elements, object: SentObject): boolean {
  return row.name === object.name && lineOf(row.site) === lineOf(object.site) && row.owner === object.owner && row.process === object.process;
}

/** "make() ring.cu:57 ← main() ring.cu:97" is "make() ring.cu:57". */
export function lineOf(site: string | null): string {
  return site?.split(" ← ")[0] ?? "";
}

/** "512x1024"; null: it is none. */
export function shapeOf(text: string | undefined): { rows: number; columns: number } | null {
  const found = /^([1-9]\d{0,14})x([1-9]\d{0,14})$/.exec(text ?? "");
  return found && { rows: Number(found[1]), columns: Number(found[2]) };
}

/* ---- in words ------------------------------------------------------------------------------------------ */

/** "halo() halo.cu:31 ← step() halo.py:7": a kernel's line and who launched it; of a copy the nearest frames of the user's code. */
export function lineText(row: Line): string {
  if (row.kernel === null) return siteText(row.frames);
  const base = row.file?.slice(row.file.lastIndexOf("/") + 1);
  return `${kernelText(row.kernel)}${base ? ` ${base}:${row.line}` : ""}${row.frames.length ? ` ← ${siteText(row.frames, 1)}` : ""}`;
}

/** "void halo<4>(float*)" is "halo<4>()". */
function kernelText(name: string): string {
  let depth = 0;
  for (let i = 0; i < name.length; i++) {
    depth += name[i] === "<" ? 1 : name[i] === ">" ? -1 : 0;
    if (name[i] === "(" && depth === 0 && i > 0 && name[i + 1] !== "a") return `${name.slice(0, i).replace(/^void /, "")}()`; /* not (anonymous namespace) */
  }
  return `${name}()`;
}

/** Keys of a device's queues on the time line: `pair` is one of which it is an end. */
export function queuesOf(run: Run, end: End, pairs: readonly Pair[]): string[] {
  const of = pairs.find((pair) => pair.from === end || pair.to === end), device = /(\d+)$/.exec(String(end));
  const process = run.processes.length === 1 ? run.processes[0] : run.processes.find(({ name }) => name === of?.process);
  if (!of || !device || !process) return [];
  return process.lanes.filter((lane) => lane.kind === "queue" && lane.device === Number(device[1])).map(({ lane }) => laneKey(process.process, lane));
}

/** How often what was accessed was accessed. */
export function timesText({ times }: Elements): string {
  return `${times >= 10 ? formatCount(Math.round(times)) : String(Number(times.toPrecision(2)))} ${times === 1 ? "time" : "times"} each`;
}

/** "rows 8 to 15, columns 0 to 3: 4.10 kB". */
export function partText(row: Elements, atRow: number, atColumn: number, bytes: number): string {
  const span = (word: string, at: number, parts: number, all: number) => {
    const first = Math.floor((at * all) / parts), last = Math.max(Math.floor(((at + 1) * all) / parts) - 1, first);
    return first === last ? `${word} ${formatCount(first)}` : `${word}s ${formatCount(first)} to ${formatCount(last)}`;
  };
  const place = row.rows > 1 ? `${span("row", atRow, row.grid_rows, row.rows)}, ${span("column", atColumn, row.grid_columns, row.columns)}` : span("byte", atColumn, row.grid_columns, row.object_bytes);
  return `${place}: ${formatBytes(bytes)}`;
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
export function meaningOf(views: readonly View[], table: string, column: string, of = "comm"): string | undefined {
  const columns = views.find((view) => view.name === of)?.tables.find((one) => one.name === table)?.columns ?? [];
  return columns.find((one) => one.name === column)?.definition ?? undefined;
}
