/* idle.tsx - what the devices were idle for, and where: the report's table, with the colours of the bars above it. */
import { KINDS } from "../../model/report/summary.js";
import type { TextRow, TextTable } from "../../model/types.js";
import { formatAddress, changed, moved } from "../../model/address.js";
import { useShared } from "../context.js";
import { Length } from "../parts/bar.jsx";
import { Cut } from "../parts/cut.jsx";
import { Scroll } from "../parts/scroll.jsx";
import { boxOf, BriefHead, widthsOf } from "../parts/table.jsx";
import { usePlaces } from "../places.js";

/** Of these the place is a routine. */
const NAMED = ["host_code", "compiles", "memory", "api_calls", "waits"];

export function IdleList({ table }: { table: TextTable }) {
  const { address } = useShared(), { openPlace } = usePlaces(), widths = widthsOf(table);
  return (
    <section aria-label="Idle time">
      <div class="heading">
        <h2>Idle time</h2>
        <a href={formatAddress(changed(moved(address, "tables"), { view: "blame" }))}>Who to blame</a>
      </div>
      <Scroll class="part-scrolled" label="Idle time">
        <table class="brief" style={boxOf(widths)}>
          <BriefHead columns={table.columns} widths={widths.each} />
          <tbody>
            {table.rows.map((row, r) => (
              <tr key={r} class={r > 0 && row.cells[0] !== null && table.name === "idle_of_devices" ? "group" : undefined}>
                {table.columns.map((column, i) => {
                  const cell = row.cells[i] ?? "", kind = kindOf(cell), value = row.values[i];
                  return (
                    <td key={i} class={column.kind === "text" ? undefined : "number"}>
                      {column.kind === "share" && value !== null && value !== undefined && <Length share={value} />}
                      {kind && <span class={`swatch kind-${kind}`} />}
                      {column.kind !== "text" ? (
                        <span class="part-figure">{cell}</span>
                      ) : cell && i === table.columns.length - 1 && isNamed(row) ? (
                        <button type="button" class="link" onClick={() => void openPlace(cell).catch(() => undefined)}>
                          <Cut text={cell} />
                        </button>
                      ) : (
                        <Cut text={cell} />
                      )}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

function isNamed(row: TextRow): boolean {
  return row.cells.some((cell) => cell !== null && NAMED.includes(kindOf(cell) ?? ""));
}

function kindOf(words: string): string | null {
  return Object.entries(KINDS).find(([, said]) => said === words)?.[0] ?? null;
}
