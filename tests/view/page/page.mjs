// page.mjs - the viewer's page, each of its pages opened and used in Chromium: what it shows is what `sonde report` says, nothing goes
// wrong, nobody is asked for anything but Sonde.
//
//   page.mjs --sonde build/bin/sonde --ask build/tests/sonde-ask --packages build/viewer --work DIR [--html] NAME
//
// NAME is a measurement of measurements.py, which wrote DIR/measurements.json. With --html it is shown as one file. The pages are those
// that the page itself offers. Pictures of them are left in DIR/pictures.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { coloursOf, findChromium, openBrowser, violationsOf, Watch } from "./browser.mjs";
import { useControls } from "./controls.mjs";
import { ask, shown, whyNot } from "./shown.mjs";

const SKIP = 77;
/** Of these every control is used. */
const THOROUGH = ["recorded", "cuda", "names"];
const SCRIPT = "<script>alert(1)</script>", IMAGE = '"><img src=x onerror=alert(2)>';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { ...Object.fromEntries(["sonde", "ask", "packages", "work"].map((name) => [name, { type: "string" }])), html: { type: "boolean", default: false } },
});
for (const name of ["sonde", "ask", "packages", "work"]) options[name] = path.resolve(options[name]);

let failed = 0;
function check(what, holds, detail = "") {
  failed += !holds;
  console.log(`${holds ? "ok  " : "FAIL"} ${what}${detail && !holds ? ` (${detail})` : ""}`);
}

/** As it is compared: without spaces, for names may be shown in pieces. */
const plain = (text) => String(text).replace(/[\s\p{Cc}\u2400-\u2421]+/gu, ""); // the page shows controls as their pictures

class Tour {
  constructor(browser, axe, page, watch, place, measurement) {
    Object.assign(this, { browser, axe, page, watch, place, measurement });
    this.base = place.url.split("#")[0];
    this.pictures = path.join(options.work, "pictures");
    mkdirSync(this.pictures, { recursive: true });
  }

  async open(url) {
    await this.page.goto(url);
    return this.watch.settled();
  }

  async show(page) {
    return this.open(`${this.base}#/${page}`);
  }

  nothingWrong(where) {
    const problems = this.watch.take();
    check(`${where}: nothing goes wrong`, problems.length === 0, problems.slice(0, 5).join("\n      "));
  }

  text() {
    return this.page.locator("main").evaluate((main) => main.textContent).then(plain);
  }

  /** The names of the pages that the navigation leads to, those of the list of pages; views of the report without one are no pages. */
  async pages() {
    const source = readFileSync(path.join(options.packages, "src", "views", "pages.ts"), "utf8");
    const own = [...source.matchAll(/\bname: "(\w+)"/g)].map(([, name]) => name);
    const links = await this.page.$$eval('nav a[href^="#/"]', (found) => found.map((a) => decodeURIComponent(a.getAttribute("href").slice(2).split("?")[0])));
    check("the navigation leads to each page", own.length > 0 && own.every((name) => links.includes(name)), `${links} of ${own}`);
    return own;
  }

  async visit(name, thorough) {
    check(`${name}: it comes to rest`, await this.show(name));
    this.nothingWrong(`${name}, opened`);
    await this.looks(name, thorough ? ["light", "dark"] : ["light"]);
    await this.isInTheAddress(name);
    await this.navigationByKeyboard(name);
    if (!thorough) return;
    const used = await useControls(this.page, this.watch, () => this.show(name));
    this.nothingWrong(`${name}, ${used.length} controls used`);
    await this.downloaded(name);
    await this.nothingOfNames(name);
  }

