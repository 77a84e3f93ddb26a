/* critical.tsx - the page Critical path: what decided how long the run took, and what faster parts would save. */
import { useMemo } from "preact/hooks";
import { request } from "../../model/requests.js";
import { rangeOf } from "../../model/address.js";
import { categoryMeaning, categoryText, frameText, partsOf, pathKey, pathName, savingOf, thingKey, type CriticalPath, type PathPlace, type PathStay, type PathThing } from "../../model/critical.js";
import { isOf, longestStep, stepsOf, type PathHeader, type Steps } from "../../model/path.js";
import type { Text } from "../../model/types.js";
import { formatCount, formatShare, formatTime } from "../../model/units.js";
import { DARK_INKS, LIGHT_INKS } from "../../draw/colours.js";
import { csvOf, saveText } from "../../draw/save.js";
import { pathSvg } from "../../model/saved.js";
import { PictureButtons } from "../parts/download.jsx";
import { TimesDiffer } from "../parts/times.jsx";
import { useLoaded, useShared, type Loaded } from "../context.js";
import { Failure } from "../failure.jsx";
import { SortTable, type SortColumn } from "../memory/sorttable.jsx";
import { categoryColour } from "./palette.js";
import { Strip } from "./strip.jsx";
import "../profile/profile.css";
import "../memory/memory.css";
import "./critical.css";

export function CriticalPage() {
  const { requests, address, go } = useShared();
  const critical = useLoaded("critical", () => requests.json<CriticalPath[]>("view/critical"));
  if (critical.state === "loading") return <p class="quiet">Reading …</p>;
  if (critical.state === "failed") return <Failure error={critical.error} />;
  const paths = critical.value, path = paths.find((one) => pathKey(one) === address.options.process) ?? paths[0];
  if (!path) return <p>There is no trace.</p>;
  return (
    <div class="critical">
      <h1 class="unseen">Critical path</h1>
      <div class="profile-controls">
        {paths.length > 1 && (
          <select aria-label="Process" value={pathKey(path)} onChange={(event) => go({ process: event.currentTarget.value, thing: null })}>
            {paths.map((one) => (
              <option key={pathKey(one)} value={pathKey(one)}>
                {`${pathName(one)}: ${formatTime(one.length_ns)}`}
              </option>
            ))}
          </select>
        )}
        <strong>{`${formatTime(path.length_ns)}, from ${path.limited ? "the start of the examined part" : "the start"} to the last recorded event`}</strong>
      </div>
      <OnePath key={pathKey(path)} path={path} />
      <Sentences />
    </div>
  );
}

function OnePath({ path }: { path: CriticalPath }) {
  const { requests, run, views, theme, address, go } = useShared();
  const process = run.processes.find((one) => one.name === path.process)?.process ?? 0;
  const asked = request("path", null, path.process === null ? { job: true } : { process });
  const steps = useLoaded(asked, async () => stepsOf(await requests.columns<PathHeader>(asked)));
  const view = views.find((one) => one.name === "critical"), parts = partsOf(path);
  const thing = path.things.find((one) => thingKey(one) === address.options.thing) ?? null;
  const wanted = useMemo(() => (steps.state === "ready" && thing ? isOf(steps.value, thing) : null), [steps, thing]);
  const range = rangeOf(address);
  const choose = (one: PathThing | null) => go(one && one !== thing ? { thing: thingKey(one), routine: labelOf(one) } : { thing: null, routine: null }, { replace: true });
  /* As other pages call it, so that it is highlighted there. */
  const labelOf = (one: PathThing) => {
    const longest = steps.state === "ready" ? longestStep(steps.value, isOf(steps.value, one)) : -1;
    return steps.state === "ready" && longest >= 0 ? (steps.value.header.strings[steps.value.label[longest]!] ?? null) : null;
  };
  return (
    <>
      <div class="composition" role="img" aria-label={`Composition: ${parts.map((part) => `${categoryText(part.category)} ${formatShare(part.share)}`).join(", ")}`}>
        {parts.map((part) => (
          <span key={part.category} style={{ flexGrow: String(part.share), background: categoryColour(part.category, theme) }} title={`${categoryText(part.category)}: ${formatTime(part.ns)}, ${formatShare(part.share)}, ${formatCount(part.steps)} steps`} />
        ))}
      </div>
      <ul class="path-legend">
        {[...parts]
          .sort((a, b) => b.ns - a.ns)
          .map((part) => (
            <li key={part.category} title={categoryMeaning(view, part.category)}>
              <span class="memory-swatch" style={{ background: categoryColour(part.category, theme) }} />
              {categoryText(part.category)} <strong>{formatShare(part.share)}</strong> <span class="quiet">{`${formatTime(part.ns)}, ${formatCount(part.steps)} ${part.steps === 1 ? "step" : "steps"}`}</span>
            </li>
          ))}
      </ul>
      {steps.state === "ready" && <Strip steps={steps.value} length_ns={run.length_ns} wanted={wanted} theme={theme} range={range} onRange={(next) => go({ from: next?.from ?? null, to: next?.to ?? null }, { replace: true })} />}
      {steps.state === "ready" && (
        <p>
          <PictureButtons name="critical" svg={() => pathSvg(steps.value, run.length_ns, 1200, 72, wanted, (category) => categoryColour(category, theme), theme.dark ? DARK_INKS : LIGHT_INKS)} />
        </p>
      )}
      <WhatIf path={path} thing={thing} steps={steps} onChoose={choose} />
      {path.stays.length > 0 && <Stays path={path} />}
      <h2>What is on it</h2>
      <Things path={path} thing={thing} onChoose={choose} />
      <TimesDiffer here="Critical path" />
      <h2>Where it is called</h2>
      <Places path={path} />
    </>
  );
}

