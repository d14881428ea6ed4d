import { actInHalves, type Part, timeOfCall } from "../edit/act-in-halves.ts";
import { cancelJobs } from "../edit/cancel-jobs.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import { callEntry } from "../edit/note-jobs.ts";
import { fewOwners } from "../history/find-schedules.ts";
import { type JobKey, jobId, parseJobId } from "../job/job-id.ts";
import type { Log } from "../log/log.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import { isKeyPlace } from "../schedule/shape/schedule-key.ts";
import { cancelUnmade, type UnmadeParams } from "./cancel-unmade.ts";
import { behindParcel, type CancelFilter, mayBeUnmade, openJobs, parcelsAtOnce } from "./find-open.ts";
import { sayable } from "./sayable.ts";

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
  /** The entry of the audit; null if no job was cancelled. */
  entry: string | null;
  next?: string;
}

type Cancelled = Omit<CancelledMany, "entry">;

type CancelDeps = EditDeps & { log: Log };

const batchMax = 250;

/** Limit of parcels read by one call: the API's time is limited. */
const parcelsMax = 10_000;

/**
 * The place from which a call continues: behind a key, among the jobs without a row; behind a
 * parcel; or inside a parcel, behind one of its jobs.
 */
const behindKey = /^ahead\/(.*)$/;

export function isCancelPlace(text: string): boolean {
  const [, key] = behindKey.exec(text) ?? [];
  if (key !== undefined) return key === "" || isKeyPlace(key);
  const [, parcel, job] = behindParcel.exec(text) ?? [];
  return parcel !== undefined && (job === undefined || parseJobId(job) !== null);
}

/**
 * Cancels the waiting, retrying and running jobs of the selected schedules. Jobs without a row come
 * first; a job that gets a row meanwhile is found later in the same pass. Jobs that a cadence makes
 * after this still run: to stop these too, pause or delete the schedule. The call is one entry of
 * the audit.
 */
export async function cancelMany(
  deps: CancelDeps,
  params: CancelManyParams,
  timeIsUp: () => boolean = timeOfCall(),
): Promise<CancelledMany> {
  const { filter, caller, reason } = params;
  const said = sayable(filter);
  const detail = { filter: said, ...(reason === undefined ? {} : { reason }) };
  const by = { caller, detail, entry: callEntry(said) };
  const cancelled = await cancelFrom(deps, { ...params, by, timeIsUp });
  return { ...cancelled, entry: by.entry.written?.id ?? null };
}

async function cancelFrom(
  deps: CancelDeps,
  params: Omit<MadeParams, "after"> & { after?: string | undefined },
): Promise<Cancelled> {
  const { filter, limit, by, timeIsUp, after = "ahead/" } = params;
  const [, key] = behindKey.exec(after) ?? [];
  const { state: _, errorGroup: __, ...owners } = filter;
  if (key === undefined || !mayBeUnmade(filter))
    return cancelMade(deps, { ...params, after: key === undefined ? after : "0" });
  const unmade = { owners, after: key === "" ? undefined : key, most: limit, by, timeIsUp };
  const { next, ...counts } = await cancelUnmade(deps, unmade);
  if (next !== null) return { ...counts, running: 0, next: `ahead/${next}` };
  if (counts.done >= limit || timeIsUp()) return { ...counts, running: 0, next: "0" };
  const made = await cancelMade(deps, { ...params, after: "0", limit: limit - counts.done });
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
async function cancelMade(deps: CancelDeps, params: MadeParams): Promise<Cancelled> {
  const { filter, limit, by, timeIsUp } = params;
  const counts = { done: 0, running: 0, failed: 0 };
  const owners = await fewOwners(deps.sql, filter, { deleted: true });
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
