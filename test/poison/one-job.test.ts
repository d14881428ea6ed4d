import { afterEach, beforeEach, expect, test } from "vitest";
import { explain } from "../../lib/explain/explain.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import type { ClaimedJob } from "../../lib/parcel/claimed-job.ts";
import { settleApart } from "../../lib/parcel/settle-apart.ts";
import { splitParcel } from "../../lib/parcel/split-parcel.ts";
import { done, failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute, second } from "../support/instants.ts";
import { due, oneParcel } from "../support/parcels.ts";
import { functionRoles } from "../support/role-logins.ts";
import { quarantined, raised } from "./poison.ts";

/**
 * One job of a parcel of five cannot be written: the parcel's other jobs are claimed, settled and
 * taken from a dead worker.
 */

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

const bad = "job-2";
const neighbours = ["job-0", "job-1", "job-3", "job-4"];

async function unwritable(key = bad): Promise<void> {
  const [row] = await world.sql<{ id: string }[]>`select id from carillon.schedules where key = ${key}`;
  await world.sql.unsafe(`
    create or replace function public.poisoned() returns trigger language plpgsql as $$ begin raise exception 'a secret'; end $$;
    create trigger poison before update on carillon.jobs for each row when (old.schedule_id = ${row?.id}) execute function public.poisoned()`);
}

const mended = () => world.sql`drop trigger poison on carillon.jobs`;

const ofState = async (state: string) =>
  (await world.jobs()).filter((job) => job.state === state).map(({ key }) => key);
const deliveries = (key: string) => world.delivered.filter((each) => each.key === key).length;
const lines = (event: string) => world.log.lines.filter((line) => line.event === event);

async function minutes(count: number): Promise<void> {
  for (let each = 0; each < count; each++) {
    await world.clock.advance(minute);
    await world.tick();
    await world.work();
  }
}

test("A job that cannot be settled stays alone in its parcel, and no neighbour is delivered twice", async () => {
  await oneParcel(world, 5);
  await unwritable();
  expect(await world.work()).toEqual([]);
  expect(await ofState("succeeded")).toEqual(neighbours);
  expect(lines("job.unsettled").map(({ fields }) => fields["key"])).toEqual([bad]);
  expect(await world.sql`select from carillon.parcels where lease_until <= carillon.clock()`).toHaveLength(1);

  await minutes(3);
  expect(await quarantined(world)).toMatchObject([{ consumer: "lease", reason: raised }]);
  expect(await explain(world.as.api, { key: bad, at: due })).toMatchObject({
    sentence: expect.stringContaining("because `lease` failed on it"),
  });
  expect(JSON.stringify(world.log.lines)).not.toContain("a secret");
  await mended();
  await minutes(8);
  expect(await quarantined(world)).toEqual([]);
  expect(await ofState("succeeded")).toEqual(["job-0", "job-1", bad, "job-3", "job-4"]);
  expect(neighbours.map(deliveries)).toEqual([1, 1, 1, 1]);
  expect(deliveries(bad)).toBe(2);
});

test("Each neighbour of a job that cannot be settled is settled by its own result", async () => {
  const retry = { attempts: 2, base: "3m", backoff: "fixed", jitter: "none" };
  await oneParcel(world, 5, { retry });
  await unwritable();
  const outcomes = {
    "job-0": failed("boom"),
    "job-1": { kind: "again", at: at(2 * hour) },
    "job-3": { ...failed("gone"), giveUp: true },
  } as const;
  world.outcome = ({ key }: ClaimedJob) => outcomes[key as keyof typeof outcomes] ?? done;
  await world.work();
  const jobs = await world.jobs();
  expect(jobs.map(({ key, state, attempt }) => [key, state, attempt])).toEqual([
    ["job-0", "waiting", 1],
    ["job-1", "succeeded", 1],
    [bad, "waiting", 0],
    ["job-3", "dead", 1],
    ["job-4", "succeeded", 1],
    ["job-1", "waiting", 0],
  ]);
  expect(lines("job.failed").map(({ fields }) => fields["key"])).toEqual(["job-0"]);
  expect(lines("job.dead").map(({ fields }) => fields["key"])).toEqual(["job-3"]);
});

test("A value that the database refuses in one result does not change the recheck of a neighbour", async () => {
  const id = await oneParcel(world, 5);
  const outcomes = {
    "job-1": { kind: "again", at: at(2 * hour) },
    [bad]: { kind: "again", at: new Date(8.64e15) },
  } as const;
  world.outcome = ({ key }: ClaimedJob) => outcomes[key as keyof typeof outcomes] ?? done;
  await world.work();
  expect(await world.jobs("job-1")).toMatchObject([
    { state: "succeeded" },
    { state: "waiting", dueAt: at(2 * hour) },
  ]);
  expect(await world.jobs(bad)).toMatchObject([{ state: "waiting", attempt: 1 }]);
  expect(await world.sql`select from carillon.parcels where id = ${id}`).toEqual([]);
});

test("The other jobs of a dead worker are retried in the tick that ends its lease, although one of them cannot be written", async () => {
  const id = await oneParcel(world, 5);
  world.queue.take("fast");
  await claimParcel(world.sql, id, 30 * second);
  await unwritable();
  await minutes(1);
  expect(await ofState("succeeded")).toEqual(neighbours);
  expect((await world.jobs()).map(({ attempt }) => attempt)).toEqual([1, 1, 0, 1, 1]);
  expect(await quarantined(world)).toMatchObject([{ consumer: "lease", item: id, reason: raised }]);
  await mended();
  await minutes(3);
  expect(await quarantined(world)).toEqual([]);
  expect(await world.jobs(bad)).toMatchObject([{ state: "succeeded" }]);
});

