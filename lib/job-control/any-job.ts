import { cancelJob, type JobParams, noSuchJob } from "../edit/cancel-jobs.ts";
import { type EditDeps, edit } from "../edit/edit-transaction.ts";
import { isJob, plannedJob, readAnyJob, scheduleOnceAt } from "../history/planned-job.ts";
import { type JobRead, readJob } from "../job/read-job.ts";
import { PassingConflict, Refusal } from "../refusal.ts";
import { retryJob } from "./retry-jobs.ts";

/** Like `retryJob`. A job without a row is refused with the reason. */
export async function retryAnyJob(deps: EditDeps, params: JobParams): Promise<JobRead> {
  const planned =
    (await readJob(deps.sql, params.id)) === null ? await readAnyJob(deps.sql, params.id) : null;
  if (planned === null) return retryJob(deps, params);
  throw new Refusal(
    "conflict",
    planned.state === "cancelled"
      ? `The job ${planned.id} was cancelled before it had a row, and its schedule is deleted: enqueue it again.`
      : `The job ${planned.id} is ${planned.state}: only a dead or cancelled job can be retried.`,
  );
}

/**
 * Like `cancelJob`, and also cancels a job that has no row yet: a job without a lasting schedule is
 * cancelled by deleting its schedule.
 */
export async function cancelAnyJob(
  deps: EditDeps,
  params: JobParams,
): Promise<{ job: JobRead; asked: boolean }> {
  const schedule =
    (await readJob(deps.sql, params.id)) === null ? await scheduleOnceAt(deps.sql, params.id) : null;
  const planned = schedule === null ? null : await plannedJob(deps.sql, schedule);
  if (schedule === null || planned === null) return cancelJob(deps, params);
  if (planned.state !== "waiting")
    throw new Refusal(
      "conflict",
      `The job ${planned.id} is ${planned.state}: only a waiting, retrying or running job can be cancelled.`,
    );
  if (!isJob(schedule))
    throw new Refusal(
      "conflict",
      `The job ${planned.id} does not exist yet: delete or change its schedule ${JSON.stringify(schedule.key)} instead.`,
    );
  const { id, key, version } = schedule;
  const detail = { job: planned.id, ...(params.reason === undefined ? {} : { reason: params.reason }) };
  await edit(
    deps,
    { key, caller: params.caller },
    {
      decide: async (_tx, { current }) => {
        if (current.id !== id || current.version !== version)
          throw new PassingConflict(`Another request has changed the job ${planned.id}. Retry the request.`);
        return { edit: { change: "deleted", delete: true, detail }, holdsAfter: [] };
      },
    },
  );
  const job = await readAnyJob(deps.sql, params.id);
  if (job === null) throw noSuchJob(params.id);
  return { job, asked: job.cancelling };
}
