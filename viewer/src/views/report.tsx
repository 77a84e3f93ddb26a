/* report.tsx - the page Tables: every view of `sonde report`, as its tables and sentences, with its options. */
import { request } from "../model/requests.js";
import { optionsOf, requested } from "../model/report/command.js";
import { changed, formatAddress, rangeOf } from "../model/address.js";
import type { Text, View } from "../model/types.js";
import { useLoaded, useShared } from "./context.js";
import { Failure } from "./failure.jsx";
import { PAGES } from "./pages.js";
import { Reading } from "./parts/empty.jsx";
import { Items } from "./tables/items.jsx";
import { OptionsForm } from "./tables/options.jsx";
import "./tables/tables.css";

export function ReportPage() {
  const { views, address } = useShared();
  const listed = views.filter((view) => !view.hidden), view = views.find((one) => one.name === address.options.view) ?? listed[0];
  return (
    <div class="tables">
      <nav class="views" aria-label="Views">
        {listed.map((one) => (
          <a key={one.name} href={formatAddress(changed(address, { view: one.name }, "tables"))} aria-current={one === view ? "page" : undefined} data-tip={one.summary}>
            {one.name}
          </a>
        ))}
      </nav>
      {view && <ViewTables key={view.name} view={view} />}
    </div>
  );
}

function ViewTables({ view }: { view: View }) {
  const { requests, address, go } = useShared();
  const given = optionsOf(view, address.options), asked = request("text", view.name, requested(view, given));
  const text = useLoaded(asked, async () => ({ asked, text: await requests.json<Text>(asked) }));
  const late = text.state === "ready" && text.value.asked !== asked;
  const own = PAGES.find((page) => page.name === view.name), filter = address.options[`filter.${view.name}`] ?? "";
  return (
    <div class="view" aria-busy={late}>
      <h1>{view.name}</h1>
      <p class="quiet">
        {view.description ?? capital(view.summary)}
        {own && (
          <>
            {" "}
            <a href={formatAddress({ page: own.name, options: address.options })}>It has a page of its own.</a>
          </>
        )}
      </p>
      <OptionsForm view={view} given={given} wrong={text.state === "failed" ? text.error : null} />
      <div class="row">
        <input
          type="search"
          class="filter"
          placeholder="Filter rows"
          aria-label="Show only rows with this text"
          value={filter}
          onInput={(event) => go({ [`filter.${view.name}`]: event.currentTarget.value || null }, { replace: true })}
        />
        <UseRange view={view} />
        <span class="space" />
        <code class="same" data-tip="The same on a terminal">
          {commandLine(view, given)}
        </code>
      </div>
      {text.state === "loading" ? <Reading /> : text.state === "failed" ? <Failure error={text.error} /> : <Items text={text.value.text} view={view} filter={filter} late={late} />}
    </div>
  );
}

/** The range that was chosen on another page, as the view's own options. */
function UseRange({ view }: { view: View }) {
  const { address, go } = useShared(), range = rangeOf(address);
  if (!range) return null;
  if (!["from", "to"].every((name) => view.options.some((option) => option.name === name))) return <span class="quiet">Of the whole run: this view takes no range.</span>;
  return (
    <button type="button" onClick={() => go({ [`${view.name}.from`]: `${range.from}ns`, [`${view.name}.to`]: `${range.to}ns` })}>
      Use the selected range
    </button>
  );
}

function commandLine(view: View, given: Record<string, string>): string {
  const words = Object.entries(requested(view, given)).map(([name, value]) => (value === true ? `--${name}` : `--${name} ${quoted(value)}`));
  return ["sonde report DIR", view.name, ...words].join(" ");
}

function quoted(text: string): string {
  return /^[\w.,:%/=+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1) + ".";
}
