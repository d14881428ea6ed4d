import type { Tx } from "../db/connect.ts";
import { isOwner, type JobOwners } from "../history/find-schedules.ts";
import { type JobKey, jobId } from "../job/job-id.ts";
import { errorGroupOfJob } from "../job/read-job.ts";

export interface CancelFilter extends JobOwners {
  /** All of these states if left out. */
  state?: "waiting" | "retrying" | "running" | undefined;
  /** Jobs whose last failed attempt is in one of these error groups. */
  errorGroup?: readonly string[] | undefined;
}

/** Parcels read by one statement. */
export const parcelsAtOnce = 400;

/** A place behind a parcel, or inside a parcel behind one of its jobs. */
export const behindParcel: RegExp = /^(0|[1-9]\d{0,17})(?:\/(\S+))?$/;

/** Whether the filter also selects jobs that have no row yet: these wait, and have not failed. */
export function mayBeUnmade({ state, errorGroup }: CancelFilter): boolean {
  return errorGroup === undefined && (state === undefined || state === "waiting");
}

/**
 * The open jobs behind a place: of schedules that are deleted those that a worker has. By parcel and within a parcel by the text of their ids. `last` is
 * the last parcel read, null if there are no more.
 */
export async function openJobs(
  tx: Tx,
  filter: CancelFilter,
  owners: readonly string[] | null,
  place: string,
): Promise<{ jobs: OpenJob[]; last: string | null }> {
  const [, parcel = "0", job] = behindParcel.exec(place) ?? [];
  if (job === undefined) return openJobsBehind(tx, filter, owners, parcel);
  // The parcel is read again, for the jobs behind this one.
  const { jobs, last } = await openJobsBehind(tx, filter, owners, String(BigInt(parcel) - 1n));
  return { jobs: jobs.filter((each) => each.parcelId !== parcel || jobId(each) > job), last };
}

export type OpenJob = JobKey & { parcelId: string };

async function openJobsBehind(
  tx: Tx,
  { state, errorGroup, ...owned }: CancelFilter,
  owners: readonly string[] | null,
  after: string,
): Promise<{ jobs: OpenJob[]; last: string | null }> {
  const [end] = await tx<{ parcels: number; last: string | null }[]>`
    select count(*)::int as parcels, max(id) as last
    from (select id from carillon.parcels where id > ${after} order by id limit ${parcelsAtOnce}) p`;
  if (end === undefined || end.last === null) return { jobs: [], last: null };
  const jobs = await tx<OpenJob[]>`
    select p.id as "parcelId", j.occurrence, j.schedule_id as "scheduleId", j.kind, j.n
    from carillon.parcels p
    cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
    cross join lateral (select s.* from carillon.schedules s
      where s.id = k.schedule_id and (coalesce(s.deleted_at, 'infinity') = 'infinity' or p.lease_until is not null) offset 0) s
    cross join lateral (
      select j.* from carillon.jobs j
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
        and j.state = 'waiting' and j.parcel_id = p.id and j.cancel_asked is not true offset 0) j
    where p.id > ${after} and p.id <= ${end.last} ${owners === null ? tx`` : tx`and k.schedule_id = any(${[...owners]}::bigint[])`}
      and ${isOwner(tx, owned)} ${inState(tx, state)}
      ${errorGroup === undefined ? tx`` : tx`and ${errorGroupOfJob(tx)} = any(${[...errorGroup]}::text[])`}
    order by p.id`;
  const ofParcels = Map.groupBy(jobs, ({ parcelId }) => parcelId).values();
  const inOrder = [...ofParcels].flatMap((ofOne) => ofOne.sort((a, b) => (jobId(a) < jobId(b) ? -1 : 1)));
  return { jobs: inOrder, last: end.parcels < parcelsAtOnce ? null : end.last };
}

function inState(tx: Tx, state: CancelFilter["state"]) {
  switch (state) {
    case undefined:
      return tx``;
    case "running":
      return tx`and p.lease_until is not null`;
    case "retrying":
      return tx`and p.lease_until is null and j.attempt > 0`;
    case "waiting":
      return tx`and p.lease_until is null and j.attempt = 0`;
  }
}
