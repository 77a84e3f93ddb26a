/* summary.test.ts - what the first page puts side by side belongs together. */
import { expect, test } from "vitest";
import { cardsOf, deviceUses, kernelsOf, screenOf, SHOWN_ON, withStrips } from "../src/model/report/summary.js";
import { meanOver } from "../src/draw/strip.js";
import type { Advices, Column, Run, Summary, Text, TextItem, TextTable } from "../src/model/types.js";

const sentence = (tone: "plain" | "title" | "warning", text: string): TextItem => ({ kind: "sentence", gap: false, tone, head: null, text, command: null });
const column = (title: string): Column => ({ name: null, shown: true, title, kind: "text", style: [], spare: 0, unit: null, definition: null, table: null, of: null });
const table = (name: string, titles: string[], cells: string[][], values: (number | null)[][] = []): TextTable => ({
  name, columns: titles.map(column), rows: cells.map((row, i) => ({ cells: row, values: values[i] ?? row.map(() => null) })), left_out: 0, left_out_view: null,
});

test("the screen has a title, what is said first, and the rest in its order", () => {
  const of: TextItem = { kind: "table", gap: true, table: table("devices", [], []) };
  const text: Text = { view: "summary", notes: [], items: [sentence("warning", "w"), sentence("title", "t"), sentence("plain", "verdict"), of, sentence("plain", "ledger"), { kind: "others", gap: false, views: ["profile"] }] };
  const screen = screenOf(text);
  expect(screen.title?.text).toBe("t");
  expect(screen.lead.map((one) => one.text)).toEqual(["verdict"]);
  expect(screen.rest.map((one) => one.kind)).toEqual(["table", "sentence", "others"]);
});

const device = (process: string, number: number, wall: number | null, busy: number, idle: number): Summary["devices"][number] => ({
  process, device: number, name: null, wall_ns: wall, busy_ns: busy, kernel_ns: busy, copy_ns: 0, idle_ns: idle,
  idle_for: [{ kind: "waits", ns: idle, place: "f()", place_ns: idle, error_ns: 0, waited_ns: 0, waits_in: null }],
});

test("a strip is of the device whose row it stands in, whatever their order", () => {
  const summary: Summary = { verdict: null, kernels: [], devices: [device("h-2-1", 0, 100, 25, 75), device("h-1-1", 1, 100, 50, 50), device("h-1-1", 0, null, 0, 0)] };
  const run = { processes: [{ process: 0, name: "h-1-1" }, { process: 1, name: "h-2-1" }] } as Run;
  const rows = table("devices", ["Device", "busy"], [["2: 0", "25.0 %"], ["1: 1", "50.0 %"], ["1: 0", "-"]]);
  const overview = { to_ns: 10, pixels: 2, partial: false, read_rows: 0, devices: [{ process: 0, device: 0, name: "" }, { process: 0, device: 1, name: "" }, { process: 1, device: 0, name: "" }] };
  const uses = withStrips(deviceUses(rows, summary), summary, run, overview, [0, 65535, 13107, 0, 65535, 0]);
  expect(uses.map((use) => use.busy && [...use.busy])).toEqual([[1, 0], [0.2, 0], [0, 1]]);
  expect(uses[0]!.parts.map((part) => [part.kind, part.share])).toEqual([["busy", 0.25], ["waits", 0.75]]);
  expect(uses[2]!.parts).toEqual([]); /* unknown is no bar */
  expect(uses[1]!.cells).toEqual([{ title: "busy", definition: null, text: "50.0 %" }]);
});

test("a card says more only of the advice that it is", () => {
  const rows = table("advice", ["Advice", "saves up to", "% of run", "where"], [["host-bound", "7.05 ms", "51.8 %", "step()"], ["launch-bound", "6 ms", "44 %", "x"]], [[null, 7049457, 0.517, null], [null, 6e6, 0.44, null]]);
  const one = { rule: "host_code", title: "host-bound", change: "c", evidence: "e", process: "p", device: null, saving_ns: 7049457, error_ns: 0, frames: [] };
  const advices: Advices = { traced: true, rows: 1, rows_looked_at: 1, advice: [one, { ...one, title: "launch-bound", saving_ns: 5 }] };
  expect(cardsOf(rows, advices).map((card) => [card.title, card.saving, card.share, card.more?.rule ?? null])).toEqual([["host-bound", "7.05 ms", "51.8 %", "host_code"], ["launch-bound", "6 ms", "44 %", null]]);
  expect(SHOWN_ON[one.rule]).toBe("profile");
});

test("the mean of shares over a part of them", () => {
  const shares = Float64Array.from([1, 0, 0.5, 0.5]);
  expect(meanOver(shares, 0, 4)).toBeCloseTo(0.5);
  expect(meanOver(shares, 0.5, 1.5)).toBeCloseTo(0.5);
  expect(meanOver(shares, 1.25, 1.75)).toBe(0);
  expect(meanOver(shares, 2, 2)).toBe(0);
});

test("a kernel's label has its whole name, and the place of its source", () => {
  const rows = table("top_kernels", ["Kernel", "count"], [["sum<int>", "3"], ["set", "1"]], [[null, 3], [null, 1]]);
  rows.columns[1]!.kind = "count";
  const summary: Summary = { verdict: null, devices: [], kernels: [{ name: "void sum<int>(int*)", kind: "kernel", count: 3, total_ns: 1, source: { file: "/src/sum.cu", line: 7 } }, { name: "set", kind: "kernel", count: 2, total_ns: 1 }] };
  expect(kernelsOf(rows, summary)).toEqual([{ name: "void sum<int>(int*)", label: "kernel void sum<int>(int*) sum.cu:7" }, null]);
  expect(kernelsOf(rows, null)).toEqual([null, null]);
});
