import { agendaOutcomes } from "../../client/agenda.ts";
import type {
  AgendaCounts,
  AgendaItem,
  AgendaOutcome,
  AgendaSchedules,
  AgendaWindow,
} from "../../client/main.ts";
import { type Call, type Command, command } from "../command.ts";
import { listOptions } from "../common-options.ts";
import { pageSize, someOf } from "../listed.ts";
import type { Output } from "../output/output.ts";
import { stateColour } from "../output/style.ts";
import { type Column, grouped } from "../output/table.ts";
import { oneOf } from "../schedule-filter.ts";
import { measuredText } from "../times.ts";
import { type TimeWindow, windowFrom } from "../window.ts";
import { stripCommand } from "./strip-command.ts";

const agendaOptions = {
  prefix: { value: "prefix", about: "Only keys that begin with this" },
  tag: { value: "tag", about: "Only schedules with this tag" },
  group: { value: "group", about: "Only schedules of this group" },
  target: { value: "target", about: "A kind of target, such as webhook, or one: webhook/api.example.com" },
  rule: { value: "rule", about: "Only one cadence, by the RULE that --count prints, such as cadence-7" },
  outcome: { value: "outcome", about: "Only occurrences with this outcome, such as held, skipped or dead" },
  count: { about: "Count by cadence instead of listing; with --outcome, by schedule" },
  ...listOptions,
} as const;

const agenda = command({
  name: "agenda",
  group: "Time",
  summary: "Show everything that runs, or ran, in a window",
  usage: "<window>…",
  about:
    "A window is a day with times, a time from now, or two times, in the zone of --timezone: `Mon 08:55..09:05`, `2026-12-01 08:00..10:00`, `tomorrow 9..10`, `Mon 22:00..Tue 02:00`, `last fri`, `+2h`, `last 30m`, `2h ago..now`, `2026-12-01T08:00..2026-12-02T08:00`. It is at most 32 days long.",
  words: { min: 1, max: 8 },
  options: agendaOptions,
  examples: [
    `carillon agenda "Mon 08:55..09:05" --timezone Europe/Berlin`,
    "carillon agenda tomorrow 9..10 --prefix crm: --count",
    "carillon agenda last 30m --target webhook",
    "carillon agenda mon --outcome held",
    "carillon agenda mon --outcome held --count",
    "carillon agenda tomorrow 9:00..9:01 --rule cadence-7",
  ],
  run: async (call) => {
    const { words, given, client, out, signal, now } = call;
    const window = windowFrom(words.join(" "), { times: out.times, now: now() });
    const outcome = oneOf(given.text("outcome"), agendaOutcomes, "--outcome");
    const asked = {
      ...window,
      prefix: given.text("prefix"),
      tag: given.text("tag"),
      group: given.text("group"),
      target: given.text("target"),
      rule: given.text("rule"),
    };
    if (given.flag("count"))
      await (outcome === undefined ? showCounts(call, asked) : showSchedules(call, { ...asked, outcome }));
    else {
      const list = client.agenda({
        ...asked,
        outcome,
        timezone: out.times.zone,
        limit: pageSize(call),
        signal,
      });
      const items = await someOf(call, list);
      noteWindow(out, window);
      out.table(
        agendaColumns(out, items),
        items,
        outcome === undefined
          ? "Nothing occurs in this window."
          : `No occurrence in this window has the outcome ${outcome}.`,
      );
    }
  },
});

/** Printed once the API has accepted the window. */
function noteWindow(out: Output, { from, to }: TimeWindow): void {
  if (!out.isJson) out.note(`${out.times.wall(from)} to ${out.times.wall(to)} in ${out.times.zone}`);
}

function agendaColumns({ times }: Output, items: readonly AgendaItem[]): Column<AgendaItem>[] {
  const isMoved = ({ dueAt, occurrence }: AgendaItem) => dueAt !== null && dueAt !== occurrence;
  const due: Column<AgendaItem> = {
    title: "DUE",
    text: (item) => (isMoved(item) ? times.wall(item.dueAt) : ""),
    whole: true,
  };
  return [
    { title: `OCCURRENCE (${times.zone})`, text: ({ occurrence }) => times.wall(occurrence), whole: true },
    ...(items.some(isMoved) ? [due] : []),
    { title: "KEY", text: ({ key }) => key },
    {
      title: "OUTCOME",
      text: ({ outcome }) => outcome,
      colour: ({ outcome }) => stateColour(outcome),
      whole: true,
    },
    { title: "LATE", text: ({ latenessMs }) => measuredText(latenessMs), align: "right", whole: true },
    { title: "WHY", text: (item) => whyOf(item, times.wall) },
  ];
}

