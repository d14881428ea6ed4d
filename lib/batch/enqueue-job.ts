import type { Tx } from "../db/connect.ts";
import { cancelJobsInside } from "../edit/cancel-jobs.ts";
import { type EditDeps, type EditSteps, edit } from "../edit/edit-transaction.ts";
import { RestartTransaction } from "../edit/restart-transaction.ts";
import { type PutParams, putSteps } from "../edit/schedule-edits.ts";
import { isJob, onceOf, readAnyJob } from "../history/planned-job.ts";
import { jobId } from "../job/job-id.ts";
import { type JobRead, readJobsAt } from "../job/read-job.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { plannedUpTo, type ShardState } from "../plan/shard.ts";
import { PassingConflict, Refusal } from "../refusal.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";

/** Effect of an enqueue on an unfinished job with the same key. */
export type IfExists = "replace" | "keep" | "refuse";

export interface EnqueueParams {
  key: string;
  body: ScheduleBody;
  caller: Caller;
  ifExists: IfExists;
}

export interface Enqueued {
  /** `unchanged`: the job already matches the request, or is kept. */
  change: "created" | "changed" | "unchanged";
  job: JobRead;
}

/** Enqueues a job without a lasting schedule: its schedule runs once and is deleted after that. */
export async function enqueueJob(deps: EditDeps, params: EnqueueParams): Promise<Enqueued> {
  const { change, schedule } = await edit(deps, params, enqueueSteps(params));
  // The normal form of a one-time cadence is `at` and the instant.
  const occurrence = new Date(schedule.cadence.slice("at ".length));
  const id = jobId({ scheduleId: schedule.id, occurrence, kind: "cadence", n: 0 });
  const job = await readAnyJob(deps.sql, id);
  if (job === null)
    throw new PassingConflict(`Other requests keep changing the job ${id}. Retry the request.`);
  return { change, job };
}

/** Steps of a put for a job: a job that has not started is replaced, and no second one is added. */
export function enqueueSteps(params: PutParams & { ifExists: IfExists }): EditSteps {
  const { missing, decide } = putSteps(params);
  return {
    ...(missing === undefined ? {} : { missing }),
    decide: async (tx, context) => {
      const { current, state } = context;
      if (!isJob(current))
        throw new Refusal(
          "conflict",
          `The key ${JSON.stringify(params.key)} belongs to a schedule, not to a job.`,
          [{ path: "key", message: "is taken by a schedule" }],
        );
      const job = await onlyJob(tx, current, state);
      const open = job === null || job === "planned" || isOpen(job) ? job : null;
      if (open !== null && params.ifExists === "keep") return null;
      if (open !== null && params.ifExists === "refuse")
        throw new Refusal("conflict", `The job ${JSON.stringify(params.key)} is not done yet.`, [
          { path: "key", message: "has a job that is not done yet" },
        ]);
      const decision = await decide(tx, context);
      if (decision === null || "unlockedLabels" in decision || job === null || job === "planned")
        return decision;
      const { spec } = decision.edit;
      const moves = spec !== undefined && onceOf(spec.cadence) !== onceOf(current.cadence);
      if (!moves) {
        refuseSpent(job);
        return decision;
      }
      // A job that is not due is withdrawn with its version. A running job goes on.
      if (open === null || job.dueAt > state.now || job.state === "running") return decision;
      return { ...decision, freed: await cancelReplaced(tx, job, params.caller) };
    },
  };
}

async function cancelReplaced(tx: Tx, job: JobRead, caller: Caller): Promise<OutgoingParcel[]> {
  const by = { caller, detail: { job: job.id, replaced: true } };
  const { done, parcels } = await cancelJobsInside(tx, [job], by);
  // A claim has just queued the old job at its target, where it would run beside the new one.
  if (done.some(({ became }) => became === "moved")) throw new RestartTransaction();
  return parcels;
}

const isOpen = ({ state }: JobRead) => state === "waiting" || state === "running" || state === "retrying";

/**
 * Each instant has one job. A started or settled job cannot take another payload, and no further
 * job of the instant would run.
 */
function refuseSpent({ id, state }: JobRead): void {
  if (state === "waiting" || state === "retrying") return;
  throw new Refusal(
    "conflict",
    `The job ${id} of this instant is ${state}: enqueue a further job at another instant.`,
    [{ path: "when", message: "is the instant of a job that has started or is settled" }],
  );
}

/** The only job of the schedule; `planned` if it has no row yet, null if its row is gone. */
async function onlyJob(
  tx: Tx,
  { id, cadence, heldSince }: StoredSchedule,
  state: ShardState,
): Promise<JobRead | "planned" | null> {
  const at = onceOf(cadence);
  if (at === null) return null;
  const [job] = await readJobsAt(tx, [{ scheduleId: id, occurrence: new Date(at) }]);
  if (job !== undefined) return job;
  return heldSince !== null || at > plannedUpTo(state, id).getTime() ? "planned" : null;
}
