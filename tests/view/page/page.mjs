// page.mjs - the viewer's page, each of its pages opened and used in Chromium: what it shows is what `sonde report` says, nothing goes
// wrong, nobody is asked for anything but Sonde.
//
//   page.mjs --sonde build/bin/sonde --ask build/tests/sonde-ask --packages build/viewer --work DIR [--html] NAME
//
// NAME is a measurement of measurements.py, which wrote DIR/measurements.json. With --html it is shown as one file. The pages are those
// that the page itself offers. Pictures of them are left in DIR/pictures.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { differenceOf, findChromium, looksOf, openBrowser, violationsOf, Watch } from "./browser.mjs";
import { useControls } from "./controls.mjs";
import { ask, shown, whyNot } from "./shown.mjs";

const SKIP = 77;
/** What is in these is known, and so what they look like: expected/NAME.json, written anew with UPDATE=1. */
const KNOWN = ["names", "comm", "ranks", "sampled", "annotated", "lanes", "nothing", "profile"];
/** So much may differ, between one machine's fonts and another's. */
const LOOSE = { mean: 0.03, far: 0.1 };
const SCRIPT = "<script>alert(1)</script>", IMAGE = '"><img src=x onerror=alert(2)>';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { ...Object.fromEntries(["sonde", "ask", "packages", "work"].map((name) => [name, { type: "string" }])), html: { type: "boolean", default: false } },
});
for (const name of ["sonde", "ask", "packages", "work"]) options[name] = path.resolve(options[name]);
/** Of these every control is used, and both colours are looked at. In a file only in `make check-all`: it is the same page. */
const THOROUGH = options.html ? ["recorded", "names"] : ["recorded", "cuda", "names"];

