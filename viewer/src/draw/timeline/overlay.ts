/* overlay.ts - what lies over the lanes: the selected range, a path across lanes, outlines of the chosen interval and of the one under the
 * pointer, arrows. */
import type { Arrow } from "../../model/timeline/dependencies.js";
import type { Outline, Over, Stretch } from "../../model/timeline/sight.js";
import type { Colours } from "./palette.js";

export function drawOverlay(context: CanvasRenderingContext2D, overlay: Over, colours: Colours): void {
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
  for (const path of overlay.paths) drawPath(context, path, colours);
  for (const outline of overlay.outlines) drawOutline(context, outline, width, colours);
  for (const arrow of overlay.arrows) drawArrow(context, arrow, colours);
}

function drawRange(context: CanvasRenderingContext2D, range: { x0: number; x1: number }, { width, height }: Over, colours: Colours): void {
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

/** A line under each stretch, and one from lane to lane. */
function drawPath(context: CanvasRenderingContext2D, path: Stretch[], colours: Colours): void {
  for (const [colour, line] of [[colours.paper, 5], [colours.accent, 3]] as const) {
    context.strokeStyle = colour;
    context.lineWidth = line;
    context.lineJoin = "round";
    context.beginPath();
    path.forEach(({ x0, x1, y, seen }, i) => {
      if (i) context.lineTo(x0, y);
      else context.moveTo(x0, y);
      if (seen) context.lineTo(Math.max(x1, x0 + 1), y);
      else context.moveTo(x1, y);
    });
    context.stroke();
  }
}

function drawArrow(context: CanvasRenderingContext2D, { x0, y0, x1, y1, strong, count, other }: Arrow, colours: Colours): void {
  const bend = Math.max(Math.abs(x1 - x0) / 2, 24), head = strong ? 8 : 6;
  for (const [colour, line] of [[colours.paper, strong ? 5 : 3], [strong ? colours.ink : colours.quiet, strong ? 2 : 1]] as const) {
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = line;
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 6, y1);
    context.stroke();
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - head - line / 2, y1 - head / 2 - line / 2);
    context.lineTo(x1 - head - line / 2, y1 + head / 2 + line / 2);
    context.fill();
  }
  if (count > 1) drawCount(context, count, other === "from" ? x0 + 4 : x1 - 12, other === "from" ? y0 : y1, other === "from" ? "left" : "right", colours);
}

function drawCount(context: CanvasRenderingContext2D, count: number, x: number, y: number, align: CanvasTextAlign, colours: Colours): void {
  context.font = "11px system-ui, sans-serif";
  context.textAlign = align;
  context.textBaseline = "bottom"; /* above the line */
  context.lineWidth = 4;
  context.strokeStyle = colours.paper;
  context.strokeText(`×${count}`, x, y - 3);
  context.fillStyle = colours.ink;
  context.fillText(`×${count}`, x, y - 3);
}
