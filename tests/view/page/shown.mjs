// shown.mjs - a measurement shown by `sonde view`, behind its server or as one file.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

/** What the program sonde-ask answers: { status, type, bytes }. */
export function ask(program, measurement, request) {
  const { stdout } = spawnSync(program, [measurement], { input: `${Buffer.byteLength(request)}\n${request}`, maxBuffer: 1 << 30 });
  const end = stdout.indexOf("\n"), [status, type] = stdout.subarray(0, end).toString().split(" ");
  return { status: Number(status), type, bytes: stdout.subarray(end + 1) };
}

/** What `sonde view --help` says; "" where there is no such command. */
function helpOf(sonde) {
  const done = spawnSync(sonde, ["view", "--help"], { encoding: "utf8" });
  return done.status === 0 ? done.stdout : "";
}

/** Why a page cannot be shown in this way; null: it can. */
export function whyNot({ sonde, html }) {
  const assets = path.join(path.dirname(sonde), "..", "share", "sonde", "viewer");
  if (!existsSync(path.join(assets, "index.html"))) return "the viewer's page was not built";
  if (!helpOf(sonde)) return "there is no sonde view";
  if (html && !helpOf(sonde).includes("--html")) return "sonde view writes no file here";
  if (html && !existsSync(path.join(assets, "sonde.wasm"))) return "sonde.wasm was not built";
  return null;
}

/** { url, origin, close }: `url` is opened first, `origin` is where the page may ask. `before`: a measurement that it is compared with, behind a server. */
export async function shown({ sonde, html, work }, measurement, before = null) {
  if (html) return oneFile(sonde, measurement, path.join(work, path.basename(measurement, ".sonde") + ".html"));
  return behindServer(sonde, measurement, before ? ["--before", before] : []);
}

function oneFile(sonde, measurement, file) {
  const done = spawnSync(sonde, ["view", measurement, "--html", file, "--force"], { encoding: "utf8" });
  if (done.status !== 0) throw new Error(`sonde view --html: ${done.stderr}`);
  const url = pathToFileURL(file).href;
  return { url, origin: url, close() {} };
}

async function behindServer(sonde, measurement, more) {
  const server = spawn(sonde, ["view", measurement, "--no-browser", ...more], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  const url = await new Promise((resolve, reject) => {
    const listen = (piece) => {
      said += piece;
      const found = /http:\/\/127\.0\.0\.1:\d+\/#token=[0-9A-Za-z]+/.exec(said);
      if (found) resolve(found[0]);
    };
    server.stdout.on("data", listen);
    server.stderr.on("data", listen);
    server.on("error", reject);
    server.on("exit", (status) => reject(new Error(`sonde view ended with ${status}: ${said}`)));
  });
  return { url, origin: url.slice(0, url.indexOf("#")), close: () => server.kill("SIGTERM") };
}
