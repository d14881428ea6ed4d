import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hour, at as instant, minute } from "../support/instants.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi();
  await api.tick();
});

afterAll(() => api.stop());

const target = { queue: "demo" };
let keys = 0;
const fresh = () => `job-key-${++keys}`;

interface Job {
  id: string;
  key: string;
  scheduleId: string;
  state: string;
  dueAt: string;
  payload: unknown;
}

async function enqueue(body: object, parts: object = {}) {
  const answer = await api.send("POST", "/v1/jobs", { body: { target, ...body }, ...parts });
  return { ...answer, job: answer.json as Job };
}

const read = (id: string) => api.send("GET", `/v1/jobs/${id}`);

/** Changes the row as a worker does when it claims or settles the parcel of the job. */
async function startJob(id: string): Promise<void> {
  await api.sql`
    update carillon.parcels p set lease_until = carillon.clock() + interval '1 minute', fence = fence + 1, claimed_at = carillon.clock()
    from carillon.jobs j where j.schedule_id = ${id.split("-")[0] ?? ""} and j.state = 'waiting' and p.id = j.parcel_id`;
}

async function finishJob(id: string, state: "succeeded" | "dead" = "succeeded"): Promise<void> {
  await api.sql`
    with settled as (
      update carillon.jobs set state = ${state}, parcel_id = null, attempt = 1, started_at = carillon.clock(), finished_at = carillon.clock(),
        reason = ${state === "dead" ? "attempts" : null}, error = ${state === "dead" ? "no" : null}
      where schedule_id = ${id.split("-")[0] ?? ""} and state = 'waiting' returning schedule_id
    ) delete from carillon.parcels p using settled s where s.schedule_id = any(p.schedule_ids)`;
}

async function jobsOf(key: string): Promise<string[]> {
  const jobs = await api.sql<{ state: string }[]>`
    select j.state from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id where s.key = ${key} order by j.occurrence`;
  return jobs.map(({ state }) => state);
}

describe("an enqueued job", () => {
  test("An enqueued job runs at once, and the answer equals the job as it is read", async () => {
    const { status, headers, job } = await enqueue({ payload: { a: 1 } });
    expect(status).toBe(202);
    expect(job).toMatchObject({
      state: "waiting",
      kind: "cadence",
      payload: { a: 1 },
      attempt: 0,
      attempts: [],
    });
    expect(job.key).toMatch(/^job:[0-9a-f-]{36}$/);
    expect(headers["location"]).toBe(`/v1/jobs/${job.id}`);
    expect((await read(job.id)).json).toEqual(job);
    const [parcel] = await api.sql`
      select offers from carillon.parcels where ${job.scheduleId}::bigint = any(schedule_ids)`;
    expect(parcel).toMatchObject({ offers: 1 });
  });

  test.each(["in 2h", "in 400d", instant(hour).toISOString()])(
    "A job enqueued for later (%s) has its id at once, and can be read before a tick makes it",
    async (at) => {
      const { status, job } = await enqueue({ at, payload: 7, group: "g" });
      expect(status).toBe(202);
      expect(await jobsOf(job.key)).toEqual([]);
      expect((await read(job.id)).json).toMatchObject({
        id: job.id,
        state: "waiting",
        payload: 7,
        group: "g",
        readyAt: job.dueAt,
        startedAt: null,
      });
      if (!at.startsWith("in")) expect(job.dueAt).toBe(at);
      expect((await read(job.id.replace("-c0", "-c1"))).status).toBe(404);
      expect((await read(job.id.replace(/-\d+-/, "-1-"))).status).toBe(404);
    },
  );

  test("The tick makes an enqueued job under the id that the caller got when enqueuing it", async () => {
    const { job } = await enqueue({ at: "in 4m" });
    expect(await jobsOf(job.key)).toEqual([]);
    await api.clock.advance(2 * minute);
    await api.tick();
    expect(await jobsOf(job.key)).toEqual(["waiting"]);
    expect((await read(job.id)).json).toMatchObject({ id: job.id, dueAt: job.dueAt, state: "waiting" });
  });

  test("The schedule of an enqueued job is deleted when the job no longer needs it", async () => {
    const { job } = await enqueue({});
    const schedule = await api.send("GET", `/v1/schedules/${job.key}`);
    expect(schedule.json).toMatchObject({ deleteOnEnd: true, state: "active" });
    await finishJob(job.id);
    await api.sql`update carillon.schedules set end_look_at = carillon.clock() where id = ${job.scheduleId}`;
    await api.tick();
    expect((await api.send("GET", `/v1/schedules/${job.key}`)).status).toBe(404);
    expect((await read(job.id)).json).toMatchObject({ state: "succeeded" });
  });

  test.each([
    [{ at: "tomorrow" }, "at"],
    [{ at: "2020-01-01T00:00:00Z" }, "at"],
    [{ at: "in 5 parsecs" }, "at"],
    [{ when: "every 5m" }, "when"],
    [{ key: "a/b" }, "key"],
    [{ ifExists: "maybe" }, "ifExists"],
    [{ overlap: "skip" }, "overlap"],
    [{ target: {} }, "target"],
  ])("An enqueue request with %j is refused with the reason", async (body, path) => {
    const { status, json } = await enqueue(body);
    expect(status).toBe(400);
    expect(json).toMatchObject({ errors: [{ path: expect.stringContaining(path) }] });
  });

  test("A job for a handler that is not deployed is refused", async () => {
    expect((await enqueue({ target: { handler: "nobody" } })).status).toBe(422);
  });
});

