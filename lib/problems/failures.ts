import type { Tx } from "../db/connect.ts";
import { type JobKind, jobId } from "../job/job-id.ts";
import { highestCharacter } from "../schedule/filter-schedules.ts";
import type { Amount } from "../stats/standing.ts";

/** Dead jobs of one target. */
export interface DeadGroup extends Amount {
  /** Null if the schedule's target has no name, as after a purge. */
  target: string | null;
  since: Date;
  sample: string;
}

/** Dead jobs that are read, the newest first. */
const deadMax = 5_000;
const groupsMax = 20;

interface DeadRow {
  target: string | null;
  count: number;
  since: Date;
  looked: number;
  occurrence: Date;
  scheduleId: string;
  kind: JobKind;
  n: number;
}

/** The newest dead jobs by target, the largest groups first. */
export async function readDeadGroups(tx: Tx, prefix: string | null): Promise<DeadGroup[]> {
  const rows = await tx<DeadRow[]>`
    with dead as materialized (
      select d.occurrence, d.schedule_id, d.kind, d.n, d.died_at, s.target_id, s.id is not null ${
        prefix === null
          ? tx``
          : tx`
        and s.key >= ${prefix} and s.key < ${prefix + highestCharacter}`
      } as fits
      from (select * from carillon.dead_jobs order by died_at desc, schedule_id desc limit ${deadMax}::int) d
      left join lateral (select * from carillon.schedules s where s.id = d.schedule_id offset 0) s on true
    )
    select t.name as target, count(*)::int as count, min(d.died_at) as since, (select count(*)::int from dead) as looked,
      (array_agg(d.occurrence order by d.died_at desc, d.schedule_id))[1] as occurrence,
      (array_agg(d.schedule_id order by d.died_at desc, d.schedule_id))[1]::text as "scheduleId",
      (array_agg(d.kind order by d.died_at desc, d.schedule_id))[1] as kind, (array_agg(d.n order by d.died_at desc, d.schedule_id))[1] as n
    from dead d left join carillon.targets t on t.id = d.target_id
    where d.fits group by t.name order by count(*) desc, t.name limit ${groupsMax}`;
  return rows.map(({ looked, occurrence, scheduleId, kind, n, ...row }) => ({
    ...row,
    more: looked === deadMax,
    sample: jobId({ occurrence, scheduleId, kind, n }),
  }));
}

export interface Losses {
  /** Occurrences that were missed, and the first minute in which one was. */
  missed: { count: number; since: Date | null };
  /** Pulses that were given up. */
  pulsesLost: { count: number; since: Date | null };
}

/** Counts the losses since an instant, from counts that have been rolled up. */
export async function readLosses(tx: Tx, from: Date): Promise<Losses> {
  const [row] = await tx<
    { missed: number; missedSince: Date | null; lost: number; lostSince: Date | null }[]
  >`
    select coalesce(sum(missed), 0)::float8 as missed, min(minute) filter (where missed > 0) as "missedSince",
      coalesce(sum(pulses_lost), 0)::float8 as lost, min(minute) filter (where pulses_lost > 0) as "lostSince"
    from carillon.minutes where minute >= ${from}`;
  return {
    missed: { count: row?.missed ?? 0, since: row?.missedSince ?? null },
    pulsesLost: { count: row?.lost ?? 0, since: row?.lostSince ?? null },
  };
}
