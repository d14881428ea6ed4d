import { afterEach, beforeEach, expect, test } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { done } from "../../lib/target/delivery.ts";
import { settleTaken } from "../../lib/worker/settle-taken.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { mend, poison, quarantined, raised, told } from "./poison.ts";
import { idOf, together } from "./row-scenario.ts";

/**
 * Three groups of two jobs each share one parcel. The lane entry of one group's first job cannot be
 * written.
 */

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

const groups = ["bad", "good", "other"] as const;

async function threeGroups(): Promise<void> {
  for (const group of groups)
    for (const n of [1, 2])
      await world.put(`${group}-${n}`, {
        when: `at ${at(minute + n * second).toISOString()}`,
        group,
        serial: true,
      });
  await together(world);
  await world.tick();
  await world.clock.setNow(at(minute + 10 * second));
}

const spoil = async () =>
  poison(world.sql, "lane_entries", `old.schedule_id = ${await idOf(world, "bad-1")}`);

/** SQS moves a message to the dead-letter queue after ten receives. */
const roundsMax = 9;

/** Messages that stay on their queue come again at once. */
async function workUntilNoneStays(): Promise<void> {
  let stay = await world.work();
  for (let rounds = 0; stay.length > 0 && rounds < roundsMax; rounds++) {
    for (const body of stay) world.queue.put("fast", body);
    stay = await world.work();
  }
  expect(stay).toEqual([]);
}

async function minutes(count: number): Promise<void> {
  for (let each = 0; each < count; each++) {
    await world.clock.advance(minute);
    await world.tick();
    await workUntilNoneStays();
  }
}

const delivered = () => world.delivered.map(({ key }) => key);
const ofGroup = (group: string) => delivered().filter((key) => key.startsWith(group));

async function mendedInOrder(): Promise<void> {
  await mend(world.sql, "lane_entries");
  await minutes(8);
  expect(await quarantined(world)).toEqual([]);
  expect(ofGroup("bad")).toEqual(["bad-1", "bad-2"]);
  expect(delivered()).toHaveLength(6);
  expect((await world.jobs()).map(({ state }) => state)).toEqual(Array(6).fill("succeeded"));
  expect(await world.sql`select from carillon.parcels`).toEqual([]);
}

test("A job whose lane entry cannot be written waits in quarantine with its group, and other groups continue", async () => {
  await threeGroups();
  await spoil();
  await workUntilNoneStays();
  await minutes(3);
  expect(ofGroup("bad")).toEqual([]);
  expect(delivered().filter((key) => !key.startsWith("bad"))).toHaveLength(4);
  const [job] = await world.jobs("bad-1");
  expect(await quarantined(world)).toMatchObject([
    { consumer: "claim", item: job?.parcelId, reason: raised },
  ]);
  expect(told(world)).toContainEqual(["claim", job?.parcelId]);
  await mendedInOrder();
});

test("A job whose lane entry cannot be deleted is settled once, the next of its group waits in quarantine, and other groups continue", async () => {
  await threeGroups();
  world.outcome = async ({ key }) => {
    if (key === "bad-1") await spoil();
    return done;
  };
  await workUntilNoneStays();
  const others = ["good-1", "good-2", "other-1", "other-2"];
  expect(delivered().toSorted()).toEqual(["bad-1", ...others]);
  await minutes(3);
  expect(delivered()).toHaveLength(5);
  const [job] = await world.jobs("bad-2");
  expect(await quarantined(world)).toMatchObject([
    { consumer: "claim", item: job?.parcelId, reason: raised },
  ]);
  await mendedInOrder();
});

test("A dead worker's job whose lane entry cannot be deleted is retried alone, after jobs of other groups", async () => {
  await threeGroups();
  const [first] = await world.jobs("bad-1");
  world.queue.messages = [];
  const claimed = await claimParcel(world.as.worker, first?.parcelId ?? "0", 30 * second);
  expect(claimed).toMatchObject({ outcome: "claimed", jobs: { length: 3 } });
  // The job ends as cancelled, and so its lane entry has to be deleted.
  await world.sql`update carillon.jobs set cancel_asked = true where schedule_id = ${await idOf(world, "bad-1")}`;
  await spoil();
  await minutes(4);
  expect(delivered().toSorted()).toEqual(["good-1", "good-2", "other-1", "other-2"]);
  expect((await world.jobs("bad-1")).map(({ state }) => state)).toEqual(["cancelled"]);
  const [next] = await world.jobs("bad-2");
  expect(await quarantined(world)).toMatchObject([
    { consumer: "claim", item: next?.parcelId, reason: raised },
  ]);
  await mend(world.sql, "lane_entries");
  await minutes(8);
  expect(await quarantined(world)).toEqual([]);
  expect(ofGroup("bad")).toEqual(["bad-2"]);
});

test("A parcel whose jobs were settled by their own transactions ends, although a lane entry cannot be deleted", async () => {
  await threeGroups();
  const [first] = await world.jobs("bad-1");
  const claimed = await claimParcel(world.as.worker, first?.parcelId ?? "0", minute);
  if (claimed.outcome !== "claimed") throw new Error("It was not claimed.");
  await spoil();
  await world.sql`
    update carillon.jobs set state = 'succeeded', attempt = 1, parcel_id = null, ready_at = null, started_at = carillon.clock(), finished_at = carillon.clock()
    where parcel_id = ${claimed.id}`;
  const { queue, log, clock } = world;
  const deps = {
    sql: world.as.worker,
    queue,
    log,
    clock,
    deliver: async () => [],
    notify: [],
    random: () => 1,
    window: null,
  };
  const settled = await settleTaken(
    deps,
    claimed,
    claimed.jobs.map(() => null),
    { timeLeftMs: () => minute },
  );
  expect(settled.held).toBe(true);
  expect(await world.sql`select from carillon.parcels where id = ${claimed.id}`).toEqual([]);
});
