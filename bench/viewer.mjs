// viewer.mjs - how fast the viewer is: opening a measurement, and the time line as it moves. Chromium, 1280 × 800.
//
//   build/viewer/node/bin/node bench/viewer.mjs --build build [--html] [--rounds N] MEASUREMENT
//
// Prints JSON, all in milliseconds: of each round `opened`, from the navigation to the last change of the page before it rests for 150 ms
// (the time line, whole run); and of all frames while it zooms in and out (wheel, keys) and is dragged, median, 95th percentile, most.
// A frame's time is from its begin to the first task after its painting: events, scripts, layout and painting in the page's thread, without what
// puts it on the screen, of which there are 60 a second at most. With --html the measurement is one file, whose size is `bytes`.
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { findChromium, openBrowser, Watch } from "../tests/view/page/browser.mjs";
import { shown, whyNot } from "../tests/view/page/shown.mjs";

/** In the page, before anything else: when it changed last. */
function watchChanges() {
  window.lastChange = 0;
  new MutationObserver(() => (window.lastChange = performance.now())).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
}

/** In the page: keeps the times of frames from now on. */
function keepFrames() {
  const after = new MessageChannel();
  window.frameTimes = [];
  after.port1.onmessage = ({ data }) => window.frameTimes.push(performance.now() - data);
  const next = (begin) => {
    after.port2.postMessage(begin);
    window.nextFrame = requestAnimationFrame(next);
  };
  window.nextFrame = requestAnimationFrame(next);
}

function takeFrames() {
  cancelAnimationFrame(window.nextFrame);
  return window.frameTimes;
}

async function move(page) {
  const canvases = await page.locator("main canvas").all(), boxes = await Promise.all(canvases.map((canvas) => canvas.boundingBox()));
  const box = boxes.filter(Boolean).sort((a, b) => b.width * b.height - a.width * a.height)[0];
  if (!box) throw new Error("the time line has no canvas");
  const x = box.x + box.width / 2, y = Math.min(box.y + box.height / 2, 700);
  await page.mouse.move(x, y);
  for (const wheel of [-120, 120]) {
    await page.keyboard.down("Control");
    for (let i = 0; i < 60; i++) await page.mouse.wheel(0, wheel);
    await page.keyboard.up("Control");
  }
  for (const key of "wwwwwwwwddddddddaaaassss") await page.keyboard.press(key);
  for (const end of [-300, 300]) {
    await page.mouse.down();
    await page.mouse.move(x + end, y, { steps: 60 });
    await page.mouse.up();
    await page.mouse.move(x, y);
  }
}

const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
const rounded = (number) => Math.round(number * 100) / 100;

async function round(browser, place, frames) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  try {
    const page = await context.newPage(), watch = new Watch(page, place.origin), at = place.url.split("#");
    page.setDefaultTimeout(120_000);
    await page.addInitScript(watchChanges);
    await page.goto(place.url);
    await watch.settled();
    await page.goto("about:blank");
    await page.goto(`${at[0]}#/timeline`);
    await watch.settled();
    const opened = await page.evaluate(() => window.lastChange);
    await page.evaluate(keepFrames);
    await move(page);
    frames.push(...(await page.evaluate(takeFrames)));
    const problems = watch.take();
    if (problems.length) throw new Error(problems.join("\n"));
    return opened;
  } finally {
    await context.close();
  }
}

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { build: { type: "string", default: "build" }, html: { type: "boolean", default: false }, rounds: { type: "string", default: "5" } },
});
const build = path.resolve(options.build), sonde = path.join(build, "bin", "sonde");
const reason = findChromium() ? whyNot({ sonde, html: options.html }) : "chromium is missing";
if (reason) {
  console.error(`viewer.mjs: ${reason}`);
  process.exit(1);
}
const work = mkdtempSync(path.join(tmpdir(), "bench-viewer-"));
const place = await shown({ sonde, html: options.html, work }, path.resolve(positionals[0]));
const { browser } = await openBrowser(path.join(build, "viewer"));
try {
  const opened = [], frames = [];
  for (let i = 0; i < Number(options.rounds); i++) opened.push(rounded(await round(browser, place, frames)));
  frames.sort((a, b) => a - b);
  const bytes = options.html ? statSync(fileURLToPath(place.origin)).size : null;
  console.log(JSON.stringify({ opened, frames: frames.length, median: rounded(quantile(frames, 0.5)), p95: rounded(quantile(frames, 0.95)), most: rounded(frames.at(-1)), bytes }));
} finally {
  await browser.close();
  place.close();
  rmSync(work, { recursive: true, force: true });
}
