/* flow.ts - what of a value flow graph is drawn, and how: figure 3 of Zhou, Hao, Mellor-Crummey, Meng, Liu: ValueExpert (ASPLOS 2022).
 * Rectangles are allocations, rounded boxes operations; a line is as wide as it has bytes, and red where they are redundant. */
import type { Theme } from "../../draw/colours.js";
import { formatBytes, formatCount, formatShare, formatTime } from "../units.js";
import { framesOf, type Edge, type Values, type Vertex } from "./answer.js";

type Graph = Values["graph"];

/** More lines than these are hard to read, and slow to lay out. */
export const EDGES_DRAWN = 150;

/** The edges with most bytes (the answer has them first) and their vertices, and vertices without edges: the important graph keeps such. */
export function drawnOf(graph: Graph, most: number): { vertices: Vertex[]; edges: Edge[]; left_out: number } {
  if (graph.edges.length <= most) return { ...graph, left_out: 0 };
  const edges = graph.edges.slice(0, most);
  const used = new Set(edges.flatMap((edge) => [edge.from, edge.to]));
  return { edges, vertices: graph.vertices.filter((vertex) => used.has(vertex.id)), left_out: graph.edges.length - most };
}

/** Width in pixels: the area of a line's cross-section grows with its bytes. `most`: of all lines. */
export function widthOf(bytes: number, most: number): number {
  return 1.2 + 8 * Math.sqrt(bytes / Math.max(1, most));
}

export type Redundancy = "unknown" | "low" | "some" | "high";

/** 33 % is the paper's threshold. */
export function redundancyOf(edge: Edge): Redundancy {
  if (edge.unchanged === null) return "unknown";
  return edge.unchanged < 0.1 ? "low" : edge.unchanged < 0.33 ? "some" : "high";
}

/** Told apart by their lightness, too. */
export function colourOf(redundancy: Redundancy, theme: Theme): string {
  const [light, dark] = { unknown: ["#8a8a94", "#80808c"], low: ["#2b8a57", "#57c08a"], some: ["#c27a00", "#e0a63c"], high: ["#b3261e", "#ff7d70"] }[redundancy] as [string, string];
  return theme.dark ? dark : light;
}

export const REDUNDANCIES: readonly { name: Redundancy; text: string }[] = [
  { name: "high", text: "33 % or more of what was written was there already" },
  { name: "some", text: "10 to 33 %" },
  { name: "low", text: "less than 10 %" },
  { name: "unknown", text: "read, or not compared" },
];

/** What is written in a box: its name, where it was called (functions that allocate for others are told apart by who calls them), how much it is. */
export function wordsOf(vertex: Vertex): string[] {
  const words = [vertex.name];
  words.push(...framesOf(vertex.called_from).slice(0, vertex.kind === "allocation" ? 2 : 1));
  if (vertex.kind === "operation") {
    const time = vertex.time_ns === null ? "" : ` · ${formatTime(vertex.time_ns)}`;
    words.push(`${formatCount(vertex.operations)} operation${vertex.operations === 1 ? "" : "s"}${time}`);
  }
  if (vertex.kind === "allocation") words.push(`${formatCount(vertex.operations)} object${vertex.operations === 1 ? "" : "s"}`);
  return words;
}

/** What is written at a line. */
export function labelOf(edge: Edge): string {
  return formatBytes(edge.bytes) + (edge.unchanged === null ? "" : ` · ${formatShare(edge.unchanged)}`);
}

/** All of an edge, in one sentence. */
export function sentenceOf(edge: Edge, vertices: Map<number, Vertex>): string {
  const name = (id: number) => vertices.get(id)?.name ?? "?";
  const does = [edge.reads ? "reads" : "", edge.writes ? "writes" : ""].filter(Boolean).join(" and ") || "uses";
  const unchanged = edge.unchanged === null ? "" : `; ${formatShare(edge.unchanged)} of what it wrote was there already`;
  const maybe = edge.exact ? "" : " (it may do less: what its code does to them is not known)";
  return `${edge.to} ${name(edge.to)} ${does} ${edge.object}, last of ${edge.from} ${name(edge.from)}: ` +
    `${formatBytes(edge.bytes)} in ${formatCount(edge.operations)} operation${edge.operations === 1 ? "" : "s"}${unchanged}${maybe}`;
}
