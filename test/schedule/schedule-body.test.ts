import { describe, expect, test } from "vitest";
import { Refusal } from "../../lib/refusal.ts";
import { parseScheduleBody, payloadBytesMax } from "../../lib/schedule/shape/schedule-shape.ts";

const least = { when: "every 5m", target: { queue: "demo" } };

function refusalOf(input: unknown): Refusal {
  try {
    parseScheduleBody(input);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error("The body was accepted.");
}

const pathsOf = (input: unknown) => refusalOf(input).faults.map((fault) => fault.path);

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);

describe("a schedule body", () => {
  test("a schedule body needs only `when` and `target`, and gets every default", () => {
    expect(parseScheduleBody(least)).toEqual({
      when: "every 5m",
      timezone: "UTC",
      target: { queue: "demo" },
      payload: null,
      group: null,
      serial: false,
      priority: "normal",
      tags: [],
      description: null,
      startsAt: null,
      endsAt: null,
      maxFires: null,
      calendar: null,
      catchUp: { policy: "latest", within: null, limit: 100 },
      deadline: null,
      overlap: "allow",
      spread: "0s",
      slot: null,
      dst: null,
      retry: { attempts: 5, backoff: "exponential", base: "10s", max: "1h", jitter: "full" },
      timeout: "30s",
      holdAfter: null,
      delivery: "ledger",
      deleteOnEnd: false,
    });
  });

  test("a schedule body that was read is read again as the same body", () => {
    const body = parseScheduleBody({
      ...least,
      target: { event: {} },
      payload: { a: [1, null] },
      tags: ["x", "y", "x"],
    });
    expect(parseScheduleBody(body)).toEqual(body);
    expect(body.tags).toEqual(["x", "y"]);
  });

  test("the time zone of a schedule body is kept in its canonical spelling", () => {
    expect(parseScheduleBody({ ...least, timezone: "europe/berlin" }).timezone).toBe("Europe/Berlin");
  });

  test("an object in a schedule body gets the members that it leaves out", () => {
    const body = parseScheduleBody({ ...least, retry: { attempts: 2 }, catchUp: { limit: 7 } });
    expect(body.retry).toEqual({
      attempts: 2,
      backoff: "exponential",
      base: "10s",
      max: "1h",
      jitter: "full",
    });
    expect(body.catchUp).toEqual({ policy: "latest", within: null, limit: 7 });
  });

  test("the refusal of a schedule body names every fault at once, unknown fields included", () => {
    const faulty = {
      when: 5,
      target: { queue: "demo", colour: 1 },
      tags: ["ok", 3],
      retry: { attempts: 0, atempts: 1 },
      nope: 1,
    };
    expect(refusalOf(faulty).kind).toBe("invalid");
    expect(pathsOf(faulty).sort()).toEqual([
      "nope",
      "retry.atempts",
      "retry.attempts",
      "tags[1]",
      "target.colour",
      "when",
    ]);
  });

  test.each<[string, unknown, string[]]>([
    ["no object", "every 5m", [""]],
    ["null", null, [""]],
    ["an array", [], [""]],
    ["nothing required", {}, ["target", "when"]],
    ["an empty when", { ...least, when: "" }, ["when"]],
    ["a when that is too long", { ...least, when: "x".repeat(257) }, ["when"]],
    [
      "a when that is no cron, beside another fault",
      { ...least, when: "* * *", tags: [""] },
      ["tags[0]", "when"],
    ],
    ["U+0000 in when", { ...least, when: "every\u00005m" }, ["when"]],
    ["an unknown time zone", { ...least, timezone: "Mars/Olympus" }, ["timezone"]],
    ["an offset as time zone", { ...least, timezone: "+01:00" }, ["timezone"]],
    ["U+0000 deep in the payload", { ...least, payload: { a: [{ b: "\u0000" }] } }, ["payload.a[0].b"]],
    ["U+0000 in a name in the payload", { ...least, payload: { "a\u0000": 1 } }, ["payload.a\u0000"]],
    ["half a surrogate pair", { ...least, payload: ["\ud800"] }, ["payload[0]"]],
    ["a number beyond doubles", { ...least, payload: { n: Number.POSITIVE_INFINITY } }, ["payload.n"]],
    ["a payload too deep", { ...least, payload: nested(33) }, [`payload${"[0]".repeat(32)}`]],
    ["a payload too large", { ...least, payload: "x".repeat(payloadBytesMax) }, ["payload"]],
    ["a payload too large in bytes", { ...least, payload: "é".repeat(payloadBytesMax / 2) }, ["payload"]],
    [
      "a payload too large as it is sent",
      { ...least, payload: "\uffff".repeat(payloadBytesMax / 6) },
      ["payload"],
    ],
    ["a group with a slash", { ...least, group: "a/b" }, ["group"]],
    ["an empty tag", { ...least, tags: [""] }, ["tags[0]"]],
    ["a tag that is too long", { ...least, tags: ["x".repeat(101)] }, ["tags[0]"]],
    ["too many tags", { ...least, tags: Array.from({ length: 51 }, (_, n) => `t${n}`) }, ["tags"]],
    ["a long description", { ...least, description: "x".repeat(1001) }, ["description"]],
    ["retry.attempts above 100", { ...least, retry: { attempts: 101 } }, ["retry.attempts"]],
    ["half an attempt", { ...least, retry: { attempts: 1.5 } }, ["retry.attempts"]],
    ["a base that is no duration", { ...least, retry: { base: "soon" } }, ["retry.base"]],
    ["a base of zero", { ...least, retry: { base: "0s" } }, ["retry.base"]],
    ["a max below the base", { ...least, retry: { base: "2h" } }, ["retry.max"]],
    ["a timeout of zero", { ...least, timeout: "0s" }, ["timeout"]],
    ["a timeout above 10 minutes", { ...least, timeout: "10m1s" }, ["timeout"]],
    ["paused as a word", { ...least, paused: "yes" }, ["paused"]],
    [
      "a field named __proto__",
      JSON.parse('{"when":"every 5m","target":{"queue":"q"},"__proto__":{}}'),
      ["__proto__"],
    ],
  ])("a schedule body is refused with the path of its fault: %s", (_, input, paths) => {
    expect(refusalOf(input).kind).toBe("invalid");
    expect(pathsOf(input).sort()).toEqual(paths);
  });

  test.each<[Record<string, unknown>, string[]]>([
    [{ startsAt: "2030-01-01" }, ["startsAt"]],
    [{ startsAt: "2030-01-02T00:00:00Z", endsAt: "2030-01-02T00:00:00Z" }, ["endsAt"]],
    [{ maxFires: 0 }, ["maxFires"]],
    [{ calendar: "holidays" }, ["calendar"]],
    [{ calendar: { name: "holidays", on: "never" } }, ["calendar.on"]],
    [{ catchUp: { policy: "some" } }, ["catchUp.policy"]],
    [{ catchUp: { within: "0s" } }, ["catchUp.within"]],
    [{ catchUp: { limit: 10_001 } }, ["catchUp.limit"]],
    [{ deadline: "31d" }, ["deadline"]],
    [{ overlap: "replace" }, ["overlap"]],
    [{ spread: "25h" }, ["spread"]],
    [{ spread: "13h", slot: "12h" }, ["slot"]],
    [{ slot: "5" }, ["slot"]],
    [{ dst: { gap: "last" } }, ["dst.gap"]],
    [{ when: [] }, ["when"]],
    [{ when: Array.from({ length: 21 }, () => "@daily") }, ["when"]],
  ])("a schedule body with %j is refused with the path of its fault", (timing, paths) => {
    expect(refusalOf({ ...least, ...timing }).kind).toBe("invalid");
    expect(pathsOf({ ...least, ...timing }).sort()).toEqual(paths);
  });

  test("a schedule body with `serial` needs a group", () => {
    expect(refusalOf({ ...least, serial: true }).kind).toBe("invalid");
    expect(pathsOf({ ...least, serial: true })).toEqual(["serial"]);
    expect(parseScheduleBody({ ...least, serial: true, group: "order:1" }).serial).toBe(true);
  });

  test("a payload at the limits is accepted", () => {
    expect(parseScheduleBody({ ...least, payload: nested(32) }).payload).toEqual(nested(32));
    expect(parseScheduleBody({ ...least, payload: "x".repeat(payloadBytesMax - 2) }).payload).toHaveLength(
      payloadBytesMax - 2,
    );
  });

  test("a payload is counted in the bytes that are sent, and the refusal names the number", () => {
    const { faults } = refusalOf({ ...least, payload: "\uffff".repeat(80_000) });
    expect(faults).toEqual([{ path: "payload", message: "takes at most 245760 bytes as JSON, has 480002" }]);
  });

  test("a schedule body with a thousand faults is refused with the first hundred, with shortened paths", () => {
    const faulty = Object.fromEntries(
      Array.from({ length: 1_000 }, (_, n) => [`${n}${"x".repeat(1_000)}`, 1]),
    );
    const { faults } = refusalOf({ ...least, ...faulty });
    expect(faults).toHaveLength(100);
    expect(Math.max(...faults.map((fault) => fault.path.length))).toBeLessThan(200);
  });
});
