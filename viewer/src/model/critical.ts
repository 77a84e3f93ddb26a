/* critical.ts - what `view/critical` answers (docs/schema/critical.json), and what follows from it without computing anything anew. */
import type { View } from "./types.js";

export interface PathFrame {
  name: string | null;
  file: string | null;
  line: number | null;
  module: string | null;
}

export interface PathThing {
  ns: number;
  steps: number;
  delay_ns: number | null;
  category: string;
  name: string;
  operation: string | null;
  file: string | null;
  module: string | null;
  error_ns: number;
  inferred_ns: number;
  behind_inferred_ns: number;
  half_ns: number;
  saving_ns: number | null;
  most_rank: number | null;
  most_ns: number | null;
}

/** How much of the path through all ranks lies in a process. */
export interface PathStay {
  process: string;
  rank: number | null;
  ns: number;
  count: number;
  composition: Record<string, number>;
}

export interface PathPlace {
  ns: number;
  category: string;
  error_ns: number;
  pooled_ns: number;
  inferred_ns: number;
  steps: number;
  frames: PathFrame[];
}

export interface CriticalPath {
  /** null: the path through all ranks. */
  process: string | null;
  length_ns: number;
  begin_ns: number;
  end_ns: number;
  tail_ns: number;
  limited: boolean;
  dropped: boolean;
  sampled: boolean;
  waits_recorded: number;
  waits_inferred: number;
  composition: Record<string, { ns: number; steps: number }>;
  things: PathThing[];
  contexts: PathPlace[];
  stays: PathStay[];
  rank: number | null;
}

/** A part of the composition, as the bar shows it. */
export interface Part {
  category: string;
  ns: number;
  steps: number;
  share: number;
}

/** What the path is made of, in the view's order; what it has nothing of is left out. */
export function partsOf(path: CriticalPath): Part[] {
  return Object.entries(path.composition)
    .filter(([, part]) => part.steps > 0 || part.ns > 0)
    .map(([category, { ns, steps }]) => ({ category, ns, steps, share: path.length_ns > 0 ? ns / path.length_ns : 0 }));
}

/** What a category is, from the view's descriptors. */
export function categoryMeaning(view: View | undefined, category: string): string {
  const columns = view?.tables.find((table) => table.name === "composition")?.columns ?? [];
  return columns.find((column) => column.name === category)?.definition ?? "";
}

const WORDS: Record<string, string> = {
  host: "host code", off_cpu: "off the CPU", api: "API calls", launch: "launch delay", gap: "gap between operations", kernel: "kernels",
  copy: "copies", set: "fills", order: "markers and barriers", unknown: "unknown", start_up: "start-up", paused: "recording off", message: "MPI",
};

/** "host code". */
export function categoryText(category: string): string {
  return WORDS[category] ?? category;
}

/** The report's answer to "what if all of it were twice as fast"; null: it was not evaluated, and half of its time is the most. */
export interface Saving {
  saved_ns: number;
  evaluated: boolean;
  /** The saving reaches the end of the run over an inferred step, mostly. */
  inferred: boolean;
  length_ns: number;
}

export function savingOf(path: CriticalPath, thing: PathThing): Saving {
  const saved = thing.saving_ns ?? thing.half_ns;
  return {
    saved_ns: saved,
    evaluated: thing.saving_ns !== null,
    inferred: thing.saving_ns !== null && thing.saving_ns > 0 && thing.behind_inferred_ns * 2 > thing.ns,
    length_ns: path.length_ns - saved,
  };
}

/** What names a path in the address. */
export function pathKey(path: CriticalPath): string {
  return path.process ?? "all";
}

/** "rank 3, node-17". */
export function pathName(path: { process: string | null; rank: number | null }): string {
  if (path.process === null) return "all ranks";
  return path.rank === null ? path.process : `rank ${path.rank}, ${path.process}`;
}

/** What names one activity of a path in the address: a category and a name. */
export function thingKey(thing: PathThing): string {
  return [thing.category, thing.operation ?? "", thing.name, thing.file ?? thing.module ?? ""].join("|");
}

export function frameText(frame: PathFrame): string {
  const place = frame.file === null ? (frame.module === null ? "" : frame.module.slice(frame.module.lastIndexOf("/") + 1)) : `${frame.file.slice(frame.file.lastIndexOf("/") + 1)}${frame.line === null ? "" : `:${frame.line}`}`;
  return [frame.name ?? "unknown code", place].filter((word) => word !== "").join(" ");
}
