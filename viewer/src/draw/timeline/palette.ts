/* palette.ts - colours of labels as numbers that a picture's memory takes, in the shades that the looks need. */
import { colourOf, type Theme } from "../colours.js";

export interface Colours {
  paper: string;
  ink: string;
  quiet: string;
  line: string;
  raised: string;
  accent: string;
}

/** Shades of one label. */
export enum Shade {
  None,
  Full,
  Pale,
  Edge,
  Mark,
}
export const SHADES = 5;

type Rgb = [number, number, number];

export class Palette {
  /** [label * SHADES + shade], as the bytes R G B A lie in memory. */
  private numbers = new Uint32Array(0);
  private readonly css: string[] = [];
  readonly paper: Rgb;
  readonly ink: Rgb;
  private readonly quiet: Rgb;
  private readonly probe: CanvasRenderingContext2D;

  constructor(readonly theme: Theme, readonly colours: Colours, private readonly isFaded: (label: number) => boolean) {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 1;
    this.probe = canvas.getContext("2d", { willReadFrequently: true })!;
    this.paper = this.rgb(colours.paper);
    this.ink = this.rgb(colours.ink);
    this.quiet = this.rgb(colours.quiet);
  }

  private readonly named = new Map<string, Rgb>();

  /** A colour of the page. */
  rgbOf(css: string): Rgb {
    let rgb = this.named.get(css);
    if (!rgb) this.named.set(css, (rgb = this.rgb(css)));
    return rgb;
  }

  /** Any colour that CSS can name. */
  private rgb(css: string): Rgb {
    this.probe.fillStyle = "#808080";
    this.probe.fillStyle = css;
    this.probe.fillRect(0, 0, 1, 1);
    const [r, g, b] = this.probe.getImageData(0, 0, 1, 1).data;
    return [r!, g!, b!];
  }

  /** For all labels up to `count`; those without a routine are grey. */
  shades(routines: string[], frames: (string | null)[]): Uint32Array {
    const known = this.css.length;
    if (known === routines.length) return this.numbers;
    const numbers = new Uint32Array(routines.length * SHADES);
    numbers.set(this.numbers);
    for (let label = known; label < routines.length; label++) {
      const css = frames[label] === null ? this.colours.quiet : colourOf(routines[label]!, this.theme);
      const full = this.faded(label, frames[label] === null ? this.quiet : this.rgb(css));
      numbers[label * SHADES + Shade.None] = packed(this.paper);
      numbers[label * SHADES + Shade.Full] = packed(full);
      numbers[label * SHADES + Shade.Pale] = packed(mixed(full, this.paper, 0.62));
      numbers[label * SHADES + Shade.Edge] = packed(mixed(full, this.ink, this.isFaded(label) ? 0.12 : 0.45));
      numbers[label * SHADES + Shade.Mark] = packed(this.faded(label, this.ink));
      this.css.push(css);
    }
    this.numbers = numbers;
    return numbers;
  }

  private faded(label: number, colour: Rgb): Rgb {
    return this.isFaded(label) ? mixed(colour, this.paper, 0.82) : colour;
  }

  fades(label: number): boolean {
    return this.isFaded(label);
  }

  /** The colour of text upon the full shade: the one of two that is further from it. */
  inkOn(label: number): string {
    const number = this.numbers[label * SHADES + Shade.Full]!;
    const light = 0.2126 * linear(number & 255) + 0.7152 * linear((number >>> 8) & 255) + 0.0722 * linear((number >>> 16) & 255);
    return light > 0.18 ? "#101010" : "#ffffff";
  }

  cssOf(label: number, shade: Shade): string {
    const number = this.numbers[label * SHADES + shade]!;
    return `rgb(${number & 255} ${(number >>> 8) & 255} ${(number >>> 16) & 255})`;
  }
}

/** As light adds up (sRGB). */
function linear(byte: number): number {
  const share = byte / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}

export function packed([r, g, b]: Rgb): number {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

function mixed(a: Rgb, b: Rgb, share: number): Rgb {
  return [0, 1, 2].map((i) => Math.round(a[i]! * (1 - share) + b[i]! * share)) as Rgb;
}
