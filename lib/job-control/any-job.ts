import { cancelJob, type JobParams, noSuchJob } from "../edit/cancel-jobs.ts";
import { type EditDeps, edit } from "../edit/edit-transaction.ts";
import { isJob, plannedJob, readAnyJob, scheduleOnceAt } from "../history/planned-job.ts";
import { type JobRead, readJob } from "../job/read-job.ts";
import { PassingConflict, Refusal } from "../refusal.ts";
import { retryJob } from "./retry-jobs.ts";

/** As `retryJob`; what has no row is told why it is not tried again. */
export async function retryAnyJob(deps: EditDeps, params: JobParams): Promise<JobRead> {
  const planned =
    (await readJob(deps.sql, params.id)) === null ? await readAnyJob(deps.sql, params.id) : null;
  if (planned === null) return retryJob(deps, params);
  throw new Refusal(
    "conflict",
    planned.state === "cancelled"
      ? `The job ${planned.id} was cancelled before it was made, and its schedule is deleted: enqueue it again.`
      : `The job ${planned.id} is ${planned.state}: only what is dead or cancelled is tried again.`,
  );
}

/** As `cancelJob`, also before it has a row: a job without a lasting schedule then goes with its schedule. */
export async function cancelAnyJob(
  deps: EditDeps,
  params: JobParams,
): Promise<{ job: JobRead; asked: boolean }> {
  const schedule =
    (await readJob(deps.sql, params.id)) === null ? await scheduleOnceAt(deps.sql, params.id) : null;
  const planned = schedule === null ? null : await plannedJob(deps.sql, schedule);
  if (schedule === null || planned === null) return cancelJob(deps, params);
  if (planned.state !== "waiting")
    throw new Refusal("conflict", `The job ${planned.id} is ${planned.state} already.`);
  if (!isJob(schedule))
    throw new Refusal(
      "conflict",
      `The job ${planned.id} is not made yet: delete or change its schedule ${JSON.stringify(schedule.key)} instead.`,
    );
  const { id, key, version } = schedule;
  const detail = { job: planned.id, ...(params.reason === undefined ? {} : { reason: params.reason }) };
  await edit(
    deps,
    { key, caller: params.caller },
    {
      decide: async (_tx, { current }) => {
        if (current.id !== id || current.version !== version)
          throw new PassingConflict(`The job ${planned.id} is being changed at this moment: try again.`);
        return { edit: { change: "deleted", delete: true, detail }, holdsAfter: [] };
      },
    },
  );
  const job = await readAnyJob(deps.sql, params.id);
  if (job === null) throw noSuchJob(params.id);
  return { job, asked: job.cancelling };
}
