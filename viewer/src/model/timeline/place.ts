/* place.ts - where an interval is, as well as it can be told from the others: in addresses, and in requests. */
import type { Interval } from "./intervals.js";
import { laneKey } from "./lanes.js";

export interface Place {
  lane: string;
  track: number;
  begin: number;
  correlation: number;
}

export function placeOf(interval: Interval): Place {
  return { lane: interval.lane, track: interval.track, begin: interval.begin, correlation: interval.correlation };
}

export function formatPlace(place: Place): string {
  return `${place.lane}:${place.track}:${place.begin}:${place.correlation}`;
}

export function parsePlace(text: string | undefined): Place | null {
  const numbers = text?.split(":").map(Number);
  if (!numbers || numbers.length !== 5 || numbers.some((n) => !Number.isFinite(n) || n < 0)) return null;
  const [process, lane, track, begin, correlation] = numbers as [number, number, number, number, number];
  return { lane: laneKey(process, lane), track, begin, correlation };
}