  async looks(name, schemes) {
    for (const colorScheme of schemes) {
      await this.page.emulateMedia({ colorScheme });
      await this.watch.settled();
      const picture = await this.page.screenshot();
      writeFileSync(path.join(this.pictures, `${this.measurement}${options.html ? "-html" : ""}-${name}-${colorScheme}.png`), picture);
      const { colours, commonest } = await coloursOf(this.browser, picture);
      check(`${name}, ${colorScheme}: the picture is not blank`, colours >= 4 && commonest < 0.995, `${colours} colours, ${commonest} of it is one`);
      const violations = await violationsOf(this.page, this.axe);
      check(`${name}, ${colorScheme}: everybody can use it`, violations.length === 0, violations.join("\n      "));
    }
    await this.page.emulateMedia({ colorScheme: "light" });
  }

  /** What is shown is the same when it is loaded again. */
  async isInTheAddress(name) {
    await this.watch.settled();
    const before = await this.text(), { hash } = new URL(this.page.url());
    await this.page.reload();
    await this.watch.settled();
    const after = await this.text();
    check(`${name}: the address holds what is shown`, new URL(this.page.url()).hash === hash && before === after,
      before === after ? this.page.url() : `${before.slice(0, 300)}\n      then\n      ${after.slice(0, 300)}`);
    check(`${name}: the address holds no token`, !/token/.test(this.page.url()), this.page.url());
  }

  /** From the top of the page the tab key reaches the navigation. */
  async navigationByKeyboard(name) {
    await this.page.evaluate(() => document.activeElement?.blur?.());
    let reached = false;
    for (let i = 0; i < 40 && !reached; i++) {
      await this.page.keyboard.press("Tab");
      reached = await this.page.evaluate(() => document.activeElement?.closest("nav") !== null && document.activeElement?.tagName === "A");
    }
    check(`${name}: the keyboard reaches the navigation`, reached);
    if (!reached) return;
    const target = await this.page.evaluate(() => document.activeElement.getAttribute("href"));
    await this.page.keyboard.press("Enter");
    await this.watch.settled();
    check(`${name}: and follows it`, new URL(this.page.url()).hash.split("?")[0] === target.split("?")[0], `${this.page.url()} for ${target}`);
    await this.show(name);
  }

  async downloaded(name) {
    for (const download of this.watch.downloads.splice(0)) {
      const file = await download.path().catch(() => null);
      check(`${name}: ${download.suggestedFilename()} was saved`, file !== null && readFileSync(file).length > 0);
    }
  }

  /** Names of the program became no elements. */
  async nothingOfNames(where) {
    const found = await this.page.evaluate(() => [...document.querySelectorAll("#page script, img[src='x'], b")].filter((e) => e.tagName !== "B" || e.textContent === "range").map((e) => e.outerHTML));
    check(`${where}: names are text`, found.length === 0, found.join(" "));
  }

  // ---- numbers --------------------------------------------------------------------------------------------------------

  asked(request) {
    return JSON.parse(ask(options.ask, this.path, request).bytes);
  }

  report(view) {
    return JSON.parse(spawnSync(options.sonde, ["report", this.path, view, "--json"], { encoding: "utf8", maxBuffer: 1 << 30 }).stdout);
  }

  rows() {
    return this.page.$$eval("main tr, main [role=row]", (rows) =>
      rows.map((row) => [...row.querySelectorAll("th, td, [role=cell], [role=gridcell], [role=rowheader]")].map((cell) => cell.textContent)));
  }

  /** A view of `sonde report` as tables: all of its cells and sentences. */
  async view(name) {
    const text = this.asked(`text/${name}`), mayFail = this.watch.answersMayFail;
    this.watch.answersMayFail ||= "error" in text;
    await this.show(`tables?view=${name}`);
    this.watch.answersMayFail = mayFail;
    if (text.error) {
      const said = (await this.text()).includes(plain(text.error.what));
      return check(`${name}: that there is nothing`, said, text.error.what);
    }
    const rows = (await this.rows()).map((row) => row.map(plain)), all = await this.text(), missing = [];
    for (const item of text.items) {
      if (item.kind === "sentence" && !all.includes(plain((item.head ?? "") + item.text))) missing.push(item.text);
      for (const { cells } of item.kind === "table" ? item.table.rows : []) {
        const wanted = cells.filter((cell) => cell !== null).map(plain);
        if (!rows.some((row) => inOrder(wanted, row))) missing.push(wanted.join(" | "));
      }
    }
    check(`${name}: what sonde report says`, missing.length === 0, `${missing.length} are missing, such as ${missing[0]} in ${JSON.stringify(rows.slice(0, 4))}`);
    this.nothingWrong(`${name}, as a report`);
  }

