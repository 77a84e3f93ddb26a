// viewer.mjs - how fast the viewer is: opening a measurement, and the time line as it moves. Chromium, 1280 × 800.
//
//   build/viewer/node/bin/node bench/viewer.mjs --build build [--html] [--rounds N] MEASUREMENT
//
// Prints JSON, in milliseconds. Of each round, of the first page and of the time line: `started`, from the command to the address that it prints (with
// --html: writing the file, once); `drawn`, from the navigation until there is a table, or the lanes on screen are drawn; `opened`, until the last change
// before it rests (null: not within a minute). Of the frames of all rounds, while the time line is zoomed, moved, dragged and scrolled with all lanes
// open, what bench/page.mjs says. Of requests for tiles meanwhile how long their answers took (not with --html, whose size is `bytes`).
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { findChromium, openBrowser, Watch } from "../tests/view/page/browser.mjs";
import { shown, whyNot } from "../tests/view/page/shown.mjs";
import { framesOf, inRounds, summaryOf } from "./page.mjs";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { build: { type: "string", default: "build" }, html: { type: "boolean", default: false }, rounds: { type: "string", default: "5" } },
});
const build = path.resolve(options.build), sonde = path.join(build, "bin", "sonde"), measurement = path.resolve(positionals[0] ?? ".");
const reason = findChromium() ? whyNot({ sonde, html: options.html }) : "chromium is missing";
if (reason) {
  console.error(`viewer.mjs: ${reason}`);
  process.exit(1);
}

/** Keys of the groups that are closed at first are put into the address, which opens them. */
async function openAll(page) {
  const closed = page.locator('.tl-group button[aria-expanded="false"]');
  for (let count = await closed.count(); count; count = await closed.count()) await closed.last().click();
}

function tileTimes() {
  return performance.getEntriesByType("resource").filter(({ name }) => name.includes("/ask/timeline")).map(({ duration }) => duration);
}

const work = mkdtempSync(path.join(tmpdir(), "bench-viewer-"));
const { browser } = await openBrowser(path.join(build, "viewer"));
const timesOf = () => ({ started: [], drawn: [], opened: [] }), times = { first: timesOf(), timeline: timesOf() };
const frames = { main: [], interval: [], cpu: [] }, tiles = [];
let place = null;

/** One that was just started: nothing is known from the round before. A file is the same every time. */
async function show(started) {
  if (place && options.html) return;
  place?.close();
  const begin = performance.now();
  place = await shown({ sonde, html: options.html, work }, measurement);
  started.push(Math.round(performance.now() - begin));
}

async function open(page, watch, name, { started, drawn, opened }) {
  await page.goto("about:blank");
  await show(started);
  watch.origin = place.origin;
  await page.goto(`${place.url}${options.html ? "#" : "&"}/${name}`);
  await page.waitForFunction(() => window.drawnAt !== null);
  const rests = await watch.settled();
  drawn.push(await page.evaluate(() => Math.round(window.drawnAt)));
  opened.push(rests ? await page.evaluate(() => Math.round(window.lastChange)) : null);
}

async function visit(page) {
  const watch = new Watch(page, "");
  await open(page, watch, "summary", times.first);
  await open(page, watch, "timeline", times.timeline);
  await openAll(page);
  await watch.settled();
  await page.evaluate(() => performance.clearResourceTimings());
  const moved = await framesOf(browser, page, "main canvas");
  for (const name in frames) frames[name].push(...moved[name]);
  if (!options.html) tiles.push(...(await page.evaluate(tileTimes)));
  const problems = watch.take();
  if (problems.length) throw new Error(problems.join("\n"));
}

try {
  await inRounds(browser, Number(options.rounds), visit);
  const bytes = options.html ? statSync(fileURLToPath(place.origin)).size : null;
  console.log(JSON.stringify({ ...times, main: summaryOf(frames.main), interval: summaryOf(frames.interval), cpu: summaryOf(frames.cpu), tiles: summaryOf(tiles), bytes }));
} finally {
  await browser.close();
  place?.close();
  rmSync(work, { recursive: true, force: true });
}
