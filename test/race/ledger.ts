import type { Sql } from "../../lib/db/connect.ts";
import { type VersionRead, withEndedHolds } from "./owed.ts";

export interface JobRow {
  scheduleId: string;
  occurrence: number;
  dueAt: number;
  version: number;
  state: "waiting" | "succeeded" | "skipped" | "dead" | "cancelled";
  attempt: number;
  startedAt: number | null;
  finishedAt: number | null;
  reason: string | null;
}

export interface RangeRow {
  scheduleId: string;
  from: number;
  to: number;
  count: number;
  notedAt: number;
  reason: string;
}

/** The database's records up to an instant. */
export interface Ledger {
  versions: VersionRead[];
  jobs: JobRow[];
  /**
   * Jobs after the end: the newer job that justifies passing over an occurrence may be among them.
   */
  laterJobs: JobRow[];
  ranges: RangeRow[];
  deadlocks: number;
}

export async function readLedger(sql: Sql, end: Date): Promise<Ledger> {
  const versions = await sql<VersionRead[]>`
    select v.schedule_id as "scheduleId", v.version, v.change, ${epochMs(sql, "v.changed_at")} as "changedAt", v.changed_by as "changedBy",
      v.spec_version = v.version as specified, spec.body ->> 'when' as when, (spec.payload ->> 'edit')::int as edit,
      coalesce(spec.body ->> 'overlap', 'allow') as overlap,
      ${epochMs(sql, "(a.detail ->> 'until')::timestamptz")} as until, ${epochMs(sql, "v.held_until")} as "heldUntil"
    from carillon.schedule_versions v
    join carillon.schedule_versions spec on spec.schedule_id = v.schedule_id and spec.version = v.spec_version
    left join carillon.audit a on a.schedule_id = v.schedule_id and a.version = v.version and a.action = 'schedule.paused'
    order by v.schedule_id, v.version`;
  const jobs = await sql<JobRow[]>`
    select schedule_id as "scheduleId", ${epochMs(sql, "occurrence")} as occurrence, ${epochMs(sql, "due_at")} as "dueAt", version, state, attempt,
      ${epochMs(sql, "started_at")} as "startedAt", ${epochMs(sql, "finished_at")} as "finishedAt", reason
    from carillon.jobs where kind = 'cadence'`;
  const ranges = await sql<RangeRow[]>`
    select schedule_id as "scheduleId", ${epochMs(sql, "from_at")} as "from", ${epochMs(sql, "to_at")} as "to", count::int as count,
      ${epochMs(sql, "noted_at")} as "notedAt", reason
    from carillon.passed_over`;
  const [statistics] = await sql<{ deadlocks: number }[]>`
    select deadlocks::int as deadlocks from pg_stat_database where datname = current_database()`;
  return {
    versions: withEndedHolds(versions),
    jobs: jobs.filter(({ occurrence }) => occurrence <= end.getTime()),
    laterJobs: jobs.filter(({ occurrence }) => occurrence > end.getTime()),
    ranges: [...ranges],
    deadlocks: statistics?.deadlocks ?? 0,
  };
}

function epochMs(sql: Sql, column: string) {
  return sql.unsafe(`(extract(epoch from ${column}) * 1000)::float8`);
}
