import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { madeUpCursor } from "./made-up-cursor.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi();
});

afterAll(async () => {
  await api.stop();
});

const least = { when: "every 5m", target: { queue: "demo" } };
const faultPaths = (json: unknown) =>
  typeof json === "object" && json !== null && "errors" in json && Array.isArray(json.errors)
    ? json.errors.map((fault: { path: string }) => fault.path).sort()
    : [];

const put = (key: string, body: unknown = least, headers: Record<string, string> = {}) =>
  api.send("PUT", `/v1/schedules/${key}`, { body, headers });

describe("PUT of a schedule", () => {
  test("PUT creates a schedule, and GET returns every field of the contract", async () => {
    const created = await put("made", {
      ...least,
      payload: { n: [1, null] },
      group: "g",
      tags: ["t"],
      description: "d",
    });
    expect(created).toMatchObject({ status: 201, headers: { etag: '"1"', location: "/v1/schedules/made" } });
    const read = await api.send("GET", "/v1/schedules/made");
    expect(read).toMatchObject({ status: 200, headers: { etag: '"1"' } });
    expect(read.json).toEqual({
      id: expect.stringMatching(/^\d+$/),
      key: "made",
      ...least,
      timezone: "UTC",
      payload: { n: [1, null] },
      group: "g",
      tags: ["t"],
      description: "d",
      serial: false,
      priority: "normal",
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
      state: "active",
      version: 1,
      cadence: "every 5m",
      cadenceText: "every 5 minutes",
      nextAt: expect.stringMatching(/^\d{4}-.*Z$/),
      holds: [],
      checks: 0,
      warnings: [],
      createdAt: expect.any(String),
      createdBy: "adminer",
      updatedAt: expect.any(String),
      updatedBy: "adminer",
      lastJob: null,
    });
  });

  test("PUT of an identical body changes nothing; a different one raises the version", async () => {
    await put("same");
    expect(await put("same", { target: { queue: "demo" }, when: "every 5m", tags: [] })).toMatchObject({
      status: 200,
      headers: { etag: '"1"' },
    });
    expect(await put("same", { ...least, payload: 1 })).toMatchObject({
      status: 200,
      headers: { etag: '"2"' },
    });
  });

  test("PUT of a relative `when` starts its time again, even with an identical body", async () => {
    const first = await put("relative", { ...least, when: "in 1h" });
    const second = await put("relative", { ...least, when: "in 1h" });
    expect(second.headers["etag"]).toBe('"2"');
    expect(first.json).toMatchObject({ when: "in 1h", cadence: expect.stringMatching(/^at /) });
  });

  test("PUT of a schedule honours its preconditions", async () => {
    expect((await put("pre", least, { "if-match": "*" })).status).toBe(412);
    expect((await api.send("GET", "/v1/schedules/pre")).status).toBe(404);
    expect((await put("pre", least, { "if-none-match": "*" })).status).toBe(201);
    expect((await put("pre", least, { "if-none-match": "*" })).status).toBe(412);
    expect((await put("pre", { ...least, payload: 2 }, { "if-match": '"7", W/"1"' })).status).toBe(412);
    expect((await put("pre", { ...least, payload: 2 }, { "if-match": '"1"' })).status).toBe(200);
    expect((await put("pre", { ...least, payload: 3 }, { "if-match": "*" })).headers["etag"]).toBe('"3"');
  });

  test("PUT accepts any valid key, as the gateway decodes it", async () => {
    for (const key of [
      "order:1234:unshipped",
      "ü b",
      "日次",
      "a+b&c=d",
      "🔔",
      "x".repeat(255),
      "'; drop table carillon.schedules; --",
    ]) {
      expect((await put(key)).status).toBe(201);
      const read = await api.send("GET", `/v1/schedules/${encodeURIComponent(key)}`);
      expect(read.json).toMatchObject({ key });
    }
  });
});

