import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi();
  await api.tick();
});

afterAll(async () => {
  await api.stop();
});

const schedule = (key: string) => ({
  put: { key, when: "every 5m", target: { queue: "demo" }, tags: ["all"] },
});
const post = (verb: string, body: object, parts: object = {}) =>
  api.send("POST", `/v1/schedules:${verb}`, { body, ...parts });
const stateOf = async (key: string) => (await api.send("GET", `/v1/schedules/${key}`)).json;

beforeEach(async () => {
  const operations = ["crm:a", "crm:b", "crm:c", "shop:a"].map(schedule);
  await post("resume", { all: true });
  await post("batch", { operations });
});

const filter = { prefix: "crm:" };

describe("POST /v1/schedules:pause, :resume, :delete, :patch", () => {
  test("The four bulk calls change all schedules that match the filter", async () => {
    const paused = await post("pause", { filter, reason: "migration", until: "2100-01-01T00:00:00Z" });
    expect([paused.status, paused.json]).toEqual([200, { done: 3, unchanged: 0, failed: 0, failures: [] }]);
    expect(await stateOf("crm:a")).toMatchObject({ state: "paused", holds: [{ reason: "migration" }] });
    expect(await stateOf("shop:a")).toMatchObject({ state: "active" });
    expect((await post("resume", { filter })).json).toMatchObject({ done: 3 });
    const patch = { timezone: "Europe/Berlin", catchUp: { policy: "skip" } };
    expect((await post("patch", { filter: { tag: "all" }, patch })).json).toMatchObject({ done: 4 });
    expect(await stateOf("crm:b")).toMatchObject({ timezone: "Europe/Berlin", catchUp: { policy: "skip" } });
    expect((await post("delete", { filter, reason: "over" })).json).toMatchObject({ done: 3 });
    expect((await api.send("GET", "/v1/schedules/crm:a")).status).toBe(404);
  });

  test("An empty filter is refused, unless the call says that it means all schedules", async () => {
    for (const body of [{}, { filter: {} }]) {
      expect(await post("delete", body)).toMatchObject({
        status: 400,
        json: { errors: [{ path: "filter", message: expect.stringContaining("`all`") }] },
      });
    }
    expect(await post("delete", { filter, all: true })).toMatchObject({ status: 400 });
    expect((await post("pause", { all: true, dryRun: true })).json).toMatchObject({ dryRun: true, count: 4 });
  });

  test("Keys select schedules instead of a filter, and keys that no schedule has are left out", async () => {
    const keys = ["crm:a", "shop:a", "crm:nobody"];
    expect((await post("pause", { keys, dryRun: true })).json).toMatchObject({
      count: 2,
      samples: [{ key: "crm:a" }, { key: "shop:a" }],
    });
    expect((await post("pause", { keys, reason: "chosen" })).json).toMatchObject({ done: 2, failed: 0 });
    expect(await stateOf("crm:a")).toMatchObject({ state: "paused" });
    expect(await stateOf("crm:b")).toMatchObject({ state: "active" });
    const query = "subject=crm:a&action=schedules.paused&limit=1";
    const audited = await api.send("GET", "/v1/audit", { query });
    expect(audited.json).toMatchObject({
      items: [{ subject: "keys 3", detail: { filter: { keys: 3 }, reason: "chosen", done: 2 } }],
    });
  });

  test("Keys beside a filter or `all`, none and more than 500 are refused", async () => {
    const many = Array.from({ length: 501 }, (_, n) => `crm:${n}`);
    const refused = [
      { keys: ["crm:a"], filter },
      { keys: ["crm:a"], all: true },
      { keys: [] },
      { keys: many },
    ];
    for (const body of refused) expect(await post("delete", body)).toMatchObject({ status: 400 });
  });

  test("Unknown fields of the body, the filter and the patch are refused together", async () => {
    const body = { filter: { prefix: "crm:", nextFromm: 1 }, patch: { wen: "every 1h", key: "k" }, limit: 5 };
    const { status, json } = await post("patch", body);
    expect(status).toBe(400);
    const errors = json as { errors: { path: string }[] };
    expect(errors.errors.map(({ path }) => path).sort()).toEqual([
      "filter.nextFromm",
      "limit",
      "patch.key",
      "patch.wen",
    ]);
  });

  test("A patch of coming schedules may not move them, and no paused schedule has a next run to be found by", async () => {
    const coming = { nextTo: "2100-01-01T00:00:00Z" };
    expect(await post("patch", { filter: coming, patch: { when: "in 3h" } })).toMatchObject({
      status: 400,
      json: { errors: [{ path: "patch" }] },
    });
    expect(await post("resume", { filter: coming })).toMatchObject({ status: 400 });
    expect((await post("patch", { filter: coming, patch: { payload: 1 } })).json).toMatchObject({ done: 4 });
  });

  test("A patch to a handler that does not exist is refused before any schedule is changed", async () => {
    const patch = { target: { handler: "nobody" } };
    expect(await post("patch", { filter, patch })).toMatchObject({
      status: 422,
      json: { errors: [{ path: "target.handler" }] },
    });
  });

  test("Only an admin may hold and release in the name of another owner", async () => {
    const body = { filter, owner: "someone" };
    expect((await post("pause", body, { as: "write" })).status).toBe(403);
    expect((await post("pause", body)).json).toMatchObject({ done: 3 });
    expect((await post("resume", body, { as: "write" })).status).toBe(403);
    expect((await post("resume", body)).json).toMatchObject({ done: 3 });
  });

  test("A token with a prefix reaches only its own keys, also with `all`", async () => {
    const made = await api.send("POST", "/v1/tokens", {
      body: { name: "team", scope: "write", prefix: "shop:" },
    });
    const { token } = made.json as { token: string };
    const headers = { authorization: `Bearer ${token}` };
    expect((await post("pause", { filter }, { as: "", headers })).status).toBe(403);
    expect((await post("pause", { all: true }, { as: "", headers })).json).toMatchObject({ done: 1 });
    const keys = ["shop:a", "crm:a"];
    expect((await post("pause", { keys }, { as: "", headers })).status).toBe(403);
    expect((await post("delete", { keys: ["shop:a"] }, { as: "", headers })).json).toMatchObject({ done: 1 });
    expect(await stateOf("crm:a")).toMatchObject({ state: "active" });
  });

  test("A cursor of another call is refused", async () => {
    const answer = await post("pause", { filter }, { query: "cursor=abc" });
    expect(answer).toMatchObject({ status: 400, json: { errors: [{ path: "cursor" }] } });
  });

  test("A bulk call that is repeated with its Idempotency-Key is carried out once", async () => {
    const headers = { "idempotency-key": "bulk-1" };
    const first = await post("pause", { filter }, { headers });
    await post("resume", { filter });
    const again = await post("pause", { filter }, { headers });
    expect(again.json).toEqual(first.json);
    expect(await stateOf("crm:a")).toMatchObject({ state: "active" });
  });
});

