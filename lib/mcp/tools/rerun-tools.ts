import * as z from "zod";
import type { Job } from "../../client/main.ts";
import { WouldBeRefused } from "../../put-preview/would-be-refused.ts";
import { counted, type Told } from "../answer.ts";
import { instant, owners } from "../arguments.ts";
import { type Foreseen, type MakePreviewed, previewedTool } from "../previewed-tool.ts";
import type { ToolCall } from "../tool.ts";
import { jobLine } from "./job-tools.ts";

const reason = z.string().optional().describe("The reason, for the audit.");

const filter = z.strictObject({
  key: z.string().optional(),
  ...owners,
  errorGroup: z.string().optional().describe("See list_error_groups."),
  reason: z.string().optional().describe("Only jobs that died for this reason."),
  lateBy: z.string().optional().describe("Only jobs that started this much too late."),
  from: instant.optional().describe("Died at this instant or later."),
  to: instant.optional().describe("Died before this instant."),
});

/** The most jobs of one call of the API. */
const retriedMax = 10_000;

const retry = previewedTool({
  name: "retry_jobs",
  title: "Retry dead jobs",
  description:
    "Runs one dead or cancelled job again (id), or all dead jobs that match a filter. Jobs that die after the preview are left out.",
  input: z.strictObject({
    id: z.string().optional().describe("One job."),
    filter: filter.optional().describe("Instead of an id: all dead jobs that match."),
    reason,
  }),
  preview: async ({ id, filter: asked, reason: why }, call) => {
    if ((id === undefined) === (asked === undefined))
      throw new TypeError("Give exactly one of id and filter.");
    if (id !== undefined) return foreseeOne("retry", id, why, call);
    return foreseeMany(asked ?? {}, why, call);
  },
});

const cancel = previewedTool({
  name: "cancel_job",
  title: "Cancel a job",
  description: "Cancels one job that has not ended. The worker of a running job is notified to stop it.",
  input: z.strictObject({ id: z.string().describe("The id of the job."), reason }),
  preview: ({ id, reason: why }, call) => foreseeOne("cancel", id, why, call),
});

export const rerunTools: readonly MakePreviewed[] = [retry, cancel];

const startStates = {
  retry: ["dead", "cancelled"],
  cancel: ["waiting", "retrying", "running"],
} as const satisfies Record<string, readonly Job["state"][]>;

async function foreseeOne(
  verb: "retry" | "cancel",
  id: string,
  why: string | undefined,
  { client, signal }: ToolCall,
): Promise<Foreseen> {
  const seen = await client.jobs.get(id, { signal });
  if (!startStates[verb].some((state) => state === seen.state))
    throw new WouldBeRefused("refused", `the job is ${seen.state}, not ${startStates[verb].join(" or ")}`);
  const { payload: _, attempts: __, ...brief } = seen;
  let isSent = false;
  return {
    lines: [`Would ${verb} this job:`, jobLine(seen)],
    data: { job: brief },
    act: async (idempotencyKey, aborted) => {
      // The repeat of a call without an answer may find the job changed by that call.
      if (!isSent) refuseChanged(await client.jobs.get(id, { signal: aborted }), seen);
      isSent = true;
      const done = await client.jobs[verb](id, { reason: why }, { idempotencyKey, signal: aborted });
      return { lines: [`Done: ${jobLine(done)}`], data: { job: done } };
    },
  };
}

/** Jobs have no version for If-Match: the state, the attempts and the end stand for it. */
function refuseChanged(now: Job, seen: Job): void {
  const { id, state, attempt, finishedAt } = now;
  if (state === seen.state && attempt === seen.attempt && finishedAt === seen.finishedAt) return;
  throw new WouldBeRefused(
    "conflict",
    `the job ${id} changed after the preview: it is ${state} now, with ${counted(attempt, "attempt")}. Nothing was done; call again without confirm`,
  );
}

async function foreseeMany(
  { from, to, ...others }: z.output<typeof filter>,
  why: string | undefined,
  { client, signal, instantOf }: ToolCall,
): Promise<Foreseen> {
  const asked = { ...others, state: "dead" as const, from: instantOf(from, "from"), to: instantOf(to, "to") };
  const { asOf, count, more, samples } = await client.jobs.retryDryRun(asked, { signal });
  return {
    lines: [
      `Would retry ${counted(count, "dead job", more)}, as of ${asOf}${samples.length < count ? ". Some of them:" : ":"}`,
      ...samples.map(jobLine),
    ],
    data: { asOf, count, more, samples },
    act:
      count === 0 && !more
        ? null
        : async (idempotencyKey, aborted) => {
            // Jobs that have died since the count are not part of the preview.
            const to = asked.to !== undefined && asked.to < asOf ? asked.to : asOf;
            const limit = Math.min(Math.max(count, 1), retriedMax);
            const options = { limit, reason: why, idempotencyKey, signal: aborted };
            return toldRetried(await client.jobs.retryMany({ ...asked, to }, options));
          },
  };
}

function toldRetried({
  done,
  failed,
  leftOut,
  entry,
  cursor,
}: Awaited<ReturnType<ToolCall["client"]["jobs"]["retryMany"]>>): Told {
  return {
    lines: [
      `Retried ${counted(done, "job")}.`,
      ...(failed > 0
        ? [`The server failed on ${counted(failed, "job")} and left them unchanged; its log names them.`]
        : []),
      ...(entry === null
        ? []
        : [`search_jobs with entry ${entry} lists them in the states that they have by then.`]),
      ...(cursor === undefined ? [] : ["More may match: call again without confirm for a new preview."]),
    ],
    data: { done, failed, leftOut, entry, complete: cursor === undefined },
  };
}
