/* intervals.ts - single intervals of what is drawn: which one lies at a point, which comes next, and which belong together. */
import { firstReaching, KINDS, type KindName, type Segment, type Tile } from "./tiles.js";

/** One interval, with all that an answer says of it. */
export interface Interval {
  lane: string;
  track: number;
  begin: number;
  end: number;
  /** Of the label, in what was asked for. */
  time: number;
  correlation: number;
  label: number;
  node: number;
  rows: number;
  busy: number;
  kind: KindName;
  merged: boolean;
  /** It may begin earlier or end later: what lies there is not known. */
  cut: boolean;
}

function intervalAt(lane: string, track: number, tile: Tile, i: number): Interval {
  return {
    lane, track, begin: tile.begin[i]!, end: tile.end[i]!, time: tile.time[i]!, correlation: tile.correlation[i]!, label: tile.label[i]!,
    node: tile.node[i]!, rows: tile.rows[i]!, busy: tile.busy[i]! / 65535, kind: KINDS[tile.kind[i]!]!, merged: tile.merged[i] === 1, cut: false,
  };
}

/** Pieces of what a thread did are cut where a tile ends. */
function isPiece(interval: Interval): boolean {
  return !interval.merged && (interval.kind === "call" || interval.kind === "wait" || interval.kind === "sample" || interval.kind === "off_cpu");
}

function continues(a: Interval, b: Interval): boolean {
  return a.end === b.begin && a.label === b.label && a.kind === b.kind && a.correlation === b.correlation && isPiece(a) && isPiece(b);
}

/** All of it, from the pieces that the tiles before and after have. */
export function whole(segments: Segment[], at: number, interval: Interval): Interval {
  const joined = { ...interval };
  if (!isPiece(interval)) return joined;
  let left = at, right = at;
  while (joined.begin <= segments[left]!.from && joined.begin > 0) {
    const before = left > 0 ? lastOf(segments[left - 1]!, joined) : null;
    if (!before || !continues(before, joined)) {
      joined.cut ||= left === 0;
      break;
    }
    joined.begin = before.begin;
    joined.time += before.time;
    joined.rows += before.rows;
    left--;
  }
  while (joined.end >= segments[right]!.to) {
    const after = right + 1 < segments.length ? firstOf(segments[right + 1]!, joined) : null;
    if (!after || !continues(joined, after)) {
      joined.cut ||= right + 1 === segments.length;
      break;
    }
    joined.end = after.end;
    joined.time += after.time;
    joined.rows += after.rows;
    right++;
  }
  return joined;
}

function lastOf(segment: Segment, like: Interval): Interval | null {
  const { tile } = segment;
  if (like.track >= tile.tracks) return null;
  for (let i = tile.starts[like.track + 1]! - 1; i >= tile.starts[like.track]!; i--)
    if (tile.end[i] === like.begin) return intervalAt(like.lane, like.track, tile, i);
  return null;
}

function firstOf(segment: Segment, like: Interval): Interval | null {
  const { tile } = segment;
  if (like.track >= tile.tracks) return null;
  for (let i = tile.starts[like.track]!; i < tile.starts[like.track + 1]! && tile.begin[i]! <= like.end; i++)
    if (tile.begin[i] === like.end) return intervalAt(like.lane, like.track, tile, i);
  return null;
}

/** Each interval of a track that touches [from, to], in order; one that several tiles have is given once. `each` returns false to end. */
export function eachInterval(segments: Segment[], track: number, from: number, to: number, each: (segment: number, tile: Tile, i: number) => boolean | void): void {
  for (let s = 0; s < segments.length; s++) {
    const { tile, from: first, to: last } = segments[s]!;
    if (track >= tile.tracks || last < from || first > to) continue;
    const end = tile.starts[track + 1]!;
    for (let i = firstReaching(tile, track, Math.max(from, first)); i < end && tile.begin[i]! <= to; i++) {
      const begin = tile.begin[i]!;
      if (begin >= last && !(begin === last && s + 1 === segments.length)) break;
      if (tile.end[i]! < from || (tile.end[i]! <= first && begin < first)) continue;
      if (begin < first && first >= from && s > 0 && segments[s - 1]!.to === first) continue; /* the one before has given it */
      if (each(s, tile, i) === false) return;
    }
  }
}

/** What is drawn at a point: the last to begin of those that are there, else the nearest within `reach` ns. */
export function hitTest(lane: string, segments: Segment[], track: number, time: number, reach: number): Interval | null {
  let best: { s: number; tile: Tile; i: number; far: number } | null = null;
  eachInterval(segments, track, time - reach, time + reach, (s, tile, i) => {
    const far = Math.max(tile.begin[i]! - time, time - tile.end[i]!, 0);
    const single = (t: Tile, k: number) => (t.merged[k] ? 0 : 1);
    if (!best || far < best.far || (far === best.far && single(tile, i) >= single(best.tile, best.i))) best = { s, tile, i, far };
  });
  if (!best) return null;
  const { s, tile, i } = best as { s: number; tile: Tile; i: number };
  return whole(segments, s, intervalAt(lane, track, tile, i));
}

/** The interval before or after, of those that are drawn; null: none is known. */
export function neighbour(lane: string, segments: Segment[], from: Interval, direction: 1 | -1, accept: (label: number) => boolean = () => true): Interval | null {
  let found: { s: number; tile: Tile; i: number } | null = null;
  const low = direction > 0 ? from.begin : -Infinity, high = direction > 0 ? Infinity : from.begin;
  eachInterval(segments, from.track, low, high, (s, tile, i) => {
    const begin = tile.begin[i]!;
    if (!accept(tile.label[i]!)) return true;
    if (direction > 0) {
      if (begin <= from.begin || begin < from.end && isPieceOf(from, tile, i)) return true;
      found = { s, tile, i };
      return false;
    }
    if (begin < from.begin) found = { s, tile, i };
    return true;
  });
  if (!found) return null;
  const { s, tile, i } = found as { s: number; tile: Tile; i: number };
  return whole(segments, s, intervalAt(lane, from.track, tile, i));
}

function isPieceOf(interval: Interval, tile: Tile, i: number): boolean {
  return isPiece(interval) && tile.label[i] === interval.label && tile.correlation[i] === interval.correlation;
}

/** All with this correlation in what is drawn of a lane. */
export function correlated(lane: string, segments: Segment[], window: { from: number; to: number }, correlation: number): Interval[] {
  const out: Interval[] = [];
  eachInterval(segments, 0, window.from, window.to, (s, tile, i) => {
    if (tile.correlation[i] !== correlation) return;
    const one = whole(segments, s, intervalAt(lane, 0, tile, i));
    if (!out.some((other) => other.begin === one.begin)) out.push(one);
  });
  return out;
}
