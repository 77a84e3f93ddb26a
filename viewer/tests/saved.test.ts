/* Pictures that are saved: what is drawn is what the numbers say, and names are text. */
import { describe, expect, it } from "vitest";
import type { MemorySpace } from "../src/model/memory.js";
import type { Steps } from "../src/model/path.js";
import type { DeviceUse } from "../src/model/report/summary.js";
import { devicesSvg, memorySvg, pathSvg } from "../src/model/saved.js";

const INKS = { paper: "#fff", ink: "#000", line: "#ccc" };
const shapes = (svg: string, name: string) => {
  const page = new DOMParser().parseFromString(svg, "image/svg+xml");
  expect(page.querySelector("parsererror")).toBeNull();
  return [...page.querySelectorAll(name)];
};

describe("memory over time", () => {
  const space = { begin_ns: 1000, end_ns: 2000, series: { at_ns: [1000, 1500], bytes: [300, 400], sites: [[100, 200], [200, 200]], other: [0, 0] } } as unknown as MemorySpace;

  it("has a step for each change, stacked, as high as the most", () => {
    const svg = memorySvg(space, 1084, 100, (site) => `#${site}`, ["<script>alert(1)</script>", "second"], INKS);
    /* 1,000 pixels of time from 76 on, 100 of height above 116: the second of the two stands below. */
    expect(shapes(svg, "path").map((path) => path.getAttribute("d"))).toEqual([
      "M76 116V41H576V16H1076V116Z",
      "M76 116V66H576V66H1076V116Z",
      "M76 116V116H576V116H1076V116Z",
    ]);
    expect(svg).toContain("&lt;script&gt;");
    expect(svg).not.toContain("<script");
    expect(svg).not.toContain(">others<");
  });
});

describe("the critical path", () => {
  const steps = { header: { categories: ["kernel", "host"], names: [], strings: [] }, count: 2, begin: [0, 60], end: [60, 100], category: [0, 1], label: [0, 0] } as unknown as Steps;
  const drawn = (wanted: ((step: number) => boolean) | null) =>
    shapes(pathSvg(steps, 100, 100, 10, wanted, (name) => `#${name}`, INKS), "rect").filter((rect) => rect.getAttribute("height") === "10").map((rect) => ["x", "width", "fill", "fill-opacity"].map((name) => rect.getAttribute(name)));

  it("is as wide as its steps, and columns that are alike are one", () => {
    expect(drawn(null)).toEqual([["0", "60", "#kernel", null], ["60", "40", "#host", null]]);
  });

  it("lets those stand out that are chosen", () => {
    expect(drawn((step) => step === 1)).toEqual([["0", "60", "#kernel", "0.2"], ["60", "40", "#host", "0.2"], ["60", "40", "#host", null]]);
  });
});

describe("what devices did", () => {
  const use: DeviceUse = {
    name: "0 <GPU>", cells: [], busy: Float64Array.of(1, 0.5),
    parts: [{ kind: "busy", share: 0.75, ns: 75, place: null }, { kind: "host_code", share: 0.25, ns: 25, place: "main()" }, { kind: "waits", share: 0, ns: 0, place: null }],
  };

  it("is as long as its shares, and how busy it was as high", () => {
    const svg = devicesSvg([use, { ...use, busy: null }], 1016, (kind) => `#${kind}`, INKS);
    expect(shapes(svg, "rect").filter((rect) => rect.getAttribute("height") === "18" && rect.getAttribute("fill") !== "none").map((rect) => ["x", "width", "fill"].map((name) => rect.getAttribute(name)))).toEqual(
      [0, 1].flatMap(() => [["8", "750", "#busy"], ["758", "250", "#host_code"]]),
    );
    expect(shapes(svg, "path").map((path) => path.getAttribute("d"))).toEqual(["M8 70V26H508V48H1008V70Z"]);
    expect(svg).toContain("0 &lt;GPU&gt;");
    expect(svg).toContain("idle: host code 25.0 %");
    expect(svg).not.toContain("waits");
  });
});
