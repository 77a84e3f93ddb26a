/* devices.tsx - one device, or the host: what goes out of it and what comes in, by whom, through which lines and data objects. */
import { useMemo } from "preact/hooks";
import { endKey, matrixOf, queuesOf, type Comm, type End, type Sums } from "../../model/comm.js";
import { useShared } from "../context.js";
import { Chord } from "./chord.jsx";
import { lineAt } from "./code.jsx";
import { objectAt } from "./objects.jsx";
import { Lines, Objects, Pairs } from "./tables.jsx";

/** As many of its queues are pinned on the time line. */
const PINNED_MOST = 12;

export function DeviceView({ comm }: { comm: Comm }) {
  const { address, go, run } = useShared();
  const ends = useMemo(() => matrixOf(comm).ends, [comm]), known = ends.filter(({ end }) => end !== null);
  const shown = known.find(({ end }) => endKey(end) === address.options.device) ?? known.find(({ end }) => end !== "host") ?? known[0];
  if (!shown) return <p class="quiet">The runtime says of no end where it lies.</p>;
  const { end, name } = shown, touches = (row: Sums) => row.from === end || row.to === end, queues = queuesOf(run, end, comm.matrix);
  return (
    <>
      <label class="comm-device">
        Device{" "}
        <select value={endKey(end)} onChange={(event) => go({ device: event.currentTarget.value }, { replace: true })}>
          {known.map((one) => <option key={String(one.end)} value={endKey(one.end)}>{one.name}</option>)}
        </select>
      </label>
      <div class="comm-pictures">
        <div class="comm-inout">
          <h2>{`Out of ${name}`}</h2>
          <Side rows={comm.pairs.filter((row) => row.from === end)} all={comm.bytes} label={`Out of ${name}`} />
          <h2>{`Into ${name}`}</h2>
          <Side rows={comm.pairs.filter((row) => row.to === end)} all={comm.bytes} label={`Into ${name}`} />
          {queues.length > 0 && (
            <p><button type="button" onClick={() => go({ pin: queues.slice(0, PINNED_MOST).join(",") }, { page: "timeline" })}>Its queues on the time line</button></p>
          )}
        </div>
        <Chord ends={ends} pairs={comm.matrix} by="bytes" lit={touches} onEnd={(other: End) => go({ device: endKey(other) }, { replace: true })} />
      </div>
      <h2>Lines</h2>
      <Lines rows={comm.lines.filter(touches)} all={comm.bytes} keyOf={lineAt} chosen={null} onChoose={(line) => go({ show: "code", line, pair: null })} />
      <h2>Data objects</h2>
      <Objects rows={comm.objects.filter(touches)} all={comm.bytes} keyOf={objectAt} chosen={null} onChoose={(object) => go({ show: "object", object, pair: null })} />
    </>
  );
}

function Side({ rows, all, label }: { rows: Comm["pairs"]; all: number; label: string }) {
  return rows.length ? <Pairs rows={rows} all={all} label={label} /> : <p class="quiet">Nothing.</p>;
}