const failures = [];
function check(what, holds, detail = "") {
  const line = `${holds ? "ok  " : "FAIL"} ${what}${detail && !holds ? ` (${detail})` : ""}`;
  if (!holds) failures.push(line);
  console.log(line);
  return holds;
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

  /** What is opened as the system's colours change has the new ones. */
  async systemColours() {
    for (const colorScheme of ["dark", "light"]) {
      await this.page.emulateMedia({ colorScheme });
      await this.show(colorScheme === "dark" ? "tables" : "summary");
      const theme = await this.page.evaluate(() => document.documentElement.dataset.theme);
      check(`the system's colours, ${colorScheme}: the page has them`, theme === colorScheme, theme);
    }
  }

  async looks(name, schemes) {
    for (const colorScheme of schemes) {
      await this.page.emulateMedia({ colorScheme });
      await this.watch.settled();
      const picture = await this.page.screenshot();
      writeFileSync(path.join(this.pictures, `${this.measurement}${options.html ? "-html" : ""}-${name}-${colorScheme}.png`), picture);
      const { small, colours, commonest } = await looksOf(this.browser, picture);
      check(`${name}, ${colorScheme}: the picture is not blank`, colours >= 4 && commonest < 0.995, `${colours} colours, ${commonest} of it is one`);
      if (KNOWN.includes(this.measurement)) this.looksAsExpected(`${name}, ${colorScheme}`, small);
      const violations = await violationsOf(this.page, this.axe, colorScheme === schemes[0] ? null : ["color-contrast"]); // the rest is the same in other colours
      check(`${name}, ${colorScheme}: everybody can use it`, violations.length === 0, violations.join("\n      "));
    }
    await this.page.emulateMedia({ colorScheme: "light" });
  }

  looksAsExpected(which, small) {
    const file = path.join(path.dirname(fileURLToPath(import.meta.url)), "expected", `${this.measurement}.json`);
    const expected = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
    if (process.env.UPDATE) {
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, `${JSON.stringify({ ...expected, [which]: small }, null, 1)}\n`);
      return;
    }
    const { mean, far } = differenceOf(small, expected[which] ?? "");
    check(`${which}: it looks as it did`, mean <= LOOSE.mean && far <= LOOSE.far, `mean difference ${mean.toFixed(3)}, ${far.toFixed(3)} of it far apart; see ${this.pictures}`);
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

  report(view, ...more) {
    return JSON.parse(spawnSync(options.sonde, ["report", this.path, view, "--json", ...more], { encoding: "utf8", maxBuffer: 1 << 30 }).stdout);
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

  /** Of the range in the address, or what is on screen: the panel follows that some time later. */
  async blamePanel(what, { from, to }, ...more) {
    const answer = this.report("blame", "--from", `${from}ns`, "--to", `${to}ns`, ...more);
    const scopes = answer.scopes.filter(({ process }) => process !== null), rest = ["before_ns", "no_thread_ns", "uncovered_ns"];
    const scope = new Set(scopes.map(({ process }) => process)).size > 1 ? answer.scopes[0] : scopes[0];
    const expected = [
      ...scope.routines.slice(0, 200).map(({ waiting_ns, computing_ns, place }) => ({ ns: waiting_ns + computing_ns, text: place })),
      ...rest.map((name) => ({ ns: scope[name], text: "" })).filter(({ ns }) => ns > 0),
    ];
    let wrong = "nothing";
    for (let i = 0; i < 40 && wrong; i++) {
      await this.watch.settled();
      const rows = await this.page.$$eval("#tl-panel tbody tr", (found) => found.map((row) => [...row.cells].map((cell) => cell.textContent)));
      const caption = (await this.page.$$eval("#tl-panel caption", (found) => found.map((one) => one.textContent)))[0] ?? "";
      const [, idle, intervals] = /^Idle for (.*?) in ([\d,]+) interval/.exec(caption) ?? [];
      const odd = rows.find((row, k) => !expected[k] || !isTime(row[1], expected[k].ns) || !isShare(row[0], expected[k].ns / scope.idle_ns) || !plain(row[2]).includes(plain(expected[k].text)));
      wrong = !idle || !isTime(idle, scope.idle_ns) || intervals.replaceAll(",", "") !== String(scope.intervals) ? caption
        : rows.length !== expected.length ? `${rows.length} rows of ${expected.length}` : odd ? JSON.stringify(odd) : "";
    }
    check(`blame ${what}: what sonde report blame --json has`, expected.length > 0 && !wrong, wrong);
    return scope;
  }

  async blame() {
    const { length_ns } = this.asked("run"), at = (part) => Math.floor(length_ns * part), seen = [];
    for (const [from, to] of [[at(0), at(0.6)], [at(0.3), at(0.9)]]) {
      await this.open(`${this.base}#/timeline?panel=blame&t0=${from}&t1=${to}`);
      seen.push(await this.blamePanel("of what is on screen", { from, to }));
    }
    check("blame: it is another one in another range", JSON.stringify(seen[0]) !== JSON.stringify(seen[1]));
    const [from, to] = [at(0.25), at(0.75)];
    await this.open(`${this.base}#/timeline?panel=blame&from=${from}&to=${to}`);
    await this.blamePanel("of a range", { from, to });
    await this.open(`${this.base}#/timeline?panel=blame&from=${from}&to=${to}&depth=1`);
    await this.blamePanel("at a depth", { from, to }, "--depth", "1");
    await this.open(`${this.base}#/timeline?panel=blame`);
    const box = await this.page.locator(".tl-rest canvas").boundingBox(), y = box.y + 30, [x0, x1] = [box.x + 0.3 * box.width, box.x + 0.6 * box.width];
    await this.page.mouse.move(x0, y);
    await this.page.keyboard.down("Shift");
    await this.page.mouse.down();
    await this.page.mouse.move((x0 + x1) / 2, y, { steps: 5 });
    await this.watch.settled();
    await this.page.mouse.move(x1, y, { steps: 5 });
    await this.page.mouse.up();
    await this.page.keyboard.up("Shift");
    await this.watch.settled();
    const dragged = new URLSearchParams(new URL(this.page.url()).hash.split("?")[1]), number = (name) => Number(dragged.get(name));
    check("blame: dragging selects a range", number("to") > number("from"), this.page.url());
    await this.blamePanel("of a range that was dragged", { from: Math.floor(number("from")), to: Math.ceil(number("to")) });
    const routine = this.page.locator("#tl-panel tbody button").first();
    await routine.click();
    await this.watch.settled();
    const lit = new URLSearchParams(new URL(this.page.url()).hash.split("?")[1]).get("routine");
    check("blame: a click highlights the routine", lit && (await routine.getAttribute("aria-pressed")) === "true" && this.asked(`find?text=${encodeURIComponent(lit)}&limit=1000`).hits.some(({ label }) => label === lit), lit);
    this.nothingWrong("blame, by numbers");
  }

  /** What lies over the lanes as it is drawn now: what is under way has been. */
  async overlay() {
    await this.watch.settled();
    await this.page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    return this.page.locator(".tl-over canvas").evaluate((canvas) => canvas.toDataURL());
  }

  /** Waits for it, for a while. */
  async becomes(holds) {
    const until = Date.now() + 120_000; // for what never does
    while (!(await holds())) {
      if (Date.now() > until) return false;
      await this.watch.settled();
    }
    return true;
  }

  /** An operation and its dependencies on the time line: the list is the request's, keys and clicks lead to the other end, arrows are drawn. */
  async dependencies() {
    const [process] = this.asked("run").processes, { origin_ns } = process, own = this.someOperation(process);
    if (!check("dependencies: there is an operation that waited and was waited for", own !== null)) return;
    const told = () => this.page.locator(".tl-links li button").allInnerTexts().then((names) => JSON.stringify(names.map(plain)));
    const names = (of) => JSON.stringify([...of.before, ...of.after].map(({ name }) => plain(name)));
    const chosen = () => new URL(this.page.url()).hash.match(/[?&]sel=([^&]*)/)?.[1] ?? "";
    const place = (step) => encodeURIComponent(`0:${step.lane}:0:${step.begin_ns - origin_ns}:`), room = 3 * (own.end_ns - own.begin_ns), begin = own.begin_ns - origin_ns;
    const open = `${this.base}#/timeline?panel=details&t0=${Math.max(begin - room, 0)}&t1=${own.end_ns - origin_ns + room}`, sel = `sel=${place(own)}${own.correlation}`;
    const leads = async (what, to) => check(`dependencies: ${what}`, await this.becomes(() => chosen().startsWith(place(to))), `${chosen()} for ${place(to)}`);
    const lists = async (what, of) => check(`dependencies: ${what}`, await this.becomes(async () => (await told()) === names(of)), `${await told()} of ${names(of)}`);
    const afresh = async () => { // the page writes what it shows into the address a moment later, which must not be that of the step before
      await this.page.goto("about:blank");
      await this.open(`${open}&${sel}`);
    };
    await this.open(open);
    const bare = await this.overlay();
    await afresh();
    await lists("the list is what the request says", own);
    check("dependencies: something is drawn of them", await this.becomes(async () => (await this.overlay()) !== bare));
    await this.picture("dependencies");
    await this.page.keyboard.press(",");
    await leads("the key , leads to what decided", own.before[0]);
    await lists("and its list is shown", this.asked(`dependencies?lane=${own.before[0].lane}&begin=${own.before[0].begin_ns}`));
    await afresh();
    await lists("it is the same again", own);
    await this.page.keyboard.press(".");
    await leads("the key . leads to what it decided", own.after.find((one) => one.decided));
    await afresh();
    await lists("and again", own);
    await this.page.locator(".tl-links li button").last().click();
    await leads("a click on one leads there", own.after.at(-1));
    await this.page.goto("about:blank");
    await this.arrowsOfClosedGroup(`${open}&fold=p0t`, sel);
    this.nothingWrong("dependencies, followed");
  }

  picture(of) {
    return this.page.screenshot({ path: path.join(this.pictures, `${this.measurement}${options.html ? "-html" : ""}-timeline-${of}.png`) });
  }

  /** With the threads closed, arrows from API calls come from the group's row, where nothing else is drawn over it. */
  async arrowsOfClosedGroup(closed, chosen) {
    const drawn = async () => {
      await this.overlay();
      const row = await this.page.locator(".tl-group button", { hasText: "Threads" }).boundingBox(), over = await this.page.locator(".tl-over canvas").boundingBox();
      return this.page.locator(".tl-over canvas").evaluate((canvas, [top, height]) => {
        const { data } = canvas.getContext("2d").getImageData(0, top + 2, canvas.width, height - 4);
        return data.reduce((sum, byte, i) => (i % 4 === 3 && byte > 200 ? sum + 1 : sum), 0);
      }, [row.y - over.y, row.height]);
    };
    await this.open(closed);
    const none = await drawn();
    await this.open(`${closed}&${chosen}`);
    check("dependencies: arrows come from a closed group", none === 0 && (await this.becomes(async () => (await drawn()) > 10)), `${none}, then ${await drawn()}`);
  }

  /** The first operation with usable lists: something decided its start, and it decided something. */
  someOperation(process) {
    for (const { lane, traces } of process.lanes)
      for (let number = 0; number < Math.min(traces.operations?.rows ?? 0, 40); number++) {
        const told = this.asked(`dependencies?lane=${lane}&number=${number}`), ends = [...(told.before ?? []), ...(told.after ?? [])];
        if (told.before?.[0]?.decided && told.after.some((one) => one.decided) && told.end_ns > told.begin_ns && ends.every((one) => one.end_ns > one.begin_ns)) return told;
      }
    return null;
  }

  /** A routine that a page names leads to the profile, and is highlighted by the name that it has everywhere. */
  async named() {
    const everywhere = async (what) => {
      const lit = new URLSearchParams(new URL(this.page.url()).hash.split("?")[1]).get("routine");
      check(`${what}: by its name everywhere`, lit !== null && this.asked(`find?text=${encodeURIComponent(lit)}&limit=1000`).hits.some(({ label }) => label === lit), lit);
    };
    await this.page.goto("about:blank");
    await this.show("summary");
    const place = this.page.locator('section[aria-label="Idle time"] tbody button').first(), name = plain(await place.innerText()).split("()")[0];
    await place.click();
    check("idle time: its place opens the profile", await this.becomes(() => new URL(this.page.url()).hash.startsWith("#/profile?")), this.page.url());
    await this.watch.settled();
    await everywhere(`idle time, ${name}`);
    const source = await this.page.locator(".frame-panel").innerText();
    check(`the source of ${name}: its lines, or why there are none`, options.html ? /a page in a file has no lines of source files.*sonde view DIR shows them/.test(source)
      : (await this.page.locator(".source-lines .this").count()) === 1 || /cannot (show|find) the source file/.test(source), source);
    await this.page.goto("about:blank");
    await this.show("critical");
    const activity = this.report("critical")[0].things.find(({ category }) => category === "api" || category === "host").name;
    await this.page.locator("main").getByRole("button", { name: activity }).first().click();
    await this.becomes(() => /[?&]routine=/.test(this.page.url()));
    await everywhere(`critical path, ${activity}`);
    this.nothingWrong("routines by name");
  }

  /** Host code and start-up have one colour each, on the Summary and on the critical path; a slow machine's short run may have no idle time of one of them. */
  async colours() {
    const colours = async (page, swatches) => {
      await this.show(page);
      await this.page.locator(swatches).first().waitFor();
      return new Map((await this.page.locator(swatches).evaluateAll((all) => all.map((one) => [one.textContent, getComputedStyle(one.querySelector("span")).backgroundColor])))
        .map(([text, colour]) => [["host code", "start-up"].find((kind) => text.includes(kind)), colour]));
    };
    const summary = await colours("summary", ".legend li"), critical = await colours("critical", ".path-legend li");
    const both = [...summary.keys()].filter((kind) => kind && critical.has(kind));
    check("host code and start-up have one colour on all pages", both.length > 0 && both.every((kind) => summary.get(kind) === critical.get(kind) && /^rgb\(/.test(summary.get(kind))),
      both.map((kind) => `${kind}: ${summary.get(kind)}, ${critical.get(kind)}`).join("; "));
  }

  /** Where times of routines stand, it is said why they are others elsewhere; the documentation has more of it under that name. */
  async times() {
    const { node } = this.report("profile").rows.find(({ code }) => code === "user");
    const places = { "summary": "Advice", "critical": "Critical path", "timeline?panel=statistics": "Statistics", "timeline?panel=blame": "Blame, Idle time",
      [`profile?node=${node}`]: "Profile, cpu" };
    const section = /docs\/report\.md, “(.*)”/, document = readFileSync(path.join(path.dirname(fileURLToPath(import.meta.url)), "../../../docs/report.md"), "utf8");
    for (const [page, here] of Object.entries(places)) {
      await this.show(page);
      const part = this.page.locator(".part-times").first();
      if (!check(`times, ${page}: there is a sentence`, await this.becomes(async () => (await part.count()) === 1))) continue;
      await part.locator("summary").click();
      const marked = await part.locator("[aria-current] dt").allInnerTexts(), title = section.exec(await part.innerText())?.[1];
      check(`times, ${page.split("?")[0]}: why they are others elsewhere`, marked.join() === here && document.includes(`\n## ${title}\n`), `${marked.join()}, ${title}`);
    }
    this.nothingWrong("times");
  }

  /** Advice about host code leads to the profile with the column that it speaks of. */
  async adviceInProfile() {
    const advice = this.report("advice", "--min-percent", "1").advice.slice(0, 3);
    if (!advice.some(({ rule }) => rule === "host_code")) return;
    await this.show("summary");
    await this.page.getByRole("link", { name: "Look at the profile" }).first().click();
    await this.watch.settled();
    const titles = await this.page.locator("[role=columnheader][aria-sort=descending]").allInnerTexts();
    check("advice: the profile is sorted by blame", titles.length === 1 && titles[0].startsWith("blame"), titles.join());
    this.nothingWrong("advice, in the profile");
  }

  /** On a narrow screen a table that is cut has a shadow there, and scrolls by keyboard. */
  async narrow() {
    await this.page.setViewportSize({ width: 900, height: 800 });
    for (const [page, box] of [["tables?view=kernels", ".part-table"], ["profile?columns=gpu,cpu,api,ops,bytes,calls,sync", ".tree-table"], ["critical", ".part-scrolled"]]) {
      await this.show(page);
      const frame = this.page.locator(`.part-scroll:has(> ${box})`).first(), scroller = frame.locator(box);
      const sides = () => frame.evaluate((one) => [one.dataset.left, one.dataset.right].join());
      const before = await sides();
      await scroller.focus();
      if (box === ".tree-table") await scroller.evaluate((one) => (one.scrollLeft = 40)); // its arrow keys open rows
      else await this.page.keyboard.press("ArrowRight");
      check(`${page}, narrow: a shadow lies where there is more`, before === ",true" && (await this.becomes(async () => (await sides()).startsWith("true,"))), `${before}, then ${await sides()}`);
    }
    await this.page.setViewportSize({ width: 1280, height: 800 });
    this.nothingWrong("narrow");
  }

  /** The picture that is saved of the time line has the critical path and the counters that are on screen. */
  async savedPicture() {
    await this.open(`${this.base}#/timeline?panel=none&path=1`);
    const counters = await this.page.locator(".tl-track").count();
    await this.becomes(async () => !(await this.text()).includes("reading…"));
    const [download] = await Promise.all([this.page.waitForEvent("download"), this.page.getByRole("button", { name: "SVG" }).click()]);
    const svg = readFileSync(await download.path(), "utf8"), accent = await this.page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--accent").trim());
    const shapes = await this.page.evaluate(([text, colour]) => {
      const picture = new DOMParser().parseFromString(text, "image/svg+xml");
      return { broken: picture.querySelectorAll("parsererror").length, path: picture.querySelectorAll(`g path[stroke="${colour}"]`).length, areas: picture.querySelectorAll("path[fill-opacity]").length };
    }, [svg, accent]);
    check("saved picture: the critical path and counters are on it", shapes.broken === 0 && shapes.path > 0 && shapes.areas > 0 && shapes.areas <= counters, JSON.stringify({ ...shapes, counters }));
    this.watch.downloads.length = 0;
    this.nothingWrong("saved picture");
  }

  /** The critical path over the lanes: its switch draws it, and its longest step is named under the pointer. */
  async criticalPath() {
    const { header, columns } = columnsOf(ask(options.ask, this.path, "path").bytes), length = (i) => columns.end_ns[i] - columns.begin_ns[i];
    const longest = columns.lane.reduce((best, lane, i) => (lane && (best < 0 || length(i) > length(best)) ? i : best), -1);
    await this.open(`${this.base}#/timeline?panel=none&t0=${columns.begin_ns[longest]}&t1=${columns.end_ns[longest]}`);
    const bare = await this.overlay();
    await this.page.getByRole("button", { name: "Critical path" }).click();
    check("critical path: it is drawn over the lanes", await this.becomes(async () => (await this.overlay()) !== bare));
    check("critical path: the address says so", await this.becomes(() => /[?&]path=1/.test(this.page.url())), this.page.url());
    await this.picture("path");
    const box = await this.page.locator(".tl-rest canvas").boundingBox(), found = new Set();
    for (let y = 4; y < box.height; y += 6) {
      await this.page.mouse.move(box.x + box.width / 2, box.y + y);
      await this.page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
      for (const words of await this.page.locator(".tl-step").allInnerTexts()) found.add(plain(words));
    }
    const label = plain(header.strings[columns.label[longest]]);
    check("critical path: the step under the pointer is named", found.size === 1 && [...found][0].includes(label), `${[...found]} for ${label}`);
    await this.page.mouse.move(0, 0);
    await this.page.keyboard.press("c");
    check("critical path: its key takes it away", await this.becomes(async () => !/[?&]path=/.test(this.page.url()) && (await this.overlay()) === bare));
    this.nothingWrong("critical path, over the lanes");
  }

  // ---- the time line's counters ---------------------------------------------------------------------------------------

  series(asked) {
    return columnsOf(ask(options.ask, this.path, `series?${asked}`).bytes);
  }

  /** What is said of each counter that is in sight, with the pointer at a time of the window. */
  async saidAt(window, time) {
    const inSight = () => this.page.$$eval(".tl-track", (all) => {
      const box = document.querySelector(".tl-tracks").getBoundingClientRect();
      return all.map((one) => ({ one, own: one.getBoundingClientRect() })).filter(({ own }) => own.top + 8 < box.bottom && own.bottom - 8 > box.top).map(({ one, own }) => ({
        series: Number(one.querySelector("[data-series]").dataset.series.slice(1)), words: one.querySelector("output").textContent,
        left: one.querySelector(".tl-track-over").getBoundingClientRect().left, width: one.querySelector(".tl-track-over").clientWidth, y: Math.max(own.top, box.top) + 4,
      }));
    });
    const [{ left, width, y }] = await inSight(), x = Math.round(((time - window.from) / (window.to - window.from)) * width);
    await this.page.mouse.move(left + x, y);
    let said;
    for (let i = 0; i < 50 && !said?.every(({ words }) => /^\d/.test(words)); i++) {
      await this.page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))); // until then it says what was under the pointer before
      await this.watch.settled();
      said = await inSight();
    }
    return { said, time: window.from + (x * (window.to - window.from)) / width, width };
  }

  async windowOnScreen() {
    const { t0, t1 } = Object.fromEntries(new URL(this.page.url()).hash.split("?")[1]?.split("&").map((pair) => pair.split("=")) ?? []);
    return t0 === undefined ? { from: 0, to: this.asked("run").length_ns } : { from: Number(t0), to: Number(t1) };
  }

  /** The value under the pointer is that of the bin that the request has there, at the level of the picture. On a busy machine the page says it later. */
  async counterValues(what, window, time) {
    let at, wrong;
    const far = (a, b) => !(Math.abs(a - b) <= Math.max(0.006 * Math.abs(b), 0.0006));
    await this.becomes(async () => {
      at = await this.saidAt(window, time);
      wrong = [];
      const level = Math.max(Math.floor(Math.log2((window.to - window.from) / at.width)), 0);
      const bin = Math.floor(at.time / 2 ** level) * 2 ** level, { header, columns } = this.series(`from=${bin}&to=${bin + 2 ** level}&pixels=1&exact`);
      for (const { series, words } of at.said) {
        const line = header.lines.find((one) => one.series === series), [low, high] = words.split(" to ").map(numberOf);
        const expected = header.series[series].unit === "share" ? [columns.mean[line.first]] : [columns.min[line.first], columns.max[line.first]];
        if (line.count !== 1 || far(low, expected[0]) || far(high ?? low, expected.at(-1))) wrong.push(`${header.series[series].name}: ${words} for ${expected}`);
      }
      return wrong.length === 0;
    });
    check(`counters: values under the pointer are the request's, ${what}`, at.said.length > 0 && wrong.length === 0, wrong.join("; "));
    return at.said;
  }

  async counters() {
    await this.page.goto("about:blank");
    await this.show("timeline"); // as it is at first
    const { header } = this.series("series="), run = this.asked("run"), memory = this.report("memory").spaces ?? [];
    const plots = await this.page.$$eval(".tl-track .u-over", (all) => all.map((one) => [one.getBoundingClientRect().left, one.getBoundingClientRect().right]));
    const [left, right] = await this.page.$eval(".tl-rest canvas", (one) => [one.getBoundingClientRect().left, one.getBoundingClientRect().right]);
    check("counters: there are some", header.series.length > 0 && plots.length > 0);
    check("counters: they begin and end with the lanes", plots.every(([a, b]) => Math.abs(a - left) < 1 && Math.abs(b - right) < 1), JSON.stringify([plots, left, right]));
    for (const part of [0.1, 0.5, 0.93]) await this.counterValues(`at ${part} of the run`, { from: 0, to: run.length_ns }, part * run.length_ns);
    // The highest instant is the report's.
    const space = memory.find(({ class: kind, device, peak_bytes }) => kind === "device" && device === 0 && peak_bytes > 0);
    const number = header.series.findIndex(({ name, device, process }) => space && name === "device memory" && device === 0 && run.processes[process].name === space.process);
    if (space && (await this.page.locator(`[data-series=s${number}]`).count()) > 0) {
      await this.page.locator(`.tl-track:has([data-series=s${number}])`).scrollIntoViewIfNeeded();
      await this.watch.settled();
      const peak_ns = space.peak_ns - run.processes[header.series[number].process].origin_ns;
      let words, tries = 0;
      const holds = await this.becomes(async () => {
        // Which pixel it is in depends on how both are rounded; it may last for less than one.
        const { said } = await this.saidAt({ from: 0, to: run.length_ns }, peak_ns + ((tries++ % 5) / 2000) * run.length_ns);
        words = said.find(({ series }) => series === number)?.words.split(" to ").at(-1) ?? "";
        return Math.abs(numberOf(words) - space.peak_bytes) <= 0.006 * space.peak_bytes;
      });
      check("counters: the peak of sonde report memory", holds, `${words} for ${space.peak_bytes}`);
    }
    // Closer: the same window as the lanes'.
    await this.open(`${this.base}#/timeline?t0=${Math.round(run.length_ns * 0.4)}&t1=${Math.round(run.length_ns * 0.6)}`);
    for (let i = 0; i < 2; i++) {
      const window = await this.windowOnScreen();
      await this.counterValues(`zoomed ${i}`, window, (window.from + window.to) / 2);
      const box = await this.page.locator(".tl-track-over").first().boundingBox(), before = this.page.url();
      await this.page.mouse.move(box.x + box.width / 2, box.y + 5);
      await this.page.keyboard.down("Control");
      await this.page.mouse.wheel(0, -240);
      await this.page.keyboard.up("Control");
      await this.becomes(() => this.page.url() !== before);
      await this.watch.settled();
    }
    // By keyboard: a group, and the value.
    const name = this.page.locator(".tl-track-name").first();
    await name.focus();
    await this.page.keyboard.press("ArrowRight");
    await this.page.waitForFunction(() => /\d.* at /.test(document.activeElement.getAttribute("aria-valuetext") ?? ""));
    await this.page.getByRole("button", { name: "Counters", exact: false }).first().focus();
    await this.page.keyboard.press("Enter");
    await this.watch.settled();
    check("counters: they can be closed", (await this.page.locator(".tl-track").count()) === 0);
    await this.page.reload();
    await this.watch.settled();
    check("counters: the address holds that", (await this.page.locator(".tl-track").count()) === 0 && (await this.page.locator(".tl-tracks").isVisible()));
    this.nothingWrong("counters");
  }

  /** n finds each interval of a kernel, wherever it is, and opens what it is in. */
  async stepping() {
    const kernel = this.report("kernels")[0].name, run = this.asked("run");
    const label = this.asked(`find?text=${encodeURIComponent(kernel)}`).hits.find((hit) => hit.name === kernel && hit.kind === "operation").label;
    const closed = run.processes.map((process) => `p${process.process}`).join(",");
    await this.open(`${this.base}#/timeline?fold=${encodeURIComponent(closed)}&routine=${encodeURIComponent(label)}`);
    const tell = ({ process, lane, track, begin_ns, correlation }) => `${process}:${lane}:${track}:${begin_ns}:${correlation}`;
    let from = "at=0", wrong = "", seen = 0;
    for (let i = 0; i < 4 && !wrong; i++) {
      const { hit } = this.asked(`next?routine=${encodeURIComponent(label)}&${from}`);
      if (!hit) break;
      await this.page.evaluate(() => document.activeElement?.blur?.());
      await this.page.keyboard.press("n");
      const chosen = await this.page.waitForFunction((sel) => decodeURIComponent(location.hash).includes(`sel=${sel}`), tell(hit)).then(() => true, () => false);
      if (!chosen) wrong = `${this.page.url()} for ${tell(hit)}`;
      from = `at=${hit.begin_ns}&place=${hit.process}:${hit.lane}:${hit.track}:${hit.correlation}`;
      seen++;
      await this.watch.settled();
    }
    check("n: goes from one interval of a kernel to the next, on closed lanes, too", seen > 0 && !wrong, wrong);
    this.nothingWrong("n");
  }

  /** Of a stretch that samples tell of, details say the standard error that the view statistics has for it. */
  async howSure() {
    const run = this.asked("run"), { hits } = this.asked("find?text=e&limit=1000");
    let hit = null;
    for (const { label } of hits.filter(({ kind }) => kind === "native" || kind === "python")) {
      const found = this.asked(`next?routine=${encodeURIComponent(label)}`).hit;
      if (found?.kind === "sample" && !found.cut && found.end_ns - found.begin_ns > 1000) hit ??= { ...found, label };
    }
    check("how sure: there is a stretch that samples tell of", hit !== null);
    if (!hit) return;
    const process = run.processes[hit.process], { tid } = process.lanes.find(({ lane }) => lane === hit.lane), room = 2 * (hit.end_ns - hit.begin_ns);
    const { rows } = this.asked(`view/statistics?from=${hit.begin_ns}ns&to=${hit.end_ns}ns&lane=${encodeURIComponent(`${process.name}:${tid}`)}`);
    const { sampled_ns, error_ns } = rows.find(({ label }) => label === hit.label);
    await this.open(`${this.base}#/timeline?panel=details&t0=${Math.max(hit.begin_ns - room, 0)}&t1=${hit.end_ns + room}&sel=${hit.process}:${hit.lane}:${hit.track}:${hit.begin_ns}:${hit.correlation}`);
    await this.page.getByText("How sure").waitFor();
    const [, time, error] = /How sure\s*([\d.]+ \S+) ± ([\d.]+ \S+)/.exec(await this.page.locator(".tl-details").innerText()) ?? [];
    const ns = (words) => parseFloat(words) * { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 }[words?.split(" ")[1]], near = (a, b) => Math.abs(a - b) <= Math.max(0.006 * b, 0.6);
    check("how sure: time and standard error are the view's", near(ns(time), sampled_ns) && near(ns(error), error_ns), `${time} ± ${error} for ${sampled_ns} ± ${error_ns}`);
    this.nothingWrong("how sure");
  }

  async comm() {
    const comm = this.report("comm"), main = this.page.locator("main");
    await this.commSystem(comm, main);
    await this.commLists(comm, main);
    await this.commBeside(comm, main);
    await this.commChosen(comm, main);
    await this.commElements(comm, main);
    await this.commDevices(comm, main);
    this.nothingWrong("comm, by numbers");
  }

  /** Column `at` of a list, from 0, as numbers, in order. */
  async commColumn(main, table, at) {
    const cells = await main.locator(`table[aria-label="${table}"] tbody tr`).evaluateAll((rows, cell) => rows.map((row) => row.cells[cell].textContent), at);
    return cells.map((text) => Number(text.replace(/[,≥ ]/g, ""))).sort();
  }

  async commSystem({ pairs, matrix, bytes }, main) {
    await this.show("comm");
    const number = (m) => `${m.exact ? "" : "≥ "}${m.operations.toLocaleString("en-US")} operations`, way = (m) => `${m.from_name} to ${m.to_name}: `;
    const isOf = (title, m) => title.startsWith(way(m)) && title.includes(` in ${number(m)}`);
    const cells = await main.locator(".comm-cell button").evaluateAll((found) => found.map((cell) => cell.title));
    check("comm: a cell for each pair", cells.length === matrix.length && matrix.every((m) => cells.some((title) => isOf(title, m))), `${cells}`);
    const ribbons = await main.locator(".comm-ribbon title").evaluateAll((found) => found.map((title) => title.textContent));
    const drawn = matrix.filter((m) => m.bytes > 0);
    check("comm: a ribbon for each pair with bytes", ribbons.length === drawn.length && drawn.every((m) => ribbons.some((title) => isOf(title, m))), `${ribbons}`);
    const texts = async () => (await main.locator(".comm-cell").allInnerTexts()).join(" ");
    const before = await texts(), as = async (name) => (await main.getByRole("button", { name, exact: true }).click(), await this.watch.settled(), await texts());
    const rates = await as("Rate while copying"), operations = await as("Operations");
    check("comm: bytes or rates", bytes > 0 && !before.includes("/s") && rates.includes("GB/s"), `${before}; ${rates}`);
    check("comm: or operations", matrix.every((m) => operations.includes(m.operations.toLocaleString("en-US"))), operations);
    // A ribbon chooses its pair, as a cell does, and that leaves its own.
    await this.show("comm");
    await main.locator(".comm-cell button").first().click();
    await this.watch.settled();
    const first = matrix.find((m) => cells[0].startsWith(way(m))), own = pairs.filter((row) => row.from === first.from && row.to === first.to);
    const expected = own.map((row) => row.operations).sort();
    check("comm: a chosen cell leaves its own", JSON.stringify(await this.commColumn(main, "Pairs", 4)) === JSON.stringify(expected), cells[0]);
  }

  async commLists(comm, main) {
    for (const [show, table, at, rows] of [["system", "Pairs", 4, comm.pairs], ["code", "Lines", 4, comm.lines], ["object", "Data objects", 6, comm.objects]]) {
      await this.open(`${this.base}#/comm?show=${show}`);
      const found = await this.commColumn(main, table, at), expected = rows.map(({ operations }) => operations).sort();
      check(`comm: ${table}, as sonde report has them`, rows.length > 0 && JSON.stringify(found) === JSON.stringify(expected), `${found} for ${expected}`);
    }
  }

  /** What is in no pair. */
  async commBeside({ collectives, faults, links }, main) {
    await this.open(`${this.base}#/comm`);
    const lists = [["Collectives", 4, collectives.map((row) => row.operations)], ["Page faults", 2, faults.map((row) => row.faults)], ["Links", 0, links.map(() => NaN)]];
    for (const [table, at, expected] of lists) {
      const found = expected.length > 0 ? await this.commColumn(main, table, at) : [];
      check(`comm: ${table}, as sonde report has them`, JSON.stringify(found) === JSON.stringify(expected.sort()) && (await main.getByRole("table", { name: table }).count()) === Number(expected.length > 0),
        `${found} for ${expected}`);
    }
  }

  async commChosen({ lines, objects }, main) {
    await this.open(`${this.base}#/comm?show=code`);
    await main.locator('table[aria-label="Lines"] button.link').first().click();
    await this.watch.settled();
    const most = Math.max(...lines.map(({ bytes }) => bytes)), chosen = lines.filter((row) => row.bytes === most), panel = main.locator(".comm-panel");
    const title = plain(await panel.locator("h2").innerText());
    const line = chosen.find((row) => (row.kernel ? title.includes(`${row.file?.split("/").pop()}:${row.line}`) : title.includes(row.function)));
    check("comm: the line with most bytes is first", line !== undefined, title);
    const same = lines.filter((row) => row.file === line?.file && row.line === line?.line && (row.line !== null || row.node === line?.node));
    check("comm: all ways of a line", (await this.commColumn(main, "Ways of this line", 3)).join() === same.map(({ operations }) => operations).sort().join(), title);
    check("comm: its source, or why there is none", (await panel.locator(".source-line.this").count()) === 1 || /source/.test(await panel.locator(".quiet").first().innerText()), await panel.innerText());
    await panel.getByRole("button", { name: "In the profile" }).click();
    await this.watch.settled();
    check("comm: a line opens the profile", new URL(this.page.url()).hash.startsWith("#/profile?"), this.page.url());
    await this.open(`${this.base}#/comm?show=object`);
    await main.locator('table[aria-label="Data objects"] button.link').first().click();
    await this.watch.settled();
    const kept = (await this.commColumn(main, "Ways of this data object", 3)).length;
    check("comm: all ways of a data object", kept > 0 && kept <= objects.length, `${kept} of ${objects.length}`);
    check("comm: it is in the address", new URL(this.page.url()).hash.includes("object="), this.page.url());
  }

  /** Where in an object kernels read: a line, then 512 × 512 elements, of whose columns the left eighth was read. */
  async commElements({ elements }, main) {
    if (elements.length === 0) return;
    await this.open(`${this.base}#/comm?show=object`);
    const names = main.locator('table[aria-label="Data objects"] button.link'), pictures = main.locator(".comm-heat");
    for (let i = 0; i < (await names.count()) && (await pictures.count()) === 0; i++) {
      await names.nth(i).click();
      await this.watch.settled();
    }
    const said = await pictures.locator("figcaption").allInnerTexts(), [first] = elements;
    const same = elements.filter((row) => row.site === first.site && row.owner === first.owner);
    check("comm: a picture for each way in which elements were accessed", said.length === same.length && same.every((row) => said.some((text) => text.startsWith(`${row.kind} ${row.from} → ${row.to}: `))), `${said}`);
    await main.locator(".comm-shape input").fill("512 × 512");
    await main.locator(".comm-shape input").press("Enter");
    await this.watch.settled();
    check("comm: rows and columns are in the address", new URL(this.page.url()).hash.includes("shape=512x512"), this.page.url());
    const canvas = pictures.locator("canvas").first();
    const [left, right, paper] = await canvas.evaluate((of) => [1 / 32, 1 / 4, 31 / 32].map((part) => [...of.getContext("2d").getImageData(of.width * part, of.height / 2, 1, 1).data].join()));
    check("comm: the columns that were read", left !== paper && right === paper, `${left}; ${right}; ${paper}`);
    const box = await canvas.boundingBox();
    await this.page.mouse.move(box.x + box.width / 32, box.y + box.height / 2);
    await this.watch.settled();
    const words = plain(await pictures.first().locator("p").innerText());
    check("comm: which rows and columns are under the pointer", /^rows\d+to\d+,columns\d+to\d+:\d/.test(words), words);
    await main.locator(".comm-shape input").fill("512");
    await main.locator(".comm-shape input").press("Enter");
    await this.watch.settled();
    check("comm: what is no shape is marked", (await main.locator('.comm-shape input[aria-invalid="true"]').count()) === 1, this.page.url());
  }

  async commDevices({ pairs, matrix }, main) {
    const ends = new Map(matrix.flatMap((m) => [[m.from, m.from_name], [m.to, m.to_name]]).filter(([end]) => end !== null));
    for (const [end, name] of ends) {
      await this.open(`${this.base}#/comm?show=device&device=${encodeURIComponent(end)}`);
      for (const [side, of] of [["Out of", "from"], ["Into", "to"]]) {
        const expected = pairs.filter((row) => row[of] === end).map(({ operations }) => operations).sort();
        check(`comm: ${side} ${name}`, (await this.commColumn(main, `${side} ${name}`, 4)).join() === expected.join(), `${expected}`);
      }
    }
    if (![...ends.keys()].some((end) => end !== "host")) return;
    await this.open(`${this.base}#/comm?show=device`);
    await main.getByRole("button", { name: "Its queues on the time line" }).click();
    await this.watch.settled();
    check("comm: a device's queues are pinned on the time line", /^#\/timeline\?.*pin=/.test(new URL(this.page.url()).hash) && (await this.page.locator(".tl-pinned .tl-row").count()) > 0, this.page.url());
  }

  /** The page Stalls against `sonde report`: functions, and of the first its lines, instructions, source and reasons. */
  async stalls() {
    const { functions, lines, instructions, samples } = this.report("stalls"), main = this.page.locator("main");
    await this.show("stalls");
    check("stalls: all samples", (await main.innerText()).includes(`${samples.toLocaleString("en-US")} samples`), samples);
    const counts = (rows) => rows.map((row) => row.samples).sort().join();
    check("stalls: functions, as sonde report has them", functions.length > 2 && (await this.commColumn(main, "Functions", 1)).join() === counts(functions), counts(functions));
    await main.locator('table[aria-label="Functions"] button.link').first().click();
    await this.watch.settled();
    const panel = main.locator(".stalls-panel"), [first] = functions, own = (row) => row.function === first.function && row.device === first.device;
    check("stalls: the function with most samples is first", plain(await panel.locator("h2").innerText()).startsWith(plain(first.function)), await panel.innerText());
    for (const [table, at, rows] of [["Lines", 1, lines], ["Instructions", 3, instructions]])
      check(`stalls: its ${table.toLowerCase()}`, (await this.commColumn(panel, table, at)).join() === counts(rows.filter(own)), counts(rows.filter(own)));
    const said = plain(await panel.locator(".stalls-reasons").innerText()), waits = first.reasons.filter((row) => row.samples >= first.samples / 200);
    check("stalls: what it waits for", waits.length > 1 && waits.every((row) => said.includes(row.reason) && said.includes(`${((100 * row.samples) / first.samples).toFixed(1)}%`)), said);
    const marked = await panel.locator(".source-mark i").count(), shown = (await panel.locator(".source-line.this").count()) === 1;
    check("stalls: a bar beside each line that has samples, or why there is no source", shown ? marked === lines.filter(own).length : /source/.test(await panel.locator(".quiet").allInnerTexts()), `${marked}`);
    check("stalls: it is in the address", new URL(this.page.url()).hash.includes("function="), this.page.url());
    await panel.locator('table[aria-label="Launched from"] button.link').first().click();
    await this.watch.settled();
    check("stalls: a context opens the profile", new URL(this.page.url()).hash.startsWith("#/profile?"), this.page.url());
    this.nothingWrong("stalls, by numbers");
  }

  /** Each figure of each rank, each pair and each wait, as `sonde report` has them. */
  async ranks() {
    const job = this.report("ranks"), messages = this.report("messages"), main = this.page.locator("main");
    await this.show("ranks");
    const cells = async (table) => main.locator(`table[aria-label="${table}"] tbody tr`).evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
    const titles = await main.locator('table[aria-label="Each rank"] thead th').allInnerTexts(), rows = await cells("Each rank");
    for (const [title, of, list] of [["recorded", "wall_ns", job.ranks], ["device busy", "busy_ns", job.ranks], ["CPU time", "cpu_ns", job.ranks], ["in MPI", "calls_ns", messages.ranks], ["waiting for ranks", "wait_ns", messages.ranks]]) {
      const at = titles.indexOf(title);
      if (title === "CPU time" && list.every((rank) => !rank[of])) continue;
      check(`ranks: ${title} of each`, at > 0 && rows.length === list.length && list.every((rank, i) => rows[i][0] === String(rank.rank) && isTime(rows[i][at], rank[of])), `${titles}: ${JSON.stringify(rows)}`);
    }
    const sent = (await cells("Bytes from rank to rank")).flatMap((row, from) => row.slice(1).map((text, to) => [from, to, text])).filter(([, , text]) => text !== "–");
    const bytes = { B: 1, kB: 1e3, MB: 1e6 };
    check("ranks: who sent to whom", sent.length === messages.pairs.length && messages.pairs.every((pair) => sent.some(([from, to, text]) => from === pair.from && to === pair.to && isNumber(text, bytes, pair.bytes))), JSON.stringify(sent));
    const waits = await cells("Waits");
    check("ranks: who waited for whom", waits.length === messages.waits.length && messages.waits.every((row) => waits.some((found) => found[0] === row.call && found[2] === row.kind && isTime(found[3], row.wait_ns) && found[5] === String(row.rank) && isShare(found[6], row.rank_ratio) && found[7] === String(row.for_rank))), JSON.stringify(waits));
    const drawn = await main.locator("svg .ranks-arrow").evaluateAll((paths) => paths.map((path) => ({ from: Number(path.dataset.from), to: Number(path.dataset.to), d: path.getAttribute("d"), length: path.getTotalLength(), title: path.querySelector("title").textContent })));
    check("ranks: an arrow for each pair, from whom to whom", drawn.length === messages.pairs.length && messages.pairs.every((pair) => drawn.some(({ from, to, title }) => from === pair.from && to === pair.to && title.startsWith(`rank ${from} to rank ${to}: `))), JSON.stringify(drawn));
    /* At both ends as wide as its bytes: the first arc of its path, along the rim. */
    const wide = ({ d }) => ((p) => 2 * Math.asin(Math.min(Math.hypot(p[7] - p[0], p[8] - p[1]) / 300, 1)))(d.match(/-?[\d.]+/g).map(Number)), bytesOf = (arrow) => messages.pairs.find(({ from, to }) => from === arrow.from && to === arrow.to).bytes;
    check("ranks: an arrow is as wide as its bytes", drawn.every((arrow) => Math.abs(wide(arrow) / wide(drawn[0]) - bytesOf(arrow) / bytesOf(drawn[0])) < 0.05), JSON.stringify(drawn.map(wide)));
    check("ranks: each end has its rank", JSON.stringify(await main.locator("svg .ranks-end > title").evaluateAll((ends) => ends.map((end) => end.textContent))) === JSON.stringify([...new Set(messages.pairs.flatMap(({ from, to }) => [from, to]))].sort().map((rank) => `rank ${rank}`)));
    const stragglers = job.stragglers.length ? await cells("Stragglers") : [];
    check("ranks: stragglers and what of it is where", stragglers.length === job.stragglers.length && job.stragglers.every((one) => stragglers.some((found) => found[0] === String(one.rank) && isTime(found[2], one.value_ns) && isTime(found[3], one.median_ns) && found[4] === (one.cause ?? "-"))), JSON.stringify(stragglers));
    const groups = await cells("Which ranks are alike");
    check("ranks: which are alike", job.groups.length > 1 && groups.length === job.groups.length && job.groups.every((group) => groups.some(([, count]) => count === String(group.count))), JSON.stringify(groups));
    const busy = job.ranks.map((rank) => rank.busy_ns), spread = await main.locator("svg.ranks-spread").nth(titles.indexOf("device busy") - 1).evaluate((svg) => ({ said: svg.getAttribute("aria-label"), bars: svg.querySelectorAll("rect").length }));
    check("ranks: how the ranks spread", spread.bars === new Set(busy.map((ns) => Math.min(Math.floor((24 * (ns - Math.min(...busy))) / (Math.max(...busy) - Math.min(...busy))), 23))).size && spread.said.includes(`(rank ${busy.indexOf(Math.max(...busy))})`), JSON.stringify(spread));
    const text = await this.text();
    check("ranks: the chain of waiting is said first", text.includes(plain("which waited itself in MPI_Recv, in the end for rank 0, whose device ran advance")), text.slice(0, 400));
    await main.locator('table[aria-label="Waits"] button.link').first().click();
    await this.watch.settled();
    check("ranks: a wait opens the profile", new URL(this.page.url()).hash.startsWith("#/profile?"), this.page.url());
    this.nothingWrong("ranks, by numbers");
    await this.show("ranks");
    await main.getByRole("link", { name: "device time", exact: true }).click();
    await this.watch.settled();
    const { paths } = this.report("ranks", "--metric", "gpu"), advance = paths.find((row) => row.name === "advance");
    const shown = (await this.text()).split("\n").find((line) => line.includes("advance")) ?? "";
    check("ranks: a metric in each calling context", advance !== undefined && shown !== "", shown);
    this.nothingWrong("ranks, by calling context");
    const from = 95e6, to = 100.5e6, within = this.report("messages", "--from", `${from}ns`, "--to", `${to}ns`);
    await this.show(`ranks?from=${from}&to=${to}`);
    const windowed = await main.locator("svg .ranks-arrow").evaluateAll((paths) => paths.map((path) => `${path.dataset.from} ${path.dataset.to}`));
    check("ranks: of a range the messages that were sent in it", within.pairs.length > 0 && within.pairs.length < messages.pairs.length && windowed.length === within.pairs.length && within.pairs.every((pair) => windowed.includes(`${pair.from} ${pair.to}`)), JSON.stringify(windowed));
    check("ranks: it says what is of the range", (await this.text()).includes(plain("Of the selected range")));
    this.nothingWrong("ranks, of a range");
  }

  /** A collective of NCCL: the other ranks' are listed, arrows are drawn, and a click leads to one. */
  async partners() {
    const [process] = this.asked("run").processes, lane = process.lanes.find(({ name }) => name?.startsWith("NCCL ")), begin_ns = lane.traces.operations.from_ns;
    const { partners } = this.asked(`partners?lane=${lane.lane}&begin=${begin_ns}`), decided = partners.find((one) => one.decided), { origin_ns } = this.asked("run").processes.find((one) => one.process === decided.process);
    const links = this.page.locator(".tl-links li"), own = (one) => `rank ${one.rank}: ${one.name}`;
    const open = `${this.base}#/timeline?panel=details&t0=${begin_ns - process.origin_ns - 1e6}&t1=${decided.end_ns - origin_ns + 1e6}`;
    await this.open(open);
    const bare = await this.overlay();
    await this.page.goto("about:blank");
    await this.open(`${open}&sel=${process.process}:${lane.lane}:0:${begin_ns - process.origin_ns}:0`);
    check("partners: of each other rank", await this.becomes(async () => (await links.allInnerTexts()).filter((text) => partners.some((one) => text.includes(own(one)))).length === partners.length), `${await links.allInnerTexts()}`);
    check("partners: an arrow from the one that was late", await this.becomes(async () => (await this.overlay()) !== bare));
    await this.picture("partners");
    await this.page.getByRole("button", { name: own(decided) }).click();
    const place = encodeURIComponent(`${decided.process}:${decided.lane}:0:${decided.begin_ns - origin_ns}:`);
    check("partners: a click leads there", await this.becomes(() => this.page.url().includes(`sel=${place}`)), this.page.url());
    this.nothingWrong("partners, followed");
  }

  /** What no program here can show: four devices, and accesses of kernels of which some launches were not looked at. */
  async ring() {
    const main = this.page.locator("main"), { lines } = this.report("comm"), access = lines.find(({ kernel }) => kernel !== null);
    await this.show("comm");
    check("comm: what is missing is said", (await this.text()).includes(plain("Not all launches of kernels were looked at")));
    const beside = (await this.text());
    check("comm: what is in no pair", ["Broadcast float32", "RING", "shared() ring.py", "321", "3.15 MB", "5.24 MB"].every((words) => beside.includes(plain(words))), beside.slice(-600));
    await this.open(`${this.base}#/comm?show=code`);
    await main.getByRole("button", { name: `${path.basename(access.file)}:${access.line}` }).first().click();
    await this.watch.settled();
    const shown = main.locator(".comm-panel");
    if (!options.html) {
      check("comm: the kernel's line", (await shown.locator(".source-line.this").innerText()).includes("theirs[i]"), await shown.innerText());
      check("comm: lines that move bytes are marked", (await shown.locator(".source-mark i").count()) === new Set(lines.filter(({ file }) => file === access.file).map(({ line }) => line)).size);
    }
    await shown.getByRole("button", { name: "On the time line" }).click();
    await this.watch.settled();
    check("comm: the kernel is highlighted on the time line", /^#\/timeline\?.*routine=/.test(new URL(this.page.url()).hash), this.page.url());
    // A range: as the view has it, without what has no times.
    const { length_ns } = this.asked("run"), to = Math.round(length_ns / 2), part = this.asked(`view/comm?from=0ns&to=${to}ns`);
    await this.open(`${this.base}#/comm?from=0&to=${to}`);
    const found = await this.commColumn(main, "Pairs", 4);
    check("comm: of a range", found.join() === part.pairs.map(({ operations }) => operations).sort().join() && part.pairs.length > 0, `${found}`);
    const box = await main.locator(".part-range canvas").boundingBox(), y = box.y + box.height / 2;
    await this.show("comm");
    await this.page.mouse.move(box.x + box.width / 4, y);
    await this.page.mouse.down();
    await this.page.mouse.move(box.x + box.width / 2, y, { steps: 4 });
    await this.page.mouse.up();
    await this.watch.settled();
    const [, from, end] = /from=(\d+)&to=(\d+)/.exec(this.page.url()) ?? [];
    check("comm: a range is dragged", Math.abs(from / length_ns - 0.25) < 0.01 && Math.abs(end / length_ns - 0.5) < 0.01, this.page.url());
    check("comm: accesses have no times", (await this.text()).includes(plain("Accesses of kernels have no times")));
    this.nothingWrong("comm, of a ring");
  }

  /** What `sonde diff` says, and bars of both sides on one scale. */
  async compare(before) {
    const diff = JSON.parse(spawnSync(options.sonde, ["diff", before, this.path, "--json"], { encoding: "utf8", maxBuffer: 1 << 30 }).stdout);
    const main = this.page.locator("main");
    await this.show("compare");
    const text = await this.text(), at = text.indexOf(plain(diff.sentence));
    check("compare: the sentence, below all warnings", at >= 0 && diff.warnings.every((warning) => text.indexOf(plain(warning)) >= 0 && text.indexOf(plain(warning)) < at), text.slice(0, 500));
    const ledger = await main.locator(".compare-ledger tbody tr").evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
    check("compare: what else differs", JSON.stringify(ledger) === JSON.stringify(diff.ledger.map((one) => [one.item, one.before ?? "-", one.after ?? "-"])), JSON.stringify(ledger));
    for (const metric of ["time", "blame"]) {
      await this.open(`${this.base}#/compare?metric=${metric}`);
      const rows = diff.rows.filter((row) => row.metric === metric).sort((a, b) => b.delta - a.delta), most = Math.max(...rows.flatMap((row) => [row.before, row.after]));
      const found = await main.locator(".sort-table tbody tr").evaluateAll((all) =>
        all.map((row) => [...row.cells].map((cell) => ({ text: cell.textContent, bar: parseFloat(cell.querySelector(".part-length")?.style.width ?? "0") / 100 }))));
      const first = metric === "time" ? 2 : 1; // only operations have a column for what they are
      const wrong = rows.slice(0, 100).find((row, i) => {
        const cells = found[i] ?? [], sides = cells.slice(first, first + 2);
        return cells.at(-1)?.text !== (row.significant ? "significant" : row.significant === null ? "not tested" : "not significant") ||
          ["before", "after"].some((side, k) => !isTime(sides[k]?.text, row[side]) || Math.abs(sides[k].bar - row[side] / most) > 1e-4);
      });
      const total = { before: 0, after: 0 }, tops = new Map();
      for (const row of rows)
        for (const side of ["before", "after"]) {
          total[side] += row[side];
          const top = tops.get(row.path[0]) ?? { before: 0, after: 0 };
          top[side] += row[side];
          tops.set(row.path[0], top);
        }
      const scale = 560 / Math.max(total.before, total.after);
      for (const side of ["before", "after"]) {
        const boxes = await main.locator(`.compare-side[data-side="${side}"] .compare-box`).evaluateAll((all) =>
          all.map((box) => ({ title: box.querySelector("title").textContent, y: Number(box.querySelector("rect").getAttribute("y")), width: Number(box.querySelector("rect").getAttribute("width")), fill: box.querySelector("rect").getAttribute("fill") })));
        const level = (n) => boxes.filter(({ y }) => y === 22 + 20 * n), near = (box, value) => Math.abs(box.width + 0.5 - value * scale) < 0.6;
        check(`compare: ${metric}, contexts ${side}, as long as sonde diff --json has them`, level(0).length === 1 && near(level(0)[0], total[side]) &&
          [...tops].every(([name, top]) => top[side] * scale < 1 || level(1).some((box) => box.title.startsWith(`${name}: `) && near(box, top[side]))), JSON.stringify({ total, tops: [...tops], boxes: boxes.slice(0, 5) }));
        check(`compare: ${metric}, contexts ${side} have colours of the legend's scale`, boxes.every(({ fill }) => /^#[0-9a-f]{6}$/.test(fill)));
      }
      check(`compare: ${metric}, what sonde diff --json has, on one scale`, rows.length > 0 && found.length === Math.min(rows.length, 100) && !wrong, `${JSON.stringify(wrong)}: ${found.length} rows of ${rows.length}: ${JSON.stringify(found.slice(0, 3))}`);
    }
    await this.show("compare");
    await main.locator(".sort-table button.link").first().click();
    await this.watch.settled();
    const places = diff.rows.filter((row) => row.metric === "time" && row.node).sort((a, b) => b.delta - a.delta);
    check("compare: a row opens its place in the profile", new RegExp(`^#/profile\\?.*\\bnode=${places[0]?.node}\\b`).test(new URL(this.page.url()).hash), this.page.url());
    this.nothingWrong("compare, by numbers");
  }

  /** What to run is said with the program's own command line. */
  async noValues() {
    await this.show("values");
    const { command, processes } = this.asked("run"), program = processes[0].executable, commands = await this.page.locator(".values-none code").allInnerTexts();
    check("values, not recorded: what to run", commands.includes(`sonde record --values -- ${program.slice(0, program.lastIndexOf("/") + 1)}${command}`), commands.join("\n"));
    check("values, not recorded: no empty graph", (await this.page.locator("#values-graph").count()) === 0);
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

/** Is it that number, as far as its digits go? */
function isNumber(text, units, wanted) {
  const [, digits, unit] = /^([\d.]+) (\S+)/.exec(text) ?? [], one = units[unit];
  if (!one) return false;
  return Math.abs(Number(digits) - wanted / one) <= 0.5001 * 10 ** -(digits.split(".")[1]?.length ?? 0);
}

function isTime(text, ns) {
  return isNumber(text, { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 }, ns);
}

function isShare(text, share) {
  return text === "<0.1 %" ? share > 0 && share < 0.0005 : isNumber(text, { "%": 0.01 }, share);
}

/** "65.5 kB", "12", "54.1 %": as a number. */
function numberOf(words) {
  const [, digits, unit] = /^([\d.,]+) ?(%|[kMGTP]?B)?$/.exec(words) ?? [], scale = { "%": 0.01, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, PB: 1e15 };
  return digits === undefined ? NaN : Number(digits.replaceAll(",", "")) * (scale[unit] ?? 1);
}

/** An answer of columns (docs/developers/requests.md): numbers as lists. */
function columnsOf(bytes) {
  const headerLength = bytes.readUInt32LE(8), header = JSON.parse(bytes.subarray(16, 16 + headerLength)), columns = {};
  const read = { f64: [8, (at) => bytes.readDoubleLE(at)], u64: [8, (at) => Number(bytes.readBigUInt64LE(at))], u32: [4, (at) => bytes.readUInt32LE(at)], u8: [1, (at) => bytes.readUInt8(at)] };
  let at = Math.ceil((16 + headerLength) / 8) * 8;
  for (const { name, type, count } of header.columns) {
    const [size, number] = read[type];
    columns[name] = Array.from({ length: count }, (_, i) => number(at + i * size));
    at += Math.ceil((count * size) / 8) * 8;
  }
  return { header, columns };
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

/** `use` gets a tour of the page that was opened, with a measurement before where there is one. */
async function opened(browser, axe, name, measurement, before, use) {
  const place = await shown(options, measurement, before);
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true });
  try {
    const page = await context.newPage(), watch = new Watch(page, place.origin);
    page.setDefaultTimeout(120_000);
    watch.answersMayFail = name === "nothing"; // there is no row that most views could show
    const it = new Tour(browser, axe, page, watch, place, name);
    it.path = measurement;
    await it.open(place.url);
    it.nothingWrong("opened");
    await use(it);
  } finally {
    await context.close();
    place.close();
  }
}

/** The pages Communication and Stalls, of what they are made for. */
async function communication(browser, axe, name, measurement) {
  await opened(browser, axe, name, measurement, null, async (it) => {
    await it.visit("comm", true);
    await it.comm();
    await it.visit("stalls", true);
    await it.stalls();
    await it.ring();
  });
}

/** The page Ranks, of a job. */
async function job(browser, axe, name, measurement) {
  await opened(browser, axe, name, measurement, null, async (it) => {
    await it.visit("ranks", true);
    await it.ranks();
    await it.partners();
  });
}

async function tour(browser, axe, name, measurement) {
  await opened(browser, axe, name, measurement, null, async (it) => {
    await it.systemColours();
    const pages = await it.pages();
    for (const shown of pages) await it.visit(shown, THOROUGH.includes(name));
    for (const view of it.asked("views")) if (!view.hidden) await it.view(view.name);
    if (name === "recorded" || name === "cuda") {
      await it.kernels();
      await it.dependencies();
      await it.criticalPath();
      await it.named();
      await it.colours();
      await it.times();
      await it.adviceInProfile();
      await it.narrow();
      await it.savedPicture();
      await it.counters();
      await it.stepping();
    }
    if (name === "recorded" || name === "cuda" || name === "sampled") await it.blame();
    if (name === "recorded" && pages.includes("values")) await it.values();
    if (name === "cuda") await it.noValues();
    if (name === "sampled") await it.howSure();
    if (name === "recorded" || name === "cuda") await it.comm();
    if (name === "names") await names(it);
  });
}

/** The page Compare, of two measurements. */
async function comparison(browser, axe, name, measurement, before) {
  await opened(browser, axe, `${name}-compared`, measurement, before, async (it) => {
    await it.visit("compare", true);
    await it.compare(before);
  });
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
    await ({ comm: communication, ranks: job }[name] ?? tour)(browser, axe, name, paths[name]);
    if (name === "recorded" && !options.html) await comparison(browser, axe, name, paths[name], paths.before);
  } catch (error) {
    if (!/libmicrohttpd/.test(error.message)) throw error;
    console.log(`skipped: ${error.message}`);
    return SKIP;
  } finally {
    await browser.close();
  }
  if (failures.length) console.log(["\nwhat failed:", ...failures].join("\n")); // once more, at the end of a long list
  return failures.length ? 1 : 0;
}

process.exitCode = await main();
