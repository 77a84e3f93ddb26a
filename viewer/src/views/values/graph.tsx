/* graph.tsx - the value flow graph (docs/values.md), its slices and its important part, which are the view's own options. */
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { layOut, pathOf, shortened, type Layout } from "../../draw/graph.js";
import { PictureButtons } from "../parts/download.jsx";
import { Scroll } from "../parts/scroll.jsx";
import { formatAddress } from "../../model/address.js";
import { request } from "../../model/requests.js";
import { formatBytes, formatCount, formatShare, formatTime } from "../../model/units.js";
import { definitionOf, framesOf, type Edge, type Values, type Vertex } from "../../model/values/answer.js";
import { colourOf, drawnOf, EDGES_DRAWN, labelOf, REDUNDANCIES, redundancyOf, sentenceOf, widthOf, wordsOf } from "../../model/values/flow.js";
import { useLoaded, useShared } from "../context.js";
import { Failure } from "../failure.jsx";

const LETTER = 7.3, LINE = 15, LETTERS = 34, FONT = "ui-monospace, 'DejaVu Sans Mono', monospace";

/** `leftOutEmpty`: it is not shown where there is nothing in it. */
export function FlowGraph({ leftOutEmpty }: { leftOutEmpty: boolean }) {
  const { requests, address } = useShared();
  const { vertex, important } = address.options;
  const asked = request("view", "values", { vertex, important });
  const values = useLoaded(asked, () => requests.json<Values>(asked));
  const empty = values.state === "ready" && !values.value.graph.vertices.length && vertex === undefined && important === undefined;
  if (empty && leftOutEmpty) return null;
  return (
    <section aria-labelledby="values-graph">
      <h2 id="values-graph">Value flow graph</h2>
      {!empty && <Part graph={values.state === "ready" ? values.value.graph : null} />}
      {values.state === "loading" && <p class="quiet">Reading …</p>}
      {values.state === "failed" && <Failure error={values.error} />}
      {values.state === "ready" && <Drawing key={asked} graph={values.value.graph} />}
    </section>
  );
}

/** Which part of the graph is shown. */
function Part({ graph }: { graph: Values["graph"] | null }) {
  const { address, views, go } = useShared();
  const { vertex, important } = address.options;
  const help = views.find((view) => view.name === "values")?.options.find((option) => option.name === "important")?.help;
  const sliced = graph?.vertices.find((v) => String(v.id) === vertex);
  return (
    <div class="values-options">
      <label title={help}>
        Important from{" "}
        <input type="text" size={32} placeholder="bytes=1M,operations=10" value={important ?? ""}
          onChange={(event) => go({ important: event.currentTarget.value.trim() || null })} />
      </label>
      {vertex !== undefined && (
        <span>
          Only what leads to {vertex} {sliced?.name}, and from it <button type="button" onClick={() => go({ vertex: null })}>Whole graph</button>
        </span>
      )}
    </div>
  );
}

function Drawing({ graph }: { graph: Values["graph"] }) {
  const { address, theme } = useShared();
  const [most, setMost] = useState(EDGES_DRAWN);
  const [zoom, setZoom] = useState(1);
  const picture = useRef<SVGSVGElement>(null);
  const drawn = useMemo(() => drawnOf(graph, most), [graph, most]);
  const layout = useMemo(() => layOut(drawn.vertices.map(boxOf), drawn.edges.map(lineOf)), [drawn]);
  const chosen = graph.vertices.find((v) => String(v.id) === address.options.shown);
  if (!graph.vertices.length) return <p class="quiet">No operation is known that used a data object.</p>;
  return (
    <>
      <p class="values-options">
        <button type="button" aria-label="Smaller" onClick={() => setZoom(zoom / 1.25)}>−</button>
        <button type="button" aria-label="Larger" onClick={() => setZoom(zoom * 1.25)}>+</button>
        <button type="button" onClick={() => setZoom(1)}>100 %</button>
        <PictureButtons name="values" svg={() => picture.current && new XMLSerializer().serializeToString(picture.current)} />
        {REDUNDANCIES.map(({ name, text }) => (
          <span key={name} class="values-key"><i style={{ background: colourOf(name, theme) }} />{text}</span>
        ))}
      </p>
      {drawn.left_out > 0 && (
        <p>
          The {formatCount(drawn.edges.length)} edges with most bytes of {formatCount(graph.edges.length)} are drawn.{" "}
          <button type="button" onClick={() => setMost(Infinity)}>Draw all</button>
        </p>
      )}
      <div class="values-flow">
        <div class="values-scroll values-picture" role="group" aria-labelledby="values-graph" tabIndex={0}>
          <Picture vertices={drawn.vertices} edges={drawn.edges} most={graph.edges[0]?.bytes ?? 0} layout={layout} zoom={zoom} into={picture} />
        </div>
        {chosen && <Chosen vertex={chosen} />}
      </div>
      <EdgeTable vertices={drawn.vertices} edges={drawn.edges} />
    </>
  );
}

