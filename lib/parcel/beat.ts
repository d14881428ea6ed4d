import type { Sql } from "../db/connect.ts";
import type { JobKey } from "../job/job-id.ts";

export interface Beat {
  /** False when the lease has been taken over. */
  held: boolean;
  /** The jobs that somebody wants stopped. */
  cancelled: JobKey[];
}

/** A sign of life while a parcel is worked: its lease goes on, and the worker learns what is wanted no more. */
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
