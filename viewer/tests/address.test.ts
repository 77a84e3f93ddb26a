/* address.test.ts - what is shown survives being sent to somebody else. */
import { expect, test } from "vitest";
import { changed, formatAddress, moved, parseAddress, rangeOf, windowOf } from "../src/model/address.js";

test("any text of an option comes back", () => {
  for (const text of ["a b", "x&y=z", "#1", "50%", "π ← ☃", "void f<int>(char const*)", "?", "+"]) {
    const address = { page: "profile", options: { routine: text } };
    expect(parseAddress(formatAddress(address))).toEqual(address);
  }
});

test("an address that is none is the first page", () => {
  for (const hash of ["", "#", "#token=12", "#profile", "x"]) expect(parseAddress(hash)).toEqual({ page: "", options: {} });
  expect(parseAddress("#/%E0%A4%A?x=%zz").page).toBe("%E0%A4%A");
});

test("an option without a value is left out", () => {
  expect(formatAddress({ page: "tables", options: { view: "kernels", find: "" } })).toBe("#/tables?view=kernels");
  expect(formatAddress({ page: "tables", options: {} })).toBe("#/tables");
});

test("options change one by one", () => {
  const address = { page: "tables", options: { view: "kernels", from: "1" } };
  expect(changed(address, { from: null, to: 5 })).toEqual({ page: "tables", options: { view: "kernels", to: "5" } });
  expect(address.options.from).toBe("1");
});

test("another page gets what pages share, and what was set there before", () => {
  const here = { page: "tables", options: { view: "kernels", from: "1", to: "2", routine: "step()" } };
  expect(moved(here, "profile", { shape: "flat", routine: "old()", from: "7" })).toEqual({
    page: "profile",
    options: { shape: "flat", from: "1", to: "2", routine: "step()" },
  });
  expect(moved({ page: "tables", options: {} }, "timeline", { from: "3", to: "4" }).options).toEqual({});
});

test("a range has a begin before its end", () => {
  const of = (options: Record<string, string>) => rangeOf({ page: "", options });
  expect(of({ from: "0", to: "10" })).toEqual({ from: 0, to: 10 });
  expect(windowOf({ page: "", options: { t0: "1", t1: "2" } })).toEqual({ from: 1, to: 2 });
  expect(windowOf({ page: "", options: { t0: "1", t1: "2", from: "3", to: "4" } })).toEqual({ from: 3, to: 4 });
  expect(windowOf({ page: "", options: { t0: "2" } })).toBeNull();
  for (const wrong of [{}, { from: "1" }, { to: "1" }, { from: "5", to: "5" }, { from: "-1", to: "5" }, { from: "a", to: "b" }]) expect(of(wrong as Record<string, string>)).toBeNull();
});
