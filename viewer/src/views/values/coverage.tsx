/* coverage.tsx - which operations' values were looked at, and why not all. */
import { formatCount, formatShare } from "../../model/units.js";
import { definitionOf, type Coverage } from "../../model/values/answer.js";
import { useShared } from "../context.js";
import { Scroll } from "../parts/scroll.jsx";

export function CoverageTable({ coverage }: { coverage: Coverage[] }) {
  const { views } = useShared();
  const means = (column: string) => definitionOf(views, "coverage", column);
  return (
    <section aria-labelledby="values-coverage">
      <h2 id="values-coverage">What was looked at</h2>
      <Scroll class="values-scroll" label="What was looked at">
        <table class="values-coverage">
          <thead>
            <tr>
              <th scope="col" title={means("kernel")}>Looked at</th>
              <th scope="col" title={means("engine")}>engine</th>
              <th scope="col" class="number" title={means("launches")}>operations</th>
              <th scope="col" class="number" title={means("looked_at")}>compared</th>
              <th scope="col"><span class="values-hidden">share</span></th>
              <th scope="col" title={means("reason")}>why not all, or not exactly</th>
            </tr>
          </thead>
          <tbody>
            {coverage.map((c, i) => (
              <tr key={i}>
                <th scope="row">{c.kernel ?? "-"}</th>
                <td>{c.engine}</td>
                <td class="number">{formatCount(c.launches)}</td>
                <td class="number">{formatCount(c.looked_at)}</td>
                <td>
                  <meter min={0} max={Math.max(1, c.launches)} value={c.looked_at} aria-label={`${c.looked_at} of ${c.launches}`}
                    title={formatShare(c.launches ? c.looked_at / c.launches : null)} />
                </td>
                <td>{c.reason ?? "-"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}
