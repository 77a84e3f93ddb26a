/* summary.ts - what the first page draws: the parts of the answers that belong together, side by side. It computes no figure: only how long a bar is. */
import type { Advices, Overview, Run, Summary, Text, TextItem, TextTable, VerdictPart } from "../types.js";

export type Sentence = Extract<TextItem, { kind: "sentence" }>;

export interface Screen {
  title: Sentence | null;
  /** What is said before the first table. */
  lead: Sentence[];
  /** The rest, in its order; of warnings the banner speaks. */
  rest: TextItem[];
}

export function screenOf(text: Text): Screen {
  const items = text.items.filter((item) => item.kind !== "sentence" || (item.tone !== "warning" && item.tone !== "error"));
  const titleAt = items.findIndex((item) => item.kind === "sentence" && item.tone === "title");
  const title = titleAt >= 0 ? (items.splice(titleAt, 1)[0] as Sentence) : null;
  const first = items.findIndex((item) => item.kind === "table"), lead: Sentence[] = [], rest: TextItem[] = [];
  items.forEach((item, i) => (item.kind === "sentence" && (first < 0 || i < first) ? lead.push(item) : rest.push(item)));
  return { title, lead, rest };
}

/** In words, as the report's tables have them. */
export const KINDS: Record<VerdictPart["kind"], string> = {
  busy: "busy",
  host_code: "host code",
  api_calls: "other API calls",
  waits: "waits in API calls",
  compiles: "compiling, loading code",
  memory: "allocating, freeing",
  start_up: "start-up",
  no_thread: "no thread active",
  unknown: "unknown",
};

export interface DeviceUse {
  /** The cells of the report's row. */
  name: string;
  cells: { title: string; definition: string | null; text: string }[];
  /** As shares of the wall time; empty: unknown. */
  parts: { kind: VerdictPart["kind"]; share: number; ns: number; place: string | null }[];
  /** How busy it was, pixel by pixel, 0 to 1; null: unknown. */
  busy: Float64Array | null;
}

/** The report's rows of devices, in its order, which is that of the JSON. */
export function deviceUses(table: TextTable, summary: Summary | null): DeviceUse[] {
  return table.rows.map((row, i) => ({
    name: row.cells[0] ?? "",
    cells: table.columns.slice(1).map((column, k) => ({ title: column.title ?? "", definition: column.definition, text: row.cells[k + 1] ?? "" })),
    parts: partsOf(summary?.devices[i]),
    busy: null,
  }));
}

function partsOf(device: Summary["devices"][number] | undefined): DeviceUse["parts"] {
  if (!device?.wall_ns || device.busy_ns === null || device.idle_ns === null) return [];
  const wall = device.wall_ns;
  const idle = device.idle_for ?? [{ kind: "unknown" as const, ns: device.idle_ns, place: null }];
  return [{ kind: "busy" as const, share: device.busy_ns / wall, ns: device.busy_ns, place: null }, ...idle.map(({ kind, ns, place }) => ({ kind, ns, place, share: ns / wall }))];
}

/** The strip of the overview that is of the same device of the same process. */
export function withStrips(uses: DeviceUse[], summary: Summary | null, run: Run, overview: Overview, busy: ArrayLike<number>): DeviceUse[] {
  return uses.map((use, i) => {
    const device = summary?.devices[i], process = run.processes.find((one) => one.name === device?.process);
    const at = device && process ? overview.devices.findIndex((one) => one.process === process.process && (one.device ?? 0) === device.device) : -1;
    return at < 0 ? use : { ...use, busy: Float64Array.from({ length: overview.pixels }, (_, x) => (busy[at * overview.pixels + x] ?? 0) / 65535) };
  });
}

/** Of each row the kernel's whole name, and its label, which the row cuts short; null: the answers are not of one another. */
export function kernelsOf(table: TextTable, summary: Summary | null): ({ name: string; label: string } | null)[] {
  const count = table.columns.findIndex((column) => column.kind === "count");
  return table.rows.map((row, i) => {
    const kernel = summary?.kernels[i];
    if (!kernel?.name || kernel.count !== row.values[count]) return null;
    const { name, kind, source } = kernel;
    return { name, label: `${kind} ${name}` + (source ? ` ${source.file.slice(source.file.lastIndexOf("/") + 1)}:${source.line}` : "") };
  });
}

export interface Card {
  title: string;
  saving: string;
  share: string;
  shareValue: number | null;
  where: string;
  more: Advices["advice"][number] | null;
}

/** The report's brief advice, and what the view `advice` says more of the same. */
export function cardsOf(table: TextTable, advices: Advices | null): Card[] {
  return table.rows.map((row, i) => {
    const more = advices?.advice[i];
    const same = more && more.title === row.cells[0] && Math.round(row.values[1] ?? -1) === more.saving_ns;
    return { title: row.cells[0] ?? "", saving: row.cells[1] ?? "", share: row.cells[2] ?? "", shareValue: row.values[2] ?? null, where: row.cells[3] ?? "", more: same ? more : null };
  });
}

/** How the profile shows what devices were idle for. */
export const BLAME_COLUMNS = { columns: "blame,blame:excl,cpu,api,gpu", sort: "blame" };

/** The page, or the view, that shows what a rule speaks of. */
export const SHOWN_ON: Record<string, string> = {
  host_code: "profile",
  launch_bound: "timeline",
  needless_wait: "timeline",
  synchronous_copies: "timeline",
  pageable_copies: "copies",
  small_copies: "copies",
  serialized_queues: "timeline",
  small_grid: "kernels",
  compiles: "api",
  allocates_in_loop: "memory",
  redundant_writes: "values",
  needless_bytes: "values",
};
