/* times.tsx - why one routine has other times on other pages: docs/report.md, "One routine, several times". */

const TIMES: [string, string][] = [
  ["Profile, cpu", "processor time of its threads, which samples stand for: also inside API calls, never asleep"],
  ["Profile, api", "from the entry of API calls to their return, asleep or not"],
  ["Statistics", "time on the clock, lane by lane: calls and operations exactly, what is between calls as its samples divide it; what slept is off the CPU, a row of its own"],
  ["Blame, Idle time", "only while devices were idle, divided among the threads that were active; where no samples tell, it falls to what the calls before and after share: mostly a caller"],
  ["Advice", "all of the devices' idle time while it, or what it called, ran, with what is inferred of it and of its callers: an upper bound"],
  ["Critical path", "only what decided how long the run took"],
];

/** `here`: the row of the page that it stands on. */
export function TimesDiffer({ here }: { here: "Profile, cpu" | "Statistics" | "Blame, Idle time" | "Advice" | "Critical path" }) {
  return (
    <details class="part-times">
      <summary>Why other pages have other times for it</summary>
      <dl>
        {TIMES.map(([where, words]) => (
          <div key={where} aria-current={where === here ? "true" : undefined}>
            <dt>{where}</dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
      <p class="quiet">More: docs/report.md, “One routine, several times”.</p>
    </details>
  );
}
