/* summary.tsx - the first page: the report's first screen with pictures. Every figure on it is one that an answer holds. */
import { useMemo } from "preact/hooks";
import { changed, formatAddress, moved } from "../../model/address.js";
import { toNumbers } from "../../model/columns.js";
import { request } from "../../model/requests.js";
import { aboutRows, ROWS_AT_ONCE, rowsWithin } from "../../model/run.js";
import { cardsOf, deviceUses, screenOf, withStrips } from "../../model/report/summary.js";
import type { Advices, Overview, Summary, Text, TextItem, TextTable, View } from "../../model/types.js";
import { useLoaded, useShared } from "../context.js";
import { Failure } from "../failure.jsx";
import { Cut } from "../parts/cut.jsx";
import { Reading } from "../parts/empty.jsx";
import { Table } from "../parts/table.jsx";
import { LeftOut, Others, SentenceLine } from "../tables/items.jsx";
import { AdviceCards } from "./advice.jsx";
import { Devices, RunBar } from "./devices.jsx";
import { IdleList } from "./idle.jsx";
import { Operations } from "./operations.jsx";
import "./summary.css";

const PIXELS = 1200;

export function SummaryPage() {
  const { requests, run, views } = useShared(), asked = request("text", "summary");
  const text = useLoaded(asked, () => requests.json<Text>(asked)), view = views.find((one) => one.name === "summary");
  if (text.state === "loading") return rowsWithin(run) > ROWS_AT_ONCE ? <Meanwhile /> : <Reading />;
  if (text.state === "failed")
    return (
      <div class="summary">
        <h1>
          <Cut text={run.command ?? run.path} />
        </h1>
        <Failure error={text.error} />
        <Others views={views.filter((one) => !one.hidden && !one.needs_operations).map((one) => one.name)} />
      </div>
    );
  return <Screenful text={text.value} view={view!} />;
}

/** What is known without the trace, which is long. */
function Meanwhile() {
  const { run } = useShared();
  return (
    <div class="summary">
      <h1>
        <Cut text={run.command ?? run.path} />
      </h1>
      <p class="quiet" role="status">
        Reading {aboutRows(rowsWithin(run))} of the trace, for what the devices waited for …
      </p>
      {["kernels", "copies"].map((name) => (
        <Known key={name} name={name} />
      ))}
    </div>
  );
}

const KNOWN_ROWS = 10;

function Known({ name }: { name: string }) {
  const { requests, views } = useShared(), asked = request("text", name, { limit: KNOWN_ROWS });
  const text = useLoaded(asked, () => requests.json<Text>(asked)), view = views.find((one) => one.name === name);
  if (text.state !== "ready" || !view) return null;
  return (
    <>
      {text.value.items.map((item, i) => item.kind === "table" && item.table.rows.length > 0 && <TablePart key={i} table={item.table} view={view} />)}
    </>
  );
}

function TablePart({ table, view }: { table: TextTable; view: View }) {
  return (
    <section>
      <Table table={table} caption={table.name.replaceAll("_", " ")} />
      <LeftOut table={table} view={view} />
    </section>
  );
}

function Screenful({ text, view }: { text: Text; view: View }) {
  const { requests } = useShared(), screen = useMemo(() => screenOf(text), [text]);
  const asked = request("view", "summary", { limit: rowsIn(text) });
  const summary = useLoaded(asked, () => requests.json<Summary>(asked)), value = summary.state === "ready" ? summary.value : null;
  return (
    <div class="summary">
      {screen.title && (
        <h1>
          <Cut text={screen.title.head ?? ""} />
          <span class="quiet">{screen.title.text}</span>
        </h1>
      )}
      {screen.lead.map((item, i) => (
        <p key={i} class="lead">
          {item.text}
        </p>
      ))}
      {value?.verdict && value.devices.length > 1 && <RunBar verdict={value.verdict} />}
      {summary.state === "failed" && <Failure error={summary.error} />}
      <Rest items={screen.rest} summary={value} view={view} />
    </div>
  );
}

/** As many as the longest of its tables has. */
function rowsIn(text: Text): number {
  return text.items.reduce((most, item) => (item.kind === "table" ? Math.max(most, item.table.rows.length) : most), 1);
}

/** What follows, in the report's order. What is said after the last table is of the measurement itself. */
function Rest({ items, summary, view }: { items: TextItem[]; summary: Summary | null; view: View }) {
  const { address } = useShared(), last = items.map((item) => item.kind).lastIndexOf("table") + 1;
  const said = items.slice(last).filter((item) => item.kind === "sentence");
  return (
    <>
      {items.slice(0, last).filter((item, i) => !isOnCard(item, items[i - 1])).map((item, i) => (item.kind === "table" ? <Part key={i} table={item.table} summary={summary} view={view} /> : item.kind === "sentence" ? <SentenceLine key={i} item={item} /> : null))}
      {said.length > 0 && (
        <section aria-label="Measurement">
          <div class="heading">
            <h2>Measurement</h2>
            <a href={formatAddress(changed(moved(address, "tables"), { view: "ledger" }))}>What it holds, lacks and cost</a>
          </div>
          {said.map((item, i) => (
            <SentenceLine key={i} item={{ ...item, gap: false }} />
          ))}
        </section>
      )}
      {items.map((item, i) => item.kind === "others" && <Others key={i} views={item.views} />)}
    </>
  );
}

/** What to change first: the first card says it. */
function isOnCard(item: TextItem, before: TextItem | undefined): boolean {
  return item.kind === "sentence" && item.text.startsWith("first: ") && before?.kind === "table" && before.table.name === "advice";
}

function Part({ table, summary, view }: { table: TextTable; summary: Summary | null; view: View }) {
  switch (table.name) {
    case "devices":
      return <DevicesPart table={table} summary={summary} view={view} />;
    case "idle_of_the_device":
    case "idle_of_devices":
      return <IdleList table={table} />;
    case "advice":
      return <AdvicePart table={table} />;
    case "top_kernels":
    case "top_copies":
    case "collectives":
      return <Operations table={table} summary={summary} view={view} />;
    default:
      return <TablePart table={table} view={view} />;
  }
}

function DevicesPart({ table, summary, view }: { table: TextTable; summary: Summary | null; view: View }) {
  const { requests, run } = useShared(), asked = `overview?pixels=${PIXELS}`;
  const overview = useLoaded(asked, () => requests.columns<Overview>(asked));
  const uses = deviceUses(table, summary);
  const known = overview.state === "ready" ? withStrips(uses, summary, run, overview.value.header, toNumbers(overview.value.columns.busy!)) : uses;
  return (
    <>
      <Devices uses={known} partial={overview.state === "ready" && overview.value.header.partial} />
      {overview.state === "failed" && <Failure error={overview.error} />}
      <LeftOut table={table} view={view} />
    </>
  );
}

function AdvicePart({ table }: { table: TextTable }) {
  const { requests } = useShared(), asked = request("view", "advice", { "min-percent": 1, limit: Math.max(table.rows.length, 1) });
  const advices = useLoaded(asked, () => requests.json<Advices>(asked));
  return <AdviceCards cards={cardsOf(table, advices.state === "ready" ? advices.value : null)} failed={advices.state === "failed" ? advices.error : null} />;
}

