/* code.tsx - lines of the source by the bytes that they move: of copies who asked for them, of kernels' accesses the kernel's own line. */
import { useMemo } from "preact/hooks";
import { hash } from "../../draw/colours.js";
import { bytesText, isOfKernel, lineKey, lineText, wayText, type Comm, type Line } from "../../model/comm.js";
import { useShared } from "../context.js";
import { usePlaces } from "../places.js";
import { Source, type Marks } from "../profile/source.jsx";
import { Frames } from "./frames.jsx";
import { Lines, Looked, Ways } from "./tables.jsx";

const AROUND = 14;

export const lineAt = (row: Line) => hash(lineKey(row)).toString(36);

export function CodeView({ comm, rows }: { comm: Comm; rows: Line[] }) {
  const { address, go } = useShared();
  const own = comm.lines.filter((row) => lineAt(row) === address.options.line), [first] = own;
  return (
    <>
      <div class="comm-beside">
        <Lines rows={rows} all={comm.bytes} keyOf={lineAt} chosen={address.options.line ?? null} onChoose={(line) => go({ line }, { replace: true })} />
        {first && <Chosen key={lineAt(first)} comm={comm} line={first} rows={own} />}
      </div>
      {comm.coverage.length > 0 && (
        <>
          <h2>Kernels that were looked at</h2>
          <Looked rows={comm.coverage} />
        </>
      )}
    </>
  );
}

function Chosen({ comm, line, rows }: { comm: Comm; line: Line; rows: Line[] }) {
  const { go } = useShared(), { openNamed } = usePlaces();
  const marks = useMemo(() => marksOf(comm, line.file), [comm, line.file]);
  const routine = line.kernel ?? line.function, file = line.kernel === null ? line.file : null;
  return (
    <aside class="comm-panel" aria-label="The chosen line">
      <h2>{lineText(line)}</h2>
      <p class="comm-switch">
        {line.node !== null && <button type="button" onClick={() => go({ node: line.node }, { page: "profile" })}>In the profile</button>}
        {routine !== null && <button type="button" onClick={() => void openNamed(routine, file, null, {}, "timeline")}>On the time line</button>}
      </p>
      {line.file !== null && line.line !== null ? <Source file={line.file} line={line.line} around={AROUND} marks={marks} /> : <p class="quiet">Its source line is unknown.</p>}
      <h3>What it moves</h3>
      <Ways rows={rows} all={comm.bytes} table="lines" label="Ways of this line" />
      <Frames title={line.kernel === null ? "Calling context, innermost first" : "Launched from, innermost first"} frames={line.frames} />
    </aside>
  );
}

/** Of the lines of a file: how long their bars are, and what the rows say. */
function marksOf(comm: Comm, file: string | null): Marks {
  const marks: Marks = new Map();
  for (const row of comm.lines) {
    if (row.file === null || row.file !== file || row.line === null) continue;
    const mark = marks.get(row.line) ?? { share: 0, text: "" };
    mark.share += comm.bytes > 0 ? row.bytes / comm.bytes : 0;
    mark.text += `${mark.text && "\n"}${wayText(row)}: ${bytesText(row)}, ${isOfKernel(row) ? `${row.kind}s of threads` : row.kind}`;
    marks.set(row.line, mark);
  }
  return marks;
}
