/* tree.ts - the rows of a profile as a tree: sorted, opened, filtered, with the hot path. Rows are numbers; a parent comes before its
 * children, also among rows that were asked for later. Nothing is computed anew: figures are the view's.
 *
 * Frames of the runtime (loader, C library, interpreter) without figures of their own are passed over, as the report does on the
 * terminal: what they call takes their place. They stay rows, so that sums can be checked. */
import { isError, type Figure, type ProfileAnswer, type ProfileColumn, type ProfileRow, type Shape, type Shown } from "./answer.js";

/** A number to sort and draw by: NaN is unknown or no number. */
export function numberOf(figure: Figure | undefined): number {
  return typeof figure === "number" ? figure : NaN;
}

export class ProfileTree {
  readonly shape: Shape;
  readonly by: string;
  readonly columns: ProfileColumn[];
  readonly rows: ProfileRow[];
  readonly leftOut: number;
  private readonly parents: number[];
  private readonly children: number[][];
  private readonly passed: boolean[];
  /** [row] what is shown below it, in order; undefined: not made yet. */
  private shown: (number[] | undefined)[] = [];
  private readonly additive: string[];
  private readonly whole = new Set<number>();
  private order: { column: Shown; descending: boolean } | null = null;

  constructor(answer: ProfileAnswer, allFrames = true) {
    this.shape = answer.shape;
    this.by = answer.by;
    this.columns = answer.columns;
    this.leftOut = answer.left_out;
    this.rows = [...answer.rows];
    this.parents = answer.rows.map((row) => row.parent ?? -1);
    this.children = answer.rows.map(() => []);
    this.passed = answer.rows.map((row, at) => !allFrames && at > 0 && isPassedOver(row));
    for (let row = 1; row < this.rows.length; row++) this.children[this.parents[row]!]!.push(row);
    this.additive = answer.columns.filter((column) => column.formula === null && !isError(column.name)).map((column) => column.name);
  }

  figure(row: number, column: Shown): Figure | undefined {
    return this.rows[row]![column.side][column.name];
  }

  value(row: number, column: Shown): number {
    return numberOf(this.figure(row, column));
  }

  /** The column's part of the whole; NaN where there is none. */
  share(row: number, column: Shown): number {
    const whole = this.value(0, { name: column.name, side: "inclusive" });
    return whole > 0 ? this.value(row, column) / whole : NaN;
  }

  isPassedOver(row: number): boolean {
    return this.passed[row]!;
  }

  /** -1: it is the whole. */
  parentOf(row: number): number {
    let at = this.parents[row]!;
    while (at > 0 && this.passed[at]) at = this.parents[at]!;
    return at;
  }

  /** From now on children are in this order; unknown ones are last. */
  sort(column: Shown, descending: boolean): void {
    this.order = { column, descending };
    this.shown = [];
  }

  childrenOf(row: number): readonly number[] {
    return (this.shown[row] ??= this.sorted(this.below(row)));
  }

  /** Children, and in place of those that are passed over theirs. */
  private below(row: number): number[] {
    const list: number[] = [], stack: number[] = [];
    const put = (children: readonly number[]) => {
      for (let i = children.length - 1; i >= 0; i--) stack.push(children[i]!);
    };
    for (put(this.children[row]!); stack.length; ) {
      const at = stack.pop()!;
      if (this.passed[at]) put(this.children[at]!);
      else list.push(at);
    }
    return list;
  }

  private sorted(list: number[]): number[] {
    if (!this.order) return list;
    const { column, descending } = this.order, sign = descending ? -1 : 1;
    return list.sort((a, b) => {
      const x = this.value(a, column), y = this.value(b, column);
      if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y)) || a - b;
      return sign * (x - y) || a - b;
    });
  }

  /** From the whole down to the row. */
  path(row: number): number[] {
    const path: number[] = [];
    for (let at = row; at >= 0; at = this.parentOf(at)) path.push(at);
    return path.reverse();
  }

  /** The first row of a call path; -1: there is none. */
  find(node: number): number {
    return this.rows.findIndex((row, at) => at > 0 && row.node === node);
  }

  /** The first row of this label that is shown; -1: there is none. */
  findLabel(label: string): number {
    return this.rows.findIndex((row, at) => row.label === label && !this.passed[at]);
  }

  /** Rows of which some children are no rows, since they are small: this one, and those below it that are passed over. Of a
   * top-down tree alone that is known. */
  incomplete(row: number): number[] {
    if (this.shape !== "top-down" || this.leftOut === 0) return [];
    const found: number[] = [], stack = [row];
    while (stack.length) {
      const at = stack.pop()!;
      if (!this.whole.has(at) && this.additive.some((name) => this.missing(at, name) > 0.5)) found.push(at);
      for (const child of this.children[at]!) if (this.passed[child]) stack.push(child);
    }
    return found;
  }

  hasMore(row: number): boolean {
    return this.incomplete(row).length > 0;
  }

  /** What of a metric is in children that are no rows. */
  missing(row: number, name: string): number {
    const { inclusive, exclusive } = this.rows[row]!;
    let rest = orZero(inclusive[name]) - orZero(exclusive[name]);
    for (const child of this.children[row]!) rest -= orZero(this.rows[child]!.inclusive[name]);
    return rest;
  }

  /** Only with lines does a row stand for one call path, so that all of its children can be asked for. */
  get canAskForMore(): boolean {
    return this.shape === "top-down" && this.by === "line";
  }

  /** All children of `row`, as they were asked for: those that are not there yet become rows. Returns how many. */
  graft(row: number, callees: ProfileAnswer): number {
    const known = new Set(this.children[row]!.map((child) => this.rows[child]!.node));
    let added = 0;
    for (const one of callees.rows.slice(1)) {
      if (one.depth !== 1 || known.has(one.node)) continue;
      const at = this.rows.length;
      this.rows.push({ ...one, row: at, parent: row, depth: this.rows[row]!.depth + 1 });
      this.parents.push(row);
      this.children.push([]);
      this.passed.push(false);
      this.children[row]!.push(at);
      added++;
    }
    this.whole.add(row);
    this.shown = [];
    return added;
  }
}

