// page.mjs - a page's opening, and its frames while somebody moves in it, as benchmarks measure them: the same for every viewer.
//
// A frame has three times. *Main thread*: from its begin to the first task after its painting: events, scripts, layout and painting, without what
// puts it on the screen. *Interval*: from one frame to the next, of which there are 60 a second at most. *CPU*: what the page's thread computed from
// the end of the frame before to the end of this one, whatever else the machine does: from Chromium's trace.

/** In the page, before anything else: when it changed last, or worked for more than 50 ms; and when its lanes, or its first table, were there. */
export function watchChanges() {
  window.lastChange = 0;
  window.drawnAt = null;
  const drawn = () => {
    const lanes = document.querySelector(".tl-busy");
    if (lanes ? !lanes.textContent : document.querySelector("main table")) window.drawnAt ??= performance.now();
  };
  new MutationObserver(() => {
    window.lastChange = performance.now();
    drawn();
  }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) window.lastChange = Math.max(window.lastChange, task.startTime + task.duration);
  }).observe({ type: "longtask", buffered: true });
}

/** In the page: keeps the times of frames from now on. */
function keepFrames() {
  const after = new MessageChannel();
  window.frameTimes = [];
  window.frameBegins = [];
  after.port1.onmessage = ({ data }) => window.frameTimes.push(performance.now() - data);
  const next = (begin) => {
    window.frameBegins.push(begin);
    after.port2.postMessage(begin);
    window.nextFrame = requestAnimationFrame(next);
  };
  window.nextFrame = requestAnimationFrame(next);
}

function takeFrames() {
  cancelAnimationFrame(window.nextFrame);
  const begins = window.frameBegins;
  return { main: window.frameTimes, interval: begins.slice(1).map((begin, i) => begin - begins[i]) };
}

/** Zooms in and out, moves by keys, drags, and scrolls, in the largest picture of the page. */
async function move(page, selector) {
  const canvases = await page.locator(selector).all(), boxes = await Promise.all(canvases.map((canvas) => canvas.boundingBox()));
  const box = boxes.filter(Boolean).sort((a, b) => b.width * b.height - a.width * a.height)[0];
  if (!box) throw new Error("the page has no picture");
  const x = box.x + box.width / 2, y = Math.min(box.y + box.height / 2, 700);
  await page.mouse.move(x, y);
  for (const wheel of [-120, 120]) {
    await page.keyboard.down("Control");
    for (let i = 0; i < 60; i++) await page.mouse.wheel(0, wheel);
    await page.keyboard.up("Control");
  }
  for (const key of "wwwwwwwwddddddddaaaa") await page.keyboard.press(key);
  for (const end of [-300, 300]) {
    await page.mouse.down();
    await page.mouse.move(x + end, y, { steps: 60 });
    await page.mouse.up();
    await page.mouse.move(x, y);
  }
  for (const wheel of [200, -200]) for (let i = 0; i < 40; i++) await page.mouse.wheel(0, wheel);
}

/** Milliseconds of the page's thread for each frame, from Chromium's trace: all of its tasks from one frame to the next. */
export function frameCosts(trace) {
  const tasks = new Map(), frames = new Map();
  for (const event of trace.traceEvents) {
    const thread = `${event.pid} ${event.tid}`, into = event.name === "RunTask" ? tasks : event.name === "FireAnimationFrame" ? frames : null;
    if (into && !into.has(thread)) into.set(thread, []);
    into?.get(thread).push(event);
  }
  const [thread, begins] = [...frames].sort((a, b) => b[1].length - a[1].length)[0] ?? ["", []];
  const costs = [];
  let sum = 0, frame = 0;
  begins.sort((a, b) => a.ts - b.ts);
  for (const task of (tasks.get(thread) ?? []).sort((a, b) => a.ts - b.ts)) {
    sum += task.tdur ?? 0;
    let drew = false;
    for (; frame < begins.length && begins[frame].ts < task.ts + task.dur; frame++) drew ||= begins[frame].ts >= task.ts;
    if (!drew) continue;
    costs.push(sum / 1000);
    sum = 0;
  }
  return costs.slice(1); /* what was before the first is not its own */
}

/** The frames of `move`: lists of milliseconds. */
export async function framesOf(browser, page, selector) {
  await browser.startTracing(page, { categories: ["-*", "devtools.timeline", "disabled-by-default-devtools.timeline"] });
  let frames, trace;
  try {
    await page.evaluate(keepFrames);
    await move(page, selector);
    frames = await page.evaluate(takeFrames);
  } finally {
    trace = await browser.stopTracing();
  }
  return { ...frames, cpu: frameCosts(JSON.parse(trace.toString())) };
}

const rounded = (number) => Math.round(number * 100) / 100;

/** { count, median, p95, most } of a list of numbers. */
export function summaryOf(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b), at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  return sorted.length ? { count: sorted.length, median: rounded(at(0.5)), p95: rounded(at(0.95)), most: rounded(sorted.at(-1)) } : { count: 0 };
}

/** Opens pages in rounds, each in a browser's window of its own. `visit(page)` is one round. */
export async function inRounds(browser, rounds, visit) {
  for (let i = 0; i < rounds; i++) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    try {
      const page = await context.newPage();
      page.setDefaultTimeout(600_000);
      await page.addInitScript(watchChanges);
      await visit(page);
    } finally {
      await context.close();
    }
  }
}
