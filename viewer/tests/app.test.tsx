/* app.test.tsx - the frame, the first page and the tables, over answers written by hand: what a reader sees, and what keys do. */
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { kindColour, KIND_NAMES } from "../src/draw/colours.js";
import { parseAddress } from "../src/model/address.js";
import { Requests } from "../src/model/requests.js";
import type { Column, Kind, Missing, Run, Text, TextItem, View } from "../src/model/types.js";
import { App } from "../src/views/app.jsx";
import { nextChoice } from "../src/views/theme.js";

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

/** Nothing is kept of what was asked before. */
function afresh(): Requests {
  return new Requests({
    async ask(text) {
      asked.push(text);
      const known = ANSWERS[text], error = { what: `no answer to ${text}`, where: null, why: null, hint: null, option: null, at: null, more: [] };
      return { status: known ? 200 : 404, type: "application/json", bytes: new TextEncoder().encode(JSON.stringify(known ?? { error })).buffer as ArrayBuffer };
    },
  });
}

beforeEach(async () => {
  HTMLDialogElement.prototype.showModal ??= function (this: HTMLDialogElement) { this.open = true; };
  location.hash = "";
  localStorage.clear();
  asked = [];
  root = document.body.appendChild(document.createElement("div"));
  await act(() => render(<App requests={afresh()} run={RUN} views={[view("kernels"), view("advice"), view("contexts", true), view("summary")]} />, root));
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

test("each click on the theme is seen, until it is the system's again", async () => {
  const button = root.querySelector<HTMLButtonElement>("[aria-label^=Colours]")!, seen: string[] = [];
  for (let i = 0; i < 3; i++) {
    await act(() => button.click());
    seen.push(`${document.documentElement.dataset.theme} ${localStorage.getItem("sonde-theme")}`);
  }
  expect(seen).toEqual(["dark dark", "light light", "light auto"]);
  expect((["auto", "light", "dark"] as const).map((choice) => nextChoice(choice, true))).toEqual(["light", "dark", "auto"]);
});

test("the colours of kinds follow the theme", async () => {
  const shown = () => KIND_NAMES.map((kind) => document.documentElement.style.getPropertyValue(`--kind-${kind}`));
  expect(shown()).toEqual(KIND_NAMES.map((kind) => kindColour(kind, { dark: false })));
  await act(() => root.querySelector<HTMLButtonElement>("[aria-label^=Colours]")!.click());
  expect(shown()).toEqual(KIND_NAMES.map((kind) => kindColour(kind, { dark: true })));
});

test("a page of the whole run says so where a range is chosen, and leads to what is of the range", async () => {
  const open = async (hash: string) => {
    location.hash = hash;
    await act(() => void dispatchEvent(new Event("hashchange")));
    await settled();
  };
  expect(texts(".whole-run")).toEqual([]);
  for (const range of ["from=10&to=40", "t0=10&t1=40"]) {
    await open(`#/summary?${range}&routine=k`);
    expect(texts(".whole-run span")[0]).toContain("of the whole run, not of the selected range, 30 ns from 10 ns");
    expect(all(".whole-run a").map((link) => parseAddress(link.getAttribute("href")!))).toEqual([
      { page: "timeline", options: { routine: "k", from: "10", to: "40", t0: "10", t1: "40", panel: "statistics" } },
      { page: "timeline", options: { routine: "k", from: "10", to: "40", t0: "10", t1: "40", panel: "blame" } },
      { page: "comm", options: { routine: "k", from: "10", to: "40" } },
      { page: "ranks", options: { routine: "k", from: "10", to: "40" } },
    ]);
  }
  await act(() => root.querySelector<HTMLButtonElement>(".whole-run button")!.click());
  expect(texts(".whole-run")).toEqual([]);
  expect(parseAddress(location.hash).options).toEqual({ routine: "k" });
  await open("#/tables?view=kernels&from=10&to=40");
  expect(texts(".whole-run")).toEqual([]);
  expect(texts(".view .row .quiet")[0]).toBe("Of the whole run: this view takes no range.");
});

test("what is wider than its place says so at each side, and takes the focus", async () => {
  const width = vi.spyOn(HTMLElement.prototype, "scrollWidth", "get").mockReturnValue(500);
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(200);
  await press("8");
  const frame = root.querySelector<HTMLElement>(".part-scroll")!, box = frame.querySelector<HTMLElement>(".part-table")!;
  const sides = () => [frame.dataset.left, frame.dataset.right, box.tabIndex];
  const to = (left: number) => act(() => {
    box.scrollLeft = left;
    box.dispatchEvent(new Event("scroll"));
  });
  expect(sides()).toEqual([undefined, "true", 0]);
  await to(100);
  expect(sides()).toEqual(["true", "true", 0]);
  await to(300);
  expect(sides()).toEqual(["true", undefined, 0]);
  width.mockReturnValue(200);
  await to(0);
  expect(sides()).toEqual([undefined, undefined, -1]);
  vi.restoreAllMocks();
});

const ADVICE: TextItem = {
  kind: "table", gap: true,
  table: { name: "advice", left_out: 0, left_out_view: null, columns: [column("Change", "text"), column("saves", "time"), column("of run", "share"), column("where", "text")], rows: [{ cells: ["Host code", "40 ns", "40.0 %", "build() heat.c:20"], values: [null, 40, 0.4, null] }] },
};

test("advice about host code opens the profile with what devices were idle for", async () => {
  const { items } = ANSWERS["text/summary"] as Text, frame = { name: "build", file: "heat.c", line: 20, module: null };
  const before = items.splice(2, items.length, ADVICE);
  const answers = {
    "view/advice?min-percent=1&limit=1": { advice: [{ rule: "host_code", title: "Host code", change: "make it faster", evidence: "it ran", saving_ns: 40, frames: [frame] }] },
    "find?text=build&limit=1000": { text: "build", left_out: 0, hits: [{ label: "build() heat.c", name: "build", kind: "native", contexts: 1, operations: 0, device_ns: 0, node: 7 }] },
  };
  Object.assign(ANSWERS, answers);
  await press("8");
  await act(() => render(null, root));
  location.hash = "";
  await act(() => render(<App requests={afresh()} run={RUN} views={[view("summary"), view("profile")]} />, root));
  await settled();
  const [look] = all(".card .links a"), [open] = all(".card .links button"), asked = { columns: "blame,blame:excl,cpu,api,gpu", sort: "blame" };
  expect(look!.textContent).toBe("Look at the profile");
  expect(parseAddress(look!.getAttribute("href")!)).toEqual({ page: "profile", options: asked });
  await act(() => open!.click());
  await settled();
  expect(parseAddress(location.hash)).toEqual({ page: "profile", options: { ...asked, routine: "build() heat.c", node: "7" } });
  items.splice(2, items.length, ...before);
  for (const name of Object.keys(answers)) delete ANSWERS[name];
});
