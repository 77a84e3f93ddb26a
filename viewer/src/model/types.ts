/* types.ts - what answers hold (docs/developers/requests.md). Times are nanoseconds; `null` is unknown, and what a row has not is not there. */

export interface Problem {
  what: string;
  where: string | null;
  why: string | null;
  hint: string | null;
  option: string | null;
  at: number | null;
  more: string[];
}

export type Kind = "text" | "count" | "id" | "key" | "time" | "bytes" | "share" | "number" | "figure" | "boolean" | "object" | "list" | "map";

export interface Column {
  name: string | null;
  shown: boolean;
  title: string | null;
  kind: Kind;
  style: string[];
  spare: number;
  unit: string | null;
  definition: string | null;
  /** object, list, map: the number of the table within. */
  table?: number | null;
  /** A list of bare values: their kind. */
  of?: Kind | null;
}

export interface ViewOption {
  name: string;
  type: "flag" | "integer" | "real" | "text" | "choice";
  argument: string | null;
  low: number | null;
  high: number | null;
  /** Empty but of a choice. */
  choices: string[];
  help: string;
}

/** A view of `sonde report`, as `views` describes it. */
export interface View {
  name: string;
  summary: string;
  /** null: the summary is enough. */
  description: string | null;
  single: boolean;
  needs_operations: boolean;
  hidden: boolean;
  options: ViewOption[];
  tables: { name: string; columns: Column[] }[];
}

export interface TextRow {
  /** null: nothing; "-": unknown. */
  cells: (string | null)[];
  values: (number | null)[];
  /** How deep it stands in a tree; not there: in none, or at its root. */
  depth?: number;
}

export interface TextTable {
  name: string;
  columns: Column[];
  rows: TextRow[];
  left_out: number;
  left_out_view: string | null;
}

export type TextItem =
  | { kind: "table"; gap: boolean; table: TextTable }
  | { kind: "sentence"; gap: boolean; tone: "plain" | "title" | "warning" | "error"; head: string | null; text: string; command: string | null }
  | { kind: "others"; gap: boolean; views: string[] };

/** A view as people read it: `text/VIEW`. */
export interface Text {
  view: string;
  items: TextItem[];
  notes: Note[];
}

export interface Note {
  kind: string;
  text: string;
}

/** `missing`: what must be known before any figure is believed. */
export interface Missing {
  warnings: string[];
  notes: Note[];
}

export interface Extent {
  rows: number;
  from_ns: number;
  to_ns: number;
}

export type TraceKind = "operations" | "calls" | "ranges" | "samples" | "switches" | "waits" | "sleeps" | "messages";

export interface Lane {
  lane: number;
  kind: "queue" | "thread";
  title: string;
  name: string | null;
  tid: number | null;
  threads: number | null;
  /** Of a queue; null: a thread, or unknown. */
  device: number | null;
  context: number | null;
  out_of_order: boolean;
  traces: Partial<Record<TraceKind, Extent>>;
}

export interface Device {
  device: number;
  name: string | null;
  vendor: string | null;
  driver: string | null;
  platform: string | null;
  backend: string | null;
  memory_bytes: number | null;
  compute_units: number | null;
}

export interface Process {
  process: number;
  name: string;
  host: string | null;
  pid: number;
  executable: string | null;
  rank: number | null;
  local_rank: number | null;
  ranks: number | null;
  traced: boolean;
  /** A time of the process less this is on the axis of the run; 0 where that has no length (model/run.ts). */
  origin_ns: number;
  /** null: nothing was kept of when it ran; so are the two below. */
  begin_ns: number | null;
  recorded_ns: number | null;
  end_ns: number | null;
  clock_bound_ns: number | null;
  pauses: { from_ns: number; to_ns: number }[];
  devices: Device[];
  lanes: Lane[];
}

export interface Run {
  sonde: string;
  path: string;
  command: string | null;
  wall_begin_ns: number | null;
  /** 0: unknown, since no process has times (model/run.ts). */
  length_ns: number;
  processes: Process[];
}

export interface Frame {
  node: number;
  kind: string;
  label: string;
  name: string | null;
  file: string | null;
  line: number | null;
  module: string | null;
  /** Native code without a name: where in the module. */
  offset?: number;
  code: "user" | "library" | "runtime" | null;
  /** A link: the call path that prepared what is below. */
  prepared_in?: number;
}

export interface Hit {
  label: string;
  name: string | null;
  kind: string;
  contexts: number;
  operations: number;
  device_ns: number;
  node: number;
}

/** `find`. */
export interface Found {
  text: string;
  hits: Hit[];
  left_out: number;
}

/** Of the run, or of the idle time of a device: `view/summary`. */
export interface VerdictPart {
  kind: "busy" | "start_up" | "host_code" | "compiles" | "memory" | "api_calls" | "waits" | "no_thread" | "unknown";
  ns: number;
  place: string | null;
  place_ns: number | null;
  error_ns: number | null;
  waited_ns: number | null;
  waits_in: string | null;
}

/** `view/summary`: what of it the first page draws. */
export interface Summary {
  verdict: { sentence: string; range_ns: number; parts: VerdictPart[] } | null;
  devices: {
    process: string;
    device: number;
    name: string | null;
    wall_ns: number | null;
    busy_ns: number | null;
    kernel_ns: number | null;
    copy_ns: number | null;
    idle_ns: number | null;
    idle_for: VerdictPart[] | null;
  }[];
  kernels: { name: string | null; kind: string; count: number; total_ns: number | null; source?: { file: string; line: number } }[];
}

/** A frame as it stands in the JSON of views. */
export interface ViewFrame {
  name: string | null;
  file: string | null;
  line: number | null;
  module: string | null;
}

/** `view/advice`. */
export interface Advices {
  traced: boolean;
  rows: number;
  rows_looked_at: number;
  advice: {
    rule: string;
    title: string;
    change: string;
    evidence: string;
    process: string;
    device: number | null;
    saving_ns: number;
    error_ns: number;
    frames: ViewFrame[];
  }[];
}

/** The header of `overview`; its column `busy` is devices × pixels, device by device. */
export interface Overview {
  to_ns: number;
  pixels: number;
  partial: boolean;
  read_rows: number;
  devices: { process: number; device: number | null; name: string }[];
}
