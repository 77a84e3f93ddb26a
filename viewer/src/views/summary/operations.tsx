/* operations.tsx - top kernels, copies by direction, collectives: the report's tables, with a bar each for the time on the device. */
import { colourOf } from "../../draw/colours.js";
import { changed, formatAddress, moved } from "../../model/address.js";
import { isNumber, speaksOf } from "../../model/report/table.js";
import { kernelsOf } from "../../model/report/summary.js";
import type { Summary, TextTable, View } from "../../model/types.js";
import { useShared } from "../context.js";
import { Length } from "../parts/bar.jsx";
import { Cut } from "../parts/cut.jsx";
import { Scroll } from "../parts/scroll.jsx";
import { boxOf, BriefHead, widthsOf } from "../parts/table.jsx";
import { pageOf, usePlaces } from "../places.js";
import { LeftOut } from "../tables/items.jsx";

const TITLES: Record<string, { title: string; view: string | null }> = {
  top_kernels: { title: "Kernels", view: "kernels" },
  top_copies: { title: "Copies", view: "copies" },
  collectives: { title: "Collectives", view: null },
};

export function Operations({ table, summary, view }: { table: TextTable; summary: Summary | null; view: View }) {
  const { address, theme } = useShared(), { openNamed } = usePlaces(), about = TITLES[table.name]!, widths = widthsOf(table);
  const total = table.columns.findIndex((column) => column.kind === "time"), most = Math.max(...table.rows.map((row) => row.values[total] ?? 0), 0);
  const kernels = table.name === "top_kernels" ? kernelsOf(table, summary) : [], routine = address.options.routine ?? "";
  return (
    <section aria-label={about.title}>
      <div class="heading">
        <h2>{about.title}</h2>
        {about.view && <a href={formatAddress(changed(moved(address, pageOf(about.view)), { view: about.view }))}>All {about.title.toLowerCase()}</a>}
        <LeftOut table={table} view={view} />
      </div>
      <Scroll class="part-scrolled" label={about.title}>
        <table class="brief" style={boxOf(widths)}>
          <BriefHead columns={table.columns} widths={widths.each} />
          <tbody>
            {table.rows.map((row, r) => (
              <tr key={r} class={routine && (kernels[r]?.label === routine || row.cells.some((cell) => speaksOf(cell, routine))) ? "marked" : undefined}>
                {table.columns.map((column, i) => {
                  const cell = row.cells[i] ?? "", value = row.values[i];
                  return (
                    <td key={i} class={isNumber(column) ? "number" : undefined}>
                      {i === total && most > 0 && value !== null && value !== undefined && <Length share={value / most} colour={kernels[r] ? colourOf(kernels[r].label, theme) : "var(--accent)"} />}
                      {i === 0 && kernels[r] ? (
                        <button type="button" class="link" onClick={() => void openNamed(kernels[r]!.name, null, "operation").catch(() => undefined)}>
                          <Cut text={cell} />
                        </button>
                      ) : isNumber(column) ? (
                        <span class="part-figure">{cell}</span>
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
