/* tables.tsx - the lists of the page Communication: pairs, lines, data objects, and the kernels that were looked at. */
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { bytesText, lineText, meaningOf, rateText, wayText, type Collective, type Coverage, type Faults, type Line, type Link, type Pair, type SentObject, type Sums } from "../../model/comm.js";
import { formatBytes, formatCount, formatShare, formatTime } from "../../model/units.js";
import { useShared } from "../context.js";
import { SortTable, type SortColumn } from "../memory/sorttable.jsx";
import { CsvButton } from "../parts/download.jsx";

interface Listed<Row> {
  rows: Row[];
  /** Bytes of all, of which shares are said. */
  all: number;
}

interface Choosing<Row> extends Listed<Row> {
  keyOf(row: Row): string;
  chosen: string | null;
  onChoose(key: string | null): void;
}

/** Columns that all lists have. */
function useSums<Row extends Sums>(table: string, all: number): SortColumn<Row>[] {
  const { views } = useShared(), means = (column: string) => meaningOf(views, table, column);
  return [
    { title: "bytes", definition: means("bytes"), value: (row) => row.bytes, cell: bytesText, share: (row) => (all > 0 ? row.bytes / all : 0) },
    { title: "share", definition: "bytes as % of all", value: (row) => row.bytes, cell: (row) => (all > 0 ? formatShare(row.bytes / all) : "-") },
    { title: "operations", definition: means("operations"), value: (row) => row.operations, cell: (row) => formatCount(row.operations) },
    { title: "time", definition: means("total_ns"), value: (row) => row.total_ns, cell: (row) => formatTime(row.total_ns) },
    { title: "kind", definition: means("kind"), text: true, value: (row) => row.kind, cell: (row) => row.kind },
  ];
}

function useWay<Row extends Sums>(): SortColumn<Row> {
  return { title: "way", definition: "from where to where", text: true, value: wayText, cell: wayText };
}

export function Pairs({ rows, all, label = "Pairs" }: Listed<Pair> & { label?: string }) {
  const { views } = useShared(), sums = useSums<Pair>("pairs", all);
  const columns: SortColumn<Pair>[] = [
    { title: "from", definition: meaningOf(views, "pairs", "from_name"), text: true, value: (row) => row.from_name, cell: (row) => row.from_name },
    { title: "to", definition: meaningOf(views, "pairs", "to_name"), text: true, value: (row) => row.to_name, cell: (row) => row.to_name },
    ...sums,
    { title: "rate", definition: meaningOf(views, "pairs", "bytes_per_s"), value: (row) => row.bytes_per_s, cell: (row) => rateText(row.bytes_per_s) },
  ];
  return <Listing label={label} rows={rows} columns={columns} first={2} />;
}

export function Lines({ rows, all, keyOf, chosen, onChoose }: Choosing<Line>) {
  const { views } = useShared(), sums = useSums<Line>("lines", all);
  const columns: SortColumn<Line>[] = [
    { title: "line", definition: meaningOf(views, "lines", "frames"), text: true, value: lineText, cell: (row) => <Choose text={lineText(row)} at={keyOf(row)} chosen={chosen} onChoose={onChoose} /> },
    useWay<Line>(),
    ...sums,
  ];
  return <Listing label="Lines" rows={rows} columns={columns} first={2} chosen={(row) => keyOf(row) === chosen} />;
}

export function Objects({ rows, all, keyOf, chosen, onChoose }: Choosing<SentObject>) {
  const { views } = useShared(), sums = useSums<SentObject>("objects", all);
  const columns: SortColumn<SentObject>[] = [
    {
      title: "object", definition: meaningOf(views, "objects", "name"), text: true, value: (row) => row.name,
      cell: (row) => <Choose text={row.name ?? "unknown"} at={keyOf(row)} chosen={chosen} onChoose={onChoose} />,
    },
    { title: "allocated by", definition: meaningOf(views, "objects", "site"), text: true, value: (row) => row.site, cell: (row) => row.site ?? "-" },
    { title: "lies on", definition: meaningOf(views, "objects", "owner"), text: true, value: (row) => (row.owner === null ? null : String(row.owner)), cell: (row) => (row.owner === null ? "-" : String(row.owner)) },
    useWay<SentObject>(),
    ...sums,
  ];
  return <Listing label="Data objects" rows={rows} columns={columns} first={4} chosen={(row) => keyOf(row) === chosen} />;
}

/** The rows of one line or one object: which way, and how much. */
export function Ways({ rows, all, table, label }: Listed<Sums> & { table: string; label: string }) {
  const sums = useSums<Sums>(table, all);
  return <Listing label={label} rows={rows} columns={[useWay<Sums>(), ...sums]} first={1} />;
}

