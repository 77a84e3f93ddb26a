/* picture.ts - the time line as an SVG file: of the same strokes that are on screen, with what lies over the lanes, and counters below. */
import { rect, round, svgOfParts, text } from "../svg.js";
import type { Leaf, Row } from "./lanes.js";
import { recordedTimes, trackBox } from "./lanes.js";
import { overSvg } from "./overpicture.js";
import { formatValue, isShare, type Points, type Series } from "./series.js";
import type { Over, Pane } from "./sight.js";
import { runsOf, stroke, Strokes, STEPS, Look } from "./strokes.js";
import type { Segment } from "./tiles.js";
import { axisOf, formatPoint, xAt, type Window } from "./window.js";

export interface PictureOf {
  /** All of the first, and below them those in sight. */
  pinned: Row[];
  rest: Row[];
  width: number;
  window: Window;
  texts: string[];
  segments: (leaf: Leaf) => Segment[];
  /** Of what is closed, how busy it was, column by column; null: it is not said. */
  use: (row: Row) => Float32Array | null;
  /** What lies over lanes in these places of a picture of this height. */
  over: (panes: Pane[], height: number) => Over;
  counters: { series: Series; points: Points }[];
  /** A colour of a label, by shade. */
  colour: (label: number, shade: number) => string;
  counterColour: (name: string) => string;
  /** The shade of a look at a height and step; 0: nothing. */
  shade: (look: Look, height: number, step: number) => number;
  paper: string;
  ink: string;
  quiet: string;
  line: string;
  accent: string;
  /** Of names upon colours. */
  inkOn: (label: number) => string;
}

const TITLES = 220, AXIS = 30, LETTER = 6.2, COUNTER = 60;

export function svgOf(picture: PictureOf): string {
  const { pinned, rest } = picture, tall = (rows: Row[]) => rows.reduce((sum, row) => sum + row.height, 0);
  const lanes = tall(pinned) + tall(rest), height = AXIS + lanes + picture.counters.length * COUNTER, width = TITLES + picture.width;
  const panes = [{ scroll: 0, height: tall(pinned), above: 0 }, { scroll: rest[0]?.top ?? 0, height: tall(rest), above: tall(pinned) }];
  const parts = [
    `<defs><pattern id="unread" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="1" height="6" fill="${picture.quiet}"/></pattern>`,
    `<clipPath id="lanes"><rect width="${round(picture.width)}" height="${lanes}"/></clipPath></defs>`,
    ...axis(picture),
  ];
  let top = AXIS;
  const strokes = new Strokes(picture.width);
  for (const row of [...pinned, ...rest]) {
    const shown = row.node.title + (row.node.kind === "lane" || !row.node.detail ? "" : ` · ${row.node.detail}`);
    parts.push(cutText(6 + row.depth * 10, top + row.height / 2 + 4, shown, TITLES - 12 - row.depth * 10, picture.ink));
    if (row.node.kind === "lane") parts.push(...lane(picture, row, row.node, top, strokes));
    else parts.push(...use(picture, row, top));
    top += row.height;
    parts.push(rect(0, top - 1, width, 1, picture.line));
  }
  parts.push(`<g transform="translate(${TITLES} ${AXIS})" clip-path="url(#lanes)">`, ...overSvg(picture.over(panes, lanes), picture), "</g>");
  for (const counter of picture.counters) {
    parts.push(...counterParts(picture, counter, top));
    top += COUNTER;
    parts.push(rect(0, top - 1, width, 1, picture.line));
  }
  return svgOfParts(width, height, picture.paper, parts.filter((part) => part !== ""));
}

function axis({ window, width, quiet, line, ink }: PictureOf): string[] {
  const ticks = axisOf(window, width), parts: string[] = [];
  if (ticks.base !== null) parts.push(cutText(6, 18, formatPoint(ticks.base, window.to - window.from), TITLES - 12, ink));
  for (const tick of ticks.ticks) {
    const x = TITLES + xAt(window, width, tick.time);
    parts.push(`<rect x="${round(x)}" y="${AXIS - 6}" width="1" height="6" fill="${line}"/>`, cutText(x + 3, 18, tick.label, 200, quiet));
  }
  return parts;
}

