import { seenOnce } from "../../../cli/apply/seen-once.ts";
import { type Carillon, isNotFound, type JobSummary } from "../../../client/main.ts";
import type { Clock } from "../../../clock.ts";

export interface FollowParts {
  client: Carillon;
  clock: Clock;
  signal: AbortSignal;
  /** Jobs that ended before are left out. */
  since: number;
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

/**
 * Follows the jobs through the API, as `carillon tail` does: only the ledger knows each end, with its
 * reason and error. Workers do not see jobs that are skipped or cancelled, and their log leaves out
 * errors. The events of jobs on the bus would be others than in a deployment.
 */
export async function followJobs(parts: FollowParts): Promise<void> {
  const { clock, signal, since } = parts;
  const fresh = seenOnce<JobSummary>(({ id, state, attempt }) => `${id} ${state} ${attempt}`, rememberedMax);
  const open = new Map<string, JobSummary>();
  while (!signal.aborted) {
    try {
      const { found, isCut } = await newestJobs(parts, fresh, open);
      const told = found.filter((job) => isTold(job) && changedAt(job) >= since);
      if (told.length > 0) await parts.ended(told, isCut);
    } catch (error) {
      if (!signal.aborted) parts.failed(error);
    }
    await clock.sleep(everyMs, signal);
  }
}

const isTold = ({ state }: JobSummary) => state !== "waiting" && state !== "running";

/** A job that waits for its next attempt has just failed. */
function changedAt({ state, finishedAt, startedAt, dueAt }: JobSummary): number {
  return state === "retrying" ? Number.POSITIVE_INFINITY : Date.parse(finishedAt ?? startedAt ?? dueAt);
}

async function newestJobs(
  { client, clock, signal }: FollowParts,
  fresh: (jobs: readonly JobSummary[]) => JobSummary[],
  open: Map<string, JobSummary>,
): Promise<{ found: JobSummary[]; isCut: boolean }> {
  const from = new Date(clock.now().getTime() - backMs);
  const found: JobSummary[] = [];
  const seen = new Set<string>();
  const take = (jobs: readonly JobSummary[]): number => {
    for (const job of jobs) seen.add(job.id);
    for (const job of jobs) if (job.state === "running" || job.state === "retrying") open.set(job.id, job);
    const some = fresh(jobs);
    found.push(...some);
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
  for (const { id, state } of found) if (state !== "running" && state !== "retrying") open.delete(id);
  for (const id of [...missed, ...open.keys()].slice(0, Math.max(0, open.size - openMax))) open.delete(id);
  return { found, isCut };
}

async function jobNow(client: Carillon, id: string, signal: AbortSignal): Promise<JobSummary[]> {
  try {
    return [await client.jobs.get(id, { signal })];
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}