/** What ranks asked of NCCL. */
export function Collectives({ rows }: { rows: Collective[] }) {
  const { views } = useShared(), means = (column: string) => meaningOf(views, "collectives", column);
  const columns: SortColumn<Collective>[] = [
    { title: "collective", definition: means("name"), text: true, value: (row) => row.name, cell: (row) => row.name },
    { title: "communicator", definition: means("communicator"), text: true, value: (row) => row.communicator, cell: (row) => row.communicator },
    { title: "sent", definition: means("sent_bytes"), value: (row) => row.sent_bytes, cell: (row) => (row.sent_bytes === null ? "-" : formatBytes(row.sent_bytes)) },
    { title: "bytes", definition: means("bytes"), value: (row) => row.bytes, cell: (row) => formatBytes(row.bytes) },
    { title: "operations", definition: means("operations"), value: (row) => row.operations, cell: (row) => formatCount(row.operations) },
    { title: "time", definition: means("total_ns"), value: (row) => row.total_ns, cell: (row) => formatTime(row.total_ns) },
    { title: "algorithm", definition: means("algorithm"), text: true, value: (row) => row.algorithm, cell: (row) => row.algorithm ?? "-" },
    { title: "protocol", definition: means("protocol"), text: true, value: (row) => row.protocol, cell: (row) => row.protocol ?? "-" },
    { title: "channels", definition: means("channels"), value: (row) => row.channels, cell: (row) => (row.channels === null ? "-" : formatCount(row.channels)) },
    { title: "process", definition: means("process"), text: true, value: (row) => row.process, cell: (row) => row.process },
  ];
  return <Listing label="Collectives" rows={rows} columns={columns} first={2} />;
}

export function PageFaults({ rows }: { rows: Faults[] }) {
  const { views } = useShared(), means = (column: string) => meaningOf(views, "faults", column);
  const columns: SortColumn<Faults>[] = [
    { title: "of", definition: means("at_name"), text: true, value: (row) => row.at_name, cell: (row) => row.at_name },
    { title: "allocated by", definition: means("site"), text: true, value: (row) => row.site, cell: (row) => row.site ?? "-" },
    { title: "page faults", definition: means("faults"), value: (row) => row.faults, cell: (row) => formatCount(row.faults) },
    { title: "process", definition: means("process"), text: true, value: (row) => row.process, cell: (row) => row.process },
  ];
  return <Listing label="Page faults" rows={rows} columns={columns} first={2} />;
}

export function Links({ rows }: { rows: Link[] }) {
  const { views } = useShared(), means = (column: string) => meaningOf(views, "links", column);
  const columns: SortColumn<Link>[] = [
    { title: "NVLink of device", definition: means("link"), text: true, value: (row) => row.link, cell: (row) => row.link },
    { title: "counted", definition: means("bytes_counted"), value: (row) => row.bytes_counted, cell: (row) => formatBytes(row.bytes_counted) },
    { title: "attributed", definition: means("bytes_attributed"), value: (row) => row.bytes_attributed, cell: (row) => formatBytes(row.bytes_attributed) },
    {
      title: "of it", definition: "attributed as % of what was counted", value: (row) => (row.bytes_counted > 0 ? row.bytes_attributed / row.bytes_counted : null),
      cell: (row) => (row.bytes_counted > 0 ? formatShare(row.bytes_attributed / row.bytes_counted) : "-"),
    },
  ];
  return <Listing label="Links" rows={rows} columns={columns} first={1} />;
}

export function Looked({ rows }: { rows: Coverage[] }) {
  const { views } = useShared(), means = (column: string) => meaningOf(views, "coverage", column);
  const columns: SortColumn<Coverage>[] = [
    { title: "kernel", definition: means("kernel"), text: true, value: (row) => row.kernel, cell: (row) => row.kernel },
    { title: "launches", definition: means("launches"), value: (row) => row.launches, cell: (row) => formatCount(row.launches) },
    { title: "looked at", definition: means("looked_at"), value: (row) => row.looked_at, cell: (row) => formatCount(row.looked_at) },
    { title: "why not all", definition: means("reason"), text: true, value: (row) => row.reason, cell: (row) => row.reason ?? "" },
  ];
  return <Listing label="Kernels that were looked at" rows={rows} columns={columns} first={1} />;
}

function Choose({ text, at, chosen, onChoose }: { text: ComponentChildren; at: string; chosen: string | null; onChoose(key: string | null): void }) {
  return (
    <button type="button" class="link" aria-pressed={at === chosen} onClick={() => onChoose(at === chosen ? null : at)}>
      {text}
    </button>
  );
}

interface ListingProps<Row> {
  label: string;
  rows: Row[];
  columns: SortColumn<Row>[];
  first: number;
  chosen?(row: Row): boolean;
}

function Listing<Row>({ label, rows, columns, first, chosen }: ListingProps<Row>) {
  const numbers = useMemo(() => new Map(rows.map((row, i) => [row, i])), [rows]);
  const csv = () => [columns.map((column) => column.title), ...rows.map((row) => columns.map((column) => column.value(row)))];
  return (
    <div class="comm-list">
      <SortTable label={label} rows={rows} columns={columns} keyOf={(row) => numbers.get(row)!} first={first} lit={chosen} />
      <p>
        <CsvButton name={`communication ${label.toLowerCase()}`} rows={csv} />
      </p>
    </div>
  );
}
