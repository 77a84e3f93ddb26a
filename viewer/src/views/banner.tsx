/* banner.tsx - above every page: what is missing of the measurement, as the report says it first. */
import { request } from "../model/requests.js";
import type { Text, TextItem } from "../model/types.js";
import { useLoaded, useShared } from "./context.js";

export function Banner() {
  const { requests } = useShared(), asked = request("text", "summary");
  const text = useLoaded(asked, () => requests.json<Text>(asked));
  if (text.state !== "ready") return null; /* the page that asks for it says why */
  const warnings = warningsOf(text.value.items), { notes } = text.value;
  if (!warnings.length && !notes.length) return null;
  return (
    <aside class="banner" aria-label="What is missing">
      {warnings.map((item, i) => (
        <p key={i} class={`tone-${item.tone}`}>
          {item.head}
          {item.text}
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

type Sentence = Extract<TextItem, { kind: "sentence" }>;

export function warningsOf(items: TextItem[]): Sentence[] {
  return items.filter((item): item is Sentence => item.kind === "sentence" && (item.tone === "warning" || item.tone === "error"));
}
