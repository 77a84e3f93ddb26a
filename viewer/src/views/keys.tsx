/* keys.tsx - the keys of the whole page, and the list of them. Keys of a page are its own, and stand in its line of pages.ts. */
import { useEffect, useRef } from "preact/hooks";
import { PAGES, type Page } from "./pages.js";

interface Actions {
  open(page: string): void;
  search(): void;
  help(): void;
  main(): void;
}

export function useKeys(actions: Actions): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || takesText(event.target)) return;
      const page = PAGES.find((one) => one.key === event.key);
      if (page) latest.current.open(page.name);
      else if (event.key === "/") latest.current.search();
      else if (event.key === "?") latest.current.help();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

function takesText(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button", "range"].includes(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}

export function Help({ page, onClose }: { page: Page | undefined; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const everywhere: [string, string][] = [
    ...PAGES.map((one): [string, string] => [one.key, one.title]),
    ["/", "Search; Enter opens what is found in the profile, Shift+Enter highlights it on this page"],
    ["?", "These keys"],
    ["Esc", "Closes what is open"],
    ["Tab", "The next control; explanations show on those that have one"],
  ];
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={onClose} onClick={(event) => event.target === event.currentTarget && event.currentTarget.close()}>
      <div class="help-inside">
        <h2 id="help-title">Keys</h2>
        <KeyList keys={everywhere} />
        {page?.keys && <h3>{page.title}</h3>}
        {page?.keys && <KeyList keys={page.keys} />}
        <form method="dialog">
          <button>Close</button>
        </form>
      </div>
    </dialog>
  );
}

function KeyList({ keys }: { keys: [string, string][] }) {
  return (
    <dl>
      {keys.map(([key, what]) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}
