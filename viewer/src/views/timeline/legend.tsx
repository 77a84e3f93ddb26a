/* legend.tsx - what the looks mean, and which keys there are. */

const LOOKS: [string, string, string][] = [
  ["solid", "operation, API call, range", "It is recorded that it was so. In places with many short ones the height is the share of time."],
  ["sampled", "inferred from samples", "CPU code between API calls: what the sample nearby saw."],
  ["striped", "wait in the C library", "The thread slept in a function that waits."],
  ["low", "off the CPU", "The thread was neither in an API call nor on a CPU."],
  ["half", "orders others, or a collective", "Takes no device time of its own."],
  ["mark", "instant, or without times", "A mark, a call that took no time, or an operation whose times the runtime did not tell, at its API call."],
  ["hatched", "not read, or not recorded", "Rows that were not read yet (read all), or a time in which recording was off."],
];

export function Legend() {
  return (
    <ul class="tl-legend" aria-label="Legend">
      {LOOKS.map(([look, name, meaning]) => (
        <li key={look} title={meaning}><span class={`tl-swatch tl-swatch-${look}`} aria-hidden="true" />{name}</li>
      ))}
      <li title="No lane has anything here"><span class="tl-swatch" aria-hidden="true" />idle</li>
    </ul>
  );
}

/** For the list of keys of the page, too. */
export const TIMELINE_KEYS: [string, string][] = [
  ["w s", "zoom in, out"], ["a d", "move left, right"], ["↑ ↓", "another lane"], ["← →", "the interval before, after"], ["shift ← →", "move"],
  ["Enter or f", "zoom to the interval, or to the range"], ["m", "select its time"], ["g", "from the API call to its operation, and back"],
  [", .", "to what decided when it began, and to what it decided"], ["c", "the critical path over the lanes"],
  ["n N", "next, previous of the highlighted routine"], ["h", "highlight the chosen routine"], ["p", "pin the lane"], ["[ ]", "call depth"],
  ["0", "the whole run"], ["Esc", "choose nothing"],
];

export function Keys() {
  return (
    <details class="tl-keys">
      <summary>Keys</summary>
      <dl>
        {TIMELINE_KEYS.map(([keys, what]) => <div key={keys}><dt><kbd>{keys}</kbd></dt><dd>{what}</dd></div>)}
        <div><dt>wheel</dt><dd>scrolls the lanes, or zooms where all are in sight; with ctrl it zooms, with shift it moves</dd></div>
        <div><dt>drag</dt><dd>moves; with shift, or along the axis, it selects a range</dd></div>
        <div><dt>double click</dt><dd>zooms to the interval; on the axis shows the whole run</dd></div>
      </dl>
    </details>
  );
}
