import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { forecastAnswer } from "../../lib/api/views/forecast-shape.ts";
import { statsAnswer } from "../../lib/api/views/stats-shape.ts";
import { setAside } from "../../lib/quarantine/quarantine.ts";
import { at, minute, monday } from "../support/instants.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;
/**
 * Half an hour after the start of the tests, because the tick makes jobs of the next minutes, and
 * they would count.
 */
const when = "30 * * * *";

beforeAll(async () => {
  api = await ownApi();
  api.betweenRequestsMs = 0;
  await api.tick();
  const body = { when, target: { queue: "demo" } };
  for (const key of ["one", "two", "three"]) await api.send("PUT", `/v1/schedules/${key}`, { body });
  await api.send("POST", "/v1/schedules/two/pause");
  await api.send("POST", "/v1/schedules/three/fire");
  await setAside(api.sql, "ended", [{ item: "7", error: new Error("no") }]);
});

afterAll(() => api.stop());

describe("GET /v1/stats", () => {
  test("The statistics match their documentation and count what has just been done", async () => {
    await api.clock.advance(minute);
    const { status, json } = await api.send("GET", "/v1/stats", { as: "read" });
    expect(status).toBe(200);
    const stats = statsAnswer.parse(json);
    expect(stats).toMatchObject({
      schedules: { total: 3, active: 2, paused: 1, ended: 0, endedWithin: 0 },
      jobs: { waiting: 1, due: 1, running: 0, dead: { count: 0, more: false } },
      lastHour: { fired: 1, succeeded: 0, lateness: { jobs: 0, p99Ms: null } },
      plan: { lagMs: 0 },
      quarantine: { count: 1, more: false, oldestAt: monday },
    });
    expect(stats.oldestDue).toMatchObject({ readyAt: monday, lateMs: minute });
    expect(stats.plan.lastTickAt).toBe(monday);
    expect(stats.freshness).toEqual({ rolledUpAt: monday, pending: { count: 1, more: false } });
    expect(stats.asOf).toBe(at(minute).toISOString());
    expect(stats.lastMinutes).toMatchObject({ from: at(-4 * minute).toISOString(), fired: 1 });
  });
});

describe("GET /v1/forecast", () => {
  test("The forecast matches its documentation and covers an hour by default", async () => {
    const { status, json } = await api.send("GET", "/v1/forecast", { as: "read" });
    expect(status).toBe(200);
    expect(forecastAnswer.parse(json).minutes).toHaveLength(60);
    const day = forecastAnswer.parse((await api.send("GET", "/v1/forecast", { query: "minutes=1440" })).json);
    expect(day.minutes).toHaveLength(1_440);
    expect(day.heaviest[0]).toMatchObject({
      fires: 2,
      most: [{ when, timezone: "UTC", fires: 2 }],
    });
  });

  test.each(["0", "1441", "x", "-1", "1.5"])("The forecast refuses minutes=%s", async (minutes) => {
    const { status, json } = await api.send("GET", "/v1/forecast", { query: `minutes=${minutes}` });
    expect(status).toBe(400);
    expect(json).toMatchObject({
      errors: [{ path: "minutes", message: "takes a whole number from 1 to 1440" }],
    });
  });
});

test("A token with a prefix gets a forecast of its own schedules alone", async () => {
  const hash = createHash("sha256").update("a-team").digest();
  await api.sql`
    insert into carillon.tokens (id, hash, name, scope, prefix, created_at, created_by)
    values (gen_random_uuid(), ${hash}, 'a-team', 'admin', 'crew:', carillon.clock(), 'test')`;
  const headers = { authorization: "Bearer a-team" };
  const get = (path: string, query = "") => api.send("GET", path, { as: "", headers, query });
  const body = { when, target: { queue: "demo" } };
  await api.send("PUT", "/v1/schedules/crew:1", { body });
  expect((await get("/v1/forecast")).json).toMatchObject({ total: 1 });
  expect((await get("/v1/forecast", "prefix=crew:2")).json).toMatchObject({ total: 0 });
  expect(await get("/v1/forecast", "prefix=other:")).toMatchObject({ status: 403 });
});

test("The forecast names all faults of its query at once", async () => {
  const query = "from=soon&minutes=0&spread=1s&by=colour&more=1";
  const { status, json } = await api.send("GET", "/v1/forecast", { query });
  expect(status).toBe(400);
  const { errors } = json as { errors: { path: string }[] };
  expect(errors.map(({ path }) => path).sort()).toEqual(["by", "from", "minutes", "more", "spread"]);
});

test.each([
  ["in the past", -minute],
  ["more than 32 days ahead", 33 * 1_440 * minute],
])("The forecast refuses to begin %s", async (_, ahead) => {
  const from = new Date(api.clock.now().getTime() + ahead).toISOString();
  expect(await api.send("GET", "/v1/forecast", { query: `from=${from}` })).toMatchObject({
    status: 422,
    json: { errors: [{ path: "from", message: "takes an instant from now to 32 days ahead" }] },
  });
});

describe("a token with a prefix", () => {
  const headers = { authorization: "Bearer prefixed" };

  beforeAll(async () => {
    const hash = createHash("sha256").update("prefixed").digest();
    await api.sql`
      insert into carillon.tokens (id, hash, name, scope, prefix, created_at, created_by)
      values (gen_random_uuid(), ${hash}, 'prefixed', 'admin', 't', carillon.clock(), 'test')`;
  });

  test("A token with a prefix gets the statistics of its own keys, and null for what belongs to all", async () => {
    await api.send("POST", "/v1/schedules/one/fire");
    const { json } = await api.send("GET", "/v1/stats", { as: "", headers });
    const own = statsAnswer.parse(json);
    expect(own).toMatchObject({
      prefix: "t",
      minutesOf: "occurrence",
      schedules: { total: 2, active: 1, paused: 1, more: false },
      jobs: { waiting: 1, due: 1, running: 0, dead: { count: 0, more: false }, more: false },
      lastHour: { fired: 1, succeeded: 0, pulses: null },
    });
    expect(own).toMatchObject({ freshness: null, parcels: null, quarantine: null, lastDay: null });
    const other = await api.send("GET", "/v1/stats", { query: "prefix=o" });
    expect(other.json).toMatchObject({ prefix: "o", schedules: { total: 1 }, jobs: { waiting: 1 } });
  });

  test("A token with a prefix gets no statistics of another prefix", async () => {
    expect(await api.send("GET", "/v1/stats", { as: "", headers, query: "prefix=o" })).toMatchObject({
      status: 403,
    });
  });
});
