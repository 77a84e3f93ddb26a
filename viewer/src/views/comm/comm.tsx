/* comm.tsx - the page Communication: devices × devices with what went between them; the pairs, lines and data objects below. A chosen cell leaves its own. */
import { useMemo } from "preact/hooks";
import { rangeOf } from "../../model/address.js";
import { matrixOf, meaningOf, rateText, wayText, type Comm, type Line, type Pair, type SentObject, type Sums } from "../../model/comm.js";
import { siteText } from "../../model/memory.js";
import { request } from "../../model/requests.js";
import { formatBytes, formatCount, formatShare, formatTime } from "../../model/units.js";
import { csvOf, saveText } from "../../draw/save.js";
import { useLoaded, useShared } from "../context.js";
import { Failure } from "../failure.jsx";
import { Scroll } from "../parts/scroll.jsx";
import { SortTable, type SortColumn } from "../memory/sorttable.jsx";
import "../memory/memory.css";
import "./comm.css";

export function CommPage() {
  const { requests, address } = useShared();
  const range = rangeOf(address), from = range ? Math.floor(range.from) : 0;
  const asked = range ? { from: `${from}ns`, to: `${Math.max(Math.ceil(range.to), from + 1)}ns` } : {};
  const path = request("view", "comm", asked), comm = useLoaded(path, () => requests.json<Comm>(path));
  if (comm.state === "loading") return <p class="quiet">Reading …</p>;
  if (comm.state === "failed") return <Failure error={comm.error} />;
  return (
    <div class="comm">
      <h1 class="unseen">Communication</h1>
      <Head comm={comm.value} />
      {comm.value.pairs.length > 0 && <Body comm={comm.value} />}
    </div>
  );
}

/** All of it, and what of it has no place. */
function Head({ comm }: { comm: Comm }) {
  const { address, go } = useShared(), range = rangeOf(address);
  return (
    <>
      <p>
        {comm.operations ? `${formatCount(comm.operations)} copies and migrations moved ${formatBytes(comm.bytes)}` : "No copy and no migration"}
        {range ? ` in the selected range, ${formatTime(range.from)} to ${formatTime(range.to)}. ` : comm.operations ? ". " : " was recorded."}
        {range && <button type="button" onClick={() => go({ from: null, to: null })}>The whole run</button>}
      </p>
      {comm.unknown_operations > 0 && (
        <p class="quiet">
          {`Of ${formatCount(comm.unknown_operations)} of them, with ${formatBytes(comm.unknown_bytes)}, the runtime does not say where one end lies: they stand under “unknown”.`}
        </p>
      )}
      {comm.untraced > 0 && <p class="source-note">Recorded with --profile: data objects are unknown, and so are ends of copies that differ within a call path.</p>}
    </>
  );
}

function Body({ comm }: { comm: Comm }) {
  const { address } = useShared();
  const chosen = comm.matrix[Number(address.options.pair ?? NaN)];
  const ofChosen = (row: Sums) => !chosen || (row.from === chosen.from && row.to === chosen.to);
  return (
    <>
      <MatrixTable comm={comm} chosen={chosen} />
      <h2>{chosen ? `From ${chosen.from_name} to ${chosen.to_name}` : "All pairs"}</h2>
      <Pairs rows={comm.pairs.filter(ofChosen)} all={comm.bytes} />
      <h2>Lines</h2>
      <Lines rows={comm.lines.filter(ofChosen)} all={comm.bytes} />
      <h2>Data objects</h2>
      <Objects rows={comm.objects.filter(ofChosen)} all={comm.bytes} />
    </>
  );
}

/* ---- the matrix ------------------------------------------------------------------------------ */

