/* browser.cjs - browser.cjs CHROMIUM PAGE: opens an HTML file as a user does, and prints what happened as JSON. */
const { chromium } = require(require.resolve("playwright-core", { paths: [process.cwd()] }));
const { pathToFileURL } = require("url");

(async () => {
  const [, , executablePath, file] = process.argv;
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const page = await browser.newPage();
  const seen = { errors: [], requests: [], dialogs: [] };
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && seen.errors.push(message.text()));
  page.on("pageerror", (error) => seen.errors.push(error.message));
  page.on("request", (request) => seen.requests.push(request.url()));
  page.on("dialog", (dialog) => { seen.dialogs.push(dialog.message()); dialog.dismiss(); });
  await page.goto(pathToFileURL(file).href);
  await page.waitForFunction(() => document.title !== "Sonde", null, { timeout: 120000 }).catch((error) => seen.errors.push(error.message));
  await page.waitForTimeout(500);
  seen.title = await page.title();
  seen.left = await page.evaluate(() => document.querySelectorAll("#sonde-worker, #sonde-wasm, #sonde-measurement").length);
  console.log(JSON.stringify(seen));
  await browser.close();
})();
