/* tiles.ts - what is known of the time line: answers to `timeline`, cut so that moving on asks only for what was not seen yet.
 *
 * A tile is 1,024 bins of one lane at one level; a bin of level L is 2^L ns wide, and tiles begin at multiples of their width. Such a range
 * is answered as it is: the requests' own bins are powers of two, and begin at multiples of their width, too. */
import { toNumbers, type Columns } from "../columns.js";
import type { Labels } from "./labels.js";
import type { Window } from "./window.js";

export const TILE_BINS = 1024;
const TILE_SHIFT = 10;
const BYTES_OF_INTERVAL = 52, BYTES_OF_TILE = 600;
const COARSER = 14, FINER = 3; /* levels that stand in until the right one is there */
const LEVEL_MOST = 42;

export const KINDS = ["operation", "order", "untimed", "call", "wait", "sample", "off_cpu", "range", "unread"] as const;
export type KindName = (typeof KINDS)[number];

export interface AnsweredLane {
  process: number;
  lane: number;
  first: number;
  count: number;
  first_total: number;
  totals: number;
  tracks: number;
  partial: boolean;
  bad_times: number;
}

export interface TimelineHeader {
  from_ns: number;
  to_ns: number;
  bin_ns: number;
  depth: number;
  lanes: AnsweredLane[];
  strings: string[];
  routines: (string | null)[];
  frames: (string | null)[];
  kinds: string[];
  partial: boolean;
  read_rows: number;
}

/** Of one lane, or of what else is known by tiles. */
export interface Known {
  level: number;
  number: number;
  from: number;
  to: number;
  depth: number;
  partial: boolean;
  /** It was asked for with `exact`. */
  exact: boolean;
  bytes: number;
  used: number;
}

/** Intervals of one lane, by track and begin; times are those of docs/developers/requests.md. */
export interface Tile extends Known {
  tracks: number;
  /** Where each track begins, and the end. */
  starts: Int32Array;
  /** The longest interval of each track. */
  spans: Float64Array;
  begin: Float64Array;
  end: Float64Array;
  time: Float64Array;
  correlation: Float64Array;
  label: Uint32Array;
  node: Uint32Array;
  rows: Uint32Array;
  busy: Uint16Array;
  kind: Uint8Array;
  merged: Uint8Array;
  badTimes: number;
}

/* ---- which ones -------------------------------------------------------------------------------------- */

/** The level whose bins are the widest that are no wider than a pixel. */
export function levelOf(window: Window, width: number): number {
  const pixel = (window.to - window.from) / Math.max(width, 1);
  return pixel < 2 ? 0 : Math.min(Math.floor(Math.log2(pixel)), LEVEL_MOST);
}

export function tileSpan(level: number): number {
  return 2 ** (level + TILE_SHIFT);
}

/** Numbers of the first and last tile that the window touches. */
export function tilesOf(window: Window, level: number): { first: number; last: number } {
  const span = tileSpan(level);
  const first = Math.floor(window.from / span);
  return { first, last: Math.max(first, Math.ceil(window.to / span) - 1) };
}

/** What to ask for, so that the answer is these tiles. */
export function askedRange(level: number, number: number): { from: number; to: number; pixels: number } {
  const span = tileSpan(level);
  return { from: number * span, to: (number + 1) * span, pixels: TILE_BINS };
}

/* ---- from an answer ----------------------------------------------------------------------------------- */

/** The tiles of the lanes that were asked for, in their order. */
export function tilesFrom(answer: Columns<TimelineHeader>, level: number, number: number, exact: boolean, labels: Labels): Tile[] {
  const { header, columns } = answer;
  const words = Uint32Array.from(header.strings, (text, i) => labels.number(text, header.frames[i] ?? null, header.routines[i] ?? null));
  const kinds = Uint8Array.from(header.kinds, (name) => Math.max(0, (KINDS as readonly string[]).indexOf(name)));
  const all = {
    begin: toNumbers(columns.begin_ns!), end: toNumbers(columns.end_ns!), time: toNumbers(columns.time_ns!),
    correlation: toNumbers(columns.correlation!),
    label: (columns.label as Uint32Array).map((label) => words[label]!),
    kind: (columns.kind as Uint8Array).map((kind) => kinds[kind]!),
    node: columns.node as Uint32Array, rows: columns.rows as Uint32Array, busy: columns.busy as Uint16Array,
    merged: columns.merged as Uint8Array,
  };
  const track = columns.track as Uint32Array;
  const { from, to } = askedRange(level, number);
  return header.lanes.map((lane) => {
    const first = lane.first, end = lane.first + lane.count;
    const tile: Tile = {
      level, number, from, to, depth: header.depth, partial: lane.partial, exact, tracks: Math.max(lane.tracks, 1),
      starts: new Int32Array(0), spans: new Float64Array(0),
      begin: all.begin.subarray(first, end), end: all.end.subarray(first, end), time: all.time.subarray(first, end),
      correlation: all.correlation.subarray(first, end), label: all.label.subarray(first, end), node: all.node.subarray(first, end),
      rows: all.rows.subarray(first, end), busy: all.busy.subarray(first, end), kind: all.kind.subarray(first, end),
      merged: all.merged.subarray(first, end), badTimes: lane.bad_times, bytes: BYTES_OF_TILE + lane.count * BYTES_OF_INTERVAL, used: 0,
    };
    divide(tile, track.subarray(first, end));
    return tile;
  });
}

