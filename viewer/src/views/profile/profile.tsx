/* profile.tsx - the page Profile: calling contexts as a table or a picture, with the chosen frame beside it. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { RequestError } from "../../model/requests.js";
import { askCallees, askProfile, formatColumn, metricsOf, type Metric, type ProfileAnswer, type Shown } from "../../model/profile/answer.js";
import { readAsked, shownColumns, sortColumn, type Asked } from "../../model/profile/asked.js";
import { findKey, keyOf, routineOf } from "../../model/profile/figures.js";
import { filterRows, hotPath, isExpandable, isOpen, linesOf, ProfileTree, unbranched, type Openness } from "../../model/profile/tree.js";
import { saveText, csvOf } from "../../draw/save.js";
import { useLoaded, useShared } from "../context.js";
import { Failure } from "../failure.jsx";
import { Controls, type Chooser } from "./controls.jsx";
import { FlamePicture } from "./flame.jsx";
import { FramePanel } from "./frame.jsx";
import { TreeTable } from "./table.jsx";
import "./profile.css";

export function ProfilePage() {
  const { requests, views, address } = useShared();
  const metrics = useMemo(() => metricsOf(views.find((view) => view.name === "profile")), [views]);
  const asked = useMemo(() => readAsked(address.options, metrics), [address, metrics]);
  const request = askProfile(asked.question);
  const loaded = useLoaded(request, async (signal) => ({ request, answer: await requests.json<ProfileAnswer>(request, signal) }));
  const waiting = loaded.state === "loading" || (loaded.state === "ready" && loaded.value.request !== request);
  const [chooserOpen, setChooserOpen] = useState(false);
  const chooser: Chooser = { open: chooserOpen, setOpen: setChooserOpen };
  const remembered = useRef<Remembered>({ tree: "", keys: [] });
  return (
    <div class="profile" aria-busy={waiting}>
      <h1 class="unseen">Profile</h1>
      {loaded.state === "ready" ? (
        <Profile key={loaded.value.request} answer={loaded.value.answer} asked={asked} metrics={metrics} waiting={waiting} remembered={remembered.current} chooser={chooser} />
      ) : (
        <>
          <Controls asked={asked} metrics={metrics} columns={asked.columns} leftOut={0} chooser={chooser} />
          {loaded.state === "failed" ? <FailureOf error={loaded.error} /> : <p class="quiet">Reading …</p>}
        </>
      )}
    </div>
  );
}

/** A formula that is wrong: with a mark where. */
function FailureOf({ error }: { error: Error }) {
  const { address, go } = useShared();
  const problem = error instanceof RequestError ? error.problem : null;
  const formula = problem?.option === "derive" ? address.options.derive : undefined;
  return (
    <>
      <Failure error={error} />
      {formula !== undefined && problem !== null && problem.at !== null && <pre class="formula-mark">{`${formula}\n${" ".repeat(problem.at)}^`}</pre>}
      {formula !== undefined && (
        <p>
          <button type="button" onClick={() => go({ derive: null })}>
            Without derived columns
          </button>
        </p>
      )}
    </>
  );
}

const NOTHING: Openness = { opened: new Set([0]), closed: new Set() };

/** Which rows were open, for when the same tree comes with other columns. */
interface Remembered {
  tree: string;
  keys: string[];
}

function recall(remembered: Remembered, tree: ProfileTree): Openness {
  if (remembered.tree !== nameOf(tree)) return opened(NOTHING, unbranched(tree));
  return { opened: new Set([0, ...remembered.keys.map((key) => findKey(tree, key)).filter((row) => row > 0)]), closed: new Set() };
}

function nameOf(tree: ProfileTree): string {
  return `${tree.shape} ${tree.by}`;
}

interface ProfileProps {
  answer: ProfileAnswer;
  asked: Asked;
  metrics: Metric[];
  /** Another answer is on its way. */
  waiting: boolean;
  remembered: Remembered;
  chooser: Chooser;
}

