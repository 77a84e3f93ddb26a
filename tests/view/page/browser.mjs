// browser.mjs - a page in Chromium, and all that goes wrong in it: errors, dialogs, requests to elsewhere.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The path of Chromium; null: it is missing. */
export function findChromium() {
  return CHROMIUM.find(existsSync) ?? null;
}

/** `packages`: the folder of the build tree with node_modules. */
export async function openBrowser(packages) {
  const need = createRequire(path.join(path.resolve(packages), "package.json"));
  const { chromium } = need("playwright-core");
  const browser = await chromium.launch({ executablePath: findChromium(), headless: true, chromiumSandbox: false });
  return { browser, axe: need("axe-core").source };
}

/** What happens in a page. `problems` are sentences; `origin`: what may be asked for begins with this. */
export class Watch {
  problems = [];
  /** A status of 400 and above is what was asked for: a number that is none was typed. */
  answersMayFail = false;
  downloads = [];
  #underWay = new Set();

  constructor(page, origin) {
    this.page = page;
    this.origin = origin;
    page.on("pageerror", (error) => this.say(`error: ${error.stack ?? error}`));
    page.on("crash", () => this.say("the page crashed"));
    page.on("dialog", (dialog) => {
      this.say(`a dialog opened: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("console", (message) => {
      if (message.type() !== "error" || (this.answersMayFail && /status of 40[04]/.test(message.text()))) return;
      if (/status of 404/.test(message.text()) && /\/ask\/(source|view\/critical|diff)\b/.test(message.location().url)) return; // the page says that there is none
      this.say(`console: ${message.text()} ${message.location().url}`);
    });
    page.on("request", (request) => {
      this.#underWay.add(request);
      const url = request.url();
      if (!url.startsWith(this.origin) && !/^(data|blob):/.test(url)) this.say(`asked for ${url}`);
    });
    page.on("requestfinished", (request) => this.#underWay.delete(request));
    page.on("requestfailed", (request) => this.#underWay.delete(request));
    page.on("download", (download) => this.downloads.push(download));
  }

  say(problem) {
    this.problems.push(problem);
  }

  /** The problems since the last time. */
  take() {
    return this.problems.splice(0);
  }

  /** Waits until nothing is loading, and nothing moved for so many ms: what follows a drag is asked for after 100. False: after a minute something
   * still did. */
  async settled(still = 150) {
    const until = Date.now() + 60_000;
    do {
      const rests = await this.page.evaluate(quiet, still);
      if (rests && this.#underWay.size === 0) return true;
    } while (Date.now() < until);
    return false;
  }
}

/** In the page: waits until nothing of it changed for so long, for two seconds at most. True: that is so, and nothing says that it is being read. */
function quiet(still) {
  return new Promise((resolve) => {
    const begin = performance.now();
    let last = begin;
    const observer = new MutationObserver(() => (last = performance.now()));
    observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    const look = () => {
      const now = performance.now();
      if (now - last < still && now - begin < 2000) return void setTimeout(look, still - (now - last));
      observer.disconnect();
      const words = [...document.querySelectorAll(".quiet, [role=status]")].some((element) => /^(reading|opening)\b/i.test(element.textContent ?? ""));
      resolve(now - last >= still && !words && !document.querySelector('[aria-busy="true"]'));
    };
    setTimeout(look, still);
  });
}

/** A page for pictures alone. */
let apart = null;

/** What a picture looks like from afar: `small` is WIDTH × HEIGHT pixels of it, a hexadecimal digit for each of red, green and blue; and how many
 * colours it has, four bits each, with the share of the commonest. */
export async function looksOf(browser, png) {
  const page = (apart ??= await browser.newPage());
  return page.evaluate(
    async ({ text, width, height }) => {
      const image = new Image();
      image.src = "data:image/png;base64," + text;
      await image.decode();
      const pixels = (w, h) => {
        const canvas = new OffscreenCanvas(w, h), context = canvas.getContext("2d");
        context.imageSmoothingQuality = "high";
        context.drawImage(image, 0, 0, w, h);
        return context.getImageData(0, 0, w, h).data;
      };
      const data = pixels(image.width, image.height), counts = new Map();
      for (let i = 0; i < data.length; i += 4) {
        const colour = ((data[i] >> 4) << 8) | ((data[i + 1] >> 4) << 4) | (data[i + 2] >> 4);
        counts.set(colour, (counts.get(colour) ?? 0) + 1);
      }
      const small = Array.from(pixels(width, height)).filter((_, at) => at % 4 < 3).map((byte) => (byte >> 4).toString(16)).join("");
      return { small, colours: counts.size, commonest: (4 * Math.max(...counts.values())) / data.length };
    },
    { text: png.toString("base64"), width: WIDTH, height: HEIGHT },
  );
}

const WIDTH = 32, HEIGHT = 20;

/** How far two such small pictures are apart: 0, the same, to 1, black and white; and the share of their pixels that are far apart. */
export function differenceOf(a, b) {
  if (a.length !== b.length) return { mean: 1, far: 1 };
  const apart = Array.from(a, (digit, at) => Math.abs(parseInt(digit, 16) - parseInt(b[at], 16)) / 15);
  const far = Array.from({ length: a.length / 3 }, (_, at) => Math.max(...apart.slice(3 * at, 3 * at + 3)) > 0.25);
  return { mean: apart.reduce((sum, one) => sum + one, 0) / apart.length, far: far.filter(Boolean).length / far.length };
}

/** Serious violations of accessibility rules, one sentence each. `rules`: only these. */
export async function violationsOf(page, axe, rules = null) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  const found = await page.evaluate(async (runOnly) => (await window.axe.run(document, { resultTypes: ["violations"], preload: false, ...(runOnly ? { runOnly } : {}) })).violations, rules);
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map((node) => `${node.target.join(" ")} (${(node.failureSummary ?? "").split("\n")[1]?.trim() ?? ""})`).join("; ")}${nodes.length > 3 ? ` and ${nodes.length - 3} more` : ""}`);
}
