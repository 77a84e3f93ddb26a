/* details.tsx - the panel of the chosen interval: what it is, what it waited for, and of an operation all that is known of it. */
import { certaintyRequest, certaintyWords, type Certainty } from "../../model/timeline/certainty.js";
import type { Interval } from "../../model/timeline/intervals.js";
import { durationBars, durationScale, operationOf, type Alike, type Operation, type Work } from "../../model/timeline/operation.js";
import type { Dependencies, Dependency } from "../../model/timeline/dependencies.js";
import type { Frame, Process } from "../../model/types.js";
import { formatBytes, formatCount, formatShare, formatTime } from "../../model/units.js";
import { RequestError } from "../../model/requests.js";
import { useLoaded, useShared, type Loaded } from "../context.js";
import { Failure } from "../failure.jsx";
import { DependencyFacts } from "./dependencies.jsx";
import { PartnerFacts } from "./partners.jsx";
import type { Partner, Partners } from "../../model/timeline/partners.js";
import { kindWords, placeWords, timeWords } from "./words.js";

interface Props {
  interval: Interval;
  label: string;
  /** What other views call it. */
  routine: string;
  lane: string;
  process: Process;
  dependencies: Loaded<Dependencies | null>;
  partners: Loaded<Partners | null>;
  onOperation(operation: Operation | null): void;
  onJump(): void;
  /** To the other end of a dependency. */
  onGo(to: Dependency): void;
  /** To another rank's call. */
  onPartner(to: Partner): void;
}

export function Details({ interval, label, routine, lane, process, dependencies, partners, onOperation, onJump, onGo, onPartner }: Props) {
  const { requests, run, go, address } = useShared();
  const asked = operationOf(interval, process);
  const operation = useLoaded(asked ?? "", async (signal) => {
    onOperation(null);
    if (!asked) return null;
    try {
      const known = await requests.json<Operation>(asked, signal);
      onOperation(known);
      return known;
    } catch (error) {
      if (error instanceof RequestError && error.status === 404 && interval.kind === "call") return null; /* it enqueued nothing */
      throw error;
    }
  });
  const lit = address.options.routine === routine;
  return (
    <div class="tl-details">
      <h2 title={routine}>{label}</h2>
      <p class="quiet">{kindWords(interval)} · {lane}</p>
      <p>
        <button type="button" aria-pressed={lit} onClick={() => go({ routine: lit ? null : routine })}>{lit ? "Highlighted everywhere" : "Highlight everywhere"}</button>
        {interval.node > 0 && <button type="button" onClick={() => go({ node: interval.node }, { page: "profile" })}>Show in the profile</button>}
      </p>
      <dl>
        <Fact name="Time">{timeWords(interval)}</Fact>
        <Fact name="Begins">{placeWords(interval, run.length_ns)}</Fact>
        {interval.correlation > 0 && <Fact name="Correlation">{interval.correlation}</Fact>}
      </dl>
      {interval.kind === "sample" && <HowSure interval={interval} routine={routine} process={process} />}
      {interval.cut && <p class="quiet">It goes on beyond what is on screen.</p>}
      {interval.merged && <p class="quiet">{interval.rows > 1 ? "Several short ones that lie within one pixel. Zoom in to choose one of them." : "Shorter than a pixel. Zoom in to choose it."}</p>}
      <DependencyFacts loaded={dependencies} laneTitle={(number) => process.lanes.find((one) => one.lane === number)?.title ?? ""} onGo={onGo} />
      <PartnerFacts loaded={partners} onGo={onPartner} />
      {operation.state === "loading" && asked && <p class="quiet">Reading …</p>}
      {operation.state === "failed" && <Failure error={operation.error} />}
      {operation.state === "ready" && operation.value && asked && <OperationFacts operation={operation.value} isCall={interval.kind === "call"} onJump={onJump} />}
    </div>
  );
}

