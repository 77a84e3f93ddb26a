/* run.ts - the answer of `run` as pages use it: where no process has times, the axis of the run has no length. One that has some is never 0 long. */
import type { Window } from "./timeline/window.js";
import type { Process, Run } from "./types.js";

export type RunAnswer = Omit<Run, "length_ns" | "processes"> & {
  length_ns: number | null;
  processes: (Omit<Process, "origin_ns"> & { origin_ns: number | null })[];
};

export function runOf(answer: RunAnswer): Run {
  return { ...answer, length_ns: answer.length_ns ?? 0, processes: answer.processes.map((process) => ({ ...process, origin_ns: process.origin_ns ?? 0 })) };
}

/** The command line as it can be given again: the program with its folder, where that is known. */
export function commandAgain(run: Run): string {
  const command = run.command ?? "PROGRAM";
  for (const { executable } of run.processes) {
    const name = executable?.slice(executable.lastIndexOf("/") + 1);
    if (name && executable !== name && (command === name || command.startsWith(`${name} `)) && /^[\w./+@:-]+$/.test(executable!)) return executable + command.slice(name.length);
  }
  return command;
}

/** What takes a second or two to read: so much is read without being asked for. */
export const ROWS_AT_ONCE = 20e6;

/** About how many rows of the trace lie in the window: as if those of a lane were equally far apart. */
export function rowsWithin(run: Run, { from, to }: Window = { from: 0, to: Infinity }): number {
  let rows = 0;
  for (const process of run.processes)
    for (const lane of process.lanes)
      for (const extent of Object.values(lane.traces)) {
        const begin = extent.from_ns - process.origin_ns, end = Math.max(extent.to_ns - process.origin_ns, begin + 1);
        rows += extent.rows * Math.max(0, (Math.min(end, to) - Math.max(begin, from)) / (end - begin));
      }
  return rows;
}

/** 200 million, 4.3 million: an estimate, in words. */
export function aboutRows(rows: number): string {
  return rows < 1e6 ? `${Number(rows.toPrecision(2)).toLocaleString("en-US")} rows` : `${Number((rows / 1e6).toPrecision(2)).toLocaleString("en-US")} million rows`;
}
