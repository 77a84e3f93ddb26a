// speedscope.mjs - how fast speedscope is with a file, measured as bench/viewer.mjs measures Sonde's viewer.
//
//   build/viewer/node/bin/node bench/speedscope.mjs --build build --page FOLDER [--rounds N] FILE
//
// FOLDER: node_modules/speedscope/dist/release of npm's package. Prints JSON, in milliseconds: of each round `opened`, from the navigation until the
// last change of the page, or the end of its last long task, before it rests; and frames as bench/page.mjs says. It shows one profile, which is
// one lane, at a time: the first. `failed`: what the page says where it cannot open the file.
import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { parseArgs } from "node:util";
import { findChromium, openBrowser } from "../tests/view/page/browser.mjs";
import { framesOf, inRounds, summaryOf } from "./page.mjs";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".wasm": "application/wasm" };
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { build: { type: "string", default: "build" }, page: { type: "string" }, rounds: { type: "string", default: "5" } },
});
const file = path.resolve(positionals[0]), page = path.resolve(options.page);
if (!findChromium() || !existsSync(path.join(page, "index.html"))) {
  console.error("speedscope.mjs: chromium or speedscope's page is missing");
  process.exit(1);
}

/** The page and the file, and nothing else. */
const server = createServer((asked, answer) => {
  const name = new URL(asked.url, "http://localhost").pathname.slice(1), from = name === "profile.json" ? file : path.join(page, path.basename(name) || "index.html");
  if (!existsSync(from)) return answer.writeHead(404).end();
  answer.writeHead(200, { "Content-Type": TYPES[path.extname(from)] ?? "application/octet-stream", "Content-Length": statSync(from).size });
  createReadStream(from).pipe(answer);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${server.address().port}`;

/** Nothing changed for so long. */
const STILL_MS = 2000, MOST_MS = 600_000;

async function rested(tab) {
  for (const begin = Date.now(); Date.now() - begin < MOST_MS; await tab.waitForTimeout(100)) {
    const [last, now, drawn] = await tab.evaluate(() => [window.lastChange, performance.now(), document.querySelectorAll("canvas").length]);
    if (drawn && now - last > STILL_MS) return last;
  }
  return null;
}

const { browser } = await openBrowser(path.join(path.resolve(options.build), "viewer"));
const opened = [], frames = { main: [], interval: [], cpu: [] }, failed = [];
try {
  await inRounds(browser, Number(options.rounds), async (tab) => {
    tab.on("dialog", (dialog) => (failed.push(dialog.message()), void dialog.dismiss()));
    tab.on("console", (message) => message.type() === "error" && failed.push(message.text()));
    tab.on("pageerror", (error) => failed.push(String(error)));
    tab.on("crash", () => failed.push("the page crashed"));
    await tab.goto(`${origin}/index.html#profileURL=${encodeURIComponent(`${origin}/profile.json`)}`);
    const last = await rested(tab);
    opened.push(last === null ? null : Math.round(last));
    if (last === null) return;
    const moved = await framesOf(browser, tab, "canvas");
    for (const name in frames) frames[name].push(...moved[name]);
  });
} catch (error) {
  failed.push(String(error).split("\n")[0]);
} finally {
  await browser.close();
  server.close();
}
const about = JSON.parse(readFileSync(path.join(page, "..", "..", "package.json"), "utf8"));
console.log(JSON.stringify({ version: about.version, opened, main: summaryOf(frames.main), interval: summaryOf(frames.interval), cpu: summaryOf(frames.cpu), bytes: statSync(file).size, failed: [...new Set(failed)] }));
