import type { InstantText, JobOwners, JobsDryRun, RetryFilter } from "../../client/main.ts";
import type { Call } from "../command.ts";
import { ServerFailed } from "../fault.ts";
import { filterText } from "../job-filter-options.ts";
import type { Output } from "../output/output.ts";
import { jobColumns } from "../output/shown-job.ts";
import { printable } from "../output/style.ts";
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

/**
 * The schedules that a retry selects, or the one target of its error groups. Read before the retry:
 * afterwards the groups are empty.
 */
export async function ownersOfRetry(
  { client, signal }: Pick<Call, "client" | "signal">,
  { key, prefix, group, tag, target, errorGroup }: RetryFilter,
): Promise<JobOwners> {
  const owners = { key, prefix, group, tag, target };
  if (errorGroup === undefined || Object.values(owners).some((each) => each !== undefined)) return owners;
  const { items } = await client.jobs.groups({ errorGroup, by: "target", limit: 2, signal });
  const [only, other] = items;
  return other === undefined && only?.target != null ? { target: only.target } : owners;
}

/**
 * Names the command that lists the retried jobs by their schedules or target. Once they have run again, they
 * have another state and perhaps another error, so no filter of these finds them.
 */
export function noteRetried(out: Output, { key, prefix, group, tag, target }: JobOwners): void {
  const given = Object.entries({ key, prefix, group, tag, target }).filter(
    ([, value]) => value !== undefined,
  );
  if (given.length === 0) return;
  out.note(
    printable(
      `To see what became of them: carillon jobs ${given.map(([name, value]) => `--${name} ${value}`).join(" ")}`,
    ),
  );
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