/** What the report answers when an activity is twice as fast. */
function WhatIf({ path, thing, steps, onChoose }: { path: CriticalPath; thing: PathThing | null; steps: Loaded<Steps>; onChoose(thing: PathThing | null): void }) {
  const { go } = useShared();
  const evaluated = path.things.filter((one) => one.saving_ns !== null), saving = thing && savingOf(path, thing);
  const longest = thing && steps.state === "ready" ? longestStep(steps.value, isOf(steps.value, thing)) : -1;
  const show = () => {
    if (steps.state !== "ready" || longest < 0) return;
    const begin = steps.value.begin[longest]!, end = steps.value.end[longest]!, room = Math.max((end - begin) * 0.2, 1);
    go({ from: Math.max(Math.floor(begin - room), 0), to: Math.ceil(end + room), routine: steps.value.header.strings[steps.value.label[longest]!] ?? null }, { page: "timeline" });
  };
  return (
    <div class="what-if">
      <label>
        What if{" "}
        <select value={thing ? thingKey(thing) : ""} onChange={(event) => onChoose(path.things.find((one) => thingKey(one) === event.currentTarget.value) ?? null)}>
          <option value="">…</option>
          {[...evaluated, ...(thing && thing.saving_ns === null ? [thing] : [])].map((one) => (
            <option key={thingKey(one)} value={thingKey(one)}>
              {shortened(one.name, 80)}
            </option>
          ))}
        </select>{" "}
        were twice as fast?
      </label>
      {saving &&
        (saving.evaluated ? (
          <p role="status">
            The run would be up to <strong>{formatTime(saving.saved_ns)}</strong> shorter
            {path.length_ns > 0 ? ` (${formatShare(saving.saved_ns / path.length_ns)})` : ""}: {formatTime(saving.length_ns)} in place of {formatTime(path.length_ns)}.
            {saving.inferred ? " The saving reaches the end of the run only over an inferred step." : ""}
          </p>
        ) : (
          <p role="status">{`Not evaluated: that is done for the activities with most time. Half of its time is the most that it could save: ${formatTime(saving.saved_ns)}.`}</p>
        ))}
      {longest >= 0 && (
        <button type="button" onClick={show}>
          Its longest step on the time line
        </button>
      )}
      {longest >= 0 && steps.state === "ready" && steps.value.node[longest]! > 0 && (
        <button type="button" onClick={() => go({ node: steps.value.node[longest]!, shape: null, by: null, find: null }, { page: "profile" })}>
          Its call path in the profile
        </button>
      )}
    </div>
  );
}

