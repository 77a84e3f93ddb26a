/* controls.tsx - which tree, which columns, what is looked for. All of it is in the page's address. */
import { useEffect, useRef, useState } from "preact/hooks";
import { derivedNames, formatColumn, groupings, sameColumn, type Metric, type Shape, type Shown } from "../../model/profile/answer.js";
import { toggled, type Asked, type Picture } from "../../model/profile/asked.js";
import { formatCount } from "../../model/units.js";
import { useShared } from "../context.js";

interface ControlsProps {
  asked: Asked;
  metrics: Metric[];
  columns: Shown[];
  leftOut: number;
  /** How many rows the filter finds; undefined: there is none. */
  hits?: number;
  onHotPath?(): void;
  onSave?(): void;
  /** The list of columns stays open while other columns are read. */
  chooser: Chooser;
}

export interface Chooser {
  open: boolean;
  setOpen(open: boolean): void;
}

const SHAPES: [Shape, string, string][] = [
  ["top-down", "Top-down", "from callers to callees"],
  ["bottom-up", "Bottom-up", "each routine with its callers below it"],
  ["flat", "Flat", "each routine once"],
];
const PICTURES: [Picture, string][] = [
  ["table", "Table"],
  ["icicle", "Icicle"],
  ["flame", "Flame"],
];
const LEAST = [0, 0.01, 0.1, 1, 5];

export function Controls({ asked, metrics, columns, leftOut, hits, onHotPath, onSave, chooser }: ControlsProps) {
  const { go } = useShared();
  const { shape, by, least } = asked.question;
  return (
    <div class="profile-controls" role="group" aria-label="What is shown">
      <Choice label="Shape" all={SHAPES} chosen={shape} onChoose={(one) => go({ shape: one === "top-down" ? null : one, by: null, node: null, zoom: null, sort: null, order: null })} />
      <label>
        by{" "}
        <select value={by} onChange={(event) => go({ by: event.currentTarget.value, node: null, zoom: null })}>
          {groupings(shape).map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      {shape !== "flat" && <Choice label="Picture" all={PICTURES.map(([one, text]): [Picture, string, string] => [one, text, ""])} chosen={asked.picture} onChoose={(one) => go({ picture: one === "table" ? null : one })} />}
      <input
        type="search"
        class="profile-filter"
        aria-label="Filter by name"
        placeholder="Filter by name"
        value={asked.find}
        onInput={(event) => go({ find: event.currentTarget.value || null }, { replace: true })}
      />
      {hits !== undefined && <span class="quiet" role="status">{`${formatCount(hits)} found`}</span>}
      {onHotPath && (
        <button type="button" title="Follow the callee with most of the sorting column, as long as it has at least half of its caller's (h)" onClick={onHotPath}>
          Hot path
        </button>
      )}
      <ColumnChooser asked={asked} metrics={metrics} columns={columns} chooser={chooser} />
      <label title="Rows below this part of the whole, in every time shown, are left out">
        rows from{" "}
        <select value={String(least)} onChange={(event) => go({ least: event.currentTarget.value })}>
          {[...new Set([...LEAST, least])]
            .sort((a, b) => a - b)
            .map((one) => (
              <option key={one} value={String(one)}>
                {one === 0 ? "all rows" : `${one} %`}
              </option>
            ))}
        </select>
      </label>
      <label title="Also frames of the GPU runtime, the C library and Python's interpreter that have no numbers of their own">
        <input type="checkbox" checked={asked.allFrames} onChange={(event) => go({ frames: event.currentTarget.checked ? "all" : null })} /> runtime frames
      </label>
      {leftOut > 0 && <span class="quiet">{`${formatCount(leftOut)} smaller ${leftOut === 1 ? "row" : "rows"} left out`}</span>}
      <span class="profile-space" />
      {onSave && (
        <button type="button" title="The rows that are open, with exact numbers" onClick={onSave}>
          CSV
        </button>
      )}
    </div>
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  all: [T, string, string][];
  chosen: T;
  onChoose(one: T): void;
}

function Choice<T extends string>({ label, all, chosen, onChoose }: ChoiceProps<T>) {
  return (
    <span class="profile-choice" role="group" aria-label={label}>
      {all.map(([one, text, title]) => (
        <button key={one} type="button" aria-pressed={one === chosen} title={title || undefined} onClick={() => onChoose(one)}>
          {text}
        </button>
      ))}
    </span>
  );
}

function ColumnChooser({ asked, metrics, columns, chooser }: { asked: Asked; metrics: Metric[]; columns: Shown[]; chooser: Chooser }) {
  const { address, go } = useShared();
  const [formula, setFormula] = useState("");
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (!chooser.open) return;
    const elsewhere = (event: Event) => event.target instanceof Node && !box.current?.contains(event.target) && chooser.setOpen(false);
    document.addEventListener("pointerdown", elsewhere);
    return () => document.removeEventListener("pointerdown", elsewhere);
  }, [chooser.open]);
  const derive = asked.question.derive, names = derivedNames(derive);
  const tick = (name: string, side: Shown["side"], title: string) => {
    const column: Shown = { name, side };
    return (
      <input
        type="checkbox"
        aria-label={`${formatColumn(column)}: ${title}`}
        checked={columns.some((other) => sameColumn(other, column))}
        onChange={() => go({ columns: toggled(columns, column) || null }, { replace: true })}
      />
    );
  };
  const add = (event: Event) => {
    event.preventDefault();
    const text = formula.trim(), name = derivedNames(text)[0];
    if (text === "" || name === undefined) return;
    const usual = address.options.columns === undefined;
    go({ derive: derive === "" ? text : `${derive};${text}`, ...(usual ? {} : { columns: [...columns.map(formatColumn), name].join(",") }) });
    setFormula("");
  };
  const without = (name: string) => {
    const rest = derive.split(";").filter((one) => derivedNames(one)[0] !== name);
    const shown = asked.columns.filter((column) => column.name !== name).map(formatColumn).join(",");
    go({ derive: rest.join(";") || null, columns: asked.chosen ? shown || null : null, sort: null });
  };
  return (
    <details class="chooser" ref={box} open={chooser.open} onToggle={(event) => chooser.setOpen(event.currentTarget.open)} onKeyDown={(event) => event.key === "Escape" && chooser.setOpen(false)}>
      <summary>Columns</summary>
      <div class="chooser-box">
        <table>
          <thead>
            <tr>
              <th scope="col">inclusive</th>
              <th scope="col">exclusive</th>
              <th scope="col">column</th>
              <th scope="col">what it is</th>
            </tr>
          </thead>
          <tbody>
            {[...metrics.map((metric) => [metric.name, metric.definition] as const), ...names.map((name) => [name, "derived"] as const)].map(([name, meaning]) => (
              <tr key={name}>
                <td>{tick(name, "inclusive", meaning)}</td>
                <td>{tick(name, "exclusive", meaning)}</td>
                <th scope="row">{name}</th>
                <td>
                  {meaning}{" "}
                  {names.includes(name) && (
                    <button type="button" onClick={() => without(name)}>
                      remove
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        <form onSubmit={add}>
          <label>
            Derived column{" "}
            <input class="profile-formula" placeholder="each=gpu/ops" value={formula} onInput={(event) => setFormula(event.currentTarget.value)} />
          </label>{" "}
          <button type="submit">Add</button>
          <p class="quiet">NAME=FORMULA of columns and numbers, with + - * / ( ) min(a,b) max(a,b). Times are in nanoseconds.</p>
        </form>
      </div>
    </details>
  );
}
