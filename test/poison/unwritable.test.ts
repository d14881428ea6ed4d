import { afterEach, beforeEach, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import { pauseLabel, resumeLabel } from "../../lib/batch/label-holds.ts";
import type { Operation } from "../../lib/batch/operation.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { planSteps } from "./plan-steps.ts";
import { quarantined, told } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

const { inQuarantine, occurrencesOf, refuseJobsOf, ticks } = planSteps(() => world);

const keys = ["bad", "good"] as const;
const every2 = { when: "*/2 * * * *", catchUp: { policy: "all" } };

const writable = () => world.sql`drop trigger test_refuse on carillon.jobs`;

/**
 * Makes two equal schedules. The jobs of one of them cannot be written, so that it is set aside.
 */
async function refusedFor(minutes: number, body: object = every2): Promise<void> {
  for (const key of keys) await world.put(key, body);
  await refuseJobsOf("bad");
  await ticks(minutes);
}

async function sameInTheEnd(): Promise<void> {
  expect(await quarantined(world)).toEqual([]);
  expect(await world.sql`select from carillon.backlog`).toHaveLength(0);
  const good = await occurrencesOf("good");
  expect(good.length).toBeGreaterThan(3);
  expect(await occurrencesOf("bad")).toEqual(good);
}

type Edit = (key: string) => Promise<unknown>;

const caller = { name: "ann" };
const command = (of: (key: string) => Operation): Edit => {
  return async (key) => {
    const applied = await applyOperations({ sql: world.sql, queue: world.queue }, [of(key)]);
    expect(applied).toMatchObject([{ change: "changed" }]);
  };
};
const pausedFor =
  (ms: number): Edit =>
  (key) =>
    world.pause(key, { until: new Date(world.clock.now().getTime() + ms) });

const edits: [string, Edit, Edit?][] = [
  ["paused, and resumed", (key) => world.pause(key), (key) => world.resume(key)],
  ["paused for 20 minutes", pausedFor(20 * minute)],
  ["paused for two minutes", pausedFor(2 * minute)],
  ["patched in its payload", (key) => world.patch(key, { payload: { now: true } })],
  ["patched in its cadence", (key) => world.patch(key, { when: "*/3 * * * *" })],
  [
    "patched twice in its cadence",
    async (key) => {
      await world.patch(key, { when: "* * * * *" });
      await world.patch(key, { when: "*/3 * * * *" });
    },
  ],
  [
    "patched so that its jobs are due later",
    (key) => world.patch(key, { when: "*/3 * * * *", spread: "1m" }),
  ],
  ["put again", (key) => world.put(key, { ...every2, when: "*/5 * * * *" })],
  ["patched by a command", command((key) => ({ kind: "patch", key, caller, patch: { payload: "new" } }))],
  [
    "paused by a command, and resumed",
    command((key) => ({ kind: "pause", key, caller })),
    command((key) => ({ kind: "resume", key, caller })),
  ],
];

test.each(edits)(
  "A schedule whose jobs cannot be written is %s, and no due occurrence is lost",
  async (_, edit, then) => {
    await refusedFor(7);
    expect(await inQuarantine()).toMatchObject([{ key: "bad" }]);
    for (const key of keys) await edit(key);
    await ticks(4);
    for (const key of keys) await then?.(key);
    await ticks(2);
    expect(JSON.stringify(world.log.lines)).not.toContain("a secret");
    await writable();
    await ticks(30);
    await sameInTheEnd();
  },
);

test.each(edits)(
  "A schedule is %s although its edit is the first to fail on its jobs",
  async (_, edit, then) => {
    for (const key of keys) await world.put(key, every2);
    await ticks(1);
    await refuseJobsOf("bad");
    for (const key of keys) await edit(key);
    for (const key of keys) await then?.(key);
    await writable();
    await ticks(30);
    await sameInTheEnd();
  },
);

test("Jobs that could not be written are made later, by the rules of the version they belong to", async () => {
  await refusedFor(7, { when: "*/2 * * * *", catchUp: { policy: "all" } });
  for (const key of keys) await world.patch(key, { catchUp: { policy: "skip" }, when: "*/15 * * * *" });
  await ticks(2);
  expect(told(world).map(([consumer]) => consumer)).toContain("backlog");
  await writable();
  await ticks(30);
  await sameInTheEnd();
});

test("Backlog jobs that an edit leaves because they cannot be written count against the limit", async () => {
  await refusedFor(7, { ...every2, maxFires: 5 });
  for (const key of keys) await world.patch(key, { payload: { now: true } });
  await writable();
  await ticks(16);
  await sameInTheEnd();
  expect(await world.sql`select fires from carillon.schedules`).toEqual([{ fires: 5 }, { fires: 5 }]);
});

test("Unwritten jobs of a deleted schedule are in the ledger as deleted", async () => {
  await refusedFor(7);
  const { scheduleId } = (
    await world.sql<{ scheduleId: string }[]>`
    select id as "scheduleId" from carillon.schedules where key = 'bad'`
  )[0] ?? { scheduleId: "" };
  await world.remove("bad");
  expect(await readSchedule(world.sql, "bad")).toBeNull();
  await ticks(2);
  expect(await quarantined(world)).toEqual([]);
  expect(
    await world.sql`
      select reason, count::int from carillon.passed_over where schedule_id = ${scheduleId}`,
  ).toEqual([{ reason: "deleted", count: 3 }]);
});

test("A group is paused and resumed, including its member whose jobs cannot be written", async () => {
  for (const key of keys) await world.put(key, { ...every2, group: "shop" });
  const params = { label: { scope: "group", name: "shop" } as const, caller };
  const heldNow = async () =>
    (await world.sql`select from carillon.schedules where held_since is not null`).length;
  await refuseJobsOf("bad");
  await ticks(7);
  await pauseLabel(world, params);
  expect(await heldNow()).toBe(2);
  await ticks(4);
  await resumeLabel(world, params);
  expect(await heldNow()).toBe(0);
  await writable();
  await ticks(30);
  await sameInTheEnd();
});