test("A worker that claims a dead worker's parcel takes the jobs that can be written, and leaves the rest to the sweep", async () => {
  const id = await oneParcel(world, 5);
  await claimParcel(world.sql, id, 30 * second);
  await unwritable();
  await world.clock.advance(minute);
  expect(await world.work()).toEqual([]);
  expect(await ofState("succeeded")).toEqual(neighbours);
  expect(lines("parcel.lease-left").map(({ fields }) => fields["parcel"])).toEqual([id]);
});

test("A job that was alone when its worker died is retried only after that attempt is written", async () => {
  const id = await oneParcel(world, 1);
  world.queue.take("fast");
  await claimParcel(world.sql, id, 30 * second);
  await world.sql`alter table carillon.attempts add constraint none check (false) not valid`;
  await minutes(1);
  expect(await world.jobs()).toMatchObject([{ state: "waiting", attempt: 0, parcelId: id }]);
  await world.sql`alter table carillon.attempts drop constraint none`;
  await minutes(3);
  expect(await world.jobs()).toMatchObject([{ state: "succeeded", attempt: 2 }]);
});

test("The lease of a parcel is kept while parts of it are settled", async () => {
  const id = await oneParcel(world, 5);
  const claimed = await claimParcel(world.sql, id, 5 * second);
  if (claimed.outcome !== "claimed") throw new Error("It was not claimed.");
  await world.sql`
    select from carillon.settle_some(${id}, ${claimed.fence}, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')`;
  expect(await world.sql`select lease_until, offer_at from carillon.parcels`).toEqual([
    { lease_until: at(minute + 30 * second), offer_at: at(minute + 30 * second) },
  ]);
});

test("A parcel is split without the jobs of another parcel, and not at all while it is claimed", async () => {
  const id = await oneParcel(world, 4);
  const [moved] = await world.jobs("job-0");
  await world.sql`update carillon.jobs set parcel_id = 0 where occurrence = ${moved?.occurrence ?? due} and schedule_id = (
    select id from carillon.schedules where key = 'job-0')`;
  expect(await splitParcel(world.sql, id, () => false)).toHaveLength(1);
  expect(await world.jobs("job-0")).toMatchObject([{ parcelId: "0" }]);
  await claimParcel(world.sql, id, minute);
  const split = world.sql`select from carillon.move_some(${id}, 1, 4)`;
  expect(await split).toEqual([]);
  expect((await world.jobs()).filter(({ parcelId }) => parcelId === id)).toHaveLength(2);
});

test("The place of a parcel whose job cannot be settled goes to the next parcel of its target", async () => {
  const body = { target: { handler: "a" } };
  await oneParcel(world, 5, body);
  await world.sql`update carillon.targets set concurrency = 1 where name = 'handler/a'`;
  await world.put("behind", { when: `at ${at(minute + second).toISOString()}`, ...body });
  await unwritable();
  await world.clock.advance(second);
  await world.tick();
  await world.work();
  expect(await ofState("succeeded")).toEqual([...neighbours, "behind"]);
  expect(await world.sql`select from carillon.parcels where slots is not null`).toHaveLength(0);
});

test("A job that cannot be settled keeps its place in the lane of its group, like a job with a retry", async () => {
  const body = { group: "g", serial: true };
  await world.put("first", { when: `at ${due.toISOString()}`, ...body });
  await world.put("second", { when: `at ${at(minute + second).toISOString()}`, ...body });
  await world.tick();
  await world.clock.setNow(at(minute + second));
  await unwritable("first");
  await minutes(3);
  expect(await ofState("waiting")).toEqual(["first", "second"]);
  await mended();
  await minutes(8);
  expect(await ofState("succeeded")).toEqual(["first", "second"]);
});

test("A parcel whose lease is lost before its parts are settled is left to its new worker", async () => {
  const id = await oneParcel(world, 5);
  const claimed = await claimParcel(world.sql, id, 30 * second);
  if (claimed.outcome !== "claimed") throw new Error("It was not claimed.");
  await world.sql`update carillon.parcels set fence = fence + 1 where id = ${id}`;
  const apart = await settleApart(
    { sql: world.as.worker, log: world.log, notify: [], bare: () => null, timeIsUp: () => false },
    claimed,
    claimed.jobs.map(() => ({ kind: "succeeded" })),
  );
  expect(apart.held).toBe(false);
  expect(await ofState("waiting")).toHaveLength(5);
});

test("A job that a claim cannot take out of its parcel does not stop the others", async () => {
  await oneParcel(world, 5);
  // The claim cancels the job, which needs a write.
  await world.sql`update carillon.schedules set deleted_at = carillon.clock() where key = ${bad}`;
  await unwritable();
  const [stays] = await world.work();
  expect(await ofState("succeeded")).toEqual(neighbours);
  expect(lines("parcel.split")).toHaveLength(1);
  await mended();
  await minutes(40);
  expect(stays).toBeDefined();
  expect(await ofState("cancelled")).toEqual([bad]);
});
