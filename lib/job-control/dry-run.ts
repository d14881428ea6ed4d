import type { Tx } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import { timeOfCall } from "../edit/act-in-halves.ts";
import { listDead } from "../history/dead-jobs.ts";
import { fewOwners } from "../history/find-schedules.ts";
import { countDead } from "../history/looked-dead.ts";
import { type HistoryFilter, searchHistory } from "../history/search-history.ts";
import { jobsToCome, lookForUnmade } from "../history/unmade-jobs.ts";
import type { JobKey } from "../job/job-id.ts";
import type { JobPlace } from "../job/job-place.ts";
import { type JobRead, readJobsAt } from "../job/read-job.ts";
import { type CancelFilter, mayBeUnmade, openJobs } from "./find-open.ts";
import type { RetryFilter } from "./retry-many.ts";

/** The jobs that a bulk action would act on. */
export interface DryRun extends Counted {
  /**
   * The end of the time that was counted. A retry with this as `to` leaves out the jobs that have
   * died since.
   */
  asOf: Date;
}

interface Counted {
  count: number;
  /** There may be more: the count ended at its bound. */
  more: boolean;
  samples: JobRead[];
}

const samplesMax = 5;

/** Bounds of a count: jobs, and schedules or parcels that are read for it. */
const countMax = 10_000;
const unmadeAtOnce = 1_000;
const unmadeLookedMax = 10_000;

export async function retryDryRun(tx: Tx, filter: RetryFilter): Promise<DryRun> {
  const asOf = await endOfNow(tx);
  return {
    asOf,
    ...(await (filter.state === "dead" ? countedDead(tx, filter) : countedCancelled(tx, filter))),
  };
}

/** Filters have milliseconds: a job that has died in this one is counted. */
async function endOfNow(tx: Tx): Promise<Date> {
  return new Date((await databaseClock(tx)).getTime() + 1);
}

async function countedDead(tx: Tx, filter: Extract<RetryFilter, { state: "dead" }>): Promise<Counted> {
  const counted = await countDead(tx, filter, { live: true });
  const { items } = await listDead(tx, { filter, live: true, order: "newest", limit: samplesMax });
  return { ...counted, samples: items };
}

const pagesMax = 10;

async function countedCancelled(tx: Tx, filter: HistoryFilter): Promise<Counted> {
  const found: JobRead[] = [];
  let before: JobPlace | undefined;
  for (let page = 0; page < pagesMax; page++) {
    const { items, next } = await searchHistory(tx, { filter, before, limit: 500 });
    found.push(...items);
    before = next;
    if (next === undefined) break;
  }
  return { count: found.length, more: before !== undefined, samples: found.slice(0, samplesMax) };
}

export async function cancelDryRun(
  tx: Tx,
  filter: CancelFilter,
  timeIsUp: () => boolean = timeOfCall(),
): Promise<DryRun> {
  const asOf = await endOfNow(tx);
  return { asOf, ...(await countedOpen(tx, filter, timeIsUp)) };
}

async function countedOpen(tx: Tx, filter: CancelFilter, timeIsUp: () => boolean): Promise<Counted> {
  const unmade = mayBeUnmade(filter) ? await countUnmade(tx, filter, timeIsUp) : nothing;
  if (unmade.more || unmade.count >= countMax) return { ...unmade, more: true };
  const made = await countMade(tx, filter, timeIsUp);
  const samples = [...unmade.samples, ...(await readJobsAt(tx, made.keys))].slice(0, samplesMax);
  return { count: unmade.count + made.count, more: made.more, samples };
}

const nothing: Counted = { count: 0, more: false, samples: [] };

async function countUnmade(
  tx: Tx,
  { state: _, errorGroup: __, ...owners }: CancelFilter,
  timeIsUp: () => boolean,
): Promise<Counted> {
  const samples: JobRead[] = [];
  let count = 0;
  let after: string | undefined;
  for (let looked = 0; looked < unmadeLookedMax && count < countMax; looked += unmadeAtOnce) {
    const { found, last } = await lookForUnmade(tx, owners, { after, looked: unmadeAtOnce });
    const jobs = await jobsToCome(
      tx,
      found.map(({ id }) => id),
    );
    count += jobs.length;
    samples.push(...jobs.slice(0, samplesMax - samples.length));
    if (last === null) return { count, more: false, samples };
    after = last;
    if (timeIsUp()) break;
  }
  return { count, more: true, samples };
}

const stepsMax = 25;

async function countMade(
  tx: Tx,
  filter: CancelFilter,
  timeIsUp: () => boolean,
): Promise<{ count: number; more: boolean; keys: JobKey[] }> {
  const owners = await fewOwners(tx, filter, { deleted: true });
  if (owners?.length === 0) return { count: 0, more: false, keys: [] };
  const keys: JobKey[] = [];
  let count = 0;
  let after = "0";
  for (let step = 0; step < stepsMax && count < countMax; step++) {
    const { jobs, last } = await openJobs(tx, filter, owners, after);
    count += jobs.length;
    keys.push(...jobs.slice(0, samplesMax - keys.length));
    if (last === null) return { count, more: false, keys };
    after = last;
    if (timeIsUp()) break;
  }
  return { count, more: true, keys };
}
