import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { day } from "../support/instants.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi();
  await api.tick();
});

afterAll(() => api.stop());

interface Job {
  id: string;
  key: string;
  state: string;
  reason: string | null;
}

let worlds = 0;
/** The prefix of all keys, and the group, of one test. */
let own = "";

beforeEach(() => {
  own = `w${++worlds}:`;
});

const target = { queue: "demo" };

async function enqueue(key: string, at: string | undefined, body: object = {}): Promise<Job> {
  const answer = await api.send("POST", "/v1/jobs", {
    body: {
      key: `${own}${key}`,
      target,
      group: own,
      tags: [own],
      ...(at === undefined ? {} : { at }),
      ...body,
    },
  });
  expect(answer.status).toBe(202);
  return answer.json as Job;
}

async function idsOf(query: string, limit = 100): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined, page = 0; page < 100; page++) {
    const more: string = cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const answer = await api.send("GET", "/v1/jobs", { query: `${query}&limit=${limit}${more}` });
    expect(answer.status).toBe(200);
    const found = answer.json as { items: Job[]; cursor?: string };
    ids.push(...found.items.map(({ id }) => id));
    if (found.cursor === undefined) return ids;
    cursor = found.cursor;
  }
  throw new Error("The list does not end.");
}

const read = async (id: string) => (await api.send("GET", `/v1/jobs/${id}`)).json as Job;

async function cancelAll(filter: object, limit?: number): Promise<number> {
  let done = 0;
  for (let cursor: string | undefined, call = 0; call < 100; call++) {
    const answer = await api.send("POST", "/v1/jobs:cancel", {
      query: cursor === undefined ? "" : `cursor=${encodeURIComponent(cursor)}`,
      body: { filter, ...(limit === undefined ? {} : { limit }) },
    });
    expect(answer.status).toBe(202);
    const told = answer.json as { done: number; cursor?: string };
    done += told.done;
    if (told.cursor === undefined) return done;
    cursor = told.cursor;
  }
  throw new Error("It does not end.");
}

