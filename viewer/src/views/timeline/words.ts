/* words.ts - what is said of an interval: in the tooltip, to those who listen, and in the panel. */
import { categoryText } from "../../model/critical.js";
import type { Interval } from "../../model/timeline/intervals.js";
import { formatPoint } from "../../model/timeline/window.js";
import { formatCount, formatShare, formatTime } from "../../model/units.js";

const KIND_WORDS: Record<Interval["kind"], string> = {
  operation: "operation on the device",
  order: "orders others, or a collective",
  untimed: "operation without times, at its API call",
  call: "API call",
  wait: "wait in the C library",
  sample: "inferred from samples nearby, not recorded",
  off_cpu: "off the CPU",
  range: "range",
  unread: "not read yet",
};

export function kindWords(interval: Interval): string {
  const words = KIND_WORDS[interval.kind];
  return interval.kind === "range" && interval.begin === interval.end && !interval.merged ? "mark" : words;
}

/** Its time, with what a bin's is a part of. */
export function timeWords(interval: Interval): string {
  if (interval.kind === "unread") return `${formatCount(interval.rows)} rows within ${formatTime(interval.end - interval.begin)}`;
  if (!interval.merged) return interval.begin === interval.end ? "no time" : `${interval.cut ? "at least " : ""}${formatTime(interval.end - interval.begin)}`;
  const bin = interval.end - interval.begin;
  return `${formatTime(interval.time)} of ${formatTime(bin)} (${formatShare(interval.time / bin)}), ${formatCount(interval.rows)} in all; busy ${formatShare(interval.busy)}`;
}

export function placeWords(interval: Interval, span: number): string {
  return `at ${formatPoint(interval.begin, Math.min(span, Math.max(interval.end - interval.begin, 1) * 100))}`;
}

/** Of the critical path: "Critical path: kernels, heat, 1.2 ms". */
export function stepWords({ label, category, begin, end }: { label: string; category: string; begin: number; end: number }): string {
  const kind = categoryText(category);
  return `Critical path: ${[kind, label === kind ? "" : label, formatTime(end - begin)].filter(Boolean).join(", ")}`;
}

export function announced(interval: Interval, label: string, lane: string, span: number): string {
  return `${lane}: ${label}, ${kindWords(interval)}, ${timeWords(interval)}, ${placeWords(interval, span)}`;
}
