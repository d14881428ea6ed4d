import type { Sql } from "../../lib/db/connect.ts";
import type { Say } from "./report.ts";

const chunk = 1_000_000;

/** Fills the last day with settled jobs, evenly, of schedules in no order. */
export async function seedJobs(
  sql: Sql,
  { schedules, jobs }: { schedules: number; jobs: number },
  say: Say,
): Promise<void> {
  const [{ have } = { have: false }] = await sql<{ have: boolean }[]>`
    select exists (select from carillon.jobs) as have`;
  if (have) return;
  say(`storing ${jobs.toLocaleString("en")} jobs of the last day …`);
  await sql`select carillon.attach_days((now() at time zone 'UTC')::date - 2, (now() at time zone 'UTC')::date + 1)`;
  for (let from = 1; from <= jobs; from += chunk)
    await sql.begin(async (tx) => {
      await tx`set local session_replication_role = replica`;
      await tx`set local synchronous_commit = off`;
      await tx`
        insert into carillon.jobs (occurrence, schedule_id, due_at, version, state, attempt, started_at, finished_at, reason)
        select at, id, at, 1, case when i % 1000 = 0 then 'dead' else 'succeeded' end::carillon.job_state, 1,
          at + i % 500 * interval '1 ms', at + interval '1 s', case when i % 1000 = 0 then 'attempts' end
        from generate_series(${from}::int, ${Math.min(jobs, from + chunk - 1)}::int) i, lateral (
          select 1 + (i::bigint * 2654435761) % ${schedules}::bigint as id,
            now() - interval '1 day' + i * (interval '1 day' / ${jobs}::float8) as at) o
        on conflict do nothing`;
    });
  await seedMinutes(sql, Math.round(jobs / 1_440));
  await sql`analyze`;
}

const buckets = 60;

/** Two days of counts by minute. */
async function seedMinutes(sql: Sql, jobs: number): Promise<void> {
  await sql`
    insert into carillon.minutes (minute, fired, succeeded)
    select date_trunc('minute', now()) - n * interval '1 minute', ${jobs}::int, ${jobs}::int from generate_series(0, 2879) n`;
  await sql`
    insert into carillon.minute_lateness (minute, bucket, jobs)
    select date_trunc('minute', now()) - n * interval '1 minute', b, ${Math.ceil(jobs / buckets)}::int
    from generate_series(0, 2879) n, generate_series(20, ${19 + buckets}::int) b`;
}