function MatrixTable({ comm, chosen }: { comm: Comm; chosen: Pair | undefined }) {
  const { address, go } = useShared();
  const { ends, cells } = useMemo(() => matrixOf(comm), [comm]);
  const rates = address.options.as === "rate", value = (pair: Pair) => (rates ? pair.bytes_per_s : pair.bytes) ?? 0;
  const most = Math.max(...comm.matrix.map(value));
  return (
    <>
      <div class="comm-switch" role="group" aria-label="What the matrix shows">
        <button type="button" aria-pressed={!rates} onClick={() => go({ as: null }, { replace: true })}>Bytes</button>
        <button type="button" aria-pressed={rates} onClick={() => go({ as: "rate" }, { replace: true })}>Rate while copying</button>
      </div>
      <Scroll class="comm-scroll" label="Matrix of devices">
        <table class="comm-matrix">
          <thead>
            <tr>
              <td />
              {ends.map(({ end, name }) => <th key={String(end)} scope="col">to {name}</th>)}
            </tr>
          </thead>
          <tbody>
            {ends.map(({ end, name }, row) => (
              <tr key={String(end)}>
                <th scope="row">from {name}</th>
                {cells[row]!.map((pair, column) => (pair ? <Cell key={column} pair={pair} at={comm.matrix.indexOf(pair)} share={most > 0 ? value(pair) / most : 0} rates={rates} chosen={pair === chosen} /> : <td key={column} class="quiet">–</td>))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}

function Cell({ pair, at, share, rates, chosen }: { pair: Pair; at: number; share: number; rates: boolean; chosen: boolean }) {
  const { go } = useShared();
  const about = `${pair.from_name} to ${pair.to_name}: ${formatBytes(pair.bytes)} in ${formatCount(pair.operations)} operations, ${rateText(pair.bytes_per_s)}`;
  return (
    <td class="comm-cell" style={{ "--share": String(share) }}>
      <button type="button" title={about} aria-pressed={chosen} onClick={() => go({ pair: chosen ? null : at }, { replace: true })}>
        {rates ? rateText(pair.bytes_per_s) : formatBytes(pair.bytes)}
        <span class="comm-bar" style={{ width: `${(100 * share).toFixed(1)}%` }} />
      </button>
    </td>
  );
}

/* ---- what is below ------------------------------------------------------------------------------ */

/** Columns that all three tables have. */
function useSums<Row extends Sums>(table: string, all: number): SortColumn<Row>[] {
  const { views } = useShared(), means = (column: string) => meaningOf(views, table, column);
  return [
    { title: "bytes", definition: means("bytes"), value: (row) => row.bytes, cell: (row) => formatBytes(row.bytes), share: (row) => (all > 0 ? row.bytes / all : 0) },
    { title: "share", definition: "bytes as % of all", value: (row) => row.bytes, cell: (row) => (all > 0 ? formatShare(row.bytes / all) : "-") },
    { title: "operations", definition: means("operations"), value: (row) => row.operations, cell: (row) => formatCount(row.operations) },
    { title: "time", definition: means("total_ns"), value: (row) => row.total_ns, cell: (row) => formatTime(row.total_ns) },
    { title: "kind", definition: means("kind"), text: true, value: (row) => row.kind, cell: (row) => row.kind },
  ];
}

function Pairs({ rows, all }: { rows: Pair[]; all: number }) {
  const { views } = useShared(), sums = useSums<Pair>("pairs", all);
  const columns: SortColumn<Pair>[] = [
    { title: "from", definition: meaningOf(views, "pairs", "from_name"), text: true, value: (row) => row.from_name, cell: (row) => row.from_name },
    { title: "to", definition: meaningOf(views, "pairs", "to_name"), text: true, value: (row) => row.to_name, cell: (row) => row.to_name },
    ...sums,
    { title: "rate", definition: meaningOf(views, "pairs", "bytes_per_s"), value: (row) => row.bytes_per_s, cell: (row) => rateText(row.bytes_per_s) },
  ];
  return <Sorted label="Pairs" rows={rows} columns={columns} first={2} />;
}

function Lines({ rows, all }: { rows: Line[]; all: number }) {
  const { views, go } = useShared(), sums = useSums<Line>("lines", all);
  const columns: SortColumn<Line>[] = [
    {
      title: "line", definition: meaningOf(views, "lines", "frames"), text: true, value: (row) => siteText(row.frames),
      cell: (row) => (row.node === null ? siteText(row.frames) : <button type="button" class="link" title="Open it in the profile" onClick={() => go({ node: row.node }, { page: "profile" })}>{siteText(row.frames)}</button>),
    },
    { title: "way", definition: "from where to where", text: true, value: wayText, cell: wayText },
    ...sums,
  ];
  return <Sorted label="Lines" rows={rows} columns={columns} first={2} />;
}

function Objects({ rows, all }: { rows: SentObject[]; all: number }) {
  const { views } = useShared(), sums = useSums<SentObject>("objects", all);
  const columns: SortColumn<SentObject>[] = [
    { title: "object", definition: meaningOf(views, "objects", "name"), text: true, value: (row) => row.name, cell: (row) => row.name ?? "unknown" },
    { title: "allocated by", definition: meaningOf(views, "objects", "site"), text: true, value: (row) => row.site, cell: (row) => row.site ?? "-" },
    { title: "lies on", definition: meaningOf(views, "objects", "owner"), text: true, value: (row) => (row.owner === null ? null : String(row.owner)), cell: (row) => (row.owner === null ? "-" : String(row.owner)) },
    { title: "way", definition: "from where to where", text: true, value: wayText, cell: wayText },
    ...sums,
  ];
  return <Sorted label="Data objects" rows={rows} columns={columns} first={4} />;
}

function Sorted<Row extends Sums>({ label, rows, columns, first }: { label: string; rows: Row[]; columns: SortColumn<Row>[]; first: number }) {
  const numbers = useMemo(() => new Map(rows.map((row, i) => [row, i])), [rows]);
  const save = () => saveText(`communication ${label.toLowerCase()}.csv`, csvOf([columns.map((column) => column.title), ...rows.map((row) => columns.map((column) => column.value(row)))]), "text/csv");
  return (
    <>
      <SortTable label={label} rows={rows} columns={columns} keyOf={(row) => numbers.get(row)!} first={first} />
      <p>
        <button type="button" aria-label={`${label} as CSV`} onClick={save}>CSV</button>
      </p>
    </>
  );
}
