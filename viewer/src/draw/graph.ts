/* graph.ts - a directed graph in layers: where its boxes and lines are. Knows nothing of profiles.
 *
 * The layout is dagre's: Gansner, Koutsofios, North, Vo: A Technique for Drawing Directed Graphs (1993). */
import * as dagre from "@dagrejs/dagre";

export interface Box {
  id: string;
  width: number;
  height: number;
}

export interface Line {
  from: string;
  to: string;
  /** Room for what is written at it. */
  width: number;
  height: number;
}

export interface Point {
  x: number;
  y: number;
}

export interface Layout {
  width: number;
  height: number;
  /** Middles of the boxes. */
  boxes: Map<string, Point>;
  /** In the order of the lines that were given: their corners, and the middle of what is written at them. */
  lines: { points: Point[]; label: Point }[];
}

const MARGIN = 12;

export function layOut(boxes: readonly Box[], lines: readonly Line[]): Layout {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 28, ranksep: 44, edgesep: 14, marginx: MARGIN, marginy: MARGIN });
  for (const { id, width, height } of boxes) graph.setNode(id, { width, height });
  lines.forEach(({ from, to, width, height }, i) => graph.setEdge(from, to, { width, height, labelpos: "c" }, String(i)));
  dagre.layout(graph);
  const label = graph.graph();
  return {
    width: Math.ceil(label.width ?? 0),
    height: Math.ceil(label.height ?? 0),
    boxes: new Map(boxes.map(({ id }) => [id, { x: graph.node(id).x, y: graph.node(id).y }])),
    lines: lines.map(({ from, to }, i) => {
      const edge = graph.edge(from, to, String(i));
      const points = edge.points.map(({ x, y }) => ({ x, y }));
      return { points, label: { x: Number(edge.x ?? points[0]!.x), y: Number(edge.y ?? points[0]!.y) } };
    }),
  };
}

/** A smooth line through corners, as the `d` of an SVG path: straight to the middles between them, bent around each. */
export function pathOf(points: readonly Point[]): string {
  const at = ({ x, y }: Point) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  const [first, ...rest] = points;
  if (!first || !rest.length) return "";
  let path = `M${at(first)}`;
  for (let i = 0; i + 1 < rest.length; i++) {
    const corner = rest[i]!, next = rest[i + 1]!;
    path += ` Q${at(corner)} ${at(i + 2 < rest.length ? { x: (corner.x + next.x) / 2, y: (corner.y + next.y) / 2 } : next)}`;
  }
  return rest.length === 1 ? `${path} L${at(rest[0]!)}` : path;
}

/** The text with its middle left out where it is longer than `letters`. */
export function shortened(text: string, letters: number): string {
  const all = [...text];
  if (all.length <= letters) return text;
  const left = Math.ceil((letters - 1) / 2);
  return all.slice(0, left).join("") + "…" + all.slice(all.length - (letters - 1 - left)).join("");
}
