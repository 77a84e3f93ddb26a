/* panels.tsx - Statistics and Blame of the selected range, or of the window where there is none, at the call depth that is shown. */
import { memo } from "preact/compat";
import { useEffect, useState } from "preact/hooks";
import { colourOf } from "../../draw/colours.js";
import { request } from "../../model/requests.js";
import { turns } from "../../model/timeline/turns.js";
import { formatPoint, formatRange, type Window } from "../../model/timeline/window.js";
import { formatCount, formatShare, formatTime } from "../../model/units.js";
import { useLoaded, useShared } from "../context.js";
import { Failure } from "../failure.jsx";
import { TimesDiffer } from "../parts/times.jsx";

const STILL_MS = 100, ROWS_MOST = 200;
const statisticsTurn = turns(), blameTurn = turns();

/** The value once it stood still: so that what follows a drag is not asked for at every step of it. */
export function useSettled<T>(value: T, key: string): T {
  const [settled, set] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => set(value), STILL_MS);
    return () => clearTimeout(timer);
  }, [key]);
  return settled;
}

function counted(count: number, what: string): string {
  return `${formatCount(count)} ${what}${count === 1 ? "" : "s"}`;
}

interface Props {
  range: Window;
  selected: boolean;
  depth: number;
}

function rangeOptions(range: Window): { from: string; to: string } {
  const from = Math.floor(range.from);
  return { from: `${from}ns`, to: `${Math.max(Math.ceil(range.to), from + 1)}ns` };
}

function RangeWords({ range, selected }: { range: Window; selected: boolean }) {
  const span = range.to - range.from;
  return (
    <p class="quiet">
      {selected ? "Selected range" : "What is on screen"}: {formatPoint(range.from, span)} to {formatPoint(range.to, span)}, {formatRange(range.from, range.to)}
      {!selected && ". Drag with shift, or along the axis, to select a range."}
    </p>
  );
}

/* ---- statistics ------------------------------------------------------------------------------------------------ */

interface StatisticsAnswer {
  queues: number;
  threads: number;
  traced: boolean;
  no_times: number;
  rows: { kind: string; label: string | null; share: number; queue_ns: number; thread_ns: number; sampled_ns: number; error_ns: number; disagrees: boolean }[];
}

/** What a wait's row says beside its routine is of the row alone. */
function routineOf(label: string): string {
  return label.split(", mostly in ")[0]!;
}

