/* dependencies.tsx - what the chosen interval waited for, and what waited for it: asked for, and as a list in the panel. */
import { useEffect, useState } from "preact/hooks";
import { dependenciesOf, reasonWords, unknownWords, type Dependencies, type Dependency } from "../../model/timeline/dependencies.js";
import type { Interval } from "../../model/timeline/intervals.js";
import { RequestError } from "../../model/requests.js";
import type { Process } from "../../model/types.js";
import { formatCount, formatTime } from "../../model/units.js";
import { useShared, type Loaded } from "../context.js";
import { Failure } from "../failure.jsx";

/** null: the interval has none, since it is neither an operation nor a call. What is not of this interval is not there. */
export function useDependencies(interval: Interval | null, process: Process | null): Loaded<Dependencies | null> {
  const { requests } = useShared(), asked = interval && process ? dependenciesOf(interval, process) : null;
  const [known, setKnown] = useState<{ asked: string; loaded: Loaded<Dependencies | null> } | null>(null);
  useEffect(() => {
    if (!asked) return;
    const controller = new AbortController(), keep = (loaded: Loaded<Dependencies | null>) => !controller.signal.aborted && setKnown({ asked, loaded });
    requests.json<Dependencies>(asked, controller.signal).then(
      (value) => keep({ state: "ready", value }),
      (error: Error) => keep(error instanceof RequestError && error.status === 404 ? { state: "ready", value: null } : { state: "failed", error }),
    );
    return () => controller.abort();
  }, [asked]);
  if (!asked) return { state: "ready", value: null };
  return known?.asked === asked ? known.loaded : { state: "loading" };
}

interface Props {
  loaded: Loaded<Dependencies | null>;
  laneTitle(lane: number): string;
  onGo(to: Dependency): void;
}

export function DependencyFacts({ loaded, laneTitle, onGo }: Props) {
  if (loaded.state === "failed") return <Failure error={loaded.error} />;
  if (loaded.state === "loading") return <p class="quiet">Reading what it waited for …</p>;
  const of = loaded.value;
  if (!of) return null;
  if (of.unknown) return <p class="quiet">{unknownWords(of.unknown)}</p>;
  return (
    <>
      <h3>It waited for</h3>
      {of.before.length ? <List of={of.before} own={of} left={of.before_left_out} laneTitle={laneTitle} onGo={onGo} /> : <p class="quiet">Nothing that is known.</p>}
      <h3>What waited for it</h3>
      {of.after.length ? <List of={of.after} own={null} left={of.after_left_out} laneTitle={laneTitle} onGo={onGo} /> : <p class="quiet">Nothing that is known.</p>}
      {of.dropped && <p class="quiet">Rows of the trace were dropped while recording: there may be others.</p>}
    </>
  );
}

const DECIDED = "Of all that had to finish first, this finished last", SLACK = "How much later it could have finished before it had decided";

/** `own`: the list is of what that one waited for. */
function List({ of, own, left, laneTitle, onGo }: { of: Dependency[]; own: Dependencies | null; left: number; laneTitle(lane: number): string; onGo(to: Dependency): void }) {
  return (
    <ul class="tl-links">
      {of.map((one, i) => (
        <li key={i} class={one.decided ? "tl-deciding" : ""}>
          <button type="button" title={`${laneTitle(one.lane)}\n${reasonWords(one)}`} onClick={() => onGo(one)}>{one.name ?? "unknown"}</button>
          <span class="quiet" title={one.decided ? DECIDED : SLACK}>{reasonWords(one)}; {slackWords(one, own)}</span>
        </li>
      ))}
      {left > 0 && <li class="quiet">and {formatCount(left)} more</li>}
    </ul>
  );
}

function slackWords(one: Dependency, own: Dependencies | null): string {
  if (!one.decided) return `slack ${formatTime(one.slack_ns)}`;
  if (!own) return one.kind === "call" ? "this decided when it returned" : "this decided its start";
  return own.delay_ns === null ? "decided when it returned" : `decided its start, ${own.delay_ns ? `${formatTime(own.delay_ns)} before` : "without delay"}`;
}
