import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi();
});

afterAll(async () => {
  await api.stop();
});

const put = (target: string, body: unknown = { concurrency: 5 }) =>
  api.send("PUT", `/v1/limits/${target}`, { body });
const get = (target: string) => api.send("GET", `/v1/limits/${target}`);
const remove = (target: string) => api.send("DELETE", `/v1/limits/${target}`);

describe("PUT of limits", () => {
  test("PUT sets all limits, even if no schedule uses the target, and GET returns every field", async () => {
    const set = await put("webhook/api.example.com", { concurrency: 5, perTeam: 2, rate: "10/s" });
    expect(set).toMatchObject({ status: 200 });
    const read = await get("webhook/api.example.com");
    expect(read.json).toEqual({
      target: "webhook/api.example.com",
      concurrency: 5,
      perTeam: 2,
      rate: "10/s",
      defined: { concurrency: null, rate: null },
      setAt: expect.any(String),
      setBy: "adminer",
      running: 0,
      waiting: 0,
    });
    expect(set.json).toEqual(read.json);
  });

  test("PUT replaces all limits: one that is left out is removed", async () => {
    await put("handler/twice", { concurrency: 5, perTeam: 2, rate: "10/s" });
    expect((await put("handler/twice", { concurrency: 5 })).json).toMatchObject({
      concurrency: 5,
      perTeam: null,
      rate: null,
    });
    expect((await put("handler/twice", { rate: "100/m" })).json).toMatchObject({
      concurrency: null,
      rate: "100/m",
    });
    expect((await put("handler/twice", {})).json).toMatchObject({ concurrency: null, rate: null });
  });

  test("A target's name is accepted percent-encoded, and as a gateway decodes it", async () => {
    const arn = "event/arn:aws:events:eu-west-1:123456789012:event-bus/orders";
    expect((await put(encodeURIComponent(arn))).json).toMatchObject({ target: arn });
    expect((await get(arn)).json).toMatchObject({ target: arn, concurrency: 5 });
    expect((await put("webhook%2Fhooks.example.com%3A8443")).json).toMatchObject({
      target: "webhook/hooks.example.com:8443",
    });
  });

  test.each([
    ["a concurrency of none", { concurrency: 0 }, "concurrency"],
    ["half a job", { concurrency: 1.5 }, "concurrency"],
    ["no place for a team", { concurrency: 5, perTeam: 0 }, "perTeam"],
    ["more places for a team than there are", { concurrency: 5, perTeam: 6 }, "perTeam"],
    ["places for a team without a concurrency", { perTeam: 5, rate: "1/s" }, "perTeam"],
    ["a rate in words", { rate: "ten a second" }, "rate"],
    ["a rate of none", { rate: "0/s" }, "rate"],
    ["a rate by the day", { rate: "1/d" }, "rate"],
    ["another field", { concurrency: 1, burst: 3 }, "burst"],
  ])("PUT of limits refuses %s with the path of the fault", async (_, body, path) => {
    expect(await put("handler/refused", body)).toMatchObject({ status: 400, json: { errors: [{ path }] } });
    expect(await get("handler/refused")).toMatchObject({ status: 404 });
  });

  test.each([
    "nobody/knows",
    "handler/",
    "webhook/API.example.com",
    "webhook/a/b",
    `handler/${"a".repeat(600)}`,
  ])("Limits for the target %s are refused", async (target) => {
    expect(await put(target)).toMatchObject({ status: 400, json: { errors: [{ path: "target" }] } });
  });

  test("Setting limits needs the scope admin, reading them the scope read", async () => {
    const path = "/v1/limits/handler/scoped";
    expect(await api.send("PUT", path, { body: {}, as: "write" })).toMatchObject({ status: 403 });
    expect(await api.send("DELETE", path, { as: "write" })).toMatchObject({ status: 403 });
    expect(await api.send("GET", "/v1/limits", { as: "read" })).toMatchObject({ status: 200 });
  });

  test("Setting and clearing limits is recorded in the audit", async () => {
    await put("handler/audited", { concurrency: 4, perTeam: 2, rate: "1/s" });
    await remove("handler/audited");
    expect(
      await api.sql`select actor, action, detail from carillon.audit where subject = 'handler/audited' order by id`,
    ).toEqual([
      {
        actor: "adminer",
        action: "limits.set",
        detail: {
          concurrency: 4,
          perTeam: 2,
          rate: "1/s",
          before: { concurrency: null, perTeam: null, rate: null },
        },
      },
      {
        actor: "adminer",
        action: "limits.cleared",
        detail: {
          concurrency: null,
          perTeam: null,
          rate: null,
          before: { concurrency: 4, perTeam: 2, rate: "1/s" },
        },
      },
    ]);
  });
});

