import { expect, test } from "vitest";
import { aboutRows, commandAgain, rowsWithin } from "../src/model/run.js";
import type { Extent, Lane, Run } from "../src/model/types.js";

const lane = (traces: Record<string, Extent>): Lane => ({ lane: 1, kind: "queue", title: "", name: null, tid: null, threads: null, device: null, context: null, out_of_order: false, traces });
const process = (origin: number, ...lanes: Lane[]): Run["processes"][number] => ({
  process: 0, name: "", host: null, pid: 1, executable: null, rank: null, local_rank: null, ranks: null, traced: true, origin_ns: origin, begin_ns: origin, recorded_ns: origin,
  end_ns: origin + 1000, clock_bound_ns: null, pauses: [], devices: [], lanes,
});
const run: Run = {
  sonde: "0", path: "", command: null, wall_begin_ns: 0, length_ns: 1000,
  processes: [process(5000, lane({ operations: { rows: 100, from_ns: 5000, to_ns: 6000 }, samples: { rows: 10, from_ns: 5500, to_ns: 5600 } })), process(0, lane({ calls: { rows: 1, from_ns: 300, to_ns: 300 } }))],
};

test("rows of a window are those of each lane that lie in it", () => {
  expect(rowsWithin(run)).toBe(111);
  expect(rowsWithin(run, { from: 0, to: 1000 })).toBe(111);
  expect(rowsWithin(run, { from: 0, to: 100 })).toBeCloseTo(10);
  expect(rowsWithin(run, { from: 550, to: 1000 })).toBeCloseTo(45 + 5);
  expect(rowsWithin(run, { from: 300, to: 301 })).toBeCloseTo(0.1 + 1);
  expect(rowsWithin(run, { from: 2000, to: 3000 })).toBe(0);
});

test("an estimate says no more than it knows", () => {
  expect(aboutRows(200198384)).toBe("200 million rows");
  expect(aboutRows(21_400_000)).toBe("21 million rows");
  expect(aboutRows(4_321_000)).toBe("4.3 million rows");
  expect(aboutRows(12_345)).toBe("12,000 rows");
});

test("a command is said as it can be given again", () => {
  const of = (command: string | null, ...executables: (string | null)[]) => commandAgain({ ...run, command, processes: executables.map((executable) => ({ ...run.processes[0]!, executable })) });
  expect(of("heat 96 30", null, "/opt/bin/heat")).toBe("/opt/bin/heat 96 30");
  expect(of("heat", "/opt/bin/heat")).toBe("/opt/bin/heat");
  expect(of("heater 96", "/opt/bin/heat")).toBe("heater 96");
  expect(of("python3 x.py", "/usr/bin/python3.11")).toBe("python3 x.py");
  expect(of("a b", "/my programs/a")).toBe("a b"); /* quoting is the shell's */
  expect(of(null, "/opt/bin/heat")).toBe("PROGRAM");
});