function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most / 2)}…${text.slice(-most / 2)}`;
}

function errorText(ns: number, error_ns: number): string {
  return error_ns > ns / 200 ? ` ± ${formatTime(error_ns)}` : "";
}

/** Through which ranks it leads. */
function Stays({ path }: { path: CriticalPath }) {
  const { go } = useShared();
  const part = (title: string, ...names: string[]): SortColumn<PathStay> => {
    const ns = (one: PathStay) => names.reduce((sum, name) => sum + (one.composition[name] ?? 0), 0);
    return { title, value: ns, cell: (one) => formatTime(ns(one)) };
  };
  const columns: SortColumn<PathStay>[] = [
    { title: "rank", text: true, value: (one) => one.rank ?? one.process, cell: (one) => <button type="button" class="path-link" title="Its own path" onClick={() => go({ process: one.process, thing: null })}>{pathName(one)}</button> },
    { title: "time", definition: "time of the path in this process", value: (one) => one.ns, cell: (one) => formatTime(one.ns), share: (one) => one.ns / path.length_ns },
    { title: "share", definition: "time as % of the path length", value: (one) => one.ns, cell: (one) => formatShare(one.ns / path.length_ns) },
    { title: "visits", definition: "how often the path comes to it from another one, or ends in it", value: (one) => one.count, cell: (one) => formatCount(one.count) },
    part("host code", "host", "start_up"), part("API calls", "api"), part("MPI", "message"), part("kernels", "kernel"), part("copies, fills", "copy", "set"), part("delays", "launch", "gap"),
  ];
  return (
    <>
      <h2>Through which ranks it leads</h2>
      <SortTable label="Ranks on the critical path" rows={path.stays} columns={columns} keyOf={(one) => one.process} first={1} />
    </>
  );
}

function Things({ path, thing, onChoose }: { path: CriticalPath; thing: PathThing | null; onChoose(thing: PathThing): void }) {
  const { views } = useShared();
  const columns = views.find((view) => view.name === "critical")?.tables.find((table) => table.name === "things")?.columns ?? [];
  const define = (name: string) => columns.find((column) => column.name === name)?.definition ?? undefined;
  const shown: SortColumn<PathThing>[] = [
    {
      title: "activity", text: true, definition: define("name"), value: (one) => one.name,
      cell: (one) => (
        <button type="button" class="path-link" title={[one.name, one.file ?? one.module].filter(Boolean).join("\n")} aria-pressed={one === thing} onClick={(event) => { event.stopPropagation(); onChoose(one); }}>
          {one.name}
          {one.file !== null && <span class="quiet">{` ${one.file.slice(one.file.lastIndexOf("/") + 1)}`}</span>}
        </button>
      ),
    },
    { title: "time", definition: define("ns"), value: (one) => one.ns, cell: (one) => `${formatTime(one.ns)}${errorText(one.ns, one.error_ns)}`, share: (one) => one.ns / path.length_ns },
    { title: "share", definition: "time as % of the path length", value: (one) => one.ns, cell: (one) => formatShare(path.length_ns > 0 ? one.ns / path.length_ns : null) },
    { title: "steps", definition: define("steps"), value: (one) => one.steps, cell: (one) => formatCount(one.steps) },
    { title: "delay before", definition: define("delay_ns"), value: (one) => one.delay_ns, cell: (one) => formatTime(one.delay_ns) },
    { title: "saved if 2× faster", definition: define("saving_ns"), value: (one) => one.saving_ns, cell: (one) => savingText(path, one) },
    { title: "category", text: true, definition: define("category"), value: (one) => one.category, cell: (one) => categoryText(one.category) },
  ];
  if (path.stays.length)
    shown.push({ title: "mostly in", definition: define("most_rank"), value: (one) => one.most_rank, cell: (one) => (one.most_rank === null ? "-" : `rank ${one.most_rank}`) });
  const save = () =>
    saveText("critical.csv", csvOf([["activity", "category", "ns", "error_ns", "steps", "delay_ns", "saving_ns", "half_ns"], ...path.things.map((one) => [one.name, one.category, one.ns, one.error_ns, one.steps, one.delay_ns, one.saving_ns, one.half_ns])]), "text/csv");
  return (
    <>
      <SortTable label="Activities on the critical path" rows={path.things} columns={shown} keyOf={thingKey} first={1} chosen={thing && thingKey(thing)} onChoose={onChoose} />
      <p>
        <button type="button" onClick={save}>
          CSV
        </button>
      </p>
    </>
  );
}

function savingText(path: CriticalPath, thing: PathThing): string {
  const saving = savingOf(path, thing);
  if (!saving.evaluated) return "-";
  return saving.inferred ? `(${formatTime(saving.saved_ns)})` : formatTime(saving.saved_ns);
}

function Places({ path }: { path: CriticalPath }) {
  const rows = useMemo(() => path.contexts.map((place, number) => ({ place, number })), [path]);
  const basis = (place: PathPlace) => (!place.frames.length ? "-" : place.inferred_ns * 2 > place.ns ? "inferred" : place.pooled_ns * 2 > place.ns ? "pooled" : place.category === "host" ? "sampled" : "exact");
  const columns: SortColumn<{ place: PathPlace; number: number }>[] = [
    { title: "time", value: ({ place }) => place.ns, cell: ({ place }) => `${formatTime(place.ns)}${errorText(place.ns, place.error_ns)}`, share: ({ place }) => place.ns / path.length_ns },
    { title: "share", value: ({ place }) => place.ns, cell: ({ place }) => formatShare(path.length_ns > 0 ? place.ns / path.length_ns : null) },
    { title: "steps", value: ({ place }) => place.steps, cell: ({ place }) => formatCount(place.steps) },
    { title: "category", text: true, value: ({ place }) => place.category, cell: ({ place }) => categoryText(place.category) },
    { title: "basis", text: true, definition: "exact: a stack taken there; sampled; pooled: from samples of similar gaps; inferred: from the surrounding API calls' stacks", value: ({ place }) => basis(place), cell: ({ place }) => basis(place) },
    { title: "call path", text: true, definition: "frames, innermost first", value: ({ place }) => place.frames.map(frameText).join(" ← "), cell: ({ place }) => <span title={place.frames.map(frameText).join("\n← ")}>{place.frames.length ? place.frames.slice(0, 3).map(frameText).join(" ← ") : "unknown"}</span> },
  ];
  return <SortTable label="Call paths on the critical path" rows={rows} columns={columns} keyOf={(row) => row.number} />;
}

/** What the report says of it in words. */
function Sentences() {
  const { requests } = useShared();
  const text = useLoaded("text", () => requests.json<Text>(request("text", "critical")));
  if (text.state !== "ready") return null;
  const said = text.value.items.flatMap((item) => (item.kind === "sentence" && item.text !== "" ? [item.text] : []));
  return (
    <>
      {[...said, ...text.value.notes.map((note) => `note: ${note.text}`)].map((line) => (
        <p key={line} class="quiet">
          {line}
        </p>
      ))}
    </>
  );
}
