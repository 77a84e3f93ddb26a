// speedscope.mjs - how fast speedscope is with a file, measured as bench/viewer.mjs measures Sonde's viewer.
//
//   build/viewer/node/bin/node bench/speedscope.mjs --build build --page FOLDER [--rounds N] FILE
//
// FOLDER: node_modules/speedscope/dist/release of npm's package. Prints JSON (bench/page.mjs). It shows one profile, which is one lane, at a time: the first.
import { readFileSync } from "node:fs";
import path from "node:path";
import { measureForeign } from "./page.mjs";

await measureForeign({
  name: "speedscope.mjs",
  address: (origin) => `${origin}/index.html#profileURL=${encodeURIComponent(`${origin}/profile.json`)}`,
  picture: "canvas",
  version: (page) => JSON.parse(readFileSync(path.join(page, "..", "..", "package.json"), "utf8")).version,
});