describe("POST of a schedule", () => {
  test("POST creates a schedule, makes a key if there is none, and refuses an existing one", async () => {
    expect(await api.send("POST", "/v1/schedules", { body: { key: "posted", ...least } })).toMatchObject({
      status: 201,
      json: { key: "posted" },
    });
    const again = await api.send("POST", "/v1/schedules", { body: { key: "posted", ...least } });
    expect(again).toMatchObject({ status: 409, headers: { "content-type": "application/problem+json" } });
    const unnamed = await api.send("POST", "/v1/schedules", { body: least });
    expect(unnamed).toMatchObject({ status: 201, json: { key: expect.stringMatching(/.{8,}/) } });
  });
});

describe("PATCH of a schedule", () => {
  test("PATCH changes given fields, restores defaults with null, and keeps the others", async () => {
    await put("patched", { ...least, tags: ["a"], description: "d", payload: { a: 1, b: 2 } });
    const { json } = await api.send("PATCH", "/v1/schedules/patched", {
      body: { description: null, payload: { a: null } },
    });
    expect(json).toMatchObject({
      version: 2,
      tags: ["a"],
      description: null,
      payload: { b: 2 },
      when: "every 5m",
    });
  });

  test("PATCH without a change keeps the version", async () => {
    await put("unpatched");
    expect((await api.send("PATCH", "/v1/schedules/unpatched", { body: { tags: [] } })).headers["etag"]).toBe(
      '"1"',
    );
  });

  test("PATCH of an unknown schedule answers 404, of an old version 412", async () => {
    expect((await api.send("PATCH", "/v1/schedules/nobody", { body: {} })).status).toBe(404);
    await put("over");
    const stale = { body: { description: "x" }, headers: { "if-match": '"9"' } };
    expect((await api.send("PATCH", "/v1/schedules/over", stale)).status).toBe(412);
  });
});

describe("DELETE of a schedule", () => {
  test("DELETE succeeds once, and the key can be used again", async () => {
    await put("gone");
    expect((await api.send("DELETE", "/v1/schedules/gone", { headers: { "if-match": '"2"' } })).status).toBe(
      412,
    );
    expect(await api.send("DELETE", "/v1/schedules/gone")).toMatchObject({ status: 204, body: "" });
    expect((await api.send("DELETE", "/v1/schedules/gone")).status).toBe(404);
    expect((await api.send("GET", "/v1/schedules/gone")).status).toBe(404);
    expect((await put("gone")).status).toBe(201);
  });
});

describe("holds", () => {
  test("A hold pauses until its owner's resume; repeating a pause or a resume changes nothing", async () => {
    await put("held");
    const pause = { body: { reason: "quiet", until: "2100-01-01T00:00:00Z" } };
    expect(await api.send("POST", "/v1/schedules/held/pause", pause)).toMatchObject({
      status: 200,
      json: {
        state: "paused",
        nextAt: null,
        holds: [{ owner: "adminer", reason: "quiet", until: "2100-01-01T00:00:00.000Z" }],
      },
    });
    expect((await api.send("POST", "/v1/schedules/held/pause", pause)).status).toBe(200);
    expect(await api.send("POST", "/v1/schedules/held/resume")).toMatchObject({
      status: 200,
      json: { state: "active", holds: [] },
    });
    expect((await api.send("POST", "/v1/schedules/held/resume")).status).toBe(200);
    expect((await api.send("POST", "/v1/schedules/nobody/pause")).status).toBe(404);
  });

  test("A repeated pause keeps the version", async () => {
    await put("standing");
    const paused = await api.send("POST", "/v1/schedules/standing/pause");
    const again = await api.send("POST", "/v1/schedules/standing/pause");
    expect(again.headers["etag"]).toBe(paused.headers["etag"]);
  });

  test("Another owner's hold is released only by an admin that names the owner", async () => {
    await put("shared");
    await api.send("POST", "/v1/schedules/shared/pause", { as: "write" });
    await api.send("POST", "/v1/schedules/shared/pause", { body: { owner: "ops" } });
    expect(
      (await api.send("POST", "/v1/schedules/shared/resume", { as: "write", body: { owner: "ops" } })).status,
    ).toBe(403);
    const left = await api.send("POST", "/v1/schedules/shared/resume", { as: "write" });
    expect(left.json).toMatchObject({ state: "paused", holds: [{ owner: "ops" }] });
    expect(
      (await api.send("POST", "/v1/schedules/shared/resume", { body: { owner: "ops" } })).json,
    ).toMatchObject({ state: "active" });
  });

  test("A body with `paused` sets a hold, and `paused` is never returned", async () => {
    const { json } = await put("born-held", { ...least, paused: true });
    expect(json).toMatchObject({ state: "paused", holds: [{ owner: "adminer" }] });
    expect(json).not.toHaveProperty("paused");
  });
});

