/* app.tsx - the frame around the pages: their names, the search, the theme, keys, and what must be known before a number is believed. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { changed, formatAddress, moved, parseAddress } from "../model/address.js";
import type { Requests } from "../model/requests.js";
import type { Run, View } from "../model/types.js";
import { Banner } from "./banner.jsx";
import { SharedContext, type Shared } from "./context.js";
import { Guard } from "./failure.jsx";
import { Help, useKeys } from "./keys.jsx";
import { PAGES } from "./pages.js";
import { Cut } from "./parts/cut.jsx";
import { TipLayer } from "./parts/tip.jsx";
import { Search } from "./search.jsx";
import { WholeRun } from "./wholerun.jsx";
import { useTheme, type Choice } from "./theme.js";

export function App({ requests, run, views }: { requests: Requests; run: Run; views: View[] }) {
  const { theme, choice, next, choose } = useTheme(), { address, go, linkTo } = useAddress();
  const page = PAGES.find((one) => one.name === (address.page || "summary"));
  const [helping, help] = useState(false), search = useRef<HTMLInputElement>(null), main = useRef<HTMLElement>(null);
  useKeys({ open: (name) => go({}, { page: name }), search: () => search.current?.focus(), help: () => help(true), main: () => main.current?.focus() });
  const shared: Shared = { requests, run, views, address, theme, go };
  const Shown = page?.component;
  return (
    <SharedContext.Provider value={shared}>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to the page
      </a>
      <header class="top">
        <span class="program" data-tip={`${run.path}, read by Sonde ${run.sonde}`}>
          <Cut text={run.command ?? run.path} />
        </span>
        <nav aria-label="Pages">
          {PAGES.map((one) => (
            <a key={one.name} href={linkTo(one.name)} aria-current={one === page ? "page" : undefined} data-tip={`${one.title}: key ${one.key}`}>
              {one.title}
            </a>
          ))}
        </nav>
        <span class="space" />
        {address.options.routine && <Highlighted label={address.options.routine} onClear={() => go({ routine: null })} />}
        <Search box={search} />
        <ThemeSwitch choice={choice} next={next} choose={choose} />
        <button type="button" class="plain" aria-label="Keys" data-tip="Keys: ?" onClick={() => help(true)}>
          ?
        </button>
      </header>
      <Banner />
      {page && !page.ranges && <WholeRun />}
      <main id="main" ref={main} tabIndex={-1}>
        <Guard key={page?.name}>{Shown ? <Shown /> : <p>There is no page “{address.page}”: choose one above.</p>}</Guard>
      </main>
      {helping && <Help page={page} onClose={() => help(false)} />}
      <TipLayer />
    </SharedContext.Provider>
  );
}

/** What is shown is in the address; what was set on a page when it was left is there again when it is opened. */
function useAddress() {
  const [hash, setHash] = useState(location.hash), left = useRef(new Map<string, Record<string, string>>());
  const address = useMemo(() => parseAddress(hash), [hash]);
  useEffect(() => {
    const follow = () => setHash(location.hash);
    addEventListener("hashchange", follow);
    addEventListener("popstate", follow);
    return () => {
      removeEventListener("hashchange", follow);
      removeEventListener("popstate", follow);
    };
  }, []);
  left.current.set(address.page || "summary", address.options);
  const go: Shared["go"] = (changes, how = {}) => {
    const here = parseAddress(location.hash), page = how.page ?? here.page;
    const base = page === here.page ? here : moved(here, page, left.current.get(page));
    const next = formatAddress(changed(base, changes));
    if (how.replace) history.replaceState(null, "", next);
    else if (next !== location.hash) history.pushState(null, "", next);
    setHash(next);
  };
  return { address, go, linkTo: (page: string) => formatAddress(moved(address, page, left.current.get(page))) };
}

function Highlighted({ label, onClear }: { label: string; onClear: () => void }) {
  return (
    <span class="highlighted">
      <Cut text={label} />
      <button type="button" class="plain" aria-label={`Highlight ${label} no longer`} data-tip="Highlighted on every page. Click: no longer" onClick={onClear}>
        ×
      </button>
    </span>
  );
}

const THEMES: Record<Choice, [string, string]> = { auto: ["◐", "Colours as your system has them"], light: ["☀", "Light colours"], dark: ["☾", "Dark colours"] };

function ThemeSwitch({ choice, next, choose }: { choice: Choice; next: Choice; choose: (choice: Choice) => void }) {
  const [sign, words] = THEMES[choice], then = THEMES[next][1];
  return (
    <button type="button" class="plain" aria-label={`Colours: ${choice}`} data-tip={`${words}. Click: ${then.charAt(0).toLowerCase()}${then.slice(1)}`} onClick={() => choose(next)}>
      {sign}
    </button>
  );
}
