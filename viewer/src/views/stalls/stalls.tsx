/* stalls.tsx - the page Stalls: functions of the device's code by their samples, and of the chosen one what its warps wait for, its lines beside the
 * source, its instructions, and who launches it. */
import { useMemo } from "preact/hooks";
import { kindColour, placeColour } from "../../draw/colours.js";
import { meaningOf } from "../../model/comm.js";
import { frameText } from "../../model/critical.js";
import { request } from "../../model/requests.js";
import { functionKey, functionText, marksOf, offsetText, partsOf, placeText, ranksOf, waitText, type Instruction, type StallContext, type StallLine, type Stalls, type Sum } from "../../model/stalls.js";
import { formatCount, formatShare, formatTime } from "../../model/units.js";
import { useLoaded, useShared } from "../context.js";
import { Failure } from "../failure.jsx";
import { SortTable, type SortColumn } from "../memory/sorttable.jsx";
import { CsvButton } from "../parts/download.jsx";
import { Empty, Reading } from "../parts/empty.jsx";
import { Source } from "../profile/source.jsx";
import "../memory/memory.css";
import "./stalls.css";

const AROUND = 14;

export function StallsPage() {
  const { requests } = useShared();
  const path = request("view", "stalls", {}), stalls = useLoaded(path, () => requests.json<Stalls>(path));
  if (stalls.state === "loading") return <Reading />;
  if (stalls.state === "failed") return <Failure error={stalls.error} />;
  return (
    <div class="stalls">
      <h1 class="unseen">Stalls</h1>
      {stalls.value.samples > 0 ? <Body stalls={stalls.value} /> : <Empty>Kernels were not sampled: sonde record --pc does that, on NVIDIA devices.</Empty>}
    </div>
  );
}

function Body({ stalls }: { stalls: Stalls }) {
  const { address, go } = useShared();
  const chosen = stalls.functions.find((row) => functionKey(row) === address.options.function) ?? null, missing = stalls.dropped_samples + stalls.lost_samples;
  return (
    <>
      <p>
        {`${formatCount(stalls.samples)} samples, one of each multiprocessor every ${formatCount(stalls.cycles)} cycles. In ${formatShare(stalls.issued_samples / stalls.samples)} of them the warp went on.`}
        {missing > 0 && ` ${formatCount(missing)} more are missing.`}
      </p>
      <Reasons all={stalls} samples={stalls.samples} stalls={stalls} label="What warps wait for, in all code" />
      <div class="stalls-beside">
        <Functions stalls={stalls} chosen={chosen} onChoose={(row) => go({ function: row === chosen ? null : functionKey(row), line: null }, { replace: true })} />
        {chosen && <Chosen key={functionKey(chosen)} stalls={stalls} chosen={chosen} />}
      </div>
    </>
  );
}

/* ---- reasons ------------------------------------------------------------------------------------- */

function useColours(stalls: Stalls): (reason: string | null) => string {
  const { theme } = useShared(), ranks = useMemo(() => ranksOf(stalls), [stalls]);
  return (reason) => (reason === null ? kindColour("busy", theme) : placeColour(2 + (ranks.get(reason) ?? ranks.size), theme));
}

/** Where samples of a sum are, as one bar. */
function Parts({ sum, samples, stalls, wide = false }: { sum: Pick<Sum, "issued_samples" | "reasons">; samples: number; stalls: Stalls; wide?: boolean }) {
  const colour = useColours(stalls), ranks = useMemo(() => ranksOf(stalls), [stalls]);
  return (
    <span class={wide ? "stalls-parts wide" : "stalls-parts"} aria-hidden="true">
      {partsOf(sum, ranks).map((part) => (
        <span key={part.reason} style={{ width: `${((100 * part.samples) / samples).toFixed(2)}%`, background: colour(part.reason) }} title={`${part.reason ?? "went on"}: ${formatShare(part.samples / samples)}`} />
      ))}
    </span>
  );
}

