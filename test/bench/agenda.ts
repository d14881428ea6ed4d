import { readAgenda } from "../../lib/agenda/agenda.ts";
import { countAgenda } from "../../lib/agenda/counts.ts";
import { readLastRuns } from "../../lib/agenda/last-runs.ts";
import { readStrip } from "../../lib/agenda/strip.ts";
import type { Sql } from "../../lib/db/connect.ts";
import { benchStack, measuredOn } from "./bench-stack.ts";
import { type Figures, machine, median, number, type Options, type Say } from "./report.ts";
import { seedSchedules } from "./seed.ts";

export const does = "pages of an agenda, its counts, a strip, the last runs of many, and the indexes' sizes";

export const options = { schedules: "3000000", jobs: "1000000", runs: "5" };

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** Each question in turn: the first answer of a process that knows no cadence yet, and later ones. */
export async function bench(options: Options, say: Say): Promise<Figures> {
  const schedules = number(options, "schedules");
  const jobs = number(options, "jobs");
  const runs = number(options, "runs");
  say(machine());
  await using stack = await benchStack(options["data-dir"], 2);
  const { sql } = stack;
  await seedSchedules(sql, schedules, say);
  await seedJobs(sql, { schedules, jobs });
  await sql`vacuum (analyze)`;
  const [{ now } = { now: new Date() }] = await sql<{ now: Date }[]>`select carillon.clock() as now`;
  const keys = (await sql<{ key: string }[]>`select key from carillon.schedules where id <= 100`).map(
    ({ key }) => key,
  );
  const timed: Record<string, { first: number; median: number }> = {};
  const time = async (name: string, read: () => Promise<unknown>) => {
    const ms: number[] = [];
    for (let run = 0; run <= runs; run++) {
      const from = performance.now();
      await read();
      ms.push(Math.round(performance.now() - from));
    }
    const [first = 0, ...later] = ms;
    timed[name] = { first, median: median(later) };
    say(`${name.padEnd(44)} first ${first} ms, then ${median(later)} ms`);
  };
  const tomorrow = Math.floor(now.getTime() / day + 1) * day;
  const page = (from: number, length: number, filter = {}) =>
    readAgenda(sql, { window: { from, to: from + length }, filter, limit: 100 });
  await time("a page of tomorrow, 8 to 9", () => page(tomorrow + 8 * hour, hour));
  await time("a page of 32 days", () => page(tomorrow, 32 * day));
  await time("a page of a minute of a rare prefix", () =>
    page(tomorrow + 8 * hour, 10 * minute, { prefix: "bench:0a" }),
  );
  await time("a page of a prefix of few schedules", () => page(tomorrow, 32 * day, { prefix: "bench:0a1" }));
  await time("a page of a target", () => page(tomorrow, hour, { target: "queue/bench" }));
  await time("a page of the hour around now", () => page(now.getTime() - hour / 2, hour));
  await time("a page of a past hour", () => page(now.getTime() - hour, hour));
  const count = (length: number, filter = {}) =>
    countAgenda(sql, { from: tomorrow, to: tomorrow + length }, filter);
  await time("counts of an hour", () => count(hour));
  await time("counts of 32 days", () => count(32 * day));
  await time("counts of a prefix", () => count(day, { prefix: "bench:0" }));
  const strip = { from: now.getTime() - 10 * day, to: now.getTime() + 10 * day };
  await time("a strip of 100", () => readStrip(sql, { key: keys[1] ?? "", window: strip, limit: 100 }));
  await time("the last 20 of 100 keys", () => readLastRuns(sql, { keys, most: 20 }));
  const bytes = await sizes(sql, schedules);
  for (const [name, size] of Object.entries(bytes)) say(`${name.padEnd(28)} ${size} bytes per schedule`);
  return { timed, bytesPerSchedule: bytes, schedules, jobs, ...measuredOn(stack) };
}

/** Settled jobs of the last hours, 300 a second. */
async function seedJobs(sql: Sql, { schedules, jobs }: { schedules: number; jobs: number }): Promise<void> {
  await sql`
    select carillon.attach_days((carillon.clock() at time zone 'UTC')::date - 2, (carillon.clock() at time zone 'UTC')::date + 1)`;
  await sql`update carillon.shards set watermark_at = carillon.clock(), reached_at = carillon.clock()`;
  await sql`
    insert into carillon.jobs (occurrence, schedule_id, due_at, version, state, attempt, started_at, finished_at)
    select at, 1 + (i::bigint * 2654435761) % ${schedules}::bigint, at, 1, 'succeeded', 1, at, at
    from generate_series(1, ${jobs}::int) i,
      lateral (select date_trunc('second', carillon.clock()) - (i / 300) * interval '1 second' as at) o
    on conflict do nothing`;
}

async function sizes(sql: Sql, schedules: number): Promise<Record<string, number>> {
  const rows = await sql<{ name: string; bytes: string }[]>`
    select c.relname as name, pg_relation_size(c.oid) as bytes from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'carillon' and c.relname in ('schedules', 'schedules_live_key', 'schedules_agenda', 'schedules_pending') order by 1`;
  return Object.fromEntries(
    rows.map(({ name, bytes }) => [name, Number((Number(bytes) / schedules).toFixed(1))]),
  );
}
