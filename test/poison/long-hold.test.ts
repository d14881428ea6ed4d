import { afterEach, beforeEach, expect, test } from "vitest";
import { pauseLabel } from "../../lib/batch/label-holds.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, minute } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

/**
 * Members are walked and released in parts of 200 and less: 10,000 would take ten times as long and
 * show no more.
 */
const members = 1_000;
const label = { scope: "group", name: "shop" } as const;
const caller = { name: "ann" };
const until = at(365 * day);

/** Schedules of one hourly cron; the first one is put, and the others are copies of its rows. */
async function putMembers(): Promise<void> {
  await world.put("m-0", { when: "0 * * * *", group: label.name });
  await world.sql`
    with first as (select * from carillon.schedules where key = 'm-0'), made as (
      insert into carillon.schedules (key, shard, queue, target_kind, target_id, group_key, tags, created_at, created_by, updated_at, updated_by)
      select 'm-' || i, i % 16, f.queue, f.target_kind, f.target_id, f.group_key, f.tags, f.created_at, f.created_by, f.updated_at, f.updated_by
      from first f, generate_series(1, ${members - 1}) i
      returning id, shard
    ), versions as (
      insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, cadence_id, body, target, payload)
      select m.id, 1, 'created', v.changed_at, v.changed_by, 1, false, v.cadence_id, v.body, v.target, v.payload
      from made m, first f join carillon.schedule_versions v on v.schedule_id = f.id
    )
    insert into carillon.plan (due_at, occurrence, schedule_id, every_ms, version, cadence_id, governed, shard)
    select p.due_at, p.occurrence, m.id, p.every_ms, 1, p.cadence_id, p.governed, m.shard
    from made m, first f join carillon.plan p on p.schedule_id = f.id`;
}

/**
 * Moves the clock, as if a tick had run each minute until then: only the end of the hold is left to
 * do.
 */
async function passTo(moment: Date): Promise<void> {
  await world.clock.setNow(moment);
  const near = new Date(Math.floor(moment.getTime() / day) * day);
  await world.sql`update carillon.shards set watermark_at = ${moment}, reached_at = ${moment}, near_until = ${near}, pulsed_to = ${moment}`;
  await world.tick();
}

const count = async (what: string) => {
  const [row] = await world.sql.unsafe<{ n: number }[]>(`select count(*)::int as n ${what}`);
  return row?.n ?? 0;
};
const held = () => count("from carillon.schedules where held_since is not null");

test("A hold of a year on a thousand members is set on all by one tick, and ends for all, while other schedules fire on time", async () => {
  await putMembers();
  await pauseLabel(world, { label, caller, until }, { most: 0, timeIsUp: () => false });
  await world.put("beside", { when: "in 2m" });
  await world.tick();
  expect(await held()).toBe(members);
  expect(await world.jobs("beside")).toHaveLength(1);

  await passTo(new Date(until.getTime() - 10 * minute));
  await world.put("beside the end", { when: "in 11m" });
  await world.clock.setNow(until);
  await world.tick();
  expect(await world.jobs("beside the end")).toHaveLength(1);
  // Two of 8,760 occurrences: the newest missed one, and the one that is due now.
  expect(
    await count(
      "from carillon.jobs where state = 'waiting' and schedule_id in (select id from carillon.schedules where group_key = 'shop')",
    ),
  ).toBe(2 * members);
  await world.clock.advance(minute);
  await world.tick();
  expect(await count("from carillon.holds")).toBe(0);
  expect(await count("from carillon.quarantine")).toBe(0);
});