/** The bar, and below it each reason with its share and what it means. */
function Reasons({ all, samples, stalls, label }: { all: Pick<Sum, "issued_samples" | "reasons">; samples: number; stalls: Stalls; label: string }) {
  const colour = useColours(stalls), meanings = new Map(stalls.reasons.map((row) => [row.reason, row.meaning]));
  const rows = [{ reason: null, samples: all.issued_samples, idle_samples: 0 }, ...all.reasons].filter((row) => row.samples >= samples / 200);
  return (
    <>
      <Parts sum={all} samples={samples} stalls={stalls} wide />
      <dl class="stalls-reasons" aria-label={label}>
        {rows.map((row) => [
          <dt key={row.reason}><span class="memory-swatch" style={{ background: colour(row.reason) }} />{row.reason ?? "went on"}</dt>,
          <dd class="number">{formatShare(row.samples / samples)}</dd>,
          <dd class="number quiet" title="of all samples, those with this reason in whose cycle the scheduler issued nothing at all">{row.reason === null ? "" : `${formatShare(row.idle_samples / samples)} with the scheduler idle`}</dd>,
          <dd class="quiet">{row.reason === null ? "the instruction was issued" : (meanings.get(row.reason) ?? "")}</dd>,
        ])}
      </dl>
    </>
  );
}

/* ---- lists --------------------------------------------------------------------------------------- */

/** Columns that all lists have; shares are of `whole`. */
function useSums<Row extends Sum>(stalls: Stalls, table: string, whole: number): SortColumn<Row>[] {
  const { views } = useShared(), means = (column: string) => meaningOf(views, table, column, "stalls");
  return [
    { title: "samples", definition: means("samples"), value: (row) => row.samples, cell: (row) => formatCount(row.samples), share: (row) => row.samples / whole },
    { title: "share", definition: "samples as % of all in this list", value: (row) => row.samples, cell: (row) => formatShare(row.samples / whole) },
    { title: "went on", definition: means("issued_samples"), value: (row) => row.issued_samples / row.samples, cell: (row) => formatShare(row.issued_samples / row.samples) },
    { title: "idle", definition: means("idle_samples"), value: (row) => row.idle_samples / row.samples, cell: (row) => formatShare(row.idle_samples / row.samples) },
    { title: "waits for", definition: "each reason in its colour, as above; the most frequent", text: true, value: (row) => row.reasons[0]?.reason ?? null, cell: (row) => <><Parts sum={row} samples={row.samples} stalls={stalls} /> {waitText(row)}</> },
  ];
}

interface ListingProps<Row> {
  label: string;
  rows: Row[];
  columns: SortColumn<Row>[];
  first: number;
  lit?(row: Row): boolean;
  onChoose?(row: Row): void;
}

function Listing<Row>({ label, rows, columns, first, lit, onChoose }: ListingProps<Row>) {
  const numbers = useMemo(() => new Map(rows.map((row, i) => [row, i])), [rows]);
  const csv = () => [columns.map((column) => column.title), ...rows.map((row) => columns.map((column) => column.value(row)))];
  return (
    <div class="stalls-list">
      <SortTable label={label} rows={rows} columns={columns} keyOf={(row) => numbers.get(row)!} first={first} lit={lit} onChoose={onChoose} />
      <p><CsvButton name={`stalls ${label.toLowerCase()}`} rows={csv} /></p>
    </div>
  );
}

function Functions({ stalls, chosen, onChoose }: { stalls: Stalls; chosen: Sum | null; onChoose(row: Sum): void }) {
  const { views } = useShared();
  const columns: SortColumn<Sum>[] = [
    {
      title: "function", definition: meaningOf(views, "functions", "function", "stalls"), text: true, value: (row) => functionText(stalls, row),
      cell: (row) => <button type="button" class="link" aria-pressed={row === chosen} onClick={(event) => (event.stopPropagation(), onChoose(row))}>{functionText(stalls, row)}</button>,
    },
    ...useSums<Sum>(stalls, "functions", stalls.samples),
  ];
  return <Listing label="Functions" rows={stalls.functions} columns={columns} first={1} lit={(row) => row === chosen} onChoose={onChoose} />;
}

/* ---- the chosen function --------------------------------------------------------------------------- */

