import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { backfillSchedule } from "../../lib/job-control/backfill.ts";
import { retryJob } from "../../lib/job-control/retry-jobs.ts";
import { lookAtDays } from "../../lib/retention/past-days.ts";
import { failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { dropPastDays } from "../support/drop-past-days.ts";
import { at, day, minute } from "../support/instants.ts";
import { until } from "../support/until.ts";

const caller = { name: "ann" };
const retentionDays = 2;

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const monday = "jobs_20260302";
const drop = () => dropPastDays(world, retentionDays);
const look = () => lookAtDays(world, retentionDays, () => false);

async function dayIsKept(): Promise<boolean> {
  const [row] = await world.sql<
    { kept: boolean }[]
  >`select to_regclass(${`carillon.${monday}`}) is not null as kept`;
  return row?.kept ?? false;
}

/** On Monday `once` runs, and fails if `fails`; then this number of days passes without a tick. */
async function mondayAnd(days: number, { fails = false } = {}): Promise<void> {
  if (fails) world.outcome = () => failed("no");
  await world.put("once", { when: "in 1m", retry: { attempts: 1 } });
  await world.tick();
  await world.clock.advance(minute);
  await world.work();
  await world.clock.advance(days * day);
  await world.sql`update carillon.shards set watermark_at = carillon.clock()`;
}

describe("a day of jobs", () => {
  test("a day in which a dead job is retried is kept for as long as the day on which the retry ran", async () => {
    await mondayAnd(2, { fails: true });
    const id = `1-${at(minute).getTime()}-c0`;
    await retryJob({ sql: world.sql, queue: world.queue }, { id, reason: "mended", caller });
    await world.clock.advance(10 * minute);
    expect(await drop()).not.toContain(monday);
    await world.work();
    await world.clock.setNow("2026-03-06T23:59:59Z");
    expect(await drop()).not.toContain(monday);
    await world.clock.setNow("2026-03-07T00:00:00Z");
    expect(await drop()).toContain(monday);
    expect(await world.sql`select from carillon.stirred_days`).toEqual([]);
  });

  test("a day to which a backfill adds jobs later is kept for as long as the day on which those jobs ran", async () => {
    await world.put("minutes", { when: "every 1m", catchUp: { policy: "skip" } });
    await world.clock.advance(2 * day);
    await world.tick();
    await backfillSchedule(
      { sql: world.sql, queue: world.queue },
      { key: "minutes", from: at(minute), to: at(3 * minute), limit: 10, caller },
    );
    await world.work();
    await world.clock.setNow("2026-03-06T12:00:00Z");
    expect(await drop()).not.toContain(monday);
    await world.clock.setNow("2026-03-07T00:00:00Z");
    expect(await drop()).toContain(monday);
  });

  test("a day that is written to between the drop's check and its lock is kept", async () => {
    await mondayAnd(3);
    await world.sql`select carillon.look_at_day('2026-03-02')`;
    // On any machine the drop waits until the writer has committed.
    await world.sql`alter function carillon.drop_day_of_jobs set lock_timeout = '1min'`;
    const dropping = connect({ DATABASE_URL: world.databaseUrl }, { max: 1, applicationName: "dropping" });
    const dropped = await world.sql.begin(async (tx) => {
      await tx`update carillon.jobs set error = 'looked at' where occurrence = ${at(minute)}`;
      const answer = dropping<
        { gone: boolean }[]
      >`select carillon.drop_day_of_jobs('2026-03-02', '2 days', false) as gone`.execute();
      await until("the drop waits for its lock", async () => {
        const [waits] = await world.sql`
          select from pg_stat_activity where datname = current_database() and application_name = 'dropping'
            and (wait_event = 'PgSleep' or wait_event_type = 'Lock')`;
        return waits !== undefined;
      });
      return { answer };
    });
    expect(await dropped.answer).toEqual([{ gone: false }]);
    await dropping.end();
    expect(await dayIsKept()).toBe(true);
  });

  test("days that are long over are dropped in one tick, the oldest first", async () => {
    await mondayAnd(4);
    await world.sql`select carillon.attach_days('2026-02-25', '2026-02-27')`;
    const dropped = (await drop()).filter((name) => name.startsWith("jobs_"));
    expect(dropped).toEqual([
      "jobs_20260225",
      "jobs_20260226",
      "jobs_20260227",
      "jobs_20260301",
      "jobs_20260302",
      "jobs_20260303",
    ]);
    expect(await world.sql`select kept_from from carillon.retention`).toEqual([
      { kept_from: new Date("2026-03-04T00:00:00Z") },
    ]);
  });

  test("to keep a day with a waiting job, the drop looks at one parcel of it, and searches again only when that parcel is gone", async () => {
    await world.put("stuck", { when: "in 1m" });
    await world.put("stuck too", { when: "in 2m" });
    await world.tick();
    await world.clock.advance(4 * day);
    await world.sql`update carillon.shards set watermark_at = carillon.clock()`;
    expect(await drop()).not.toContain(monday);
    const witness = () => world.sql<{ parcel_id: string }[]>`select parcel_id from carillon.open_days`;
    const [first] = await witness();
    await world.sql`delete from carillon.parcels where id = ${first?.parcel_id ?? ""}`;
    expect(await drop()).not.toContain(monday);
    const [second] = await witness();
    expect(second).not.toEqual(first);
    await world.sql`delete from carillon.parcels`;
    await settleAll();
    await world.clock.advance(4 * day);
    await world.sql`update carillon.shards set watermark_at = carillon.clock()`;
    expect(await drop()).toContain(monday);
    expect(await witness()).toEqual([]);
  });
});

async function settleAll(): Promise<void> {
  await world.sql`
    update carillon.jobs set state = 'cancelled', reason = 'command', parcel_id = null, finished_at = carillon.clock() where state = 'waiting'`;
}

describe("a day of jobs that is past the retention", () => {
  test("a day is kept while a shard may still write to it, also if another tick has that shard", async () => {
    await mondayAnd(4);
    await world.sql`update carillon.shards set watermark_at = ${at(day - minute)} where id = 9`;
    expect(await drop()).not.toContain(monday);
    await world.sql`update carillon.shards set watermark_at = ${at(2 * day)} where id = 9`;
    expect(await drop()).toContain(monday);
  });

  test("a day is kept while one of its jobs waits, also if its parcel is gone", async () => {
    await world.put("lost", { when: "in 1m" });
    await world.tick();
    await world.sql`delete from carillon.parcels`;
    await world.clock.advance(4 * day);
    await world.sql`update carillon.shards set watermark_at = carillon.clock()`;
    expect(await drop()).not.toContain(monday);
    expect(await drop()).not.toContain(monday);
    await settleAll();
    await world.clock.advance(4 * day);
    await world.sql`update carillon.shards set watermark_at = carillon.clock()`;
    expect(await drop()).toContain(monday);
  });
});

describe("the check of all jobs of a day", () => {
  const settled = async () => {
    const rows = await world.sql<
      { day: string }[]
    >`select day::text from carillon.past_days('2 days') where not to_look order by day`;
    return rows.map((row) => row.day);
  };
  const looks = () => world.sql<{ day: string; look: string }[]>`
    select day::text, xmin::text as look from carillon.looked_days order by 1`;

  test("all jobs of a day are checked once", async () => {
    await mondayAnd(4);
    expect(await settled()).toEqual([]);
    await look();
    expect(await settled()).toEqual(["2026-03-01", "2026-03-02", "2026-03-03"]);
    const before = await looks();
    await look();
    expect(await looks()).toEqual(before);
    await drop();
    expect(await looks()).toEqual([]);
  });

  test("all jobs of a day are checked again if the day has been written to since", async () => {
    await mondayAnd(4);
    await look();
    const before = await looks();
    await world.sql`update carillon.jobs set error = 'looked at' where occurrence = ${at(minute)}`;
    expect(await settled()).not.toContain("2026-03-02");
    await world.clock.advance(4 * day);
    await world.sql`update carillon.shards set watermark_at = carillon.clock()`;
    await look();
    expect(await settled()).toContain("2026-03-02");
    const after = await looks();
    expect(after[0]).toEqual(before[0]);
    expect(after[1]).not.toEqual(before[1]);
  });
});

/** Whether the writer's statement waits for a lock behind the drop's own. */
async function isWriterBehindDrop(): Promise<boolean> {
  const rows = await world.sql`
    select from pg_stat_activity writer
    where writer.datname = current_database() and writer.application_name = 'writing' and exists (
      select from unnest(pg_blocking_pids(writer.pid)) blocking join pg_stat_activity other on other.pid = blocking
      where other.query like '%drop_day_of_jobs%')`;
  return rows.length > 0;
}

describe("a drop", () => {
  test("a drop gives up while a reader has the table, lets the writers behind it proceed, and succeeds when the reader is gone", async () => {
    await mondayAnd(3);
    await look();
    await world.sql`select carillon.drop_day_of_jobs('2026-03-01', '2 days', false)`;
    const busy = connect({ DATABASE_URL: world.databaseUrl }, { max: 2, applicationName: "writing" });
    let over = false;
    const write = async () => {
      while (!over)
        await busy`update carillon.jobs set error = 'x' where occurrence = ${at(day)} and schedule_id = 9`;
    };
    await world.sql.begin(async (reader) => {
      await reader`select count(*) from carillon.jobs`;
      const writing = [write(), write()];
      let seen = false;
      const watching = until("a writer waits behind the drop", isWriterBehindDrop).then(() => {
        seen = true;
      });
      // A drop waits for short moments only: on a slow machine it may take several before a writer
      // is seen behind it.
      const dropping = async () => {
        do await expect(drop()).rejects.toMatchObject({ code: "55P03" });
        while (!seen && !over);
      };
      try {
        await Promise.all([watching, dropping()]);
      } finally {
        over = true;
      }
      // The reader still has the table.
      await Promise.all(writing);
    });
    expect(await drop()).toContain(monday);
    await busy.end();
  });

  test("a drop waits for its locks 50 ms at most, and 250 ms for a day that could have been dropped the day before", async () => {
    await world.sql`create table public.drops (name text, lock_timeout text)`;
    await world.sql`
      create function public.note_drop() returns event_trigger language plpgsql as $$ begin
        insert into public.drops select object_name, current_setting('lock_timeout')
        from pg_event_trigger_dropped_objects() where object_type = 'table' and object_name ~ '^(jobs|plan)_[0-9]{8}$'; end $$`;
    await world.sql`create event trigger note_drop on sql_drop execute function public.note_drop()`;
    await mondayAnd(4);
    await drop();
    const noted = await world.sql<{ name: string; timeout: string }[]>`
      select name, lock_timeout as timeout from public.drops order by name`;
    expect(noted.map(({ name, timeout }) => `${name} ${timeout}`)).toEqual([
      "jobs_20260301 250ms",
      "jobs_20260302 250ms",
      "jobs_20260303 50ms",
      "plan_20260301 50ms",
      "plan_20260302 50ms",
      "plan_20260303 50ms",
    ]);
  });
});
