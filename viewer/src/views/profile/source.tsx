/* source.tsx - a line of a source file with those around it, where the file is at hand. */
import { RequestError, request } from "../../model/requests.js";
import { useLoaded, useShared } from "../context.js";

interface SourceLines {
  file: string;
  line: number;
  first: number;
  lines: string[];
  changed: boolean | null;
}

const AROUND = 7;

/** Of lines that have something: how long their bars are, and what is said of them. */
export type Marks = Map<number, { share: number; text: string }>;

export function Source({ file, line, around = AROUND, marks }: { file: string; line: number; around?: number; marks?: Marks }) {
  const { requests } = useShared();
  const asked = request("source", null, { file, line, around });
  const loaded = useLoaded(asked, async () => ({ asked, source: await requests.json<SourceLines>(asked) }));
  if (loaded.state === "failed") return <p class="quiet">{sentenceOf(loaded.error)}</p>;
  if (loaded.state === "loading" || loaded.value.asked !== asked) return <p class="quiet">{`${file}:${line}`}</p>;
  const { source } = loaded.value;
  return (
    <div class="source-box">
      {source.changed && <p class="source-note">The file was changed after the run: lines may have moved.</p>}
      {source.changed === null && <p class="source-note">The file may have been changed while the program ran.</p>}
      <pre class="source-lines" aria-label={`${file}, line ${line}`} tabIndex={0}>
        {source.lines.map((text, at) => {
          const number = source.first + at, mark = marks?.get(number);
          return (
            <span key={number} class={number === line ? "source-line this" : "source-line"} title={mark?.text}>
              {marks && <span class="source-mark">{mark && <i style={{ width: `${Math.max(100 * Math.min(mark.share, 1), 4).toFixed(1)}%` }} />}</span>}
              <span class="source-number">{number}</span>
              {`${text}\n`}
            </span>
          );
        })}
      </pre>
    </div>
  );
}

function sentenceOf(error: Error): string {
  const { why, hint } = error instanceof RequestError ? error.problem : { why: null, hint: null };
  return error.message + (why ? `: ${why}` : "") + (hint ? `; ${hint}` : "");
}
