/* compare.ts - what the request `diff` answers (docs/schema/diff.json), in words, as lengths on one scale, and as a picture. */
import type { Inks } from "./saved.js";
import { rect, svgOfParts, text } from "./svg.js";
import { formatBytes, formatCount, formatTime } from "./units.js";

export const METRICS = { time: "Device time", count: "Operations", bytes: "Bytes moved", waiting: "Waiting calls", blame: "Blame", cpu: "CPU time" } as const;
export type Metric = keyof typeof METRICS;

export interface DiffRow {
  context: string;
  context_before: string | null;
  kernel: string | null;
  kernel_before: string | null;
  /** Outermost first. */
  path: string[];
  match: "same" | "moved" | "renamed" | "new" | "gone";
  node: number | null;
  metric: Metric;
  before: number;
  after: number;
  delta: number;
  low: number | null;
  high: number | null;
  p: number | null;
  significant: boolean | null;
}

export interface Ratio {
  before_ns: number | null;
  after_ns: number | null;
  ratio: number | null;
  low: number | null;
  high: number | null;
}

export interface Diff {
  sentence: string;
  total: Ratio;
  step: (Ratio & { name: string; before_count: number; after_count: number }) | null;
  rows: DiffRow[];
  by_runs: boolean;
  common: number;
  before: string[];
  after: string[];
  ledger: { item: string; before: string | null; after: string | null }[];
  warnings: string[];
}

/** Those that have rows, in their order. */
export function metricsIn(diff: Diff): Metric[] {
  return (Object.keys(METRICS) as Metric[]).filter((metric) => diff.rows.some((row) => row.metric === metric));
}

/** The largest value of either side: bars of both are as long as their share of it. */
export function scaleOf(rows: readonly DiffRow[]): number {
  return rows.reduce((most, row) => Math.max(most, row.before, row.after), 0);
}

/** From -1, gone or much faster, over 0 to 1, new or much slower: 1 is half as much again or more. Null: what differs is not significant. */
export function changeOf(row: DiffRow): number | null {
  if (row.significant === false) return null;
  if (row.before <= 0) return row.after > 0 ? 1 : 0;
  return Math.max(-1, Math.min(1, (2 * row.delta) / row.before));
}

export function valueText(metric: Metric, value: number): string {
  if (metric === "bytes") return formatBytes(value);
  if (metric !== "count") return formatTime(value);
  return Number.isInteger(value) ? formatCount(value) : value.toFixed(1);
}

/** "+1.20 ms", "−3". */
export function deltaText(row: DiffRow): string {
  return (row.delta > 0 ? "+" : row.delta < 0 ? "−" : "") + valueText(row.metric, Math.abs(row.delta));
}

/** "+12.4 % [+10.1, +14.6]"; what has no interval is without one, and what is there on one side alone is said so. */
export function relativeText(row: DiffRow): string {
  if (row.match === "new" || row.match === "gone") return row.match;
  if (row.before <= 0) return row.after > 0 ? "from 0" : "0.0 %";
  const percent = (value: number) => signed((100 * value) / row.before);
  const interval = row.low === null || row.high === null ? "" : ` [${percent(row.low)}, ${percent(row.high)}]`;
  return `${percent(row.delta)} %${interval}`;
}

/** The same of a ratio: "+34.0 % [+32.4, +35.6]". */
export function ratioText({ ratio, low, high }: Ratio): string {
  if (ratio === null) return "unknown";
  const percent = (value: number) => signed(100 * (value - 1));
  return `${percent(ratio)} %` + (low === null || high === null ? " (how much runs differ is unknown)" : ` [${percent(low)}, ${percent(high)}]`);
}

function signed(percent: number): string {
  const digits = Math.abs(percent).toFixed(1);
  return Number(digits) === 0 ? digits : (percent < 0 ? "−" : "+") + digits;
}

/** What the test says. */
export function testText({ significant }: DiffRow): string {
  return significant === null ? "not tested" : significant ? "significant" : "not significant";
}

/** How a row's place was found, where it is not the same on both sides; null: it is. */
export function matchText(row: DiffRow): string | null {
  if (row.match === "same") return null;
  if (row.match === "new" || row.match === "gone") return row.match;
  const was = [row.kernel_before, row.context_before].filter((one) => one !== null).join(" in ");
  return `${row.match}, matched by its surroundings` + (was ? `: was ${was}` : "");
}

export function csvRows(rows: readonly DiffRow[]): (string | number | null)[][] {
  const columns = ["context", "context_before", "kernel", "kernel_before", "match", "metric", "before", "after", "delta", "low", "high", "p", "significant"] as const;
  return [[...columns], ...rows.map((row) => columns.map((column) => (typeof row[column] === "boolean" ? String(row[column]) : (row[column] as string | number | null))))];
}

const DRAWN = 40, HIGH = 34, NAME = 0.42, CUT = 70;

/** The rows with the largest differences, both sides on one scale. */
export function compareSvg(rows: readonly DiffRow[], width: number, colour: (change: number | null) => string, inks: Inks): string {
  const drawn = [...rows].sort((a, b) => Math.abs(b.delta) - Math.abs(a.delta)).slice(0, DRAWN), most = scaleOf(rows);
  const left = width * NAME, bars = width - left - 260, parts = [text(8, 16, "before (above) and after", inks.ink)];
  drawn.forEach((row, i) => {
    const y = 26 + i * HIGH, length = (value: number) => (most > 0 ? (value / most) * bars : 0);
    const name = (row.kernel === null ? "" : `${row.kernel}: `) + row.context;
    parts.push(text(8, y + 18, name.length > CUT ? name.slice(0, CUT - 1) + "…" : name, inks.ink), rect(left, y + 4, length(row.before), 10, colour(0)), rect(left, y + 16, length(row.after), 10, colour(changeOf(row))));
    parts.push(text(left + bars + 8, y + 18, `${deltaText(row)}  ${relativeText(row)}${row.significant ? " *" : ""}`, inks.ink));
  });
  parts.push(text(8, 26 + drawn.length * HIGH + 14, "* significant" + (rows.length > drawn.length ? `; ${rows.length - drawn.length} more rows` : ""), inks.ink));
  return svgOfParts(width, 26 + drawn.length * HIGH + 24, inks.paper, parts);
}
