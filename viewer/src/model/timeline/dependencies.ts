/* dependencies.ts - the answer to `dependencies` (docs/developers/requests.md), which one to ask for, and the arrows that are drawn of it. */
import { request } from "../requests.js";
import type { Process } from "../types.js";
import type { Interval } from "./intervals.js";

export interface Step {
  kind: "operation" | "call";
  lane: number;
  name: string | null;
  correlation: number | null;
  begin_ns: number | null;
  end_ns: number | null;
}

export interface Dependency extends Step {
  reasons: string[];
  inferred: boolean;
  decided: boolean;
  slack_ns: number;
}

export interface Dependencies extends Step {
  process: number;
  unknown: string | null;
  dropped: boolean;
  delay_ns: number | null;
  before: Dependency[];
  before_left_out: number;
  after: Dependency[];
  after_left_out: number;
}

/** What asks for the dependencies of this interval; null: it is no operation and no API call, or several. */
export function dependenciesOf(interval: Interval, process: Process): string | null {
  if (interval.merged || interval.track > 0) return null;
  const isCall = interval.kind === "call", isOperation = interval.kind === "operation" || interval.kind === "order" || interval.kind === "untimed";
  if ((!isCall && !isOperation) || interval.rows > 1) return null; /* at a level of the call path, several calls can be one interval */
  return request("dependencies", null, {
    process: process.process, lane: Number(interval.lane.split(":")[1]), begin: interval.begin + process.origin_ns,
    correlation: isOperation ? interval.correlation || null : null,
  });
}

/** Where it begins on the axis of the run, as the stage finds it; null: nobody knows. */
export function placeOfStep(step: Step, process: Process): { lane: string; track: number; begin: number; correlation: number } | null {
  if (step.begin_ns === null) return null;
  return { lane: `${process.process}:${step.lane}`, track: 0, begin: step.begin_ns - process.origin_ns, correlation: step.correlation ?? 0 };
}

/** What decided when it went on; null: nothing is known to have. */
export function decidingOf(dependencies: Dependencies): Dependency | null {
  return dependencies.before.find((one) => one.decided) ?? null;
}

/** What it decided, the first of it. */
export function decidedBy(dependencies: Dependencies): Dependency | null {
  return dependencies.after.find((one) => one.decided) ?? null;
}

/* ---- words -------------------------------------------------------------------------------------- */

const REASONS: Record<string, string> = {
  submission: "enqueued by the call", queue: "order of the queue", barrier: "barrier or marker", wait_list: "wait list", event: "event of a queue",
  default_stream: "default stream", user_event: "user event", call_wait: "the call waits for it", call_queue: "the call waits for the queue", call_device: "the call waits for the device",
};

/** "order of the queue, wait list". */
export function reasonWords({ reasons, inferred }: Dependency): string {
  return reasons.map((reason) => REASONS[reason] ?? reason).join(", ") + (inferred ? " (inferred)" : "");
}

const UNKNOWN: Record<string, string> = {
  untimed: "Its times are unknown, and so are its dependencies.",
  point: "It is a place in its queue: it stands for the work before it, or holds back what comes next.",
  synchronize: "It is its API call, which has the dependencies.",
  collective: "It runs as a kernel, which has the dependencies.",
  earlier: "Only the last part of the run was examined: its dependencies are unknown.",
};

/** Why nothing is known. */
export function unknownWords(unknown: string): string {
  return UNKNOWN[unknown] ?? "Its dependencies are unknown.";
}

/* ---- arrows ---------------------------------------------------------------------------------------- */

/** From what had to finish first to what waited, on the axis of the run. */
export interface Link {
  from: { lane: string; time: number };
  to: { lane: string; time: number };
  /** It decided. */
  strong: boolean;
  /** The end at which the chosen one is not. */
  other: "from" | "to";
}

export function linksOf(dependencies: Dependencies, process: Process): Link[] {
  const own = dependencies, out: Link[] = [];
  const moment = (step: Step) => (step.kind === "call" ? step.end_ns! : step.begin_ns!);
  const add = (first: Step, second: Step, strong: boolean, other: Link["other"]) => {
    if (first.begin_ns === null || second.begin_ns === null) return;
    const at = moment(second), end = (step: Step, time: number) => ({ lane: `${process.process}:${step.lane}`, time: time - process.origin_ns });
    out.push({ from: end(first, Math.min(first.end_ns!, at)), to: end(second, at), strong, other });
  };
  for (const one of own.before) add(one, own, one.decided, "from");
  for (const one of own.after) add(own, one, one.decided, "to");
  return out;
}

export interface Arrow {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
  strong: boolean;
  /** How many it stands for: those that begin and end at one place, at an edge or in a closed group. */
  count: number;
  other: Link["other"];
}

/** `x` of a time and `y` of a lane on the picture; y is at an edge, or on a closed group, where the lane cannot be seen, null where it has no place. */
export interface Sight {
  width: number;
  x(time: number): number;
  y(lane: string): number | null;
}

const NEAR = 8; /* pixels within which two arrows are one */

/** The arrows on the picture, those that decided last, so that they lie above. What cannot be seen is pointed to from the edge. */
export function arrowsOf(links: Link[], { width, x, y }: Sight): Arrow[] {
  const found = new Map<string, Arrow>();
  for (const { from, to, strong, other } of links) {
    const y0 = y(from.lane), y1 = y(to.lane), left = x(from.time), right = x(to.time);
    if (y0 === null || y1 === null || Math.max(left, right) < 0 || Math.min(left, right) > width) continue;
    const x0 = Math.min(Math.max(left, 0), width), x1 = Math.min(Math.max(right, 0), width);
    const key = [strong, other, Math.round(y0), Math.round(y1), Math.floor(x0 / NEAR), Math.floor(x1 / NEAR)].join(" ");
    const same = found.get(key);
    if (same) same.count++;
    else found.set(key, { x0, y0, x1, y1, strong, count: 1, other });
  }
  return [...found.values()].sort((a, b) => Number(a.strong) - Number(b.strong));
}
