import { afterEach, beforeEach, expect, test } from "vitest";
import { backfillSchedule } from "../../lib/job-control/backfill.ts";
import type { Refusal } from "../../lib/refusal.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute } from "../support/instants.ts";

const retentionDays = 1;
const caller = { name: "ann" };

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

async function tick(): Promise<void> {
  await world.tick({ retentionDays });
  await world.work();
}

/** Hours of schedules of each kind, all of which ran, until the day they ran on is gone. */
async function ranAndForgotten(): Promise<void> {
  const all = { catchUp: { policy: "all" } };
  await world.put("hourly", { when: "every 1h", ...all });
  await world.put("cron", { when: "30 * * * *", ...all });
  await world.put("once", { when: "at 2026-03-02T11:00" });
  await world.put("listed", { when: ["at 2026-03-02T11:00", "at 2026-03-09T11:00"], ...all });
  for (let passed = 0; passed < 14; passed++) {
    await world.clock.advance(hour);
    await tick();
  }
  await world.pause("hourly");
  await world.pause("cron");
  await world.clock.setNow("2026-03-05T10:00:00Z");
  await tick();
  expect(await world.sql`select to_regclass('carillon.jobs_20260302') as gone`).toEqual([{ gone: null }]);
}

/** What ran twice, of one schedule and one occurrence, whatever its kind. */
function ranTwice(): string[] {
  const ran = world.delivered.map(({ key, occurrence }) => `${key} ${occurrence}`);
  return ran.filter((each, index) => ran.indexOf(each) !== index);
}

const ranOnMonday = () => world.delivered.filter(({ occurrence }) => occurrence < "2026-03-03").length;

test("an occurrence whose job is gone comes again in none of the ways in which occurrences come", async () => {
  await ranAndForgotten();
  const ran = ranOnMonday();
  expect(ran).toBeGreaterThan(20);
  const put = (key: string, body: object) => world.put(key, body);

  // A backfill asks for it by its time.
  for (const key of ["hourly", "cron"])
    await expect(
      backfillSchedule(
        { sql: world.sql, queue: world.queue },
        { key, from: at(0), to: at(4 * hour), limit: 100, caller },
      ),
    ).rejects.toMatchObject({ kind: "impossible" } satisfies Partial<Refusal>);
  // The end of a hold that began after it, an edit of the cadence, of its catch-up, of its beginning; the same body again.
  await world.resume("hourly");
  await tick();
  await world.resume("cron");
  await world.patch("cron", { when: "0,30 * * * *" });
  await put("hourly", {
    when: "every 1h",
    startsAt: "2026-03-02T10:00:00Z",
    catchUp: { policy: "all", within: null },
  });
  await tick();
  await world.patch("hourly", { catchUp: { policy: "all", limit: 1_000 } });
  await tick();
  // A time that is past is refused, not run, alone or in a list.
  await expect(
    world.patch("listed", { when: ["at 2026-03-02T11:00", "at 2026-03-08T11:00"] }),
  ).rejects.toThrow("cannot be planned");
  await expect(put("once", { when: "at 2026-03-02T11:00", description: "again" })).rejects.toThrow();
  // Ticks that do not come for a day, and many that do.
  await world.clock.advance(day);
  for (let passed = 0; passed < 3; passed++) {
    await world.clock.advance(minute);
    await tick();
  }
  expect(ranTwice()).toEqual([]);
  expect(ranOnMonday()).toBe(ran);
});

test("a shard whose watermark stands where it stood weeks ago makes what was owed, once, and a later tick nothing of it", async () => {
  await world.put("daily", { when: "every 1d", catchUp: { policy: "all" } });
  await world.clock.advance(20 * day);
  await tick();
  for (let passed = 0; passed < 3; passed++) {
    await world.clock.advance(minute);
    await tick();
  }
  expect(world.delivered.map(({ occurrence }) => occurrence)).toHaveLength(20);
  expect(ranTwice()).toEqual([]);
  // What was made for days long past is kept for as long as what was made today.
  expect((await world.jobs("daily")).length).toBe(20);
});
