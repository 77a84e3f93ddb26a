/* answer.ts - what `view/profile` answers (docs/schema/profile.json), and how it is asked for. */
import { request } from "../requests.js";
import type { View } from "../types.js";

/** A number, unknown, or a formula's result that is no number. */
export type Figure = number | null | "error";

export type Side = "inclusive" | "exclusive";
export type Shape = "top-down" | "bottom-up" | "flat";

export interface ProfileRow {
  row: number;
  parent: number | null;
  depth: number;
  node: number;
  label: string;
  kind: string;
  name: string | null;
  file: string | null;
  line: number | null;
  module: string | null;
  code: "user" | "library" | "runtime" | null;
  operation?: string;
  object?: string;
  inclusive: Record<string, Figure>;
  exclusive: Record<string, Figure>;
}

export interface ProfileColumn {
  name: string;
  unit: string | null;
  formula: string | null;
}

export interface ProfileAnswer {
  shape: Shape;
  by: string;
  columns: ProfileColumn[];
  sort: { column: string; side: Side };
  left_out: number;
  rows: ProfileRow[];
}

/** A column of the table: `gpu`, or `gpu:excl`. */
export interface Shown {
  name: string;
  side: Side;
}

export interface Metric {
  name: string;
  unit: string | null;
  definition: string;
}

/** The metrics that the view has, from its descriptors. Standard errors stand beside their numbers and are none by themselves. */
export function metricsOf(view: View | undefined): Metric[] {
  const figures = view?.tables.find((table) => table.name === "figures");
  return (figures?.columns ?? [])
    .filter((column) => column.name && !isError(column.name))
    .map((column) => ({ name: column.name!, unit: column.unit, definition: column.definition ?? "" }));
}

export function isError(name: string): boolean {
  return name.endsWith("_error");
}

export function parseShown(text: string): Shown[] {
  return text
    .split(",")
    .filter((word) => word !== "")
    .map((word) => parseColumn(word));
}

export function parseColumn(word: string): Shown {
  const excl = word.endsWith(":excl");
  return { name: word.replace(/:(excl|incl)$/, ""), side: excl ? "exclusive" : "inclusive" };
}

export function formatColumn(shown: Shown): string {
  return shown.side === "exclusive" ? `${shown.name}:excl` : shown.name;
}

export function sameColumn(a: Shown, b: Shown): boolean {
  return a.name === b.name && a.side === b.side;
}

/** A derived column as `derive` has it: NAME=FORMULA, several separated by `;`. */
export function derivedNames(derive: string): string[] {
  return derive
    .split(";")
    .map((one) => one.split("=")[0]!.trim())
    .filter((name) => name !== "");
}

export interface Question {
  shape: Shape;
  by: string;
  metrics: string[];
  derive: string;
  /** What sorts: its shares decide which rows are small. */
  sort: Shown;
  /** Rows below so many percent are left out. */
  least: number;
}

/** The request of the whole tree. */
export function askProfile(question: Question): string {
  return request("view", "profile", { ...options(question), "min-percent": question.least });
}

/** The request of what a call path calls, all of it. */
export function askCallees(question: Question, node: number): string {
  return request("view", "profile", { ...options(question), root: `#${node}`, depth: 1, "min-percent": 0 });
}

function options(question: Question): Record<string, string | boolean> {
  const { shape, by, metrics, derive, sort } = question;
  return {
    "top-down": shape === "top-down",
    "bottom-up": shape === "bottom-up",
    ...(by === "" ? {} : { by }),
    metric: metrics.join(","),
    ...(derive === "" ? {} : { derive }),
    sort: `${sort.name}:${sort.side === "exclusive" ? "excl" : "incl"}`,
  };
}

/** Which ways of grouping a shape has; the first is what the view takes when none is named. */
export function groupings(shape: Shape): string[] {
  if (shape === "top-down") return ["line", "function", "module"];
  if (shape === "bottom-up") return ["function", "line", "module"];
  return ["function", "line", "module", "kernel", "object"];
}
