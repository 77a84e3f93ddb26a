/* idle.tsx - what the devices were idle for, and where: the report's table, with the colours of the bars above it. */
import { KINDS } from "../../model/report/summary.js";
import type { TextTable } from "../../model/types.js";
import { formatAddress, changed, moved } from "../../model/address.js";
import { useShared } from "../context.js";
import { Length } from "../parts/bar.jsx";
import { Cut } from "../parts/cut.jsx";
import { boxOf, ColumnWidths, widthsOf } from "../parts/table.jsx";

export function IdleList({ table }: { table: TextTable }) {
  const { address } = useShared(), widths = widthsOf(table);
  return (
    <section aria-label="Idle time">
      <div class="heading">
        <h2>Idle time</h2>
        <a href={formatAddress(changed(moved(address, "tables"), { view: "blame" }))}>Who to blame</a>
      </div>
      <table class="brief" style={boxOf(widths)}>
        <ColumnWidths each={widths.each} />
        <thead>
          <tr>
            {table.columns.map((column, i) => (
              <th key={i} scope="col" class={column.kind === "text" ? undefined : "number"}>
                <span data-tip={column.definition ?? undefined} tabIndex={0}>
                  {column.title}
                </span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, r) => (
            <tr key={r} class={r > 0 && row.cells[0] !== null && table.name === "idle_of_devices" ? "group" : undefined}>
              {table.columns.map((column, i) => {
                const cell = row.cells[i] ?? "", kind = kindOf(cell), value = row.values[i];
                return (
                  <td key={i} class={column.kind === "text" ? undefined : "number"}>
                    {column.kind === "share" && value !== null && value !== undefined && <Length share={value} />}
                    {kind && <span class={`swatch kind-${kind}`} />}
                    {column.kind === "text" ? <Cut text={cell} /> : <span class="part-figure">{cell}</span>}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function kindOf(words: string): string | null {
  return Object.entries(KINDS).find(([, said]) => said === words)?.[0] ?? null;
}
