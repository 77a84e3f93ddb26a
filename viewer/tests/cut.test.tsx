/* cut.test.tsx - a name is shown whole or cut in its middle, and nothing in it moves a line. */
import { render } from "preact";
import { expect, test } from "vitest";
import { Cut } from "../src/views/parts/cut.jsx";

function shown(text: string): HTMLElement {
  const root = document.createElement("div");
  render(<Cut text={text} />, root);
  return root;
}

test("a long name is in two parts that are the whole, and its tip", () => {
  const name = "void kernel<float, 4>(float const*, int) 🙂" + "x".repeat(300), root = shown(name);
  expect(root.textContent).toBe(name);
  expect(root.querySelectorAll("span > span").length).toBe(2);
  expect(root.querySelector<HTMLElement>("[data-tip]")!.dataset.tip).toBe(name);
  expect(shown("short").querySelectorAll("span").length).toBe(1);
});

test("control characters are pictures", () => {
  expect(shown('say "hi",\nthere\x1b[31m\x7f').textContent).toBe('say "hi",␊there␛[31m␡');
});
