import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { type Claimed, type ClaimedParcel, claimParcel } from "../../lib/parcel/claim.ts";
import { type Settlement, settleParcel } from "../../lib/parcel/settle.ts";
import { sweep } from "../../lib/parcel/sweep.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await noteGrouped(true);
});

afterEach(() => world.stop());

const lease = 10 * minute;
const digest = { target: { handler: "digest" }, group: "person:1" };
const due = { when: `at ${at(minute).toISOString()}` };
const failed = { kind: "retry", afterMs: second, error: "no" } as const;

const noteGrouped = (grouped: boolean) =>
  world.sql`select carillon.note_grouped(array['handler/digest'], array[${grouped}::boolean])`;

/** Makes a due job for each key, in a parcel of its schedule's shard. */
async function dueJobs(keys: readonly string[], body: object = digest): Promise<void> {
  for (const key of keys) await world.put(key, { ...due, ...body });
  await world.tick();
  world.queue.messages = [];
  await world.clock.setNow(at(minute));
}

async function claim(key: string, leaseMs = lease): Promise<Claimed> {
  const found = (await world.jobs(key)).find(({ state }) => state === "waiting");
  return claimParcel(world.sql, found?.parcelId ?? "0", leaseMs);
}

async function claimed(key: string, leaseMs = lease): Promise<ClaimedParcel> {
  const parcel = await claim(key, leaseMs);
  if (parcel.outcome !== "claimed") throw new Error(`The parcel of ${key} is ${parcel.outcome}.`);
  return parcel;
}

const keysOf = ({ jobs }: ClaimedParcel) => jobs.map(({ key }) => key).sort();

const settleEach = (parcel: ClaimedParcel, of: (key: string) => Settlement) =>
  settleParcel(
    world.sql,
    parcel,
    parcel.jobs.map(({ key }) => of(key)),
  );

const settle = (parcel: ClaimedParcel) => settleEach(parcel, () => ({ kind: "succeeded" }));

