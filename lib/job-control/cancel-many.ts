import type { Tx } from "../db/connect.ts";
import { actInHalves, type Part, timeOfCall } from "../edit/act-in-halves.ts";
import { cancelJobs } from "../edit/cancel-jobs.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import { fewOwners, isOwner, type JobOwners } from "../history/find-schedules.ts";
import { type JobKey, jobId, parseJobId } from "../job/job-id.ts";
import type { Log } from "../log/log.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import type { Json } from "../schedule/shape/json.ts";
import { keyFault } from "../schedule/shape/schedule-key.ts";
import { cancelUnmade, type UnmadeParams } from "./cancel-unmade.ts";

export interface CancelFilter extends JobOwners {
  /** All of these states if left out. */
  state?: "waiting" | "retrying" | "running" | undefined;
}

export interface CancelManyParams {
  filter: CancelFilter;
  limit: number;
  reason?: string | undefined;
  /** The place at which the previous call ended. */
  after?: string | undefined;
  caller: Caller;
}

export interface CancelledMany {
  done: number;
  /** The running jobs among them: their workers are notified to stop. */
  running: number;
  /** Found, but not written: the database failed on each alone. */
  failed: number;
  next?: string;
}

type CancelDeps = EditDeps & { log: Log };

const batchMax = 250;

/** Limits of parcels read by one statement and by one call: the API's time is limited. */
const parcelsAtOnce = 400;
const parcelsMax = 10_000;

/**
 * The place from which a call continues: behind a key, among the jobs without a row; behind a
 * parcel; or inside a parcel, behind one of its jobs.
 */
const behindKey = /^ahead\/(.*)$/;
const behindParcel = /^(0|[1-9]\d{0,17})(?:\/(\S+))?$/;

export function isCancelPlace(text: string): boolean {
  const [, key] = behindKey.exec(text) ?? [];
  if (key !== undefined) return key === "" || keyFault(key) === null;
  const [, parcel, job] = behindParcel.exec(text) ?? [];
  return parcel !== undefined && (job === undefined || parseJobId(job) !== null);
}

/**
 * Cancels the waiting, retrying and running jobs of the selected schedules. Jobs without a row come
 * first; a job that gets a row meanwhile is found later in the same pass. Jobs that a cadence makes
 * after this still run: to stop these too, pause or delete the schedule.
 */
export async function cancelMany(
  deps: CancelDeps,
  params: CancelManyParams,
  timeIsUp: () => boolean = timeOfCall(),
): Promise<CancelledMany> {
  const { filter, limit, caller, reason, after = "ahead/" } = params;
  const by = { caller, detail: { filter: sayable(filter), ...(reason === undefined ? {} : { reason }) } };
  const [, key] = behindKey.exec(after) ?? [];
  const { state, ...owners } = filter;
  if (key === undefined || (state !== undefined && state !== "waiting"))
    return cancelMade(deps, { ...params, by, timeIsUp, after: key === undefined ? after : "0" });
  const unmade = { owners, after: key === "" ? undefined : key, most: limit, by, timeIsUp };
  const { next, ...counts } = await cancelUnmade(deps, unmade);
  if (next !== null) return { ...counts, running: 0, next: `ahead/${next}` };
  if (counts.done >= limit || timeIsUp()) return { ...counts, running: 0, next: "0" };
  const made = await cancelMade(deps, { ...params, by, timeIsUp, after: "0", limit: limit - counts.done });
  return { ...made, done: counts.done + made.done, failed: counts.failed + made.failed };
}

interface MadeParams extends CancelManyParams {
  after: string;
  by: UnmadeParams["by"];
  timeIsUp: () => boolean;
}

/**
 * Every unsettled job with a row is in a parcel, so this reads the parcels by id: a job that moves
 * to another parcel meanwhile comes later in the pass.
 */
async function cancelMade(deps: CancelDeps, params: MadeParams): Promise<CancelledMany> {
  const { filter, limit, by, timeIsUp } = params;
  const counts = { done: 0, running: 0, failed: 0 };
  const owners = await fewOwners(deps.sql, filter, { deleted: false });
  if (owners?.length === 0) return counts;
  const cancel = async (some: readonly JobKey[], part: Part) => {
    const outcomes = [...(await cancelJobs(deps, some, by, part)).values()];
    const running = outcomes.filter((outcome) => outcome === "asked").length;
    counts.running += running;
    counts.done += running + outcomes.filter((outcome) => outcome === "cancelled").length;
  };
  const acting = {
    log: deps.log,
    event: "job.not-cancelled",
    named: jobNamed,
    act: cancel,
    timeIsUp,
  } as const;
  let after = params.after;
  for (let looked = 0; looked < parcelsMax; looked += parcelsAtOnce) {
    const { jobs, last } = await openJobs(deps.sql, filter, owners, after);
    for (let from = 0; from < jobs.length; ) {
      const batch = jobs.slice(from, from + Math.min(batchMax, limit - counts.done));
      const { failed, tried } = await actInHalves(batch, acting);
      counts.failed += failed;
      from += tried;
      const isEnough = counts.done >= limit || tried < batch.length;
      const reached = jobs[from - 1];
      if (isEnough && from < jobs.length && reached !== undefined)
        return { ...counts, next: `${reached.parcelId}/${jobId(reached)}` };
    }
    if (last === null) return counts;
    after = last;
    if (counts.done >= limit || timeIsUp()) break;
  }
  return { ...counts, next: after };
}

const jobNamed = (key: JobKey) => ({ job: jobId(key) });

/**
 * The open jobs behind a place, by parcel and within a parcel by the text of their ids. `last` is
 * the last parcel read, null if there are no more.
 */
async function openJobs(
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

type OpenJob = JobKey & { parcelId: string };

async function openJobsBehind(
  tx: Tx,
  { state, ...owned }: CancelFilter,
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
    cross join lateral (select s.* from carillon.schedules s where s.id = k.schedule_id and coalesce(s.deleted_at, 'infinity') = 'infinity' offset 0) s
    cross join lateral (
      select j.* from carillon.jobs j
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
        and j.state = 'waiting' and j.parcel_id = p.id and j.cancel_asked is not true offset 0) j
    where p.id > ${after} and p.id <= ${end.last} ${owners === null ? tx`` : tx`and k.schedule_id = any(${[...owners]}::bigint[])`}
      and ${isOwner(tx, owned)} ${inState(tx, state)}
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

/** The filter as the audit stores it. */
function sayable(filter: CancelFilter): { [name: string]: Json } {
  return Object.fromEntries(
    Object.entries(filter).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