// ---- the picture -------------------------------------------------------------------------------------------------------

function boxOf(vertex: Vertex) {
  const words = wordsOf(vertex).map((word) => shortened(word, LETTERS));
  return { id: String(vertex.id), width: Math.max(9, ...words.map((word) => word.length + (vertex.kind === "operation" ? 4 : 2))) * LETTER, height: words.length * LINE + 12 };
}

function lineOf(edge: Edge) {
  return { from: String(edge.from), to: String(edge.to), width: labelOf(edge).length * LETTER, height: LINE };
}

interface PictureProps {
  vertices: Vertex[];
  edges: Edge[];
  most: number;
  layout: Layout;
  zoom: number;
  into: { current: SVGSVGElement | null };
}

/** All that it looks like is in its attributes, so that it is the same when it is saved. */
function Picture({ vertices, edges, most, layout, zoom, into }: PictureProps) {
  const { theme } = useShared();
  const names = useMemo(() => new Map(vertices.map((v) => [v.id, v])), [vertices]);
  const paper = theme.dark ? "#16161a" : "#ffffff", ink = theme.dark ? "#e8e8ee" : "#1b1b1f";
  return (
    <svg ref={into} xmlns="http://www.w3.org/2000/svg" width={layout.width * zoom} height={layout.height * zoom} viewBox={`0 0 ${layout.width} ${layout.height}`}
      role="group" aria-label="Value flow graph" font-family={FONT} font-size="12">
      <defs>
        {REDUNDANCIES.map(({ name }) => (
          <marker key={name} id={`values-${name}`} viewBox="0 0 10 10" refX="9" refY="5" markerUnits="userSpaceOnUse" markerWidth="11" markerHeight="11" orient="auto">
            <path d="M0 0L10 5L0 10Z" fill={colourOf(name, theme)} />
          </marker>
        ))}
      </defs>
      <rect width={layout.width} height={layout.height} fill={paper} />
      {edges.map((edge, i) => (
        <path key={i} d={pathOf(layout.lines[i]!.points)} fill="none" stroke={colourOf(redundancyOf(edge), theme)} stroke-width={widthOf(edge.bytes, most).toFixed(1)}
          stroke-opacity="0.8" stroke-dasharray={edge.exact ? undefined : "6 4"} marker-end={`url(#values-${redundancyOf(edge)})`}>
          <title>{sentenceOf(edge, names)}</title>
        </path>
      ))}
      {edges.map((edge, i) => (
        <text key={i} x={layout.lines[i]!.label.x} y={layout.lines[i]!.label.y + 4} text-anchor="middle" fill={ink} stroke={paper} stroke-width="3" paint-order="stroke">
          {labelOf(edge)}
          <title>{sentenceOf(edge, names)}</title>
        </text>
      ))}
      {vertices.map((vertex) => <Node key={vertex.id} vertex={vertex} layout={layout} paper={paper} ink={ink} />)}
    </svg>
  );
}

