/* memory.tsx - the page Memory: how much was held over the run, and by whom at an instant. */
import { useMemo } from "preact/hooks";
import { request } from "../../model/requests.js";
import { colourKeys, holdersAt, pointAt, siteText, spaceText, type Memory, type MemorySite, type MemorySpace, type ObjectSite, type Objects } from "../../model/memory.js";
import type { Text, View } from "../../model/types.js";
import { formatBytes, formatCount, formatShare, formatTime } from "../../model/units.js";
import { colourOf, DARK_INKS, LIGHT_INKS } from "../../draw/colours.js";
import { csvOf, saveText } from "../../draw/save.js";
import { memorySvg } from "../../model/saved.js";
import { PictureButtons } from "../parts/download.jsx";
import { useLoaded, useShared } from "../context.js";
import { Failure } from "../failure.jsx";
import { MemoryChart, OTHERS } from "./chart.jsx";
import { SortTable, type SortColumn } from "./sorttable.jsx";
import "../profile/profile.css";
import "./memory.css";

export function MemoryPage() {
  const { requests, address, go } = useShared();
  const memory = useLoaded("memory", () => requests.json<Memory>("view/memory"));
  if (memory.state === "loading") return <p class="quiet">Reading …</p>;
  if (memory.state === "failed") return <Failure error={memory.error} />;
  const { spaces } = memory.value, at = Math.min(Math.max(Math.floor(Number(address.options.space ?? 0)) || 0, 0), Math.max(spaces.length - 1, 0)), space = spaces[at];
  const several = new Set(spaces.map((one) => one.process)).size > 1;
  return (
    <div class="memory">
      <h1 class="unseen">Memory</h1>
      {space === undefined ? (
        <p>No allocation was recorded.</p>
      ) : (
        <>
          <div class="profile-controls">
            {spaces.length > 1 && (
              <select aria-label="Which memory" value={String(at)} onChange={(event) => go({ space: event.currentTarget.value, at: null })}>
                {spaces.map((one, i) => (
                  <option key={i} value={String(i)}>{`${spaceText(one, several)}, peak ${formatBytes(one.peak_bytes)}`}</option>
                ))}
              </select>
            )}
            {spaces.length === 1 && <strong>{spaceText(space, several)}</strong>}
          </div>
          {memory.value.incomplete && <p class="source-note">More objects than the table holds: counts and peaks are lower bounds.</p>}
          <Space key={at} space={space} />
        </>
      )}
      <Lifetimes />
      <Sentences />
    </div>
  );
}

/** Definitions of the columns, from the view's descriptors. */
function definitions(views: View[], view: string, table: string): (name: string) => string | undefined {
  const columns = views.find((one) => one.name === view)?.tables.find((one) => one.name === table)?.columns ?? [];
  return (name) => columns.find((column) => column.name === name)?.definition ?? undefined;
}

