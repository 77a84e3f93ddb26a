/* comparetree.ts - the rows of a metric as one tree of calling contexts, with both sides' values, for pictures beside each other. */
import type { FlameTree } from "../draw/flame.js";
import type { DiffRow } from "./compare.js";

export type Side = "before" | "after";

export interface ContextNode {
  label: string;
  parent: number;
  /** The one with most on either side first, so that both sides have one order. */
  children: number[];
  before: number;
  after: number;
  /** What of the difference is significant, or was not tested; null: nothing of it. */
  changed: number | null;
}

/** The first is the whole. */
export function contextTree(rows: readonly DiffRow[]): ContextNode[] {
  const nodes: ContextNode[] = [{ label: "all", parent: -1, children: [], before: 0, after: 0, changed: null }], at = new Map<string, number>();
  for (const row of rows) {
    let node = 0;
    add(nodes[0]!, row);
    for (const label of row.path) {
      const key = JSON.stringify([node, label]);
      let next = at.get(key);
      if (next === undefined) {
        at.set(key, (next = nodes.length));
        nodes[node]!.children.push(next);
        nodes.push({ label, parent: node, children: [], before: 0, after: 0, changed: null });
      }
      add(nodes[next]!, row);
      node = next;
    }
  }
  const most = (row: number) => Math.max(nodes[row]!.before, nodes[row]!.after);
  for (const node of nodes) node.children.sort((a, b) => most(b) - most(a) || a - b);
  return nodes;
}

function add(node: ContextNode, row: DiffRow): void {
  node.before += row.before;
  node.after += row.after;
  if (row.significant !== false) node.changed = (node.changed ?? 0) + row.delta;
}

/** As changeOf says it of a row (compare.ts). */
export function changeOfNode({ before, after, changed }: ContextNode): number | null {
  if (changed === null) return null;
  if (before <= 0) return after > 0 ? 1 : 0;
  return Math.max(-1, Math.min(1, (2 * changed) / before));
}

export function sideOf(nodes: readonly ContextNode[], side: Side): FlameTree {
  return {
    childrenOf: (row) => nodes[row]!.children,
    valueOf: (row) => nodes[row]![side],
    labelOf: (row) => nodes[row]!.label,
    parentOf: (row) => nodes[row]!.parent,
  };
}
