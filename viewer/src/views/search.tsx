/* search.tsx - the search box: routines, API calls, kernels and ranges by a part of their name. Enter highlights the one everywhere and opens it in the profile. */
import { useEffect, useRef, useState } from "preact/hooks";
import { request } from "../model/requests.js";
import type { Found, Hit } from "../model/types.js";
import { formatCount, formatTime } from "../model/units.js";
import { useShared } from "./context.js";
import { Cut } from "./parts/cut.jsx";
import { usePlaces } from "./places.js";

const WAIT_MS = 120;

type State = { state: "idle" } | { state: "failed"; message: string } | { state: "found"; found: Found };

export function Search({ box }: { box: { current: HTMLInputElement | null } }) {
  const [text, setText] = useState(""), [open, setOpen] = useState(false), [at, setAt] = useState(0);
  const found = useFound(text.trim()), { openHit } = usePlaces(), { go } = useShared(), list = useRef<HTMLUListElement>(null);
  const hits = found.state === "found" ? found.found.hits : [];
  useEffect(() => setAt(0), [found]);
  useEffect(() => list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }), [at]);
  const choose = (hit: Hit | undefined, here: boolean) => {
    if (!hit) return;
    setOpen(false);
    box.current?.blur();
    if (here) go({ routine: hit.label });
    else openHit(hit);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter") choose(hits[at], event.shiftKey);
    else if (event.key === "ArrowDown") setAt(Math.min(at + 1, hits.length - 1));
    else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else if (event.key === "Escape") {
      setOpen(false);
      box.current?.blur();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const shows = open && text.trim() !== "" && found.state !== "idle";
  return (
    <div class="search" role="search">
      <input
        ref={box}
        type="text"
        placeholder="Search  /"
        spellcheck={false}
        autocomplete="off"
        aria-label="Search routines, API calls, kernels and ranges"
        role="combobox"
        aria-expanded={shows}
        aria-controls="hits"
        aria-autocomplete="list"
        aria-activedescendant={shows && hits.length ? `hit-${at}` : undefined}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setOpen(true);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={onKey}
      />
      {shows && (
        <div class="hits">
          <ul id="hits" role="listbox" aria-label="Found" ref={list}>
            {hits.map((hit, i) => (
              <li key={hit.node} id={`hit-${i}`} role="option" aria-selected={i === at} onPointerDown={(event) => event.preventDefault()} onClick={(event) => choose(hit, event.shiftKey)}>
                <span class="kind">{hit.kind}</span>
                <Cut text={hit.label} />
                <span class="quiet">{counted(hit.contexts, "call path")}</span>
                <span class="quiet">{counted(hit.operations, "operation")}</span>
                <span class="number">{formatTime(hit.device_ns)}</span>
              </li>
            ))}
          </ul>
          <p class="quiet" role="status">
            {found.state === "failed" ? found.message : said(found)}
          </p>
        </div>
      )}
    </div>
  );
}

function said(found: State): string {
  if (found.state !== "found") return "";
  const { hits, left_out } = found.found;
  if (!hits.length) return `Nothing is called “${found.found.text}”.`;
  return (left_out ? `${formatCount(left_out)} more are not listed. ` : "") + "Enter opens it in the profile, Shift+Enter highlights it on this page.";
}

function counted(count: number, what: string): string {
  return `${formatCount(count)} ${what}${count === 1 ? "" : "s"}`;
}

/** What is found some moments after the last letter. */
function useFound(text: string): State {
  const { requests } = useShared(), [found, set] = useState<State>({ state: "idle" });
  useEffect(() => {
    if (!text) return set({ state: "idle" });
    const controller = new AbortController(), { signal } = controller;
    const timer = setTimeout(() => {
      requests.json<Found>(request("find", null, { text }), signal).then(
        (answer) => !signal.aborted && set({ state: "found", found: answer }),
        (error: Error) => !signal.aborted && set({ state: "failed", message: error.message }),
      );
    }, WAIT_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [text]);
  return found;
}