describe("several jobs of one key", () => {
  test("A key has one waiting job: a new job replaces one that is not due", async () => {
    const key = fresh();
    const first = await enqueue({ key, at: "in 1h", payload: 1 });
    const second = await enqueue({ key, at: "in 2h", payload: 2 });
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(second.job.id).not.toBe(first.job.id);
    expect((await read(first.job.id)).status).toBe(404);
    expect((await read(second.job.id)).json).toMatchObject({ payload: 2, state: "waiting" });
  });

  test("A new job replaces one that is due and has not started", async () => {
    const key = fresh();
    const first = await enqueue({ key, payload: 1 });
    const second = await enqueue({ key, payload: 2 });
    expect(await jobsOf(key)).toEqual(["cancelled", "waiting"]);
    expect((await read(first.job.id)).json).toMatchObject({ state: "cancelled" });
    expect(second.job).toMatchObject({ state: "waiting", payload: 2 });
  });

  test("A new job follows a running job of its key", async () => {
    const key = fresh();
    const first = await enqueue({ key });
    await startJob(first.job.id);
    const second = await enqueue({ key });
    expect(second.status).toBe(202);
    expect((await read(first.job.id)).json).toMatchObject({ state: "running", cancelling: false });
    expect((await read(second.job.id)).json).toMatchObject({ state: "waiting" });
  });

  test.each(["succeeded", "dead"] as const)(
    "A settled job (%s) does not hinder a new job of its key",
    async (state) => {
      const key = fresh();
      const first = await enqueue({ key });
      await finishJob(first.job.id, state);
      for (const ifExists of ["refuse", "keep", "replace"]) {
        const next = await enqueue({ key, ifExists });
        expect(next.status).toBe(202);
        await finishJob(next.job.id);
      }
      expect((await jobsOf(key)).length).toBe(4);
    },
  );

  test.each([{ at: "in 1h" }, {}])(
    "With `ifExists` the unsettled job of a key is kept, or the new one is refused (%j)",
    async (when) => {
      const key = fresh();
      const first = await enqueue({ key, payload: 1, ...when });
      const kept = await enqueue({ key, payload: 2, ifExists: "keep" });
      expect(kept).toMatchObject({ status: 200, job: { id: first.job.id, payload: 1 } });
      expect(kept.headers["location"]).toBe(`/v1/jobs/${first.job.id}`);
      const refused = await enqueue({ key, payload: 2, ifExists: "refuse" });
      expect(refused).toMatchObject({ status: 409, json: { errors: [{ path: "key" }] } });
      expect((await read(first.job.id)).json).toMatchObject({ state: "waiting", payload: 1 });
    },
  );

  test("Enqueuing twice under one key for the same instant gives the same job", async () => {
    const key = fresh();
    const at = new Date(api.clock.now().getTime() + 2 * hour).toISOString();
    const first = await enqueue({ key, at });
    const second = await enqueue({ key, at });
    expect(second).toMatchObject({ status: 200, job: { id: first.job.id } });
  });

  test("An enqueue request does not replace a lasting schedule", async () => {
    const key = fresh();
    await api.send("PUT", `/v1/schedules/${key}`, { body: { when: "every 1h", target } });
    expect((await enqueue({ key })).status).toBe(409);
    expect((await api.send("GET", `/v1/schedules/${key}`)).json).toMatchObject({ when: "every 1h" });
  });
});

