import { expect, test } from "vitest";
import { defaults } from "../../lib/schedule/stored/stored-body.ts";
import { orUnread, type StoredSpec } from "../../lib/schedule/stored/stored-spec.ts";

const spec: StoredSpec = { body: defaults, cadence: { kind: "once", at: 0 }, unread: null };

test("A spec on which a reader fails is read as unreadable, with the error as its reason", () => {
  const read = orUnread(spec, (each) => {
    if (each.cadence.kind !== "unreadable") throw new TypeError("x is not a function");
    return each;
  });
  const unread = "The stored schedule cannot be read: TypeError: x is not a function.";
  expect(read).toMatchObject({
    body: defaults,
    unread,
    cadence: { text: "at 1970-01-01T00:00:00Z", reason: unread },
  });
});

test("A readable spec is read once, unchanged", () => {
  let reads = 0;
  expect(
    orUnread(spec, (each) => {
      reads += 1;
      return each;
    }),
  ).toBe(spec);
  expect(reads).toBe(1);
});
