/* memory.ts - what `view/memory` and `view/objects` answer (docs/schema/memory.json, objects.json): levels over time, and who holds them. */
import { frameText, type PathFrame } from "./critical.js";

export interface MemorySite {
  kind: string;
  objects: number;
  bytes: number;
  peak_objects: number;
  peak_bytes: number;
  most_objects: number;
  alive: number;
  alive_bytes: number;
  left_behind: number | null;
  left_behind_bytes: number | null;
  unused: number | null;
  unused_bytes: number | null;
  held_byte_s: number;
  idle_before_byte_s: number | null;
  idle_after_byte_s: number | null;
  alloc_ns: number | null;
  cached: boolean;
  frames: PathFrame[];
}

export interface MemorySpace {
  process: string;
  class: "device" | "shared" | "host";
  device: number | null;
  name: string | null;
  capacity_bytes: number | null;
  begin_ns: number;
  end_ns: number;
  peak_bytes: number;
  peak_ns: number;
  peak_objects: number;
  objects: number;
  bytes: number;
  sizeless: number;
  freed: number;
  alive: number;
  alive_bytes: number;
  end: string;
  cached_bytes: number;
  series: { at_ns: number[]; bytes: number[]; sites: number[][]; other: number[] };
  sites: MemorySite[];
  rank: number | null;
}

export interface Memory {
  parts: number;
  bad_times: number;
  incomplete: boolean;
  spaces: MemorySpace[];
}

export interface ObjectSite {
  kind: string;
  count: number;
  bytes: number;
  alive: number;
  alive_bytes: number;
  life_ns: number;
  frames: PathFrame[];
}

export interface Objects {
  count: number;
  bytes: number;
  peak_bytes: number;
  sites: ObjectSite[];
}

const CLASSES = { device: "device memory", shared: "shared memory", host: "pinned host memory" };

/** "device memory of 0 NVIDIA H200 (alpha-4711-0)". */
export function spaceText(space: MemorySpace, several: boolean): string {
  const device = space.device === null ? (space.class === "device" ? " of an unknown device" : "") : ` of ${space.device} ${space.name ?? ""}`.trimEnd();
  return `${CLASSES[space.class]}${device}${several ? ` (${space.rank === null ? space.process : `rank ${space.rank}`})` : ""}`;
}

/** "cudaMalloc ← alloc() heat.c:81", the innermost first; `most` frames. */
export function siteText(frames: readonly PathFrame[], most = 2): string {
  return frames.length ? frames.slice(0, most).map(frameText).join(" ← ") : "unknown call path";
}

/** What the colours of call paths are made of: their whole text, and where two read alike something more, so that they can be told apart. */
export function colourKeys(sites: readonly MemorySite[]): string[] {
  const seen = new Map<string, number>();
  return sites.map((site) => {
    const text = siteText(site.frames, site.frames.length), before = seen.get(text) ?? 0;
    seen.set(text, before + 1);
    return before ? `${text} ${before}` : text;
  });
}

/** Which point of the series holds at a time: the last that is not later; -1: before the first. */
export function pointAt(space: MemorySpace, at_ns: number): number {
  const { at_ns: times } = space.series;
  let low = 0, high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! <= at_ns) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Who holds what from a point of the series on: the sites that the series tells apart, and the rest; most first. */
export interface Holder {
  /** Number of the site; -1: all others. */
  site: number;
  bytes: number;
}

export function holdersAt(space: MemorySpace, point: number): Holder[] {
  if (point < 0) return [];
  const holders = space.series.sites.map((line, site): Holder => ({ site, bytes: line[point] ?? 0 }));
  holders.sort((a, b) => b.bytes - a.bytes || a.site - b.site);
  return [...holders, { site: -1, bytes: space.series.other[point] ?? 0 }].filter((holder) => holder.bytes > 0);
}

/** Lines that stand on each other, the last is the sum: [line][point]; the first line is all others, then the sites from the smallest. */
export function stackedLines(space: MemorySpace): { site: number; levels: number[] }[] {
  const lines: { site: number; levels: number[] }[] = [];
  let below = space.series.at_ns.map(() => 0);
  const parts = [{ site: -1, line: space.series.other }, ...space.series.sites.map((line, site) => ({ site, line })).reverse()];
  for (const { site, line } of parts) {
    below = below.map((level, point) => level + (line[point] ?? 0));
    lines.push({ site, levels: below });
  }
  return lines;
}
