/* frame.tsx - the chosen frame: its whole calling context, its numbers, and its source line. */
import { formatColumn, type Metric, type Shown } from "../../model/profile/answer.js";
import { figureCell, sourceRow } from "../../model/profile/figures.js";
import type { ProfileTree } from "../../model/profile/tree.js";
import { formatShare } from "../../model/units.js";
import { useShared } from "../context.js";
import { TimesDiffer } from "../parts/times.jsx";
import { Source } from "./source.jsx";

interface FrameProps {
  tree: ProfileTree;
  row: number;
  columns: Shown[];
  metrics: Metric[];
  onChoose(row: number): void;
}

const KINDS: Record<string, string> = {
  native: "native code", python: "Python", api: "API call", operation: "operation", unknown: "unknown code", cut: "outer frames are missing",
  link: "prepared there", range: "range", object: "data object", none: "no routine",
};

/** What a column is, as its view says. */
export function definitionOf(column: Shown, metrics: readonly Metric[], tree: ProfileTree): string {
  const derived = tree.columns.find((one) => one.name === column.name)?.formula;
  const side = column.side === "exclusive" ? "of this frame alone" : "of this frame and what it calls";
  const meaning = derived ?? metrics.find((metric) => metric.name === column.name)?.definition ?? column.name;
  return `${meaning}, ${side}`;
}

export function FramePanel({ tree, row, columns, metrics, onChoose }: FrameProps) {
  const { address, go } = useShared();
  const frame = tree.rows[row]!, path = tree.path(row).slice(1), callees = tree.shape === "top-down";
  const context = callees ? [...path].reverse() : path;
  const place = sourceRow(tree, row), shown = place > 0 ? tree.rows[place]! : null;
  return (
    <aside class="frame-panel" aria-label="The chosen frame">
      <div class="frame-head">
        <h2>{frame.label}</h2>
        <button type="button" aria-label="Close" title="Close" onClick={() => onChoose(0)}>
          ×
        </button>
      </div>
      <p class="quiet">
        {[KINDS[frame.kind] ?? frame.kind, frame.operation, frame.code, `call path #${frame.node}`].filter(Boolean).join(" · ")}
      </p>
      {frame.name !== null && frame.name !== frame.label && <p class="whole-name">{frame.name}</p>}
      {(frame.file ?? frame.module) !== null && (
        <p class="whole-name quiet">{[frame.file === null ? null : frame.line === null ? frame.file : `${frame.file}:${frame.line}`, frame.module].filter(Boolean).join(" · ")}</p>
      )}
      <table class="frame-figures">
        <tbody>
          {columns.map((column) => {
            const share = tree.share(row, column), unit = tree.columns.find((one) => one.name === column.name)?.unit ?? null;
            return (
              <tr key={formatColumn(column)} title={definitionOf(column, metrics, tree)}>
                <th scope="row">{formatColumn(column)}</th>
                <td>{figureCell(frame, column, unit)}</td>
                <td class="quiet">{Number.isNaN(share) ? "" : formatShare(share)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {columns.some(({ name }) => name === "cpu" || name === "api" || name === "blame") && <TimesDiffer here={columns.some(({ name }) => name === "blame") ? "Blame, Idle time" : "Profile, cpu"} />}
      {shown !== null && shown.file !== null && shown.line !== null && (
        <>
          <h3>{place === row ? "Source" : `Source of the caller ${shown.label}`}</h3>
          <Source file={shown.file} line={shown.line} />
        </>
      )}
      {shown === null && frame.file !== null && <p class="quiet">Rows by function have no line: grouped by line they have one.</p>}
      {shown === null && frame.file === null && frame.kind === "native" && <p class="quiet">Its source line is unknown: a program that is compiled with -g has lines.</p>}
      <h3>{callees ? "Calling context, innermost first" : tree.shape === "bottom-up" ? "The routine, and its callers" : "Routine"}</h3>
      <ol class="frame-path">
        {context.map((at) => (
          <li key={at} aria-current={at === row ? "true" : undefined}>
            <button type="button" onClick={() => onChoose(at)} title={tree.rows[at]!.module ?? undefined}>
              {tree.rows[at]!.label}
            </button>
          </li>
        ))}
      </ol>
      {tree.shape === "flat" && tree.by !== "kernel" && tree.by !== "object" && (
        <button type="button" onClick={() => go({ shape: "bottom-up", by: address.options.by ?? null, node: String(frame.node), picture: null })}>
          Who calls it
        </button>
      )}
    </aside>
  );
}
