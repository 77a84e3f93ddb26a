// controls.mjs - uses each control of what a page shows once.
const CONTROLS = ["button", "select", "input", "summary", "textarea", ...["button", "tab", "checkbox", "switch", "slider", "menuitem", "treeitem", "option", "row"].map((role) => `[role=${role}][tabindex]`)]
  .flatMap((control) => [`main ${control}`, `header ${control}`]).join(", ");
const MOST = 60;
/** Of controls that are alike so many: those that a column of a table has in its rows, and titles by which it is sorted already. */
const ALIKE = 4;

/** In the page: the first control that can be seen and was not used, what it is called, and which others are like it. Controls that differ by a number
 * alone are one. */
function nextOf([selector, used, times, most]) {
  for (const element of document.querySelectorAll(selector)) {
    if (element.disabled || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const box = element.getBoundingClientRect();
    if (box.width < 2 || box.height < 2) continue;
    const label = element.getAttribute("aria-label") || element.labels?.[0]?.textContent || element.textContent || element.title || element.name || element.id || "";
    const name = `${element.tagName.toLowerCase()} ${element.getAttribute("role") ?? ""} ${element.type ?? ""} ${label.trim().slice(0, 50)}`.replace(/\d+([.,]\d+)*/g, "#");
    if (used.includes(name)) continue;
    const cell = element.closest("td, th, [role=row] > *"), table = [...document.querySelectorAll("table, [role=treegrid]")].indexOf(cell?.closest("table, [role=treegrid]"));
    const isTitle = cell?.matches("thead *, [role=columnheader]"), place = cell && [...cell.parentElement.children].indexOf(cell);
    const alike = !cell || (isTitle && !cell.matches("[aria-sort$=cending]")) ? null : `${table} ${isTitle ? "titles" : `${place} ${element.tagName}`}`;
    if ((times[alike] ?? 0) < most) return { element, name, alike };
  }
  return null;
}

/** For so many ms a page rests before the next control is used; behind one that is typed into longer, since what it asks for may fail. */
const MOMENT = 50, LONGER = 150;

/** Returns for how long the page has to rest behind it. */
async function use(element, watch) {
  const kind = await element.evaluate((e) => (e.tagName === "SELECT" ? "select" : e.tagName === "INPUT" || e.tagName === "TEXTAREA" ? e.type : "button"));
  if (kind === "select") {
    const count = await element.evaluate((e) => e.options.length);
    for (let index = count - 1; index >= 0; index = index > 3 ? 2 : index - 1) {
      await element.selectOption({ index });
      await watch.settled(MOMENT);
    }
  } else if (["text", "search", "textarea"].includes(kind)) {
    watch.answersMayFail = true;
    const before = await element.inputValue();
    for (const text of ["k", before]) {
      await element.fill(text);
      await element.press("Enter");
      await watch.settled();
    }
    watch.answersMayFail = false;
    return LONGER;
  } else if (["number", "range"].includes(kind)) {
    await element.press("ArrowUp");
  } else {
    await element.click();
  }
  return MOMENT;
}

/** A dialog that was opened closes with this key. */
async function escape(page, watch, name) {
  await page.keyboard.press("Escape");
  const stayed = await page.evaluate(() => [...document.querySelectorAll("dialog[open]")].map((dialog) => dialog.close()).length);
  if (stayed) watch.say(`[${name}] the Escape key leaves a dialog open`);
}

/** Their names; what goes wrong is said to the watch. `back` shows the page again. */
export async function useControls(page, watch, back) {
  const used = [], times = {}, shown = new URL(page.url()).hash.split("?")[0];
  while (used.length < MOST) {
    const handle = await page.evaluateHandle(nextOf, [CONTROLS, used, times, ALIKE]);
    const element = (await handle.getProperty("element").catch(() => null))?.asElement();
    if (!element) break;
    const { name, alike } = await handle.evaluate(({ name, alike }) => ({ name, alike }));
    used.push(name);
    if (alike !== null) times[alike] = (times[alike] ?? 0) + 1;
    const before = watch.problems.length;
    let rest = LONGER;
    try {
      rest = await use(element, watch);
    } catch (error) {
      if (!/not attached|detached/.test(error.message)) watch.say(`cannot be used: ${error.message.split("\n")[0]} ${/- .*(intercepts|not visible|not stable|outside).*/.exec(error.message)?.[0] ?? ""}`);
    }
    if (!(await watch.settled(rest))) watch.say("something never came to rest");
    watch.answersMayFail = false;
    for (let i = before; i < watch.problems.length; i++) watch.problems[i] = `[${name}] ${watch.problems[i]}`;
    if ((new URL(page.url()).hash.split("?")[0] || shown) !== shown) await back();
    else await escape(page, watch, name);
  }
  await watch.settled();
  return used;
}