describe("jobs that no tick has made yet", () => {
  test.each([1, 2, 100])(
    "Enqueued jobs are found by key, prefix, group and tag before a tick makes them, in pages of %i",
    async (limit) => {
      const now = await enqueue("now", undefined);
      const soon = await enqueue("soon", "in 2h");
      const late = await enqueue("late", "in 3d");
      await api.send("PUT", `/v1/schedules/${own}other`, { body: { when: "in 1d", target, group: own } });
      const all = [late.id, soon.id, now.id];
      expect(await idsOf(`prefix=${own}`, limit)).toEqual(all);
      expect(await idsOf(`state=waiting&group=${own}`, limit)).toEqual(all);
      expect(await idsOf(`tag=${own}`, limit)).toEqual(all);
      expect(await idsOf(`tag=${own}&state=cancelled`, limit)).toEqual([]);
      expect(await idsOf(`key=${own}late&state=waiting`, limit)).toEqual([late.id]);
      const bound = new Date(api.clock.now().getTime() + day).toISOString();
      expect(await idsOf(`prefix=${own}&from=${bound}`, limit)).toEqual([late.id]);
      expect(await idsOf(`tag=${own}&to=${bound}`, limit)).toEqual([soon.id, now.id]);
    },
  );

  test("Enqueued jobs that no tick has made yet are found even if the filter matches many schedules", async () => {
    const jobs: Job[] = [];
    for (let n = 0; n < 24; n++)
      jobs.push(await enqueue(`many-${n}`, n % 4 === 0 ? undefined : `in ${90 + n}m`));
    const order = jobs
      .map(({ id }) => id)
      .sort(
        (a, b) =>
          Number(b.split("-")[1]) - Number(a.split("-")[1]) ||
          Number(b.split("-")[0]) - Number(a.split("-")[0]),
      );
    for (const limit of [1, 7, 100]) {
      expect(await idsOf(`group=${own}`, limit)).toEqual(order);
      expect(await idsOf(`prefix=${own}many`, limit)).toEqual(order);
    }
  });

  test("The unsettled jobs of a group include those that no tick has made yet, with the reason why they wait", async () => {
    const soon = await enqueue("soon", "in 2h");
    await enqueue("now", undefined);
    const open = async () => (await api.send("GET", `/v1/groups/${own}`)).json as { jobs: object[] };
    expect((await open()).jobs).toMatchObject([{ key: `${own}now` }, { id: soon.id, waitsFor: "time" }]);
    await api.send("POST", `/v1/schedules/${own}soon/pause`);
    expect((await open()).jobs).toMatchObject([
      { key: `${own}now` },
      { id: soon.id, waitsFor: "hold", readyAt: null },
    ]);
  });

  test.each([
    ["key", (): object => ({ key: `${own}late` }), 1],
    ["prefix", (): object => ({ prefix: own }), 3],
    ["group", (): object => ({ group: own, state: "waiting" }), 3],
    ["tag", (): object => ({ tag: own }), 3],
    ["target", (): object => ({ target: "queue/demo", prefix: own }), 3],
  ])(
    "Cancelling by %s cancels enqueued jobs that no tick has made yet, and keeps lasting schedules",
    async (_by, filter, count) => {
      const jobs = [
        await enqueue("late", "in 3d"),
        await enqueue("now", undefined),
        await enqueue("soon", "in 2h"),
      ];
      await api.send("PUT", `/v1/schedules/${own}lasting`, {
        body: { when: "in 1d", target, group: own, tags: [own] },
      });
      const stranger = await enqueue("x", "in 1h", { key: `v${own}`, group: `v${own}`, tags: [] });
      expect(await cancelAll(filter())).toBe(count);
      for (const job of jobs.slice(0, count))
        expect(await read(job.id)).toMatchObject({ state: "cancelled" });
      expect((await api.send("GET", `/v1/schedules/${own}lasting`)).status).toBe(200);
      expect(await read(stranger.id)).toMatchObject({ state: "waiting" });
      const [noted] = await api.sql`
      select detail, actor from carillon.audit where action = 'jobs.cancelled' and detail::text like ${`%${own}%`}`;
      expect(noted).toMatchObject({ actor: "adminer", detail: { jobs: count, filter: expect.any(Object) } });
    },
  );

  test("A bulk cancel in parts of two reaches every job, also those that no tick has made yet", async () => {
    for (let n = 0; n < 7; n++) await enqueue(`n${n}`, n % 3 === 0 ? undefined : "in 2h");
    expect(await cancelAll({ prefix: own }, 2)).toBe(7);
    expect(await idsOf(`prefix=${own}&state=waiting`)).toEqual([]);
  });

  test("A cancel of jobs in another state leaves jobs alone that no tick has made yet", async () => {
    const { id } = await enqueue("late", "in 3d");
    expect(await cancelAll({ prefix: own, state: "retrying" })).toBe(0);
    expect(await read(id)).toMatchObject({ state: "waiting" });
  });
});

