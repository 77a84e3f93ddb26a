/* long.test.tsx - what is shown of a trace that takes a while to read. */
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Requests } from "../src/model/requests.js";
import type { Run, Text, View } from "../src/model/types.js";
import { App } from "../src/views/app.jsx";
import { Costly } from "../src/views/timeline/costly.jsx";

let root: HTMLElement;
beforeEach(() => {
  location.hash = "";
  root = document.body.appendChild(document.createElement("div"));
});
afterEach(() => {
  render(null, root);
  root.remove();
});

async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await act(() => new Promise<void>((done) => setTimeout(done, 0)));
}

test("what reads many rows asks first, and again where there are more", async () => {
  const show = (rows: number) => act(() => render(<Costly rows={rows}><b>read</b></Costly>, root));
  await show(1e6);
  expect(root.textContent).toBe("read");
  await show(200e6);
  expect(root.querySelector("b")).toBe(null);
  const button = root.querySelector("button")!;
  expect(button.textContent).toBe("Read 200 million rows");
  await act(() => button.click());
  expect(root.textContent).toBe("read");
  await show(100e6);
  expect(root.textContent).toBe("read");
  await show(300e6);
  expect(root.querySelector("button")!.textContent).toBe("Read 300 million rows");
});

const view = (name: string): View => ({ name, summary: "", description: null, single: false, needs_operations: true, hidden: false, tables: [], options: [] });
const kernels: Text = {
  view: "kernels", notes: [],
  items: [{ kind: "table", gap: false, table: { name: "kernels", left_out: 0, left_out_view: null, columns: [{ name: null, shown: true, title: "Kernel", kind: "text", style: [], spare: 0, unit: null, definition: "", table: null, of: null }], rows: [{ cells: ["scale()"], values: [null] }] } }],
};

function run(rows: number): Run {
  const lane = { lane: 1, kind: "queue", title: "", name: null, tid: null, threads: null, device: null, context: null, out_of_order: false, traces: { operations: { rows, from_ns: 0, to_ns: 100 } } } as const;
  return { sonde: "0", path: "x.sonde", command: "./long", wall_begin_ns: 0, length_ns: 100, processes: [{
    process: 0, name: "", host: null, pid: 1, executable: null, rank: null, local_rank: null, ranks: null, traced: true, origin_ns: 0, begin_ns: 0, recorded_ns: 0, end_ns: 100,
    clock_bound_ns: null, pauses: [], devices: [], lanes: [lane] }] };
}

/** The answer to `text/summary` never comes. */
function requests(asked: string[]): Requests {
  return new Requests({
    async ask(text) {
      asked.push(text);
      if (text === "text/summary") return new Promise(() => undefined);
      const answer = text === "text/kernels?limit=10" ? kernels : text === "missing" ? { warnings: [], notes: [] } : { view: "", notes: [], items: [] };
      return { status: 200, type: "application/json", bytes: new TextEncoder().encode(JSON.stringify(answer)).buffer as ArrayBuffer };
    },
  });
}

test("the first page shows what the profile has while a long trace is read, and asks for no more of a short one", async () => {
  const asked: string[] = [];
  await act(() => render(<App requests={requests(asked)} run={run(200e6)} views={[view("summary"), view("kernels"), view("copies")]} />, root));
  await settled();
  expect(root.querySelector("h1")!.textContent).toBe("./long");
  expect(root.querySelector("main [role=status]")!.textContent).toBe("Reading 200 million rows of the trace, for what the devices waited for …");
  expect([...root.querySelectorAll("tbody td")].map((cell) => cell.textContent)).toEqual(["scale()"]);
  expect(asked).toContain("text/copies?limit=10");
  render(null, root);
  asked.length = 0;
  await act(() => render(<App requests={requests(asked)} run={run(1e6)} views={[view("summary"), view("kernels"), view("copies")]} />, root));
  await settled();
  expect(root.querySelector("main")!.textContent).toBe("Reading …");
  expect(asked.sort()).toEqual(["missing", "text/summary"]);
});
