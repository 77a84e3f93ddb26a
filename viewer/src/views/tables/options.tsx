/* options.tsx - the options of a view as a form, made of their descriptors. What is set is in the address. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { RequestError } from "../../model/requests.js";
import type { View, ViewOption } from "../../model/types.js";
import { useShared } from "../context.js";

interface Props {
  view: View;
  given: Record<string, string>;
  /** The answer's error: the option that it names is marked. */
  wrong: Error | null;
}

export function OptionsForm({ view, given, wrong }: Props) {
  const { go } = useShared(), bad = wrong instanceof RequestError ? wrong.problem.option : null;
  const set = (name: string, value: string | null) => go({ [`${view.name}.${name}`]: value || null }, { replace: true });
  const any = Object.keys(given).length > 0;
  return (
    <form class="options" aria-label={`Options of ${view.name}`} onSubmit={(event) => event.preventDefault()}>
      {view.options.map((option) => (
        <label key={option.name} data-tip={option.help} class={option.type === "flag" ? "flag" : undefined}>
          {option.type !== "flag" && <span>{option.name}</span>}
          <Field option={option} value={given[option.name] ?? ""} wrong={bad === option.name} onSet={(value) => set(option.name, value)} />
          {option.type === "flag" && <span>{option.name}</span>}
        </label>
      ))}
      {any && (
        <button type="button" onClick={() => go(Object.fromEntries(view.options.map((option) => [`${view.name}.${option.name}`, null])))}>
          Defaults
        </button>
      )}
    </form>
  );
}

function Field({ option, value, wrong, onSet }: { option: ViewOption; value: string; wrong: boolean; onSet: (value: string | null) => void }) {
  const invalid = wrong ? true : undefined;
  switch (option.type) {
    case "flag":
      return <input type="checkbox" checked={value !== ""} aria-invalid={invalid} onChange={(event) => onSet(event.currentTarget.checked ? "1" : null)} />;
    case "choice":
      return (
        <select value={value} aria-invalid={invalid} onChange={(event) => onSet(event.currentTarget.value)}>
          <option value="" />
          {option.choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      );
    case "integer":
    case "real":
      return (
        <Entry
          type="number"
          min={option.low ?? undefined}
          max={option.high ?? undefined}
          step={option.type === "real" ? "any" : 1}
          placeholder={option.argument ?? ""}
          value={value}
          aria-invalid={invalid}
          onEntered={onSet}
        />
      );
    default:
      return <Entry type="text" placeholder={option.argument ?? ""} value={value} aria-invalid={invalid} spellcheck={false} onEntered={onSet} />;
  }
}

/** Asks when a value is entered, not with each letter. The event is the browser's own: preact/compat takes onChange for onInput. */
function Entry({ onEntered, ...rest }: JSX.InputHTMLAttributes & { onEntered: (value: string) => void }) {
  const box = useRef<HTMLInputElement>(null), latest = useRef(onEntered);
  latest.current = onEntered;
  useEffect(() => {
    const entered = () => latest.current(box.current?.value ?? "");
    box.current?.addEventListener("change", entered);
    return () => box.current?.removeEventListener("change", entered);
  }, []);
  return <input ref={box} {...rest} />;
}
