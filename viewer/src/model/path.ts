/* path.ts - the critical path step by step (the request `path`): where an activity is on it, and what each part of the time is made of. */
import { toNumbers, type Columns } from "./columns.js";
import type { PathThing } from "./critical.js";

export interface PathHeader {
  process: number;
  from_ns: number;
  to_ns: number;
  limited: boolean;
  categories: string[];
  strings: string[];
  names: string[];
}

/** Times are on the axis of the run. */
export interface Steps {
  header: PathHeader;
  count: number;
  begin: Float64Array;
  end: Float64Array;
  node: ArrayLike<number>;
  label: ArrayLike<number>;
  category: ArrayLike<number>;
}

export function stepsOf({ header, columns }: Columns<PathHeader>): Steps {
  const begin = toNumbers(columns.begin_ns!), end = toNumbers(columns.end_ns!);
  return { header, count: begin.length, begin, end, node: toNumbers(columns.node!), label: toNumbers(columns.label!), category: toNumbers(columns.category!) };
}

/** Which steps are of an activity: of its category, and of its name where it has one. Names of kernels are without "void ". */
export function isOf(steps: Steps, thing: PathThing): (step: number) => boolean {
  const category = steps.header.categories.indexOf(thing.category), words = steps.header.names.map((name) => name.replace(/^void /, "") === thing.name);
  const named = words.some(Boolean);
  return (step) => steps.category[step] === category && (!named || words[steps.label[step]!]!);
}

/** The longest of the steps that are meant; -1: there is none. */
export function longestStep(steps: Steps, wanted: (step: number) => boolean): number {
  let best = -1;
  for (let i = 0; i < steps.count; i++)
    if (wanted(i) && (best < 0 || steps.end[i]! - steps.begin[i]! > steps.end[best]! - steps.begin[best]!)) best = i;
  return best;
}

/** For each of `bins` parts of a range and each category its time there, [bin * categories + category]; of the steps that are meant. */
export function binSteps(steps: Steps, from_ns: number, to_ns: number, bins: number, wanted: ((step: number) => boolean) | null): Float64Array {
  const categories = steps.header.categories.length, times = new Float64Array(bins * categories), width = (to_ns - from_ns) / bins;
  if (!(width > 0)) return times;
  for (let i = 0; i < steps.count; i++) {
    if (wanted && !wanted(i)) continue;
    const begin = Math.max(steps.begin[i]!, from_ns), end = Math.min(steps.end[i]!, to_ns);
    if (!(end > begin)) continue;
    const last = Math.min(Math.ceil((end - from_ns) / width), bins);
    for (let bin = Math.min(Math.floor((begin - from_ns) / width), bins - 1); bin < last; bin++) {
      const part = Math.min(end, from_ns + (bin + 1) * width) - Math.max(begin, from_ns + bin * width);
      if (part > 0) times[bin * categories + steps.category[i]!]! += part;
    }
  }
  return times;
}
