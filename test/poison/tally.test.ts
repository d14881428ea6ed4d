import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { OfNoRow } from "../../lib/quarantine/in-halves.ts";
import { readStats } from "../../lib/stats/stats.ts";
import { addTallies, rollUpApart } from "../../lib/tick/housekeeping/roll-up-apart.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { functionRoles } from "../support/role-logins.ts";
import { impatientTick, quarantined, told } from "./poison.ts";
import { lockedForPatient, type Spot } from "./row-poisons.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
  await world.put("a", { when: "in 300d" });
  await world.tick();
});

afterEach(() => world.stop());

/** A row of each table that is rolled up, which cannot be added until it is repaired. */
const bad = {
  tallies: {
    insert: "insert into carillon.tallies (at, fired) values (carillon.clock(), 13)",
    spoil:
      "insert into carillon.tallies (at, late_buckets, late_jobs) values (carillon.clock(), '{1}', '{}')",
    mend: "update carillon.tallies set late_jobs = '{1}'",
  },
  schedule_tallies: {
    insert: "insert into carillon.schedule_tallies (schedules, held) values (13, 0)",
    spoil: "insert into carillon.schedule_tallies (schedules, held) values (666, 0)",
    mend: "drop trigger refuse on carillon.schedule_tallies",
  },
  target_work: {
    insert: "insert into carillon.target_work (target_id, jobs, ms) select id, 1, 13 from carillon.targets",
    spoil: "insert into carillon.target_work (target_id, jobs, ms) select id, 1, 1e300 from carillon.targets",
    mend: "update carillon.target_work set ms = 13",
  },
};

const left = async (table: string) =>
  (await world.sql<{ count: number }[]>`select count(*)::int from carillon.${world.sql(table)}`)[0]?.count;

test.each(Object.entries(bad))(
  "A row of %s that cannot be added is set aside, does not stop the others, and is added once repaired",
  async (table, { insert, spoil, mend }) => {
    await world.sql.unsafe(`
      create function public.refuse() returns trigger language plpgsql as $$ begin
        if old.schedules = 666 then raise exception 'refused'; end if; return old; end $$;
      create trigger refuse before delete on carillon.schedule_tallies for each row execute function public.refuse()`);
    for (let each = 0; each < 5; each++) await world.sql.unsafe(insert);
    await world.sql.unsafe(spoil);
    for (let each = 0; each < 5; each++) await world.sql.unsafe(insert);
    await world.tick();
    expect(await left(table)).toBe(1);
    expect(await quarantined(world)).toMatchObject([
      { consumer: "tally", item: expect.stringMatching(`^${table} [(]0,\\d+[)]$`), tries: 1 },
    ]);
    expect(told(world)).toHaveLength(1);

    await world.sql.unsafe(insert);
    await world.tick();
    expect(await left(table)).toBe(1);
    expect(await quarantined(world)).toMatchObject([{ tries: 1 }]);
    await world.sql.unsafe(mend);
    await world.tick();
    expect(await left(table)).toBe(0);
    expect(await quarantined(world)).toEqual([]);
  },
);

test("The counts of other rows are reported and shown although one row cannot be added", async () => {
  for (let each = 0; each < 5; each++) await world.sql.unsafe(bad.tallies.insert);
  await world.sql.unsafe(bad.tallies.spoil);
  expect((await world.tick()).rolledUp).toMatchObject({ fired: 5 * 13 });
  expect(await world.sql`select fired::int from carillon.minutes where fired > 0`).toEqual([
    { fired: 5 * 13 },
  ]);
});

test("If the lock of a minute is not granted, the tick fails and sets no row of counts aside", async () => {
  await impatientTick(world);
  await world.sql.unsafe(bad.tallies.insert);
  await world.tick();
  await world.sql.unsafe(bad.tallies.insert);
  await world.sql.begin(async (tx) => {
    await tx`select from carillon.minutes for update`;
    await expect(world.tick()).rejects.toThrow("lock timeout");
    expect(await quarantined(world)).toEqual([]);
  });
  await world.tick();
  expect(await left("tallies")).toBe(0);
});

const theMinutes: Spot = { table: "minutes", condition: () => "true" };

test("A roll-up waits only briefly for the lock of a minute, and the next tick adds the remaining rows", async () => {
  await world.sql.unsafe(bad.tallies.insert);
  await world.tick();
  await world.sql.unsafe(bad.tallies.insert);
  await lockedForPatient(world, theMinutes, () => expect(world.tick()).rejects.toThrow("lock timeout"));
  await world.tick();
  expect(await left("tallies")).toBe(0);
});

test("If the lock of a minute is not granted while counts are added in halves, no row is set aside", async () => {
  await world.sql.unsafe(bad.tallies.insert);
  await world.tick();
  await world.sql.unsafe(bad.tallies.insert);
  const note = vi.fn();
  const add = (places: readonly string[]) => addTallies(world.as.tick, places);
  const apart = { sql: world.as.tick, log: world.log, timeIsUp: () => false };
  await world.sql.begin(async (tx) => {
    await tx`select from carillon.minutes for update`;
    await rollUpApart(apart, "tallies", add).catch(note);
  });
  expect(note).toHaveBeenCalledWith(expect.any(OfNoRow));
  expect(await quarantined(world)).toEqual([]);
});

test("Counts below zero read as zero, before and after they are rolled up, and other counts are still added", async () => {
  await world.sql`insert into carillon.tallies (at, succeeded) select carillon.clock(), 1 from generate_series(1, 5)`;
  await world.sql`
    insert into carillon.tallies (at, succeeded, failed, dead, cancelled, missed, pulses, pulses_lost, late_buckets, late_jobs)
    values (carillon.clock(), -100, -1, -1, -1, -1, -1, -1, '{1}', '{-1}')`;
  await world.sql`insert into carillon.schedule_tallies (schedules, held) values (-100, 200)`;
  const told = async () => {
    const { schedules, lastHour } = await readStats(world.as.api);
    const { from: _, lateness, pulses, fired: __, ...counts } = lastHour;
    return { schedules, counts, lateness: lateness.jobs, taken: pulses.taken, lost: pulses.lost };
  };
  const none = {
    schedules: { total: 0, active: 0, paused: 200, ended: 0, endedWithin: 0 },
    counts: { succeeded: 0, failed: 0, dead: 0, cancelled: 0, skipped: 0, missed: 0 },
    lateness: 0,
    taken: 0,
    lost: 0,
  };
  expect(await told()).toEqual(none);
  await world.tick();
  expect(await told()).toEqual(none);
  expect(await quarantined(world)).toMatchObject([{ consumer: "tally" }]);
  expect(await world.sql`select succeeded::int from carillon.minutes where succeeded <> 0`).toEqual([
    { succeeded: 5 },
  ]);
});