function Chosen({ stalls, chosen }: { stalls: Stalls; chosen: Sum }) {
  const { address, go } = useShared(), key = functionKey(chosen);
  const lines = stalls.lines.filter((row) => functionKey(row) === key), instructions = stalls.instructions.filter((row) => functionKey(row) === key);
  const contexts = stalls.contexts.filter((row) => row.function === chosen.function), placed = lines.filter((row) => row.file !== null && row.line !== null);
  const line = placed.find((row) => placeText(row) === address.options.line) ?? placed[0] ?? null;
  const choose = (row: StallLine) => row.line !== null && go({ line: placeText(row) }, { replace: true });
  return (
    <aside class="stalls-panel" aria-label="The chosen function">
      <h2>{functionText(stalls, chosen)}</h2>
      <Reasons all={chosen} samples={chosen.samples} stalls={stalls} label="What its warps wait for" />
      {line ? <Source file={line.file!} line={line.line!} around={AROUND} marks={marksOf(stalls, chosen, line.file!)} /> : <p class="quiet">Its code has no lines: nvcc -lineinfo writes them.</p>}
      {placed.length > 0 && <Lines stalls={stalls} rows={lines} whole={chosen.samples} chosen={line} onChoose={choose} />}
      <Instructions stalls={stalls} rows={instructions} whole={chosen.samples} chosen={line} onChoose={choose} />
      {contexts.length > 0 && <Contexts stalls={stalls} rows={contexts} whole={chosen.samples} />}
    </aside>
  );
}

interface OfFunction<Row> {
  stalls: Stalls;
  rows: Row[];
  whole: number;
}

interface Choosing<Row> extends OfFunction<Row> {
  chosen: StallLine | null;
  onChoose(row: StallLine): void;
}

const same = (row: StallLine, chosen: StallLine | null) => chosen !== null && row.file === chosen.file && row.line === chosen.line;

function Lines({ stalls, rows, whole, chosen, onChoose }: Choosing<StallLine>) {
  const { views } = useShared();
  const columns: SortColumn<StallLine>[] = [
    { title: "line", definition: meaningOf(views, "lines", "line", "stalls"), text: true, value: placeText, cell: placeText },
    ...useSums<StallLine>(stalls, "lines", whole),
  ];
  return <Listing label="Lines" rows={rows} columns={columns} first={1} lit={(row) => same(row, chosen)} onChoose={onChoose} />;
}

function Instructions({ stalls, rows, whole, chosen, onChoose }: Choosing<Instruction>) {
  const { views } = useShared(), means = (column: string) => meaningOf(views, "instructions", column, "stalls");
  const columns: SortColumn<Instruction>[] = [
    { title: "at", definition: means("offset"), value: (row) => row.offset, cell: offsetText },
    { title: "instruction", definition: means("text"), text: true, value: (row) => row.text, cell: (row) => <span class="stalls-code">{row.text ?? "-"}</span> },
    { title: "line", definition: means("line"), text: true, value: placeText, cell: placeText },
    ...useSums<Instruction>(stalls, "instructions", whole),
  ];
  return <Listing label="Instructions" rows={rows} columns={columns} first={3} lit={(row) => same(row, chosen)} onChoose={onChoose} />;
}

function Contexts({ stalls, rows, whole }: OfFunction<StallContext>) {
  const { go } = useShared(), total = stalls.functions.filter((row) => row.function === rows[0]!.function).reduce((sum, row) => sum + row.samples, 0) || whole;
  const columns: SortColumn<StallContext>[] = [
    {
      title: "launched from", definition: "the nearest frames of the user's code; a click opens them in the profile", text: true, value: (row) => row.frames.map(frameText).join(" ← "),
      cell: (row) => <button type="button" class="link" onClick={() => go({ node: row.node }, { page: "profile" })}>{row.frames.length ? row.frames.map(frameText).join(" ← ") : "unknown code"}</button>,
    },
    { title: "launches", value: (row) => row.operations, cell: (row) => formatCount(row.operations) },
    { title: "time", value: (row) => row.device_ns, cell: (row) => formatTime(row.device_ns) },
    { title: "samples", definition: "the function's samples, divided by that time", value: (row) => row.samples, cell: (row) => `${row.exact ? "" : "≈ "}${formatCount(Math.round(row.samples))}`, share: (row) => row.samples / total },
  ];
  return <Listing label="Launched from" rows={rows} columns={columns} first={3} />;
}
