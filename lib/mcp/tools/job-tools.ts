import * as z from "zod";
import { jobStates } from "../../client/job.ts";
import type { Job, JobSummary } from "../../client/main.ts";
import { counted, nameText, quoted, shown, toldPage } from "../answer.ts";
import { instant, owners, paging } from "../arguments.ts";
import { readTool, type Tool } from "../tool.ts";

const found = {
  ...owners,
  reason: z.string().optional().describe("Only jobs that ended for this reason."),
  from: instant.optional().describe("Occurrences from here on; for dead jobs, the time of death."),
  to: instant.optional().describe("Before this instant."),
};

const searchJobs = readTool({
  name: "search_jobs",
  title: "Search jobs",
  description:
    "Lists jobs, one line each with state and error. With state dead, the latest deaths come first; otherwise the latest occurrences.",
  input: z.strictObject({
    state: z.enum(jobStates).optional(),
    key: z.string().optional().describe("Only jobs of this schedule, also of a deleted one."),
    ...found,
    errorGroup: z.string().optional().describe("Only jobs with this error: see list_error_groups."),
    lateBy: z
      .string()
      .optional()
      .describe("Only jobs that started this much too late: a duration such as 5m."),
    upcoming: z.boolean().optional().describe("False leaves out jobs whose occurrence is still to come."),
    entry: z.string().optional().describe("Only the jobs of this retry: the `entry` that it answered."),
    ...paging,
  }),
  run: async ({ from, to, ...filter }, { client, signal, instantOf }) => {
    const times = { from: instantOf(from, "from"), to: instantOf(to, "to") };
    return toldPage(
      await client.jobs.list({ ...filter, ...times, signal }).page(),
      jobLine,
      "No job matches.",
    );
  },
});

const getJob = readTool({
  name: "get_job",
  title: "Show a job",
  description: "Shows one job with its payload, and each attempt with its error and where its time went.",
  input: z.strictObject({ id: z.string().describe("The id of the job.") }),
  run: async ({ id }, { client, signal }) => {
    const job = await client.jobs.get(id, { signal });
    return {
      lines: [
        jobLine(job),
        `Payload ${shown(job.payload)}`,
        ...job.attempts.map(
          ({ attempt, outcome, startedAt, durationMs, error }) =>
            `Attempt ${attempt} at ${startedAt}: ${outcome} after ${durationMs} ms${error === null ? "" : `, ${quoted(error)}`}`,
        ),
      ],
      data: withLastAttempts(job),
    };
  },
});

const errorGroups = readTool({
  name: "list_error_groups",
  title: "List dead jobs in groups of the same error",
  description:
    "Counts dead (or retrying) jobs by target and error, the largest group first. The answer to: which jobs failed, and why?",
  input: z.strictObject({
    state: z.enum(["dead", "retrying"]).default("dead"),
    by: z.enum(["target,error", "target", "error", "reason"]).default("target,error"),
    key: z.string().optional().describe("Only jobs of this schedule."),
    ...found,
    ...paging,
  }),
  run: async ({ from, to, ...filter }, { client, signal, instantOf }) => {
    const times = { from: instantOf(from, "from"), to: instantOf(to, "to") };
    return toldPage(
      await client.jobs.groups({ ...filter, ...times, signal }),
      ({ errorGroup, target, error, reason, count, more, schedules, lastAt }) =>
        `${errorGroup ?? "no error group"}: ${counted(count, "job", more)} of ${counted(schedules, "schedule")} at ${target === null ? "all targets" : nameText(target)}, last ${lastAt}, ${error === null ? (reason ?? "no error") : quoted(error)}`,
      "No failed job matches.",
    );
  },
});

export const jobTools: readonly Tool[] = [searchJobs, getJob, errorGroups];

export function jobLine({ id, key, state, reason, dueAt, latenessMs, attempt, error }: JobSummary): string {
  const late = latenessMs === null ? "" : `, started ${latenessMs} ms late`;
  return `${id} ${nameText(key)}: ${state}${reason === null ? "" : ` (${reason})`}, due ${dueAt}${late}, ${counted(attempt, "attempt")}${error === null ? "" : `, ${quoted(error)}`}`;
}

const attemptsShown = 5;

/** The stacks of a hundred attempts are the same few, and the last attempts say why the job ended. */
function withLastAttempts(job: Job): object {
  const earlier = job.attempts.length - attemptsShown;
  return earlier > 0 ? { ...job, attempts: job.attempts.slice(earlier), earlierAttempts: earlier } : job;
}
