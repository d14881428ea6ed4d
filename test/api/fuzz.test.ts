import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi();
});

afterAll(async () => {
  await api.stop();
});

const least = { when: "every 5m", target: { queue: "demo" } };

const anyText = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
  fc.constantFrom("", "\u0000", "\ud800", "%00", "%zz", "..", "a/b", "null", "__proto__"),
);

const anyJson = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.jsonValue({ stringUnit: "binary" }),
  fc.constantFrom<unknown>("\u0000", "\ud800", 1e308, -1, 2 ** 53, [], {}, null, true),
);

const fields = [
  "key",
  "when",
  "timezone",
  "target",
  "payload",
  "group",
  "serial",
  "tags",
  "description",
  "startsAt",
  "endsAt",
  "maxFires",
  "calendar",
  "catchUp",
  "deadline",
  "overlap",
  "spread",
  "slot",
  "dst",
  "retry",
  "timeout",
  "holdAfter",
  "delivery",
  "deleteOnEnd",
  "paused",
  "id",
  "version",
  "constructor",
];

/** Bodies that are valid schedules except for a few fields, so that many pass the first check. */
const nearlySchedule = fc
  .tuple(fc.dictionary(fc.constantFrom(...fields), anyJson, { maxKeys: 2 }), fc.boolean())
  .map(([changes, keepsTarget]) => ({
    ...least,
    ...changes,
    ...(keepsTarget ? { target: least.target } : {}),
  }));

const anyWhen = fc.oneof(
  fc.string({ unit: fc.constantFrom(..."0123456789*/,-LW#?H @.:TZ+"), maxLength: 24 }),
  fc
    .tuple(
      fc.constantFrom("at ", "in ", "every ", "@every ", "@at ", "rate(", "cron(", "at(", ""),
      fc.string({ unit: fc.constantFrom(..."0123456789hmsdw -:TZ+)*"), maxLength: 24 }),
    )
    .map((parts) => parts.join("")),
  fc
    .array(
      fc.oneof(
        fc.constant("*"),
        fc.integer({ min: 0, max: 60 }).map(String),
        fc.constantFrom("*/5", "1-5", "mon", "L", "15W", "2#3", "jan-mar"),
      ),
      { minLength: 4, maxLength: 7 },
    )
    .map((parts) => parts.join(" ")),
);

const methods = fc.constantFrom("GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS", "");
const segment = fc.oneof(
  fc.constantFrom(
    "v1",
    "schedules",
    "jobs",
    "pause",
    "resume",
    "next",
    "health",
    "a",
    "1-0-c0",
    "schedules:batch",
  ),
  anyText,
);
const anyPath = fc.oneof(
  fc.array(segment, { maxLength: 6 }).map((segments) => `/${segments.join("/")}`),
  fc
    .tuple(
      fc.constantFrom("/v1/schedules/", "/v1/jobs/"),
      anyText,
      fc.constantFrom(
        "",
        "/pause",
        "/resume",
        "/next",
        "/jobs",
        "/versions",
        "/versions/1/restore",
        "/explain",
      ),
    )
    .map((parts) => parts.join("")),
  anyText,
);
const anyQuery = fc.oneof(
  anyText,
  fc
    .array(
      fc.tuple(
        fc.constantFrom(
          "limit",
          "cursor",
          "prefix",
          "group",
          "tag",
          "state",
          "target",
          "n",
          "from",
          "at",
          "x",
        ),
        anyText,
      ),
      { maxLength: 4 },
    )
    .map((pairs) =>
      pairs.map(([name, value]) => `${name}=${encodeURIComponent(value.toWellFormed())}`).join("&"),
    ),
);

