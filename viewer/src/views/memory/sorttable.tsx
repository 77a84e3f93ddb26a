/* sorttable.tsx - rows with columns that sort by a click; only so many rows are in the page as were asked for. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Scroll } from "../parts/scroll.jsx";

export interface SortColumn<Row> {
  title: string;
  definition?: string;
  /** What sorts; null is last. */
  value(row: Row): number | string | null;
  cell(row: Row): ComponentChildren;
  /** A part of the whole, as a bar. */
  share?(row: Row): number;
  text?: boolean;
}

interface SortTableProps<Row> {
  label: string;
  rows: readonly Row[];
  columns: SortColumn<Row>[];
  keyOf(row: Row): string | number;
  chosen?: string | number | null;
  onChoose?(row: Row): void;
  /** Rows that are marked, whoever chose them. */
  lit?(row: Row): boolean;
  first?: number;
}

const STEP = 100;

export function SortTable<Row>({ label, rows, columns, keyOf, chosen, onChoose, lit, first = 0 }: SortTableProps<Row>) {
  const [sort, setSort] = useState<{ at: number; descending: boolean }>({ at: first, descending: true });
  const [most, setMost] = useState(STEP);
  const column = columns[sort.at] ?? columns[0]!;
  const ordered = [...rows].sort((a, b) => compare(column.value(a), column.value(b), sort.descending));
  const by = (at: number) => setSort((before) => (before.at === at ? { at, descending: !before.descending } : { at, descending: !columns[at]!.text }));
  return (
    <div class="sort-table">
      <Scroll class="part-scrolled" label={label}>
        <table aria-label={label}>
          <thead>
            <tr>
              {columns.map((one, at) => (
                <th key={one.title} scope="col" class={one.text ? "text" : ""} aria-sort={at === sort.at ? (sort.descending ? "descending" : "ascending") : undefined}>
                  <button type="button" title={one.definition} onClick={() => by(at)}>
                    {one.title}
                    {at === sort.at ? (sort.descending ? " ▾" : " ▴") : ""}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {ordered.slice(0, most).map((row) => {
              const key = keyOf(row);
              return (
                <tr key={key} class={[onChoose && "choosable", lit?.(row) && "lit"].filter(Boolean).join(" ")} aria-selected={onChoose ? key === chosen : undefined} onClick={onChoose && (() => onChoose(row))}>
                  {columns.map((one) => (
                    <td key={one.title} class={one.text ? "text" : ""}>
                      {one.share && one.share(row) > 0 && <span class="part-bar" style={{ width: `${(Math.min(one.share(row), 1) * 100).toFixed(2)}%` }} />}
                      {one.cell(row)}
                    </td>
                  ))}
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
      {ordered.length > most && (
        <button type="button" onClick={() => setMost(most + 10 * STEP)}>
          {`Show more: ${(ordered.length - most).toLocaleString("en-US")} left`}
        </button>
      )}
    </div>
  );
}

export function compare(a: number | string | null, b: number | string | null, descending: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order = typeof a === "string" || typeof b === "string" ? String(a).localeCompare(String(b)) : a - b;
  return descending ? -order : order;
}
