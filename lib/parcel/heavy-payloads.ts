import type { Sql } from "../db/connect.ts";
import type { Json } from "../schedule/json.ts";
import type { ClaimedJob, ClaimedParcel } from "./claim.ts";

/** How much is missing of a parcel's payloads. */
export function heavyBytes({ jobs }: Pick<ClaimedParcel, "jobs">): number {
  return jobs.reduce((sum, { payloadBytes = 0 }) => sum + payloadBytes, 0);
}

/** The parcel with all of its payloads. */
export async function readHeavy(sql: Sql, parcel: ClaimedParcel): Promise<ClaimedParcel> {
  const heavy = parcel.jobs.filter(({ payloadBytes }) => payloadBytes !== undefined);
  if (heavy.length === 0) return parcel;
  const column = <Value>(of: (job: ClaimedJob) => Value) => heavy.map(of);
  const rows = await sql<{ payload: Json }[]>`
    select p as payload from carillon.payloads_of(${sql.array(column((job) => job.occurrence))}::timestamptz[],
      ${sql.array(column((job) => job.scheduleId))}::bigint[], ${sql.array(column((job) => job.kind))}::carillon.job_kind[],
      ${sql.array(column((job) => job.n))}::int[], ${sql.array(column((job) => job.version))}::int[]) p`;
  const payloads = new Map(heavy.map((job, index) => [job, rows[index]?.payload ?? null]));
  const jobs = parcel.jobs.map((job) => {
    const { payloadBytes, ...whole } = job;
    return payloadBytes === undefined ? job : { ...whole, payload: payloads.get(job) ?? null };
  });
  return { ...parcel, jobs };
}
