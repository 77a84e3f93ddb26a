/* app.test.tsx - the frame, the first page and the tables, over answers written by hand: what a reader sees, and what keys do. */
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { parseAddress } from "../src/model/address.js";
import { Requests } from "../src/model/requests.js";
import type { Column, Kind, Missing, Run, Text, TextItem, View } from "../src/model/types.js";
import { App } from "../src/views/app.jsx";

const MARKUP = '<script>alert("1")</script><img src=x onerror=alert(2)>';

const column = (title: string | null, kind: Kind, definition: string | null = null): Column => ({ name: null, shown: true, title, kind, style: [], spare: 0, unit: null, definition });
const sentence = (tone: "plain" | "title" | "warning" | "error", text: string, command: string | null = null): TextItem => ({ kind: "sentence", gap: false, tone, head: null, text, command });
const KERNELS: TextItem = {
  kind: "table", gap: true,
  table: {
    name: "kernels", left_out: 2, left_out_view: null,
    columns: [column("Kernel", "text"), column("total", "time", "sum of the durations"), column("share", "share")],
    rows: [{ cells: [MARKUP, "900 µs", "47.4 %"], values: [null, 9e5, 0.474] }, { cells: ["second", "1.00 ms", "52.6 %"], values: [null, 1e6, 0.526] }],
  },
};
const DEVICES: TextItem = {
  kind: "table", gap: true,
  table: { name: "devices", left_out: 0, left_out_view: null, columns: [column("Device", "text"), column("busy", "share", "share of the wall time")], rows: [{ cells: ["0 GPU", "25.0 %"], values: [null, 0.25] }] },
};
const view = (name: string, hidden = false): View => ({
  name, summary: `what ${name} shows`, description: null, single: false, needs_operations: true, hidden, tables: [],
  options: [{ name: "limit", type: "integer", argument: "N", low: 0, high: 10, choices: [], help: "how many" }, { name: "bottom-up", type: "flag", argument: null, low: null, high: null, choices: [], help: "upside down" }],
});
const ANSWERS: Record<string, unknown> = {
  missing: { warnings: ["warning: 3 operations are missing"], notes: [{ kind: "clock", text: "the clock is wrong" }] } satisfies Missing,
  "text/summary": { view: "summary", notes: [{ kind: "clock", text: "the clock is wrong" }], items: [sentence("warning", "warning: 3 operations are missing"), sentence("title", " · 1 process"), sentence("plain", "The device was busy."), DEVICES, sentence("plain", "advice is not computed here", "advice"), { kind: "others", gap: false, views: ["kernels"] }] } satisfies Text,
  "view/summary?limit=1": { verdict: null, kernels: [], devices: [{ process: "h-1-1", device: 0, name: "GPU", wall_ns: 100, busy_ns: 25, kernel_ns: 25, copy_ns: 0, idle_ns: 75, idle_for: null }] },
  "text/kernels": { view: "kernels", notes: [], items: [KERNELS] } satisfies Text,
  "text/kernels?limit=0": { view: "kernels", notes: [], items: [] } satisfies Text,
  "text/advice": { view: "advice", notes: [], items: [sentence("plain", "1. host-bound")] } satisfies Text,
  "find?text=sec": { text: "sec", left_out: 0, hits: [{ label: "kernel second", name: "second", kind: "operation", contexts: 1, operations: 4, device_ns: 1e6, node: 9 }] },
};
const RUN: Run = { sonde: "0", path: "x.sonde", command: MARKUP, wall_begin_ns: 0, length_ns: 100, processes: [] };

let root: HTMLElement, asked: string[];

beforeEach(async () => {
  HTMLDialogElement.prototype.showModal ??= function (this: HTMLDialogElement) { this.open = true; };
  location.hash = "";
  localStorage.clear();
  asked = [];
  root = document.body.appendChild(document.createElement("div"));
  const requests = new Requests({
    async ask(text) {
      asked.push(text);
      const known = ANSWERS[text], error = { what: `no answer to ${text}`, where: null, why: null, hint: null, option: null, at: null, more: [] };
      return { status: known ? 200 : 404, type: "application/json", bytes: new TextEncoder().encode(JSON.stringify(known ?? { error })).buffer as ArrayBuffer };
    },
  });
  await act(() => render(<App requests={requests} run={RUN} views={[view("kernels"), view("advice"), view("contexts", true), view("summary")]} />, root));
  await settled();
});

afterEach(() => {
  render(null, root);
  root.remove();
});

async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await act(() => new Promise<void>((done) => setTimeout(done, 0)));
}

async function press(key: string, on: EventTarget = window): Promise<void> {
  await act(() => void on.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true })));
  await settled();
}

const all = (selector: string) => [...root.querySelectorAll<HTMLElement>(selector)];
const texts = (selector: string) => all(selector).map((one) => one.textContent);

