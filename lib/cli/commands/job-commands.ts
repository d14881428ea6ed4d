import { jobStates } from "../../client/job.ts";
import { type Call, type Command, command } from "../command.ts";
import { dryRunOption, listOptions, yesOption } from "../common-options.ts";
import { eachOf } from "../each.ts";
import { UsageFault } from "../fault.ts";
import { inParts } from "../in-parts.ts";
import { argumentOr, instantFrom } from "../input.ts";
import {
  errorGroupOption,
  filterText,
  foundOptions,
  isOwned,
  ownerOptions,
  ownersFrom,
} from "../job-filter-options.ts";
import { noteReach, pageSize, showCount, someOf } from "../listed.ts";
import { jobColumns, showJob } from "../output/shown-job.ts";
import { counted } from "../output/table.ts";
import { oneOf } from "../schedule-filter.ts";
import { asCounted, confirmed, noteEntries, noteStates, showDryRun, throwFailed } from "./bulk-jobs.ts";

const lateOption = {
  "late-by": { value: "duration", about: "Only jobs that started at least this late, such as `5m`" },
} as const;
const whyOption = { why: { value: "text", about: "The reason, for the audit" } } as const;

const jobs = command({
  name: "jobs",
  group: "Jobs",
  summary: "List jobs, newest first",
  usage: "[key]",
  about:
    "Jobs are made up to three minutes ahead: those whose occurrence is still to come are listed with --upcoming or --to only.",
  words: { min: 0, max: 1 },
  options: {
    state: { value: "state", about: jobStates.join(", ") },
    ...ownerOptions,
    ...foundOptions,
    upcoming: { about: "Only jobs whose occurrence is still to come" },
    ...lateOption,
    ...errorGroupOption,
    entry: {
      value: "ids",
      about: "The jobs of a retry or a cancel, by the entries that it printed; takes --state and --prefix",
    },
    ...listOptions,
    count: { about: "Only the number of jobs" },
  },
  examples: [
    "carillon jobs report:weekly",
    "carillon jobs report:weekly --upcoming",
    "carillon jobs --state dead --prefix order:",
    `carillon jobs --late-by 5m --from "2h ago"`,
    "carillon jobs --state dead --json --all",
    "carillon jobs --state waiting --count",
    "carillon jobs --entry 812 --state dead",
  ],
  run: async (call) => {
    const { client, out, signal } = call;
    const entry = call.given.text("entry");
    const filter = { ...filterFrom(call), key: argumentOr(call, "key") };
    const upcoming = entry === undefined ? upcomingFrom(call, filter) : undefined;
    const total = () => client.jobs.count({ ...filter, entry, upcoming, signal });
    if (call.given.flag("count")) return showCount(out, await total());
    const list = client.jobs.list({ ...filter, entry, upcoming, limit: pageSize(call), signal });
    const found = await someOf(call, list, total);
    out.table(jobColumns(out), found, "No job matches.");
    if (entry !== undefined) await noteStates(call, entry);
    else if (found.length === 0) await noteReach(call, filter.key ?? filter.prefix);
  },
});

function filterFrom(
  call: Call<keyof typeof ownerOptions | keyof typeof foundOptions | "state" | "error-group" | "late-by">,
) {
  const { given } = call;
  return {
    state: oneOf(given.text("state"), jobStates, "--state"),
    ...ownersFrom(call),
    reason: given.text("reason"),
    errorGroup: given.text("error-group"),
    lateBy: given.text("late-by"),
    from: instantFrom(call, given.text("from"), "--from"),
    to: instantFrom(call, given.text("to"), "--to"),
  };
}

/** A search up to an instant says itself whether it means jobs to come; dead jobs are none. */
function upcomingFrom(
  { given }: Call<"upcoming">,
  { state, to }: { state?: string | undefined; to?: string | undefined },
): boolean | undefined {
  if (given.flag("upcoming")) return true;
  return state === "dead" || to !== undefined ? undefined : false;
}

const job = command({
  name: "job",
  group: "Jobs",
  summary: "Show a job, with its payload, its attempts and where its time went",
  usage: "<id>",
  words: { min: 1, max: 1 },
  options: {},
  examples: ["carillon job 1-1796115600000-c0"],
  run: async ({ words, client, out, signal }) =>
    showJob(out, await client.jobs.get(words[0] ?? "", { signal })),
});

