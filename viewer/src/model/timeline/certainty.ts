/* certainty.ts - how sure a stretch is that was inferred from samples: what the view statistics says of its time and its thread. */
import { request } from "../requests.js";
import type { Process } from "../types.js";
import { formatShare, formatTime } from "../units.js";
import type { Interval } from "./intervals.js";

export interface Certainty {
  rows: { kind: string; label: string | null; thread_ns: number; sampled_ns: number; pooled_ns: number; error_ns: number }[];
}

/** null: nothing of it comes from samples. */
export function certaintyRequest(interval: Interval, process: Process, depth: number): string | null {
  const lane = process.lanes.find((one) => `${process.process}:${one.lane}` === interval.lane);
  if (interval.kind !== "sample" || lane?.kind !== "thread" || lane.tid === null) return null;
  const from = Math.floor(interval.begin), to = Math.max(Math.ceil(interval.end), from + 1);
  return request("view", "statistics", { from: `${from}ns`, to: `${to}ns`, lane: `${process.name}:${lane.tid}`, depth: depth || null });
}

/** In the time of the interval: how much is this routine's, and within which error. null: the view does not name it. */
export function certaintyWords({ rows }: Certainty, routine: string): string | null {
  const row = rows.find((one) => one.kind === "routine" && one.label === routine);
  if (!row || row.sampled_ns <= 0) return null;
  const pooled = row.pooled_ns > 0 ? `; ${formatShare(row.pooled_ns / row.sampled_ns)} of it, where no sample reaches, divided as in similar gaps` : "";
  return `${formatTime(row.sampled_ns)} ± ${formatTime(row.error_ns)} (standard error)${pooled}`;
}
