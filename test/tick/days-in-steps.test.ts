import { afterEach, beforeEach, expect, test } from "vitest";
import { attachDays } from "../../lib/tick/days.ts";
import { tick, tickDefaults } from "../../lib/tick/tick.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { day, minute, monday } from "../support/instants.ts";

/**
 * After a long stop the tick attaches a day for each day passed. It does so in steps, because each
 * day takes a lock on each table and index that it makes.
 */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

interface AttachedDay {
  day: string;
  /** The transactions that made the tables of the day. */
  transactions: string[];
}

const attachedSince = (from: string) => world.sql<AttachedDay[]>`
  select right(c.relname, 8) as day, array_agg(distinct c.xmin::text) as transactions
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent in ('carillon.plan'::regclass, 'carillon.jobs'::regclass, 'carillon.attempts'::regclass) and right(c.relname, 8) > ${from}
  group by 1 order by 1`;

const stoppedDays = 20;
const onceItIsNow = () => new Date(Date.parse(monday) + stoppedDays * day);
const last = "20260305";

/** Time is up after this many checks. */
function upAfter(looks: number): () => boolean {
  let left = looks;
  return () => left-- <= 0;
}

const tickUntil = (timeIsUp: () => boolean) => {
  const { sql, queue, log } = world;
  return tick({ sql, queue, log }, tickDefaults, timeIsUp);
};

test("After a long stop, each missing day is attached in a transaction of its own", async () => {
  await world.clock.setNow(onceItIsNow());
  await world.tick();
  const days = await attachedSince(last);
  expect(days).toHaveLength(stoppedDays);
  expect(days.map(({ transactions }) => transactions.length)).toEqual(days.map(() => 1));
  expect(new Set(days.flatMap(({ transactions }) => transactions)).size).toBe(stoppedDays);
});

test("Current days are attached before past ones; if time is up, the next tick continues with the oldest of those left", async () => {
  await world.clock.setNow(onceItIsNow());
  const seen: string[][] = [];
  const days = async () => (await attachedSince(last)).map((each) => each.day);
  const now = ["20260321", "20260322", "20260323", "20260324", "20260325"];
  expect(await attachDays(world.sql, upAfter(0), () => seen.push([]))).toBe(false);
  expect(seen).toEqual([[]]);
  expect(await days()).toEqual(now);
  expect(await attachDays(world.sql, upAfter(2), () => {})).toBe(false);
  expect(await days()).toEqual(["20260306", "20260307", ...now]);
  expect(
    await attachDays(
      world.sql,
      () => false,
      () => {},
    ),
  ).toBe(true);
  expect(await days()).toHaveLength(stoppedDays);
  // No day is left for which time is checked.
  expect(await attachDays(world.sql, upAfter(0), () => {})).toBe(true);
});

test("A day without one of its tables is attached", async () => {
  await world.sql`drop table carillon.attempts_20260303`;
  await world.tick();
  expect((await attachedSince("20260302"))[0]).toMatchObject({
    day: "20260303",
    transactions: [{}, {}].map(() => expect.any(String)),
  });
});

test("If time is up while days are attached, no shard's near line rises past the attached ones, and no occurrence is lost", async () => {
  await world.put("passed", { when: "at 2026-03-12T09:00" });
  await world.put("minute", { when: `at ${new Date(onceItIsNow().getTime() + minute).toISOString()}` });
  await world.clock.setNow(onceItIsNow());
  const lines = async () =>
    (await world.sql<{ at: Date }[]>`select distinct near_until as at from carillon.shards`).map(
      (row) => row.at,
    );
  const before = await lines();
  await tickUntil(upAfter(3));
  expect(await lines()).toEqual(before);
  expect(await world.jobs()).toEqual([]);
  await world.tick();
  expect((await world.jobs()).map(({ key }) => key)).toEqual(["passed", "minute"]);
});

test("A shard that is not behind fires while the days of one that is behind cannot be attached", async () => {
  await world.clock.setNow(onceItIsNow());
  await world.sql`select carillon.attach_days('2026-03-21', '2026-03-22')`;
  await world.sql`
    update carillon.shards set watermark_at = ${new Date(onceItIsNow().getTime() - minute)}, near_until = ${new Date("2026-03-23T00:00:00Z")}
    where id <> 9`;
  await world.put("minute", { when: "in 1m" });
  await world.sql.unsafe(`
    alter function carillon.attach_days(date, date) rename to attach_days_really;
    create function carillon.attach_days(p_from date, p_to date) returns int language plpgsql as $$ begin
      if p_from < '2026-03-21' then raise exception 'the lock is taken' using errcode = '55P03'; end if;
      return carillon.attach_days_really(p_from, p_to); end $$`);
  await world.tick();
  expect((await world.jobs()).map(({ key }) => key)).toEqual(["minute"]);
  const lines = await world.sql<{ behind: boolean; at: Date }[]>`
    select distinct id = 9 as behind, near_until as at from carillon.shards order by 1`;
  expect(lines).toEqual([
    { behind: false, at: new Date("2026-03-25T00:00:00Z") },
    { behind: true, at: new Date("2026-03-05T00:00:00Z") },
  ]);
});
