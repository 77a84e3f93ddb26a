/* costly.tsx - around what reads all rows of the range on screen: of many it asks first, so that a large measurement opens and moves at once. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { aboutRows, ROWS_AT_ONCE } from "../../model/run.js";

/** `rows`: about how many have to be read. Who agreed once is asked again where there are more. */
export function Costly({ rows, children }: { rows: number; children: ComponentChildren }) {
  const [allowed, allow] = useState(ROWS_AT_ONCE);
  if (rows <= allowed) return <>{children}</>;
  return (
    <div class="tl-panel">
      <p>This range has about {aboutRows(rows)} of the trace, which take a while to read. Zoom in, select a shorter one, or</p>
      <button type="button" onClick={() => allow(rows)}>
        Read {aboutRows(rows)}
      </button>
    </div>
  );
}
