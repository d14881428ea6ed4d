import type postgres from "postgres";
import type { Sql } from "../db/connect.ts";
import type { Json } from "../schedule/shape/json.ts";
import type { ClaimedJob } from "./claimed-job.ts";

/**
 * Larger payloads are read after the claim, page by page: with this limit a claim of ten parcels
 * brings 20 MB at most.
 */
export const lightBytes = 8_192;

/**
 * The columns of a claimed job: its payload if that is light, and whether it is heavy. Postgres
 * decides by the stored size and unpacks no payload for it.
 */
export const lightPayload = (sql: Sql): postgres.PendingQuery<postgres.Row[]> => sql`
  case when carillon.is_light(payload, ${lightBytes}) then payload end as payload,
  case when not carillon.is_light(payload, ${lightBytes}) then true end as "isHeavy"`;

/**
 * The first of these jobs with their payloads: as many as fit into this number of bytes of heavy
 * payloads, and at least one. A job stays heavy if its payload is gone because another worker has
 * settled it and it was purged.
 */
export async function readPage(sql: Sql, jobs: readonly ClaimedJob[], bytes: number): Promise<ClaimedJob[]> {
  const heavy = jobs.filter(({ isHeavy }) => isHeavy);
  if (heavy.length === 0) return [...jobs];
  const column = <Value>(of: (job: ClaimedJob) => Value) => heavy.map(of);
  const rows = await sql<{ payload: string | null }[]>`
    select p as payload from carillon.payload_page(${sql.array(column((job) => job.occurrence))}::timestamptz[],
      ${sql.array(column((job) => job.scheduleId))}::bigint[], ${sql.array(column((job) => job.kind))}::carillon.job_kind[],
      ${sql.array(column((job) => job.n))}::int[], ${sql.array(column((job) => job.version))}::int[], ${bytes}) p`;
  const next = heavy[rows.length];
  const page = next === undefined ? jobs : jobs.slice(0, jobs.indexOf(next));
  const payloads = rows.values();
  return page.map((job) => (job.isHeavy ? whole(job, payloads.next().value?.payload) : job));
}

function whole(job: ClaimedJob, payload: string | null | undefined): ClaimedJob {
  if (payload == null) return job;
  const { isHeavy: _, ...rest } = job;
  const read: Json = JSON.parse(payload);
  return { ...rest, payload: read };
}
