import { jobStates } from "../../client/job.ts";
import type { InstantText, JobsDryRun, RetryFilter } from "../../client/main.ts";
import type { Call } from "../command.ts";
import { ServerFailed } from "../fault.ts";
import { filterText } from "../job-filter-options.ts";
import type { Output } from "../output/output.ts";
import { jobColumns } from "../output/shown-job.ts";
import { counted } from "../output/table.ts";

interface Question {
  verb: "Retry" | "Cancel";
  filter: object;
  count: () => Promise<JobsDryRun>;
}

/**
 * With `--yes`, or after a question that has the number of jobs; `asOf` is the time of that count.
 * Null if no job matches.
 */
export async function confirmed(
  { given, confirm }: Call<"yes">,
  { verb, filter, count: counting }: Question,
): Promise<{ asOf?: InstantText } | null> {
  if (given.flag("yes")) return {};
  const { asOf, count, more } = await counting();
  if (count === 0 && !more) return null;
  await confirm(`${verb} ${counted(count, "job")}${more ? " or more" : ""} (${filterText(filter)})?`, false);
  return { asOf };
}

/** Leaves out the jobs that have died since they were counted. */
export function asCounted(filter: RetryFilter, asOf: InstantText | undefined): RetryFilter {
  return asOf === undefined || filter.state === "cancelled" ? filter : { ...filter, to: filter.to ?? asOf };
}

/** The most entries that one request for their jobs takes. */
const entriesMax = 20;

/** Names the command that lists the jobs of a bulk action in the states that they have by then. */
export function noteEntries(out: Output, entries: readonly string[]): void {
  for (let from = 0; from < entries.length; from += entriesMax)
    out.note(
      `To see what became of them: carillon jobs --entry ${entries.slice(from, from + entriesMax).join(",")}`,
    );
}

/** Counts the jobs of a bulk action: `Of 47 jobs: 31 succeeded, 11 dead, 5 waiting.` */
export async function noteStates({ client, out, signal }: Call<never>, entry: string): Promise<void> {
  const { count, more, states } = await client.jobs.states(entry.split(","), { signal });
  const parts = jobStates.flatMap((state) => (states[state] === 0 ? [] : [`${states[state]} ${state}`]));
  if (count > 0) out.note(`Of ${counted(count, "job")}${more ? " or more" : ""}: ${parts.join(", ")}.`);
}

/**
 * Throws after the results of a bulk call are printed, so that the exit code shows server failures.
 */
export function throwFailed({ failed }: { failed: number }): void {
  if (failed === 0) return;
  const them = failed === 1 ? "it unchanged; its log names it" : "them unchanged; its log names them";
  throw new ServerFailed(`The server failed on ${counted(failed, "job")}, and left ${them}.`);
}

export function showDryRun({ out }: Call, dryRun: JobsDryRun, what: string): void {
  if (out.isJson) {
    out.json(dryRun);
    return;
  }
  const { count, more, samples } = dryRun;
  out.line(`${counted(count, "job")}${more ? " or more" : ""} would be ${what}.`);
  if (samples.length === 0) return;
  out.line(samples.length < count ? "Some of them:" : "They are:");
  out.table(jobColumns(out), samples, "");
}