test("A dry run of a restore has the fields and the coming occurrences that it would change, and changes nothing", async () => {
  await api.send("PUT", "/v1/schedules/r", {
    body: { when: "every 5m", target: { queue: "demo" }, payload: { n: 1 } },
  });
  await api.send("PATCH", "/v1/schedules/r", { body: { when: "every 7m", payload: { n: 2 } } });
  const path = "/v1/schedules/r/versions/1/restore";
  const tried = await api.send("POST", path, { query: "dryRun=true" });
  expect(tried).toMatchObject({
    status: 200,
    json: {
      dryRun: true,
      key: "r",
      version: 2,
      fields: [
        { path: "when", before: "every 7m", after: "every 5m" },
        { path: "payload.n", before: 2, after: 1 },
      ],
      changes: { before: expect.any(Array), after: expect.any(Array) },
    },
  });
  expect(await stateOf("r")).toMatchObject({ version: 2, when: "every 7m" });
  const done = await api.send("POST", path);
  const { changes } = tried.json as { changes: object };
  expect(done.json).toMatchObject({ version: 3, when: "every 5m" });
  expect(Object.keys(changes)).toEqual(["before", "after"]);
  expect(
    await api.send("POST", "/v1/schedules/r/versions/9/restore", { query: "dryRun=true" }),
  ).toMatchObject({
    status: 404,
  });
});
