import { afterEach, beforeEach, expect, test } from "vitest";
import { closeGate } from "../../lib/db/locks.ts";
import { applyOperations } from "../../lib/plan/apply-operations.ts";
import { putCalendar } from "../../lib/plan/calendar-edits.ts";
import { readSchedule } from "../../lib/plan/read-schedule.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { impatientTick } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(async () => {
  await world.stop();
});

const unknownZone = "Mars/Olympus_Mons";

/** All in one shard, whose rows are then worked together. */
async function together(): Promise<void> {
  await world.sql`update carillon.schedules set shard = 3`;
  await world.sql`update carillon.plan set shard = 3`;
  await world.sql`update carillon.plan_far set shard = 3`;
}

const inQuarantine = () =>
  world.sql<{ key: string; reason: string; tries: number }[]>`
    select s.key, q.reason, q.tries from carillon.quarantine q join carillon.schedules s on s.id = q.schedule_id
    where q.consumer = 'plan' order by s.key`;

const occurrencesOf = async (key: string) =>
  (await world.jobs(key))
    .filter(({ state }) => state !== "skipped")
    .map(({ occurrence }) => occurrence.toISOString());

const zoneOf = (from: string, to: string) =>
  world.sql`update carillon.cadences set timezone = ${to} where timezone = ${from}`;

/** No job of this schedule can be written, until the trigger is dropped. */
async function refuseJobsOf(key: string): Promise<void> {
  const [refused] = await world.sql<{ id: string }[]>`select id from carillon.schedules where key = ${key}`;
  await world.sql.unsafe(`
    create function carillon.test_refuse() returns trigger language plpgsql as
      $$ begin if new.schedule_id = ${refused?.id} then raise exception 'a secret'; end if; return new; end $$;
    create trigger test_refuse before insert on carillon.jobs for each row execute function carillon.test_refuse()`);
}

/** The next ticks until the retries of the quarantine have come. */
async function ticks(count: number): Promise<void> {
  for (let each = 0; each < count; each++) {
    await world.clock.advance(minute);
    await world.tick();
  }
}

test.each([
  ["without a calendar", {}],
  ["with a calendar", { calendar: { name: "c", on: "next" } }],
])(
  "A schedule (%s) that cannot be read is patched, beside others, and goes on in its zone",
  async (_, by) => {
    const deps = { sql: world.sql, queue: world.queue };
    const rules = { dates: [], weekly: ["sat"], except: [] } as const;
    await putCalendar(deps, { name: "c", body: { description: null, rules }, caller: { name: "ann" } });
    await world.put("bad", { when: "*/5 * * * *", timezone: "Asia/Tokyo", ...by });
    await world.put("good", { when: "*/5 * * * *" });
    await zoneOf("Asia/Tokyo", unknownZone);
    await ticks(3);
    const patches = ["bad", "good"].map((key) => ({
      kind: "patch" as const,
      key,
      patch: { payload: "new" },
      caller: { name: "ann" },
    }));
    expect(await applyOperations(deps, patches)).toMatchObject([
      { change: "changed" },
      { change: "changed" },
    ]);
    await zoneOf(unknownZone, "Asia/Tokyo");
    await ticks(12);
    expect(await inQuarantine()).toEqual([]);
    expect(await world.sql`select distinct timezone from carillon.cadences`).toHaveLength(2);
    expect((await occurrencesOf("bad")).length).toBeGreaterThan(1);
    expect((await readSchedule(world.sql, "bad"))?.body).toMatchObject({
      payload: "new",
      timezone: "Asia/Tokyo",
    });
  },
);

test("A schedule that waits in quarantine is deleted though it still cannot be planned", async () => {
  await world.put("bad", { when: "*/2 * * * *" });
  await refuseJobsOf("bad");
  await ticks(5);
  expect(await inQuarantine()).toMatchObject([{ key: "bad" }]);
  await world.remove("bad");
  expect(await readSchedule(world.sql, "bad")).toBeNull();
  expect(await inQuarantine()).toEqual([]);
});

test("A shard that is locked puts off none of its schedules that wait in quarantine", async () => {
  for (const key of ["one", "two"]) await world.put(key, { when: "*/5 * * * *", timezone: "Asia/Tokyo" });
  await together();
  await zoneOf("Asia/Tokyo", unknownZone);
  await ticks(3);
  await zoneOf(unknownZone, "Asia/Tokyo");
  const before = await inQuarantine();
  expect(before).toMatchObject([{ key: "one" }, { key: "two" }]);
  await world.clock.advance(10 * minute);
  await impatientTick(world);
  await world.sql.begin(async (tx) => {
    await closeGate(tx, 3);
    await expect(world.tick()).rejects.toThrow("lock timeout");
    expect(await inQuarantine()).toEqual(before);
  });
  await world.tick();
  expect(await inQuarantine()).toEqual([]);
});