function Profile({ answer, asked, metrics, waiting, remembered, chooser }: ProfileProps) {
  const { requests, go } = useShared();
  const [version, setVersion] = useState(0);
  const tree = useMemo(() => new ProfileTree(answer, asked.allFrames), [answer, asked.allFrames]);
  const [openness, setOpenness] = useState<Openness>(() => recall(remembered, tree));
  const [inFilter, setInFilter] = useState<{ find: string; openness: Openness }>({ find: "", openness: NOTHING });
  const [problem, setProblem] = useState<Error | null>(null);
  const columns = useMemo(() => shownColumns(asked, answer), [asked, answer]);
  const sort = sortColumn(asked, columns, answer);
  useMemo(() => tree.sort(sort, asked.descending), [tree, sort.name, sort.side, asked.descending]);
  const kept = useMemo(() => filterRows(tree, asked.find), [tree, asked.find, version]);
  const open = kept === null ? openness : inFilter.find === asked.find ? inFilter.openness : NOTHING;
  const setOpen = (next: Openness) => (kept === null ? setOpenness(next) : setInFilter({ find: asked.find, openness: next }));
  const lines = useMemo(() => linesOf(tree, open, kept), [tree, open, kept, version, sort.name, sort.side, asked.descending]);
  const chosen = useMemo(() => (asked.node === "" ? -1 : findKey(tree, asked.node)), [tree, asked.node, version]);

  /* The chosen row is shown: what is above it is opened, once for each that comes with the address. */
  const shownFor = useRef("");
  useEffect(() => {
    const mark = `${asked.node} ${asked.allFrames}`;
    if (chosen <= 0 || shownFor.current === mark) return;
    shownFor.current = mark;
    setOpenness((before) => opened(before, tree.path(chosen).slice(0, -1)));
  }, [tree, chosen, asked.node]);

  useEffect(() => {
    remembered.tree = nameOf(tree);
    remembered.keys = [...openness.opened].filter((row) => row > 0).map((row) => keyOf(tree, row));
  }, [tree, openness]);

  const choose = (row: number) => {
    const key = keyOf(tree, row);
    shownFor.current = `${key} ${asked.allFrames}`;
    go(row > 0 ? { node: key, routine: routineOf(tree.rows[row]!) } : { node: null, routine: null }, { replace: true });
  };
  const askMore = (row: number) => {
    if (!tree.canAskForMore) {
      go({ least: 0 });
      return;
    }
    const all = tree.incomplete(row);
    Promise.all(all.map((one) => requests.json<ProfileAnswer>(askCallees(asked.question, tree.rows[one]!.node)))).then(
      (answers) => {
        answers.forEach((callees, at) => tree.graft(all[at]!, callees));
        setVersion((before) => before + 1);
      },
      (error: Error) => setProblem(error),
    );
  };
  const toggle = (row: number, wanted?: boolean) => {
    const is = isOpen(row, open, kept), next = wanted ?? !is;
    if (is === next || !isExpandable(tree, row)) return;
    setOpen(next ? opened(open, [row]) : closed(open, row));
    if (next && tree.childrenOf(row).length === 0) askMore(row);
  };
  const showHotPath = () => {
    const path = hotPath(tree, chosen > 0 ? chosen : 0, sort), end = path[path.length - 1]!;
    const above = [...tree.path(path[0]!), ...path.slice(1, -1)];
    if (kept !== null) go({ find: null }, { replace: true });
    setOpenness((before) => opened(before, path.length > 1 ? above : above.slice(0, -1)));
    choose(end);
  };
  const sortBy = (column: Shown) => {
    const same = column.name === sort.name && column.side === sort.side;
    go({ sort: formatColumn(column), order: same && asked.descending ? "asc" : null }, { replace: true });
  };
  const saveTable = () =>
    saveText(
      "profile.csv",
      csvOf([
        ["level", "label", "kind", "file", "line", "module", ...columns.map(formatColumn)],
        ...lines
          .filter((line) => !line.more)
          .map(({ row, level }) => {
            const { label, kind, file, line, module } = tree.rows[row]!;
            return [level - 1, label, kind, file, line, module, ...columns.map((column) => tree.figure(row, column) ?? null)];
          }),
      ]),
      "text/csv",
    );

  return (
    <>
      <Controls
        asked={asked}
        metrics={metrics}
        columns={columns}
        leftOut={tree.leftOut}
        hits={kept?.count}
        chooser={chooser}
        onHotPath={answer.shape === "flat" ? undefined : showHotPath}
        onSave={asked.picture === "table" ? saveTable : undefined}
      />
      {problem && <Failure error={problem} />}
      {asked.node !== "" && chosen < 0 && asked.question.least > 0 && (
        <p class="quiet">
          The chosen call path is not among these rows.{" "}
          <button type="button" onClick={() => go({ least: 0, by: "line", shape: null })}>
            Look among all
          </button>
        </p>
      )}
      <div class={waiting ? "profile-parts waiting" : "profile-parts"}>
        {asked.picture === "table" ? (
          <TreeTable
            tree={tree}
            lines={lines}
            columns={columns}
            metrics={metrics}
            sort={sort}
            descending={asked.descending}
            chosen={chosen}
            routine={asked.routine}
            hits={kept?.hits ?? null}
            isOpen={(row) => isOpen(row, open, kept)}
            onChoose={choose}
            onToggle={toggle}
            onMore={askMore}
            onSort={sortBy}
            onHotPath={showHotPath}
          />
        ) : (
          <FlamePicture
            tree={tree}
            version={version}
            columns={columns}
            sort={sort}
            descending={asked.descending}
            upwards={asked.picture === "flame"}
            zoom={asked.zoom === "" ? 0 : Math.max(findKey(tree, asked.zoom), 0)}
            chosen={chosen}
            routine={asked.routine}
            hits={kept?.hits ?? null}
            onChoose={choose}
            onZoom={(row) => go({ zoom: row > 0 ? keyOf(tree, row) : null })}
          />
        )}
        {chosen > 0 && <FramePanel tree={tree} row={chosen} columns={columns} metrics={metrics} onChoose={choose} />}
      </div>
    </>
  );
}

function opened(before: Openness, rows: readonly number[]): Openness {
  const open = new Set(before.opened), shut = new Set(before.closed);
  for (const row of rows) {
    open.add(row);
    shut.delete(row);
  }
  return { opened: open, closed: shut };
}

function closed(before: Openness, row: number): Openness {
  const open = new Set(before.opened);
  open.delete(row);
  return { opened: open, closed: new Set(before.closed).add(row) };
}
