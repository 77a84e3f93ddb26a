/* objects.tsx - data objects by bytes: who allocated them, where they lie, and who read and wrote them. */
import { hash } from "../../draw/colours.js";
import { objectKey, type Comm, type SentObject } from "../../model/comm.js";
import { useShared } from "../context.js";
import { ObjectElements } from "./elements.jsx";
import { Frames } from "./frames.jsx";
import { Objects, Ways } from "./tables.jsx";

export const objectAt = (row: SentObject) => hash(objectKey(row)).toString(36);

export function ObjectView({ comm, rows }: { comm: Comm; rows: SentObject[] }) {
  const { address, go } = useShared();
  const own = comm.objects.filter((row) => objectAt(row) === address.options.object), [first] = own;
  return (
    <div class="comm-beside">
      <Objects rows={rows} all={comm.bytes} keyOf={objectAt} chosen={address.options.object ?? null} onChoose={(object) => go({ object }, { replace: true })} />
      {first && (
        <aside class="comm-panel" aria-label="The chosen data object">
          <h2>{first.name ?? "An unknown data object"}</h2>
          <p class="quiet">{first.owner === null ? "Where it lies is unknown, or on whichever device uses it." : `Lies on ${first.owner === "host" ? "the host" : `device ${first.owner}`}.`}</p>
          <Frames title="Allocated by, innermost first" frames={first.frames} />
          <h3>Who read and wrote it</h3>
          <Ways rows={own} all={comm.bytes} table="objects" label="Ways of this data object" />
          <ObjectElements comm={comm} object={first} />
        </aside>
      )}
    </div>
  );
}
