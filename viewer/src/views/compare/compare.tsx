/* compare.tsx - the page Compare: this measurement beside those before, context by context, on one scale (docs/diff.md). */
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { differenceColour, DARK_INKS, LIGHT_INKS } from "../../draw/colours.js";
import { csvOf, saveText } from "../../draw/save.js";
import { changeOf, compareSvg, csvRows, deltaText, matchText, METRICS, metricsIn, ratioText, relativeText, scaleOf, testText, valueText, type Diff, type DiffRow, type Metric, type Ratio } from "../../model/compare.js";
import { RequestError } from "../../model/requests.js";
import { formatTime } from "../../model/units.js";
import { useLoaded, useShared } from "../context.js";
import { Failure } from "../failure.jsx";
import { SortTable, type SortColumn } from "../memory/sorttable.jsx";
import { Length } from "../parts/bar.jsx";
import { PictureButtons } from "../parts/download.jsx";
import { Reading } from "../parts/empty.jsx";
import { Scroll } from "../parts/scroll.jsx";
import { Icicles } from "./icicles.jsx";
import "../memory/memory.css";
import "./compare.css";

export function ComparePage() {
  const { requests } = useShared(), diff = useLoaded("diff", () => requests.json<Diff>("diff"));
  return (
    <div class="compare">
      <h1 class="unseen">Compare</h1>
      {diff.state === "loading" && <Reading />}
      {diff.state === "failed" && (diff.error instanceof RequestError && diff.error.status === 404 ? <Nothing error={diff.error} /> : <Failure error={diff.error} />)}
      {diff.state === "ready" && <Comparison diff={diff.value} />}
    </div>
  );
}

/** What to run to have another measurement. */
function Nothing({ error }: { error: RequestError }) {
  return (
    <section>
      <h2>{error.message}</h2>
      <p>This page shows what got slower or faster since another measurement, or several, side by side.</p>
      <p>{error.problem.hint}</p>
    </section>
  );
}

function Comparison({ diff }: { diff: Diff }) {
  return (
    <>
      {diff.warnings.map((warning) => <p key={warning} class="tone-warning">{`warning: ${warning}`}</p>)}
      <h2 class="compare-sentence">{diff.sentence}</h2>
      <dl class="memory-facts">
        <Fact title="The run" ratio={diff.total} />
        {diff.step && <Fact title={`The step, range ${diff.step.name}`} ratio={diff.step} />}
        <div><dt>before</dt><dd>{diff.before.join(", ")}</dd></div>
        <div><dt>after</dt><dd>{diff.after.join(", ")}</dd></div>
      </dl>
      {!diff.by_runs && <p class="quiet">With one run a side the noise between runs is unknown: intervals are from what varies within each.</p>}
      <Rows diff={diff} />
      <Ledger diff={diff} />
    </>
  );
}

function Fact({ title, ratio }: { title: string; ratio: Ratio }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{`${formatTime(ratio.before_ns)} → ${formatTime(ratio.after_ns)}, ${ratioText(ratio)}`}</dd>
    </div>
  );
}

/* ---- contexts ------------------------------------------------------------------------------------ */

function Rows({ diff }: { diff: Diff }) {
  const { address, go, theme } = useShared(), metrics = useMemo(() => metricsIn(diff), [diff]);
  const metric = metrics.find((one) => one === address.options.metric) ?? metrics[0];
  const rows = useMemo(() => diff.rows.filter((row) => row.metric === metric), [diff, metric]);
  const numbers = useMemo(() => new Map(rows.map((row, i) => [row, i])), [rows]);
  if (!metric) return <p>Neither side has anything that could be compared.</p>;
  const colour = (change: number | null) => differenceColour(change, theme), columns = columnsOf(rows, metric, colour);
  return (
    <section aria-label="Contexts">
      <div class="heading">
        <div class="compare-switch" role="group" aria-label="What is compared">
          {metrics.map((one) => <button key={one} type="button" aria-pressed={one === metric} onClick={() => go({ metric: one === metrics[0] ? null : one }, { replace: true })}>{METRICS[one]}</button>)}
        </div>
        <Legend metric={metric} colour={colour} />
        <span class="pictures">
          <PictureButtons name={`compare ${metric}`} svg={() => compareSvg(rows, 1200, colour, theme.dark ? DARK_INKS : LIGHT_INKS)} />
          <button type="button" onClick={() => saveText(`compare ${metric}.csv`, csvOf(csvRows(rows)), "text/csv")}>CSV</button>
        </span>
      </div>
      <Icicles key={`icicles ${metric}`} rows={rows} metric={metric} colour={colour} />
      <SortTable key={metric} label={METRICS[metric]} rows={rows} columns={columns} keyOf={(row) => numbers.get(row)!} first={columns.findIndex(({ title }) => title === "difference")} />
    </section>
  );
}

