/* pages.ts - the pages of the viewer: one line each. A view of `sonde report` that has no page of its own is shown as the tables that it is. */
import type { ComponentType } from "preact";
import { CommPage } from "./comm/comm.jsx";
import { ComparePage } from "./compare/compare.jsx";
import { CriticalPage } from "./critical/critical.jsx";
import { MemoryPage } from "./memory/memory.jsx";
import { ProfilePage } from "./profile/profile.jsx";
import { RanksPage } from "./ranks/ranks.jsx";
import { ReportPage } from "./report.jsx";
import { StallsPage } from "./stalls/stalls.jsx";
import { SummaryPage } from "./summary/summary.jsx";
import { TIMELINE_KEYS } from "./timeline/legend.jsx";
import { TimelinePage } from "./timeline/page.jsx";
import { ValuesPage } from "./values/values.jsx";

export interface Page {
  name: string;
  title: string;
  /** The key that opens it. */
  key: string;
  component: ComponentType;
  /** It is of the selected range, or lets one choose that. The others are of the whole run. */
  ranges?: boolean;
  /** Its own keys, and what they do: for the list of keys. */
  keys?: [string, string][];
}

export const PAGES: Page[] = [
  { name: "summary", title: "Summary", key: "1", component: SummaryPage },
  { name: "timeline", title: "Time line", key: "2", component: TimelinePage, ranges: true, keys: TIMELINE_KEYS },
  { name: "profile", title: "Profile", key: "3", component: ProfilePage },
  { name: "critical", title: "Critical path", key: "4", component: CriticalPage },
  { name: "memory", title: "Memory", key: "5", component: MemoryPage },
  { name: "values", title: "Values", key: "6", component: ValuesPage },
  { name: "comm", title: "Communication", key: "7", component: CommPage, ranges: true },
  { name: "tables", title: "Tables", key: "8", component: ReportPage, ranges: true },
  { name: "compare", title: "Compare", key: "9", component: ComparePage },
  { name: "ranks", title: "Ranks", key: "0", component: RanksPage, ranges: true },
  { name: "stalls", title: "Stalls", key: "x", component: StallsPage },
];
