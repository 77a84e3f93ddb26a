// otherviewer.mjs - how fast another viewer's page is with a file, measured as bench/viewer.mjs measures Sonde's.
//
//   build/viewer/node/bin/node bench/otherviewer.mjs --build build --viewer speedscope|firefox --page FOLDER [--rounds N] [--picture FILE.png] FILE
//
// FOLDER: of speedscope node_modules/speedscope/dist/release of npm's package, of the Firefox Profiler `dist` of its built sources. Prints JSON, in
// milliseconds: of each round `opened`, from the navigation until the last change of the page, or the end of its last long task, before it rests
// (null: not within ten minutes); and frames as bench/page.mjs says, of its largest picture. `failed`: what the page says where it cannot open
// the file. --picture: what it looked like before the first round's gestures.
import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { parseArgs } from "node:util";
import { findChromium, openBrowser } from "../tests/view/page/browser.mjs";
import { framesOf, inRounds, summaryOf } from "./page.mjs";

/** `address`: of the page that opens the file at `url`. `drawn`: is there when it has; `refused`: when it says that it cannot. */
const VIEWERS = {
  speedscope: {
    address: (url) => `/index.html#profileURL=${encodeURIComponent(url)}`,
    drawn: "canvas",
    refused: null,
    version: (page) => JSON.parse(readFileSync(path.join(page, "..", "..", "package.json"), "utf8")).version,
  },
  firefox: {
    address: (url) => `/from-url/${encodeURIComponent(url)}/marker-chart/`,
    drawn: ".profileViewer canvas",
    refused: ".appErrorBoundary, .rootMessage:not(:has(.loading))",
    version: () => null,
  },
};
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".wasm": "application/wasm", ".svg": "image/svg+xml" };
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { build: { type: "string", default: "build" }, viewer: { type: "string" }, page: { type: "string" }, rounds: { type: "string", default: "5" }, picture: { type: "string" } },
});
const file = path.resolve(positionals[0]), page = path.resolve(options.page), viewer = VIEWERS[options.viewer];
if (!viewer || !findChromium() || !existsSync(path.join(page, "index.html"))) {
  console.error("otherviewer.mjs: Chromium or the viewer's page is missing");
  process.exit(1);
}

/** The page and the file, and nothing else. Addresses that are no file's are the page's own; what it asks to keep for later, sw.js, is empty. */
const server = createServer((asked, answer) => {
  const name = decodeURIComponent(new URL(asked.url, "http://localhost").pathname);
  if (name === "/sw.js") return answer.writeHead(200, { "Content-Type": TYPES[".js"] }).end();
  const wanted = path.join(page, path.normalize(name));
  const from = name === "/profile.json" ? file : existsSync(wanted) && statSync(wanted).isFile() ? wanted : path.join(page, "index.html");
  answer.writeHead(200, { "Content-Type": TYPES[path.extname(from)] ?? "application/octet-stream", "Content-Length": statSync(from).size });
  createReadStream(from).pipe(answer);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${server.address().port}`;

/** Nothing changed for so long. */
const STILL_MS = 2000, MOST_MS = 600_000;

async function rested(tab) {
  for (const begin = Date.now(); Date.now() - begin < MOST_MS; await tab.waitForTimeout(100)) {
    const [last, now, drawn, refused] = await tab.evaluate(
      ({ drawn, refused }) => [window.lastChange, performance.now(), !!document.querySelector(drawn), (refused && document.querySelector(refused)?.textContent) ?? ""], { drawn: viewer.drawn, refused: viewer.refused });
    if (refused) throw new Error(refused);
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
    await tab.goto(origin + viewer.address(`${origin}/profile.json`));
    const last = await rested(tab);
    opened.push(last === null ? null : Math.round(last));
    if (options.picture && opened.length === 1) await tab.screenshot({ path: options.picture });
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
console.log(JSON.stringify({ version: viewer.version(page), opened, main: summaryOf(frames.main), interval: summaryOf(frames.interval), cpu: summaryOf(frames.cpu), bytes: statSync(file).size, failed: [...new Set(failed)] }));
