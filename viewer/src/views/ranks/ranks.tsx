/* ranks.tsx - the page Ranks: the ranks of a parallel job beside each other, who waited for whom, and who sent to whom. */
import { useMemo } from "preact/hooks";
import { frameText } from "../../model/critical.js";
import { rangeOf } from "../../model/address.js";
import { meaningOf } from "../../model/comm.js";
import { causeText, distributionOf, figuresOf, imbalanceOf, membersText, sentOf, sentText, type Distribution, type Figure, type Group, type Job, type Messages, type Sent, type Straggler, type Uneven, type Waiting } from "../../model/ranks.js";
import { request } from "../../model/requests.js";
import type { Text } from "../../model/types.js";
import { formatBytes, formatCount, formatShare, formatTime } from "../../model/units.js";
import { RunRange } from "../comm/range.jsx";
import { useLoaded, useShared } from "../context.js";
import { Failure } from "../failure.jsx";
import { SortTable, type SortColumn } from "../memory/sorttable.jsx";
import { Empty, Reading } from "../parts/empty.jsx";
import { Scroll } from "../parts/scroll.jsx";
import { usePlaces } from "../places.js";
import { SentenceLine } from "../tables/items.jsx";
import { RankArrows } from "./arrows.jsx";
import "../memory/memory.css";
import "../tables/tables.css";
import "./ranks.css";

/** Ranks of which who sent to whom is a picture; of more it is a list. */
const PICTURE = 64;
/** Columns of a figure's spread. */
const PARTS = 24;

interface All {
  job: Job;
  messages: Messages;
  texts: Text[];
}

export function RanksPage() {
  const { requests, address } = useShared(), range = rangeOf(address), window = range ? { from: `${Math.floor(range.from)}ns`, to: `${Math.max(Math.ceil(range.to), Math.floor(range.from) + 1)}ns` } : {};
  const all = useLoaded(request("view", "messages", window), async (): Promise<All> => {
    const [job, messages, ...texts] = await Promise.all([
      requests.json<Job>(request("view", "ranks")), requests.json<Messages>(request("view", "messages", window)), requests.json<Text>(request("text", "messages", window)), requests.json<Text>(request("text", "ranks")),
    ]);
    return { job, messages, texts };
  });
  if (all.state === "loading") return <Reading />;
  if (all.state === "failed") return <Failure error={all.error} />;
  const { job, messages, texts } = all.value;
  return (
    <div class="ranks">
      <h1 class="unseen">Ranks</h1>
      {job.ranks.length > 0 ? <Ranks job={job} messages={messages} texts={texts} /> : <Empty>No process of this run has a rank: mpirun, srun and torchrun give their processes one.</Empty>}
    </div>
  );
}

function Ranks({ job, messages, texts }: All) {
  const { address } = useShared(), range = rangeOf(address);
  const sentences = texts.filter((text) => text.view !== "messages" || messages.ranks.length > 0).flatMap((text) => text.items).filter((item) => item.kind === "sentence");
  return (
    <>
      {sentences.map((item, i) => <SentenceLine key={i} item={item} />)}
      <h2>Each rank</h2>
      <Figures job={job} messages={messages} />
      {(messages.ranks.length > 0 || range) && (
        <>
          <h2>Messages</h2>
          <RunRange />
        </>
      )}
      {range && <p class="quiet">{`Of the selected range, ${formatTime(range.to - range.from)} from ${formatTime(range.from)}: waits, and who sent to whom, and what is in MPI and NCCL. All else is of the whole run.`}</p>}
      {messages.waits.length > 0 && (
        <>
          <h2>Where ranks waited for others</h2>
          <Waits rows={messages.waits} step={messages.step} />
        </>
      )}
      {messages.pairs.length > 0 && (
        <>
          <h2>Who sent to whom</h2>
          <div class="ranks-sent">
            <RankArrows messages={messages} />
            <WhoSent messages={messages} />
          </div>
        </>
      )}
      {job.stragglers.length > 0 && (
        <>
          <h2>Stragglers</h2>
          <Stragglers rows={job.stragglers} />
        </>
      )}
      {job.groups.length > 1 && (
        <>
          <h2>Which ranks are alike</h2>
          <Groups rows={job.groups} />
        </>
      )}
      {job.contexts.length > 0 && (
        <>
          <h2>Unevenly spent in</h2>
          <Contexts rows={job.contexts} />
        </>
      )}
      <h2>In each calling context</h2>
      <InContexts />
    </>
  );
}

/** Metrics of the profile that are shown over the ranks, and what they are. */
const METRICS: [string, string][] = [
  ["gpu", "device time"],
  ["cpu", "CPU time"],
  ["sync", "waiting for devices"],
  ["peers", "waiting for other ranks"],
  ["blame", "idle time of devices"],
];

/** Links to the table of it: of large jobs it takes a while, so that it is made for who asks. */
function InContexts() {
  const { commandLink } = usePlaces();
  return (
    <p>
      {METRICS.map(([metric, title], at) => (
        <>
          {at > 0 && " · "}
          <a key={metric} href={commandLink(`ranks --metric ${metric}`) ?? undefined}>{title}</a>
        </>
      ))}
    </p>
  );
}

