import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { explain } from "../../lib/explain/explain.ts";
import { cancelMany } from "../../lib/job-control/cancel-many.ts";
import { cancelDryRun, retryDryRun } from "../../lib/job-control/dry-run.ts";
import { retryMany } from "../../lib/job-control/retry-many.ts";
import { failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { due, oneParcel } from "../support/parcels.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const deps = () => ({ sql: world.sql, queue: world.queue, log: world.log });
const caller = { name: "ann" };
const states = async () => (await world.jobs()).map(({ state }) => state).sort();
const entries = (action: string) =>
  world.sql<{ actor: string; subject: string; detail: object }[]>`
    select actor, subject, detail from carillon.audit where action = ${action} order by id`;

/** Jobs of one parcel that fail: the first two because the db is down, the others are not found. */
async function failTogether(count: number, attempts: number): Promise<{ down: string; lost: string }> {
  await oneParcel(world, count, { retry: { attempts, backoff: "fixed", base: "1h", jitter: "none" } });
  world.outcome = ({ key }) => failed(key === "job-0" || key === "job-1" ? "db is down" : `${key} not found`);
  await world.work();
  const rows = await world.sql<{ id: string; error: string }[]>`select id, error from carillon.error_groups`;
  const idOf = (text: string) => rows.find(({ error }) => error === text)?.id ?? "";
  return { down: idOf("db is down"), lost: idOf("job-<n> not found") };
}

describe("a bulk action on an error group", () => {
  test("a retry of an error group retries its dead jobs and no others", async () => {
    const { down } = await failTogether(5, 1);
    const filter = { state: "dead", errorGroup: [down] } as const;
    expect(await retryDryRun(world.sql, filter)).toMatchObject({
      count: 2,
      more: false,
      samples: [
        { state: "dead", errorGroup: down },
        { state: "dead", errorGroup: down },
      ],
    });
    expect(await states()).toEqual(["dead", "dead", "dead", "dead", "dead"]);
    expect(await retryMany(deps(), { filter, limit: 100, caller })).toEqual({
      done: 2,
      leftOut: 0,
      failed: 0,
      entry: expect.any(String),
    });
    expect(await states()).toEqual(["dead", "dead", "dead", "waiting", "waiting"]);
    expect(await retryDryRun(world.sql, filter)).toMatchObject({ count: 0, more: false, samples: [] });
  });

  test("A retry up to the time of its dry run leaves out the jobs that have died since", async () => {
    await failTogether(2, 1);
    const { asOf, count } = await retryDryRun(world.sql, { state: "dead" });
    expect(count).toBe(2);
    await world.clock.advance(1_000);
    await world.put("later", { when: "in 1s", retry: { attempts: 1 } });
    await world.clock.advance(2_000);
    await world.tick();
    await world.work();
    expect(await retryDryRun(world.sql, { state: "dead" })).toMatchObject({ count: 3 });
    const filter = { state: "dead", to: asOf } as const;
    expect(await retryMany(deps(), { filter, limit: 100, caller })).toMatchObject({ done: 2 });
    expect(await retryDryRun(world.sql, { state: "dead", from: asOf })).toMatchObject({
      count: 1,
      samples: [{ key: "later" }],
    });
  });

  test("A bulk retry by lateness retries dead jobs that started so late, and no others", async () => {
    await failTogether(2, 1);
    await world.sql`
      update carillon.jobs set started_at = due_at + interval '1 minute'
      where schedule_id = (select id from carillon.schedules where key = 'job-1')`;
    const of = (lateBy: string) => ({ state: "dead", lateBy }) as const;
    expect(await retryDryRun(world.sql, of("2m"))).toMatchObject({ count: 0, samples: [] });
    expect(await retryDryRun(world.sql, of("30s"))).toMatchObject({ count: 1, samples: [{ key: "job-1" }] });
    expect(await retryMany(deps(), { filter: of("30s"), limit: 100, caller })).toMatchObject({ done: 1 });
    expect(await states()).toEqual(["dead", "waiting"]);
  });

  test("a dry run neither counts nor names dead jobs of deleted schedules, which a retry leaves out", async () => {
    await failTogether(3, 1);
    await world.remove("job-2");
    const filter = { state: "dead" } as const;
    expect(await retryDryRun(world.sql, filter)).toMatchObject({
      count: 2,
      samples: [{ key: "job-1" }, { key: "job-0" }],
    });
    expect(await retryMany(deps(), { filter, limit: 100, caller })).toMatchObject({ done: 2, leftOut: 1 });
  });

  test("a cancel of an error group cancels its retrying jobs and no others", async () => {
    const { lost } = await failTogether(5, 3);
    await world.put("later", { when: "in 1h", deleteOnEnd: true });
    const filter = { errorGroup: [lost] };
    expect(await cancelDryRun(world.sql, filter)).toMatchObject({ count: 3, more: false });
    expect(await cancelMany(deps(), { filter, limit: 100, caller })).toEqual({
      done: 3,
      running: 0,
      failed: 0,
      entry: expect.any(String),
    });
    expect(await states()).toEqual(["cancelled", "cancelled", "cancelled", "waiting", "waiting"]);
  });
});

describe("a dry run of a bulk action", () => {
  test("a dry run of a cancel counts jobs that wait, also those without a row, and changes nothing", async () => {
    await oneParcel(world, 3, { group: "g" });
    await world.put("later", { when: "in 1h", group: "g", deleteOnEnd: true });
    const before = await states();
    const { count, more, samples } = await cancelDryRun(world.sql, { group: "g" });
    expect({ count, more, keys: samples.map(({ key }) => key).sort() }).toEqual({
      count: 4,
      more: false,
      keys: ["job-0", "job-1", "job-2", "later"],
    });
    expect(await states()).toEqual(before);
    expect(await entries("jobs.cancelled")).toEqual([]);
  });

  test("a dry run of a retry leaves out jobs of deleted schedules, which cannot be retried", async () => {
    await failTogether(3, 1);
    await world.remove("job-2");
    expect(await retryDryRun(world.sql, { state: "dead" })).toMatchObject({ count: 2, more: false });
  });

  test("a dry run of a retry of cancelled jobs counts those of the key", async () => {
    await oneParcel(world, 2);
    await cancelMany(deps(), { filter: { key: "job-1" }, limit: 10, caller });
    expect(await retryDryRun(world.sql, { state: "cancelled", key: "job-1" })).toMatchObject({
      count: 1,
      more: false,
    });
  });

  test("a dry run counts up to its bound, and says that there may be more", async () => {
    await failTogether(1, 1);
    await world.sql`
      insert into carillon.dead_jobs (occurrence, schedule_id, kind, n, died_at, reason, error_group)
      select d.occurrence, d.schedule_id, 'manual', g, d.died_at + g * interval '1 ms', d.reason, d.error_group
      from carillon.dead_jobs d cross join generate_series(1, 20000) g`;
    expect(await retryDryRun(world.sql, { state: "dead" })).toMatchObject({ count: 20_000, more: true });
  });
});

describe("the audit of a bulk action", () => {
  test("a call that retries jobs of many schedules is one audit entry, with filter, reason and count", async () => {
    await failTogether(3, 1);
    const filter = { state: "dead" } as const;
    await retryMany(deps(), { filter, limit: 100, reason: "mended", caller });
    expect(await entries("jobs.retried")).toEqual([
      {
        actor: "ann",
        subject: "state dead",
        detail: { jobs: 3, filter: { state: "dead" }, reason: "mended" },
      },
    ]);
  });

  test("a call of several transactions counts all of their jobs in its one audit entry", async () => {
    await oneParcel(world, 3, { group: "g" });
    await world.put("later", { when: "in 1h", deleteOnEnd: true, group: "g" });
    expect(await cancelMany(deps(), { filter: { group: "g" }, limit: 100, caller })).toMatchObject({
      done: 4,
    });
    expect(await entries("jobs.cancelled")).toEqual([
      { actor: "ann", subject: "group g", detail: { jobs: 4, filter: { group: "g" } } },
    ]);
  });

  test("a call that changes nothing leaves no audit entry", async () => {
    await retryMany(deps(), { filter: { state: "dead" }, limit: 10, caller });
    expect(await entries("jobs.retried")).toEqual([]);
  });

  test("an explanation names the bulk request that retried or cancelled the job, and its reason", async () => {
    await failTogether(3, 1);
    await retryMany(deps(), { filter: { state: "dead" }, limit: 100, reason: "db is up", caller });
    const retried = await explain(world.sql, { key: "job-0", at: due });
    expect(JSON.stringify(retried)).toMatch(/retried by token `ann` at .*db is up/);
    await cancelMany(deps(), {
      filter: { key: "job-0" },
      limit: 100,
      reason: "not needed",
      caller: { name: "bob" },
    });
    const cancelled = await explain(world.sql, { key: "job-0", at: due });
    expect(JSON.stringify(cancelled)).toMatch(/by token `bob` at .*not needed/);
    const other = await explain(world.sql, { key: "job-1", at: due });
    expect(JSON.stringify(other)).not.toMatch(/bob|not needed/);
  });

  test("only the entry of a recent bulk action can be counted on", async () => {
    await failTogether(2, 1);
    await retryMany(deps(), { filter: { state: "dead" }, limit: 100, caller });
    await world.sql`select carillon.add_to_entry(at, id, 5) from carillon.audit`;
    expect(
      await world.sql`select detail ->> 'jobs' as jobs from carillon.audit where action = 'jobs.retried'`,
    ).toEqual([{ jobs: "7" }]);
    expect(
      await world.sql`select from carillon.audit where action <> 'jobs.retried' and detail ->> 'jobs' is not null`,
    ).toEqual([]);
    await world.clock.advance(11 * 60_000);
    await world.sql`select carillon.add_to_entry(at, id, 5) from carillon.audit where action = 'jobs.retried'`;
    expect(
      await world.sql`select detail ->> 'jobs' as jobs from carillon.audit where action = 'jobs.retried'`,
    ).toEqual([{ jobs: "7" }]);
  });
});
