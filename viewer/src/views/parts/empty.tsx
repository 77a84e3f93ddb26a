/* empty.tsx - in the place of what is not there: why, in one sentence. */
import type { ComponentChildren } from "preact";

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="part-empty">{children}</p>;
}

export function Reading() {
  return (
    <p class="quiet" role="status">
      Reading …
    </p>
  );
}
