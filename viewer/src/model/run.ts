/* run.ts - the answer of `run` as pages use it: where no process has times, the axis of the run has no length. One that has some is never 0 long. */
import type { Process, Run } from "./types.js";

export type RunAnswer = Omit<Run, "length_ns" | "processes"> & {
  length_ns: number | null;
  processes: (Omit<Process, "origin_ns"> & { origin_ns: number | null })[];
};

export function runOf(answer: RunAnswer): Run {
  return { ...answer, length_ns: answer.length_ns ?? 0, processes: answer.processes.map((process) => ({ ...process, origin_ns: process.origin_ns ?? 0 })) };
}
