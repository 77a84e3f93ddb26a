/* profile.page.test.tsx - the page Profile as a reader uses it: keys, buttons, the address. */
import { render } from "preact";
import { useState } from "preact/hooks";
import { act } from "preact/test-utils";
import { afterEach, describe, expect, it } from "vitest";
import { changed, type Address } from "../src/model/address.js";
import type { ProfileAnswer } from "../src/model/profile/answer.js";
import { Requests } from "../src/model/requests.js";
import type { Run, View } from "../src/model/types.js";
import type { Transport } from "../src/transport/transport.js";
import { SharedContext } from "../src/views/context.js";
import { ProfilePage } from "../src/views/profile/profile.jsx";

const figure = (name: string) => ({ name, shown: false, title: name, kind: "figure" as const, style: [], spare: 0, unit: name === "ops" ? "count" : "ns", definition: `what ${name} is` });
const VIEWS: View[] = [{ name: "profile", summary: "", description: "", single: true, needs_operations: true, hidden: false, options: [], tables: [{ name: "figures", columns: ["gpu", "ops", "cpu", "api"].map(figure) }] }];

/* all > main() > step() > kernel, and main() > <script>; step() and the kernel have most */
function answer(): ProfileAnswer {
  const row = (at: number, parent: number | null, label: string, gpu: number, own: number, more = {}) => ({
    row: at, parent, depth: parent === null ? 0 : parent + 1, node: at * 10, label, kind: at ? "native" : "none", name: at ? label : null, file: null, line: null, module: null, code: at ? ("user" as const) : null,
    inclusive: { gpu, ops: at, cpu: null, api: 5 }, exclusive: { gpu: own, ops: 0, cpu: null, api: 0 }, ...more,
  });
  return {
    shape: "top-down", by: "line", sort: { column: "gpu", side: "inclusive" }, left_out: 0,
    columns: ["gpu", "cpu", "api", "ops"].map((name) => ({ name, unit: name === "ops" ? "count" : "ns", formula: null })),
    rows: [row(0, null, "all", 1000, 0), row(1, 0, "main() a.c:1", 1000, 0, { file: "/src/a.c", line: 1 }), row(2, 1, "step() a.c:2", 900, 0, { file: "/src/a.c", line: 2 }), row(3, 2, "kernel k", 900, 900, { kind: "operation", code: null }), row(4, 1, "<script>alert(1)</script>", 100, 100)],
  };
}

class Fake implements Transport {
  asked: string[] = [];
  ask(request: string) {
    this.asked.push(request);
    const value = request.startsWith("view/profile") ? answer() : { file: "/src/a.c", line: 2, first: 1, lines: ["<b>one</b>", "two", "three"], changed: true };
    return Promise.resolve({ status: 200, type: "application/json", bytes: new TextEncoder().encode(JSON.stringify(value)).buffer as ArrayBuffer });
  }
}

let root: HTMLElement | null = null;
afterEach(() => {
  if (root) render(null, root);
  root?.remove();
});

async function settle(): Promise<void> {
  for (let i = 0; i < 4; i++) await act(() => new Promise<void>((done) => setTimeout(done, 5)));
}

async function open(options: Record<string, string> = {}): Promise<{ fake: Fake; address: () => Address }> {
  const fake = new Fake(), requests = new Requests(fake);
  let now: Address = { page: "profile", options };
  root = document.createElement("div");
  document.body.append(root);
  function Page() {
    const [address, setAddress] = useState(now);
    const go = (changes: Record<string, string | number | null>) => setAddress((now = changed(now, changes)));
    return (
      <SharedContext.Provider value={{ requests, run: {} as Run, views: VIEWS, theme: { dark: false }, address, go }}>
        <ProfilePage />
      </SharedContext.Provider>
    );
  }
  act(() => render(<Page />, root!));
  await settle();
  return { fake, address: () => now };
}

const grid = () => root!.querySelector<HTMLElement>('[role="treegrid"]')!;
const names = () => [...root!.querySelectorAll(".tree-name")].map((name) => name.textContent);
const rowOf = (label: string) => [...root!.querySelectorAll<HTMLElement>(".tree-row")].find((row) => row.querySelector(".tree-name")?.textContent === label)!;

async function press(key: string): Promise<void> {
  act(() => void grid().dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true })));
  await settle();
}

async function click(element: Element): Promise<void> {
  act(() => void element.dispatchEvent(new MouseEvent("click", { bubbles: true })));
  await settle();
}

