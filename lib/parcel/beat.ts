import type { Sql } from "../db/connect.ts";
import type { JobKey } from "../job/job-id.ts";

export interface Beat {
  /** False if the lease has been taken over. */
  held: boolean;
  /** The jobs that a caller has cancelled. */
  cancelled: JobKey[];
}

/** Renews the lease of a parcel under way, and returns its cancelled jobs. */
export async function beatParcel(
  sql: Sql,
  { id, fence }: { id: string; fence: number },
  leaseMs: number,
): Promise<Beat> {
  const rows = await sql<({ held: boolean } & (JobKey | { scheduleId: null }))[]>`
    select held, occurrence, schedule_id as "scheduleId", kind, n from carillon.beat_parcel(${id}, ${fence}, ${Math.ceil(leaseMs)})`;
  return {
    held: rows[0]?.held === true,
    cancelled: rows.flatMap(({ held: _held, ...job }) => (job.scheduleId === null ? [] : [job])),
  };
}
