/* operation.ts - the answer to `operation` (docs/developers/requests.md), and which operation to ask for. */
import { request } from "../requests.js";
import type { Frame, Process } from "../types.js";
import type { Interval } from "./intervals.js";

export interface Operation {
  process: number;
  lane: number;
  number: number;
  name: string;
  kind: string;
  device: number | null;
  correlation: number | null;
  start_ns: number | null;
  end_ns: number | null;
  duration_ns: number | null;
  enter_ns: number | null;
  queued_ns: number | null;
  submit_ns: number | null;
  queue_ns: number | null;
  queue_delay: Record<string, number | null> | null;
  bytes: number | null;
  gb_per_s: number | null;
  failed: boolean;
  bad_time: boolean;
  early: boolean;
  work: Work | null;
  object: { object: number; kind: string; bytes: number; alloc_ns: number | null; free_ns: number | null; frames: Frame[] } | null;
  call: { lane: number; name: string | null; enter_ns: number; leave_ns: number | null } | null;
  alike: Alike | null;
  frames: Frame[];
}

export interface Work {
  global?: number[] | null;
  local?: number[] | null;
  registers?: number | null;
  static_shared_bytes?: number | null;
  dynamic_shared_bytes?: number | null;
  local_bytes?: number | null;
  cluster?: number[] | null;
  occupancy?: number | null;
  occupancy_limiter?: string | null;
  source?: string | null;
  target?: string | null;
  source_device?: number | null;
  target_device?: number | null;
}

export interface Alike {
  count: number;
  timed: number;
  mean_ns: number | null;
  min_ns: number | null;
  max_ns: number | null;
  p50_ns: number | null;
  p95_ns: number | null;
  p99_ns: number | null;
  /** How many took how long, shortest first. */
  durations: { from_ns: number; to_ns: number; count: number }[];
}

/** A bar of the distribution: on a scale of logarithms from 0, the shortest, to 1; how high it is, of the highest. */
export interface DurationBar {
  from: number;
  to: number;
  height: number;
  count: number;
  from_ns: number;
  to_ns: number;
}

/** Where a duration is on that scale. */
export function durationScale({ min_ns: min, max_ns: max }: Alike): (ns: number) => number {
  const low = Math.log(Math.max(min ?? 1, 1)), span = Math.log(Math.max(max ?? 1, 1)) - low;
  return (ns) => (span > 0 ? Math.min(Math.max((Math.log(Math.max(ns, 1)) - low) / span, 0), 1) : 0.5);
}

/** The area of a bar is its count, as far as it lies between the shortest and the longest. */
export function durationBars(alike: Alike): DurationBar[] {
  const scale = durationScale(alike);
  const bars = alike.durations.map(({ from_ns, to_ns, count }) => ({ from: scale(from_ns), to: scale(to_ns), count, from_ns, to_ns }));
  const dense = bars.map(({ from, to, count }) => count / Math.max(to - from, 1e-3)), most = Math.max(...dense, 0);
  return bars.map((bar, at) => ({ ...bar, height: dense[at]! / most }));
}

/** What asks for the operation that this interval is, or that this call enqueued; null: it is none, or several. */
export function operationOf(interval: Interval, process: Process): string | null {
  if (interval.merged || interval.track > 0) return null;
  const lane = Number(interval.lane.split(":")[1]);
  if (interval.kind === "operation" || interval.kind === "order" || interval.kind === "untimed")
    return request("operation", null, { process: process.process, lane, begin: interval.begin + process.origin_ns, correlation: interval.correlation || null });
  if (interval.kind === "call" && interval.correlation)
    return request("operation", null, { process: process.process, correlation: interval.correlation });
  return null;
}

/** Where the operation begins on the axis of the run: of one without times, where its API call was entered. */
export function placeOfOperation(operation: Operation, process: Process): { lane: string; track: number; begin: number; correlation: number } | null {
  const at = operation.start_ns ?? operation.enter_ns;
  if (at === null) return null;
  return { lane: `${operation.process}:${operation.lane}`, track: 0, begin: at - process.origin_ns, correlation: operation.correlation ?? 0 };
}

export function placeOfCall(operation: Operation, process: Process): { lane: string; track: number; begin: number; correlation: number } | null {
  if (!operation.call) return null;
  return { lane: `${operation.process}:${operation.call.lane}`, track: 0, begin: operation.call.enter_ns - process.origin_ns, correlation: operation.correlation ?? 0 };
}
