import type { JobOwners, JobSummary } from "../../client/main.ts";
import { seenOnce } from "../apply/seen-once.ts";
import { type Call, type Command, command } from "../command.ts";
import { exitCodeOf, exitCodes } from "../exit-codes.ts";
import { UsageFault } from "../fault.ts";
import { argumentOr } from "../input.ts";
import { isOwned, ownerOptions, ownersFrom } from "../job-filter-options.ts";
import type { Output } from "../output/output.ts";
import { whyOf } from "../output/shown-job.ts";
import { printable, stateColour } from "../output/style.ts";
import { measuredText } from "../times.ts";
import { auditColumns } from "./audit-command.ts";

const options = {
  ...ownerOptions,
  audit: { about: "Follow the audit instead of jobs" },
  lines: { value: "n", short: "n", about: "How many earlier lines; default: 10" },
  every: { value: "seconds", about: "How often to poll; default: 2" },
  for: { value: "seconds", about: "Stop after this time; default: Ctrl-C stops it" },
} as const;

type TailCall = Call<keyof typeof options>;

/** Each poll reads jobs whose occurrence lies at most this far in the past. */
const backMs = 10 * 60_000;

/**
 * The most jobs, and the most dead jobs, of one poll; more lines than that cannot be read anyway.
 */
const lookedAtMax = 1_000;
const rememberedMax = 20_000;

const tail = command({
  name: "tail",
  group: "Operation",
  summary: "Follow jobs, or the audit, as they happen",
  usage: "[key]",
  about:
    "Prints a line for each change of a job due in the last ten minutes, and for each job that dies. Ctrl-C stops it.",
  words: { min: 0, max: 1 },
  options,
  examples: [
    "carillon tail",
    "carillon tail report:weekly",
    "carillon tail --prefix order: --json",
    "carillon tail --audit",
  ],
  run: async (call) => {
    const { given, client, out, signal } = call;
    const owners = { ...ownersFrom(call), key: argumentOr(call, "key") };
    if (!given.flag("audit")) {
      const identity = ({ id, state, attempt, cancelling }: JobSummary) =>
        `${id} ${state} ${attempt} ${cancelling}`;
      return follow(call, {
        read: () => newestJobs(call, owners),
        identity,
        line: (job) => jobLine(out, job),
      });
    }
    if (isOwned(owners))
      throw new UsageFault(
        "tail --audit takes no filter: for one subject use carillon audit --subject <key>.",
      );
    const columns = auditColumns(out);
    const line = (entry: Parameters<(typeof columns)[0]["text"]>[0]) =>
      columns.map(({ text }) => printable(text(entry))).join("  ");
    return follow(call, {
      read: () => client.audit({ limit: 100, signal }).take(lookedAtMax),
      identity: ({ id }) => id,
      line,
    });
  },
});

interface Followed<Item> {
  read(): Promise<Item[]>;
  identity(item: Item): string;
  line(item: Item): string;
}

/** Polls and prints new items. An API that does not answer is polled again. */
async function follow<Item>(call: TailCall, { read, identity, line }: Followed<Item>): Promise<void> {
  const { given, out, now } = call;
  const everyMs = (given.number("every", { min: 1, max: 3_600 }) ?? 2) * 1_000;
  const forSeconds = given.number("for", { min: 1 });
  const until = forSeconds === undefined ? Number.POSITIVE_INFINITY : now() + forSeconds * 1_000;
  const fresh = seenOnce(identity, rememberedMax);
  let before = given.number("lines") ?? 10;
  let isAway = false;
  for (;;) {
    try {
      const items = fresh((await read()).toReversed());
      for (const item of before < items.length ? items.slice(items.length - before) : items)
        if (out.isJson) out.json(item);
        else out.line(line(item));
      before = Number.POSITIVE_INFINITY;
      isAway = false;
    } catch (error) {
      if (exitCodeOf(error) !== exitCodes.unreachable) throw error;
      if (!isAway && error instanceof Error) out.note(`${error.message}; still trying`);
      isAway = true;
    }
    if (now() + everyMs > until) return;
    await call.pause(everyMs);
  }
}

/** Jobs due lately, and jobs that have died recently; newest first. */
async function newestJobs({ client, signal, now }: TailCall, owners: JobOwners): Promise<JobSummary[]> {
  const from = new Date(now() - backMs);
  const due = client.jobs.list({ ...owners, from, upcoming: false, limit: 100, signal });
  const dead = client.jobs.list({ ...owners, state: "dead", from, limit: 100, signal });
  const found = [...(await due.take(lookedAtMax)), ...(await dead.take(lookedAtMax))];
  return found.toSorted((one, other) => changedAt(other) - changedAt(one));
}

function changedAt({ finishedAt, startedAt, dueAt }: JobSummary): number {
  return Date.parse(finishedAt ?? startedAt ?? dueAt);
}

function jobLine(out: Output, job: JobSummary): string {
  const at = out.times.wall(job.finishedAt ?? job.startedAt ?? job.dueAt);
  const late = job.latenessMs === null ? "" : `  ${measuredText(job.latenessMs)} late`;
  const tries = job.attempt > 1 ? `  try ${job.attempt}` : "";
  const why = whyOf(job);
  const state = out.paint(job.state.padEnd(9), stateColour(job.state));
  return `${at}  ${state}  ${printable(job.key)}  ${job.id}${late}${tries}${why === "" ? "" : `  ${printable(why)}`}`;
}

export const tailCommands: readonly Command[] = [tail];
