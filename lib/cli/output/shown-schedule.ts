import type { Edited, Schedule, ScheduleSummary } from "../../client/main.ts";
import { scheduleDefaults } from "../../client/schedule-defaults.ts";
import { measuredText, type Times } from "../times.ts";
import type { Output } from "./output.ts";
import { printable, stateColour } from "./style.ts";
import { type Column, wholeTime } from "./table.ts";

/** Such as `queue/reports` or `webhook/api.example.com`. */
export function targetText(target: ScheduleSummary["target"]): string {
  if (target === null) return "";
  if (target.handler !== undefined) return `handler/${target.handler}`;
  if (target.queue !== undefined) return `queue/${target.queue.split(/[/:]/).at(-1)}`;
  if (target.event !== undefined) return `event/${target.event.bus}`;
  if (target.webhook !== undefined)
    return `webhook/${URL.canParse(target.webhook.url) ? new URL(target.webhook.url).host : target.webhook.url}`;
  return `lambda/${target.lambda.split(":function:").at(-1)}`;
}

export function scheduleColumns({ times }: Output): Column<ScheduleSummary>[] {
  return [
    { title: "KEY", text: ({ key }) => key },
    {
      title: "STATE",
      text: listedState,
      colour: (schedule) => stateColour(listedState(schedule)),
      whole: true,
    },
    { title: `NEXT (${times.zone})`, text: (schedule) => nextText(schedule, times), narrowest: wholeTime },
    { title: "WHEN", text: ({ when }) => [when].flat().join(" + ") },
    { title: "TARGET", text: ({ target }) => targetText(target) },
  ];
}

/**
 * The next run; of a paused schedule, when its last hold ends. Its occurrences until then do not run:
 * `carillon next` shows them.
 */
function nextText({ state, nextAt, holds }: ScheduleSummary, times: Times): string {
  if (state !== "paused" || nextAt !== null) return times.both(nextAt);
  const ends = holds.map(({ until }) => until);
  const last = ends.every((until) => until !== null) ? ends.toSorted().at(-1) : undefined;
  return last === undefined ? "held" : `held until ${times.both(last)}`;
}

function listedState({ state, unreadable }: ScheduleSummary): string {
  return unreadable === undefined ? state : "unreadable";
}

export function showSchedule(out: Output, schedule: Schedule): void {
  if (out.isJson) {
    out.json(schedule);
    return;
  }
  const { times } = out;
  const last = schedule.lastJob;
  out.facts([
    ["key", printable(schedule.key)],
    [
      "unreadable",
      schedule.unreadable === undefined ? null : out.paint(printable(schedule.unreadable), "yellow"),
    ],
    ["state", out.paint(schedule.state, stateColour(schedule.state))],
    [`next (${times.zone})`, nextText(schedule, times)],
    ["when", printable([schedule.when].flat().join(" + "))],
    ["in words", printable(schedule.cadenceText)],
    ["zone", schedule.cadenceText.includes(schedule.timezone) ? null : schedule.timezone],
    ["target", printable(JSON.stringify(schedule.target))],
    ["payload", printable(JSON.stringify(schedule.payload))],
    ["group", schedule.group === null ? null : printable(schedule.group)],
    ["tags", printable(schedule.tags.join(", "))],
    ["description", schedule.description === null ? null : printable(schedule.description)],
    ...Object.entries(unusual(schedule)).map(([name, value]) => [name, printable(value)] as const),
    ...schedule.holds.map((hold) => ["held", holdText(hold, times)] as const),
    ["last job", last === null || last === undefined ? null : lastText(out, last)],
    ["version", `${schedule.version}, ${times.both(schedule.updatedAt)} by ${printable(schedule.updatedBy)}`],
    ...schedule.warnings.map((warning) => ["warning", out.paint(printable(warning), "yellow")] as const),
  ]);
}

/** The owner of a hold, what it binds, its times and its reason. */
export function holdText(
  { owner, reason, until, since, group, tag }: Schedule["holds"][number],
  times: Times,
): string {
  const on = group !== undefined ? ` on the group ${group}` : tag !== undefined ? ` on the tag ${tag}` : "";
  const end = until === null ? "" : `, until ${times.both(until)}`;
  const why = reason === null ? "" : `: ${reason}`;
  return printable(`by ${owner}${on}, since ${times.both(since)}${end}${why}`);
}

function lastText({ times, paint }: Output, job: NonNullable<Schedule["lastJob"]>): string {
  const why = job.error ?? job.reason;
  const lateness = job.latenessMs === null ? "" : `, ${measuredText(job.latenessMs)} late`;
  const words = why === null ? "" : `: ${printable(why)}`;
  return `${paint(job.state, stateColour(job.state))} ${times.both(job.startedAt ?? job.dueAt)}${lateness}${words}`;
}

const withOwnLine: ReadonlySet<string> = new Set(["timezone", "payload", "group", "tags", "description"]);

/** Fields that differ from their defaults, without those that have a line of their own. */
function unusual(schedule: Schedule): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(scheduleDefaults)) {
    if (withOwnLine.has(name)) continue;
    const own: unknown = Reflect.get(schedule, name);
    const text = JSON.stringify(own, sortedNames(own));
    if (own !== undefined && text !== JSON.stringify(value, sortedNames(value)))
      found[name] = typeof own === "string" ? own : JSON.stringify(own);
  }
  return found;
}

/** A replacer that sorts members, so that equal objects have equal texts. */
function sortedNames(value: unknown): string[] | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.keys(value).sort()
    : undefined;
}

/** The result of an edit, with the coming occurrences that it changed. */
export function showEdit(out: Output, edited: Edited, done: string): void {
  if (out.isJson) {
    out.json(edited);
    return;
  }
  out.line(`${done} ${printable(edited.key)} (version ${edited.version}): ${printable(edited.cadenceText)}`);
  const { before, after } = edited.changes;
  if (edited.state !== "active") out.line(`It is ${out.paint(edited.state, stateColour(edited.state))}.`);
  for (const hold of edited.holds) out.line(`Held ${holdText(hold, out.times)}`);
  if (after.length > 0)
    out.line(
      `Next: ${after
        .map((at) => out.times.both(at))
        .slice(0, 3)
        .join(", ")}`,
    );
  const dropped = before.filter((at) => !after.includes(at));
  if (dropped.length > 0)
    out.line(
      `No more: ${dropped
        .map((at) => out.times.both(at))
        .slice(0, 3)
        .join(", ")}`,
    );
  for (const warning of edited.warnings) out.note(out.paint(printable(warning), "yellow"));
}
