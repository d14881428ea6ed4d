import { applyOperations } from "../batch/apply-operations.ts";
import type { Operation } from "../batch/operation.ts";
import { actInHalves, boundPart, type Part } from "../edit/act-in-halves.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import { type ActedBy, type EntryKey, noteJobs } from "../edit/note-jobs.ts";
import type { JobOwners } from "../history/find-schedules.ts";
import { jobsToCome, lookForUnmade } from "../history/unmade-jobs.ts";
import { jobId } from "../job/job-id.ts";
import type { Log } from "../log/log.ts";

export interface UnmadeParams {
  owners: JobOwners;
  /** The key at which the previous call ended. */
  after: string | undefined;
  most: number;
  by: ActedBy;
  timeIsUp: () => boolean;
}

/** Limits of schedules read by one call and by one statement. */
const lookedMax = 20_000;
const lookedAtOnce = 5_000;

/** The most schedules that one transaction deletes. Claims of their shards wait meanwhile. */
const batchMax = 50;

/** Limit of attempts for schedules that another transaction has changed meanwhile. */
const attemptsMax = 3;

/**
 * Cancels jobs without a row by deleting their schedules. `next`: the key to continue from, null if
 * all were checked.
 */
export async function cancelUnmade(
  deps: EditDeps & { log: Log },
  { owners, most, by, timeIsUp, ...params }: UnmadeParams,
): Promise<{ done: number; failed: number; next: string | null }> {
  let done = 0;
  let failed = 0;
  const cancel = async (some: readonly { id: string }[], part: Part) => {
    const ids = some.map(({ id }) => id);
    const count = (deleted: number) => {
      done += deleted;
    };
    await cancelTogether(deps, ids, { by, part, count });
  };
  let after = params.after;
  for (let looked = 0; looked < lookedMax; looked += lookedAtOnce) {
    const { found, last } = await lookForUnmade(deps.sql, owners, { after, looked: lookedAtOnce });
    for (let from = 0; from < found.length; ) {
      if (done >= most || timeIsUp()) return { done, failed, next: after ?? "" };
      const batch = found.slice(from, from + Math.min(batchMax, most - done));
      const acted = await actInHalves(batch, {
        log: deps.log,
        event: "job.not-cancelled",
        named: ({ id, occurrence }) => ({
          job: jobId({ scheduleId: id, occurrence, kind: "cadence", n: 0 }),
        }),
        act: cancel,
        timeIsUp,
      });
      failed += acted.failed;
      from += acted.tried;
      after = batch[acted.tried - 1]?.key ?? after;
    }
    if (last === null) return { done, failed, next: null };
    after = last;
  }
  return { done, failed, next: after ?? "" };
}

interface Together {
  by: UnmadeParams["by"];
  part: Part;
  count: (deleted: number) => void;
}

/**
 * Deletes the schedules of those jobs that still have no row. A job that got a row meanwhile is
 * left alone: the pass over the parcels finds it.
 */
async function cancelTogether(
  deps: EditDeps,
  ids: readonly string[],
  { by, part, count }: Together,
): Promise<void> {
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    const jobs = await jobsToCome(deps.sql, ids);
    if (jobs.length === 0) return;
    const deletions = jobs.map(({ key, version }): Operation => {
      return { kind: "delete", key, caller: by.caller, ifMatch: [version] };
    });
    let entry: EntryKey | null = null;
    const applied = await applyOperations(deps, deletions, {
      before: async (tx) => {
        await boundPart(tx, part);
        return new Set();
      },
      after: async (tx, results) => {
        const deleted = results.flatMap((result) => (result.change === "deleted" ? [result.id] : []));
        const noted = deleted.map((scheduleId) => ({ scheduleId }));
        entry = await noteJobs(tx, "jobs.cancelled", noted, by);
      },
    });
    if (by.entry !== undefined) by.entry.written ??= entry;
    count(applied.filter(({ change }) => change === "deleted").length);
    if (applied.every(({ change }) => change === "deleted")) return;
  }
}
