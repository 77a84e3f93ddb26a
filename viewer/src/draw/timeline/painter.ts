/* painter.ts - strokes as pixels. A picture of sixty lanes has a hundred thousand columns of other colours in each frame: they are written
 * into the picture's memory, row by row, and only names and hatching are drawn with the canvas. */
import { NOTHING, STEPS, type Named, type Strokes, Look } from "../../model/timeline/strokes.js";
import { fitText } from "../canvas.js";
import { LOOKS, SHADE_TABLE } from "./looks.js";
import { packed, Shade, SHADES, type Palette } from "./palette.js";

interface Text {
  x: number;
  y: number;
  width: number;
  height: number;
  label: number;
  look: Look;
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

const TEXTS_MOST = 1200, LETTERS_LEAST = 6;

export class Painter {
  private image: ImageData;
  private pixels: Uint32Array;
  private readonly starts: Int32Array;
  private readonly ends: Int32Array;
  private readonly tables: Int32Array;
  private readonly colours: Int32Array;
  private texts: Text[] = [];
  private hatched: Box[] = [];
  private readonly cuts = new Map<string, string>();

  constructor(private readonly context: CanvasRenderingContext2D, readonly width: number, readonly height: number, readonly ratio: number) {
    this.image = context.createImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.starts = new Int32Array(width);
    this.ends = new Int32Array(width);
    this.tables = new Int32Array(width);
    this.colours = new Int32Array(width);
  }

  begin(palette: Palette): void {
    this.pixels.fill(packed(palette.paper));
    this.texts = [];
    this.hatched = [];
  }

  /** All of one colour, in device pixels. */
  fill(x: number, y: number, width: number, height: number, colour: number): void {
    const left = Math.max(x, 0), right = Math.min(x + width, this.width);
    for (let row = Math.max(y, 0); row < Math.min(y + height, this.height); row++)
      if (right > left) this.pixels.fill(colour, row * this.width + left, row * this.width + right);
  }

  /** A track at device pixels [y, y + height). */
  track(strokes: Strokes, y: number, height: number, shades: Uint32Array): void {
    if (!strokes.any || y >= this.height || y + height <= 0) return;
    const runs = this.runs(strokes, y, height);
    let written = -1, writtenStep = -1;
    for (let row = Math.max(y, 0); row < Math.min(y + height, this.height); row++) {
      const step = Math.floor(((y + height - 1 - row) * STEPS) / height), at = row * this.width;
      if (step === writtenStep) this.pixels.copyWithin(at, written, written + strokes.width);
      else this.row(runs, at, step, shades);
      written = at;
      writtenStep = step;
    }
    for (const named of strokes.named) this.name(named, y, height);
  }

  /** Columns that are the same, one after the other: where they begin and end, and where their shades are. What is hatched is drawn later. */
  private runs(strokes: Strokes, y: number, height: number): number {
    const { label, look, height: high, edge, width } = strokes, { starts, ends, tables, colours } = this;
    let count = 0;
    for (let x = 0; x < width; ) {
      const first = x, l = label[x]!, k = look[x]!, h = high[x]!, e = edge[x]!;
      for (x++; x < width && label[x] === l && (l === NOTHING || (look[x] === k && high[x] === h && !edge[x])) && !e; ) x++;
      if (l === NOTHING) continue;
      if (k === Look.Hatched) {
        this.hatched.push({ x: first, y, width: x - first, height });
        continue;
      }
      starts[count] = first;
      ends[count] = x;
      tables[count] = ((e * LOOKS + k) * (STEPS + 1) + h) * STEPS;
      colours[count++] = l * SHADES;
    }
    return count;
  }

  private row(runs: number, at: number, step: number, shades: Uint32Array): void {
    const { pixels, starts, ends, tables, colours } = this;
    for (let i = 0; i < runs; i++) {
      const shade = SHADE_TABLE[tables[i]! + step]!;
      if (shade === Shade.None) continue;
      const colour = shades[colours[i]! + shade]!, x = starts[i]!, end = ends[i]!;
      if (end - x < 8) for (let k = x; k < end; k++) pixels[at + k] = colour;
      else pixels.fill(colour, at + x, at + end);
    }
  }

  private name(named: Named, y: number, height: number): void {
    if (this.texts.length < TEXTS_MOST) this.texts.push({ x: named.x0, y, width: named.x1 - named.x0, height, label: named.label, look: named.look });
  }

  /** A stretch of which nothing was recorded. */
  unknown(x: number, y: number, width: number, height: number): void {
    this.hatched.push({ x, y, width, height });
  }

  end(palette: Palette, texts: string[]): void {
    const { context } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.putImageData(this.image, 0, 0);
    if (this.hatched.length) {
      context.fillStyle = hatching(context, palette.colours.quiet, this.ratio);
      for (const box of this.hatched) context.fillRect(box.x, box.y, box.width, box.height);
    }
    context.font = `${Math.round(11 * this.ratio)}px system-ui, sans-serif`;
    context.textBaseline = "middle";
    for (const text of this.texts) {
      const room = text.width - 8 * this.ratio, shown = this.cut(texts[text.label]!, room);
      if (shown.length < LETTERS_LEAST && shown !== texts[text.label]) continue;
      context.fillStyle = palette.fades(text.label) ? palette.colours.quiet : text.look === Look.Sampled || text.look === Look.Striped || text.look === Look.Half ? palette.colours.ink : palette.inkOn(text.label);
      context.fillText(shown, text.x + 4 * this.ratio, text.y + text.height / 2 + 0.5 * this.ratio);
    }
  }

  /** The same names are cut to the same rooms again and again. */
  private cut(text: string, room: number): string {
    const rounded = Math.floor(room / 4) * 4, key = `${rounded} ${text}`;
    let shown = this.cuts.get(key);
    if (shown === undefined) {
      if (this.cuts.size > 5000) this.cuts.clear();
      this.cuts.set(key, (shown = fitText(this.context, text, rounded)));
    }
    return shown;
  }
}

/** Diagonal lines. */
export function hatching(context: CanvasRenderingContext2D, colour: string, ratio: number): CanvasPattern {
  const side = Math.round(6 * ratio), tile = document.createElement("canvas");
  tile.width = tile.height = side;
  const lines = tile.getContext("2d")!;
  lines.strokeStyle = colour;
  lines.globalAlpha = 0.55;
  lines.lineWidth = ratio;
  lines.beginPath();
  for (const at of [-side, 0, side]) {
    lines.moveTo(at, side);
    lines.lineTo(at + side, 0);
  }
  lines.stroke();
  return context.createPattern(tile, "repeat")!;
}
