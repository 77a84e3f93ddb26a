/* strokes.ts - from intervals to what a picture of some pixels shows of them: for each column of a track one label, how it looks and how
 * high it is. Painters (draw/timeline) know no more than this, so that a screen and a file show the same. */
import { firstReaching, KINDS, type Segment, type Tile } from "./tiles.js";
import type { Window } from "./window.js";

export const NOTHING = -1;
const EDGE_ROOM = 5;
/** A column is so many steps high. */
export const STEPS = 8;

/** How something looks, whatever its colour. */
export enum Look {
  Solid,   /* it is known that it was so */
  Sampled, /* it is inferred from samples */
  Striped, /* waiting */
  Low,     /* off the CPU */
  Half,    /* only orders others */
  Mark,    /* has no time */
  Hatched, /* rows that were not read */
}

const LOOKS: Look[] = KINDS.map((kind) => {
  switch (kind) {
    case "order": return Look.Half;
    case "untimed": return Look.Mark;
    case "wait": return Look.Striped;
    case "sample": return Look.Sampled;
    case "off_cpu": return Look.Low;
    case "unread": return Look.Hatched;
    default: return Look.Solid;
  }
});

/** An interval that has room for its name. */
export interface Named {
  x0: number;
  x1: number;
  label: number;
  look: Look;
}

export class Strokes {
  readonly label: Int32Array;
  readonly look: Uint8Array;
  readonly height: Uint8Array;
  /** 1: here begins something that is wide enough to be told from what is before. */
  readonly edge: Uint8Array;
  readonly named: Named[] = [];
  /** There is something on the track. */
  any = false;

  constructor(readonly width: number) {
    this.label = new Int32Array(width);
    this.look = new Uint8Array(width);
    this.height = new Uint8Array(width);
    this.edge = new Uint8Array(width);
  }

  clear(): void {
    this.label.fill(NOTHING);
    this.height.fill(0);
    this.edge.fill(0);
    this.named.length = 0;
    this.any = false;
  }
}

/** Fill `out` with a track of a lane; `room`: from how many pixels on a name is of use. */
export function stroke(out: Strokes, segments: Segment[], track: number, window: Window, room: number): void {
  const scale = out.width / (window.to - window.from);
  out.clear();
  for (const segment of segments) if (track < segment.tile.tracks) strokeSegment(out, segment, track, window, scale, room);
}

function strokeSegment(out: Strokes, segment: Segment, track: number, window: Window, scale: number, room: number): void {
  const { tile } = segment, from = Math.max(window.from, segment.from), to = Math.min(window.to, segment.to);
  const end = tile.starts[track + 1]!;
  for (let i = firstReaching(tile, track, from); i < end; i++) {
    const begins = tile.begin[i]!, ends = tile.end[i]!;
    if (begins > to || (begins === to && to < window.to)) break;
    if (ends < from || (ends === from && begins < from)) continue;
    const begin = Math.max(begins, from), last = Math.min(ends, to);
    let x0 = Math.floor((begin - window.from) * scale + 1e-6);
    if (x0 >= out.width) x0 = out.width - 1;
    if (tile.merged[i]) {
      const x1 = Math.min(Math.max(x0 + 1, Math.floor((last - window.from) * scale + 1e-6)), out.width);
      strokeBin(out, tile, i, x0, x1);
    } else {
      const x1 = Math.min(Math.max(x0 + 1, Math.round((last - window.from) * scale)), out.width);
      strokeLong(out, segment, i, x0, x1, begins >= from, room);
    }
  }
}

function strokeBin(out: Strokes, tile: Tile, i: number, x0: number, x1: number): void {
  const busy = tile.busy[i]!, look = busy ? LOOKS[tile.kind[i]!]! : LOOKS[tile.kind[i]!] === Look.Hatched ? Look.Hatched : Look.Mark;
  const height = look === Look.Mark || look === Look.Hatched ? STEPS : Math.max(1, Math.round((busy / 65535) * STEPS));
  for (let x = x0; x < x1; x++) {
    if (out.label[x] !== NOTHING && (out.look[x] === Look.Mark ? look === Look.Mark : out.height[x]! >= height || look === Look.Mark)) continue;
    out.label[x] = tile.label[i]!;
    out.look[x] = look;
    out.height[x] = height;
    out.edge[x] = 0;
  }
  out.any = true;
}

function strokeLong(out: Strokes, { tile, from }: Segment, i: number, x0: number, x1: number, begins: boolean, room: number): void {
  const label = tile.label[i]!, mark = tile.end[i] === tile.begin[i];
  const look = mark && LOOKS[tile.kind[i]!] !== Look.Hatched ? Look.Mark : LOOKS[tile.kind[i]!]!;
  const before = out.named[out.named.length - 1];
  const isCut = tile.begin[i]! < from || (tile.begin[i] === tile.from && isThread(tile.kind[i]!)); /* the tile before has the rest */
  const goesOn = isCut && x0 > 0 && out.label[x0 - 1] === label && out.look[x0 - 1] === look;
  out.label.fill(label, x0, x1);
  out.look.fill(look, x0, x1);
  out.height.fill(STEPS, x0, x1);
  out.edge.fill(0, x0, x1);
  out.any = true;
  if (goesOn && before && before.x1 === x0 && before.label === label) before.x1 = x1;
  else if (x1 - x0 >= room && look !== Look.Low) out.named.push({ x0, x1, label, look });
  if (begins && !goesOn && x1 - x0 >= EDGE_ROOM) out.edge[x0] = 1;
}

function isThread(kind: number): boolean {
  const name = KINDS[kind]!;
  return name === "call" || name === "wait" || name === "sample" || name === "off_cpu";
}

/** Columns that are the same, one after the other: for pictures that are made of rectangles. */
export interface Run {
  x0: number;
  x1: number;
  label: number;
  look: Look;
  height: number;
  edge: boolean;
}

export function runsOf(strokes: Strokes): Run[] {
  const runs: Run[] = [];
  for (let x = 0; x < strokes.width; x++) {
    const label = strokes.label[x]!;
    if (label === NOTHING) continue;
    const look = strokes.look[x]! as Look, height = strokes.height[x]!, edge = strokes.edge[x] === 1;
    const last = runs[runs.length - 1];
    if (last && last.x1 === x && last.label === label && last.look === look && last.height === height && !edge) last.x1 = x + 1;
    else runs.push({ x0: x, x1: x + 1, label, look, height, edge });
  }
  return runs;
}
