import { type JobGroup, type JobGroups, Pages } from "../../client/main.ts";
import { type Call, type Command, command } from "../command.ts";
import { listOptions } from "../common-options.ts";
import { instantFrom } from "../input.ts";
import { errorGroupOption, foundOptions, ownerOptions, ownersFrom } from "../job-filter-options.ts";
import { pageSize, someOf } from "../listed.ts";
import type { Output } from "../output/output.ts";
import type { Column } from "../output/table.ts";
import { oneOf } from "../schedule-filter.ts";

const groupings = ["target,error", "target", "error", "reason"] as const;

const errors = command({
  name: "errors",
  group: "Jobs",
  summary: "List failed jobs in groups of the same target and error, the largest first",
  usage: "",
  about:
    "Errors are compared without ids, numbers, times, addresses and quoted data. The id of a group is a filter of jobs, retry and cancel.",
  words: { min: 0, max: 0 },
  options: {
    state: { value: "state", about: "dead (default), or retrying: jobs that wait for their next attempt" },
    by: { value: "what", about: `The fields that the jobs of a group share: ${groupings.join(", ")}` },
    ...ownerOptions,
    ...foundOptions,
    ...errorGroupOption,
    ...listOptions,
  },
  examples: [
    "carillon errors",
    `carillon errors --prefix order: --from "2h ago"`,
    "carillon errors --state retrying --by target",
  ],
  run: async (call) => {
    const { given, client, out, signal } = call;
    const by = oneOf(given.text("by"), groupings, "--by");
    const state = oneOf(given.text("state"), ["dead", "retrying"] as const, "--state");
    const filter = {
      ...ownersFrom(call),
      reason: given.text("reason"),
      errorGroup: given.text("error-group"),
      from: instantFrom(call, given.text("from"), "--from"),
      to: instantFrom(call, given.text("to"), "--to"),
    };
    let bound: JobGroups | undefined;
    const read = async (cursor: string | undefined) => {
      bound = await client.jobs.groups({ state, by, ...filter, limit: pageSize(call), cursor, signal });
      return bound;
    };
    const groups = await someOf(call, new Pages<JobGroup>(read));
    out.table(columnsOf(out, by ?? "target,error"), groups, "No failed job matches.");
    if (bound?.more === true) out.note(boundText(call, bound));
  },
});

function columnsOf({ times }: Output, by: (typeof groupings)[number]): Column<JobGroup>[] {
  const has = (...names: readonly string[]) => names.includes(by);
  return [
    ...when(has("target,error"), { title: "GROUP", text: ({ errorGroup }) => errorGroup ?? "", whole: true }),
    ...when(has("target,error", "target"), { title: "TARGET", text: ({ target }) => target ?? "" }),
    ...when(has("reason"), { title: "REASON", text: ({ reason }) => reason ?? "" }),
    { title: "JOBS", text: ({ count, more }) => `${count}${more ? "+" : ""}`, align: "right", whole: true },
    { title: "SCHEDULES", text: ({ schedules }) => String(schedules), align: "right", whole: true },
    { title: `FIRST (${times.zone})`, text: ({ firstAt }) => times.wall(firstAt), whole: true },
    { title: "LAST", text: ({ lastAt }) => times.wall(lastAt), whole: true },
    ...when(has("target,error", "error"), { title: "ERROR", text: errorOf }),
    ...when(has("target", "reason"), { title: "LAST ERROR", text: ({ sample }) => sample.error ?? "" }),
  ];
}

const when = (isShown: boolean, column: Column<JobGroup>) => (isShown ? [column] : []);

function errorOf({ error, errorClass }: JobGroup): string {
  if (error === null) return "";
  return errorClass === null || error.startsWith(errorClass) ? error : `${errorClass}: ${error}`;
}

function boundText({ out }: Pick<Call, "out">, { lookedFrom }: JobGroups): string {
  const back = lookedFrom === null ? "" : `, back to ${out.times.wall(lookedFrom)}`;
  return `Older jobs were not looked at${back}: the counts are lower bounds.`;
}

export const errorCommands: readonly Command[] = [errors];
