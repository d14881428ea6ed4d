import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { madeUpCursor } from "./made-up-cursor.ts";
import { type ApiAnswer, type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi();
});

afterAll(() => api.stop());

const put = (key: string, body: object) =>
  api.send("PUT", `/v1/schedules/${key}`, { body: { target: { queue: "demo" }, ...body } });

const statusOf = async (answer: Promise<ApiAnswer>) => (await answer).status;

describe("POST /v1/schedules/{key}/fire", () => {
  test("A fire answers 202 with the job, which equals the job as it is read", async () => {
    await put("report", { when: "every 1d", payload: { of: "yesterday" } });
    const fired = await api.send("POST", "/v1/schedules/report/fire", { as: "write" });
    expect(fired).toMatchObject({
      status: 202,
      json: { kind: "manual", key: "report", state: "waiting", attempt: 0, payload: { of: "yesterday" } },
    });
    const read = await api.send("GET", fired.headers["location"] ?? "");
    // Its message is sent after the answer was written.
    const sent = { current: { sentAt: expect.any(String) } };
    expect(read).toMatchObject({ status: 200, json: { ...(fired.json as object), ...sent } });
  });

  test("A fire accepts its own payload, including null", async () => {
    await put("report", { when: "every 1d", payload: { of: "yesterday" } });
    for (const payload of [{ of: "last week" }, null, [1], "text"]) {
      expect(await api.send("POST", "/v1/schedules/report/fire", { body: { payload } })).toMatchObject({
        status: 202,
        json: { payload },
      });
    }
  });

  test("A fire refuses unknown fields, a payload that is too large, and a token of scope read", async () => {
    await put("report", { when: "every 1d" });
    const fire = (parts: object) => api.send("POST", "/v1/schedules/report/fire", parts);
    expect(await fire({ body: { when: "now" } })).toMatchObject({
      status: 400,
      json: { errors: [{ path: "when" }] },
    });
    expect(await fire({ body: [] })).toMatchObject({ status: 400 });
    expect(await fire({ body: { payload: "x".repeat(250_000) } })).toMatchObject({
      status: 400,
      json: { errors: [{ path: "payload" }] },
    });
    expect(await statusOf(fire({ as: "read" }))).toBe(403);
  });

  test("A fire answers 404 for an unknown schedule and 409 for a deleted one", async () => {
    expect(await statusOf(api.send("POST", "/v1/schedules/nobody/fire"))).toBe(404);
    await put("gone", { when: "every 1d" });
    await api.send("DELETE", "/v1/schedules/gone");
    expect(await statusOf(api.send("POST", "/v1/schedules/gone/fire"))).toBe(409);
  });

  test("A fire of a paused schedule runs beside the cadence and changes nothing else", async () => {
    await put("paused", { when: "every 1d", paused: true });
    const before = await api.send("GET", "/v1/schedules/paused");
    expect(await api.send("POST", "/v1/schedules/paused/fire")).toMatchObject({
      status: 202,
      json: { readyAt: expect.any(String) },
    });
    const after = await api.send("GET", "/v1/schedules/paused");
    expect(after.headers["etag"]).toBe(before.headers["etag"]);
    expect(after.json).toEqual(before.json);
  });
});

