/* comm.tsx - the page Communication, in the four views of Snoopie (ICS '24, section 3): the system, its data objects, its code and each device. A pair
 * that is chosen leaves its own in lists of objects and lines. */
import type { ComponentChildren } from "preact";
import { rangeOf } from "../../model/address.js";
import { isOfKernel, wayKey, type Comm, type Pair } from "../../model/comm.js";
import { request } from "../../model/requests.js";
import { formatBytes, formatCount, formatTime } from "../../model/units.js";
import { useLoaded, useShared } from "../context.js";
import { Failure } from "../failure.jsx";
import { CodeView } from "./code.jsx";
import { DeviceView } from "./devices.jsx";
import { ObjectView } from "./objects.jsx";
import { RunRange } from "./range.jsx";
import { System } from "./system.jsx";
import { Looked } from "./tables.jsx";
import "../memory/memory.css";
import "./comm.css";

const SHOWN = [["system", "System"], ["object", "Data objects"], ["code", "Code"], ["device", "Devices"]] as const;

export function CommPage() {
  const { requests, address } = useShared();
  const range = rangeOf(address), from = range ? Math.floor(range.from) : 0;
  const asked = range ? { from: `${from}ns`, to: `${Math.max(Math.ceil(range.to), from + 1)}ns` } : {};
  const path = request("view", "comm", asked), comm = useLoaded(path, () => requests.json<Comm>(path));
  if (comm.state === "loading") return <p class="quiet">Reading …</p>;
  if (comm.state === "failed") return <Failure error={comm.error} />;
  return (
    <div class="comm">
      <h1 class="unseen">Communication</h1>
      <RunRange />
      <Head comm={comm.value} />
      {comm.value.pairs.length > 0 ? <Body comm={comm.value} /> : comm.value.coverage.length > 0 && <Looked rows={comm.value.coverage} />}
    </div>
  );
}

/** All of it, and what of it has no place, or is not known. */
function Head({ comm }: { comm: Comm }) {
  const { address, go } = useShared(), range = rangeOf(address);
  const kernels = comm.pairs.some(isOfKernel), nccl = comm.pairs.some((pair) => pair.kind === "collective"), rough = (pair: Pair) => pair.kind === "collective" && !pair.exact;
  const what = ["copies", "migrations", ...(kernels ? ["accesses of kernels’ threads"] : []), ...(nccl ? ["collectives of NCCL"] : [])].join(", ").replace(/, ([^,]*)$/, " and $1");
  return (
    <>
      <p>
        {comm.operations ? `${formatCount(comm.operations)} ${what} moved ${formatBytes(comm.bytes)}` : "No copy and no migration"}
        {range ? ` in the selected range, ${formatTime(range.from)} to ${formatTime(range.to)}. ` : comm.operations ? ". " : " was recorded."}
        {range && <button type="button" onClick={() => go({ from: null, to: null })}>The whole run</button>}
      </p>
      {comm.unknown_operations > 0 && (
        <p class="quiet">
          {`Of ${formatCount(comm.unknown_operations)} of them, with ${formatBytes(comm.unknown_bytes)}, the runtime does not say where one end lies: they stand under “unknown”.`}
        </p>
      )}
      {range && comm.coverage.length > 0 && <p class="source-note">Accesses of kernels have no times: of a part of the run they are left out.</p>}
      {comm.pairs.some(rough) && <p class="source-note">Of some collectives it is not known exactly what each rank sent: their bytes are the mean of all ranks, or not known.</p>}
      {!range && comm.pairs.some((pair) => !pair.exact && !rough(pair)) && <p class="source-note">Not all launches of kernels were looked at: of those that were not, accesses are missing (≥).</p>}
      {comm.untraced > 0 && <p class="source-note">Recorded with --profile: data objects are unknown, and so are ends of copies that differ within a call path.</p>}
    </>
  );
}

function Body({ comm }: { comm: Comm }) {
  const { address, go } = useShared();
  const shown = SHOWN.find(([name]) => name === address.options.show)?.[0] ?? "system";
  const chosen = comm.matrix.find((pair) => wayKey(pair) === address.options.pair) ?? null, own = (row: Parameters<typeof wayKey>[0]) => !chosen || wayKey(row) === wayKey(chosen);
  const views: Record<typeof shown, () => ComponentChildren> = {
    system: () => <System comm={comm} chosen={chosen} />,
    object: () => <ObjectView comm={comm} rows={comm.objects.filter(own)} />,
    code: () => <CodeView comm={comm} rows={comm.lines.filter(own)} />,
    device: () => <DeviceView comm={comm} />,
  };
  return (
    <>
      <div class="comm-switch comm-views" role="group" aria-label="What is shown">
        {SHOWN.map(([name, title]) => (
          <button key={name} type="button" aria-pressed={name === shown} onClick={() => go({ show: name === "system" ? null : name })}>{title}</button>
        ))}
        {chosen && shown !== "device" && (
          <button type="button" class="comm-chip" title="All pairs again" onClick={() => go({ pair: null }, { replace: true })}>{`${chosen.from_name} → ${chosen.to_name} ×`}</button>
        )}
      </div>
      {views[shown]()}
    </>
  );
}
