/* overlay.ts - what lies over the lanes: the selected range, outlines of the chosen interval and of the one under the pointer, arrows. */
import type { Colours } from "./palette.js";

export interface Outline {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
  strong: boolean;
}

export interface Arrow {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}

export interface Overlay {
  width: number;
  height: number;
  /** x of the selected range, and of where a range is being drawn. */
  range: { x0: number; x1: number } | null;
  lines: number[];
  cursor: number | null;
  outlines: Outline[];
  arrows: Arrow[];
}

export function drawOverlay(context: CanvasRenderingContext2D, overlay: Overlay, colours: Colours): void {
  const { width, height } = overlay;
  context.clearRect(0, 0, width, height);
  context.fillStyle = colours.line;
  context.globalAlpha = 0.3;
  for (const x of overlay.lines) context.fillRect(Math.round(x), 0, 1, height);
  context.globalAlpha = 1;
  if (overlay.range) drawRange(context, overlay.range, overlay, colours);
  if (overlay.cursor !== null) {
    context.fillStyle = colours.quiet;
    context.globalAlpha = 0.5;
    context.fillRect(Math.round(overlay.cursor), 0, 1, height);
    context.globalAlpha = 1;
  }
  for (const outline of overlay.outlines) drawOutline(context, outline, width, colours);
  for (const arrow of overlay.arrows) drawArrow(context, arrow, colours);
}

function drawRange(context: CanvasRenderingContext2D, range: { x0: number; x1: number }, { width, height }: Overlay, colours: Colours): void {
  const x0 = Math.max(Math.min(range.x0, width), 0), x1 = Math.max(Math.min(range.x1, width), 0);
  context.fillStyle = colours.ink;
  context.globalAlpha = 0.07;
  context.fillRect(0, 0, x0, height);
  context.fillRect(x1, 0, width - x1, height);
  context.globalAlpha = 0.8;
  context.fillStyle = colours.accent;
  if (range.x0 >= 0 && range.x0 <= width) context.fillRect(Math.round(range.x0), 0, 1, height);
  if (range.x1 >= 0 && range.x1 <= width) context.fillRect(Math.round(range.x1) - 1, 0, 1, height);
  context.globalAlpha = 1;
}

function drawOutline(context: CanvasRenderingContext2D, outline: Outline, width: number, colours: Colours): void {
  const x0 = Math.max(outline.x0, -4), x1 = Math.min(Math.max(outline.x1, outline.x0 + 2), width + 4);
  if (x1 < 0 || x0 > width) return;
  context.strokeStyle = colours.paper;
  context.lineWidth = outline.strong ? 4 : 2;
  context.strokeRect(x0, outline.y0, x1 - x0, outline.y1 - outline.y0);
  context.strokeStyle = outline.strong ? colours.ink : colours.quiet;
  context.lineWidth = outline.strong ? 2 : 1;
  context.strokeRect(x0, outline.y0, x1 - x0, outline.y1 - outline.y0);
}

function drawArrow(context: CanvasRenderingContext2D, { x0, y0, x1, y1 }: Arrow, colours: Colours): void {
  const bend = Math.max(Math.abs(x1 - x0) / 2, 24);
  for (const [colour, line] of [[colours.paper, 5], [colours.ink, 2]] as const) {
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = line;
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 6, y1);
    context.stroke();
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - 8 - line / 2, y1 - 4 - line / 2);
    context.lineTo(x1 - 8 - line / 2, y1 + 4 + line / 2);
    context.fill();
  }
}
