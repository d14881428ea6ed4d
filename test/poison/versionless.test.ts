import { afterEach, beforeEach, expect, test } from "vitest";
import { explain } from "../../lib/explain/explain.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { listEntries } from "../../lib/quarantine/entries.ts";
import { readStanding } from "../../lib/stats/standing.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { due, oneParcel } from "../support/parcels.ts";
import { functionRoles } from "../support/role-logins.ts";
import { quarantined, told } from "./poison.ts";
import { apart, idOf } from "./row-scenario.ts";

/**
 * Schedules whose row in carillon.schedule_versions is missing, as after a restore of single
 * tables, once the tick has made their jobs.
 */

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

const bad = "job-2";
const reason = "The stored version 1 has no row in carillon.schedule_versions.";

/** Deletes the version of a schedule; the returned function restores it. */
async function loseVersion(key: string): Promise<() => Promise<void>> {
  const id = await idOf(world, key);
  await world.sql`create table public.lost as select * from carillon.schedule_versions where schedule_id = ${id}`;
  await world.sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`delete from carillon.schedule_versions where schedule_id = ${id}`;
  });
  return async () => {
    await world.sql`insert into carillon.schedule_versions select * from public.lost`;
  };
}

async function minutes(count: number): Promise<void> {
  for (let each = 0; each < count; each++) {
    await world.clock.advance(minute);
    await world.tick();
    expect(await world.work()).toEqual([]);
  }
}

const states = async (key: string) => (await world.jobs(key)).map(({ state }) => state);
const delivered = () => world.delivered.map(({ key }) => key);

test("A job without the row of its version is set aside by its claim, and its neighbours are delivered with the same message", async () => {
  await oneParcel(world, 5);
  await loseVersion(bad);
  expect(await world.work()).toEqual([]);
  expect(delivered()).toEqual(["job-0", "job-1", "job-3", "job-4"]);
  const [job] = await world.jobs(bad);
  expect(job).toMatchObject({ state: "waiting", attempt: 0 });
  expect(await quarantined(world)).toEqual([{ consumer: "claim", item: job?.parcelId, reason, tries: 1 }]);
  expect(told(world)).toEqual([["claim", job?.parcelId]]);
  expect(await readStanding(world.as.api)).toMatchObject({ waiting: 1, quarantined: { count: 1 } });
  expect(await listEntries(world.as.api, { filter: { key: bad }, limit: 10 })).toMatchObject({
    items: [{ key: bad, reason }],
  });
  expect(await explain(world.as.api, { key: bad, at: due })).toMatchObject({
    sentence: expect.stringContaining(`because \`claim\` failed on it once (${reason})`),
  });
});

test("A job that was set aside without the row of its version is retried later each time, and runs once the row is back", async () => {
  await oneParcel(world, 1);
  const putBack = await loseVersion("job-0");
  await world.work();
  await minutes(8);
  expect(await quarantined(world)).toMatchObject([{ consumer: "claim", reason, tries: 4 }]);
  expect(world.queue.messages).toEqual([]);
  await putBack();
  await minutes(8);
  expect(await states("job-0")).toEqual(["succeeded"]);
  expect(await quarantined(world)).toEqual([]);
  expect(await world.sql`select from carillon.parcels`).toEqual([]);
});

/**
 * Jobs are due half way between two ticks: a claim then sees entries whose retry is due, and none
 * of the same moment.
 */
const often = { when: "every 1m", startsAt: at(30 * second).toISOString() };

async function halfMinutes(count: number): Promise<void> {
  for (let each = 0; each < count; each++) {
    await world.clock.advance(30 * second);
    if (world.clock.now().getTime() % minute === 0) await world.tick();
    expect(await world.work()).toEqual([]);
  }
}