function orZero(figure: Figure | undefined): number {
  return typeof figure === "number" ? figure : 0;
}

function isPassedOver(row: ProfileRow): boolean {
  return row.kind === "native" && row.code === "runtime" && Object.entries(row.exclusive).every(([name, figure]) => isError(name) || !figure);
}

/** Down from `row`: always to the child with most, as long as that has at least half of its parent's. `row` itself is the first. */
export function hotPath(tree: ProfileTree, row: number, column: Shown): number[] {
  const path = [row];
  for (let at = row; ; ) {
    let best = -1;
    for (const child of tree.childrenOf(at)) if (tree.value(child, column) > (best < 0 ? 0 : tree.value(best, column))) best = child;
    if (best < 0) return path;
    /* The whole has nothing exclusive: by that side the first step is to whatever has most. */
    const least = at === 0 && column.side === "exclusive" ? 0 : tree.value(at, column) / 2;
    if (!(tree.value(best, column) >= least)) return path;
    path.push(best);
    at = best;
  }
}

/** The whole, and what is below it as long as there is no choice: where a table begins. */
export function unbranched(tree: ProfileTree): number[] {
  const path = [0];
  for (let below = tree.childrenOf(0); below.length === 1; below = tree.childrenOf(below[0]!)) path.push(below[0]!);
  return path;
}

/** What a filter keeps. */
export interface Kept {
  /** [row] 1: the label has the text. */
  hits: Uint8Array;
  /** [row] 1: one below it does. */
  above: Uint8Array;
  count: number;
}

/** Rows whose label has the text, in small or capital letters, and what is above them. null: no text, all are kept. */
export function filterRows(tree: ProfileTree, text: string): Kept | null {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return null;
  const count = tree.rows.length, hits = new Uint8Array(count), above = new Uint8Array(count);
  let found = 0;
  for (let row = count - 1; row > 0; row--) {
    if (!tree.isPassedOver(row) && tree.rows[row]!.label.toLowerCase().includes(wanted)) {
      hits[row] = 1;
      found++;
    }
    if (hits[row] || above[row]) above[tree.rows[row]!.parent!] = 1;
  }
  return { hits, above, count: found };
}

/** A line of the table: a row, or behind the last child the button for those that are no rows yet. */
export interface Line {
  row: number;
  level: number;
  more: boolean;
  /** Its place among its siblings, from 1, and how many they are. */
  place: number;
  siblings: number;
}

/** Rows that were opened and closed by hand; a filter opens what leads to its hits. */
export interface Openness {
  opened: ReadonlySet<number>;
  closed: ReadonlySet<number>;
}

export function isOpen(row: number, openness: Openness, kept: Kept | null): boolean {
  if (openness.closed.has(row)) return false;
  return openness.opened.has(row) || (kept !== null && kept.above[row] === 1);
}

/** The lines of the table from above to below. A row without hits in and below it is left out, unless it is below a hit. */
export function linesOf(tree: ProfileTree, openness: Openness, kept: Kept | null): Line[] {
  const lines: Line[] = [];
  const stack: { list: readonly number[]; at: number; row: number; all: boolean }[] = [{ list: [0], at: 0, row: -1, all: kept === null }];
  while (stack.length) {
    const top = stack[stack.length - 1]!, level = stack.length;
    if (top.at === top.list.length) {
      stack.pop();
      if (top.row >= 0 && top.all && tree.hasMore(top.row)) lines.push({ row: top.row, level, more: true, place: top.at + 1, siblings: top.at + 1 });
      continue;
    }
    const row = top.list[top.at++]!;
    const all = top.all || (kept !== null && kept.hits[row] === 1);
    if (!all && kept !== null && !kept.above[row] && row > 0) continue;
    lines.push({ row, level, more: false, place: top.at, siblings: top.list.length });
    if (isOpen(row, openness, kept)) stack.push({ list: tree.childrenOf(row), at: 0, row, all });
  }
  return lines;
}

/** Can it be opened? */
export function isExpandable(tree: ProfileTree, row: number): boolean {
  return tree.childrenOf(row).length > 0 || tree.hasMore(row);
}
