/* devices.tsx - how busy each device was, over time and in all, and what it was idle for. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { fitCanvas } from "../../draw/canvas.js";
import { drawStrip } from "../../draw/strip.js";
import { DARK_INKS, kindColour, LIGHT_INKS } from "../../draw/colours.js";
import { devicesSvg } from "../../model/saved.js";
import { formatAddress, moved } from "../../model/address.js";
import { KINDS, type DeviceUse } from "../../model/report/summary.js";
import type { Summary, VerdictPart } from "../../model/types.js";
import { formatTime } from "../../model/units.js";
import { useShared } from "../context.js";
import { Bar, type Part } from "../parts/bar.jsx";
import { PictureButtons } from "../parts/download.jsx";
import { Cut } from "../parts/cut.jsx";
import { Defined } from "../parts/tip.jsx";
import { pageOf } from "../places.js";

type Piece = DeviceUse["parts"][number];

export function Devices({ uses, partial }: { uses: DeviceUse[]; partial: boolean }) {
  const { theme } = useShared();
  const kinds = new Set(uses.flatMap((use) => use.parts.filter((part) => part.ns > 0).map((part) => part.kind)));
  return (
    <section aria-label="Devices">
      <div class="heading">
        <h2>Devices</h2>
        <Legend kinds={kinds} />
        <span class="pictures">
          <PictureButtons name="devices" svg={() => devicesSvg(uses, 1200, (kind) => kindColour(kind, theme), theme.dark ? DARK_INKS : LIGHT_INKS)} />
        </span>
      </div>
      <div class="devices">
        {uses.map((use, i) => (
          <Device key={i} use={use} />
        ))}
      </div>
      {partial && <p class="quiet">The trace is long: the strips show where it has something, and a device was at most as busy.</p>}
    </section>
  );
}

function Device({ use }: { use: DeviceUse }) {
  return (
    <article class="device">
      <h3>
        <Cut text={use.name} />
      </h3>
      <dl class="figures">
        {use.cells.map((cell) => (
          <div key={cell.title}>
            <dt>
              <Defined definition={cell.definition}>{cell.title}</Defined>
            </dt>
            <dd>{cell.text}</dd>
          </div>
        ))}
      </dl>
      {use.busy && <Strip busy={use.busy} name={use.name} />}
      {use.parts.length > 0 && <Bar label={said(use)} parts={use.parts.map((part) => piece(part))} />}
    </article>
  );
}

/** Where the run's time went, over all devices. */
export function RunBar({ verdict }: { verdict: NonNullable<Summary["verdict"]> }) {
  const parts: Piece[] = verdict.parts.filter((part) => part.ns > 0).map(({ kind, ns, place }) => ({ kind, ns, place, share: ns / verdict.range_ns }));
  return <Bar label={parts.map(words).join(", ")} parts={parts.map(piece)} />;
}

function piece(part: Piece): Part {
  return { key: part.kind, share: part.share, kind: `kind-${part.kind}`, tip: words(part) };
}

function words(part: Piece): string {
  return `${KINDS[part.kind]}: ${formatTime(part.ns)}${part.place ? `, most of it in ${part.place}` : ""}`;
}

function said(use: DeviceUse): string {
  return `${use.name}: ${use.parts.filter((part) => part.ns > 0).map(words).join("; ")}`;
}

function Legend({ kinds }: { kinds: Set<VerdictPart["kind"]> }) {
  return (
    <ul class="legend" aria-label="What the bars are made of">
      {(Object.keys(KINDS) as VerdictPart["kind"][])
        .filter((kind) => kinds.has(kind))
        .map((kind) => (
          <li key={kind}>
            <span class={`swatch kind-${kind}`} />
            {kind === "busy" ? "busy" : `idle: ${KINDS[kind]}`}
          </li>
        ))}
    </ul>
  );
}

/** Busy over the whole run, as high as the share of each pixel; the way to the time line. */
function Strip({ busy, name }: { busy: Float64Array; name: string }) {
  const { address, theme } = useShared(), canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const box = canvas.current;
    if (!box) return;
    const draw = () => {
      const style = getComputedStyle(box), { width, height } = box.getBoundingClientRect();
      if (width > 0) drawStrip(fitCanvas(box, width, height), width, height, busy, { paper: style.getPropertyValue("--paper").trim(), ink: style.getPropertyValue("--kind-busy").trim() });
    };
    draw();
    const watch = new ResizeObserver(draw);
    watch.observe(box);
    return () => watch.disconnect();
  }, [busy, theme.dark]);
  const picture = <canvas ref={canvas} class="strip" role="img" aria-label={`How busy ${name} was over the run`} />;
  if (pageOf("timeline") !== "timeline") return picture;
  return (
    <a class="strip-link" href={formatAddress(moved(address, "timeline"))} aria-label={`${name} on the time line`} data-tip="How busy the device was over the run. Click: the time line">
      {picture}
    </a>
  );
}