describe("the list of schedules", () => {
  test("Schedules are listed in pages, ordered by key, without payloads", async () => {
    const keys = Array.from({ length: 7 }, (_, n) => `page:${n}`);
    for (const key of keys)
      await put(key, { ...least, payload: "big", group: "paged", tags: [`n${key.at(-1)}`] });
    const seen: string[] = [];
    let query = "prefix=page%3A&limit=3";
    for (let pages = 0; pages < 10; pages += 1) {
      const { json } = await api.send("GET", "/v1/schedules", { query });
      const page = json as { items: { key: string }[]; cursor?: string };
      expect(page.items.every((item) => !("payload" in item) && !("lastJob" in item))).toBe(true);
      seen.push(...page.items.map(({ key }) => key));
      if (page.cursor === undefined) break;
      query = `prefix=page%3A&limit=3&cursor=${page.cursor}`;
    }
    expect(seen).toEqual(keys);
  });

  test.each([
    ["group=paged&limit=100", 7],
    ["tag=n3", 1],
    ["group=paged&tag=n3&target=queue&state=active", 1],
    ["group=paged&state=paused", 0],
    ["group=paged&target=handler", 0],
    ["prefix=page%3A5", 1],
    ["prefix=no-such", 0],
  ])("Schedules are found by %s", async (query, count) => {
    const { status, json } = await api.send("GET", "/v1/schedules", { query });
    expect(status).toBe(200);
    expect(json).toMatchObject({ items: { length: count } });
  });
});

describe("coming occurrences", () => {
  test("Coming occurrences lie strictly after `from`, as many as requested", async () => {
    await put("cron", { ...least, when: "0 9 * * *" });
    const { json } = await api.send("GET", "/v1/schedules/cron/next", {
      query: "n=2&from=2030-01-01T09:00:00Z",
    });
    expect(json).toMatchObject({ occurrences: ["2030-01-02T09:00:00.000Z", "2030-01-03T09:00:00.000Z"] });
    expect((await api.send("GET", "/v1/schedules/cron/next")).json).toMatchObject({
      occurrences: { length: 10 },
    });
    expect((await api.send("GET", "/v1/schedules/nobody/next")).status).toBe(404);
  });

  test.each(["1970-01-01T00:00:00Z", "2200-12-31T23:59:59Z"])(
    "Coming occurrences are listed from %s",
    async (from) => {
      for (const when of ["*/7 3 29 2 *", "every 1s", "in 1h"]) {
        await put("far", { ...least, when });
        expect((await api.send("GET", "/v1/schedules/far/next", { query: `from=${from}` })).status).toBe(200);
      }
    },
  );
});

describe("the jobs of a schedule", () => {
  test("A due job of a schedule is listed, and a single job has its payload", async () => {
    const [row] = await api.sql<{ at: string }[]>`
      select to_char(carillon.clock() at time zone 'UTC' - interval '10 seconds', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at`;
    await put("due", { ...least, when: `at ${row?.at}`, payload: { n: 1 }, group: "g" });
    await api.tick();
    const { status, json } = await api.send("GET", "/v1/schedules/due/jobs");
    expect(status).toBe(200);
    const { items } = json as { items: { id: string }[] };
    expect(items).toMatchObject([
      { key: "due", kind: "cadence", state: "waiting", version: 1, group: "g", attempt: 0 },
    ]);
    expect(items[0]).not.toHaveProperty("payload");
    const job = await api.send("GET", `/v1/jobs/${items[0]?.id}`);
    expect(job.json).toEqual({
      ...items[0],
      id: items[0]?.id,
      scheduleId: expect.any(String),
      occurrence: expect.any(String),
      dueAt: expect.any(String),
      reason: null,
      readyAt: expect.any(String),
      startedAt: null,
      finishedAt: null,
      latenessMs: null,
      error: null,
      payload: { n: 1 },
      attempts: [],
      current: expect.objectContaining({ plannedAt: expect.any(String), claimedAt: null }),
    });
    expect((await api.send("GET", "/v1/schedules/nobody/jobs")).status).toBe(404);
  });

  test.each([
    "x",
    "1",
    "1-2-c",
    "9223372036854775807-0-c0",
    "99999999999999999999-0-c0",
    "1-0-c999999999",
    "1-0-z0",
    "ä",
    "1-0-c0\u0000",
  ])("A job with an unknown id answers 404: %j", async (id) => {
    expect((await api.send("GET", `/v1/jobs/${id}`)).status).toBe(404);
  });

  test("A job id beyond the range of Postgres answers 404", async () => {
    expect((await api.send("GET", "/v1/jobs/1-8640000000000000-c0")).status).toBe(404);
  });
});

