/* series.ts - what rises and falls over the run, device by device, as the request `series` has it: which series there are, in groups,
 * and tiles of their bins. Nothing here knows what a series counts: a new one of the request is shown as all others. */
import type { Columns } from "../columns.js";
import { request, type Requests } from "../requests.js";
import type { Process, Run } from "../types.js";
import { formatBytes, formatCount, formatMany, formatShare } from "../units.js";
import type { Fetch } from "./loader.js";
import { askedRange, type Known, type Segment } from "./tiles.js";
import type { Window } from "./window.js";

export interface SeriesAbout {
  process: number;
  device: number | null;
  device_name: string | null;
  name: string;
  unit: string;
}

export interface SeriesHeader {
  from_ns: number;
  to_ns: number;
  bin_ns: number;
  partial: boolean;
  read_rows: number;
  series: SeriesAbout[];
  lines: { series: number; first: number; count: number; from_ns: number; bin_ns: number; partial: boolean }[];
}

/* ---- which ones ------------------------------------------------------------------------------------------ */

export interface Series extends SeriesAbout {
  number: number;
  /** As tiles are kept by. */
  key: string;
}

export interface SeriesGroup {
  /** Addresses have it. */
  key: string;
  title: string;
  detail: string;
  series: Series[];
}

export const ALL_SERIES = "c";
const OPEN_AT_FIRST = 3;

/** By process and device; what is no device's, or not known whose, comes last. */
export function seriesGroups(all: SeriesAbout[], run: Run): SeriesGroup[] {
  const groups = new Map<string, SeriesGroup>();
  all.forEach((about, number) => {
    const key = `${ALL_SERIES}${about.process}d${about.device ?? ""}`;
    let group = groups.get(key);
    if (!group) groups.set(key, (group = { key, ...titles(about, run), series: [] }));
    group.series.push({ ...about, number, key: `s${number}` });
  });
  const order = ({ series: [first] }: SeriesGroup) => [first!.process, first!.device ?? Infinity] as const;
  return [...groups.values()].sort((a, b) => order(a)[0] - order(b)[0] || (order(a)[1] === order(b)[1] ? 0 : order(a)[1] - order(b)[1]));
}

function titles({ process, device, device_name }: SeriesAbout, run: Run): { title: string; detail: string } {
  const known: Process | undefined = run.processes.find((one) => one.process === process);
  const program = known?.executable?.split("/").pop() ?? known?.name ?? "", of = run.processes.length > 1 ? `${program} ${known?.pid ?? ""}` : "";
  const name = device_name?.replace(/^\d+ /, "") ?? "";
  return { title: device === null ? "No known device" : `Device ${device}`, detail: [name, of].filter(Boolean).join(" · ") };
}

/** Groups that are closed until somebody opens them. */
export function seriesClosedAtFirst(groups: SeriesGroup[]): Set<string> {
  return new Set(groups.slice(groups.length > OPEN_AT_FIRST ? 1 : OPEN_AT_FIRST).map((group) => group.key));
}

/* ---- tiles ---------------------------------------------------------------------------------------------------- */

export interface SeriesTile extends Known {
  /** Where the first bin begins, and how wide all are: wider than those of the level where rows were not read. */
  first: number;
  bin: number;
  min: Float64Array;
  max: Float64Array;
  mean: Float64Array;
}

const BYTES_OF_BIN = 24, BYTES_OF_TILE = 300;

export function seriesTiles({ header, columns }: Columns<SeriesHeader>, level: number, number: number, exact: boolean): SeriesTile[] {
  const { from, to } = askedRange(level, number);
  return header.lines.map((line) => {
    const of = (name: string) => (columns[name] as Float64Array).subarray(line.first, line.first + line.count);
    return {
      level, number, from, to, depth: 0, partial: line.partial, exact, used: 0, bytes: BYTES_OF_TILE + line.count * BYTES_OF_BIN,
      first: line.from_ns, bin: line.bin_ns, min: of("min"), max: of("max"), mean: of("mean"),
    };
  });
}

export function fetchSeries(requests: Requests): Fetch<SeriesTile> {
  return async ({ lanes, level, number }, exact, signal) => {
    const asked = request("series", null, { series: lanes.map((key) => key.slice(1)).join(","), ...askedRange(level, number), exact });
    return seriesTiles(await requests.columns<SeriesHeader>(asked, signal), level, number, exact);
  };
}

/* ---- what is drawn of them ---------------------------------------------------------------------------------------- */

/** Bins that follow each other; null: not known. Each value holds from its time to the next. */
export interface Points {
  time: number[];
  min: (number | null)[];
  max: (number | null)[];
  mean: (number | null)[];
}

export function pointsOf(segments: Segment<SeriesTile>[], window: Window): Points {
  const out: Points = { time: [], min: [], max: [], mean: [] };
  let end = window.from;
  const put = (time: number, min: number | null, max: number | null, mean: number | null) => {
    out.time.push(time);
    out.min.push(min);
    out.max.push(max);
    out.mean.push(mean);
  };
  for (const { tile, from, to } of segments) {
    const low = Math.max(from, window.from), high = Math.min(to, window.to);
    if (high <= low) continue;
    if (low > end) put(end, null, null, null);
    const { first, bin } = tile;
    const begin = Math.max(Math.floor((low - first) / bin), 0), last = Math.min(Math.ceil((high - first) / bin), tile.max.length);
    for (let i = begin; i < last; i++) put(Math.max(first + i * bin, low), tile.min[i]!, tile.max[i]!, tile.mean[i]!);
    end = last > begin ? high : low;
    if (last <= begin) put(low, null, null, null);
  }
  const at = out.time.length - 1;
  if (at >= 0 && end >= window.to) put(window.to, out.min[at]!, out.max[at]!, out.mean[at]!);
  else put(end, null, null, null);
  return out;
}

/** The bin at a time; null: it is not known. */
export function binAt(segments: Segment<SeriesTile>[], time: number): { min: number; max: number; mean: number } | null {
  for (const { tile, from, to } of segments) {
    if (time < from || time >= to) continue;
    const i = Math.floor((time - tile.first) / tile.bin);
    return i >= 0 && i < tile.max.length ? { min: tile.min[i]!, max: tile.max[i]!, mean: tile.mean[i]! } : null;
  }
  return null;
}

/* ---- words ------------------------------------------------------------------------------------------------------------ */

/** A share is known by its mean: at each instant it is 0 or 1. */
export function isShare(about: SeriesAbout): boolean {
  return about.unit === "share";
}

export function formatValue(about: SeriesAbout, value: number): string {
  if (about.unit === "bytes") return formatBytes(value);
  if (about.unit === "bytes per second") return `${formatBytes(value)}/s`;
  if (about.unit === "per second") return `${formatMany(value)}/s`;
  if (isShare(about)) return formatShare(value);
  return Number.isInteger(value) ? formatCount(value) : value.toPrecision(3);
}

/** What a pixel says: from the least to the most of it. */
export function binWords(about: SeriesAbout, bin: { min: number; max: number; mean: number } | null): string {
  if (!bin) return "not read";
  if (isShare(about)) return formatValue(about, bin.mean);
  const low = formatValue(about, bin.min), high = formatValue(about, bin.max);
  return low === high ? high : `${low} to ${high}`;
}

/** Names say what is counted, but not always in what. */
export function unitWords(about: SeriesAbout): string {
  return about.unit === "share" ? "share of the time" : about.unit;
}