describe("DELETE of limits", () => {
  test("DELETE brings back the limits of the handler's code", async () => {
    await api.sql`select carillon.define_limits('{handler/defined}', '{7}', '{10}', '{1000}')`;
    expect((await get("handler/defined")).json).toMatchObject({ concurrency: 7, rate: "10/s", setBy: null });
    await put("handler/defined", { concurrency: 1, perTeam: 1 });
    expect((await get("handler/defined")).json).toMatchObject({
      concurrency: 1,
      perTeam: 1,
      rate: null,
      defined: { concurrency: 7, rate: "10/s" },
    });
    expect(await remove("handler/defined")).toMatchObject({ status: 204 });
    expect((await get("handler/defined")).json).toMatchObject({
      concurrency: 7,
      perTeam: null,
      rate: "10/s",
      setAt: null,
    });
  });

  test("DELETE answers 404 where no limits are set", async () => {
    expect(await remove("handler/never")).toMatchObject({ status: 404 });
    await api.sql`select carillon.target_named('handler/never')`;
    expect(await remove("handler/never")).toMatchObject({ status: 404 });
  });
});

describe("limits in a handler's code", () => {
  test("Limits of a handler's code are stored once, removed with the handler's limit, and overridden by the API's", async () => {
    const define = async (names: string[], concurrency: (number | null)[]) => {
      const none = names.map(() => null);
      const [row] = await api.sql`
        select carillon.define_limits(${names}::text[], ${concurrency}::int[], ${none}::int[], ${none}::int[]) as changed`;
      return row?.["changed"];
    };
    await define([], []);
    expect(await define(["handler/x", "handler/y", "handler/plain"], [2, 3, null])).toBe(2);
    expect(await define(["handler/x", "handler/y", "handler/plain"], [2, 3, null])).toBe(0);
    expect(await get("handler/plain")).toMatchObject({ status: 404 });
    await put("handler/x", { concurrency: 9, perTeam: 3 });
    expect(await define(["handler/x"], [4])).toBe(2);
    expect((await get("handler/x")).json).toMatchObject({
      concurrency: 9,
      perTeam: 3,
      defined: { concurrency: 4 },
    });
    expect((await get("handler/y")).json).toMatchObject({ concurrency: null });
  });

  test("The API stores the limits of handlers' code when it starts", async () => {
    await api.sql`update carillon.targets set defined_concurrency = 3, concurrency = 3 where name = 'handler/plain'`;
    await api.sql`select carillon.target_named('handler/stale')`;
    await api.sql`update carillon.targets set defined_concurrency = 3, concurrency = 3 where name = 'handler/stale'`;
    const other = await ownApi();
    await other.sql`select carillon.target_named('handler/stale')`;
    await other.sql`update carillon.targets set defined_concurrency = 3, concurrency = 3 where name = 'handler/stale'`;
    await other.send("GET", "/v1/limits");
    expect((await other.send("GET", "/v1/limits/handler/stale")).json).toMatchObject({ concurrency: null });
    await other.stop();
  });
});

describe("the list of limits", () => {
  test("Targets with limits are listed by name, in pages, with their running and waiting jobs", async () => {
    await api.sql`update carillon.targets set concurrency = null, per_team = null, rate_count = null, rate_ms = null, set_at = null`;
    for (const name of ["c", "a", "b"]) await put(`queue/${name}`);
    await api.sql`select carillon.target_named('queue/unlimited')`;
    await api.sql`
      insert into carillon.parcels (shard, queue, ready_at, offer_at, target_id, turn, slots, turn_at, claimed_at, lease_until, occurrences, schedule_ids)
      select 0, 'fast', 'infinity', 'infinity', t.id, w.turn::carillon.parcel_turn, w.slots, carillon.clock(), w.leased, w.leased,
        array[carillon.clock(), carillon.clock()], '{1, 2}'
      from carillon.targets t, (values ('waits', null::int, null::timestamptz), (null, 1, carillon.clock())) w (turn, slots, leased)
      where t.name = 'queue/a'`;
    const first = await api.send("GET", "/v1/limits", { query: "limit=2" });
    expect(first.json).toMatchObject({
      items: [
        { target: "queue/a", running: 1, waiting: 2 },
        { target: "queue/b", running: 0, waiting: 0 },
      ],
      cursor: expect.any(String),
    });
    const cursor = String(Reflect.get(Object(first.json), "cursor"));
    const second = await api.send("GET", "/v1/limits", { query: `limit=2&cursor=${cursor}` });
    expect(second.json).toEqual({ items: [expect.objectContaining({ target: "queue/c" })] });
  });
});