/** Rank × figure: the bars of a column are to one scale. */
function Figures({ job, messages }: { job: Job; messages: Messages }) {
  const { views } = useShared(), matrix = useMemo(() => figuresOf(job, messages), [job, messages]);
  return (
    <Scroll class="ranks-scroll" label="Ranks and their figures">
      <table class="ranks-matrix" aria-label="Each rank">
        <thead>
          <tr>
            <th scope="col">rank</th>
            {matrix.figures.map((figure) => <th key={figure.name} scope="col" title={meaningOf(views, figure.of === "ranks" ? "rank" : "ranks", figure.name, figure.of)}>{figure.title}</th>)}
          </tr>
        </thead>
        <tbody>
          {matrix.ranks.map((rank, row) => (
            <tr key={rank}>
              <th scope="row">{rank}</th>
              {matrix.figures.map((figure, at) => <Cell key={figure.name} share={shareOf(matrix.cells[row]![at]!, matrix.most[at]!)} text={matrix.cells[row]![at] === null ? "-" : figure.text(matrix.cells[row]![at]!)} />)}
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">mean</th>
            {matrix.figures.map((figure, at) => <td key={figure.name}>{figure.text(matrix.mean[at]!)}</td>)}
          </tr>
          <tr>
            <th scope="row" title="most / mean - 1">imbalance</th>
            {matrix.figures.map((figure, at) => <td key={figure.name}>{formatShare(imbalanceOf(matrix, at))}</td>)}
          </tr>
          {matrix.ranks.length > 2 && (
            <tr>
              <th scope="row" title="how many ranks have how much, from the least to the most">spread</th>
              {matrix.figures.map((figure, at) => <td key={figure.name}><Spread figure={figure} of={distributionOf(matrix, at, PARTS)} /></td>)}
            </tr>
          )}
        </tfoot>
      </table>
    </Scroll>
  );
}

/** Columns of ranks, from the one with the least on the left to the one with the most on the right. */
function Spread({ figure, of }: { figure: Figure; of: Distribution | null }) {
  if (!of) return <>-</>;
  const high = Math.max(...of.ranks);
  const text = `least ${figure.text(of.least)} (rank ${of.leastRank}), median ${figure.text(of.median)}, most ${figure.text(of.most)} (rank ${of.mostRank})`;
  return (
    <svg class="ranks-spread" role="img" aria-label={text} viewBox={`0 0 ${PARTS} 10`} preserveAspectRatio="none">
      <title>{text}</title>
      {of.ranks.map((ranks, at) => ranks > 0 && <rect key={at} x={at} width={0.9} y={10 - (10 * ranks) / high} height={(10 * ranks) / high} />)}
    </svg>
  );
}

function shareOf(value: number | null, most: number): number {
  return value !== null && most > 0 ? value / most : 0;
}

function Cell({ share, text, title }: { share: number; text: string; title?: string }) {
  return (
    <td class="ranks-cell" style={{ "--share": share.toFixed(4) }} title={title}>
      {text}
      <span class="ranks-bar" style={{ width: `${(100 * share).toFixed(1)}%` }} />
    </td>
  );
}

function WhoSent({ messages }: { messages: Messages }) {
  const matrix = useMemo(() => sentOf(messages, PICTURE), [messages]);
  return (
    <>
      {matrix && (
        <Scroll class="ranks-scroll" label="Who sent to whom">
          <table class="ranks-matrix" aria-label="Bytes from rank to rank">
            <thead>
              <tr>
                <td />
                {matrix.ranks.map((rank) => <th key={rank} scope="col">{`to ${rank}`}</th>)}
              </tr>
            </thead>
            <tbody>
              {matrix.ranks.map((from, row) => (
                <tr key={from}>
                  <th scope="row">{`from ${from}`}</th>
                  {matrix.cells[row]!.map((pair, column) => (
                    pair ? <Cell key={column} share={shareOf(pair.bytes, matrix.most)} text={formatBytes(pair.bytes)} title={sentText(pair)} /> : <td key={column} class="quiet">–</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {!matrix && <Pairs rows={messages.pairs} />}
    </>
  );
}

function useMeaning(view: string, table: string): (column: string) => string | undefined {
  const { views } = useShared();
  return (column) => meaningOf(views, table, column, view);
}

function Pairs({ rows }: { rows: Sent[] }) {
  const means = useMeaning("messages", "pairs");
  const columns: SortColumn<Sent>[] = [
    { title: "from", definition: means("from"), value: (row) => row.from, cell: (row) => row.from },
    { title: "to", definition: means("to"), value: (row) => row.to, cell: (row) => row.to },
    { title: "messages", definition: means("count"), value: (row) => row.count, cell: (row) => formatCount(row.count) },
    { title: "bytes", definition: means("bytes"), value: (row) => row.bytes, cell: (row) => formatBytes(row.bytes) },
  ];
  return <SortTable label="Bytes from rank to rank" rows={rows} columns={columns} keyOf={(row) => `${row.from} ${row.to}`} first={3} />;
}

function Waits({ rows, step }: { rows: Waiting[]; step: string | null }) {
  const means = useMeaning("messages", "waits"), { openFrame } = usePlaces();
  const columns: SortColumn<Waiting>[] = [
    { title: "in", definition: means("call"), text: true, value: (row) => row.call, cell: (row) => (row.comm === null ? row.call : <span title={row.comm}>{row.call}</span>) },
    {
      title: "called from", definition: means("frames"), text: true, value: (row) => (row.frames[0] ? frameText(row.frames[0]) : null),
      cell: (row) => (row.frames[0] ? <button type="button" class="link" onClick={() => void openFrame(row.frames[0]!)}>{frameText(row.frames[0])}</button> : "-"),
    },
    { title: "why", definition: means("kind"), text: true, value: (row) => row.kind, cell: (row) => row.kind },
    { title: "waited", definition: means("wait_ns"), value: (row) => row.wait_ns, cell: (row) => formatTime(row.wait_ns) },
    { title: "count", definition: means("count"), value: (row) => row.count, cell: (row) => formatCount(row.count) },
    { title: "most by", definition: means("rank"), value: (row) => row.rank, cell: (row) => row.rank },
    { title: step === null ? "of its run" : "of its steps", definition: means("rank_ratio"), value: (row) => row.rank_ratio, cell: (row) => formatShare(row.rank_ratio) },
    { title: "most for", definition: means("for_rank"), value: (row) => row.for_rank, cell: (row) => row.for_rank },
    { title: "which meanwhile", definition: means("root_name"), text: true, value: causeText, cell: causeText },
  ];
  return <SortTable label="Waits" rows={rows} columns={columns} keyOf={(row) => rows.indexOf(row)} first={3} />;
}

function Stragglers({ rows }: { rows: Straggler[] }) {
  const means = useMeaning("ranks", "stragglers");
  const columns: SortColumn<Straggler>[] = [
    { title: "rank", definition: means("rank"), value: (row) => row.rank, cell: (row) => row.rank },
    { title: "of", definition: means("metric"), text: true, value: (row) => row.metric, cell: (row) => (row.metric === "busy_ns" ? "device busy" : "CPU time") },
    { title: "has", definition: means("value_ns"), value: (row) => row.value_ns, cell: (row) => formatTime(row.value_ns) },
    { title: "median", definition: means("median_ns"), value: (row) => row.median_ns, cell: (row) => formatTime(row.median_ns) },
    { title: "most of it in", definition: means("cause"), text: true, value: (row) => row.cause, cell: (row) => row.cause ?? "-" },
    { title: "there", definition: means("cause_ns"), value: (row) => row.cause_ns, cell: (row) => formatTime(row.cause_ns) },
  ];
  return <SortTable label="Stragglers" rows={rows} columns={columns} keyOf={(row) => rows.indexOf(row)} first={2} />;
}

function Groups({ rows }: { rows: Group[] }) {
  const means = useMeaning("ranks", "groups");
  const columns: SortColumn<Group>[] = [
    { title: "ranks", definition: means("members"), text: true, value: (row) => membersText(row.members), cell: (row) => membersText(row.members) },
    { title: "how many", definition: means("count"), value: (row) => row.count, cell: (row) => formatCount(row.count) },
  ];
  return <SortTable label="Which ranks are alike" rows={rows} columns={columns} keyOf={(row) => row.group} first={1} />;
}

function Contexts({ rows }: { rows: Uneven[] }) {
  const means = useMeaning("ranks", "contexts"), { openFrame } = usePlaces();
  const columns: SortColumn<Uneven>[] = [
    { title: "in", definition: means("name"), text: true, value: (row) => row.name, cell: (row) => row.name ?? "-" },
    {
      title: "called from", definition: means("frames"), text: true, value: (row) => (row.frames[0] ? frameText(row.frames[0]) : null),
      cell: (row) => (row.frames[0] ? <button type="button" class="link" onClick={() => void openFrame(row.frames[0]!)}>{frameText(row.frames[0])}</button> : "-"),
    },
    { title: "what", definition: means("kind"), text: true, value: (row) => row.kind, cell: (row) => row.kind },
    { title: "least", definition: means("least_ns"), value: (row) => row.least_ns, cell: (row) => formatTime(row.least_ns) },
    { title: "mean", definition: means("mean_ns"), value: (row) => row.mean_ns, cell: (row) => formatTime(row.mean_ns) },
    { title: "most", definition: means("most_ns"), value: (row) => row.most_ns, cell: (row) => formatTime(row.most_ns) },
    { title: "rank", definition: means("most_rank"), value: (row) => row.most_rank, cell: (row) => row.most_rank },
    { title: "most − mean", definition: means("lost_ns"), value: (row) => row.lost_ns, cell: (row) => formatTime(row.lost_ns) },
  ];
  return <SortTable label="Unevenly spent in" rows={rows} columns={columns} keyOf={(row) => rows.indexOf(row)} first={7} />;
}