describe("jobs to come", () => {
  test.each([
    ["key", () => `key=${own}often`],
    ["prefix", () => `prefix=${own}`],
    ["many schedules", () => `prefix=${own}&tag=${own}`],
  ])(
    "upcoming divides the jobs of a search by %s into those that have come and the others",
    async (by, query) => {
      await api.send("PUT", `/v1/schedules/${own}often`, {
        body: { when: "every 10s", target, tags: [own] },
      });
      if (by !== "key") {
        await enqueue("now", undefined);
        await enqueue("late", "in 2h");
      }
      if (by === "many schedules")
        for (let n = 0; n < 25; n++) await enqueue(`n${n}`, n % 2 === 0 ? "in 1h" : undefined);
      await api.tick();
      await api.clock.advance(45_000);
      const [all, come, coming] = await Promise.all([
        idsOf(query(), 7),
        idsOf(`${query()}&upcoming=false`, 7),
        idsOf(`${query()}&upcoming=true`, 7),
      ]);
      const atOf = (id: string) => Number(id.split("-")[1]);
      const now = api.clock.now().getTime();
      expect(come).toEqual(all.filter((id) => atOf(id) <= now));
      expect(coming).toEqual(all.filter((id) => atOf(id) > now));
      expect([come.length, coming.length].every((count) => count > 3)).toBe(true);
    },
  );

  test("No dead job is to come, and other values than true and false are refused", async () => {
    const list = (query: string) => api.send("GET", "/v1/jobs", { query });
    expect(await list("state=dead&upcoming=true")).toMatchObject({ status: 200, json: { items: [] } });
    expect(await list("upcoming=yes")).toMatchObject({
      status: 400,
      json: { errors: [{ path: "upcoming", message: "takes `true` or `false`" }] },
    });
  });
});

describe("the jobs of a key", () => {
  test("Jobs of a key are found after its schedule is deleted, those of the newest schedule first", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) {
      ids.unshift((await enqueue("again", n === 1 ? "in 2d" : undefined)).id);
      await api.send("DELETE", `/v1/schedules/${own}again`);
    }
    for (const limit of [1, 2, 100]) expect(await idsOf(`key=${own}again`, limit)).toEqual(ids);
    expect(await idsOf(`key=${own}again&state=waiting`)).toEqual([]);
    const cancelled = (await api.send("GET", "/v1/jobs", { query: `key=${own}again&state=cancelled` })).json;
    expect(cancelled).toMatchObject({ items: ids.map((id) => ({ id, reason: "deleted" })) });
    ids.unshift((await enqueue("again", "in 1h")).id);
    expect(await idsOf(`key=${own}again`, 1)).toEqual(ids);
  });

  test("A key that never had a schedule answers 404", async () => {
    expect((await api.send("GET", "/v1/jobs", { query: `key=${own}never` })).status).toBe(404);
  });
});

test("A cursor of a bulk operation is refused with another filter", async () => {
  for (let n = 0; n < 3; n++) await enqueue(`n${n}`, "in 2h");
  const send = (verb: string, filter: object, cursor = "") =>
    api.send("POST", verb, { query: cursor === "" ? "" : `cursor=${cursor}`, body: { filter, limit: 1 } });
  const first = await send("/v1/jobs:cancel", { prefix: own });
  const { cursor } = first.json as { cursor: string };
  expect((await send("/v1/jobs:cancel", { prefix: `${own}n` }, cursor)).status).toBe(400);
  expect((await send("/v1/jobs:cancel", { prefix: own, state: "waiting" }, cursor)).status).toBe(400);
  expect((await send("/v1/jobs:cancel", { prefix: own }, cursor)).status).toBe(202);

  for (let n = 0; n < 2; n++) {
    const { id } = await enqueue(`dead${n}`, undefined);
    await api.sql`
      with died as (
        update carillon.jobs set state = 'dead', parcel_id = null, attempt = 1, finished_at = carillon.clock(), started_at = carillon.clock(), reason = 'attempts'
        where schedule_id = ${id.split("-")[0] ?? ""} returning occurrence, schedule_id, kind, n, finished_at
      ), gone as (delete from carillon.parcels p using died d where d.schedule_id = any(p.schedule_ids))
      insert into carillon.dead_jobs (occurrence, schedule_id, kind, n, died_at) select * from died`;
  }
  const retried = await send("/v1/jobs:retry", { prefix: own });
  const more = (retried.json as { cursor: string }).cursor;
  expect(more).toBeDefined();
  expect((await send("/v1/jobs:retry", { prefix: "" }, more)).status).toBe(400);
  expect((await send("/v1/jobs:retry", { prefix: own }, more)).status).toBe(202);
});
