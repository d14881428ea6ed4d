import { afterEach, beforeEach, expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { day, hour, minute } from "../support/instants.ts";
import { until } from "../support/until.ts";

/**
 * Cadences are stored once for all schedules that share them; a cadence that no version names any
 * more is deleted.
 */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.sql`update carillon.cadence_round set look_at = carillon.clock()`;
});

afterEach(() => world.stop());

const reclaim = () =>
  world.sql<{ looked: number; gone: number }[]>`select looked, gone from carillon.reclaim_cadences(1000)`;
const stored = async () =>
  (await world.sql<{ expression: string }[]>`select expression from carillon.cadences order by id`).map(
    (row) => row.expression,
  );
const unused = (...expressions: string[]) => world.sql`
  insert into carillon.cadences (expression, timezone) select e, 'UTC' from unnest(${expressions}::text[]) e`;

test("a cadence is deleted with the last version that names it, and kept while there is one", async () => {
  await world.put("once named", { when: "17 3 * * *" });
  await world.put("named twice", { when: "18 3 * * *" });
  await world.put("still there", { when: "18 3 * * *" });
  await world.put("edited", { when: "19 3 * * *" });
  await world.patch("edited", { when: "20 3 * * *" });
  for (const key of ["once named", "named twice"]) await world.remove(key);
  await world.tick();
  expect(await stored()).toHaveLength(4);
  await world.clock.advance(40 * day);
  await world.tick({ retentionDays: 7 });
  await world.clock.advance(hour);
  await world.tick({ retentionDays: 7 });
  expect(await world.sql`select key from carillon.schedules order by key`).toEqual([
    { key: "edited" },
    { key: "still there" },
  ]);
  expect(await stored()).toEqual(["18 3 * * *", "19 3 * * *", "20 3 * * *"]);
  expect(world.log.lines).toContainEqual({
    level: "info",
    event: "tick.cadences-reclaimed",
    fields: { cadences: 1 },
  });
});

test("the reclaim reads a bounded number of cadences in a step, continues behind them in the next, and pauses an hour between rounds", async () => {
  await world.put("kept", { when: "1 1 * * *" });
  await unused("a", "b", "c");
  const step = () => world.sql`select looked, gone from carillon.reclaim_cadences(2)`;
  const comes = async () => {
    const rows =
      await world.sql`select place, look_at - carillon.clock() = '1 hour' as "inAnHour" from carillon.cadence_round`;
    return rows[0];
  };
  expect(await step()).toEqual([{ looked: 2, gone: 1 }]);
  expect(await comes()).toEqual({ place: 2, inAnHour: false });
  expect(await step()).toEqual([{ looked: 2, gone: 2 }]);
  expect(await step()).toEqual([{ looked: 0, gone: 0 }]);
  expect(await comes()).toEqual({ place: 0, inAnHour: true });
  expect(await stored()).toEqual(["1 1 * * *"]);
});

test("a tick reads no cadence while the next round of the reclaim is not due", async () => {
  await world.tick();
  await unused("a");
  await world.clock.advance(hour - minute);
  await world.tick();
  expect(await stored()).toEqual(["a"]);
  await world.clock.advance(minute);
  await world.tick();
  expect(await stored()).toEqual([]);
});

test("the reclaim skips a cadence that an edit is about to use, and keeps it when the edit has committed", async () => {
  await unused("17 3 * * *");
  const edit = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
  await edit.begin(async (tx) => {
    const [row] = await tx<{ id: number }[]>`select carillon.keep_cadence(id) as id from carillon.cadences`;
    expect(await reclaim()).toEqual([{ looked: 1, gone: 0 }]);
    expect(row?.id).toBe(1);
  });
  await edit.end();
  await world.put("named", { when: "17 3 * * *" });
  expect(await reclaim()).toEqual([{ looked: 1, gone: 0 }]);
  expect(await stored()).toEqual(["17 3 * * *"]);
});

test("an edit whose cadence is being reclaimed waits for that, and makes the cadence again", async () => {
  await unused("17 3 * * *");
  const reclaiming = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
  const putting: Promise<unknown>[] = [];
  await reclaiming.begin(async (tx) => {
    expect(await tx`select looked, gone from carillon.reclaim_cadences(1000)`).toEqual([
      { looked: 1, gone: 1 },
    ]);
    putting.push(world.put("named", { when: "17 3 * * *" }));
    await until("the edit waits", async () => {
      const [waits] = await world.sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%keep_cadence%'`;
      return waits !== undefined;
    });
  });
  await Promise.all(putting);
  await reclaiming.end();
  expect(await stored()).toEqual(["17 3 * * *"]);
  expect(
    await world.sql`
    select s.key, c.id from carillon.schedules s join carillon.schedule_versions v on v.schedule_id = s.id
    join carillon.cadences c on c.id = v.cadence_id`,
  ).toEqual([{ key: "named", id: 2 }]);
});

test("a plan row that outlives its schedule and its cadence is dropped, and stops no shard", async () => {
  await world.put("gone", { when: "*/2 * * * *" });
  await world.put("goes on", { when: "every 1m" });
  await world.tick();
  await world.sql`update carillon.schedules set version = version + 1, spec_version = version + 1 where key = 'gone'`;
  await world.sql`update carillon.shards set watermark_at = carillon.clock()`;
  await world.sql`alter table carillon.schedule_versions disable trigger user`;
  await world.sql`delete from carillon.schedule_versions where cadence_id is not null`;
  expect(await reclaim()).toEqual([{ looked: 1, gone: 1 }]);
  const before = (await world.jobs("goes on")).length;
  await world.clock.advance(5 * minute);
  await world.tick();
  expect((await world.jobs("goes on")).length).toBeGreaterThan(before);
  expect(await stored()).toEqual([]);
});