  async kernels() {
    await this.show("tables?view=kernels");
    const rows = (await this.rows()).map((row) => row.map(plain)), all = this.report("kernels");
    const missing = all.slice(0, 50).filter(({ name, count }) => !rows.some((row) => row.includes(plain(name)) && row.some((cell) => cell.replaceAll(",", "") === String(count))));
    check(`kernels: names and counts of sonde report --json`, all.length > 0 && missing.length === 0, JSON.stringify(missing.map(({ name, count }) => [name, count])));
  }

  async comm() {
    await this.show("comm");
    const { pairs, lines, objects, matrix, bytes } = this.report("comm"), main = this.page.locator("main");
    const counts = async (table, at) => (await main.locator(`table[aria-label="${table}"] tbody tr`).evaluateAll((rows, cell) => rows.map((row) => Number(row.cells[cell].textContent.replaceAll(",", ""))), at)).sort();
    const shown = { Pairs: [await counts("Pairs", 4), pairs], Lines: [await counts("Lines", 4), lines], "Data objects": [await counts("Data objects", 6), objects] };
    for (const [table, [found, rows]] of Object.entries(shown)) {
      const expected = rows.map(({ operations }) => operations).sort();
      check(`comm: ${table}, as sonde report has them`, rows.length > 0 && JSON.stringify(found) === JSON.stringify(expected), `${found} for ${expected}`);
    }
    const cells = await main.locator(".comm-cell button").evaluateAll((found) => found.map((cell) => cell.title));
    const missing = matrix.filter((m) => !cells.some((title) => title.startsWith(`${m.from_name} to ${m.to_name}: `) && title.includes(` in ${m.operations.toLocaleString("en-US")} operations`)));
    check("comm: a cell for each pair", cells.length === matrix.length && missing.length === 0, `${cells}`);
    // A cell leaves its pair, and the switch shows rates.
    const first = matrix[0], own = (rows) => rows.filter((row) => row.from === first.from && row.to === first.to).length;
    await this.open(`${this.base}#/comm?pair=0`);
    check("comm: a chosen cell leaves its own", (await counts("Lines", 4)).length === own(lines) && (await counts("Data objects", 6)).length === own(objects));
    const texts = async () => (await main.locator(".comm-cell").allInnerTexts()).join(" ");
    const before = await texts();
    await main.getByRole("button", { name: "Rate while copying" }).click();
    await this.watch.settled();
    check("comm: bytes or rates", bytes > 0 && !before.includes("/s") && (await texts()).includes("GB/s"), before);
    // A line leads to its call path in the profile.
    await this.show("comm");
    await main.locator('table[aria-label="Lines"] button.link').first().click();
    await this.watch.settled();
    check("comm: a line opens the profile", new URL(this.page.url()).hash.startsWith("#/profile?"), this.page.url());
    this.nothingWrong("comm, by numbers");
  }

