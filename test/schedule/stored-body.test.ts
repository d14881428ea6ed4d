import { expect, test } from "vitest";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { defaults, readBody, sparseBody } from "../../lib/schedule/stored/stored-body.ts";

const target = { queue: "demo" };
const read = (sparse: unknown, stored: unknown = target) =>
  readBody({ sparse, target: stored, payload: null });

test("A stored body is read back as it was written, also with fields of a newer release", () => {
  const body = parseScheduleBody({
    when: ["every 5m", "0 9 * * *"],
    target,
    group: "g",
    tags: ["t"],
    endsAt: "2030-01-01T00:00:00Z",
    calendar: { name: "c" },
    catchUp: { policy: "all" },
    dst: { gap: "skip" },
    retry: { attempts: 2 },
    slot: "1m",
    maxFires: 3,
    serial: true,
  });
  expect(read(sparseBody(body))).toEqual({ body, fault: null });
  expect(read({ when: "every 5m", colour: 5, overlap: "weave" }).fault).toBeNull();
  for (const each of [
    { handler: "greet" },
    { lambda: "f", invocation: "sync" },
    { event: { bus: "default" } },
    { webhook: { url: "https://example.com", method: "POST", headers: {} } },
  ])
    expect(read({ when: "every 5m" }, each).fault).toBeNull();
});

test.each([
  [{ when: "every 5m", catchUp: { policy: "all" } }, "`catchUp` is an object that does not fit"],
  [
    { when: "every 5m", catchUp: { policy: "all", within: 5, limit: 1 } },
    "`catchUp` is an object that does not fit",
  ],
  [
    { when: "every 5m", tags: ["t", 5], spread: 7 },
    "`tags` is a list that does not fit, `spread` is a number",
  ],
  [{ when: "every 5m", endsAt: "soon" }, "`endsAt` is a text that does not fit"],
  [
    { when: "every 5m", calendar: "c", serial: "yes" },
    "`calendar` is a text that does not fit, `serial` is a text that does not fit",
  ],
  [{ when: [5] }, "`when` is a list that does not fit"],
  [{ tags: ["t"] }, "`when` is missing"],
  [[], "the body is not an object"],
  [null, "the body is not an object"],
])(
  "A field of a stored body (%j) that cannot be read is named in the fault, and has its default",
  (sparse, reason) => {
    const { body, fault } = read(sparse);
    expect(fault).toBe(`The stored version cannot be read: ${reason}.`);
    expect(body).toMatchObject({
      target,
      catchUp: defaults.catchUp,
      spread: "0s",
      endsAt: null,
      calendar: null,
    });
  },
);

test("The readable fields of a stored body are kept when others cannot be read", () => {
  const { body } = read({ when: "every 5m", group: "g", catchUp: null }, null);
  expect(body).toEqual({ ...defaults, when: "every 5m", group: "g", target: { handler: "" } });
});

test.each([
  [null, "null"],
  [5, "a number"],
  [[], "a list that does not fit"],
  [{}, "an object that does not fit"],
  [{ pigeon: "grey" }, "an object that does not fit"],
  [{ event: { bus: 5 } }, "an object that does not fit"],
  [{ webhook: { url: "https://example.com" } }, "an object that does not fit"],
  [{ webhook: { url: "sk-live", headers: {} } }, "an object that does not fit"],
])("A stored target (%j) that cannot be read is named by its type, without its values", (stored, kind) => {
  expect(read({ when: "every 5m" }, stored).fault).toBe(
    `The stored version cannot be read: \`target\` is ${kind}.`,
  );
});
