import type { Members } from "../../client/main.ts";
import { type Command, command } from "../command.ts";
import { listOptions } from "../common-options.ts";
import { pageSize, someOf } from "../listed.ts";
import type { Output } from "../output/output.ts";
import { jobColumns } from "../output/shown-job.ts";
import { scheduleColumns } from "../output/shown-schedule.ts";
import { printable } from "../output/style.ts";
import { counted, grouped } from "../output/table.ts";

const group = command({
  name: "group",
  group: "Groups, calendars, limits",
  summary: "Show a group: its holds, its schedules and its open jobs",
  usage: "<group>",
  words: { min: 1, max: 1 },
  options: { tag: { about: "The name is that of a tag" } },
  examples: ["carillon group order:1", "carillon group reports --tag"],
  run: async ({ words: [name = ""], given, client, out, signal }) => {
    const labels = given.flag("tag") ? client.tags : client.groups;
    const members = await labels.get(name, { limit: 100, signal });
    if (out.isJson) out.json(members);
    else showMembers(out, members, `--${given.flag("tag") ? "tag" : "group"} ${name}`);
  },
});

function showMembers(
  out: Output,
  { holds, schedules, jobs, moreJobs, cursor }: Members,
  filter: string,
): void {
  for (const { owner, reason, since, until, progress, members } of holds) {
    const end = until === null ? "" : `, until ${out.times.both(until)}`;
    const of = members === null ? "" : progressText(progress, counted(members, "schedule"));
    const why = reason === null ? "" : `: ${reason}`;
    out.line(printable(`held by ${owner}, since ${out.times.both(since)}${end} (${progress}${of})${why}`));
  }
  out.table(scheduleColumns(out), schedules, "It has no schedules.");
  if (cursor !== undefined) out.note(`There are more schedules: carillon ls ${printable(filter)}`);
  if (jobs.length === 0) return;
  out.line();
  out.table(jobColumns(out), jobs, "");
  if (moreJobs) out.note(`There are more unsettled jobs: carillon jobs ${printable(filter)} --state waiting`);
}

/** While the hold is set on the schedules or taken off, the number is that of those done so far. */
const progressText = (progress: Members["holds"][number]["progress"], schedules: string): string =>
  progress === "set" ? ` on ${schedules}` : `, ${schedules} so far`;

const groups = command({
  name: "groups",
  group: "Groups, calendars, limits",
  summary: "List the groups that have a schedule, by name",
  usage: "",
  words: { min: 0, max: 0 },
  options: {
    prefix: { value: "prefix", about: "Only groups whose names begin with this" },
    ...listOptions,
  },
  examples: ["carillon groups", "carillon groups --prefix order:"],
  run: async (call) => {
    const { given, client, out, signal } = call;
    const prefix = given.text("prefix");
    const list = client.groups.list({ prefix, limit: pageSize(call), signal });
    out.table(
      [
        { title: "GROUP", text: (item) => item.group },
        {
          title: "SCHEDULES",
          text: ({ schedules, moreSchedules }) =>
            `${moreSchedules ? "more than " : ""}${grouped.format(schedules)}`,
          align: "right",
          whole: true,
        },
        { title: "SUCH AS", text: ({ sample }) => sample },
      ],
      await someOf(call, list),
      prefix === undefined ? "No schedule has a group." : printable(`No group begins with ${prefix}.`),
    );
  },
});

export const groupCommands: readonly Command[] = [groups, group];