describe("the page", () => {
  it("opens and closes rows by arrows, as a tree grid does", async () => {
    const { address } = await open();
    expect(names()).toEqual(["all", "main() a.c:1", "step() a.c:2", "<script>alert(1)</script>"]);
    expect(grid().getAttribute("aria-rowcount")).toBe("5");
    await press("ArrowDown");
    expect(address().options.node).toBe("10");
    expect(rowOf("main() a.c:1").getAttribute("aria-expanded")).toBe("true");
    await press("ArrowLeft");
    expect(names()).toEqual(["all", "main() a.c:1"]);
    expect(rowOf("main() a.c:1").getAttribute("aria-expanded")).toBe("false");
    await press("ArrowRight");
    expect(names()).toEqual(["all", "main() a.c:1", "step() a.c:2", "<script>alert(1)</script>"]);
    expect(rowOf("main() a.c:1").getAttribute("aria-expanded")).toBe("true");
    await press("ArrowRight");
    expect(address().options.node).toBe("20");
    await press("End");
    expect(address().options.node).toBe("40");
    expect(rowOf("<script>alert(1)</script>").getAttribute("aria-expanded")).toBeNull();
    expect(["aria-level", "aria-posinset", "aria-setsize"].map((name) => rowOf("<script>alert(1)</script>").getAttribute(name))).toEqual(["3", "2", "2"]);
    await press("ArrowLeft");
    expect(address().options.node).toBe("10");
    await press("ArrowLeft");
    expect(names()).toEqual(["all", "main() a.c:1"]);
    expect(grid().getAttribute("aria-activedescendant")).toBe("line-1");
  });

  it("shows names as text", async () => {
    await open({ node: "40" });
    expect(names()).toContain("<script>alert(1)</script>");
    expect(root!.querySelector("script")).toBeNull();
  });

  it("follows the hot path, and shows the source of the caller", async () => {
    const { address, fake } = await open();
    await click([...root!.querySelectorAll("button")].find((button) => button.textContent === "Hot path")!);
    expect(address().options.node).toBe("30");
    expect(names()).toContain("kernel k");
    expect(fake.asked).toContain("source?file=%2Fsrc%2Fa.c&line=2&around=7");
    expect(root!.querySelector(".source-line.this")!.textContent).toBe("2two\n");
    expect(root!.querySelector(".source-box")!.textContent).toContain("changed after the run");
    expect([...root!.querySelectorAll(".frame-path button")].map((button) => button.textContent)).toEqual(["kernel k", "step() a.c:2", "main() a.c:1"]);
    await click(root!.querySelectorAll(".frame-path button")[2]!);
    expect(address().options.node).toBe("10");
  });

  it("opens what leads to the row of the address", async () => {
    await open({ node: "30" });
    expect(rowOf("kernel k").getAttribute("aria-selected")).toBe("true");
  });

  it("sorts by a click, and back by another", async () => {
    const { address } = await open({ node: "20" });
    const head = () => [...root!.querySelectorAll<HTMLElement>('[role="columnheader"] button')].find((button) => button.textContent!.startsWith("gpu") && !button.textContent!.includes("excl"))!;
    expect(head().title).toContain("what gpu is");
    expect(head().parentElement!.getAttribute("aria-sort")).toBe("descending");
    expect(names().slice(2)).toEqual(["step() a.c:2", "<script>alert(1)</script>"]);
    await click(head());
    expect(address().options).toMatchObject({ sort: "gpu", order: "asc" });
    expect(names().slice(2)).toEqual(["<script>alert(1)</script>", "step() a.c:2"]);
    expect(head().parentElement!.getAttribute("aria-sort")).toBe("ascending");
  });

  it("filters, and asks again for other columns alone", async () => {
    const { fake, address } = await open({ find: "kernel" });
    expect(names()).toEqual(["all", "main() a.c:1", "step() a.c:2", "kernel k"]);
    expect(root!.querySelector('[role="status"]')!.textContent).toBe("1 found");
    const before = fake.asked.filter((asked) => asked.startsWith("view/profile")).length;
    const box = (label: string) => root!.querySelector<HTMLInputElement>(`input[aria-label^="${label}:"]`)!;
    expect(box("cpu").checked).toBe(false); /* the run has nothing of it */
    act(() => box("gpu:excl").click());
    await settle();
    expect(address().options.columns).toBe("gpu,api,ops");
    expect(fake.asked.filter((asked) => asked.startsWith("view/profile")).length).toBe(before + 1);
  });
});
