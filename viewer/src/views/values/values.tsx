/* values.tsx - the page `values`: objects and patterns, the value flow graph, and what was looked at (docs/values.md). */
import type { JSX } from "preact";
import { commandAgain } from "../../model/run.js";
import { PATTERNS, wereRecorded, type Values } from "../../model/values/answer.js";
import { request } from "../../model/requests.js";
import type { Text } from "../../model/types.js";
import { useLoaded, useShared } from "../context.js";
import { Failure } from "../failure.jsx";
import { CoverageTable } from "./coverage.jsx";
import { FlowGraph } from "./graph.jsx";
import { Matrix } from "./matrix.jsx";
import "./values.css";

export function ValuesPage() {
  const { requests, address } = useShared();
  const { threshold, object } = address.options;
  const asked = request("view", "values", { threshold, object });
  const values = useLoaded(asked, () => requests.json<Values>(asked));
  const narrowed = threshold !== undefined || object !== undefined, none = values.state === "ready" && !narrowed && !wereRecorded(values.value);
  return (
    <div class="values">
      {values.state === "loading" && <p class="quiet">Reading …</p>}
      {none ? (
        <NotRecorded />
      ) : (
        <section aria-labelledby="values-objects">
          <h2 id="values-objects">Data objects and patterns</h2>
          <Narrow />
          {values.state === "failed" && <Failure error={values.error} />}
          {values.state === "ready" && <Matrix values={values.value} />}
        </section>
      )}
      <FlowGraph leftOutEmpty={none} />
      {values.state === "ready" && values.value.coverage.length > 0 && <CoverageTable coverage={values.value.coverage} />}
    </div>
  );
}

/** What to run to have values. */
function NotRecorded() {
  const { requests, run } = useShared();
  const asked = request("text", "values");
  const text = useLoaded(asked, () => requests.json<Text>(asked));
  const said = text.state === "ready" ? text.value.items.flatMap((item) => (item.kind === "sentence" ? [(item.head ?? "") + item.text] : [])) : [];
  const recorded = said.length > 0 && !said.some((sentence) => sentence.startsWith("values were not recorded"));
  const found = (option: string) => PATTERNS.filter((pattern) => pattern.recorded === option).map((pattern) => pattern.title).join(", ");
  const command = (option: string) => <dt><code>sonde record {option} -- {commandAgain(run)}</code></dt>;
  return (
    <section class="values-none">
      <h2>{recorded ? "No values" : "Values were not recorded"}</h2>
      {recorded && said.map((sentence) => <p key={sentence}>{sentence}</p>)}
      <p>
        {recorded ? "To look at other values, run one of these, then" : "What operations read and wrote is only known of a run that is recorded with --values. Run one of these, then"} <code>sonde view</code>:
      </p>
      <dl>
        {command("--values")}
        <dd>compares what each operation writes with what was there before, and objects with each other; finds {found("--values")}</dd>
        {command("--values=fine")}
        <dd>looks at the values that kernels read and write; finds {found("--values=fine")}</dd>
        {command("--values=all")}
        <dd>does both</dd>
      </dl>
    </section>
  );
}

/** The view's options that choose what is in the table. */
function Narrow() {
  const { address, views, go } = useShared();
  const help = (name: string) => views.find((view) => view.name === "values")?.options.find((option) => option.name === name)?.help;
  const change = (name: string) => (event: JSX.TargetedEvent<HTMLInputElement>) => go({ [name]: event.currentTarget.value.trim() || null, cell: null });
  return (
    <div class="values-options">
      <label title={help("threshold")}>
        Redundant from <input type="text" inputMode="decimal" size={5} placeholder="33" value={address.options.threshold ?? ""} onChange={change("threshold")} /> %
      </label>
      <label title={help("object")}>
        Objects named <input type="search" placeholder="any" value={address.options.object ?? ""} onChange={change("object")} />
      </label>
    </div>
  );
}
