import type { AlarmClock } from "../../clock.ts";
import type { Sql } from "../../db/connect.ts";
import { attachDays } from "../../tick/days.ts";

/** The clock of a test database, which the test moves, and its copy for the program. */
export interface DatabaseClock extends AlarmClock {
  /** Moves the clock, also back in time. Sleeps that have reached their end wake. */
  setNow(at: Date | string): Promise<void>;
  advance(ms: number): Promise<void>;
  /** Lets the clock run by itself, at this multiple of real time; 0 stops it. */
  run(factor: number): Promise<void>;
  /** The moment at which the next sleep ends or the next alarm rings; infinite if there is none. */
  nextAlarm(): number;
}

interface Sleeper {
  until: number;
  wake(): void;
}

/**
 * Replaces `carillon.clock()`, from which every statement reads the time, and prepares the database
 * as if it had been migrated at `start`. The clock stands still until it is moved. Every role may
 * call the replaced clock, as it may the real one.
 */
export async function databaseClock(sql: Sql, start: Date | string): Promise<DatabaseClock> {
  let base = new Date(start).getTime();
  let realBase = Date.now();
  let factor = 0;
  let sleepers: Sleeper[] = [];
  const now = () => (factor === 0 ? base : Math.floor(base + (Date.now() - realBase) * factor));
  const wake = () => {
    const due = sleepers.filter(({ until }) => until <= now()).sort((a, b) => a.until - b.until);
    sleepers = sleepers.filter((sleeper) => !due.includes(sleeper));
    for (const sleeper of due) sleeper.wake();
  };
  const move = async (at: number, speed: number) => {
    const real = Date.now();
    await sql`
      update carillon.test_clock set base = ${new Date(at)}, real_base = ${new Date(real)}, factor = ${speed}`;
    [base, realBase, factor] = [at, real, speed];
    wake();
  };
  const alarm = (ms: number, ring: () => void) => {
    const sleeper = { until: now() + ms, wake: ring };
    sleepers.push(sleeper);
    if (factor > 0) setTimeout(wake, Math.ceil(ms / factor) + 1);
    return () => {
      sleepers = sleepers.filter((other) => other !== sleeper);
    };
  };

  await install(sql, new Date(base));
  return {
    now: () => new Date(now()),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted || ms <= 0) return resolve();
        const leave = alarm(ms, resolve);
        signal?.addEventListener("abort", () => {
          leave();
          resolve();
        });
      }),
    alarm,
    setNow: (at) => move(new Date(at).getTime(), factor),
    advance: (ms) => move(now() + ms, factor),
    run: (speed) => move(now(), speed),
    nextAlarm: () => sleepers.reduce((next, { until }) => Math.min(next, until), Number.POSITIVE_INFINITY),
  };
}

async function install(sql: Sql, at: Date): Promise<void> {
  const [known] = await sql`select to_regclass('carillon.test_clock') is not null as installed`;
  if (known?.["installed"] === true) {
    const [clock] = await sql<{ base: Date }[]>`select base from carillon.test_clock where factor = 0`;
    if (clock?.base.getTime() === at.getTime()) return;
    await sql`update carillon.test_clock set base = ${at}, factor = 0`;
  } else {
    await replaceClock(sql, at);
  }
  await beginAt(sql, at);
}

async function replaceClock(sql: Sql, at: Date): Promise<void> {
  await sql.unsafe(`
    create table carillon.test_clock (base timestamptz not null, real_base timestamptz not null, factor float8 not null);
    create or replace function carillon.clock() returns timestamptz language sql volatile parallel safe security definer
      as $$ select date_trunc('milliseconds', base + (clock_timestamp() - real_base) * factor) from carillon.test_clock $$`);
  await sql`insert into carillon.test_clock values (${at}, clock_timestamp(), 0)`;
}

/**
 * Makes the days and shards as the migrations would have made them at that moment. The database is
 * empty otherwise.
 */
async function beginAt(sql: Sql, at: Date): Promise<void> {
  const days = await sql<{ name: string }[]>`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
    where p.relnamespace = 'carillon'::regnamespace and p.relkind = 'p'`;
  for (const { name } of days) await sql`drop table carillon.${sql(name)}`;
  const today = at.toISOString().slice(0, 10);
  await sql`
    update carillon.shards set watermark_at = ${at}, watermark_schedule = 9223372036854775807, reached_at = ${at},
      near_until = (${today}::date + 3)::timestamp at time zone 'UTC', pulsed_to = date_trunc('second', ${at}::timestamptz)`;
  await attachDays(
    sql,
    () => false,
    () => {},
  );
}
