/* picture.ts - the time line as an SVG file, of the same strokes that are on screen. */
import type { Leaf, Row } from "./lanes.js";
import { trackBox } from "./lanes.js";
import { runsOf, stroke, Strokes, STEPS, Look } from "./strokes.js";
import type { Segment } from "./tiles.js";
import { escapeMarkup, round } from "../svg.js";
import { axisOf, formatPoint, xAt, type Window } from "./window.js";

export interface PictureOf {
  rows: Row[];
  width: number;
  window: Window;
  texts: string[];
  segments: (leaf: Leaf) => Segment[];
  /** A colour of a label, by shade. */
  colour: (label: number, shade: number) => string;
  /** The shade of a look at a height and step; 0: nothing. */
  shade: (look: Look, height: number, step: number) => number;
  paper: string;
  ink: string;
  quiet: string;
  line: string;
  /** Of names upon colours. */
  inkOn: (label: number) => string;
}

const TITLES = 220, AXIS = 30, LETTER = 6.2;

export function svgOf(picture: PictureOf): string {
  const height = AXIS + picture.rows.reduce((sum, row) => sum + row.height, 0), width = TITLES + picture.width;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="11">`,
    `<rect width="${width}" height="${height}" fill="${picture.paper}"/>`,
    `<defs><pattern id="unread" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="1" height="6" fill="${picture.quiet}"/></pattern></defs>`,
  ];
  parts.push(...axis(picture));
  let top = AXIS;
  const strokes = new Strokes(picture.width);
  for (const row of picture.rows) {
    const shown = row.node.title + (row.node.kind === "lane" || !row.node.detail ? "" : ` · ${row.node.detail}`);
    parts.push(text(6 + row.depth * 10, top + row.height / 2 + 4, shown, TITLES - 12 - row.depth * 10, picture.ink));
    if (row.node.kind === "lane") parts.push(...lane(picture, row, row.node, top, strokes));
    top += row.height;
    parts.push(`<rect x="0" y="${top - 1}" width="${width}" height="1" fill="${picture.line}"/>`);
  }
  return parts.join("\n") + "\n</svg>\n";
}

function axis({ window, width, quiet, line, ink }: PictureOf): string[] {
  const ticks = axisOf(window, width), parts: string[] = [];
  if (ticks.base !== null) parts.push(text(6, 18, formatPoint(ticks.base, window.to - window.from), TITLES - 12, ink));
  for (const tick of ticks.ticks) {
    const x = TITLES + xAt(window, width, tick.time);
    parts.push(`<rect x="${round(x)}" y="${AXIS - 6}" width="1" height="6" fill="${line}"/>`, text(x + 3, 18, tick.label, 200, quiet));
  }
  return parts;
}

function lane(picture: PictureOf, row: Row, leaf: Leaf, top: number, strokes: Strokes): string[] {
  const parts: string[] = [];
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
      parts.push(text(TITLES + named.x0 + 4, y + box.height / 2 + 4, picture.texts[named.label]!, named.x1 - named.x0 - 8, named.look === Look.Solid ? picture.inkOn(named.label) : picture.ink));
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

function text(x: number, y: number, words: string, room: number, colour: string): string {
  const letters = Math.floor(room / LETTER);
  if (letters < 3) return "";
  const shown = words.length <= letters ? words : words.slice(0, letters - 1) + "…";
  return `<text x="${round(x)}" y="${round(y)}" fill="${colour}">${escapeMarkup(shown)}</text>`;
}
