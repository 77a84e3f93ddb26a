// speedscope_check.mjs - what speedscope's own page makes of a file: its importer reads it, its tables say what is in it.
//
//   node tests/cli/speedscope_check.mjs BUILD FILE
//
// Prints JSON, as the page shows it: `profiles`, the [number, name, total] of each, of the first the `frames`, [total, self, name], and
// `failed`: what the page complains about. Status 77 where Chromium or the package is missing.
import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { findChromium, openBrowser } from "../view/page/browser.mjs";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".wasm": "application/wasm" };
const [build, file] = process.argv.slice(2).map((name) => path.resolve(name));
const page = path.join(build, "viewer/node_modules/speedscope/dist/release");
if (!findChromium() || !existsSync(page)) {
  console.log("skipped: chromium or npm's package speedscope is missing");
  process.exit(77);
}

const server = createServer((asked, answer) => {
  const name = new URL(asked.url, "http://localhost").pathname.slice(1), from = name === "profile.json" ? file : path.join(page, path.basename(name));
  if (!existsSync(from)) return void answer.writeHead(404).end();
  answer.writeHead(200, { "Content-Type": TYPES[path.extname(from)] ?? "application/octet-stream" });
  createReadStream(from).pipe(answer);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${server.address().port}`;
const { browser } = await openBrowser(path.join(build, "viewer"));
const failed = [];
let rows = [];
try {
  const tab = await browser.newPage({ viewport: { width: 1600, height: 4000 } });
  tab.on("dialog", (dialog) => (failed.push(dialog.message()), void dialog.dismiss()));
  tab.on("pageerror", (error) => failed.push(String(error)));
  await tab.goto(`${origin}/index.html#profileURL=${encodeURIComponent(`${origin}/profile.json`)}&view=sandwich`);
  await tab.waitForFunction(() => document.querySelectorAll("tr").length > 1, null, { timeout: 60_000 });
  rows = await tab.evaluate(() => [...document.querySelectorAll("tr")].map((row) => [...row.querySelectorAll("td")].map((cell) => cell.innerText)));
} catch (error) {
  failed.push(String(error).split("\n")[0]);
} finally {
  await browser.close();
  server.close();
}
const isProfile = ([number]) => /^\d+$/.test(number);
rows = rows.filter((cells) => cells.length === 3);
console.log(JSON.stringify({ profiles: rows.filter(isProfile), frames: rows.filter((row) => !isProfile(row)), failed }));