export const Statistics = memo(function Statistics({ range, selected, depth }: Props) {
  const { requests, address, go, theme } = useShared();
  const settled = useSettled(range, `${range.from}/${range.to}`);
  const asked = request("view", "statistics", { ...rangeOptions(settled), depth: depth || null });
  const statistics = useLoaded(asked, (signal) => statisticsTurn(() => requests.json<StatisticsAnswer>(asked), signal));
  if (statistics.state === "loading") return <p class="quiet">Reading …</p>;
  if (statistics.state === "failed") return <Failure error={statistics.error} />;
  const { rows, queues, threads, traced, no_times } = statistics.value, shown = rows.slice(0, ROWS_MOST);
  return (
    <div class="tl-panel">
      <RangeWords range={range} selected={selected} />
      {!traced && <p>Recorded with --profile: what each lane did is unknown.</p>}
      <table>
        <caption class="quiet">All lanes: {counted(queues, "queue")}, {counted(threads, "thread")}{depth > 0 && `; call depth ${depth}, of operations too`}. Shares are of this time over all of them.</caption>
        <thead>
          <tr><th scope="col">share</th><th scope="col">time</th><th scope="col" class="tl-name">routine</th></tr>
        </thead>
        <tbody>
          {shown.map((row, i) => {
            const label = row.label ?? "unknown", routine = routineOf(label), isRoutine = row.kind === "routine", time = row.queue_ns + row.thread_ns;
            const lit = isRoutine && address.options.routine === routine;
            return (
              <tr key={i} class={lit ? "tl-lit" : ""}>
                <td>{formatShare(row.share)}</td>
                <td title={row.sampled_ns > 0 ? `${formatShare(row.sampled_ns / Math.max(row.thread_ns, 1))} of its thread time is known from samples` : "exact"}>
                  {formatTime(time)}{row.error_ns >= 0.5 && ` ± ${formatTime(row.error_ns)}`}
                </td>
                <td class="tl-name">
                  {isRoutine
                    ? <button type="button" aria-pressed={lit} title={label} onClick={() => go({ routine: lit ? null : routine })}>
                        <Chip colour={colourOf(routine, theme)} />{label}
                      </button>
                    : <span class="quiet">{label}</span>}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <TimesDiffer here="Statistics" />
      {rows.length > shown.length && <p class="quiet">{rows.length - shown.length} more rows are in the view statistics.</p>}
      {no_times > 0 && <p class="quiet">Without valid times, and in no row: {counted(no_times, "operation")}.</p>}
    </div>
  );
});

function Chip({ colour }: { colour: string }) {
  return <span class="tl-chip" style={{ background: colour }} />;
}

/* ---- blame ------------------------------------------------------------------------------------------------------- */

interface BlameAnswer {
  traced: boolean;
  scopes: {
    process: string | null;
    device: number | null;
    name: string;
    idle_ns: number;
    intervals: number;
    before_ns: number;
    no_thread_ns: number;
    uncovered_ns: number;
    waiting_ns: number;
    computing_ns: number;
    routines: { label: string | null; place: string; waiting_ns: number; computing_ns: number; error_ns: number }[];
  }[];
}

/** Of the tree of contexts, which is not shown here, only the largest: routines are all there. */
const LEAST_PERCENT = 50;

/** The sum over the processes says nothing new where there is one, and nothing at all where there is none. */
function told(scopes: BlameAnswer["scopes"]): BlameAnswer["scopes"] {
  return new Set(scopes.map((one) => one.process).filter((name) => name !== null)).size <= 1 ? scopes.filter((one) => one.process !== null) : scopes;
}

/** The same devices in another range: it may have fewer processes. */
function keyOf({ process, device }: BlameAnswer["scopes"][number]): string {
  return `${process ?? ""}/${device ?? ""}`;
}

export const Blame = memo(function Blame({ range, selected, depth }: Props) {
  const { requests, address, go, theme } = useShared();
  const [scope, setScope] = useState<string | null>(null);
  const settled = useSettled(range, `${range.from}/${range.to}`);
  const asked = request("view", "blame", { "min-percent": LEAST_PERCENT, ...rangeOptions(settled), depth: depth || null });
  const blame = useLoaded(asked, (signal) => blameTurn(() => requests.json<BlameAnswer>(asked), signal));
  if (blame.state === "loading") return <p class="quiet">Reading …</p>;
  if (blame.state === "failed") return <Failure error={blame.error} />;
  const { traced } = blame.value, scopes = told(blame.value.scopes), shown = scopes.find((one) => keyOf(one) === scope) ?? scopes[0];
  if (!traced) return <p>Recorded with --profile: when devices were idle is unknown.</p>;
  const rest: [string, number][] = shown ? [["before the first API call", shown.before_ns], ["no thread was active", shown.no_thread_ns], ["call path unknown", shown.uncovered_ns]] : [];
  return (
    <div class="tl-panel">
      <RangeWords range={range} selected={selected} />
      {scopes.length > 1 && (
        <label>Devices <select value={keyOf(shown!)} onChange={(event) => setScope(event.currentTarget.value)}>
          {scopes.map((one) => <option key={keyOf(one)} value={keyOf(one)}>{[one.process, one.name].filter(Boolean).join(" · ")}</option>)}
        </select></label>
      )}
      {!shown && <p>No process that used a device ran then.</p>}
      {shown && (
        <table>
          <caption class="quiet">Idle for {formatTime(shown.idle_ns)} in {counted(shown.intervals, "interval")}{depth > 0 && `; call depth ${depth}`}. Shares are of this time.</caption>
          <thead>
            <tr><th scope="col">share</th><th scope="col">time</th><th scope="col" class="tl-name">what ran meanwhile</th></tr>
          </thead>
          <tbody>
            {shown.routines.slice(0, ROWS_MOST).map((row, i) => {
              const time = row.waiting_ns + row.computing_ns, lit = row.label !== null && address.options.routine === row.label;
              return (
                <tr key={i} class={lit ? "tl-lit" : ""}>
                  <td>{formatShare(shown.idle_ns ? time / shown.idle_ns : null)}</td>
                  <td title={row.waiting_ns ? `${formatTime(row.waiting_ns)} of it waiting for the device` : undefined}>{formatTime(time)}{row.error_ns > 0 && ` ± ${formatTime(row.error_ns)}`}</td>
                  <td class="tl-name">
                    <button type="button" aria-pressed={lit} title={row.place} onClick={() => go({ routine: lit ? null : row.label })}>
                      <Chip colour={colourOf(row.label ?? "", theme)} />{row.place}
                    </button>
                  </td>
                </tr>
              );
            })}
            {rest.filter(([, time]) => time > 0).map(([name, time]) => (
              <tr key={name}>
                <td>{formatShare(shown.idle_ns ? time / shown.idle_ns : null)}</td>
                <td>{formatTime(time)}</td>
                <td class="tl-name quiet">{name}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {shown && <TimesDiffer here="Blame, Idle time" />}
      {shown && shown.routines.length > ROWS_MOST && <p class="quiet">{shown.routines.length - ROWS_MOST} more rows are in the view blame.</p>}
    </div>
  );
});
