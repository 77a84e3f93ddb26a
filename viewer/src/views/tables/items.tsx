/* items.tsx - what a view says, in its order: tables and sentences. */
import { useRef } from "preact/hooks";
import { csvRows, type ShownRow, type Sort } from "../../model/report/table.js";
import type { Text, TextItem, TextTable, View } from "../../model/types.js";
import { formatCount } from "../../model/units.js";
import { changed, formatAddress, moved } from "../../model/address.js";
import { useShared } from "../context.js";
import { CsvButton, fileName } from "../parts/download.jsx";
import { Empty } from "../parts/empty.jsx";
import { Table } from "../parts/table.jsx";
import { pageOf, usePlaces } from "../places.js";

export function Items({ text, view, filter, late }: { text: Text; view: View; filter: string; late: boolean }) {
  let table = 0;
  return (
    <div class={late ? "items late" : "items"}>
      {text.items.map((item, i) =>
        item.kind === "table" ? (
          <OneTable key={`table ${table}`} table={item.table} number={table++} view={view} filter={filter} />
        ) : item.kind === "sentence" ? (
          <SentenceLine key={i} item={item} />
        ) : (
          <Others key={i} views={item.views} />
        ),
      )}
      {!text.items.length && <Empty>This view has nothing to say about this run.</Empty>}
      {text.notes.length > 0 && (
        <ul class="notes" aria-label="Notes">
          {text.notes.map((note, i) => (
            <li key={i}>
              <span class="kind">{note.kind}</span> {note.text}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function OneTable({ table, number, view, filter }: { table: TextTable; number: number; view: View; filter: string }) {
  const { address, go, run } = useShared(), shown = useRef<ShownRow[]>([]);
  const sort = readSort(address.options[`order.${view.name}`], number), caption = table.name.replaceAll("_", " ");
  if (!table.columns.length) return <LeftOut table={table} view={view} />; /* sentences stand for its rows */
  return (
    <div class="one">
      <div class="row">
        <h2>{caption}</h2>
        <span class="quiet">{formatCount(table.rows.length)}</span>
        <LeftOut table={table} view={view} />
        <span class="space" />
        <CsvButton name={fileName(run.command ?? "run", view.name, table.name)} rows={() => csvRows(table, shown.current)} />
      </div>
      <Table
        table={table}
        caption={caption}
        filter={filter}
        sort={sort}
        routine={address.options.routine}
        onSort={(next) => go({ [`order.${view.name}`]: next && `${number}:${next.column}:${next.descending ? "desc" : "asc"}` }, { replace: true })}
        onShown={(rows) => (shown.current = rows)}
      />
    </div>
  );
}

/** `TABLE:COLUMN:asc`: one table of a view is sorted at a time. */
function readSort(text: string | undefined, number: number): Sort | null {
  const match = /^(\d+):(\d+):(asc|desc)$/.exec(text ?? "");
  return match && Number(match[1]) === number ? { column: Number(match[2]), descending: match[3] === "desc" } : null;
}

export function LeftOut({ table, view }: { table: TextTable; view: View }) {
  const { address } = useShared();
  if (!table.left_out) return null;
  const name = table.left_out_view ?? view.name;
  return (
    <a href={formatAddress(changed(moved(address, "tables", address.page === "tables" ? address.options : {}), { view: name, [`${name}.limit`]: 0 }))}>
      {formatCount(table.left_out)} more {table.left_out === 1 ? "row" : "rows"}: show all
    </a>
  );
}

type Sentence = Extract<TextItem, { kind: "sentence" }>;

export function SentenceLine({ item }: { item: Sentence }) {
  const { commandLink } = usePlaces(), link = item.command !== null ? commandLink(item.command) : null;
  const indent = item.head ? 0 : item.text.search(/\S|$/);
  return (
    <p class={`sentence tone-${item.tone}${item.gap ? " gap" : ""}`} style={indent ? { paddingLeft: `${indent}ch` } : undefined}>
      {item.head && <strong>{item.head}</strong>}
      {item.text.slice(indent)}
      {item.command !== null && (
        <>
          {": "}
          {link ? <a href={link}>{item.command}</a> : <code>{item.command}</code>}
        </>
      )}
    </p>
  );
}

export function Others({ views }: { views: string[] }) {
  const { address, views: all } = useShared();
  return (
    <p class="others">
      <span class="quiet">More: </span>
      {views.map((name) => {
        const page = pageOf(name);
        return (
          <a key={name} href={formatAddress(changed(moved(address, page), page === "tables" ? { view: name } : {}))} data-tip={all.find((one) => one.name === name)?.summary}>
            {name}
          </a>
        );
      })}
    </p>
  );
}
