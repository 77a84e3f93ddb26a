/* frames.tsx - call paths on the page Communication: each frame opens in the profile. */
import { frameText, type PathFrame } from "../../model/critical.js";
import { usePlaces } from "../places.js";

export function Frames({ title, frames }: { title: string; frames: PathFrame[] }) {
  const { openFrame } = usePlaces();
  if (!frames.length) return null;
  return (
    <>
      <h3>{title}</h3>
      <ol class="frame-path">
        {frames.map((frame, i) => (
          <li key={i}>
            <button type="button" title={frame.module ?? undefined} onClick={() => void openFrame(frame)}>{frameText(frame)}</button>
          </li>
        ))}
      </ol>
    </>
  );
}
