// firefox.mjs - how fast the Firefox Profiler is with a file, measured as bench/viewer.mjs measures Sonde's viewer.
//
//   build/viewer/node/bin/node bench/firefox.mjs --build build --page FOLDER [--rounds N] FILE
//
// FOLDER: `dist` of its sources, built by its `yarn build-prod`, with its folder `locales` within. FILE: what `sonde export --to chrome` writes, which its
// importer reads. Prints JSON as bench/speedscope.mjs does. It shows all tracks at once, and of the chosen one its markers, which operations and calls
// become, as a picture that is moved in.
import { readFileSync } from "node:fs";
import path from "node:path";
import { measureForeign } from "./page.mjs";

await measureForeign({
  name: "firefox.mjs",
  address: (origin) => `${origin}/from-url/${encodeURIComponent(`${origin}/profile.json`)}/marker-chart/`,
  picture: "canvas.chartCanvas",
  version: (page) => JSON.parse(readFileSync(path.join(page, "..", "package.json"), "utf8")).version ?? "",
});
