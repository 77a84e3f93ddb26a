import { expect, test } from "vitest";
import type { Interval } from "../src/model/timeline/intervals.js";
import { formatPlace, parsePlace, placeOf } from "../src/model/timeline/place.js";

test("a place comes back from an address, and what is none is none", () => {
  const place = { lane: "3:17", track: 2, begin: 1234567890123, correlation: 42 };
  expect(parsePlace(formatPlace(place))).toEqual(place);
  expect(placeOf({ ...place, end: 5, label: 7, kind: "operation" } as unknown as Interval)).toEqual(place);
  for (const wrong of [undefined, "", "1:2:3:4", "1:2:3:4:5:6", "1:2:3:-4:5", "1:2:x:4:5", "1:2:Infinity:4:5"]) expect(parsePlace(wrong)).toBeNull();
});
