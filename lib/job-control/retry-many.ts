import type { Tx } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import { actInHalves, timeOfCall } from "../edit/act-in-halves.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import { callEntry } from "../edit/note-jobs.ts";
import { type DeadPlace, deadPlaceText, findDead, readDeadPlace } from "../history/dead-jobs.ts";
import type { DeadFilter } from "../history/looked-dead.ts";
import { type HistoryFilter, searchHistory } from "../history/search-history.ts";
import { type JobKey, jobId } from "../job/job-id.ts";
import { placeBehind, placeText, readPlace } from "../job/job-place.ts";
import type { Log } from "../log/log.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import { retryJobs } from "./retry-jobs.ts";
import { sayable } from "./sayable.ts";

/** Cancelled jobs have no list of their own: they are found through the history of one schedule. */
export type RetryFilter =
  | ({ state: "dead" } & DeadFilter)
  | ({ state: "cancelled" } & Omit<HistoryFilter, "state">);

export interface RetryManyParams {
  filter: RetryFilter;
  limit: number;
  reason?: string | undefined;
  /** The place at which the previous call ended. */
  after?: string | undefined;
  caller: Caller;
}

export interface RetriedMany {
  done: number;
  /** Found, but not retried: their schedules are deleted, or another call was faster. */
  leftOut: number;
  /** Found, but not written: the database failed on each alone. */
  failed: number;
  /** The entry of the audit; null if no job was retried. */
  entry: string | null;
  /** The place from which the next call continues. */
  next?: string;
}

const batchMax = 500;

/** Rate at which retries are admitted, so that they never delay jobs that are due now. */
const perSecond = 500;

/** Limit of one call, since the API's time is limited; the next call does the rest. */
const batchesMax = 40;

/**
 * Retries many jobs: dead ones in the order in which they died, cancelled ones newest first. Each
 * batch is a transaction, and a later failure does not undo earlier batches. A job that cannot be
 * written is left out. The call is one entry of the audit.
 */
export async function retryMany(
  deps: EditDeps & { log: Log },
  params: RetryManyParams,
  timeIsUp: () => boolean = timeOfCall(),
): Promise<RetriedMany> {
  const { filter, limit, caller, reason } = params;
  const said = sayable(filter);
  const detail = { filter: said, ...(reason === undefined ? {} : { reason }) };
  const by = { caller, detail, entry: callEntry(said) };
  const answer = () => ({ ...counts, entry: by.entry.written?.id ?? null });
  let ahead = await owedAhead(deps.sql, filter.key ?? ("prefix" in filter ? filter.prefix : undefined));
  const counts = { done: 0, leftOut: 0, failed: 0 };
  let after = params.after ?? (await beginning(deps.sql, filter));
  for (let batch = 0; counts.done < limit && batch < batchesMax && !(batch > 0 && timeIsUp()); batch++) {
    const most = Math.min(batchMax, limit - counts.done);
    const { items, next } = await nextBatch(deps.sql, filter, after, most);
    const jobs = items.map((item, index) => ({ ...item, afterMs: ((ahead + index) / perSecond) * 1_000 }));
    const { failed, tried } = await actInHalves(jobs, {
      log: deps.log,
      event: "job.not-retried",
      named: ({ key }) => ({ job: jobId(key) }),
      act: async (some, part) => {
        const outcomes = [...(await retryJobs(deps, some, by, part)).values()];
        const retried = outcomes.filter((outcome) => outcome === "retried").length;
        counts.done += retried;
        counts.leftOut += outcomes.length - retried;
        ahead += retried;
      },
      timeIsUp,
    });
    counts.failed += failed;
    if (tried < jobs.length) return { ...answer(), next: jobs[tried - 1]?.place ?? after };
    if (next === undefined) return answer();
    after = next;
  }
  return { ...answer(), next: after };
}

/** The newest parcels whose jobs are counted. */
const owedLookedMax = 1_000;

/**
 * Number of jobs of the backlog that are ready before the retries of this call. Each prefix has its
 * own line, so that the many retries of one team do not delay the few of another. Jobs that a hold
 * keeps are not in it: they would delay others for as long as the hold lasts.
 */
async function owedAhead(tx: Tx, prefix = ""): Promise<number> {
  const [row] = await tx<{ jobs: number }[]>`
    select count(*)::int as jobs from (
      select p.schedule_ids from carillon.parcels p
      where p.owed and p.held_schedule is null order by p.id desc limit ${owedLookedMax}) p
    cross join lateral unnest(p.schedule_ids) k (id)
    where ${prefix} = '' or exists (
      select from carillon.schedules s where s.id = k.id and starts_with(s.key, ${prefix}) offset 0)`;
  return row?.jobs ?? 0;
}

/**
 * The place at which the first call starts. A job that dies later is not retried, neither by this
 * call nor by calls that continue it: otherwise a job that always fails would be retried endlessly.
 */
async function beginning(tx: Tx, filter: RetryFilter): Promise<string> {
  return filter.state === "cancelled" ? "" : String((await databaseClock(tx)).getTime() + 1);
}

/**
 * Whether a call with this filter may continue from the place. For dead jobs a place is
 * `1772445600000`, or `1772445600000/1772445590000/7-1772445590000-c0`.
 */
export function isRetryPlace(state: RetryFilter["state"], text: string): boolean {
  if (state === "cancelled") return readPlace(text) !== null;
  return readBounded(text) !== null;
}

function readBounded(text: string) {
  const [, before, place] = /^([1-9]\d{0,13})(?:\/(.+))?$/.exec(text) ?? [];
  if (before === undefined) return null;
  const after = place === undefined ? undefined : readDeadPlace(place);
  return after === null ? null : { before: new Date(Number(before)), after };
}

async function nextBatch(
  tx: Tx,
  filter: RetryFilter,
  after: string,
  limit: number,
): Promise<{ items: { key: JobKey; place: string }[]; next?: string }> {
  if (filter.state === "cancelled") {
    const { items, next } = await searchHistory(tx, { filter, before: readPlace(after) ?? undefined, limit });
    const found = items.map((key) => ({ key, place: placeText(placeBehind(key)) }));
    return { items: found, ...(next === undefined ? {} : { next: placeText(next) }) };
  }
  const bounded = readBounded(after);
  if (bounded === null)
    throw new Error(`Retries cannot continue from ${after}: it is no place of a dead job.`);
  const { before } = bounded;
  const to = filter.to !== undefined && filter.to < before ? filter.to : before;
  const search = { filter: { ...filter, to }, order: "oldest", after: bounded.after, limit } as const;
  const { items, next } = await findDead(tx, search);
  const textOf = (place: DeadPlace) => `${before.getTime()}/${deadPlaceText(place)}`;
  const found = items.map((place) => ({ key: place.key, place: textOf(place) }));
  return { items: found, ...(next === undefined ? {} : { next: textOf(next) }) };
}