function Node({ vertex, layout, paper, ink }: { vertex: Vertex; layout: Layout; paper: string; ink: string }) {
  const { address, theme, go } = useShared();
  const { width, height } = boxOf(vertex), middle = layout.boxes.get(String(vertex.id))!;
  const chosen = address.options.shown === String(vertex.id);
  const choose = () => go({ shown: chosen ? null : vertex.id }, { replace: true });
  const words = wordsOf(vertex);
  const key = (event: JSX.TargetedKeyboardEvent<SVGGElement>) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose();
  };
  return (
    <g class="values-vertex" role="button" tabIndex={0} aria-pressed={chosen} aria-label={`${vertex.id} ${words.join(", ")}`} onClick={choose} onKeyDown={key}>
      <rect x={middle.x - width / 2} y={middle.y - height / 2} width={width} height={height} rx={vertex.kind === "operation" ? height / 2 : 0}
        fill={chosen ? (theme.dark ? "#2b3a63" : "#dfe8ff") : paper} stroke={ink} stroke-width={chosen ? 2.5 : 1.2}
        stroke-dasharray={vertex.kind === "host" ? "3 3" : undefined} />
      {words.map((word, i) => (
        <text key={i} x={middle.x} y={middle.y - height / 2 + 17 + i * LINE} text-anchor="middle" fill={ink} font-weight={i === 0 ? "600" : "400"}>
          {shortened(word, LETTERS)}
        </text>
      ))}
      <title>{[`${vertex.id} ${vertex.name}`, vertex.called_from ?? ""].filter(Boolean).join("\n")}</title>
    </g>
  );
}

// ---- beside and below it ----------------------------------------------------------------------------------------------

function Chosen({ vertex }: { vertex: Vertex }) {
  const { address, views, go } = useShared();
  const means = (column: string) => definitionOf(views, "vertices", column);
  const frames = framesOf(vertex.called_from);
  return (
    <aside class="values-chosen" aria-label="The chosen vertex">
      <h3>{vertex.id} {vertex.name}</h3>
      <dl>
        <dt title={means("kind")}>kind</dt><dd>{vertex.kind}</dd>
        <dt title={means("operations")}>{vertex.kind === "allocation" ? "objects" : "operations"}</dt><dd>{formatCount(vertex.operations)}</dd>
        {vertex.kind === "operation" && <><dt title={means("time_ns")}>device time</dt><dd>{formatTime(vertex.time_ns)}</dd></>}
      </dl>
      {frames.length > 0 && (
        <>
          <h4 title={means("called_from")}>Called from</h4>
          <ol>{frames.map((frame, i) => <li key={i}>{frame}</li>)}</ol>
        </>
      )}
      <p>
        {address.options.vertex !== String(vertex.id) && <button type="button" onClick={() => go({ vertex: vertex.id })}>Only what leads here, and from here</button>}{" "}
        {vertex.kind === "operation" && <a href={formatAddress({ page: "profile", options: { ...address.options, routine: vertex.name } })}>In the profile</a>}
      </p>
    </aside>
  );
}

function EdgeTable({ vertices, edges }: { vertices: Vertex[]; edges: Edge[] }) {
  const { views } = useShared();
  const names = useMemo(() => new Map(vertices.map((v) => [v.id, v])), [vertices]);
  const means = (column: string) => definitionOf(views, "edges", column);
  return (
    <details>
      <summary>As a table</summary>
      <Scroll class="values-scroll" label="Edges">
        <table class="values-edges">
          <thead>
            <tr>
              <th scope="col" title={means("from")}>From</th>
              <th scope="col" title={means("to")}>to</th>
              <th scope="col">does</th>
              <th scope="col" class="number" title={means("operations")}>operations</th>
              <th scope="col" class="number" title={means("bytes")}>bytes</th>
              <th scope="col" class="number" title={means("unchanged")}>% unchanged</th>
              <th scope="col" title={means("object")}>object</th>
            </tr>
          </thead>
          <tbody>
            {edges.map((edge, i) => (
              <tr key={i}>
                <td>{edge.from} {names.get(edge.from)?.name}</td>
                <td>{edge.to} {names.get(edge.to)?.name}</td>
                <td title={edge.exact ? undefined : means("exact")}>{[edge.reads && "reads", edge.writes && "writes"].filter(Boolean).join(", ") || "-"}{edge.exact ? "" : " ?"}</td>
                <td class="number">{formatCount(edge.operations)}</td>
                <td class="number">{formatBytes(edge.bytes)}</td>
                <td class="number">{formatShare(edge.unchanged)}</td>
                <td>{edge.object}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </details>
  );
}