const retry = command({
  name: "retry",
  group: "Jobs",
  summary: "Retry dead or cancelled jobs",
  usage: "[id]…",
  about:
    "With --state and other filters many jobs are retried, after a confirmation; they are spread behind jobs that are already due.",
  words: { min: 0, max: 1_000 },
  options: {
    state: { value: "state", about: "dead or cancelled" },
    ...ownerOptions,
    ...foundOptions,
    ...lateOption,
    ...errorGroupOption,
    ...whyOption,
    ...yesOption,
    ...dryRunOption,
  },
  examples: [
    "carillon retry 1-1796115600000-c0",
    "carillon retry --state dead --prefix order: --dry-run",
    "carillon retry --error-group 5d1c0e7a94b2 --dry-run",
    "carillon retry --state dead --prefix order: --yes",
  ],
  run: async (call) => {
    const { words, given, client, out, signal } = call;
    const { state: asked, ...others } = filterFrom(call);
    const state = oneOf(asked, ["dead", "cancelled"] as const, "--state");
    if (words.length > 0) return eachJob(call, "retry");
    const filter = { state, ...others };
    if (filterText(filter) === "")
      throw new UsageFault(
        "Name the jobs to retry: ids, or --state dead with filters such as --error-group and --prefix.",
      );
    if (given.flag("dry-run"))
      return showDryRun(call, await client.jobs.retryDryRun(filter, { signal }), "retried");
    const entries: string[] = [];
    const total = { done: 0, leftOut: 0, failed: 0, entries };
    const meant = await confirmed(call, {
      verb: "Retry",
      filter: { ...filter, state: state ?? "dead" },
      count: () => client.jobs.retryDryRun(filter, { signal }),
    });
    if (meant !== null)
      await inParts(call, total, async (cursor) => {
        const part = await client.jobs.retryMany(asCounted(filter, meant.asOf), {
          reason: given.text("why"),
          cursor,
          signal,
        });
        total.leftOut += part.leftOut;
        total.failed += part.failed;
        if (part.entry !== null) entries.push(part.entry);
        return part;
      });
    if (out.isJson) out.json(total);
    else
      out.line(
        `Retried: ${counted(total.done, "job")}${total.leftOut === 0 ? "" : `; ${total.leftOut} cannot be retried`}.`,
      );
    if (!out.isJson) noteEntries(out, entries);
    throwFailed(total);
  },
});

const cancel = command({
  name: "cancel",
  group: "Jobs",
  summary: "Cancel jobs",
  usage: "[id]…",
  about:
    "A running job is notified to stop. Later occurrences of the schedule still run: to stop them too, use pause or rm.",
  words: { min: 0, max: 1_000 },
  options: {
    state: { value: "state", about: "waiting, retrying or running" },
    ...ownerOptions,
    ...errorGroupOption,
    ...whyOption,
    ...yesOption,
    ...dryRunOption,
  },
  examples: [
    "carillon cancel 1-1796115600000-c0",
    "carillon cancel --group order:1 --dry-run",
    "carillon cancel --group order:1 --yes",
  ],
  run: async (call) => {
    const { words, given, client, out, signal } = call;
    if (words.length > 0) return eachJob(call, "cancel");
    const state = oneOf(given.text("state"), ["waiting", "retrying", "running"] as const, "--state");
    const filter = { state, ...ownersFrom(call), errorGroup: given.text("error-group") };
    if (!isOwned(filter))
      throw new UsageFault(
        "Name the jobs to cancel: ids, or --key, --prefix, --group, --tag, --target, --error-group.",
      );
    if (given.flag("dry-run"))
      return showDryRun(call, await client.jobs.cancelDryRun(filter, { signal }), "cancelled");
    const entries: string[] = [];
    const total = { done: 0, running: 0, failed: 0, entries };
    const meant = await confirmed(call, {
      verb: "Cancel",
      filter,
      count: () => client.jobs.cancelDryRun(filter, { signal }),
    });
    if (meant !== null)
      await inParts(call, total, async (cursor) => {
        const part = await client.jobs.cancelMany(filter, { reason: given.text("why"), cursor, signal });
        total.running += part.running;
        total.failed += part.failed;
        if (part.entry !== null) entries.push(part.entry);
        return part;
      });
    if (out.isJson) out.json(total);
    else
      out.line(
        `Cancelled: ${counted(total.done, "job")}${total.running === 0 ? "" : `; ${total.running} running jobs notified to stop`}.`,
      );
    if (!out.isJson) noteEntries(out, entries);
    throwFailed(total);
  },
});

async function eachJob(call: Call<"why">, verb: "retry" | "cancel"): Promise<void> {
  const { words, given, client, out, signal } = call;
  await eachOf(call, async (id) => {
    const done = await client.jobs[verb](id, { reason: given.text("why") }, { signal });
    if (words.length === 1)
      showJob(out, done, verb === "retry" ? "It will be retried." : "Cancelled, or notified to stop.");
    else if (out.isJson) out.json(done);
    else out.line(`${done.id} ${done.state}`);
  });
}

export const jobCommands: readonly Command[] = [jobs, job, retry, cancel];