function Legend({ metric, colour }: { metric: Metric; colour: (change: number | null) => string }) {
  const [less, more] = metric === "count" || metric === "bytes" ? ["less", "more"] : ["faster", "slower"];
  return (
    <ul class="legend" aria-label="What colours mean">
      <li>{[-1, -0.5, 0, 0.5, 1].map((change) => <span key={change} class="swatch" style={{ background: colour(change) }} />)}{`from −50 %, ${less}, to +50 %, ${more}`}</li>
      <li><span class="swatch" style={{ background: colour(null) }} />not significant, or before</li>
    </ul>
  );
}

function columnsOf(rows: readonly DiffRow[], metric: Metric, colour: (change: number | null) => string): SortColumn<DiffRow>[] {
  const most = scaleOf(rows);
  const side = (value: number, bar: string): ComponentChildren => (
    <>
      {valueText(metric, value)}
      {value > 0 && <Length share={value / most} colour={bar} />}
    </>
  );
  const kernel: SortColumn<DiffRow> = { title: "operation", definition: "kernel, or kind of operation", text: true, value: (row) => row.kernel, cell: (row) => row.kernel ?? "" };
  return [
    { title: "where", definition: "call path in the user's code, innermost first", text: true, value: (row) => row.context, cell: (row) => <Where row={row} /> },
    ...(rows.some((row) => row.kernel !== null) ? [kernel] : []),
    { title: "before", definition: "mean of the runs; all bars are on one scale", value: (row) => row.before, cell: (row) => side(row.before, colour(0)) },
    { title: "after", definition: "mean of the runs; all bars are on one scale", value: (row) => row.after, cell: (row) => side(row.after, colour(changeOf(row))) },
    { title: "difference", definition: "after - before", value: (row) => row.delta, cell: (row) => (row.significant ? <strong>{deltaText(row)}</strong> : deltaText(row)) },
    { title: "change", definition: "(after - before) / before, with its 95 % interval", value: (row) => (row.before > 0 ? row.delta / row.before : null), cell: relativeText },
    { title: "test", definition: "at a rate of 5 % false ones among the significant rows", text: true, value: testText, cell: (row) => (row.significant ? <strong>{testText(row)}</strong> : testText(row)) },
  ];
}

/** The way to its place in the profile, where it has one in the measurement that is open. */
function Where({ row }: { row: DiffRow }) {
  const { go } = useShared(), match = matchText(row), name = row.context || "unknown";
  return (
    <>
      {row.node ? <button type="button" class="link" title="Open it in the profile" onClick={() => go({ node: row.node, shape: null, by: null, find: null }, { page: "profile" })}>{name}</button> : name}
      {match && <div class="compare-match">{match}</div>}
    </>
  );
}

/* ---- what else differs ------------------------------------------------------------------------------ */

function Ledger({ diff }: { diff: Diff }) {
  if (!diff.ledger.length) return null;
  return (
    <section aria-label="What else differs">
      <h2>What else differs</h2>
      <Scroll class="part-scrolled" label="What else differs">
        <table class="compare-ledger">
          <thead>
            <tr>{["", "before", "after"].map((title) => (title ? <th key={title} scope="col">{title}</th> : <td key={title} />))}</tr>
          </thead>
          <tbody>
            {diff.ledger.map(({ item, before, after }) => (
              <tr key={item}>
                <th scope="row">{item}</th>
                <td>{before ?? "-"}</td>
                <td>{after ?? "-"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}
