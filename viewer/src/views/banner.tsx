/* banner.tsx - above every page: what is missing of the measurement, as the report says it first. */
import type { Missing } from "../model/types.js";
import { useLoaded, useShared } from "./context.js";

export function Banner() {
  const { requests } = useShared(), asked = "missing";
  const missing = useLoaded(asked, () => requests.json<Missing>(asked));
  if (missing.state !== "ready") return null; /* it fails where nothing else is answered, which pages say */
  const { warnings, notes } = missing.value;
  if (!warnings.length && !notes.length) return null;
  return (
    <aside class="banner" aria-label="What is missing">
      {warnings.map((warning, i) => (
        <p key={i} class="tone-warning">
          {warning}
        </p>
      ))}
      {notes.length > 0 && (
        <details>
          <summary>{notes.length === 1 ? "One note on these figures" : `${notes.length} notes on these figures`}</summary>
          <ul>
            {notes.map((note, i) => (
              <li key={i}>
                <span class="kind">{note.kind}</span> {note.text}
              </li>
            ))}
          </ul>
        </details>
      )}
    </aside>
  );
}
