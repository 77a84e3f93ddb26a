/* side.tsx - the panel beside the lanes: details of what is chosen, statistics or blame. */
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { rowsWithin } from "../../model/run.js";
import type { Window } from "../../model/timeline/window.js";
import { useShared } from "../context.js";
import { Costly } from "./costly.jsx";
import { Blame, Statistics } from "./panels.jsx";

const PANELS = ["details", "statistics", "blame"] as const;
export type PanelName = (typeof PANELS)[number] | "none";

export function panelOf(options: Record<string, string>): PanelName {
  return [...PANELS, "none" as const].find((name) => name === options.panel) ?? "statistics";
}

interface Props {
  panel: PanelName;
  /** The selected range, else what is on screen. */
  range: Window;
  selected: boolean;
  depth: number;
  details: ComponentChildren;
}

export function Side({ panel, range, selected, depth, details }: Props) {
  const { run, go } = useShared(), rows = useMemo(() => rowsWithin(run, range), [run, range.from, range.to]), closed = panel === "none";
  const show = (name: PanelName) => go({ panel: name }, { replace: true });
  return (
    <aside class={closed ? "tl-side tl-side-closed" : "tl-side"} aria-label="About what is selected">
      <div class="tl-tabs">
        <div role="tablist" aria-label="What is shown beside the lanes">
          {PANELS.map((name) => (
            <button key={name} type="button" role="tab" id={`tl-tab-${name}`} aria-selected={panel === name} aria-controls={panel === name ? "tl-panel" : undefined} onClick={() => show(name)}>
              {name[0]!.toUpperCase() + name.slice(1)}
            </button>
          ))}
        </div>
        <button type="button" class="tl-close" aria-label={closed ? "Show the panel" : "Hide the panel"} title={closed ? "Show the panel" : "Hide the panel"} onClick={() => show(closed ? "statistics" : "none")}>
          {closed ? "◂" : "▸"}
        </button>
      </div>
      {!closed && (
        <div id="tl-panel" role="tabpanel" aria-labelledby={`tl-tab-${panel}`} class="tl-panel-body" tabIndex={0}>
          {panel === "statistics" && <Costly rows={rows}><Statistics range={range} selected={selected} depth={depth} /></Costly>}
          {panel === "blame" && <Costly rows={rows}><Blame range={range} selected={selected} depth={depth} /></Costly>}
          {panel === "details" && details}
        </div>
      )}
    </aside>
  );
}
