/* band.ts - lanes one below the other on a canvas that stays where it is while they are scrolled: the pinned ones, and the rest. */
import { fitCanvas } from "../../draw/canvas.js";
import { Painter } from "../../draw/timeline/painter.js";
import { packed, type Palette } from "../../draw/timeline/palette.js";
import { drawStrip } from "../../draw/timeline/strip.js";
import type { Labels } from "../../model/timeline/labels.js";
import { recordedTimes, rowsBetween, trackBox, type Leaf, type Row, type TreeNode } from "../../model/timeline/lanes.js";
import { columnsOf, deviceKey, meanOf, type Overview } from "../../model/timeline/overview.js";
import type { Pane } from "../../model/timeline/sight.js";
import { stroke, Strokes } from "../../model/timeline/strokes.js";
import type { Segment } from "../../model/timeline/tiles.js";
import { xAt, type Window } from "../../model/timeline/window.js";
import type { Process } from "../../model/types.js";

export interface BandElements {
  scroll: HTMLElement;
  canvas: HTMLCanvasElement;
}

/** What lanes are drawn of. */
export interface Scene {
  window: Window;
  width: number;
  palette: Palette;
  labels: Labels;
  overview: Overview | null;
  segments(leaf: Leaf): Segment[];
}

/** What turned out while it was drawn. */
export interface Drawn {
  partial: boolean;
  badTimes: number;
}

/** Pixels in which a name is drawn. */
export const NAME_ROOM = 34;

export class Band {
  rows: Row[] = [];
  private painter: Painter | null = null;
  private strokes: Strokes | null = null;

  constructor(readonly scroll: HTMLElement, readonly canvas: HTMLCanvasElement) {}

  /** Those that can be seen, also in part. */
  get inSight(): Row[] {
    const { scrollTop, clientHeight } = this.scroll, { first, end } = rowsBetween(this.rows, scrollTop, scrollTop + clientHeight);
    return this.rows.slice(first, end);
  }

  /** `top`: of the picture, on the page. */
  pane(top: number): Pane {
    return { scroll: this.scroll.scrollTop, height: this.scroll.clientHeight, above: this.scroll.getBoundingClientRect().top - top };
  }

  draw(scene: Scene): Drawn {
    const drawn: Drawn = { partial: false, badTimes: 0 }, { width, palette } = scene, { scrollTop: top, clientHeight: height } = this.scroll, ratio = window.devicePixelRatio || 1;
    if (!height) return drawn;
    const context = fitCanvas(this.canvas, width, height), { width: across, height: down } = this.canvas, rows = this.inSight;
    if (!this.painter || this.painter.width !== across || this.painter.height !== down) {
      this.painter = new Painter(context, across, down, ratio);
      this.strokes = new Strokes(across);
    }
    const { painter, strokes } = this, line = packed(palette.rgbOf(palette.colours.line)), raised = packed(palette.rgbOf(palette.colours.raised));
    painter.begin(palette);
    for (const row of rows) {
      const y = Math.round((row.top - top) * ratio), size = Math.round(row.height * ratio);
      if (row.node.kind === "lane") drawLane(scene, row, row.node, y, size, painter, strokes!, raised, drawn);
      else painter.fill(0, y, across, size, raised);
      painter.fill(0, y + size - 1, across, 1, line);
    }
    painter.end(palette, scene.labels.texts);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    for (const row of rows) {
      const columns = useOf(scene.overview, row, scene.window, width);
      if (columns) drawStrip(context, { columns, y: row.top - top + 2, height: row.height - 4, colour: palette.colours.accent });
    }
    return drawn;
  }
}

function drawLane(scene: Scene, row: Row, leaf: Leaf, y: number, size: number, painter: Painter, strokes: Strokes, raised: number, drawn: Drawn): void {
  const segments = scene.segments(leaf), { ratio } = painter;
  drawUnrecorded(scene.window, leaf.process, y, size, painter, raised);
  for (const { tile } of segments) drawn.partial ||= tile.partial;
  drawn.badTimes += segments[0]?.tile.badTimes ?? 0;
  const shades = scene.palette.shades(scene.labels.routines, scene.labels.frames);
  for (let track = 0; track < row.tracks; track++) {
    const box = trackBox(row, track)!;
    stroke(strokes, segments, track, scene.window, NAME_ROOM * ratio);
    painter.track(strokes, y + Math.round(box.top * ratio), Math.round(box.height * ratio), shades);
  }
}

/** Before it began and after it ended there is no process; and it was not recorded all the time. */
function drawUnrecorded(window: Window, process: Process, y: number, size: number, painter: Painter, raised: number): void {
  const times = recordedTimes(process), x = (time: number) => Math.round(Math.min(Math.max(xAt(window, painter.width, time), 0), painter.width));
  if (!times) return;
  painter.fill(0, y, x(times.begin), size, raised);
  painter.fill(x(times.end), y, painter.width - x(times.end), size, raised);
  for (const [from, to] of times.unknown) if (x(to) - x(from) >= 2) painter.unknown(x(from), y + 2, x(to) - x(from), size - 4);
}

/** What is closed shows how busy its devices were: column by column; null: nothing is shown. */
export function useOf(overview: Overview | null, { node, open }: Row, window: Window, width: number): Float32Array | null {
  const strip = overview && !open ? busyOf(overview, node) : null;
  if (!strip) return null;
  const columns = new Float32Array(width);
  columnsOf(strip, overview!.length, window, width, columns);
  return columns;
}

function busyOf(overview: Overview, node: TreeNode): Float32Array | null {
  if (node.kind === "lane" || node.kind === "threads") return null;
  if (node.kind === "device") return overview.busy.get(deviceKey(node.process!.process, node.device)) ?? null;
  if (node.kind === "process") return overview.busy.get(String(node.process!.process)) ?? null;
  return meanOf(node.children.map((child) => busyOf(overview, child)).filter((strip) => strip !== null));
}