function lane(picture: PictureOf, row: Row, leaf: Leaf, top: number, strokes: Strokes): string[] {
  const parts: string[] = [];
  for (const [from, to] of recordedTimes(leaf.process)?.unknown ?? []) {
    const [x0, x1] = [from, to].map((time) => Math.min(Math.max(xAt(picture.window, picture.width, time), 0), picture.width)) as [number, number];
    if (x1 - x0 >= 2) parts.push(rect(TITLES + x0, top + 2, x1 - x0, row.height - 4, "url(#unread)"));
  }
  for (let track = 0; track < row.tracks; track++) {
    const box = trackBox(row, track)!, y = top + box.top;
    stroke(strokes, picture.segments(leaf), track, picture.window, 34);
    for (const run of runsOf(strokes)) {
      const x = TITLES + run.x0, width = run.x1 - run.x0;
      if (run.look === Look.Hatched) parts.push(`<rect x="${x}" y="${y}" width="${width}" height="${box.height}" fill="url(#unread)"/>`);
      for (const band of bands(picture, run.look, run.height)) {
        const bottom = y + box.height - (band.first * box.height) / STEPS, size = ((band.end - band.first) * box.height) / STEPS;
        parts.push(`<rect x="${x}" y="${round(bottom - size)}" width="${width}" height="${round(size)}" fill="${picture.colour(run.label, band.shade)}"/>`);
      }
      if (run.edge && run.look === Look.Solid) parts.push(`<rect x="${x}" y="${y}" width="1" height="${box.height}" fill="${picture.colour(run.label, 3)}"/>`);
    }
    for (const named of strokes.named)
      parts.push(cutText(TITLES + named.x0 + 4, y + box.height / 2 + 4, picture.texts[named.label]!, named.x1 - named.x0 - 8, named.look === Look.Solid ? picture.inkOn(named.label) : picture.ink));
  }
  return parts;
}

/** Steps of one shade, from the bottom. */
function bands(picture: PictureOf, look: Look, height: number): { first: number; end: number; shade: number }[] {
  const out: { first: number; end: number; shade: number }[] = [];
  for (let step = 0; step < STEPS; step++) {
    const shade = picture.shade(look, height, step), last = out[out.length - 1];
    if (!shade) continue;
    if (last && last.shade === shade && last.end === step) last.end = step + 1;
    else out.push({ first: step, end: step + 1, shade });
  }
  return out;
}

/** How busy what is closed was. */
function use({ use, accent }: PictureOf, row: Row, top: number): string[] {
  const columns = use(row), parts: string[] = [], room = row.height - 4;
  for (let x = 0; columns && x < columns.length; x++) {
    const first = x, size = Math.max(columns[x]! * room, columns[x]! > 0 ? 0.5 : 0);
    while (x + 1 < columns.length && columns[x + 1] === columns[first]) x++;
    if (size) parts.push(rect(TITLES + first, top + 2 + room - size, x + 1 - first, size, accent));
  }
  return parts;
}

/** A counter: each value holds up to the next; what is not known is left out. */
function counterParts({ window, width, ink, quiet, counterColour }: PictureOf, { series, points }: PictureOf["counters"][number], top: number): string[] {
  const values = isShare(series) ? points.mean : points.max, room = COUNTER - 14, floor = top + COUNTER - 7;
  const most = isShare(series) ? 1 : Math.max(...values.map((value) => value ?? 0)) || 1;
  const x = (i: number) => TITLES + Math.min(Math.max(xAt(window, width, points.time[i]!), 0), width), y = (value: number) => floor - (value / most) * room;
  let d = "";
  for (let i = 0; i + 1 < values.length; i++) {
    if (values[i] === null) continue;
    const goesOn = i > 0 && values[i - 1] !== null;
    d += `${goesOn ? "" : `M${round(x(i))} ${floor}`}V${round(y(values[i]!))}H${round(x(i + 1))}${values[i + 1] === null || i + 2 === values.length ? `V${floor}Z` : ""}`;
  }
  const colour = counterColour(series.name);
  return [
    cutText(6, top + COUNTER / 2, series.name, TITLES - 80, ink),
    cutText(6, top + COUNTER / 2 + 15, series.device_name ?? "", TITLES - 12, quiet),
    text(TITLES - 6, top + 12, formatValue(series, most), quiet, "end"),
    ...(d ? [`<path d="${d}" fill="${colour}" fill-opacity="0.4" stroke="${colour}"/>`] : []),
  ];
}

/** Text in a place of so many pixels. */
function cutText(x: number, y: number, words: string, room: number, colour: string): string {
  const letters = Math.floor(room / LETTER);
  if (letters < 3) return "";
  return text(x, y, words.length <= letters ? words : words.slice(0, letters - 1) + "…", colour);
}