/** Each answer must be a success or a problem of the caller's, and its body must be readable. */
async function expectNoFailure(
  method: string,
  path: string,
  parts: { query?: string; body?: unknown; headers?: Record<string, string> },
) {
  const { status, headers, json, body } = await api.send(method, path, parts);
  expect(status, `${method} ${JSON.stringify(path)} ${JSON.stringify(parts)}`).toBeLessThan(500);
  // An operation may have failed although its batch answers 200.
  if (path === "/v1/schedules:batch") expect(body).not.toContain("urn:carillon:problem:internal");
  if (status >= 400) {
    expect(headers["content-type"]).toBe("application/problem+json");
    expect(json).toMatchObject({
      status,
      type: expect.any(String),
      title: expect.any(String),
      detail: expect.any(String),
    });
  }
  return status;
}

const runs = { numRuns: 300 };

describe("random requests", () => {
  test("A body that is nearly a schedule never causes a 5xx", async () => {
    await fc.assert(
      fc.asyncProperty(nearlySchedule, fc.constantFrom("PUT", "PATCH"), async (body, method) => {
        await expectNoFailure(method, "/v1/schedules/fuzzed", { body });
      }),
      runs,
    );
  });

  test("A body of any JSON or any text never causes a 5xx", async () => {
    const targets = fc.constantFrom<[string, string]>(
      ["POST", "/v1/schedules"],
      ["PUT", "/v1/schedules/fuzzed"],
      ["PATCH", "/v1/schedules/fuzzed"],
      ["POST", "/v1/schedules/fuzzed/pause"],
      ["POST", "/v1/schedules/fuzzed/resume"],
      ["POST", "/v1/preview"],
    );
    await fc.assert(
      fc.asyncProperty(targets, fc.oneof(anyJson, anyText, fc.json()), async ([method, path], body) => {
        await expectNoFailure(method, path, { body });
      }),
      runs,
    );
  });

  test("Any `when` never causes a 5xx, and an accepted one can be read, previewed and listed", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyWhen,
        fc.constantFrom("UTC", "Europe/Berlin", "Australia/Lord_Howe"),
        async (when, timezone) => {
          const status = await expectNoFailure("PUT", "/v1/schedules/timed", {
            body: { ...least, when, timezone },
          });
          if (status >= 400) return;
          expect(await expectNoFailure("GET", "/v1/schedules/timed", {})).toBe(200);
          expect(await expectNoFailure("GET", "/v1/schedules/timed/next", {})).toBe(200);
          expect(await expectNoFailure("GET", "/v1/schedules/timed/jobs", {})).toBe(200);
          expect(await expectNoFailure("POST", "/v1/preview", { body: { when, timezone, n: 1_000 } })).toBe(
            200,
          );
          for (const at of ["1999-12-31T23:59:59Z", "2026-03-29T01:00:00Z", "2100-02-28T12:00:00Z"]) {
            const query = `at=${at}`;
            expect(await expectNoFailure("GET", "/v1/schedules/timed/explain", { query })).toBe(200);
          }
        },
      ),
      runs,
    );
  });

  test("Any payload is stored and returned unchanged", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ stringUnit: "grapheme" }), async (payload) => {
        const { status } = await api.send("PUT", "/v1/schedules/carrying", { body: { ...least, payload } });
        expect(status).toBeLessThan(300);
        const { json } = await api.send("GET", "/v1/schedules/carrying");
        expect(json).toHaveProperty("payload", JSON.parse(JSON.stringify(payload)));
      }),
      runs,
    );
  });

  test("Any method, path, query and headers never cause a 5xx", async () => {
    const headers = fc.dictionary(fc.constantFrom("if-match", "if-none-match", "content-type"), anyText, {
      maxKeys: 2,
    });
    await fc.assert(
      fc.asyncProperty(methods, anyPath, anyQuery, headers, async (method, path, query, headers) => {
        await expectNoFailure(method, path, { query, headers, body: "{}" });
      }),
      runs,
    );
  });

  test("Any request without a token answers 401", async () => {
    await fc.assert(
      fc.asyncProperty(methods, anyPath, anyQuery, anyText, async (method, path, query, authorization) => {
        fc.pre(!(method === "GET" && path === "/health"));
        const { status } = await api.send(method, path, {
          as: "",
          query,
          headers: { authorization },
          body: "{",
        });
        expect(status).toBe(401);
      }),
      runs,
    );
  });
});
