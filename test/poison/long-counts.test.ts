import { afterEach, beforeEach, expect, test } from "vitest";
import { applyEditsInside } from "../../lib/batch/edits-inside.ts";
import { pauseLabel, resumeLabel } from "../../lib/batch/label-holds.ts";
import type { Acceptance } from "../../lib/command/acceptance.ts";
import { applyBatch } from "../../lib/command/apply-batch.ts";
import { deleteEnded } from "../../lib/job-control/delete-ended.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { retryPlans } from "../../lib/tick/fire/retry-plans.ts";
import { clearHolds } from "../../lib/tick/housekeeping/clear-ended-holds.ts";
import { tickDefaults } from "../../lib/tick/tick.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute } from "../support/instants.ts";
import { planSteps, unknownZone } from "./plan-steps.ts";
import { quarantined } from "./poison.ts";

let world: Carillon;

const keys = Array.from({ length: 30 }, (_, n) => `m-${n}`);
const caller = { name: "ann" };
const label = { scope: "group", name: "shop" } as const;
const atOnce = { most: 100, timeIsUp: () => false };
const raise = (error: unknown) => {
  throw error;
};

beforeEach(async () => {
  world = await carillon();
  for (const key of keys)
    await world.put(key, { when: "* * * * *", timezone: "Asia/Tokyo", group: label.name });
  await planSteps(() => world).together();
});

afterEach(() => world.stop());

/** A machine on which counting the missed runs of one schedule takes a tenth of a second. */
function slowly() {
  const { sql, queue, log } = world;
  let ms = 0;
  const now = () => {
    ms += 100;
    return ms;
  };
  return { sql, queue: { ...queue, timing: { ...queue.timing, now } }, log };
}

/** Moves the clock, as if ticks had run each minute until then. */
async function passTo(moment: Date): Promise<void> {
  await world.clock.setNow(moment);
  await world.sql`update carillon.shards set watermark_at = ${moment}, reached_at = ${moment}, pulsed_to = ${moment}`;
}

/** How many of these rows each transaction has written. */
async function together(rows: string): Promise<number[]> {
  const found = await world.sql.unsafe<{ n: number }[]>(
    `select count(*)::int as n from ${rows} group by r.xmin order by 1 desc`,
  );
  return found.map(({ n }) => n);
}

const most = 5;

test("A resume of a group whose missed runs take long to count uses transactions of few members", async () => {
  await pauseLabel(world, { label, caller }, atOnce);
  await passTo(at(3 * hour));
  const { done } = await resumeLabel(slowly(), { label, caller }, atOnce);
  expect(done).toBe(keys.length);
  const resumed = await together("carillon.schedule_versions r where change = 'resumed'");
  expect(Math.max(...resumed)).toBeLessThanOrEqual(most);
  expect(await world.sql`select from carillon.holds`).toEqual([]);
});

test("Holds that end together, and whose missed runs take long to count, are removed in transactions of few schedules", async () => {
  await pauseLabel(world, { label, caller, until: at(3 * hour) }, atOnce);
  await passTo(at(3 * hour + minute));
  await clearHolds({ ...slowly(), timeIsUp: () => false, note: raise });
  expect(await world.sql`select from carillon.holds`).toEqual([]);
  const noted = await together("carillon.passed_over r");
  expect(noted.reduce((sum, n) => sum + n)).toBe(keys.length);
  expect(Math.max(...noted)).toBeLessThanOrEqual(most);
  expect(await quarantined(world)).toEqual([]);
});

test("Schedules in quarantine whose missed runs take long to count are retried in transactions of few", async () => {
  const { zoneOf } = planSteps(() => world);
  await zoneOf("Asia/Tokyo", unknownZone);
  await world.tick();
  expect(await quarantined(world)).toHaveLength(keys.length);
  await zoneOf(unknownZone, "Asia/Tokyo");
  await passTo(at(3 * hour));
  const total = { batches: 0, jobs: 0, parcels: 0, finished: true };
  await retryPlans({
    ...slowly(),
    settings: tickDefaults,
    timeIsUp: () => false,
    total,
    rated: [],
    note: raise,
  });
  expect(await quarantined(world)).toEqual([]);
  const planned = await together("carillon.plan r where due_at > '2026-03-02 12:59Z'");
  expect(Math.max(...planned)).toBeLessThanOrEqual(most);
});

test("Ended schedules whose end takes long to compute are deleted in transactions of few", async () => {
  const endsAt = at(1.5 * minute).toISOString();
  for (const key of keys) await world.patch(key, { deleteOnEnd: true, endsAt });
  await world.tick();
  await world.clock.setNow(at(2 * minute));
  await world.work();
  await world.sql`update carillon.schedules set end_look_at = carillon.clock()`;
  expect(await deleteEnded(slowly(), { timeIsUp: () => false, note: raise })).toBe(keys.length);
  const deleted = await together("carillon.schedules r where deleted_at is not null");
  expect(deleted.reduce((sum, n) => sum + n)).toBe(keys.length);
  expect(Math.max(...deleted)).toBeLessThanOrEqual(most);
  expect(await quarantined(world)).toEqual([]);
});

test("A handler's edits are refused if their missed runs take longer to count than a job's transaction may last, and a single such edit is done", async () => {
  const { now } = slowly().queue.timing;
  const body = parseScheduleBody({ when: "*/5 * * * *", target: { queue: "demo" } });
  const put = (some: readonly string[]) =>
    world.sql.begin((tx) =>
      applyEditsInside(
        tx,
        some.map((key) => ({ kind: "put" as const, key, body })),
        { author: "handler:a", parcelId: "0", schedules: [], now: () => 2 * now() },
      ),
    );
  await pauseLabel(world, { label, caller, until: at(3 * hour) }, atOnce);
  await passTo(at(3 * hour + minute));
  await expect(put(keys)).rejects.toThrow("took longer than the 3 s that a job's transaction allows");
  expect(await world.sql`select from carillon.schedule_versions where change = 'replaced'`).toEqual([]);
  await put(keys.slice(0, 1));
  expect(await world.sql`select from carillon.schedule_versions where change = 'replaced'`).toHaveLength(1);
});

const acceptance = {} as Acceptance;

test("A batch whose missed runs take long to count is done in parts, and an atomic one is refused", async () => {
  const inputs = (verb: string) => keys.map((key) => ({ input: { [verb]: key }, caller }));
  await applyBatch({ ...slowly(), acceptance }, inputs("pause"));
  await passTo(at(3 * hour));
  const whole = applyBatch({ ...slowly(), acceptance }, inputs("resume"), { allOrNothing: true });
  await expect(whole).rejects.toMatchObject({
    name: "Refusal",
    message: "Unfolding the due occurrences of 30 schedules takes more than 500 ms. Send fewer at once.",
  });
  const done = await applyBatch({ ...slowly(), acceptance }, inputs("resume"));
  expect(new Set(done.map(({ change }) => change))).toEqual(new Set(["changed"]));
});
