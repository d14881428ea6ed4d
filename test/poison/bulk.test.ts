import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cancelLabel } from "../../lib/batch/cancel-label.ts";
import { connect } from "../../lib/db/connect.ts";
import { type CancelledMany, cancelMany } from "../../lib/job-control/cancel-many.ts";
import { type RetriedMany, type RetryFilter, retryMany } from "../../lib/job-control/retry-many.ts";
import { done, failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day } from "../support/instants.ts";
import { oneParcel } from "../support/parcels.ts";
import { functionRoles } from "../support/role-logins.ts";
import { mend, poison } from "./poison.ts";

/**
 * One job of eight cannot be written: a retry or a cancel of many does the others, reports the job
 * as failed, and continues behind it.
 */

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

const caller = { name: "ann" };
const count = 8;
const bad = "job-0";
const others = Array.from({ length: count - 1 }, (_, n) => `job-${n + 1}`);
const deps = () => ({ sql: world.as.api, queue: world.queue, log: world.log });
const always = () => true;
/** The duration of calls is not limited in these tests. */
const never = () => false;

async function idOf(key: string): Promise<string> {
  const [row] = await world.sql<{ id: string }[]>`select id from carillon.schedules where key = ${key}`;
  if (row === undefined) throw new Error(`There is no schedule ${key}.`);
  return row.id;
}

const spoil = async () => poison(world.sql, "jobs", `old.schedule_id = ${await idOf(bad)}`);
const keysOf = async (state: string) =>
  (await world.jobs()).filter((job) => job.state === state).map(({ key }) => key);
const lines = (event: string) => world.log.lines.filter((line) => line.event === event);

type Call = { next?: string };
interface Asked {
  after?: string | undefined;
  limit?: number;
  timeIsUp?: () => boolean;
}

const dead: RetryFilter = { state: "dead" };
const retry = ({ after, limit = 1_000, timeIsUp = never }: Asked = {}, filter: RetryFilter = dead) =>
  retryMany(deps(), { filter, limit, after, caller }, timeIsUp).then(counted);
const cancel = ({ after, limit = 1_000, timeIsUp = never }: Asked = {}) =>
  cancelMany(deps(), { filter: { prefix: "job-" }, limit, after, caller }, timeIsUp).then(counted);

/** Without the entry of the audit, whose id is chance. */
function counted<Done extends RetriedMany | CancelledMany>({ entry, ...counts }: Done) {
  const { done } = counts;
  expect(entry !== null).toBe(done > 0);
  return counts;
}

/**
 * Repeats the call with the cursor of the previous one until there is none, and adds the counts of
 * all calls.
 */
async function each<Done extends Call>(call: (after: string | undefined) => Promise<Done>) {
  const counts: Omit<Done, "next">[] = [];
  for (let after: string | undefined; ; ) {
    const { next, ...told } = await call(after);
    counts.push(told);
    if (next === undefined) return counts;
    expect(counts.length).toBeLessThan(2 * count);
    after = next;
  }
}

async function allDead(): Promise<void> {
  await oneParcel(world, count, { retry: { attempts: 1 } });
  world.outcome = () => failed("no");
  await world.work();
  world.outcome = () => done;
}

describe("a retry of many", () => {
  test("A retry of many skips a job that cannot be written, and retries the others", async () => {
    await allDead();
    await spoil();
    expect(await retry()).toEqual({ done: count - 1, leftOut: 0, failed: 1 });
    expect(await keysOf("waiting")).toEqual(others);
    expect(await keysOf("dead")).toEqual([bad]);
    expect(lines("job.not-retried").map(({ fields }) => fields["job"])).toEqual([
      expect.stringMatching(new RegExp(`^${await idOf(bad)}-`)),
    ]);
    expect(JSON.stringify(world.log.lines)).not.toContain("poisoned");

    expect(await retry()).toEqual({ done: 0, leftOut: 0, failed: 1 });
    await mend(world.sql, "jobs");
    expect(await retry()).toEqual({ done: 1, leftOut: 0, failed: 0 });
  });

  test("A retry of cancelled jobs skips one that cannot be written", async () => {
    await oneParcel(world, count);
    await cancel();
    await spoil();
    const filter = { state: "cancelled", key: bad } as const;
    expect(await retry({}, filter)).toEqual({ done: 0, leftOut: 0, failed: 1 });
    expect(await retry({}, { state: "cancelled", key: "job-1" })).toMatchObject({ done: 1, failed: 0 });
  });

  test("A retry of many that ran out of time at a job that cannot be written continues behind that job with the next call", async () => {
    await allDead();
    await spoil();
    expect(await each((after) => retry({ after, timeIsUp: always }))).toEqual([
      { done: 0, leftOut: 0, failed: 1 },
      { done: count - 1, leftOut: 0, failed: 0 },
    ]);
  });

  test("A retry of many counts a job that cannot be written once, over any number of calls", async () => {
    await allDead();
    await spoil();
    expect(await each((after) => retry({ after, limit: 3 }))).toEqual([
      { done: 3, leftOut: 0, failed: 1 },
      { done: 3, leftOut: 0, failed: 0 },
      { done: 1, leftOut: 0, failed: 0 },
    ]);
  });
});

