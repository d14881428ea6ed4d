import { useState } from "react";
import type { Carillon } from "../../../client/carillon.ts";
import type { Job } from "../../../client/job.ts";
import { useMay } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Confirm, type ConfirmProps } from "../../parts/dialog/confirm.tsx";

type Action = "retry" | "cancel";

/** The actions on one job: retry after it is dead or cancelled, cancel before it has ended. */
export function JobActions({ job }: { job: Job }) {
  const { carillon } = useSession();
  const may = { retry: useMay("retryJob"), cancel: useMay("cancelJob") };
  // The job changes under an open dialog, by the dialog itself too.
  const [asked, setAsked] = useState<Action | null>(null);
  const action = asked ?? actionOf(job);
  if (action === null || !may[action]) return null;
  const props = action === "retry" ? retryOf(job, carillon) : cancelOf(job, carillon);
  return <Confirm<Job> {...props} onOpenChange={(isOpen) => setAsked(isOpen ? action : null)} />;
}

function actionOf({ state }: Job): Action | null {
  if (state === "dead" || state === "cancelled") return "retry";
  return state === "waiting" || state === "retrying" || state === "running" ? "cancel" : null;
}

const retryOf = ({ id, key }: Job, { jobs }: Carillon): ConfirmProps<Job> => ({
  button: "Retry …",
  title: "Retry this job?",
  previewKey: ["retry job", id],
  preview: (signal) => jobs.get(id, { signal }),
  describe: (job) =>
    actionOf(job) === "retry" ? (
      <p>
        It starts again at once, with all attempts of its retry policy. The schedule{" "}
        <span className="mono">{key}</span> is not changed.
      </p>
    ) : (
      <p>It is {job.state} now: another retry was faster.</p>
    ),
  verb: (job) => (actionOf(job) === "retry" ? "Retry the job" : null),
  act: async ({ reason }) => {
    await jobs.retry(id, reason === "" ? {} : { reason });
    return "The job waits for its next attempt.";
  },
});

const cancelOf = ({ id }: Job, { jobs }: Carillon): ConfirmProps<Job> => ({
  button: "Cancel …",
  title: "Cancel this job?",
  isDangerous: true,
  previewKey: ["cancel job", id],
  preview: (signal) => jobs.get(id, { signal }),
  describe: (job) => (
    <p>
      {actionOf(job) === "cancel"
        ? `It is ${job.state} and will not ${job.state === "running" ? "be tried again; its worker is told to stop" : "run"}. Later occurrences are not changed.`
        : `It is ${job.state} already.`}
    </p>
  ),
  verb: (job) => (actionOf(job) === "cancel" ? "Cancel the job" : null),
  act: async ({ reason }) => {
    const { state } = await jobs.cancel(id, reason === "" ? {} : { reason });
    return state === "cancelled" ? "The job is cancelled." : "Its worker is told to stop.";
  },
});
