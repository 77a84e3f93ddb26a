/* answer.ts - the JSON of the view `values` (docs/schema/values.json), and the patterns that it knows (docs/values.md). */
import type { View } from "../types.js";

export interface Found {
  pattern: string;
  operation: string | null;
  called_from: string | null;
  operations: number;
  share: number | null;
  bytes: number;
  element_bytes: number | null;
  line: string | null;
  evidence: string;
  exact: boolean;
}

export interface DataObject {
  name: string;
  site: string | null;
  count: number;
  bytes: number;
  patterns: Found[];
}

export interface Coverage {
  kernel: string | null;
  engine: string;
  launches: number;
  looked_at: number;
  reason: string | null;
}

export interface Vertex {
  id: number;
  kind: "host" | "allocation" | "operation";
  name: string;
  called_from: string | null;
  operations: number;
  time_ns: number | null;
}

export interface Edge {
  from: number;
  to: number;
  object: string;
  reads: boolean;
  writes: boolean;
  exact: boolean;
  operations: number;
  bytes: number;
  unchanged: number | null;
}

export interface Values {
  objects: DataObject[];
  coverage: Coverage[];
  graph: { vertices: Vertex[]; edges: Edge[] };
}

export interface Pattern {
  name: string;
  title: string;
  /** What `sonde record` is given to find it. */
  recorded: "--values" | "--values=fine";
  definition: string;
}

export const PATTERNS: readonly Pattern[] = [
  { name: "redundant", title: "redundant", recorded: "--values", definition: "elements were written that held the same value before" },
  { name: "duplicate", title: "duplicate", recorded: "--values", definition: "another object held the same values" },
  { name: "single_zero", title: "single zero", recorded: "--values=fine", definition: "all values accessed are zero" },
  { name: "single_value", title: "single value", recorded: "--values=fine", definition: "all values accessed are the same" },
  { name: "heavy_type", title: "heavy type", recorded: "--values=fine", definition: "the type is more expressive than the values need" },
  { name: "structured", title: "structured", recorded: "--values=fine", definition: "values and the addresses that they are stored at lie on a line" },
  { name: "frequent", title: "frequent", recorded: "--values=fine", definition: "one value makes up more than half of the elements" },
  { name: "approximate", title: "approximate", recorded: "--values=fine", definition: "all values are the same once mantissas are cut" },
];

/** Values were recorded: something was looked at, or found. */
export function wereRecorded(values: Values): boolean {
  return values.coverage.length > 0 || values.objects.some((object) => object.patterns.length > 0);
}

/** What was found of one pattern in an object, that with the most bytes first. */
export function cellOf(object: DataObject, pattern: string): Found[] {
  return object.patterns.filter((found) => found.pattern === pattern).sort((a, b) => b.bytes - a.bytes);
}

/** Objects with most bytes in a pattern come first as they are; those in which nothing was found last. */
export function matrixOf(values: Values): { object: DataObject; index: number }[] {
  const rows = values.objects.map((object, index) => ({ object, index }));
  return [...rows.filter(({ object }) => object.patterns.length), ...rows.filter(({ object }) => !object.patterns.length)];
}

/** What a column of a table of the view means, in the view's own words. */
export function definitionOf(views: View[], table: string, column: string): string | undefined {
  const found = views.find((view) => view.name === "values")?.tables.find((t) => t.name === table)?.columns.find((c) => c.name === column);
  return found?.definition ?? undefined;
}

/** A calling context as it is written, frame by frame, innermost first. */
export function framesOf(context: string | null): string[] {
  return context ? context.split(" ← ") : [];
}