function Space({ space }: { space: MemorySpace }) {
  const { theme, address, go, views } = useShared();
  const labels = useMemo(() => space.sites.map((site) => siteText(site.frames)), [space]);
  const keys = useMemo(() => colourKeys(space.sites), [space]);
  const define = definitions(views, "memory", "sites"), describe = definitions(views, "memory", "spaces");
  const asked = Number(address.options.at ?? NaN), atPeak = !(asked >= 0), at = atPeak ? space.peak_ns - space.begin_ns : Math.min(asked, space.end_ns - space.begin_ns);
  const point = pointAt(space, at + space.begin_ns), holders = holdersAt(space, point), level = point < 0 ? 0 : space.series.bytes[point]!;
  const held = new Map(holders.map((holder) => [holder.site, holder.bytes]));
  const told = space.series.sites.length, colour = (site: number) => (site < 0 ? (theme.dark ? OTHERS.dark : OTHERS.light) : colourOf(keys[site] ?? "", theme));
  const facts: [string, string, string | undefined][] = [
    ["peak", `${formatBytes(space.peak_bytes)}${space.capacity_bytes ? `, ${formatShare(space.peak_bytes / space.capacity_bytes)} of the device` : ""}`, describe("peak_bytes")],
    ["at", formatTime(space.peak_ns - space.begin_ns), describe("peak_ns")],
    ["allocated", `${formatCount(space.objects)} objects, ${formatBytes(space.bytes)}`, describe("objects")],
    ["alive at the end", `${formatCount(space.alive)}, ${formatBytes(space.alive_bytes)}`, describe("alive")],
  ];
  const columns: SortColumn<{ site: MemorySite; number: number }>[] = [
    { title: "allocated by", definition: define("frames"), text: true, value: ({ number }) => labels[number]!, cell: ({ site, number }) => <SiteName frames={site.frames} text={labels[number]!} colour={number < told ? colour(number) : null} /> },
    { title: "at the instant", definition: "bytes held at the chosen instant; known of the eight call paths that hold most at the peak", value: ({ number }) => (number < told ? (held.get(number) ?? 0) : null), cell: ({ number }) => (number < told ? formatBytes(held.get(number) ?? 0) : "-"), share: ({ number }) => (level > 0 ? (held.get(number) ?? 0) / level : 0) },
    { title: "at the peak", definition: define("peak_bytes"), value: ({ site }) => site.peak_bytes, cell: ({ site }) => formatBytes(site.peak_bytes), share: ({ site }) => (space.peak_bytes > 0 ? site.peak_bytes / space.peak_bytes : 0) },
    { title: "objects at the peak", definition: define("peak_objects"), value: ({ site }) => site.peak_objects, cell: ({ site }) => formatCount(site.peak_objects) },
    { title: "allocated", definition: define("objects"), value: ({ site }) => site.objects, cell: ({ site }) => formatCount(site.objects) },
    { title: "bytes", definition: define("bytes"), value: ({ site }) => site.bytes, cell: ({ site }) => formatBytes(site.bytes) },
    { title: "alive at the end", definition: define("alive_bytes"), value: ({ site }) => site.alive_bytes, cell: ({ site }) => (site.alive ? `${formatCount(site.alive)}, ${formatBytes(site.alive_bytes)}` : "0") },
    { title: "left behind", definition: define("left_behind_bytes"), value: ({ site }) => site.left_behind_bytes, cell: ({ site }) => formatBytes(site.left_behind_bytes) },
    { title: "never used", definition: define("unused_bytes"), value: ({ site }) => site.unused_bytes, cell: ({ site }) => formatBytes(site.unused_bytes) },
    { title: "kind", definition: define("kind"), text: true, value: ({ site }) => site.kind, cell: ({ site }) => site.kind },
  ];
  const rows = useMemo(() => space.sites.map((site, number) => ({ site, number })), [space]);
  const saveSites = () =>
    saveText("memory.csv", csvOf([["kind", "allocated by", "peak_bytes", "peak_objects", "objects", "bytes", "alive", "alive_bytes", "left_behind_bytes", "unused_bytes"], ...space.sites.map((site, i) => [site.kind, siteText(site.frames, 99) || labels[i]!, site.peak_bytes, site.peak_objects, site.objects, site.bytes, site.alive, site.alive_bytes, site.left_behind_bytes, site.unused_bytes])]), "text/csv");
  return (
    <>
      <dl class="memory-facts">
        {facts.map(([name, text, meaning]) => (
          <div key={name} title={meaning}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <MemoryChart space={space} keys={keys} theme={theme} at_ns={at} onChoose={(next) => go({ at: Math.round(next) }, { replace: true })} />
      <p>
        <PictureButtons name="memory" svg={() => memorySvg(space, 1000, 260, colour, labels, theme.dark ? DARK_INKS : LIGHT_INKS)} />
      </p>
      <div class="memory-instant">
        <h2>{`${formatBytes(level)} held ${formatTime(at)} after the begin${atPeak ? ": the peak" : ""}`}</h2>
        {!atPeak && (
          <button type="button" onClick={() => go({ at: null }, { replace: true })}>
            To the peak
          </button>
        )}
      </div>
      {level > 0 && (
        <div class="memory-holders" role="img" aria-label="Who holds it">
          {holders.map((holder) => (
            <span key={holder.site} style={{ flexGrow: String(holder.bytes), background: colour(holder.site) }} title={`${holder.site < 0 ? "all others" : labels[holder.site]}: ${formatBytes(holder.bytes)}, ${formatShare(holder.bytes / level)}`} />
          ))}
        </div>
      )}
      <SortTable label="Allocation sites" rows={rows} columns={columns} keyOf={(row) => row.number} first={atPeak ? 2 : 1} />
      <p>
        <button type="button" onClick={saveSites}>
          CSV
        </button>
      </p>
    </>
  );
}

function SiteName({ frames, text, colour }: { frames: MemorySite["frames"]; text: string; colour: string | null }) {
  return (
    <span class="memory-site" title={siteText(frames, 99).replaceAll(" ← ", "\n← ")}>
      {colour !== null && <span class="memory-swatch" style={{ background: colour }} />}
      {text}
    </span>
  );
}

/** Lifetimes of data objects, by call path. */
function Lifetimes() {
  const { requests, views } = useShared();
  const objects = useLoaded("objects", () => requests.json<Objects>("view/objects"));
  if (objects.state !== "ready" || !objects.value.sites.length) return null;
  const define = definitions(views, "objects", "sites"), freed = (site: ObjectSite) => site.count - site.alive;
  const columns: SortColumn<{ site: ObjectSite; number: number }>[] = [
    { title: "allocated by", definition: define("frames"), text: true, value: ({ site }) => siteText(site.frames), cell: ({ site }) => <SiteName frames={site.frames} text={siteText(site.frames)} colour={null} /> },
    { title: "bytes", definition: define("bytes"), value: ({ site }) => site.bytes, cell: ({ site }) => formatBytes(site.bytes) },
    { title: "count", definition: define("count"), value: ({ site }) => site.count, cell: ({ site }) => formatCount(site.count) },
    { title: "mean life", definition: "mean time from allocation to free, of freed objects", value: ({ site }) => (freed(site) > 0 ? site.life_ns / freed(site) : null), cell: ({ site }) => (freed(site) > 0 ? formatTime(site.life_ns / freed(site)) : "-") },
    { title: "never freed", definition: define("alive"), value: ({ site }) => site.alive, cell: ({ site }) => formatCount(site.alive) },
    { title: "kind", definition: define("kind"), text: true, value: ({ site }) => site.kind, cell: ({ site }) => site.kind },
  ];
  return (
    <details>
      <summary>{`Lifetimes: ${formatCount(objects.value.count)} data objects, ${formatBytes(objects.value.bytes)} in total`}</summary>
      <SortTable label="Lifetimes of data objects" rows={objects.value.sites.map((site, number) => ({ site, number }))} columns={columns} keyOf={(row) => row.number} first={1} />
    </details>
  );
}

/** What the report says of it in words. */
function Sentences() {
  const { requests } = useShared();
  const text = useLoaded("text", () => requests.json<Text>(request("text", "memory")));
  if (text.state !== "ready") return null;
  const said = text.value.items.flatMap((item) => (item.kind === "sentence" ? [item.text] : []));
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
