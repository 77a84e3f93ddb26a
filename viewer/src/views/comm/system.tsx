/* system.tsx - all of it: devices × devices as a matrix and as a circle, and the pairs by kind. */
import { useMemo } from "preact/hooks";
import { shortened } from "../../draw/graph.js";
import { matrixOf, measured, measuredText, MEASURES, pairText, shortNames, wayKey, type Comm, type End, type Measure, type Pair, type Place } from "../../model/comm.js";
import { useShared } from "../context.js";
import { Scroll } from "../parts/scroll.jsx";
import { Chord } from "./chord.jsx";
import { Collectives, Links, PageFaults, Pairs } from "./tables.jsx";

/** Of a name at the matrix. */
const LETTERS = 32;
const WORDS: Record<Measure, string> = { bytes: "Bytes", operations: "Operations", rate: "Rate while copying" };

export function System({ comm, chosen }: { comm: Comm; chosen: Pair | null }) {
  const { address, go } = useShared();
  const by = MEASURES.find((name) => name === address.options.as) ?? "bytes", matrix = useMemo(() => matrixOf(comm), [comm]);
  const choose = (pair: Pair) => go({ pair: pair === chosen ? null : wayKey(pair) }, { replace: true });
  const openEnd = (end: End) => go({ show: "device", device: String(end) });
  return (
    <>
      <div class="comm-switch" role="group" aria-label="What the matrix shows">
        {MEASURES.map((name) => (
          <button key={name} type="button" aria-pressed={name === by} onClick={() => go({ as: name === "bytes" ? null : name }, { replace: true })}>{WORDS[name]}</button>
        ))}
      </div>
      <div class="comm-pictures">
        <MatrixTable comm={comm} chosen={chosen} by={by} onPair={choose} onEnd={openEnd} />
        <Chord ends={matrix.ends} pairs={comm.matrix} by={by} lit={chosen && ((pair) => pair === chosen)} onPair={choose} onEnd={openEnd} />
      </div>
      <h2>{chosen ? `From ${chosen.from_name} to ${chosen.to_name}` : "All pairs"}</h2>
      <Pairs rows={comm.pairs.filter((row) => !chosen || wayKey(row) === wayKey(chosen))} all={comm.bytes} />
      {!chosen && comm.collectives.length > 0 && (
        <>
          <h2>Collectives of NCCL</h2>
          <Collectives rows={comm.collectives} />
        </>
      )}
      {!chosen && comm.faults.length > 0 && (
        <>
          <h2>Page faults on managed memory</h2>
          <PageFaults rows={comm.faults} />
        </>
      )}
      {!chosen && comm.links.length > 0 && (
        <>
          <h2>What the links carried</h2>
          <p class="source-note">NVLink’s counters have everybody’s bytes; what is attributed is this program’s.</p>
          <Links rows={comm.links} />
        </>
      )}
    </>
  );
}

interface MatrixProps {
  comm: Comm;
  chosen: Pair | null;
  by: Measure;
  onPair(pair: Pair): void;
  onEnd(end: End): void;
}

function MatrixTable({ comm, chosen, by, onPair, onEnd }: MatrixProps) {
  const { ends, cells } = useMemo(() => matrixOf(comm), [comm]);
  const most = Math.max(...comm.matrix.map((pair) => measured(pair, by)));
  const short = shortNames(ends).map((text) => shortened(text, LETTERS));
  const name = (words: string, { end, name: whole }: Place, at: number) => (
    end === null ? `${words} ${whole}` : <>{words} <button type="button" class="link" title={`${whole}: what goes out of it, and comes in`} onClick={() => onEnd(end)}>{short[at]}</button></>
  );
  return (
    <Scroll frame="comm-frame" class="comm-scroll" label="Matrix of devices">
      <table class="comm-matrix">
        <thead>
          <tr>
            <td />
            {ends.map((one, at) => <th key={String(one.end)} scope="col">{name("to", one, at)}</th>)}
          </tr>
        </thead>
        <tbody>
          {ends.map((one, row) => (
            <tr key={String(one.end)}>
              <th scope="row">{name("from", one, row)}</th>
              {cells[row]!.map((pair, column) => (
                pair ? <Cell key={column} pair={pair} share={most > 0 ? measured(pair, by) / most : 0} text={measuredText(pair, by)} chosen={pair === chosen} onPair={onPair} /> : <td key={column} class="quiet">–</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Cell({ pair, share, text, chosen, onPair }: { pair: Pair; share: number; text: string; chosen: boolean; onPair(pair: Pair): void }) {
  return (
    <td class="comm-cell" style={{ "--share": String(share) }}>
      <button type="button" title={pairText(pair)} aria-pressed={chosen} onClick={() => onPair(pair)}>
        {text}
        <span class="comm-bar" style={{ width: `${(100 * share).toFixed(1)}%` }} />
      </button>
    </td>
  );
}
