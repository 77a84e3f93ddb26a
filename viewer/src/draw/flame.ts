/* flame.ts - a tree as nested boxes: each as wide as its part of the box above it. Icicles hang from the top, flames stand on the bottom.
 * Knows nothing of profiles: a tree is numbers and labels. */
import { fitCanvas, fitText } from "./canvas.js";
import { escapeMarkup } from "../model/svg.js";
import { colourOf, inkOn, type Theme } from "./colours.js";

export interface FlameTree {
  childrenOf(row: number): readonly number[];
  /** Not below that of all children together; what is not above 0 has no box. */
  valueOf(row: number): number;
  labelOf(row: number): string;
  /** -1: it is the whole. */
  parentOf(row: number): number;
}

export interface Box {
  /** -1: several that are too narrow to be drawn, below `parent`. */
  row: number;
  parent: number;
  level: number;
  /** Parts of the picture's width. */
  from: number;
  width: number;
}

/** Boxes of the row that fills the width, of those above it, which do too, and of all below it that are at least as wide as `least`. */
export function layoutFlame(tree: FlameTree, root: number, least: number): Box[] {
  const boxes: Box[] = [], above: number[] = [];
  for (let at = tree.parentOf(root); at >= 0; at = tree.parentOf(at)) above.push(at);
  above.reverse().forEach((row, level) => boxes.push({ row, parent: tree.parentOf(row), level, from: 0, width: 1 }));
  const whole = tree.valueOf(root);
  boxes.push({ row: root, parent: tree.parentOf(root), level: above.length, from: 0, width: 1 });
  if (!(whole > 0)) return boxes;
  for (let i = above.length; i < boxes.length; i++) {
    const box = boxes[i]!;
    if (box.row < 0) continue;
    let from = box.from, narrow = 0;
    for (const child of tree.childrenOf(box.row)) {
      const width = tree.valueOf(child) / whole;
      if (!(width > 0)) continue;
      if (width < least) {
        narrow += width;
        continue;
      }
      boxes.push({ row: child, parent: box.row, level: box.level + 1, from, width });
      from += width;
    }
    if (narrow > 0 && narrow >= least) boxes.push({ row: -1, parent: box.row, level: box.level + 1, from, width: narrow });
  }
  return boxes;
}

export function levelsOf(boxes: readonly Box[]): number {
  return boxes.reduce((most, box) => Math.max(most, box.level + 1), 0);
}

export const BOX_HEIGHT = 20;

export interface FlameLook {
  width: number;
  /** Of the part that is seen. */
  height: number;
  /** How far the picture is scrolled. */
  top: number;
  /** Flames: the whole is at the bottom. */
  upwards: boolean;
  theme: Theme;
  paper: string;
  quiet: string;
  accent: string;
  font: string;
  /** Boxes that are not lit are pale; null: all are as they are. */
  lit: ((row: number) => boolean) | null;
  /** Underlined, wherever they are; null: none is. */
  marked: ((row: number) => boolean) | null;
  /** Outlined: under the pointer, and chosen. */
  hover: Box | null;
  chosen: number;
}

/** How high the whole picture is. */
export function flameHeight(boxes: readonly Box[]): number {
  return levelsOf(boxes) * BOX_HEIGHT;
}

function topOf(box: Box, levels: number, upwards: boolean): number {
  return (upwards ? levels - 1 - box.level : box.level) * BOX_HEIGHT;
}

export function drawFlame(canvas: HTMLCanvasElement, tree: FlameTree, boxes: readonly Box[], look: FlameLook): void {
  const context = fitCanvas(canvas, look.width, look.height), levels = levelsOf(boxes);
  context.fillStyle = look.paper;
  context.fillRect(0, 0, look.width, look.height);
  context.font = look.font;
  context.textBaseline = "middle";
  for (const box of boxes) {
    const y = topOf(box, levels, look.upwards) - look.top;
    if (y + BOX_HEIGHT < 0 || y > look.height) continue;
    drawBox(context, tree, box, y, look);
  }
  context.globalAlpha = 1;
}

function drawBox(context: CanvasRenderingContext2D, tree: FlameTree, box: Box, y: number, look: FlameLook): void {
  const x = box.from * look.width, width = Math.max(box.width * look.width - 0.5, 0.5);
  const label = box.row < 0 ? "" : tree.labelOf(box.row);
  context.globalAlpha = look.lit === null || (box.row >= 0 && look.lit(box.row)) ? 1 : 0.3;
  context.fillStyle = box.row < 0 || box.parent < 0 ? look.quiet : colourOf(label, look.theme);
  if (box.row < 0) context.globalAlpha *= 0.5;
  context.fillRect(x, y, width, BOX_HEIGHT - 1);
  if (width > 24 && label !== "") {
    context.fillStyle = box.parent < 0 ? look.paper : inkOn(look.theme);
    context.fillText(fitText(context, label, width - 8), x + 4, y + BOX_HEIGHT / 2);
  }
  if (box.row >= 0 && look.marked?.(box.row)) {
    context.globalAlpha = 1;
    context.fillStyle = look.accent;
    context.fillRect(x, y + BOX_HEIGHT - 4, width, 3);
  }
  const hovered = look.hover !== null && look.hover.row === box.row && look.hover.parent === box.parent;
  if (hovered || (box.row >= 0 && box.row === look.chosen)) {
    context.globalAlpha = 1;
    context.strokeStyle = look.accent;
    context.lineWidth = 2;
    context.strokeRect(x + 1, y + 1, Math.max(width - 2, 1), BOX_HEIGHT - 3);
  }
}

/** The box at a point of the whole picture. */
export function boxAt(boxes: readonly Box[], x: number, y: number, width: number, upwards: boolean): Box | null {
  const levels = levelsOf(boxes), line = Math.floor(y / BOX_HEIGHT), level = upwards ? levels - 1 - line : line, at = x / width;
  return boxes.find((box) => box.level === level && at >= box.from && at < box.from + box.width) ?? null;
}

/** The picture for a file. Names are text: whatever they hold, they are no markup. */
export function flameSvg(tree: FlameTree, boxes: readonly Box[], width: number, upwards: boolean, theme: Theme, valueText: (row: number) => string): string {
  const height = flameHeight(boxes), levels = levelsOf(boxes);
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="${theme.dark ? "#16161a" : "#ffffff"}"/>`,
  ];
  for (const box of boxes) {
    const x = box.from * width, wide = Math.max(box.width * width - 0.5, 0.5), y = topOf(box, levels, upwards);
    const label = box.row < 0 ? "" : tree.labelOf(box.row);
    const fill = box.row < 0 || box.parent < 0 ? "#8a8a94" : colourOf(label, theme);
    const letters = Math.floor((wide - 8) / 6.6);
    const shown = label.length <= letters ? label : letters < 3 ? "" : label.slice(0, letters - 1) + "…";
    parts.push(
      `<g><title>${escapeMarkup(box.row < 0 ? "smaller ones" : `${label}: ${valueText(box.row)}`)}</title>`,
      `<rect x="${x.toFixed(2)}" y="${y}" width="${wide.toFixed(2)}" height="${BOX_HEIGHT - 1}" fill="${fill}"/>`,
      shown === "" ? "" : `<text x="${(x + 4).toFixed(2)}" y="${y + 14}" fill="${inkOn(theme)}">${escapeMarkup(shown)}</text>`,
      "</g>",
    );
  }
  parts.push("</svg>");
  return parts.join("\n");
}