function divide(tile: Tile, track: Uint32Array): void {
  tile.starts = new Int32Array(tile.tracks + 1);
  tile.spans = new Float64Array(tile.tracks);
  let at = 0;
  for (let t = 0; t < tile.tracks; t++) {
    tile.starts[t] = at;
    for (; at < track.length && track[at]! <= t; at++) tile.spans[t] = Math.max(tile.spans[t]!, tile.end[at]! - tile.begin[at]!);
  }
  tile.starts[tile.tracks] = at;
}

/** The first interval of a track that can reach beyond `from`; those before end earlier. */
export function firstReaching(tile: Tile, track: number, from: number): number {
  const before = from - tile.spans[track]!;
  let low = tile.starts[track]!, high = tile.starts[track + 1]!;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tile.begin[middle]! < before) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* ---- what is kept ---------------------------------------------------------------------------------------- */

/** A stretch of a window, and the tile that says most of it. */
export interface Segment<T extends Known = Tile> {
  tile: T;
  from: number;
  to: number;
}

export class TileStore<T extends Known = Tile> {
  private readonly lanes = new Map<string, Map<number, T>[]>();
  private bytes = 0;
  private clock = 0;

  constructor(private readonly room = 192e6) {}

  find(lane: string, depth: number, level: number, number: number): T | undefined {
    return this.lanes.get(`${lane}/${depth}`)?.[level]?.get(number);
  }

  keep(lane: string, tile: T): void {
    const key = `${lane}/${tile.depth}`;
    let levels = this.lanes.get(key);
    if (!levels) this.lanes.set(key, (levels = []));
    const tiles = (levels[tile.level] ??= new Map<number, T>());
    const before = tiles.get(tile.number);
    if (before) this.bytes -= before.bytes;
    tile.used = ++this.clock;
    tiles.set(tile.number, tile);
    this.bytes += tile.bytes;
    if (this.bytes > this.room) this.shrink();
  }

  /** Those that were used longest ago go, until three quarters of the room are left. */
  private shrink(): void {
    const all: { tile: T; tiles: Map<number, T> }[] = [];
    for (const levels of this.lanes.values())
      for (const tiles of levels) if (tiles) for (const tile of tiles.values()) all.push({ tile, tiles });
    all.sort((a, b) => a.tile.used - b.tile.used);
    for (const { tile, tiles } of all) {
      if (this.bytes <= this.room * 0.75) return;
      tiles.delete(tile.number);
      this.bytes -= tile.bytes;
    }
  }

  /** What is known of a window at a level: its own tiles, coarser or finer ones where they are missing, in order of time. */
  segments(lane: string, depth: number, level: number, window: Window): Segment<T>[] {
    const levels = this.lanes.get(`${lane}/${depth}`), out: Segment<T>[] = [];
    if (!levels) return out;
    const { first, last } = tilesOf(window, level), span = tileSpan(level), now = ++this.clock;
    const put = (tile: T, from: number, to: number) => {
      tile.used = now;
      const before = out[out.length - 1];
      if (before && before.tile === tile && before.to === from) before.to = to;
      else out.push({ tile, from, to });
    };
    for (let number = first; number <= last; number++) {
      const own = levels[level]?.get(number);
      if (own) put(own, own.from, own.to);
      else standIn(levels, level, number, span, put);
    }
    return out;
  }
}

function standIn<T extends Known>(levels: Map<number, T>[], level: number, number: number, span: number, put: (tile: T, from: number, to: number) => void): void {
  for (let up = 1; up <= COARSER; up++) {
    const coarse = levels[level + up]?.get(Math.floor(number / 2 ** up));
    if (coarse) return put(coarse, number * span, (number + 1) * span);
  }
  for (let down = 1; down <= FINER && down <= level; down++) {
    const tiles = levels[level - down];
    let any = false;
    for (let i = 0; i < 2 ** down && tiles; i++) {
      const fine = tiles.get(number * 2 ** down + i);
      if (!fine) continue;
      put(fine, fine.from, fine.to);
      any = true;
    }
    if (any) return;
  }
}

/* ---- what is missing ---------------------------------------------------------------------------------------- */

export interface WantedLane {
  key: string;
  depth: number;
}

export interface Wanted {
  level: number;
  number: number;
  depth: number;
  lanes: string[];
}

/** What has to be asked so that these lanes are known in this window: of one depth and tile each, `most` lanes at once, the middle of the
 * window first. With `exact` also what is known in part. */
export function missing<T extends Known>(store: TileStore<T>, lanes: WantedLane[], window: Window, level: number, exact: boolean, most: number): Wanted[] {
  const { first, last } = tilesOf(window, level), out: Wanted[] = [], middle = (first + last) / 2;
  const numbers = Array.from({ length: last - first + 1 }, (_, i) => first + i).sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
  for (const number of numbers) {
    const open = new Map<number, Wanted>();
    for (const { key, depth } of lanes) {
      const known = store.find(key, depth, level, number);
      if (known && !(exact && known.partial && !known.exact)) continue;
      let wanted = open.get(depth);
      if (!wanted || wanted.lanes.length >= most) {
        open.set(depth, (wanted = { level, number, depth, lanes: [] }));
        out.push(wanted);
      }
      wanted.lanes.push(key);
    }
  }
  return out;
}