describe("POST /v1/schedules/{key}/backfill", () => {
  /**
   * A schedule created four hours ago, as if no tick had run since. The backfilled span lies before
   * the watermark of the test template.
   */
  async function longAgo(key: string): Promise<{ from: string; to: string }> {
    await put(key, { when: "every 1m" });
    const [row] = await api.sql<{ from: Date; to: Date }[]>`
      with moved as (
        update carillon.schedules set created_at = created_at - interval '4 hours' where key = ${key} returning id, created_at
      ), versions as (
        update carillon.schedule_versions v set changed_at = m.created_at, first_at = m.created_at + interval '1 minute'
        from moved m where m.id = v.schedule_id
      )
      select created_at as from, created_at + interval '100 minutes' as to from moved`;
    if (row === undefined) throw new Error("The schedule was not moved.");
    return { from: row.from.toISOString(), to: row.to.toISOString() };
  }

  test("A backfill answers 202 with its counts, and its jobs appear in the history", async () => {
    const { from, to } = await longAgo("minutes");
    const backfill = { body: { from, to }, as: "write" as const };
    expect(await api.send("POST", "/v1/schedules/minutes/backfill", backfill)).toMatchObject({
      status: 202,
      json: { accepted: 100, existing: 0, from, to, more: false },
    });
    expect(await api.send("POST", "/v1/schedules/minutes/backfill", backfill)).toMatchObject({
      status: 202,
      json: { accepted: 0, existing: 100 },
    });
    const seen: unknown[] = [];
    for (let cursor: string | undefined = ""; cursor !== undefined; ) {
      const query: string = cursor === "" ? "limit=30" : `limit=30&cursor=${cursor}`;
      const page = await api.send("GET", "/v1/schedules/minutes/jobs", { query });
      expect(page.status).toBe(200);
      const { items, cursor: next } = page.json as { items: { id: string; kind: string }[]; cursor?: string };
      seen.push(...items.filter(({ kind }) => kind === "backfill").map(({ id }) => id));
      cursor = next;
    }
    expect(new Set(seen).size).toBe(100);
    expect(seen).toHaveLength(100);
  });

  test("A backfill beyond its limit says where to continue", async () => {
    const { from, to } = await longAgo("many");
    const first = await api.send("POST", "/v1/schedules/many/backfill", { body: { from, to, limit: 60 } });
    expect(first).toMatchObject({
      status: 202,
      json: { accepted: 60, more: true, next: expect.any(String) },
    });
    const { next } = first.json as { next: string };
    expect(
      await api.send("POST", "/v1/schedules/many/backfill", { body: { from: next, to, limit: 60 } }),
    ).toMatchObject({ status: 202, json: { accepted: 40, existing: 0, more: false } });
  });

  test("A backfill before the schedule, in the future, of an unknown schedule or with a bad body is refused", async () => {
    const { from, to } = await longAgo("refused");
    const backfill = (body: object, key = "refused") =>
      api.send("POST", `/v1/schedules/${key}/backfill`, { body });
    expect(await backfill({ from: "2020-01-01T00:00:00Z", to })).toMatchObject({
      status: 422,
      json: { errors: [{ path: "from" }] },
    });
    expect(await backfill({ from, to: "2190-01-01T00:00:00Z" })).toMatchObject({
      status: 422,
      json: { errors: [{ path: "to" }] },
    });
    expect(await backfill({ from: to, to: from })).toMatchObject({
      status: 400,
      json: { errors: [{ path: "to" }] },
    });
    expect(await backfill({ from, to }, "nobody")).toMatchObject({ status: 404 });
    expect(await backfill({ from })).toMatchObject({ status: 400, json: { errors: [{ path: "to" }] } });
    for (const limit of [0, 10_001, 1.5, "5"])
      expect(await backfill({ from, to, limit })).toMatchObject({
        status: 400,
        json: { errors: [{ path: "limit" }] },
      });
    expect(await statusOf(api.send("POST", "/v1/schedules/refused/backfill"))).toBe(400);
  });

  test("A crafted cursor of the history is refused, or finds no earlier jobs", async () => {
    await put("cursor", { when: "every 1d" });
    await api.send("POST", "/v1/schedules/cursor/fire");
    const read = async (place: string) => {
      const cursor = await madeUpCursor(api, "jobs", place);
      return api.send("GET", "/v1/schedules/cursor/jobs", { query: `cursor=${cursor}` });
    };
    for (const place of ["-999999999999999", "0", "0-m0"])
      expect(await read(place)).toMatchObject({ status: 200, json: { items: [] } });
    for (const place of ["999999999999999", "999999999999999-a999999999"])
      expect((await read(place)).status).toBe(200);
    for (const place of ["", "1-", "1-x0", "1-m01"]) expect((await read(place)).status).toBe(400);
  });
});

describe("random requests", () => {
  const anything = fc.jsonValue({ maxDepth: 2 });
  const instants = fc.oneof(
    fc
      .date({ min: new Date("1960-01-01"), max: new Date("2230-01-01"), noInvalidDate: true })
      .map((date) => date.toISOString()),
    fc.string(),
    anything,
  );
  const bodies = fc.oneof(
    anything,
    fc.record(
      { from: instants, to: instants, limit: fc.oneof(fc.integer(), anything), payload: anything },
      { requiredKeys: [] },
    ),
  );

  test("A fire or backfill with any body never answers 5xx", async () => {
    await put("fuzzed", { when: "* * * * *" });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom("fire", "backfill"), bodies, async (verb, body) => {
        const { status } = await api.send("POST", `/v1/schedules/fuzzed/${verb}`, {
          body: JSON.stringify(body),
        });
        expect(status).toBeLessThan(500);
      }),
      { numRuns: 300 },
    );
  });

  test("A page of a schedule's history never answers 5xx, from any position", async () => {
    await put("paged", { when: "* * * * *" });
    await api.send("POST", "/v1/schedules/paged/fire");
    const places = fc.tuple(
      fc.integer({ min: -999999999999999, max: 999999999999999 }),
      fc.constantFrom("", "-c0", "-m0", "-b7", "-a999999999"),
    );
    await fc.assert(
      fc.asyncProperty(places, async ([at, beside]) => {
        const cursor = await madeUpCursor(api, "jobs", `${at}${beside}`);
        const { status } = await api.send("GET", "/v1/schedules/paged/jobs", { query: `cursor=${cursor}` });
        expect(status).toBe(200);
      }),
      { numRuns: 200 },
    );
  });
});