describe("cancelling an enqueued job", () => {
  test("Cancelling an enqueued job that no tick has made yet deletes its schedule", async () => {
    const { job } = await enqueue({ at: "in 1d" });
    const { status, json } = await api.send("POST", `/v1/jobs/${job.id}/cancel`, {
      body: { reason: "changed my mind" },
    });
    expect({ status, json }).toMatchObject({ status: 200, json: { id: job.id, state: "cancelled" } });
    expect((await read(job.id)).json).toMatchObject({ state: "cancelled", reason: "deleted" });
    expect((await api.send("GET", `/v1/schedules/${job.key}`)).status).toBe(404);
    const again = await api.send("POST", `/v1/jobs/${job.id}/cancel`);
    expect(again.status).toBe(409);
    const [noted] = await api.sql`
      select detail from carillon.audit where action = 'schedule.deleted' and subject = ${job.key}`;
    expect(noted).toMatchObject({ detail: { job: job.id, reason: "changed my mind" } });
  });

  test("Cancelling a job under a hold reports it as cancelled, even if it was due", async () => {
    await api.send("POST", "/v1/groups/held-group/pause");
    const { job } = await enqueue({ group: "held-group", payload: 1 });
    expect((await read(job.id)).json).toMatchObject({ state: "waiting", readyAt: null });
    expect(await api.send("POST", `/v1/jobs/${job.id}/cancel`)).toMatchObject({
      status: 200,
      json: { id: job.id, state: "cancelled", reason: "deleted", payload: 1 },
    });
    expect(await read(job.id)).toMatchObject({ status: 200, json: { state: "cancelled" } });
    expect((await api.send("POST", `/v1/jobs/${job.id}/cancel`)).status).toBe(409);
    await api.sql`update carillon.retention set kept_from = carillon.clock() + interval '1 day'`;
    expect((await read(job.id)).status).toBe(404);
    await api.sql`update carillon.retention set kept_from = carillon.clock() - interval '1 day'`;
  });

  test("Retrying an enqueued job that no tick has made answers 409 with the reason", async () => {
    const { job } = await enqueue({ at: "in 1d" });
    const retry = () => api.send("POST", `/v1/jobs/${job.id}/retry`);
    expect(await retry()).toMatchObject({
      status: 409,
      json: { detail: `The job ${job.id} is waiting: only a dead or cancelled job can be retried.` },
    });
    await api.send("POST", `/v1/jobs/${job.id}/cancel`);
    expect(await retry()).toMatchObject({
      status: 409,
      json: { detail: expect.stringContaining("was cancelled before it had a row") },
    });
  });

  test("Cancelling an enqueued job in a parcel cancels it", async () => {
    const { job } = await enqueue({});
    expect((await api.send("POST", `/v1/jobs/${job.id}/cancel`)).json).toMatchObject({ state: "cancelled" });
    expect(await jobsOf(job.key)).toEqual(["cancelled"]);
  });

  test("A job of a lasting schedule cannot be cancelled before a tick has made it", async () => {
    const key = fresh();
    const { json } = await api.send("PUT", `/v1/schedules/${key}`, { body: { when: "in 1d", target } });
    const { id, nextAt } = json as { id: string; nextAt: string };
    const { status, json: told } = await api.send("POST", `/v1/jobs/${id}-${Date.parse(nextAt)}-c0/cancel`);
    expect(status).toBe(409);
    expect(told).toMatchObject({ detail: expect.stringContaining(key) });
  });
});

describe("enqueued jobs of a token with a prefix", () => {
  test("The key that Carillon makes for a job begins with the token's prefix, and keys outside it are refused", async () => {
    await api.sql`update carillon.tokens set prefix = 'shop:' where name = 'writeer'`;
    try {
      const { status, job } = await enqueue({}, { as: "write" });
      expect(status).toBe(202);
      expect(job.key).toMatch(/^shop:job:/);
      expect((await enqueue({ key: "other:1" }, { as: "write" })).status).toBe(403);
      expect((await enqueue({ key: "shop:1" }, { as: "write" })).status).toBe(202);
    } finally {
      await api.sql`update carillon.tokens set prefix = null where name = 'writeer'`;
    }
  });
});
