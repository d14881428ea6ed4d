import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { patchedBody } from "../../lib/edit/schedule-edits.ts";
import { Refusal } from "../../lib/refusal.ts";
import { mergePatch, patchedSchedule } from "../../lib/schedule/shape/merge-patch.ts";
import type { ScheduleBody } from "../../lib/schedule/shape/schedule-body.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";

const stored = parseScheduleBody({
  when: "every 5m",
  timezone: "Europe/Berlin",
  target: { handler: "greet" },
  payload: { a: 1, b: { c: 2 } },
  group: "g",
  retry: { attempts: 9 },
});

const patched = (patch: unknown) => parseScheduleBody(patchedSchedule(stored, patch));

describe("a merge patch", () => {
  test.each<[unknown, unknown, unknown]>([
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [
      ["a", "b"],
      ["c", "d"],
      ["c", "d"],
    ],
    [{ a: "b" }, ["c"], ["c"]],
    [{ a: "foo" }, null, null],
    [{ a: "foo" }, "bar", "bar"],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: "b", c: null }, { a: "b" }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])("a merge patch follows RFC 7396: %j with %j is %j", (target, patch, result) => {
    expect(mergePatch(target, patch, 0)).toEqual(result);
  });

  test("a merge patch keeps the fields that it does not name", () => {
    expect(patched({ description: "new" })).toEqual({ ...stored, description: "new" });
    expect(patched({})).toEqual(stored);
  });

  test("a null in a merge patch restores the default", () => {
    expect(patched({ timezone: null, group: null, payload: null })).toEqual({
      ...stored,
      timezone: "UTC",
      group: null,
      payload: null,
    });
    expect(patched({ retry: { attempts: null } }).retry.attempts).toBe(5);
    expect(patched({ retry: null }).retry.attempts).toBe(5);
  });

  test("a merge patch of the payload keeps the members that it does not name", () => {
    expect(patched({ payload: { b: { d: 3 }, a: null } }).payload).toEqual({ b: { c: 2, d: 3 } });
  });

  test("a merge patch changes the kind of a target if it removes the old kind", () => {
    expect(patched({ target: { handler: null, queue: "demo" } }).target).toEqual({ queue: "demo" });
    expect(() => patched({ target: { queue: "demo" } })).toThrow(Refusal);
  });

  test("a merge patch whose `paused` is null changes no hold", () => {
    expect(patched({ paused: null })).toEqual(stored);
    expect(patched({ paused: true }).paused).toBe(true);
  });

  test.each([
    { nope: null },
    { retry: { nope: null } },
    { catchUp: { nope: null } },
    { when: null },
    { target: null },
    [],
    5,
    null,
    JSON.parse('{"__proto__":null}'),
    JSON.parse('{"__proto__":{"when":"every 1s"}}'),
  ])("the merge patch %j is refused", (patch) => {
    expect(() => patched(patch)).toThrow(Refusal);
  });

  test("a merge patch that is nested too deep is refused without a crash", () => {
    const deep: unknown = JSON.parse(`${'{"payload":'.repeat(50_000)}1${"}".repeat(50_000)}`);
    expect(() => patched(deep)).toThrow(Refusal);
  });

  test("a merge patch with a member named __proto__ in the payload changes only the payload", () => {
    const { payload } = patched(JSON.parse('{"payload":{"__proto__":{"x":1}}}'));
    expect(JSON.stringify(payload)).toBe('{"a":1,"b":{"c":2},"__proto__":{"x":1}}');
    expect(Object.getPrototypeOf(payload)).toBe(Object.prototype);
  });
});

describe("a patch of a retry policy", () => {
  const retryOf = (before: object, patch: object) => {
    const found = parseScheduleBody({ when: "every 5m", target: { handler: "greet" }, retry: before });
    return parseScheduleBody(patchedSchedule(found, { retry: patch })).retry;
  };

  test("a patch of a retry policy of the same kind keeps the members that it does not name", () => {
    expect(retryOf({ base: "3s", attempts: 9 }, { max: "9s" })).toMatchObject({
      base: "3s",
      max: "9s",
      attempts: 9,
    });
    expect(retryOf({ jitter: "none" }, { backoff: "exponential" })).toMatchObject({ jitter: "none" });
  });

  test("a patch that names another kind of retry policy starts from the defaults of that kind", () => {
    expect(retryOf({ base: "3s", attempts: 9 }, { backoff: "fixed" })).toEqual({
      attempts: 9,
      backoff: "fixed",
      base: "3s",
      max: "1h",
      jitter: "none",
    });
    expect(retryOf({ base: "3s", attempts: 9 }, { delays: ["1s", "2s"] })).toMatchObject({
      attempts: 3,
      backoff: "list",
    });
    expect(retryOf({ delays: ["1s", "2s"] }, { backoff: "exponential" })).toMatchObject({
      attempts: 5,
      jitter: "full",
    });
    expect(retryOf({ delays: ["1s", "2s"] }, { delays: null })).toMatchObject({
      attempts: 5,
      backoff: "exponential",
    });
    expect(retryOf({ delays: ["1s", "2s"] }, { delays: ["5s"] })).toMatchObject({
      attempts: 2,
      delays: ["5s"],
    });
  });
});

describe("a patch of the payload alone", () => {
  const whole = (body: ScheduleBody, patch: unknown) => parseScheduleBody(patchedSchedule(body, patch));
  const bodies = [
    { when: "every 5m", target: { handler: "greet" }, group: "g", retry: { attempts: 9 } },
    { when: "every 10s", target: { queue: "demo", batch: 10 }, delivery: "pulse" },
  ].map((body) => (payload: unknown) => parseScheduleBody({ ...body, payload }));

  /** The body that is read, or the refusal with its words. */
  function readOrRefusal(read: () => ScheduleBody): unknown {
    try {
      return read();
    } catch (error) {
      if (error instanceof Refusal) return { kind: error.kind, message: error.message, faults: error.faults };
      throw error;
    }
  }

  test("a patch of the payload alone has the same result as reading the whole body again", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...bodies),
        fc.jsonValue(),
        fc.jsonValue(),
        (bodyWith, payload, patched) => {
          const body = bodyWith(payload);
          for (const patch of [{ payload: patched }, {}])
            expect(readOrRefusal(() => patchedBody(body, patch))).toEqual(
              readOrRefusal(() => whole(body, patch)),
            );
        },
      ),
    );
  });

  test.each([
    ["too large for a pulse", "a".repeat(17_000)],
    ["too large for a job", "a".repeat(250_000)],
    ["nested too deep", nested(200)],
    ["a character that Postgres cannot store", { a: "\u0000" }],
    ["none", null],
  ])(
    "a patch of the payload alone is accepted, or refused in the same words, as a whole body is: %s",
    (_, payload) => {
      for (const bodyWith of bodies) {
        const body = bodyWith({ a: 1 });
        expect(readOrRefusal(() => patchedBody(body, { payload }))).toEqual(
          readOrRefusal(() => whole(body, { payload })),
        );
      }
    },
  );

  function nested(depth: number): unknown {
    return depth === 0 ? 1 : { in: nested(depth - 1) };
  }
});
