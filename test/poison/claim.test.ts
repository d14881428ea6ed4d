import { afterEach, beforeEach, expect, test } from "vitest";
import { explain } from "../../lib/explain/explain.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { setClaimAside } from "../../lib/parcel/claims-aside.ts";
import { retryEntries } from "../../lib/quarantine/entries.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { due, oneParcel } from "../support/parcels.ts";
import { connectAsMember, functionRoles } from "../support/role-logins.ts";
import { mend, poison, quarantined, raised, told } from "./poison.ts";
import { rowPoisons } from "./row-poisons.ts";
import { idOf } from "./row-scenario.ts";

/** The claim fails on one parcel, or on one of its jobs, each time. */

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

const bad = "job-2";

/** The claim cancels the job of a deleted schedule, and that write fails. */
async function uncancellable(): Promise<void> {
  await world.sql`update carillon.schedules set deleted_at = carillon.clock() where key = ${bad}`;
  await poison(world.sql, "jobs", `old.schedule_id = ${await idOf(world, bad)}`);
}

async function minutes(count: number): Promise<void> {
  for (let each = 0; each < count; each++) {
    await world.clock.advance(minute);
    await world.tick();
    await world.work();
  }
}

/** Messages that stay on their queue come again at once. */
async function workUntilNoneStays(): Promise<void> {
  for (let stay = await world.work(); stay.length > 0; stay = await world.work())
    for (const body of stay) world.queue.put("fast", body);
}

const stateOf = async (key: string) => (await world.jobs(key)).map(({ state }) => state);
const worked = (event: string) => world.log.lines.filter((line) => line.event === event);

test("A job whose claim fails is alone in quarantine after a few messages, and is claimed once repaired", async () => {
  await oneParcel(world, 5);
  await uncancellable();
  await workUntilNoneStays();
  expect(world.delivered.map(({ key }) => key).toSorted()).toEqual(["job-0", "job-1", "job-3", "job-4"]);
  const [job] = await world.jobs(bad);
  expect(await quarantined(world)).toEqual([
    { consumer: "claim", item: job?.parcelId, reason: raised, tries: 1 },
  ]);
  expect(await world.sql`select schedule_id as id from carillon.quarantine`).toEqual([
    { id: await idOf(world, bad) },
  ]);
  await mend(world.sql, "jobs");
  await minutes(2);
  expect(await stateOf(bad)).toEqual(["cancelled"]);
  expect(await quarantined(world)).toEqual([]);
});

test("The message of a parcel that cannot be claimed leaves the queue, and the parcel is claimed by the first tick after its retry is due", async () => {
  const id = await oneParcel(world, 1);
  await poison(world.sql, "parcels", `old.id = ${id}`);
  expect(await world.work()).toEqual([]);
  expect(await quarantined(world)).toEqual([{ consumer: "claim", item: id, reason: raised, tries: 1 }]);
  expect(told(world)).toEqual([["claim", id]]);
  expect(worked("worker.failed")).toEqual([]);
  expect(await explain(world.as.api, { key: "job-0", at: due })).toMatchObject({
    sentence: expect.stringContaining("because `claim` failed on it once"),
  });
  expect(JSON.stringify(world.log.lines)).not.toContain("poisoned");

  await minutes(8);
  expect(await quarantined(world)).toEqual([{ consumer: "claim", item: id, reason: raised, tries: 4 }]);
  expect(world.queue.messages).toEqual([]);
  // The sweep did not send this parcel: its row cannot be marked as sent, and neither could the
  // rows of the parcels sent with it.
  expect(worked("parcel.unmarked")).toEqual([]);
  await mend(world.sql, "parcels");
  expect(await retryEntries(world.as.api, { filter: { consumer: "claim" }, limit: 10 })).toMatchObject({
    done: 1,
  });
  await minutes(1);
  expect(await stateOf("job-0")).toEqual(["succeeded"]);
  await minutes(1);
  expect(await quarantined(world)).toEqual([]);
});

test("A parcel whose message is lost at a retry is sent again a minute later", async () => {
  const id = await oneParcel(world, 1);
  await poison(world.sql, "parcels", `old.id = ${id}`);
  await world.work();
  await mend(world.sql, "parcels");
  world.queue.fate = () => "lost";
  await minutes(1);
  world.queue.fate = () => "arrives";
  await world.clock.advance(minute);
  for (let ticks = 0; ticks < 2; ticks++) await world.tick();
  expect(world.queue.messages).toHaveLength(1);
  await world.work();
  expect(await stateOf("job-0")).toEqual(["succeeded"]);
});

test("The quarantine entry of a parcel is dropped when another message led to a claim, or when the parcel no longer exists", async () => {
  const id = await oneParcel(world, 1);
  await poison(world.sql, "parcels", `old.id = ${id}`);
  await world.work();
  await mend(world.sql, "parcels");
  await world.sql`
    insert into carillon.quarantine (consumer, item, reason, first_at, last_at, tries, next_at)
    select 'claim', item, 'no', carillon.clock(), carillon.clock(), 1, 'infinity' from unnest(array['77', 'x/1']) item`;
  expect(await claimParcel(world.as.worker, id, 10 * minute)).toMatchObject({ outcome: "claimed" });
  await world.tick();
  expect(await quarantined(world)).toEqual([]);
});

test("A parcel under the lease of another worker is not set aside for a claim that failed before", async () => {
  const id = await oneParcel(world, 1);
  await claimParcel(world.as.worker, id, minute);
  const deps = { sql: world.as.worker, log: world.log };
  expect(await setClaimAside(deps, id, new Error("no"))).toBe(false);
  expect(await quarantined(world)).toEqual([]);
});

test("A claim that fails on a lock sets no parcel aside, and its message comes again", async () => {
  const id = await oneParcel(world, 1);
  const { worker } = world.as;
  const impatient = await connectAsMember(world.sql, world.databaseUrl, "carillon_worker", 1);
  await impatient`set lock_timeout = '100ms'`;
  world.as.worker = impatient;
  await world.sql.begin(async (tx) => {
    await tx`select from carillon.parcels where id = ${id} for update`;
    expect(await world.work()).toHaveLength(1);
  });
  await worker.end();
  expect(await quarantined(world)).toEqual([]);
});

/** Each write of the parcel is cancelled during `act`, as if it had met its statement timeout. */
const whileItHangs = (id: string, act: () => Promise<unknown>) =>
  rowPoisons.slow.during(world, { table: "parcels", condition: (row) => `${row}.id = ${id}` }, act);

test("A parcel whose claim takes too long once is not set aside, and is claimed by the tick's next message", async () => {
  const id = await oneParcel(world, 1);
  await whileItHangs(id, async () => {
    expect(await world.work()).toHaveLength(1);
  });
  expect(await quarantined(world)).toEqual([]);
  await minutes(1);
  expect(await stateOf("job-0")).toEqual(["succeeded"]);
});

test("A parcel whose claim takes too long with each of four messages is set aside, and is claimed once repaired", async () => {
  const id = await oneParcel(world, 1);
  await whileItHangs(id, () => world.work());
  for (let sent = 0; (await quarantined(world)).length === 0; sent++) {
    expect(sent).toBeLessThan(3);
    while (world.queue.messages.length === 0) {
      await world.clock.advance(minute);
      await world.tick();
    }
    await whileItHangs(id, () => world.work());
  }
  expect(await quarantined(world)).toMatchObject([
    { consumer: "claim", item: id, tries: 1, reason: expect.stringContaining("57014") },
  ]);
  await minutes(2);
  expect(await stateOf("job-0")).toEqual(["succeeded"]);
});
