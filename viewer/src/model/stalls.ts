/* stalls.ts - what `view/stalls` answers (docs/schema/stalls.json): where warps of kernels wait, and for what. */
import type { PathFrame } from "./critical.js";
import { formatCount, formatShare } from "./units.js";

export interface Reason {
  reason: string;
  samples: number;
  idle_samples: number;
}

/** Samples of a function, of one of its lines or of one of its instructions. */
export interface Sum {
  function: string | null;
  device: number | null;
  samples: number;
  share: number | null;
  issued_samples: number;
  idle_samples: number;
  reasons: Reason[];
  process: string;
}

export interface StallLine extends Sum {
  file: string | null;
  line: number | null;
}

export interface Instruction extends StallLine {
  offset: number;
  text: string | null;
}

export interface StallContext {
  function: string;
  operations: number;
  device_ns: number;
  samples: number;
  share: number | null;
  exact: boolean;
  node: number;
  frames: PathFrame[];
}

export interface Stalls {
  cycles: number | null;
  samples: number;
  elsewhere_samples: number;
  dropped_samples: number;
  lost_samples: number;
  issued_samples: number;
  reasons: (Reason & { meaning: string | null })[];
  functions: Sum[];
  lines: StallLine[];
  instructions: Instruction[];
  contexts: StallContext[];
}

/** What tells functions apart, in an address, too. */
export function functionKey(sum: Sum): string {
  return `${sum.process} ${sum.device ?? ""} ${sum.function ?? ""}`;
}

/** "void halo(float*)", and of several devices or processes whose. */
export function functionText(stalls: Stalls, sum: Sum): string {
  const several = stalls.functions.some((other) => other.device !== sum.device || other.process !== sum.process);
  return (sum.function ?? "unknown") + (several ? ` on ${sum.process}: ${sum.device ?? "unknown"}` : "");
}

/** "halo.cu:6"; a line that is not known stands as such. */
export function placeText(row: StallLine): string {
  return row.file === null ? "no line" : `${row.file.slice(row.file.lastIndexOf("/") + 1)}:${row.line ?? "?"}`;
}

/** "+ 0x1f0". */
export function offsetText(row: Instruction): string {
  return `+ 0x${row.offset.toString(16)}`;
}

export interface Part {
  /** null: the warp went on. */
  reason: string | null;
  samples: number;
}

/** What the samples of a sum are: those that went on, then reasons by their rank in all code, so that a colour is in the same place in every bar. */
export function partsOf(sum: { issued_samples: number; reasons: Reason[] }, ranks: ReadonlyMap<string, number>): Part[] {
  const waits = sum.reasons.map(({ reason, samples }) => ({ reason, samples })).sort((a, b) => (ranks.get(a.reason) ?? ranks.size) - (ranks.get(b.reason) ?? ranks.size));
  return [{ reason: null, samples: sum.issued_samples }, ...waits].filter((part) => part.samples > 0);
}

export function ranksOf(stalls: Stalls): Map<string, number> {
  return new Map(stalls.reasons.map(({ reason }, i) => [reason, i]));
}

/** "long_scoreboard 89.1 %"; nothing where no warp waited. */
export function waitText(sum: Sum): string {
  const [most] = sum.reasons;
  return most && sum.samples > 0 ? `${most.reason} ${formatShare(most.samples / sum.samples)}` : "";
}

/** Of the lines of a file: how long their bars are, and what is said of them. */
export function marksOf(stalls: Stalls, chosen: Sum, file: string): Map<number, { share: number; text: string }> {
  const marks = new Map<number, { share: number; text: string }>(), key = functionKey(chosen);
  for (const row of stalls.lines) {
    if (row.file !== file || row.line === null || functionKey(row) !== key) continue;
    const share = chosen.samples > 0 ? row.samples / chosen.samples : 0;
    marks.set(row.line, { share, text: [`${formatCount(row.samples)} samples, ${formatShare(share)} of the function's`, ...row.reasons.slice(0, 4).map((r) => `${r.reason}: ${formatShare(r.samples / row.samples)}`)].join("\n") });
  }
  return marks;
}
