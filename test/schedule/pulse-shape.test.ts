import { describe, expect, test } from "vitest";
import { Refusal } from "../../lib/refusal.ts";
import type { Json } from "../../lib/schedule/shape/json.ts";
import { pulsePayloadBytesMax, storedBytes } from "../../lib/schedule/shape/pulse-shape.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";

const least = { when: "every 10s", target: { queue: "demo" }, delivery: "pulse" };

function refusalOf(input: unknown): Pick<Refusal, "kind" | "faults"> {
  try {
    parseScheduleBody(input);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error("The body was accepted.");
}

describe("a pulse", () => {
  test.each<[Record<string, unknown>]>([
    [{}],
    [{ when: "every 1s", target: { event: {} } }],
    [{ when: "every 24h", timezone: "Europe/Berlin" }],
    [{ when: "@every 90m", startsAt: "2030-01-01T00:00:00Z", endsAt: "2031-01-01T00:00:00Z" }],
    [{ spread: "5m", tags: ["a"], group: "g", description: "…", deleteOnEnd: true, paused: true }],
    [{ target: { queue: "demo", batch: 1_000, attributes: { a: "b" } } }],
    // A value that equals the default counts as left out.
    [
      {
        retry: { attempts: 5 },
        catchUp: { policy: "latest" },
        overlap: "allow",
        timeout: "30s",
        maxFires: null,
      },
    ],
  ])("a pulse may have %j", (body) => {
    expect(parseScheduleBody({ ...least, ...body })).toMatchObject({ delivery: "pulse" });
  });

  test.each<[Record<string, unknown>, string]>([
    [{ catchUp: { policy: "all" } }, "catchUp"],
    [{ overlap: "skip" }, "overlap"],
    [{ deadline: "5s" }, "deadline"],
    [{ maxFires: 3 }, "maxFires"],
    [{ retry: { attempts: 2 } }, "retry"],
    [{ timeout: "5s" }, "timeout"],
    [{ holdAfter: 3 }, "holdAfter"],
    [{ serial: true, group: "g" }, "serial"],
    [{ priority: "high" }, "priority"],
    [{ calendar: { name: "holidays" } }, "calendar"],
    [{ slot: "5s" }, "slot"],
    [{ dst: { gap: "skip" } }, "dst"],
    [{ when: "0 9 * * *" }, "when"],
    [{ when: "every 1 month" }, "when"],
    [{ when: "every day" }, "when"],
    [{ when: "in 3h" }, "when"],
    [{ when: ["every 5s", "every 7s"] }, "when"],
    [{ when: "every 1500ms" }, "when"],
    [{ when: "every 25h" }, "when"],
    [{ target: { handler: "greet" } }, "target"],
    [{ target: { webhook: { url: "https://example.com/" } } }, "target"],
    [{ target: { lambda: "greet" } }, "target"],
    [{ payload: "x".repeat(pulsePayloadBytesMax - 1) }, "payload"],
    [{ payload: Array.from({ length: 100 }, () => 1e300) }, "payload"],
  ])("a pulse with %j is refused with the path of the fault", (body, path) => {
    const { kind, faults } = refusalOf({ ...least, ...body });
    expect([kind, faults.map((fault) => fault.path)]).toEqual(["impossible", [path]]);
    // A job accepts the same body.
    expect(parseScheduleBody({ ...least, ...body, delivery: "ledger" })).toMatchObject(
      path === "payload" || path === "target" || path === "when" ? {} : { delivery: "ledger" },
    );
  });

  test("a pulse is refused with all of its faults, but with those of its shape alone if it has any", () => {
    expect(refusalOf({ ...least, maxFires: 1, slot: "5s" }).faults).toHaveLength(2);
    expect(refusalOf({ ...least, maxFires: 1, tags: 1 })).toMatchObject({
      kind: "invalid",
      faults: [{ path: "tags" }],
    });
  });

  test("the payload of a pulse is measured in the bytes that the database writes", () => {
    const sizes: [Json, string][] = [
      [{ a: [1, -2.5, {}], b: [] }, '{"a": [1, -2.5, {}], "b": []}'],
      [
        [1e21, -1.25e22, 1e-7, -1.5e-10],
        "[1000000000000000000000, -12500000000000000000000, 0.0000001, -0.00000000015]",
      ],
      [{ "é\n": "\u001e☃\uFFFE", n: null, t: true }, '{"é\\n": "\\u001e☃\\ufffe", "n": null, "t": true}'],
    ];
    for (const [value, text] of sizes) expect(storedBytes(value)).toBe(Buffer.byteLength(text));
    expect(
      parseScheduleBody({ ...least, payload: "x".repeat(pulsePayloadBytesMax - 2) }).payload,
    ).toHaveLength(pulsePayloadBytesMax - 2);
  });
});

describe("the `batch` of a queue target", () => {
  test.each<[unknown, string, string]>([
    [{ ...least, target: { queue: "demo", batch: 0 } }, "invalid", "target.batch"],
    [{ ...least, target: { queue: "demo", batch: 1_001 } }, "invalid", "target.batch"],
    [{ ...least, target: { queue: "demo.fifo", batch: 5 } }, "invalid", "target.batch"],
    [
      { ...least, target: { queue: "demo", batch: 5, attributes: { "content-type": "a" } } },
      "invalid",
      "target.attributes",
    ],
    [{ ...least, target: { event: { batch: 5 } } }, "invalid", "target.event.batch"],
    [{ ...least, target: { queue: "demo", batch: 5 }, delivery: "ledger" }, "impossible", "target.batch"],
  ])("the `batch` of a queue target is refused in %j", (body, kind, path) => {
    const refusal = refusalOf(body);
    expect([refusal.kind, refusal.faults.map((fault) => fault.path)]).toEqual([kind, [path]]);
  });
});