function whyOf(
  { reason, kind, passedOver, note, heldBy = [] }: AgendaItem,
  wall: (at: string) => string,
): string {
  const words = [reason ?? "", ...heldBy.map(holderText), note ?? "", kind === "cadence" ? "" : `(${kind})`];
  if (passedOver !== null) {
    const { from, count, more } = passedOver;
    words.push(`${count === null ? "" : `${more ? "at least " : ""}${count} `}since ${wall(from)}`);
  }
  return words.filter((each) => each !== "").join(", ");
}

/** Such as `by ann on the group crew: maintenance`. */
function holderText({ owner, reason, group, tag }: NonNullable<AgendaItem["heldBy"]>[number]): string {
  const label =
    group === undefined ? (tag === undefined ? "" : ` on the tag ${tag}`) : ` on the group ${group}`;
  return `by ${owner}${label}${reason === null || reason === "" ? "" : `: ${reason}`}`;
}

async function showCounts({ client, out, signal }: Call, window: AgendaWindow & TimeWindow): Promise<void> {
  const counts = await client.agendaCounts(window, { signal });
  if (out.isJson) {
    out.json(counts);
    return;
  }
  noteWindow(out, window);
  const { items, occurrences, leftOut, cadences, exact } = counts;
  type Item = (typeof items)[number];
  const amount = (title: string, of: (item: Item) => number): Column<Item> => ({
    title,
    text: (item) => grouped.format(of(item)),
    align: "right",
    whole: true,
  });
  out.table(
    [
      amount("OCCURRENCES", (item) => item.occurrences),
      ...(leftOut === 0 ? [] : [amount("LEFT OUT", (item) => item.leftOut)]),
      amount("SCHEDULES", ({ schedules }) => schedules),
      { title: "WHEN", text: ({ when }) => when ?? "once" },
      { title: "ZONE", text: ({ timezone }) => timezone ?? "" },
      ...(items.some(({ calendar }) => calendar !== null) ? [{ title: "CALENDAR", text: calendarText }] : []),
      { title: "SUCH AS", text: ({ sample }) => sample ?? "" },
      { title: "RULE", text: ({ rule }) => rule, whole: true },
    ],
    items,
    "Nothing occurs in this window.",
  );
  if (items.length === 0) return;
  const more = cadences > items.length ? `, ${cadences - items.length} cadences are not listed` : "";
  const off = leftOut === 0 ? "" : `, calendars leave out ${grouped.format(leftOut)} of them`;
  out.line(`${grouped.format(occurrences)} occurrences in all${off}${more}.`);
  if (!exact) out.note("Some numbers are estimates.");
  out.note("Holds, ends and `spread` are not looked at: the list without --count has them.");
}

async function showSchedules(
  { client, out, signal }: Call,
  asked: AgendaWindow & TimeWindow & { outcome: AgendaOutcome },
): Promise<void> {
  const counts = await client.agendaSchedules(asked, { signal });
  if (out.isJson) {
    out.json(counts);
    return;
  }
  noteWindow(out, asked);
  const { items, occurrences, schedules, more } = counts;
  const { times } = out;
  out.table(
    [
      {
        title: "OCCURRENCES",
        text: (item) => grouped.format(item.occurrences),
        align: "right",
        whole: true,
      },
      { title: "KEY", text: ({ key }) => key },
      { title: `FIRST (${times.zone})`, text: ({ first }) => times.wall(first), whole: true },
      ...(asked.outcome === "held"
        ? [
            { title: "HELD", text: ({ heldBy = [] }: ScheduleOf) => heldBy.map(holderText).join(", ") },
            { title: "UNTIL", text: (item: ScheduleOf) => heldUntil(item, times.wall), whole: true },
          ]
        : []),
    ],
    items,
    `No occurrence in this window has the outcome ${asked.outcome}.`,
  );
  if (items.length === 0 && !more) return;
  const amount = `${grouped.format(occurrences)} occurrences of ${grouped.format(schedules)} schedules`;
  out.line(`${more ? "At least " : ""}${amount} have the outcome ${asked.outcome}.`);
}

/** It is held until the last of its holds ends. */
function heldUntil({ heldBy = [] }: ScheduleOf, wall: (at: string) => string): string {
  const ends = heldBy.map(({ until }) => until);
  if (ends.includes(null)) return "released";
  return wall(ends.toSorted().at(-1) ?? "");
}

type ScheduleOf = AgendaSchedules["items"][number];

/** Such as `holidays: skip`. */
function calendarText({ calendar }: AgendaCounts["items"][number]): string {
  return calendar === null ? "" : `${calendar.name}: ${calendar.on}`;
}

export const agendaCommands: readonly Command[] = [agenda, stripCommand];
