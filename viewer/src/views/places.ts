/* places.ts - ways from what one page shows to the page that shows more of it. */
import { changed, formatAddress, moved } from "../model/address.js";
import { addressOf, parseCommand } from "../model/report/command.js";
import { request } from "../model/requests.js";
import type { Found, Hit, ViewFrame } from "../model/types.js";
import { useShared } from "./context.js";
import { PAGES } from "./pages.js";

/** The page of a view: its own where there is one, else the tables. */
export function pageOf(view: string): string {
  return PAGES.some((page) => page.name === view) ? view : "tables";
}

export function usePlaces() {
  const { requests, views, address, go } = useShared();

  /** The address of a view, with options as a command line has them; null: there is no such view. */
  function commandLink(command: string): string | null {
    const place = parseCommand(command, views);
    if (!place) return null;
    const page = Object.keys(place.options).length ? "tables" : pageOf(place.view);
    return formatAddress(changed(moved(address, page), page === "tables" ? addressOf(place) : {}));
  }

  /** Highlights it everywhere, and opens it in the profile, with options of its own. */
  function openHit(hit: Hit, options: Record<string, string> = {}): void {
    if (pageOf("profile") === "profile") go({ ...options, routine: hit.label, node: hit.node }, { page: "profile" });
    else go({ routine: hit.label, view: "profile", "profile.root": `#${hit.node}` }, { page: "tables" });
  }

  /** The same of what is known by its name: of several the one in that file, else with most time on the device; or highlights it on another page. */
  async function openNamed(name: string, file: string | null = null, kind: string | null = null, options: Record<string, string> = {}, page = "profile"): Promise<void> {
    const { hits } = await requests.json<Found>(request("find", null, { text: name, limit: 1000 }));
    const alike = hits.filter((hit) => hit.name === name && (kind === null || hit.kind === kind));
    const base = file?.slice(file.lastIndexOf("/") + 1);
    const hit = alike.find((one) => base && one.label.includes(base)) ?? alike[0];
    if (hit && page === "profile") openHit(hit, options);
    else if (hit) go({ ...options, routine: hit.label }, { page });
  }

  /** A place as sentences say it: "clFinish in step() heat.c:88", "build() heat.c:20". */
  async function openPlace(place: string): Promise<void> {
    const routine = place.split(" in ")[0]!, name = routine.replace(/\(\).*$/, "");
    const { hits } = await requests.json<Found>(request("find", null, { text: name, limit: 1000 }));
    const hit = hits.find((one) => routine.startsWith(one.label)) ?? hits.find((one) => one.name === name);
    if (hit) openHit(hit);
  }

  async function openFrame(frame: ViewFrame, options: Record<string, string> = {}): Promise<void> {
    if (frame.name) await openNamed(frame.name, frame.file, null, options);
  }

  return { commandLink, openHit, openNamed, openPlace, openFrame };
}
