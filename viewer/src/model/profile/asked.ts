/* asked.ts - what the page's address says of the profile: which tree, which columns, which order. */
import { derivedNames, formatColumn, groupings, parseColumn, parseShown, sameColumn, type Metric, type ProfileAnswer, type Question, type Shape, type Shown } from "./answer.js";

export type Picture = "table" | "icicle" | "flame";

export interface Asked {
  question: Question;
  picture: Picture;
  /** Columns in order; those that nobody chose are left out where the run has nothing of them. */
  columns: Shown[];
  chosen: boolean;
  /** null: what the view itself sorts by. */
  sort: Shown | null;
  descending: boolean;
  find: string;
  /** The key of the chosen row, and of the one that fills a picture. */
  node: string;
  zoom: string;
  routine: string;
  allFrames: boolean;
}

const SHAPES: Shape[] = ["top-down", "bottom-up", "flat"];
const PICTURES: Picture[] = ["table", "icicle", "flame"];
const USUAL: Record<Shape, string> = {
  "top-down": "gpu,gpu:excl,cpu,api,ops",
  "bottom-up": "gpu:excl,gpu,cpu:excl,cpu,ops:excl",
  flat: "gpu,gpu:excl,cpu,cpu:excl,ops",
};
/** Rows below so many percent are left out at first. */
const LEAST: Record<Shape, number> = { "top-down": 0.1, "bottom-up": 0.1, flat: 0 };

function oneOf<T extends string>(text: string | undefined, all: readonly T[]): T {
  return all.find((one) => one === text) ?? all[0]!;
}

export function readAsked(options: Record<string, string>, metrics: readonly Metric[]): Asked {
  const shape = oneOf(options.shape, SHAPES), by = oneOf(options.by, groupings(shape)), derive = options.derive ?? "";
  const known = new Set([...metrics.map((metric) => metric.name), ...derivedNames(derive)]);
  const named = parseShown(options.columns ?? "").filter((column) => known.has(column.name));
  const usual = parseShown(USUAL[shape]).filter((column) => known.has(column.name));
  const derived: Shown[] = derivedNames(derive).map((name) => ({ name, side: "inclusive" }));
  const columns = named.length ? named : [...usual, ...derived];
  const derivedOnes = new Set(derivedNames(derive));
  const shares = columns.find((column) => !derivedOnes.has(column.name)) ?? { name: "gpu", side: "inclusive" };
  const sort = options.sort ? parseColumn(options.sort) : null;
  const least = Number(options.least ?? NaN);
  return {
    question: {
      shape,
      by,
      metrics: [...new Set([shares, ...columns].map((column) => column.name).filter((name) => !derivedOnes.has(name)))],
      derive,
      sort: { name: shares.name, side: shape === "bottom-up" ? "exclusive" : "inclusive" },
      least: least >= 0 && least <= 100 ? least : LEAST[shape],
    },
    picture: shape === "flat" ? "table" : oneOf(options.picture, PICTURES),
    columns,
    chosen: named.length > 0,
    sort: sort && columns.some((column) => sameColumn(column, sort)) ? sort : null,
    descending: options.order !== "asc",
    find: options.find ?? "",
    node: options.node ?? "",
    zoom: options.zoom ?? "",
    routine: options.routine ?? "",
    allFrames: options.frames === "all",
  };
}

/** Columns as they are shown: by kernel and object both sides are the same, and what the run has nothing of is left out. */
export function shownColumns(asked: Asked, answer: ProfileAnswer): Shown[] {
  const oneSide = answer.by === "kernel" || answer.by === "object", whole = answer.rows[0]?.inclusive ?? {};
  const sides = asked.columns.map((column): Shown => (oneSide ? { name: column.name, side: "inclusive" } : column));
  const once = sides.filter((column, at) => sides.findIndex((other) => sameColumn(other, column)) === at);
  const some = once.filter((column) => asked.chosen || whole[column.name] !== null);
  return some.length ? some : once;
}

/** What rows are sorted by: what was chosen, else the first column that the run has anything of. */
export function sortColumn(asked: Asked, columns: readonly Shown[], answer: ProfileAnswer): Shown {
  const whole = answer.rows[0]?.inclusive ?? {};
  const chosen = asked.sort && columns.find((column) => sameColumn(column, asked.sort!));
  return chosen || columns.find((column) => typeof whole[column.name] === "number" && (whole[column.name] as number) > 0) || columns[0]!;
}

/** The columns with one more or one less, for the address; "" where none is left: the usual ones. */
export function toggled(columns: readonly Shown[], column: Shown): string {
  const rest = columns.filter((other) => !sameColumn(other, column));
  return (rest.length < columns.length ? rest : [...columns, column]).map(formatColumn).join(",");
}