describe("cursors of jobs", () => {
  test.each(["0", "-1", "999999999999999", "-99999999999999"])(
    "A cursor of jobs at %s is answered",
    async (place) => {
      await put("probed");
      const { status } = await api.send("GET", "/v1/schedules/probed/jobs", {
        query: `cursor=${await madeUpCursor(api, "jobs", place)}`,
      });
      expect(status).toBe(200);
    },
  );
});

describe("refused bodies", () => {
  test.each<[number, string[], Record<string, unknown>]>([
    [400, ["when"], { ...least, when: "whenever" }],
    [400, ["when"], { ...least, when: "0 0 30 2 *" }],
    [400, ["when"], { ...least, when: "at 2001-01-01T00:00:00Z" }],
    [400, ["when"], { ...least, when: "every 0s" }],
    [400, ["when"], { ...least, when: "61 * * * *" }],
    [400, ["when"], { ...least, when: "in 200 years" }],
    [400, ["timezone"], { ...least, timezone: "Mars/Olympus" }],
    [400, ["target"], { when: "every 5m", target: {} }],
    [400, ["payload.a"], { ...least, payload: { a: "\u0000" } }],
    [422, ["target.handler"], { ...least, target: { handler: "nobody" } }],
    [400, ["serial"], { ...least, serial: true }],
    [422, ["maxFires"], { ...least, delivery: "pulse", maxFires: 3 }],
    [400, ["delivery"], { ...least, delivery: "post" }],
    [422, ["calendar.name"], { ...least, calendar: { name: "nowhere" } }],
    [400, ["endsAt"], { ...least, startsAt: "2030-01-02T00:00:00Z", endsAt: "2030-01-01T00:00:00Z" }],
  ])("A PUT is refused with status %i and faults at %j, and changes nothing", async (status, paths, body) => {
    const before = await rowCounts();
    const answer = await put("refused", body);
    expect([answer.status, faultPaths(answer.json)]).toEqual([status, paths]);
    expect(await rowCounts()).toEqual(before);
  });

  test("A patch that gives no valid schedule is refused and changes nothing", async () => {
    await put("kept");
    const before = await rowCounts();
    for (const body of [
      { when: "whenever" },
      { when: null },
      { nope: 1 },
      { target: { handler: "greet" } },
      [],
    ]) {
      expect((await api.send("PATCH", "/v1/schedules/kept", { body })).status).toBe(400);
    }
    const unknownHandler = { target: { queue: null, handler: "nobody" } };
    expect((await api.send("PATCH", "/v1/schedules/kept", { body: unknownHandler })).status).toBe(422);
    expect(await rowCounts()).toEqual(before);
  });

  async function rowCounts() {
    const [counts] = await api.sql`
      select (select count(*) from carillon.schedules) as schedules, (select count(*) from carillon.schedule_versions) as versions,
        (select count(*) from carillon.jobs) as jobs, (select count(*) from carillon.parcels) as parcels, (select count(*) from carillon.plan) as plan,
        (select count(*) from carillon.plan_far) as plan_far, (select count(*) from carillon.audit) as audit,
        (select count(*) from carillon.holds) as holds`;
    return counts;
  }
});

describe("the health probe", () => {
  test("The health probe needs no token and queries the database", async () => {
    expect(await api.send("GET", "/health", { as: "" })).toMatchObject({
      status: 200,
      json: { status: "ok" },
    });
  });
});
