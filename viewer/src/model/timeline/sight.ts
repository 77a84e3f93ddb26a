/* sight.ts - where lanes are in a picture of the time line, and what lies over them: outlines, arrows, paths from lane to lane. The same on
 * screen and in files; in pixels from the picture's left and top. */
import { marksOf, type Steps } from "../path.js";
import { arrowsOf, type Arrow, type Link } from "./dependencies.js";
import type { Interval } from "./intervals.js";
import { laneKey, trackBox, type Leaf, type Row, type TreeNode } from "./lanes.js";
import { xAt, type Window } from "./window.js";

export interface Outline {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
  strong: boolean;
}

/** A stretch of a path across lanes; one that cannot be seen is passed by at the edge. */
export interface Stretch {
  x0: number;
  x1: number;
  y: number;
  seen: boolean;
}

/** What lies over the lanes. */
export interface Over {
  width: number;
  height: number;
  /** x of the selected range. */
  range: { x0: number; x1: number } | null;
  /** x of the axis's lines, and of the pointer. */
  lines: number[];
  cursor: number | null;
  paths: Stretch[][];
  outlines: Outline[];
  arrows: Arrow[];
}

/** A part of rows that are one below the other: from `scroll` on `height` pixels, which begin `above` pixels below the picture's top. */
export interface Pane {
  scroll: number;
  height: number;
  above: number;
}

/** Which row each lane has. */
export class Places {
  /** By key: the pane, by its number, and the row. */
  readonly rows = new Map<string, { pane: number; row: Row }>();
  /** Lanes that have no row, by key: the closed group that they are in. */
  private readonly groups = new Map<string, string>();
  /** Lanes that have a row, in their order. */
  readonly leaves: Leaf[] = [];

  constructor(panes: Row[][]) {
    panes.forEach((rows, pane) => {
      for (const row of rows) {
        this.rows.set(row.node.key, { pane, row });
        if (row.node.kind === "lane") this.leaves.push(row.node);
        else if (!row.open) for (const leaf of leavesOf(row.node)) this.groups.set(leaf.key, row.node.key);
      }
    });
  }

  leaf(key: string): Leaf | null {
    const node = this.rows.get(key)?.row.node;
    return node?.kind === "lane" ? node : null;
  }

  /** The lane's row, else that of its group. */
  rowOf(lane: string): { pane: number; row: Row } | null {
    return this.rows.get(lane) ?? this.rows.get(this.groups.get(lane) ?? "") ?? null;
  }
}

function leavesOf(node: TreeNode): Leaf[] {
  return node.kind === "lane" ? [node] : node.children.flatMap(leavesOf);
}

export class Sight {
  constructor(private readonly places: Places, private readonly panes: Pane[], readonly window: Window, readonly width: number) {}

  x = (time: number): number => xAt(this.window, this.width, time);

  /** Where a track of a lane is; null: it is not in sight. */
  private boxOf(lane: string, track: number): { y0: number; y1: number } | null {
    const found = this.places.rows.get(lane), box = found && trackBox(found.row, Math.min(track, found.row.tracks - 1));
    if (!found || !box) return null;
    const { scroll, height, above } = this.panes[found.pane]!, y0 = found.row.top + box.top - scroll;
    return y0 + box.height < 0 || y0 > height ? null : { y0: y0 + above, y1: y0 + box.height + above };
  }

  /** Where a lane is pointed at: what it did, else its closed group, else the edge towards which it lies. */
  private markOf(lane: string): { middle: number; bottom: number; seen: boolean } | null {
    const found = this.places.rowOf(lane);
    if (!found) return null;
    const { row } = found, { scroll, height, above } = this.panes[found.pane]!, box = trackBox(row, 0) ?? { top: 0, height: row.height };
    const y = row.top + box.top - scroll, middle = y + box.height / 2, edge = Math.min(Math.max(middle, 4), height - 4);
    const seen = edge === middle;
    return { middle: edge + above, bottom: (seen ? y + box.height : edge) + above, seen: seen && row.node.kind === "lane" };
  }

  outline(interval: Interval, strong: boolean): Outline[] {
    const box = this.boxOf(interval.lane, interval.track);
    return box ? [{ ...box, x0: this.x(interval.begin), x1: this.x(interval.end), strong }] : [];
  }

  arrows(links: Link[]): Arrow[] {
    return arrowsOf(links, { width: this.width, x: this.x, y: (lane) => this.markOf(lane)?.middle ?? null });
  }

  path(steps: Steps): Stretch[] {
    const out: Stretch[] = [], marks = new Map<string, ReturnType<Sight["markOf"]>>();
    for (const { process, lane, from, to } of marksOf(steps, this.window, this.width)) {
      const key = `${process}.${lane}`;
      if (!marks.has(key)) marks.set(key, lane ? this.markOf(laneKey(process, lane)) : null);
      const mark = marks.get(key), x0 = Math.max(this.x(from), -10), x1 = Math.min(this.x(to), this.width + 10);
      if (mark) out.push({ x0, x1, y: mark.bottom, seen: mark.seen });
    }
    return out;
  }
}
