/* tools.tsx - the row of buttons above the lanes. */
import type { Window } from "../../model/timeline/window.js";
import { useShared } from "../context.js";
import { PictureButtons } from "../parts/download.jsx";
import { DEPTH_MOST, type Actions } from "./actions.js";
import { pictureOf } from "./export.js";
import type { Stage, Status } from "./stage.js";

interface Props {
  stage: { current: Stage | null };
  actions: Actions;
  status: Status;
  range: Window | null;
  depth: number;
  showsPath: boolean;
  /** Those that are highlighted. */
  routines: Set<string>;
  /** All of the trace is to be read. */
  exact: boolean;
  onExact(exact: boolean): void;
}

export function Tools({ stage, actions, status, range, depth, showsPath, routines, exact, onExact }: Props) {
  const { go, address: { options } } = useShared();
  return (
    <div class="tl-tools" role="toolbar" aria-label="Time line">
      <label>Call depth <input type="number" min={0} max={DEPTH_MOST} value={depth} title="Of threads: 0 shows the innermost function, 1 the outermost, 2 what it called …"
        onChange={(event) => go({ depth: Number(event.currentTarget.value) || null })} /></label>
      <span class="tl-buttons">
        <button type="button" title="Zoom in (w)" aria-label="Zoom in" onClick={() => actions.do("zoom-in")}>+</button>
        <button type="button" title="Zoom out (s)" aria-label="Zoom out" onClick={() => actions.do("zoom-out")}>−</button>
        <button type="button" title="Show the whole run (0)" onClick={() => actions.do("all")}>Whole run</button>
        {range && <button type="button" title="Zoom to the selected range (f)" onClick={() => stage.current?.lookAt(range.from, range.to)}>Zoom to range</button>}
        {range && <button type="button" onClick={() => go({ from: null, to: null })}>Clear range</button>}
      </span>
      <span class="tl-buttons">
        <button type="button" aria-pressed={showsPath} title="Draws over the lanes what decided how long the run took; pointing at it names the step (c)" onClick={() => actions.do("path")}>Critical path</button>
      </span>
      {routines.size > 0 && (
        <span class="tl-buttons">
          <button type="button" aria-label="Previous of the highlighted routine" title="Previous (N)" onClick={() => actions.do("hit-back")}>◂</button>
          <button type="button" aria-label="Next of the highlighted routine" title="Next (n)" onClick={() => actions.do("hit")}>▸</button>
          <span class="tl-routine" title={[...routines].join("\n")}>{options.routine ?? `“${options.find}”, ${routines.size} routines`}</span>
          <button type="button" aria-label="Highlight nothing" title="Highlight nothing (Esc)" onClick={() => go({ routine: null, find: null })}>✕</button>
        </span>
      )}
      <span class="tl-status" role="status">
        {status.partial
          ? <button type="button" aria-pressed={exact} title="What is hatched or coarse was not read, since it would take a while." onClick={() => onExact(!exact)}>{exact ? "Reading all …" : "Read all"}</button>
          : exact && <button type="button" aria-pressed="true" onClick={() => onExact(false)}>All is read</button>}
        {status.badTimes > 0 && <span class="quiet">Not drawn, since their times cannot be: {status.badTimes}</span>}
      </span>
      <span class="tl-busy quiet" aria-hidden="true">{status.busy ? "reading …" : ""}</span>
      <span class="tl-buttons">
        <PictureButtons name="timeline" svg={() => stage.current && pictureOf(stage.current)} />
      </span>
    </div>
  );
}
