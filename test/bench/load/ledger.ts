import type { Tx } from "../../../lib/db/connect.ts";

export interface Between {
  from: Date;
  to: Date;
}

export interface SliceLateness {
  at: number;
  jobs: number;
  p50Ms: number | null;
  p99Ms: number | null;
}

/** Lateness of the jobs due in each slice: the ledger's `startedAt − dueAt`. */
export async function latenessBySlice(
  sql: Tx,
  { from, to }: Between,
  sliceMs: number,
): Promise<SliceLateness[]> {
  return sql<SliceLateness[]>`
    select extract(epoch from slice)::float8 * 1000 as at, count(*)::int as jobs,
      percentile_disc(0.5) within group (order by ms) as "p50Ms", percentile_disc(0.99) within group (order by ms) as "p99Ms"
    from (
      select date_bin(${sliceMs} * interval '1 millisecond', due_at, ${from}::timestamptz) as slice,
        (extract(epoch from started_at - due_at) * 1000)::float8 as ms
      from carillon.jobs
      where kind = 'cadence' and occurrence >= ${from} and occurrence < ${to} and started_at is not null
    ) started
    group by slice order by slice`;
}

export interface LedgerFault {
  /**
   * `missing`: an expected occurrence without a job. `extra`: a job without an expected occurrence.
   * `open`: not settled. `early`: started before it was due.
   */
  fault: "missing" | "extra" | "open" | "early";
  scheduleId: string;
  occurrence: Date;
}

export interface CheckedLedger {
  owed: number;
  /** Jobs by their final state. */
  states: Record<string, number>;
  faults: number;
  first: LedgerFault[];
}

const faultsShown = 20;

/**
 * Checks that every expected occurrence of a time has exactly one job, that the job is settled, and
 * that none started early. The expected occurrences are computed here, from the requests and their
 * times, and not from Carillon's plan; only for the two forms of `when` that the load uses.
 */
export async function checkLedger(sql: Tx, { from, to }: Between): Promise<CheckedLedger> {
  const [count] = await sql<{ owed: number }[]>`
    with ${owed(sql, { from, to })} select count(*)::int as owed from owed`;
  const states = await sql<{ state: string; jobs: number }[]>`
    select state::text, count(*)::int as jobs from carillon.jobs
    where kind = 'cadence' and occurrence > ${from} and occurrence <= ${to} group by 1`;
  const faults = await sql<(LedgerFault & { all: number })[]>`
    with ${owed(sql, { from, to })},
    made as (
      select schedule_id, occurrence, due_at, started_at, state from carillon.jobs
      where kind = 'cadence' and occurrence > ${from} and occurrence <= ${to}
    ),
    faults as (
      select case when m.schedule_id is null then 'missing' when o.schedule_id is null then 'extra'
          when m.started_at < m.due_at then 'early' when m.state = 'waiting' then 'open' end as fault,
        schedule_id, occurrence
      from owed o full join made m using (schedule_id, occurrence)
    )
    select fault, schedule_id as "scheduleId", occurrence, count(*) over ()::int as all
    from faults where fault is not null order by occurrence, schedule_id limit ${faultsShown}`;
  return {
    owed: count?.owed ?? 0,
    states: Object.fromEntries(states.map(({ state, jobs }) => [state, jobs])),
    faults: faults[0]?.all ?? 0,
    first: faults.map(({ fault, scheduleId, occurrence }) => ({ fault, scheduleId, occurrence })),
  };
}

/**
 * The expected occurrences of each version, from the time it was written until the next version was
 * written.
 */
function owed(sql: Tx, { from, to }: Between) {
  return sql`
    standing as (
      select v.schedule_id, v.change, v.changed_at as since, spec.body ->> 'when' as asked,
        coalesce(lead(v.changed_at) over (partition by v.schedule_id order by v.version), 'infinity') as until,
        (spec.body ->> 'startsAt')::timestamptz(3) as starts_at,
        first_value(v.changed_at) over (partition by v.schedule_id order by v.version) as created_at
      from carillon.schedule_versions v
      join carillon.schedule_versions spec on spec.schedule_id = v.schedule_id and spec.version = v.spec_version
    ),
    asked as (
      select schedule_id, since, until, coalesce(starts_at, created_at) as anchor, starts_at is null as after_anchor,
        (substring(asked from '^every (\\d+)s$'))::int * interval '1 second' as step,
        (substring(asked from '^in (\\d+)s$'))::int * interval '1 second' as wait
      from standing where change <> 'deleted'
    ),
    owed as (
      select schedule_id, since + wait as occurrence from asked
      where wait is not null and since + wait > ${from} and since + wait <= least(until, ${to}::timestamptz)
      union all
      select schedule_id, anchor + k * step
      from asked cross join lateral generate_series(
        greatest(case when after_anchor then 1 else 0 end,
          floor(extract(epoch from greatest(since, ${from}::timestamptz) - anchor) / extract(epoch from step))::bigint + 1),
        floor(extract(epoch from least(until, ${to}::timestamptz) - anchor) / extract(epoch from step))::bigint) k
      where step is not null
    )`;
}
