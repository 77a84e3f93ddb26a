/* chord.ts - what goes from where to where, as a circle: each place is a stretch of its rim, and each way a ribbon with an arrow's head, as wide as its
 * value at both ends. Knows nothing of profiles. Angles are clockwise from the top, in radians. */

export interface Flow {
  /** Numbers of places. */
  from: number;
  to: number;
  value: number;
}

export interface Arc {
  begin: number;
  end: number;
}

export interface Chord {
  /** Of places, in their order; one of no value is as long as nothing. */
  arcs: Arc[];
  /** Of flows, in their order: where they leave and where they arrive. */
  ribbons: { from: Arc; to: Arc }[];
}

const GAP = 0.05, GAPS_MOST = 0.3; /* between places; of the whole rim */

export function layOutChord(places: number, flows: readonly Flow[]): Chord {
  const total = flows.reduce((sum, { value }) => sum + 2 * value, 0), gap = places > 1 ? Math.min(GAP, (2 * Math.PI * GAPS_MOST) / places) : 0;
  const scale = total > 0 ? (2 * Math.PI - gap * places) / total : 0;
  const ribbons = flows.map(() => ({ from: { begin: 0, end: 0 }, to: { begin: 0, end: 0 } })), arcs: Arc[] = [];
  let at = gap / 2;
  for (let place = 0; place < places; place++) {
    const begin = at;
    for (const { flow, leaves } of endsOf(place, places, flows)) {
      const arc = leaves ? ribbons[flow]!.from : ribbons[flow]!.to;
      arc.begin = at;
      arc.end = at += flows[flow]!.value * scale;
    }
    arcs.push({ begin, end: at });
    at += gap;
  }
  return { arcs, ribbons };
}

/** Ends of ribbons at a place, clockwise: those to the places before it first, so that neighbours do not cross; what stays there in the middle. */
function endsOf(place: number, places: number, flows: readonly Flow[]): { flow: number; leaves: boolean }[] {
  const ends: { flow: number; leaves: boolean; order: number }[] = [];
  const order = (other: number) => (other === place ? places / 2 : (place - other + places) % places);
  flows.forEach(({ from, to }, flow) => {
    if (from === place) ends.push({ flow, leaves: true, order: order(to) });
    if (to === place) ends.push({ flow, leaves: false, order: order(from) });
  });
  return ends.sort((a, b) => a.order - b.order || a.flow - b.flow || Number(b.leaves) - Number(a.leaves));
}

function point(angle: number, radius: number): string {
  return `${(Math.sin(angle) * radius).toFixed(2)} ${(-Math.cos(angle) * radius).toFixed(2)}`;
}

function along({ begin, end }: Arc, radius: number, clockwise: boolean): string {
  const r = radius.toFixed(2);
  return `A${r} ${r} 0 ${end - begin > Math.PI ? 1 : 0} ${clockwise ? 1 : 0} ${point(clockwise ? end : begin, radius)}`;
}

/** A place on the rim, as the `d` of an SVG path around (0, 0). */
export function arcPath(arc: Arc, inner: number, outer: number): string {
  return `M${point(arc.begin, outer)}${along(arc, outer, true)}L${point(arc.end, inner)}${along(arc, inner, false)}Z`;
}

/** A ribbon that begins at the rim and ends there with its point. */
export function ribbonPath({ from, to }: { from: Arc; to: Arc }, radius: number, head: number): string {
  const middle = (to.begin + to.end) / 2;
  return `M${point(from.begin, radius)}${along(from, radius, true)}Q0 0 ${point(to.begin, radius - head)}L${point(middle, radius)}L${point(to.end, radius - head)}Q0 0 ${point(from.begin, radius)}Z`;
}

/** A text of this size at the middle of the place touches none at the places beside it. */
export function hasRoom({ begin, end }: Arc, radius: number, width: number, height: number): boolean {
  const middle = (begin + end) / 2, length = (end - begin) * radius;
  return length * Math.abs(Math.sin(middle)) >= height || length * Math.abs(Math.cos(middle)) >= width;
}

/** Where the name of a place is written, and to which side it goes on. */
export function labelAt({ begin, end }: Arc, radius: number): { x: number; y: number; anchor: "start" | "middle" | "end" } {
  const middle = (begin + end) / 2, x = Math.sin(middle) * radius;
  return { x, y: -Math.cos(middle) * radius, anchor: Math.abs(x) < radius * 0.15 ? "middle" : x > 0 ? "start" : "end" };
}