test("the first page says what the report says, and above it what is missing", () => {
  expect(texts(".banner p")).toEqual(["warning: 3 operations are missing"]);
  expect(texts(".banner li")).toEqual(["clock the clock is wrong"]);
  expect(texts(".lead")).toEqual(["The device was busy."]);
  expect(texts(".device dd")).toEqual(["25.0 %"]);
  expect(all(".device .part-bar > span").map((one) => [one.className, one.style.width])).toEqual([["kind-busy", "25%"], ["kind-unknown", "75%"]]);
  expect(all(".device [data-tip]").some((one) => one.dataset.tip === "share of the wall time")).toBe(true);
  expect(root.querySelector<HTMLAnchorElement>(".sentence a")!.getAttribute("href")).toBe("#/tables?view=advice");
  expect(texts("main .failure")).toEqual(["no answer to overview?pixels=1200"]); /* in its place; the rest is there */
});

test("names are text", async () => {
  expect(root.querySelector(".program")!.textContent).toBe(MARKUP);
  location.hash = "#/tables?view=kernels";
  await act(() => void dispatchEvent(new Event("hashchange")));
  await settled();
  expect(texts("tbody td:first-child")).toEqual([MARKUP, "second"]);
  expect(root.querySelectorAll("script, img, [onerror]").length).toBe(0);
});

test("a number opens a page; a view is chosen, sorted, and filtered in the address", async () => {
  await press("8");
  expect(parseAddress(location.hash).page).toBe("tables");
  expect(texts(".views a")).toEqual(["kernels", "advice", "summary"]); /* hidden ones are not listed */
  const [, total] = all("thead button");
  expect(total!.dataset.tip).toBe("sum of the durations");
  await act(() => total!.click());
  expect(texts("tbody td:first-child")).toEqual(["second", MARKUP]);
  expect(root.querySelector("th[aria-sort]")!.getAttribute("aria-sort")).toBe("descending");
  expect(parseAddress(location.hash).options).toEqual({ "order.kernels": "0:1:desc" });
  const filter = root.querySelector<HTMLInputElement>(".filter")!;
  filter.value = "SCRIPT";
  await act(() => void filter.dispatchEvent(new Event("input", { bubbles: true })));
  expect(texts("tbody td:first-child")).toEqual([MARKUP]);
  expect(texts(".one a")).toEqual(["2 more rows: show all"]);
});

test("options of a view are asked for, and an error stands beside them", async () => {
  await press("8");
  const limit = root.querySelector<HTMLInputElement>(".options input[type=number]")!;
  limit.value = "0";
  await act(() => void limit.dispatchEvent(new Event("change", { bubbles: true })));
  await settled();
  expect(asked).toContain("text/kernels?limit=0");
  expect(root.querySelector(".same")!.textContent).toBe("sonde report DIR kernels --limit 0");
  await act(() => root.querySelector<HTMLInputElement>(".options input[type=checkbox]")!.click());
  await settled();
  expect(asked).toContain("text/kernels?limit=0&bottom-up");
  expect(texts(".view .failure")).toEqual(["no answer to text/kernels?limit=0&bottom-up"]);
});

test("what was set on a page is there again when it is opened again", async () => {
  await press("8");
  await act(() => all("thead button")[1]!.click());
  await press("1");
  expect(location.hash).toBe("#/summary");
  await press("8");
  expect(parseAddress(location.hash).options).toEqual({ "order.kernels": "0:1:desc" });
});

test("search by keyboard alone", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  await act(() => void dispatchEvent(new KeyboardEvent("keydown", { key: "/", cancelable: true })));
  const box = root.querySelector<HTMLInputElement>(".search input")!;
  expect(document.activeElement).toBe(box);
  box.value = "sec";
  await act(() => void box.dispatchEvent(new Event("input", { bubbles: true })));
  await act(() => void vi.advanceTimersByTime(1000));
  vi.useRealTimers();
  await settled();
  expect(texts("[role=option]")).toEqual(["operationkernel second1 call path4 operations1.00 ms"]);
  await press("Enter", box);
  expect(parseAddress(location.hash).options.routine).toBe("kernel second");
  expect(root.querySelector(".highlighted")!.textContent).toBe("kernel second×");
  await press("1");
  expect(parseAddress(location.hash).options).toEqual({ routine: "kernel second" }); /* goes along */
});

test("keys in a text box are text, and ? lists the keys", async () => {
  const box = root.querySelector<HTMLInputElement>(".search input")!;
  await press("7", box);
  expect(location.hash).toBe("");
  await press("?");
  expect(texts(".help kbd")).toEqual(expect.arrayContaining(["1", "7", "/", "?"]));
});

test("the theme is as chosen, and kept", async () => {
  const button = root.querySelector<HTMLButtonElement>("[aria-label^=Colours]")!;
  await act(() => button.click());
  await act(() => button.click());
  expect(document.documentElement.dataset.theme).toBe("dark");
  expect(localStorage.getItem("sonde-theme")).toBe("dark");
});