  async values() {
    await this.show("values");
    const { objects, coverage, graph } = this.report("values"), rows = (await this.rows()).map((row) => row.map(plain));
    const number = (cell) => Number(cell.replaceAll(",", ""));
    const lost = objects.filter(({ name, count }) => !rows.some((row) => row[0] === plain(name) && number(row[1]) === count));
    check("values: objects", lost.length === 0, JSON.stringify(lost.map(({ name }) => name)));
    const found = await this.page.locator(".values-matrix td.found").count();
    check("values: patterns", found === objects.reduce((sum, { patterns }) => sum + new Set(patterns.map(({ pattern }) => pattern)).size, 0), String(found));
    const unseen = coverage.filter((c) => !rows.some((row) => row[0] === plain(c.kernel) && row[1] === c.engine && number(row[2]) === c.launches && number(row[3]) === c.looked_at));
    check("values: what was looked at", coverage.length > 0 && unseen.length === 0, JSON.stringify(unseen));
    check("values: vertices", (await this.page.locator(".values-vertex").count()) === graph.vertices.length);
    await this.page.getByText("As a table").click();
    const edges = await this.page.locator(".values-edges tbody tr").allInnerTexts();
    const counts = (list) => JSON.stringify(list.sort());
    check("values: edges", counts(edges.map((row) => row.split("\t").slice(0, 2).map((cell) => parseInt(cell, 10)).concat(number(row.split("\t")[3])))) ===
      counts(graph.edges.map((edge) => [edge.from, edge.to, edge.operations])), edges.join("\n"));
    const widest = graph.edges.findIndex(({ unchanged }) => unchanged >= 0.33);
    check("values: an edge that is redundant is red", widest < 0 || (await this.page.locator(".values-picture path[marker-end*=high]").count()) > 0);
    // The slice of a vertex is the view's own.
    const { id } = graph.vertices.at(-1);
    await this.open(`${this.base}#/values?vertex=${id}`);
    check("values: the slice of a vertex", (await this.page.locator(".values-vertex").count()) === this.asked(`view/values?vertex=${id}`).graph.vertices.length);
    await this.open(`${this.base}#/values?important=nonsense%3D1`).finally(() => this.watch.take()); // which is a request that fails
    check("values: what cannot be read is said", (await this.text()).includes(plain("cannot read --important")));
    this.nothingWrong("values, by numbers");
  }
}

/** Each of the words is in a cell, in their order. */
function inOrder(words, cells) {
  let at = 0;
  for (const word of words) {
    while (at < cells.length && !cells[at].includes(word)) at++;
    if (at++ >= cells.length) return false;
  }
  return true;
}

async function tour(browser, axe, name, measurement) {
  const place = await shown(options, measurement);
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true });
  try {
    const page = await context.newPage(), watch = new Watch(page, place.origin);
    page.setDefaultTimeout(60_000);
    watch.answersMayFail = name === "nothing"; // there is no row that most views could show
    const it = new Tour(browser, axe, page, watch, place, name);
    it.path = measurement;
    await it.open(place.url);
    it.nothingWrong("opened");
    const pages = await it.pages();
    for (const shown of pages) await it.visit(shown, THOROUGH.includes(name));
    for (const view of it.asked("views")) if (!view.hidden) await it.view(view.name);
    if (name === "recorded" || name === "cuda") await it.kernels();
    if (name === "recorded" && pages.includes("values")) await it.values();
    if (name === "recorded" || name === "cuda") await it.comm();
    if (name === "names") await names(it);
  } finally {
    await context.close();
    place.close();
  }
}

async function names(it) {
  await it.show("tables?view=kernels");
  const text = await it.text();
  for (const name of [SCRIPT, IMAGE, "&lt;&amp;", "k".repeat(300), "__proto__"]) check(`kernels: ${name.slice(0, 40)} is shown as it is`, text.includes(plain(name)));
  await it.nothingOfNames("kernels");
  check("the title is the program's command", (await it.page.title()).includes(SCRIPT), await it.page.title());
  it.nothingWrong("kernels, by names");
}

async function main() {
  const [name] = positionals;
  const { paths, missing } = JSON.parse(readFileSync(path.join(options.work, "measurements.json"), "utf8"));
  const reason = (findChromium() ? null : "chromium is missing (tools/packages.txt)") ?? whyNot(options) ?? missing[name];
  if (reason) {
    console.log(`skipped: ${reason}`);
    return SKIP;
  }
  const { browser, axe } = await openBrowser(options.packages);
  try {
    await tour(browser, axe, name, paths[name]);
  } catch (error) {
    if (!/libmicrohttpd/.test(error.message)) throw error;
    console.log(`skipped: ${error.message}`);
    return SKIP;
  } finally {
    await browser.close();
  }
  return failed ? 1 : 0;
}

process.exitCode = await main();