test("Jobs of one schedule without the row of its version share a parcel and an entry, and all run once the row is back", async () => {
  await world.put("often", often);
  await world.tick();
  const putBack = await loseVersion("often");
  await halfMinutes(24);
  expect(await quarantined(world)).toMatchObject([{ consumer: "claim", reason, tries: 4 }]);
  await putBack();
  await halfMinutes(12);
  expect(delivered()).toHaveLength(18);
  expect(await quarantined(world)).toEqual([]);
});

test("Jobs of one schedule that were set aside by two claims at once are joined by the next retry, with the tries of both", async () => {
  await world.put("often", often);
  await world.tick();
  await loseVersion("often");
  await halfMinutes(8);
  const [first] = await quarantined(world);
  expect(first).toMatchObject({ tries: 3 });
  await world.sql.begin(async (tx) => {
    await tx`select from carillon.parcels where id = ${first?.item ?? ""} for update`;
    await halfMinutes(1);
  });
  expect(await quarantined(world)).toMatchObject([{ tries: 3 }, { tries: 1 }]);
  await halfMinutes(7);
  expect(await quarantined(world)).toMatchObject([{ reason, tries: 4 }]);
});

test("A put of a schedule without the row of its version runs its jobs by the new version", async () => {
  await oneParcel(world, 1);
  await loseVersion("job-0");
  await world.work();
  await world.put("job-0", { when: `at ${at(5 * minute).toISOString()}`, payload: "new" });
  await minutes(8);
  expect(new Set(await states("job-0"))).toEqual(new Set(["succeeded"]));
  expect(new Set(world.delivered.map(({ payload }) => payload))).toEqual(new Set(["new"]));
  expect(await quarantined(world)).toEqual([]);
});

test("A job that was set aside without the row of its version stays in quarantine while its target is full", async () => {
  await world.sql`insert into carillon.targets (name, concurrency) values ('handler/h', 1)`;
  for (const [index, key] of ["a", "b"].entries())
    await world.put(key, {
      when: `at ${at((index + 1) * minute).toISOString()}`,
      target: { handler: "h" },
    });
  await apart(world);
  await world.tick();
  await loseVersion("a");
  await minutes(1);
  const [next] = await world.jobs("b");
  await world.clock.advance(minute);
  const claimed = await claimParcel(world.as.worker, next?.parcelId ?? "", 10 * minute);
  expect(claimed).toMatchObject({ outcome: "claimed" });
  await minutes(2);
  expect(await quarantined(world)).toMatchObject([{ consumer: "claim", reason, tries: 2 }]);
});

test.each([
  ["whose concurrency is limited", 1, null],
  ["whose share of the workers is full", null, 1],
] as const)(
  "A job without the row of its version takes no place at a target %s",
  async (_, concurrency, window) => {
    world.window = window;
    await world.sql`insert into carillon.targets (name, concurrency, share) values ('handler/h', ${concurrency}, ${window})`;
    const keys = ["a", "b", "c", "d"];
    for (const [index, key] of keys.entries())
      await world.put(key, {
        when: `at ${at(minute + index * second).toISOString()}`,
        target: { handler: "h" },
      });
    await apart(world);
    await world.tick();
    const putBack = await loseVersion("a");
    await world.clock.setNow(at(minute + 5 * second));
    await minutes(3);
    expect(delivered().toSorted()).toEqual(["b", "c", "d"]);
    expect(await quarantined(world)).toMatchObject([{ consumer: "claim", reason, tries: 2 }]);
    await putBack();
    await minutes(8);
    expect(delivered().slice(3)).toEqual(["a"]);
    expect(await quarantined(world)).toEqual([]);
  },
);

test("A run that waits in a lane without the row of its version is set aside with its reason, and runs once the row is back", async () => {
  await oneParcel(world, 2, { overlap: "queue" });
  const putBack = await loseVersion("job-0");
  await world.work();
  expect(delivered()).toEqual(["job-1"]);
  expect(await quarantined(world)).toMatchObject([{ consumer: "claim", reason, tries: 1 }]);
  await putBack();
  await minutes(2);
  expect(await states("job-0")).toEqual(["succeeded"]);
});
