/* axis.ts - the axis above the lanes, with the selected range. In CSS pixels. */
import { xAt, type Axis, type Window } from "../../model/timeline/window.js";
import type { Colours } from "./palette.js";

export interface MarkedRange {
  from: number;
  to: number;
  label: string;
}

export function drawAxis(context: CanvasRenderingContext2D, width: number, height: number, window: Window, axis: Axis, base: string | null,
                         range: MarkedRange | null, colours: Colours): void {
  context.fillStyle = colours.raised;
  context.fillRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  if (range) drawRange(context, width, height, window, range, colours);
  context.fillStyle = colours.quiet;
  let taken = 0;
  if (base !== null) {
    context.fillStyle = colours.ink;
    context.fillText(base, 4, height / 2 - 5);
    taken = 12 + context.measureText(base).width;
  }
  for (const { time, label } of axis.ticks) {
    const x = Math.round(xAt(window, width, time));
    context.fillStyle = colours.line;
    context.fillRect(x, height - 6, 1, 6);
    context.fillStyle = colours.quiet;
    if (x + 3 >= taken && x + 3 + context.measureText(label).width < width) context.fillText(label, x + 3, height / 2 - 1 + (range ? 5 : 0));
  }
  context.fillStyle = colours.line;
  context.fillRect(0, height - 1, width, 1);
}

function drawRange(context: CanvasRenderingContext2D, width: number, height: number, window: Window, range: MarkedRange, colours: Colours): void {
  const x0 = Math.max(xAt(window, width, range.from), -2), x1 = Math.min(xAt(window, width, range.to), width + 2);
  if (x1 < 0 || x0 > width) return;
  context.fillStyle = colours.accent;
  context.globalAlpha = 0.25;
  context.fillRect(x0, 0, Math.max(x1 - x0, 1), height);
  context.globalAlpha = 1;
  context.fillRect(x0, 0, 1, height);
  context.fillRect(x1 - 1, 0, 1, height);
  const text = context.measureText(range.label).width, middle = Math.min(Math.max((x0 + x1) / 2, text / 2 + 4), width - text / 2 - 4);
  context.fillText(range.label, middle - text / 2, height / 2 - 6);
}