describe("a grouped handler", () => {
  test("a grouped handler gets all due jobs of its group together, of every shard and kind, and no others", async () => {
    await dueJobs(["a", "b", "c"]);
    await dueJobs(["other"], { ...digest, group: "person:2" });
    await dueJobs(["plain"], { ...digest, target: { handler: "greet" } });
    await fireNow({ sql: world.sql, queue: world.queue }, { key: "b", caller: { name: "ann" } });
    await world.put("later", { ...digest, when: `at ${at(2 * minute).toISOString()}` });
    await world.tick();
    const parcel = await claimed("b");
    expect(keysOf(parcel)).toEqual(["a", "b", "b", "c"]);
    expect(new Set(parcel.jobs.map(({ lane }) => lane))).toEqual(new Set(["grouped/digest/person:1"]));
    expect(keysOf(await claimed("other"))).toEqual(["other"]);
    expect(keysOf(await claimed("plain"))).toEqual(["plain"]);
    expect((await settle(parcel)).outgoing).toEqual([]);
    const states =
      await world.sql`select distinct state from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id where key in ('a', 'b', 'c')`;
    expect(states).toEqual([{ state: "succeeded" }]);
  });

  test("a grouped handler is called once at a time for a group: later jobs wait, and are handed over together", async () => {
    await dueJobs(["a", "b"]);
    const parcel = await claimed("a");
    await dueJobs(["c", "d"], { ...digest, when: `at ${at(minute - second).toISOString()}` });
    for (const key of ["c", "d"]) expect(await claim(key)).toMatchObject({ outcome: "empty", freed: [] });
    const { outgoing } = await settle(parcel);
    expect(outgoing).toHaveLength(1);
    const [next] = outgoing;
    const together = await claimParcel(world.sql, next?.id ?? "0", lease);
    expect(together.outcome === "claimed" && keysOf(together)).toEqual(["c", "d"]);
  });

  test("parcels that a grouped handler's jobs have left are found empty, and the other jobs in them go on", async () => {
    await dueJobs(["a", "b"]);
    await dueJobs(["mine"], { ...digest, group: "person:2" });
    await world.sql`update carillon.schedules set shard = 0`;
    await world.sql`update carillon.parcels set shard = 0`;
    const [b] = await world.jobs("b");
    const [mine] = await world.jobs("mine");
    await world.sql`delete from carillon.parcels where id = ${mine?.parcelId ?? "0"}`;
    await world.sql`update carillon.jobs set parcel_id = ${b?.parcelId ?? "0"} where parcel_id = ${mine?.parcelId ?? "0"}`;
    await world.sql`
      update carillon.parcels p set occurrences = j.occurrences, schedule_ids = j.schedule_ids
      from (select array_agg(occurrence) as occurrences, array_agg(schedule_id) as schedule_ids from carillon.jobs where parcel_id = ${b?.parcelId ?? "0"}) j
      where p.id = ${b?.parcelId ?? "0"}`;
    expect(keysOf(await claimed("a"))).toEqual(["a", "b"]);
    expect(keysOf(await claimed("mine"))).toEqual(["mine"]);
    expect(await claimParcel(world.sql, "0", lease)).toMatchObject({ outcome: "gone" });
  });

  test("a grouped handler gets 250 jobs at a time, and the others at once after them", async () => {
    await world.put("many", { ...digest, when: "every 1s", startsAt: at(0).toISOString() });
    await world.put("more", { ...digest, when: "every 1s", startsAt: at(0).toISOString() });
    await world.tick();
    await world.clock.setNow(at(3 * minute - 5 * second));
    world.queue.messages = [];
    const first = await claimed("many");
    expect(first.jobs).toHaveLength(250);
    const left = await world.sql<{ parcel: string }[]>`
      select distinct parcel_id as parcel from carillon.jobs where state = 'waiting' and parcel_id <> ${first.id} and due_at <= carillon.clock()`;
    for (const { parcel } of left)
      expect(await claimParcel(world.sql, parcel, lease)).toMatchObject({ outcome: "empty" });
    const { outgoing } = await settle(first);
    expect(outgoing).toHaveLength(1);
    const rest = await claimParcel(world.sql, outgoing[0]?.id ?? "0", lease);
    expect(rest.outcome === "claimed" && rest.jobs.length).toBeGreaterThan(90);
    expect(await world.sql`select from carillon.parcels where lane is not null`).toEqual([]);
  });

  test("a failed job of a grouped handler is retried at its own time, while the group goes on", async () => {
    await dueJobs(["a", "b"]);
    const { outgoing } = await settleEach(await claimed("a"), (key) =>
      key === "a" ? failed : { kind: "succeeded" },
    );
    expect(outgoing).toMatchObject([{ waitMs: second }]);
    await dueJobs(["c"]);
    const next = await claimed("c");
    expect(keysOf(next)).toEqual(["c"]);
    await world.clock.advance(second);
    expect(await claim("a")).toMatchObject({ outcome: "empty" });
    expect((await settle(next)).outgoing).toHaveLength(1);
    expect((await claimed("a")).jobs).toMatchObject([{ key: "a", attempt: 1 }]);
  });

  test("a grouped handler gets no job that is held, deleted, late, in the other queue, or of a shard under edit", async () => {
    await dueJobs(["a", "held", "gone", "moved", "editing"]);
    await dueJobs(["late"], { ...digest, deadline: "1s" });
    await world.clock.advance(5 * second);
    await world.pause("held");
    await world.remove("gone");
    await world.sql`update carillon.schedules set queue = 'fast' where key = 'moved'`;
    const [editing] = await world.sql<
      { shard: number }[]
    >`select shard from carillon.schedules where key = 'editing'`;
    const parcel = await world.sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(2, ${editing?.shard ?? 0}::int)`;
      return claimed("a");
    });
    expect(keysOf(parcel)).toEqual(["a"]);
    await settle(parcel);
    expect(keysOf(await claimed("editing"))).toEqual(["editing"]);
  });

  test("a claim of a parcel does not take a job back that a grouped handler has just taken from it", async () => {
    await dueJobs(["a", "moved"]);
    const [moved] = await world.jobs("moved");
    // The state after an edit has given the job this handler: its parcel is still of the other
    // queue.
    await world.sql`update carillon.parcels set queue = 'fast', target_id = null where id = ${moved?.parcelId ?? "0"}`;
    let other: Promise<unknown> | undefined;
    const [a] = await world.jobs("a");
    await world.sql.begin(async (tx) => {
      await tx`select from carillon.claim_parcel(${a?.parcelId ?? "0"}, ${lease})`;
      other = claimParcel(world.sql, moved?.parcelId ?? "0", lease);
      await until("the other claim waits for the job", async () => (await waitingLocks(world.sql)) > 0);
    });
    await other;
    expect(await world.jobs("moved")).toMatchObject([{ parcelId: a?.parcelId }]);
  });

  test("after a crash of a grouped handler's worker its jobs come back, each alone and none charged, and no other joins them", async () => {
    await dueJobs(["a", "b", "c"]);
    await claimed("a", 30 * second);
    await world.clock.advance(31 * second);
    const { outgoing } = await sweep(world.sql, world.log);
    expect(outgoing).toHaveLength(3);
    const attempts = await world.sql`select distinct attempt from carillon.jobs`;
    expect(attempts).toEqual([{ attempt: 0 }]);
    const b = await claimed("b");
    expect(keysOf(b)).toEqual(["b"]);
    expect(await claim("a")).toMatchObject({ outcome: "empty" });
    await settle(b);
    expect(keysOf(await claimed("a"))).toEqual(["a"]);
  });

  test("a job that kills a grouped handler's worker is charged in the end, and the others are delivered", async () => {
    await dueJobs(["a", "fatal", "c"]);
    const calls: string[] = [];
    for (;;) {
      const [ready] = await world.sql<{ id: string }[]>`
        select id from carillon.parcels where ready_at <= carillon.clock() and lease_until is null order by id limit 1`;
      if (ready === undefined) break;
      const parcel = await claimParcel(world.sql, ready.id, lease);
      if (parcel.outcome !== "claimed") continue;
      calls.push(keysOf(parcel).join("+"));
      if (!keysOf(parcel).includes("fatal")) await settle(parcel);
      else {
        await world.clock.advance(lease + 1);
        await sweep(world.sql, world.log);
      }
    }
    expect(calls.toSorted()).toEqual(["a", "a+c+fatal", "c", ...Array.from({ length: 5 }, () => "fatal")]);
    expect(await world.jobs("fatal")).toMatchObject([{ state: "dead", attempt: 5 }]);
  });

  test("a job of another shard that killed the worker is retried under that shard's gate", async () => {
    await dueJobs(["a", "b"]);
    const parcel = await claimed("a", 30 * second);
    const [b] = await world.sql<
      { id: string; shard: number }[]
    >`select id, shard from carillon.schedules where key = 'b'`;
    await world.sql`
      update carillon.jobs set state = 'succeeded', parcel_id = null, attempt = 1, started_at = due_at, finished_at = due_at
      where parcel_id = ${parcel.id} and schedule_id <> ${b?.id ?? "0"}`;
    await world.clock.advance(31 * second);
    await sweep(world.sql, world.log);
    expect(await world.sql`select shard from carillon.parcels where id = ${parcel.id}`).toEqual([
      { shard: b?.shard },
    ]);
  });

  test("a group goes on when a waiting job is held, and when the hold ends by itself", async () => {
    await dueJobs(["a", "b"]);
    const parcel = await claimed("a");
    await dueJobs(["c", "d"]);
    for (const key of ["c", "d"]) await claim(key);
    await world.pause("c", { until: at(3 * minute) });
    const { outgoing } = await settle(parcel);
    const next = await claimParcel(world.sql, outgoing[0]?.id ?? "0", lease);
    expect(next.outcome === "claimed" && keysOf(next)).toEqual(["d"]);
    if (next.outcome === "claimed") await settle(next);
    await world.clock.setNow(at(3 * minute));
    expect(keysOf(await claimed("c"))).toEqual(["c"]);
  });

  test("a grouped handler follows overlap rules: a schedule that forbids overlaps has one job at a time", async () => {
    await world.put("s", { ...digest, when: "every 10s", overlap: "queue" });
    await world.tick();
    await world.clock.setNow(at(30 * second));
    await world.work();
    expect(world.delivered.map(({ occurrence }) => occurrence)).toEqual(
      [1, 2, 3].map((n) => at(n * 10 * second).toISOString()),
    );
  });

  test("a group with many jobs does not delay the other groups of its grouped handler", async () => {
    await world.put("hot", { ...digest, when: "every 1s" });
    await world.tick();
    await dueJobs(["cold"], { ...digest, group: "person:2" });
    await claimed("hot");
    expect(keysOf(await claimed("cold"))).toEqual(["cold"]);
  });
});

test("with exactly the rights of each function, a group is gathered, edited, swept and left", async () => {
  await world.stop();
  world = await carillon({ roles: functionRoles });
  await noteGrouped(true);
  await dueJobs(["a", "b", "c", "d"]);
  await claimed("a", 30 * second);
  await dueJobs(["e", "f"]);
  for (const key of ["e", "f"]) await claim(key);
  await world.clock.advance(2 * minute);
  await world.pause("e");
  await world.remove("d");
  await world.tick();
  await world.work();
  expect(new Set(world.delivered.map(({ key }) => key))).toEqual(new Set(["a", "b", "c", "f"]));
  await world.resume("e");
  await world.work();
  expect(world.delivered.at(-1)).toMatchObject({ key: "e" });
});
