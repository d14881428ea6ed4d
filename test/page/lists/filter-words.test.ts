import { expect, test } from "vitest";
import { faultText, filterText } from "../../../lib/page/data/text/filter-words.ts";

test.each([
  [{ path: "lateBy", message: "takes a duration" }, "“Late by at least” takes a duration"],
  [{ path: "filter.to", message: "must lie after `from`" }, "“To” must lie after “From”"],
  [{ path: "until", message: "must be in the future" }, "“Ends” must be in the future"],
  [{ path: "name", message: "may not hold `/`" }, "name may not hold `/`"],
])("A fault names the field of the page, where it has one: %j", (fault, text) => {
  expect(faultText(fault)).toBe(text);
});

test.each([
  [
    "to 2026-03-02T10:00:00.000Z, errorGroup 5d1c0e7a94b2",
    "to 2026-03-02T10:00:00.000Z, error group 5d1c0e7a94b2",
  ],
  ["prefix crm:", "key begins with crm:"],
  ["3 keys", "3 keys"],
])("The filter “%s” is in words", (filter, text) => {
  expect(filterText(filter)).toBe(text);
});
