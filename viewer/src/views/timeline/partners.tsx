/* partners.tsx - with whom the chosen call of MPI, or collective of NCCL, exchanged something: asked for, and as a list in the panel. */
import { partnersOf, partnerWords, type Partner, type Partners } from "../../model/timeline/partners.js";
import type { Interval } from "../../model/timeline/intervals.js";
import { RequestError } from "../../model/requests.js";
import type { Process } from "../../model/types.js";
import { formatCount, formatTime } from "../../model/units.js";
import { useLoaded, useShared, type Loaded } from "../context.js";
import { Failure } from "../failure.jsx";

/** null: the interval is no call of MPI and no collective. */
export function usePartners(interval: Interval | null, process: Process | null): Loaded<Partners | null> {
  const { requests } = useShared(), asked = interval && process ? partnersOf(interval, process) : null;
  return useLoaded(asked ?? "", async (signal) => {
    if (!asked) return null;
    try {
      return await requests.json<Partners>(asked, signal);
    } catch (error) {
      if (error instanceof RequestError && error.status === 404) return null; /* a range that the program named */
      throw error;
    }
  });
}

export function PartnerFacts({ loaded, onGo }: { loaded: Loaded<Partners | null>; onGo(to: Partner): void }) {
  if (loaded.state === "failed") return <Failure error={loaded.error} />;
  if (loaded.state === "loading" || !loaded.value) return null;
  const of = loaded.value;
  return (
    <>
      <h3>Other ranks</h3>
      {of.wait_ns > 0 && <p>{`It waited ${formatTime(of.wait_ns)} for another rank.`}</p>}
      {!of.partners.length && <p class="quiet">Nothing is known of others in it.</p>}
      <ul class="tl-links">
        {of.partners.map((one, i) => (
          <li key={i} class={one.decided ? "tl-deciding" : ""}>
            <button type="button" onClick={() => onGo(one)}>{`rank ${one.rank}: ${one.name}`}</button>
            <span class="quiet">{partnerWords(one, of.wait_ns)}</span>
          </li>
        ))}
        {of.left_out > 0 && <li class="quiet">and {formatCount(of.left_out)} more</li>}
      </ul>
    </>
  );
}
