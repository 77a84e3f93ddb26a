// pictures.mjs - pictures of a measurement in the viewer, as Chromium shows it.
//
//   build/viewer/node/bin/node tools/pictures.mjs [--build build] [--dark] [--html] [--width 1280] [--height 800] MEASUREMENT FILE.png=ADDRESS ...
//
// ADDRESS is what the page's address has behind `#/`: `timeline`, `values?vertex=3`. `make pictures` makes those of the README.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { findChromium, openBrowser, Watch } from "../tests/view/page/browser.mjs";
import { shown, whyNot } from "../tests/view/page/shown.mjs";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    build: { type: "string", default: "build" }, dark: { type: "boolean", default: false }, html: { type: "boolean", default: false },
    width: { type: "string", default: "1280" }, height: { type: "string", default: "800" },
  },
});
const [measurement, ...pictures] = positionals;
const build = path.resolve(options.build), sonde = path.join(build, "bin", "sonde");
const reason = findChromium() ? whyNot({ sonde, html: options.html }) : "chromium is missing";
if (reason || !pictures.length) {
  console.error(`pictures.mjs: ${reason ?? "which pictures? FILE.png=ADDRESS"}`);
  process.exit(1);
}

const work = mkdtempSync(path.join(tmpdir(), "pictures-"));
const place = await shown({ sonde, html: options.html, work }, path.resolve(measurement));
const { browser } = await openBrowser(path.join(build, "viewer"));
try {
  const context = await browser.newContext({ viewport: { width: Number(options.width), height: Number(options.height) }, colorScheme: options.dark ? "dark" : "light" });
  const page = await context.newPage(), watch = new Watch(page, place.origin);
  await page.goto(place.url);
  await watch.settled();
  for (const picture of pictures) {
    const at = picture.indexOf("="), file = picture.slice(0, at);
    mkdirSync(path.dirname(path.resolve(file)), { recursive: true });
    await page.goto(`${place.url.split("#")[0]}#/${picture.slice(at + 1)}`);
    await watch.settled();
    await page.screenshot({ path: file });
    console.log(file);
  }
  for (const problem of watch.take()) console.error(`pictures.mjs: ${problem}`);
} finally {
  await browser.close();
  place.close();
  rmSync(work, { recursive: true, force: true });
}
