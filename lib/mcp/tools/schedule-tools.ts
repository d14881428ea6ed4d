import * as z from "zod";
import type { Hold, ScheduleSummary } from "../../client/main.ts";
import { counted, nameText, quoted, shown, toldPage } from "../answer.ts";
import { instant, key, owners, paging } from "../arguments.ts";
import { readTool, type Tool } from "../tool.ts";

const searchSchedules = readTool({
  name: "search_schedules",
  title: "Search schedules",
  description:
    "Lists schedules, one line each: when they run, their state and their next run. All filters that are given must match.",
  input: z.strictObject({
    ...owners,
    state: z.enum(["active", "paused", "ended"]).optional(),
    createdBy: z.string().optional().describe("The name of the token that created them."),
    calendar: z.string().optional().describe("Only schedules that use the calendar."),
    failing: z.literal(true).optional().describe("Only those with a dead job and no success since."),
    nextFrom: instant.optional().describe("Next run due at this instant or later."),
    nextTo: instant.optional().describe("Next run due before this instant."),
    ...paging,
  }),
  run: async ({ nextFrom, nextTo, ...filter }, { client, signal, instantOf }) => {
    const times = { nextFrom: instantOf(nextFrom, "nextFrom"), nextTo: instantOf(nextTo, "nextTo") };
    const { items, cursor } = await client.schedules.list({ ...filter, ...times, signal }).page();
    const page = { items: items.map(briefSchedule), ...(cursor === undefined ? {} : { cursor }) };
    return toldPage(page, scheduleLine, "No schedule matches.");
  },
});

const getSchedule = readTool({
  name: "get_schedule",
  title: "Show a schedule",
  description: "Shows all fields of one schedule: cadence, target, payload, policies, holds and last job.",
  input: z.strictObject({ key }),
  run: async ({ key: asked }, { client, signal }) => {
    const schedule = await client.schedules.get(asked, { signal });
    const { lastJob, warnings, holds } = schedule;
    const last = lastJob === null ? "no job has started yet" : `${lastJob.id} ${lastJob.state}`;
    return {
      lines: [
        scheduleLine(schedule),
        `Target ${shown(schedule.target)}, version ${schedule.version}, changed by ${nameText(schedule.updatedBy)} at ${schedule.updatedAt}.`,
        `Payload ${shown(schedule.payload)}`,
        `Last job: ${last}.`,
        ...holds.map((hold) => `Held ${holdText(hold)}.`),
        ...warnings.map((warning) => `Warning: ${warning}`),
      ],
      data: schedule,
    };
  },
});

const versions = readTool({
  name: "list_versions",
  title: "List the versions of a schedule",
  description: "Lists who changed a schedule, when and what, newest first; also of a deleted key.",
  input: z.strictObject({ key, ...paging }),
  run: async ({ key: asked, ...page }, { client, signal }) =>
    toldPage(
      await client.schedules.versions(asked, { ...page, signal }).page(),
      ({ version, change, at, by, changes }) => {
        const fields = changes.map(({ path }) => (path === "" ? "all fields" : nameText(path)));
        return `Version ${version} ${change} by ${nameText(by)} at ${at}${fields.length === 0 ? "" : `: ${fields.join(", ")}`}`;
      },
      "No version is kept.",
    ),
});

export const scheduleTools: readonly Tool[] = [searchSchedules, getSchedule, versions];

/** The fields of a schedule by which it is chosen from a list; get_schedule shows the others. */
function briefSchedule(schedule: ScheduleSummary) {
  const { key: name, state, when, timezone, cadenceText, nextAt, target, group, tags, version } = schedule;
  const { description, holds, warnings } = schedule;
  return {
    ...{ key: name, state, when, timezone, cadenceText, nextAt, target, group, tags, version },
    ...{ description, holds, warnings },
  };
}

type Listed = ReturnType<typeof briefSchedule>;

function scheduleLine({ key: name, state, cadenceText, nextAt, holds, description }: Listed): string {
  const next = nextAt === null ? "no coming run" : `next ${nextAt}`;
  const held = holds.length === 0 ? "" : `, ${counted(holds.length, "hold")}`;
  return `${nameText(name)}: ${state}, ${cadenceText}, ${next}${held}${description === null ? "" : `, ${quoted(description)}`}`;
}

export function holdText({ owner, reason, until, since, group, tag }: Hold): string {
  const label =
    group !== undefined
      ? ` of group ${nameText(group)}`
      : tag !== undefined
        ? ` of tag ${nameText(tag)}`
        : "";
  const end = until === null ? "without an end" : `until ${until}`;
  return `by ${nameText(owner)}${label} since ${since} ${end}${reason === null ? "" : `: ${quoted(reason)}`}`;
}
