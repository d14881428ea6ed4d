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

/** Runs hours of schedules of each kind, until the day on which they ran is dropped. */
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

/** Occurrences that ran twice for one schedule, as jobs of any kind. */
function ranTwice(): string[] {
  const ran = world.delivered.map(({ key, occurrence }) => `${key} ${occurrence}`);
  return ran.filter((each, index) => ran.indexOf(each) !== index);
}

const ranOnMonday = () => world.delivered.filter(({ occurrence }) => occurrence < "2026-03-03").length;

test("an occurrence whose job was dropped is not repeated by any part that makes occurrences", async () => {
  await ranAndForgotten();
  const ran = ranOnMonday();
  expect(ran).toBeGreaterThan(20);
  const put = (key: string, body: object) => world.put(key, body);

  // A backfill names the dropped occurrence by its time.
  for (const key of ["hourly", "cron"])
    await expect(
      backfillSchedule(
        { sql: world.sql, queue: world.queue },
        { key, from: at(0), to: at(4 * hour), limit: 100, caller },
      ),
    ).rejects.toMatchObject({ kind: "impossible" } satisfies Partial<Refusal>);
  // Other parts that make occurrences: the end of a hold that began later, edits of the cadence, of
  // its catch-up and of its beginning, and a put of the same body.
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
  // A time in the past is refused, alone or in a list.
  await expect(
    world.patch("listed", { when: ["at 2026-03-02T11:00", "at 2026-03-08T11:00"] }),
  ).rejects.toThrow("cannot be planned");
  await expect(put("once", { when: "at 2026-03-02T11:00", description: "again" })).rejects.toThrow();
  // A day without ticks, and then many ticks.
  await world.clock.advance(day);
  for (let passed = 0; passed < 3; passed++) {
    await world.clock.advance(minute);
    await tick();
  }
  expect(ranTwice()).toEqual([]);
  expect(ranOnMonday()).toBe(ran);
});

test("a shard whose watermark is weeks old makes its backlog once, and a later tick makes none of it again", async () => {
  await world.put("daily", { when: "every 1d", catchUp: { policy: "all" } });
  await world.clock.advance(20 * day);
  await tick();
  for (let passed = 0; passed < 3; passed++) {
    await world.clock.advance(minute);
    await tick();
  }
  expect(world.delivered.map(({ occurrence }) => occurrence)).toHaveLength(20);
  expect(ranTwice()).toEqual([]);
  // Jobs made for days long past are kept as long as jobs made today.
  expect((await world.jobs("daily")).length).toBe(20);
});
