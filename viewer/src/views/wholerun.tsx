/* wholerun.tsx - over a page that is of the whole run although a range is chosen: that it is, and where the range is used. */
import { formatAddress, windowOf, type Address } from "../model/address.js";
import { formatTime } from "../model/units.js";
import { useShared } from "./context.js";

export function WholeRun() {
  const { address, go } = useShared(), range = windowOf(address);
  if (!range) return null;
  const link = (page: string, panel: string | null) =>
    formatAddress({ page, options: { ...shared(address), from: String(range.from), to: String(range.to), ...(panel ? { panel, t0: String(range.from), t1: String(range.to) } : {}) } });
  return (
    <p class="whole-run">
      <span>
        This page is of the whole run, not of the selected range, {formatTime(range.to - range.from)} from {formatTime(range.from)}. Of the range:{" "}
        <a href={link("timeline", "statistics")}>Statistics</a>, <a href={link("timeline", "blame")}>Blame</a>, <a href={link("comm", null)}>Communication</a>, <a href={link("ranks", null)}>messages between ranks</a>.
      </span>
      <button type="button" class="plain" onClick={() => go({ from: null, to: null, t0: null, t1: null })}>
        Clear the range
      </button>
    </p>
  );
}

function shared({ options }: Address): Record<string, string> {
  return options.routine ? { routine: options.routine } : {};
}
