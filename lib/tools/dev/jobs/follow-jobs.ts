import { seenOnce } from "../../../cli/apply/seen-once.ts";
import { type Carillon, isNotFound, type JobSummary } from "../../../client/main.ts";
import type { Clock } from "../../../clock.ts";

export interface FollowParts {
  client: Carillon;
  clock: Clock;
  signal: AbortSignal;
  /** Called with the jobs that ended since the last poll, or wait for another attempt. */
  ended(jobs: readonly JobSummary[], isCut: boolean): Promise<void>;
  failed(error: unknown): void;
}

const everyMs = 1_000;
/** Jobs whose occurrence lies further in the past are looked up by their ids. */
const backMs = 10 * 60_000;
/** The most jobs of one poll; a person reads a few of them. */
const lookedAtMax = 1_000;
const pageSize = 100;
const rememberedMax = 20_000;
/** Open jobs whose end is looked up by their ids. */
const openMax = 100;
const lookedUpMax = 10;

export interface JobFollower {
  /** Remembers the jobs of now without telling them: called before any tick or worker runs. */
  begin(): Promise<void>;
  /** Tells what has happened since the last look. */
  look(): Promise<void>;
  /** Looks each second until the signal. */
  follow(): Promise<void>;
}

/**
 * Follows the jobs through the API, as `carillon tail` does: only the ledger knows each end, with its
 * reason and error. Workers do not see jobs that are skipped or cancelled, and their log leaves out
 * errors. The events of jobs on the bus would be others than in a deployment.
 *
 * Times do not show what is new: an attempt whose worker died ended when its lease ended, which may
 * be long before the start that finds it.
 */
export function jobFollower(parts: FollowParts): JobFollower {
  const { clock, signal } = parts;
  const known: Known = {
    fresh: seenOnce(({ id, state, attempt }) => `${id} ${state} ${attempt}`, rememberedMax),
    open: new Map(),
  };
  const tried = async (act: () => Promise<void>) => {
    try {
      await act();
    } catch (error) {
      if (!signal.aborted) parts.failed(error);
    }
  };
  const look = () =>
    tried(async () => {
      const { found, isCut } = await newestJobs(parts, known);
      const told = found.filter(isTold);
      if (told.length > 0) await parts.ended(told, isCut);
    });
  return {
    begin: () => tried(() => rememberJobs(parts, known)),
    look,
    follow: async () => {
      while (!signal.aborted) {
        await look();
        await clock.sleep(everyMs, signal);
      }
    },
  };
}

interface Known {
  fresh: (jobs: readonly JobSummary[]) => JobSummary[];
  /** Jobs that have not ended, by id. */
  open: Map<string, JobSummary>;
}

const isOpen = (state: JobSummary["state"]) =>
  state === "waiting" || state === "running" || state === "retrying";

const isTold = ({ state }: JobSummary) => state === "retrying" || !isOpen(state);

async function rememberJobs(parts: FollowParts, known: Known): Promise<void> {
  await newestJobs(parts, known);
  // A job whose worker died in its first attempt still waits, and may be due since long ago.
  const { items } = await parts.client.jobs
    .list({ state: "waiting", upcoming: false, limit: pageSize, signal: parts.signal })
    .page();
  // One that is held, or waits for its turn, has no worker.
  for (const job of items) if (job.readyAt !== null) known.open.set(job.id, job);
}

async function newestJobs(
  { client, clock, signal }: FollowParts,
  { fresh, open }: Known,
): Promise<{ found: JobSummary[]; isCut: boolean }> {
  const from = new Date(clock.now().getTime() - backMs);
  const found: JobSummary[] = [];
  const seen = new Set<string>();
  const take = (jobs: readonly JobSummary[]): number => {
    for (const job of jobs) seen.add(job.id);
    const some = fresh(jobs);
    found.push(...some, ...fresh(jobs.flatMap((job) => failedBefore(job, open.get(job.id)))));
    for (const job of jobs)
      if (open.has(job.id) ? isOpen(job.state) : job.state === "running" || job.state === "retrying")
        open.set(job.id, job);
    return some.length;
  };
  const lists = [{ upcoming: false }, { state: "dead" }, { state: "retrying" }] as const;
  let isCut = false;
  for (const list of lists) {
    let looked = 0;
    const times = "state" in list && list.state === "retrying" ? {} : { from };
    for await (const { items } of client.jobs.list({ ...list, ...times, limit: pageSize, signal }).pages()) {
      looked += items.length;
      // Newest first: behind a page that is known already, all others are.
      if (take(items) === 0) break;
      if (looked < lookedAtMax) continue;
      isCut = true;
      break;
    }
  }
  const missed = [...open.keys()].filter((id) => !seen.has(id)).slice(0, lookedUpMax);
  for (const id of missed) take(await jobNow(client, id, signal));
  for (const { id, state } of found) if (!isOpen(state)) open.delete(id);
  for (const id of [...missed, ...open.keys()].slice(0, Math.max(0, open.size - openMax))) open.delete(id);
  return { found, isCut };
}

/** The attempt of a job that failed since it was seen, where its next attempt has begun already. */
function failedBefore(job: JobSummary, before: JobSummary | undefined): JobSummary[] {
  const isNew = job.state === "running" && before !== undefined && before.attempt < job.attempt;
  return isNew ? [{ ...job, state: "retrying", readyAt: null }] : [];
}

async function jobNow(client: Carillon, id: string, signal: AbortSignal): Promise<JobSummary[]> {
  try {
    return [await client.jobs.get(id, { signal })];
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}
