/* next.ts - asking for the next interval of what is highlighted, on whatever lane it is: the request `next`. */
import { request } from "../requests.js";
import type { Place } from "./place.js";

export interface NextHit {
  process: number;
  lane: number;
  track: number;
  kind: string;
  begin_ns: number;
  end_ns: number;
  cut: boolean;
  correlation: number;
  node: number;
}

/** Of one routine, or of all with a text in their names. */
export type Wanted = { routine: string } | { text: string };

/** The one after `from` (`direction` 1) or before it; where `from` is a time, the first that begins then or later, or the last before. */
export function nextRequest(wanted: Wanted, from: Place | number, direction: 1 | -1, depth: number): string {
  const isTime = typeof from === "number", at = Math.max(isTime ? Math.ceil(from) : from.begin, 0);
  const place = isTime ? null : [from.lane, from.track, from.correlation].join(":");
  return request("next", null, { ...wanted, at, place, back: direction < 0, depth: depth || null });
}
