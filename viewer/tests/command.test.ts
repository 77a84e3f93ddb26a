/* command.test.ts - command lines that sentences end with, as places in the viewer. */
import { expect, test } from "vitest";
import { addressOf, optionsOf, parseCommand, requested } from "../src/model/report/command.js";
import type { View, ViewOption } from "../src/model/types.js";

const option = (name: string, type: ViewOption["type"]): ViewOption => ({ name, type, argument: null, low: null, high: null, choices: [], help: "" });
const view = (name: string, options: ViewOption[]): View => ({ name, summary: "", description: null, single: false, needs_operations: true, hidden: false, options, tables: [] });
const VIEWS = [view("advice", []), view("profile", [option("bottom-up", "flag"), option("min-percent", "real"), option("root", "text")])];

test("a view alone, with a flag, with values in each way to write them", () => {
  expect(parseCommand("advice", VIEWS)).toEqual({ view: "advice", options: {} });
  expect(parseCommand("profile --bottom-up --min-percent 5", VIEWS)).toEqual({ view: "profile", options: { "bottom-up": "1", "min-percent": "5" } });
  expect(parseCommand("profile --root='void f<int>(char *)'", VIEWS)?.options).toEqual({ root: "void f<int>(char *)" });
  expect(parseCommand('profile --root "a \\"b\\"" --min-percent=0', VIEWS)?.options).toEqual({ root: 'a "b"', "min-percent": "0" });
});

test("what is no view is no place, and what is no option is left out", () => {
  expect(parseCommand("", VIEWS)).toBeNull();
  expect(parseCommand("nothing --root x", VIEWS)).toBeNull();
  expect(parseCommand("profile --json", VIEWS)).toEqual({ view: "profile", options: {} });
});

test("options of a view are its own in the address, and come back as a request has them", () => {
  const place = parseCommand("profile --bottom-up --root x", VIEWS)!, address = addressOf(place);
  expect(address).toEqual({ view: "profile", "profile.bottom-up": "1", "profile.root": "x" });
  expect(optionsOf(VIEWS[1]!, { ...address, "profile.min-percent": "", "other.root": "y", root: "z" })).toEqual({ "bottom-up": "1", root: "x" });
  expect(requested(VIEWS[1]!, place.options)).toEqual({ "bottom-up": true, root: "x" });
});
