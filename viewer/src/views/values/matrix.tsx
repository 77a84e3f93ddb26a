/* matrix.tsx - data objects × patterns. A cell is the largest share that was found; its evidence is on hover, and all of it below when chosen. */
import { useState } from "preact/hooks";
import { csvOf, saveText } from "../../draw/save.js";
import { formatBytes, formatCount, formatShare } from "../../model/units.js";
import { cellOf, definitionOf, matrixOf, PATTERNS, type DataObject, type Found, type Values } from "../../model/values/answer.js";
import { useShared } from "../context.js";
import { Scroll } from "../parts/scroll.jsx";

const ROWS = 100;

export function Matrix({ values }: { values: Values }) {
  const { address, views } = useShared();
  const [all, showAll] = useState(false);
  const rows = matrixOf(values);
  const shown = all ? rows : rows.slice(0, ROWS);
  const [index, pattern] = (address.options.cell ?? "").split(".");
  const chosen = values.objects[Number(index || NaN)];
  const means = (column: string) => definitionOf(views, "objects", column);
  if (!rows.length) return <p class="quiet">No data object that was looked at has this in its name.</p>;
  return (
    <>
      <Scroll class="values-scroll" label="Data objects and patterns">
        <table class="values-matrix">
          <thead>
            <tr>
              <th scope="col" title={means("name")}>Object</th>
              <th scope="col" class="number" title={means("count")}>count</th>
              <th scope="col" class="number" title={means("bytes")}>bytes</th>
              {PATTERNS.map((p) => (
                <th key={p.name} scope="col" title={`${p.definition} (sonde record ${p.recorded})`}>{p.title}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map(({ object, index }) => (
              <tr key={index}>
                <th scope="row" title={object.site ?? undefined}>{object.name}</th>
                <td class="number">{formatCount(object.count)}</td>
                <td class="number">{formatBytes(object.bytes)}</td>
                {PATTERNS.map((p) => <Cell key={p.name} object={object} index={index} pattern={p.name} />)}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <p>
        {shown.length < rows.length && <button type="button" onClick={() => showAll(true)}>Show all {formatCount(rows.length)} objects</button>}{" "}
        <button type="button" onClick={() => saveText("values.csv", csvOf(tableOf(values)), "text/csv")}>Save as CSV</button>
      </p>
      {chosen && pattern && <Evidence object={chosen} pattern={pattern} />}
    </>
  );
}

/** What is not exact is marked as in the report. */
function mark(found: Found): string {
  return found.exact ? "" : found.pattern === "redundant" ? "≤ " : "≈ ";
}

function Cell({ object, index, pattern }: { object: DataObject; index: number; pattern: string }) {
  const { address, go } = useShared();
  const found = cellOf(object, pattern), first = found[0], name = `${index}.${pattern}`;
  if (!first) return <td class="number quiet">–</td>;
  const chosen = address.options.cell === name;
  const evidence = found.map((f) => `${f.operation ?? "?"}: ${f.evidence}`).join("\n");
  return (
    <td class="number found" style={{ "--share": String(first.share ?? 0) }}>
      <button type="button" title={evidence} aria-pressed={chosen} onClick={() => go({ cell: chosen ? null : name }, { replace: true })}>
        {mark(first)}{formatShare(first.share)}
        {found.length > 1 && <small> +{found.length - 1}</small>}
        <br />
        <small>{formatBytes(first.bytes)}</small>
      </button>
    </td>
  );
}

/** All that was found of a pattern in an object. */
function Evidence({ object, pattern }: { object: DataObject; pattern: string }) {
  const { views } = useShared();
  const found = cellOf(object, pattern), about = PATTERNS.find((p) => p.name === pattern);
  const means = (column: string) => definitionOf(views, "patterns", column);
  if (!found.length) return null;
  return (
    <section class="values-evidence" aria-live="polite">
      <h3>{about?.title ?? pattern}: {object.name}</h3>
      <p class="quiet">{about?.definition}{object.site ? `; allocated in ${object.site}` : ""}</p>
      <Scroll class="values-scroll" label="Evidence">
        <table>
          <thead>
            <tr>
              <th scope="col" title={means("operation")}>Operation</th>
              <th scope="col" class="number" title={means("operations")}>operations</th>
              <th scope="col" class="number" title={means("share")}>share</th>
              <th scope="col" class="number" title={means("bytes")}>bytes</th>
              <th scope="col" title={means("line")}>line</th>
              <th scope="col" title={means("evidence")}>evidence</th>
              <th scope="col" title={means("called_from")}>called from</th>
            </tr>
          </thead>
          <tbody>
            {found.map((f, i) => (
              <tr key={i}>
                <th scope="row">{f.operation ?? "-"}</th>
                <td class="number">{formatCount(f.operations)}</td>
                <td class="number" title={f.exact ? undefined : means("exact")}>{mark(f)}{formatShare(f.share)}</td>
                <td class="number">{formatBytes(f.bytes)}</td>
                <td>{f.line ?? "-"}</td>
                <td>{f.evidence}</td>
                <td>{f.called_from ?? "-"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

/** One row for each finding, with the numbers as they are. */
function tableOf(values: Values): (string | number | null)[][] {
  const head = ["object", "site", "count", "object_bytes", "pattern", "operation", "called_from", "operations", "share", "bytes", "element_bytes", "line", "evidence", "exact"];
  const rows = values.objects.flatMap((o) =>
    o.patterns.map((f) => [o.name, o.site, o.count, o.bytes, f.pattern, f.operation, f.called_from, f.operations, f.share, f.bytes, f.element_bytes, f.line, f.evidence, String(f.exact)]));
  return [head, ...rows];
}