describe("a cancel of many", () => {
  test("A cancel of many skips a job that cannot be written, and cancels the others", async () => {
    await oneParcel(world, count);
    await spoil();
    expect(await cancel()).toEqual({ done: count - 1, running: 0, failed: 1 });
    expect(await keysOf("cancelled")).toEqual(others);
    expect(lines("job.not-cancelled")).toHaveLength(1);

    expect(await cancel()).toEqual({ done: 0, running: 0, failed: 1 });
    await mend(world.sql, "jobs");
    expect(await cancel()).toEqual({ done: 1, running: 0, failed: 0 });
    expect(await world.sql`select from carillon.parcels`).toEqual([]);
  });

  test("A cancel of many that ran out of time at a job that cannot be written continues behind that job in the same parcel with the next call", async () => {
    await oneParcel(world, count);
    await spoil();
    const counts = await each((after) => cancel({ after, timeIsUp: always }));
    expect(counts.filter((told) => told.done + told.failed > 0)).toEqual([
      { done: 0, running: 0, failed: 1 },
      { done: count - 1, running: 0, failed: 0 },
    ]);
  });

  test("A cancel of many counts a job that cannot be written once, over any number of calls for its parcel", async () => {
    await oneParcel(world, count);
    await spoil();
    expect(await each((after) => cancel({ after, limit: 3 }))).toEqual([
      { done: 3, running: 0, failed: 1 },
      { done: 3, running: 0, failed: 0 },
      { done: 1, running: 0, failed: 0 },
    ]);
  });

  test("A cancel of many skips an enqueued job that no tick has made yet and whose schedule cannot be written", async () => {
    for (let n = 0; n < count; n++) {
      const body = { target: { queue: "demo" }, when: `at ${at(30 * day).toISOString()}`, deleteOnEnd: true };
      await world.put(`job-${n}`, body);
    }
    await poison(world.sql, "schedules", `old.key = '${bad}'`);
    expect(await cancel()).toEqual({ done: count - 1, running: 0, failed: 1 });
    expect(lines("job.not-cancelled")).toHaveLength(1);
    await mend(world.sql, "schedules");
    expect(await cancel()).toEqual({ done: 1, running: 0, failed: 0 });
  });
});

test.each([
  ["retry", allDead, () => retry()],
  ["cancel", () => oneParcel(world, count), () => cancel()],
])(
  "A job that another transaction has locked is skipped by a %s of many after a wait, and the others are done",
  async (_, begin, call) => {
    await begin();
    const other = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
    const locked = Promise.withResolvers<void>();
    const over = Promise.withResolvers<void>();
    const locking = other.begin(async (tx) => {
      await tx`select from carillon.jobs where schedule_id = ${await idOf(bad)} for update`;
      locked.resolve();
      await over.promise;
    });
    await locked.promise;
    expect(await call()).toMatchObject({ done: count - 1, failed: 1 });
    over.resolve();
    await locking;
    await other.end();
    expect(await call()).toMatchObject({ done: 1, failed: 0 });
  },
);

describe("a cancel of a group", () => {
  const label = { scope: "group", name: "shop" } as const;
  const cancelGroup = (timeIsUp = never, after?: string) =>
    cancelLabel(deps(), { label, caller, after }, { most: 100, timeIsUp });
  const members = async () => {
    const rows = await world.sql<{ key: string }[]>`
      select key from carillon.schedules where deleted_at is null order by key`;
    return rows.map(({ key }) => key);
  };

  beforeEach(async () => {
    for (const key of [bad, ...others]) await world.put(key, { when: "every 1h", group: label.name });
    await world.sql`update carillon.schedules set shard = 2`;
    await world.sql`update carillon.plan set shard = 2`;
    await world.sql`update carillon.plan_far set shard = 2`;
  });

  test("A cancel of a group skips a schedule that cannot be deleted, and deletes the others", async () => {
    await poison(world.sql, "schedules", `old.key = '${bad}'`);
    expect(await cancelGroup()).toEqual({ done: count - 1, running: 0, failed: 1 });
    expect(await members()).toEqual([bad]);
    expect(lines("schedule.not-deleted").map(({ fields }) => fields["key"])).toEqual([bad]);
    await mend(world.sql, "schedules");
    expect(await cancelGroup()).toEqual({ done: 1, running: 0, failed: 0 });
  });

  test("A cancel of a group skips a schedule that another transaction has locked", async () => {
    await world.sql.begin(async (tx) => {
      await tx`select from carillon.schedules where key = ${bad} for update`;
      expect(await cancelGroup()).toEqual({ done: count - 1, running: 0, failed: 1 });
    });
    expect(await cancelGroup()).toEqual({ done: 1, running: 0, failed: 0 });
  });

  test("A cancel of a group that ran out of time at a schedule that cannot be deleted continues behind that schedule with the next call", async () => {
    await poison(world.sql, "schedules", `old.key = '${bad}'`);
    const first = await cancelGroup(always);
    expect(first).toEqual({ done: 0, running: 0, failed: 1, next: bad });
    expect(await cancelGroup(never, first.next)).toEqual({ done: count - 1, running: 0, failed: 0 });
  });
});