/** A sample tells what a thread did at an instant; that it did so around it is inferred. */
function HowSure({ interval, routine, process }: { interval: Interval; routine: string; process: Process }) {
  const { requests, address } = useShared(), asked = certaintyRequest(interval, process, Number(address.options.depth) || 0);
  const known = useLoaded(asked ?? "", (signal) => (asked ? requests.json<Certainty>(asked, signal) : Promise.resolve(null)));
  const words = known.state === "ready" && known.value && certaintyWords(known.value, routine);
  return (
    <>
      {words && <dl><Fact name="How sure" title="time of this routine in this stretch, by samples, with its standard error: as in the view statistics">{words}</Fact></dl>}
      <p class="quiet">Inferred: a sample nearby saw the thread here; begin and end lie between samples.</p>
    </>
  );
}

function Fact({ name, title, children }: { name: string; title?: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt title={title}>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function OperationFacts({ operation, isCall, onJump }: { operation: Operation; isCall: boolean; onJump(): void }) {
  const delay = operation.queue_delay;
  return (
    <>
      {isCall && <h3>It enqueued: {operation.name}</h3>}
      <p>{(isCall || operation.call) && <button type="button" onClick={onJump}>{isCall ? "Go to the operation" : "Go to its API call"} <kbd>g</kbd></button>}</p>
      <dl>
        <Fact name="Kind">{operation.kind}</Fact>
        <Fact name="On the device" title="from its start to its end there">{formatTime(operation.duration_ns)}</Fact>
        {operation.bytes !== null && <Fact name="Bytes">{formatBytes(operation.bytes)}{operation.gb_per_s !== null && `, ${operation.gb_per_s.toPrecision(3)} GB/s`}</Fact>}
        <Fact name="Waited" title="from its API call to its start on the device">{formatTime(operation.queue_ns)}</Fact>
        {delay && Object.entries(delay).map(([name, ns]) => <Fact key={name} name={`  ${name.replace(/_ns$/, "").replace(/_/g, " ")}`}>{formatTime(ns)}</Fact>)}
        {operation.call && <Fact name="API call">{operation.call.name ?? "unknown"}{operation.call.leave_ns === null ? ", never returned" : `, ${formatTime(operation.call.leave_ns - operation.call.enter_ns)}`}</Fact>}
      </dl>
      {operation.failed && <p class="tl-warning">It ended with an error.</p>}
      {operation.bad_time && <p class="tl-warning">The runtime told times that cannot be: they are unknown here.</p>}
      {operation.early && <p class="quiet">It seems to start before its API call, by no more than the error bound of the clock.</p>}
      {operation.work && <WorkFacts work={operation.work} />}
      {operation.object && <ObjectFacts object={operation.object} />}
      {operation.alike && <AlikeFacts alike={operation.alike} own={operation.duration_ns} />}
      <Frames title="Calling context" frames={operation.frames} />
    </>
  );
}

function sizes(list: number[] | null | undefined): string {
  return list?.length ? list.map((n) => formatCount(n)).join(" × ") : "chosen by the runtime";
}

function WorkFacts({ work }: { work: Work }) {
  return (
    <dl>
      {work.global !== undefined && <Fact name="Work items" title="CUDA: threads">{sizes(work.global)}</Fact>}
      {work.local !== undefined && <Fact name="in groups of" title="CUDA: threads per block">{sizes(work.local)}</Fact>}
      {work.occupancy !== undefined && work.occupancy !== null && (
        <Fact name="Occupancy" title="theoretical occupancy of a multiprocessor">{formatShare(work.occupancy)}{work.occupancy_limiter && `, limited by ${work.occupancy_limiter}`}</Fact>
      )}
      {work.registers !== undefined && <Fact name="Registers per thread">{formatCount(work.registers)}</Fact>}
      {work.static_shared_bytes !== undefined && (
        <Fact name="Shared memory per block">{formatBytes(work.static_shared_bytes)} static, {formatBytes(work.dynamic_shared_bytes)} dynamic</Fact>
      )}
      {!!work.local_bytes && <Fact name="Local memory per thread">{formatBytes(work.local_bytes)}</Fact>}
      {work.cluster && <Fact name="Blocks per cluster">{sizes(work.cluster)}</Fact>}
      {work.source && <Fact name="Copies">{work.source}{device(work.source_device)} to {work.target}{device(work.target_device)}</Fact>}
    </dl>
  );
}

function device(number: number | null | undefined): string {
  return number ? ` ${number - 1}` : "";
}

function ObjectFacts({ object }: { object: NonNullable<Operation["object"]> }) {
  return (
    <>
      <dl>
        <Fact name="Data object">{object.kind} {object.object}, {formatBytes(object.bytes)}{object.free_ns === null ? ", alive at the end" : ""}</Fact>
      </dl>
      <Frames title="Allocated in" frames={object.frames} />
    </>
  );
}

const WIDTH = 320, HEIGHT = 64, FLOOR = 46;

/** The others of its kind and name: how many took how long, from the shortest to the longest, and this one. */
function AlikeFacts({ alike, own }: { alike: Alike; own: number | null }) {
  const { min_ns: min, max_ns: max } = alike;
  if (min === null || max === null) return <p class="quiet">{formatCount(alike.count)} like it, none with valid times.</p>;
  const scale = durationScale(alike), x = (ns: number) => 8 + (WIDTH - 16) * scale(ns);
  const marks = [["median", alike.p50_ns], ["95 %", alike.p95_ns], ["99 %", alike.p99_ns]] as const;
  const said = `${formatCount(alike.count)} like it: ${formatTime(min)} to ${formatTime(max)}, mean ${formatTime(alike.mean_ns)}, median ${formatTime(alike.p50_ns)}, 95 % below ${formatTime(alike.p95_ns)}`;
  return (
    <figure class="tl-alike">
      <figcaption>{said}{own === null ? "" : `; this one ${formatTime(own)}`}</figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={said}>
        {min < max &&
          durationBars(alike).map(({ from_ns, to_ns, count, height }) => (
            <rect key={from_ns} x={x(from_ns)} width={Math.max(x(to_ns) - x(from_ns), 1)} y={FLOOR - 36 * height} height={36 * height} class="tl-alike-bar">
              <title>{`${formatCount(count)} took ${formatTime(from_ns)} to ${formatTime(to_ns)}`}</title>
            </rect>
          ))}
        <line x1={8} x2={WIDTH - 8} y1={FLOOR} y2={FLOOR} class="tl-alike-line" />
        {marks.map(([name, ns]) => ns !== null && <line key={name} x1={x(ns)} x2={x(ns)} y1={FLOOR - 6} y2={FLOOR + 4} class="tl-alike-mark"><title>{`${name}: ${formatTime(ns)}`}</title></line>)}
        {own !== null && <circle cx={x(own)} cy={FLOOR} r={5} class="tl-alike-own"><title>{`this one: ${formatTime(own)}`}</title></circle>}
        <text x={8} y={HEIGHT - 2}>{formatTime(min)}</text>
        <text x={WIDTH - 8} y={HEIGHT - 2} text-anchor="end">{formatTime(max)}</text>
      </svg>
    </figure>
  );
}

function Frames({ title, frames }: { title: string; frames: Frame[] }) {
  const { go } = useShared();
  if (!frames.length) return <p class="quiet">{title}: unknown</p>;
  return (
    <>
      <h3>{title}</h3>
      <ol class="tl-frames">
        {frames.map((frame) => (
          <li key={frame.node}>
            <button type="button" class={frame.code === "user" ? "tl-user" : ""} title={[frame.file, frame.module].filter(Boolean).join("\n")} onClick={() => go({ node: frame.node }, { page: "profile" })}>
              {frame.label}
            </button>
          </li>
        ))}
      </ol>
    </>
  );
}
