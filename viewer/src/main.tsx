/* main.tsx - opens the measurement, and shows it. */
import { render } from "preact";
import { Requests } from "./model/requests.js";
import { runOf, type RunAnswer } from "./model/run.js";
import type { View } from "./model/types.js";
import { openEmbedded } from "./transport/embedded.js";
import { HttpTransport, takeToken } from "./transport/http.js";
import { App } from "./views/app.jsx";
import { Failure } from "./views/failure.jsx";
import { Reading } from "./views/parts/empty.jsx";
import { applyTheme } from "./views/theme.js";
import "./viewer.css";

async function start(root: HTMLElement): Promise<void> {
  applyTheme();
  render(<Reading />, root);
  try {
    const requests = new Requests((await openEmbedded()) ?? new HttpTransport(takeToken()));
    const [answer, views] = await Promise.all([requests.json<RunAnswer>("run"), requests.json<View[]>("views")]), run = runOf(answer);
    document.title = `${run.command ?? run.path} · Sonde`;
    render(<App requests={requests} run={run} views={views} />, root);
  } catch (error) {
    render(<Failure error={error as Error} />, root);
  }
}

void start(document.getElementById("page")!);
