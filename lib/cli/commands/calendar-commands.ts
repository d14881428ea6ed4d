import type { CalendarPreview, Limits, PutCalendar } from "../../client/main.ts";
import { puttableCalendar } from "../../client/puttable.ts";
import { type Call, type Command, command } from "../command.ts";
import { ifMatchOption, listOptions } from "../common-options.ts";
import { UsageFault } from "../fault.ts";
import { objectFrom } from "../input.ts";
import { pageSize, someOf } from "../listed.ts";
import type { Output } from "../output/output.ts";
import { printable } from "../output/style.ts";

const calendarOptions = {
  file: {
    value: "file",
    short: "f",
    about: "For put: a JSON file with the calendar, also as get --json shows it, or `-`",
  },
  date: { value: "day", multiple: true, about: "For put: `12-25`, `2026-12-24`, or a range `12-24..01-02`" },
  weekly: { value: "day", multiple: true, about: "For put: mon … sun" },
  except: { value: "day", multiple: true, about: "For put: a working day, even if a rule excludes it" },
  description: { value: "text", about: "For put: a description" },
  "dry-run": { about: "For put: show whose runs would change, without saving the calendar" },
  ...ifMatchOption,
  ...listOptions,
} as const;

const calendar = command({
  name: "calendar",
  group: "Groups, calendars, limits",
  summary: "List, show, put and remove calendars",
  usage: "ls | get <name> | put <name> | rm <name>",
  words: { min: 1, max: 2 },
  options: calendarOptions,
  examples: [
    "carillon calendar put holidays --date 12-25 --date 2026-12-28..2026-12-31 --weekly sat --weekly sun",
    "carillon calendar put holidays --date 12-24 --date 12-25 --dry-run",
    "carillon calendar get holidays",
    "carillon calendar ls",
  ],
  run: async (call) => {
    const { words, given, client, out, signal } = call;
    const [verb = "", name] = words;
    if (verb === "ls") return listCalendars(call);
    if (!["get", "put", "rm"].includes(verb))
      throw new UsageFault("carillon calendar takes ls, get, put or rm.");
    if (name === undefined) throw new UsageFault(`carillon calendar ${verb} takes a name.`);
    const options = { ifMatch: given.number("if-match", { min: 1 }), signal };
    if (verb === "rm") {
      await client.calendars.delete(name, options);
      if (out.isJson) out.json({ deleted: name });
      else out.line(`Deleted the calendar ${printable(name)}.`);
    } else if (verb === "get") showCalendar(out, await client.calendars.get(name, { signal }));
    else {
      const body = await calendarFrom(call);
      if (given.flag("dry-run"))
        return showPreview(out, await client.calendars.preview(name, body, { signal }));
      const path = ["v1", "calendars", name];
      const put = await client.request<PutCalendar>({ method: "PUT", path, body, options });
      showCalendar(out, put.body);
      if (!out.isJson)
        out.note(
          `${put.body.replanned} schedules replanned; the next ticks replan ${put.body.pending} more.`,
        );
    }
  },
});

function showPreview(out: Output, preview: CalendarPreview): void {
  if (out.isJson) {
    out.json({ dryRun: true, ...preview });
    return;
  }
  const { name, change, schedules, more, looked, affected, samples } = preview;
  const verb = { created: "create", changed: "change", unchanged: "not change" }[change];
  out.line(
    `Would ${verb} ${printable(name)}, which ${schedules}${more ? " or more" : ""} schedules use: ${affected} of ${looked} compared would run at other times.`,
  );
  for (const { key, cadence, timezone, before, after } of samples) {
    const wall = (runs: readonly string[]) => runs.map((at) => out.times.wall(at)).join(", ");
    out.line(`${printable(key)} (${cadence}, ${timezone}), times in ${out.times.zone}:`);
    out.line(`  before  ${wall(before)}`);
    out.line(`  after   ${wall(after)}`);
  }
}

async function listCalendars(call: Call<keyof typeof calendarOptions>): Promise<void> {
  const { client, out, signal } = call;
  const list = client.calendars.list({ limit: pageSize(call), signal });
  out.table(
    [
      { title: "NAME", text: ({ name }) => name },
      { title: "VERSION", text: ({ version }) => String(version), align: "right", whole: true },
      {
        title: `CHANGED (${out.times.zone})`,
        text: ({ updatedAt }) => out.times.both(updatedAt),
        whole: true,
      },
      { title: "BY", text: ({ updatedBy }) => updatedBy },
      { title: "DESCRIPTION", text: ({ description }) => description ?? "" },
    ],
    await someOf(call, list),
    "There is no calendar.",
  );
}

async function calendarFrom(call: Call<keyof typeof calendarOptions>): Promise<object> {
  const { given } = call;
  const file = given.text("file");
  const body = file === undefined ? {} : puttableCalendar(await objectFrom(call, file, "--file"));
  const dates = given.texts("date");
  const weekly = given.texts("weekly");
  const except = given.texts("except");
  if (file === undefined && dates.length + weekly.length === 0)
    throw new UsageFault("A calendar needs --date, --weekly, or --file.");
  return {
    dates: [],
    weekly: [],
    ...body,
    ...(dates.length === 0 ? {} : { dates }),
    ...(weekly.length === 0 ? {} : { weekly }),
    ...(except.length === 0 ? {} : { except }),
    ...(given.text("description") === undefined ? {} : { description: given.text("description") }),
  };
}

function showCalendar(out: Output, calendar: Omit<PutCalendar, "replanned">): void {
  if (out.isJson) {
    out.json(calendar);
    return;
  }
  out.facts([
    ["name", printable(calendar.name)],
    ["description", calendar.description === null ? null : printable(calendar.description)],
    ["dates", calendar.dates.join(", ")],
    ["weekly", calendar.weekly.join(", ")],
    ["except", calendar.except.join(", ")],
    [
      "version",
      `${calendar.version}, ${out.times.both(calendar.updatedAt)} by ${printable(calendar.updatedBy)}`,
    ],
    ["schedules", `${calendar.schedules}${calendar.more ? " or more" : ""}`],
  ]);
}

const limitOptions = {
  concurrency: { value: "n", about: "For put: how many jobs run at once" },
  "per-team": { value: "n", about: "For put: how many of them may be of one team; needs --concurrency" },
  rate: { value: "rate", about: "For put: how many jobs start per unit of time, such as 10/s or 100/m" },
  ...ifMatchOption,
  ...listOptions,
} as const;

const limit = command({
  name: "limit",
  group: "Groups, calendars, limits",
  summary: "List, show, set and clear the limits of targets",
  usage: "ls | get <target> | put <target> | rm <target>",
  words: { min: 1, max: 2 },
  options: limitOptions,
  examples: [
    "carillon limit ls",
    "carillon limit put webhook/api.example.com --concurrency 10 --per-team 4 --rate 100/m",
  ],
  run: async (call) => {
    const { words, given, client, out, signal } = call;
    const [verb = "", target] = words;
    if (verb === "ls") {
      showLimits(out, await someOf(call, client.limits.list({ limit: pageSize(call), signal })));
      return;
    }
    if (!["get", "put", "rm"].includes(verb))
      throw new UsageFault("carillon limit takes ls, get, put or rm.");
    if (target === undefined)
      throw new UsageFault(`carillon limit ${verb} takes a target, such as webhook/api.example.com.`);
    const ifMatch = given.number("if-match", { min: 1 });
    if (verb === "rm") {
      await client.limits.delete(target, { ifMatch, signal });
      if (out.isJson) out.json({ deleted: target });
      else out.line(`Cleared the limits of ${printable(target)}.`);
    } else if (verb === "get") showLimits(out, [await client.limits.get(target, { signal })]);
    else {
      const limits = {
        concurrency: given.number("concurrency", { min: 1 }),
        perTeam: given.number("per-team", { min: 1 }),
        rate: given.text("rate"),
      };
      showLimits(out, [await client.limits.put(target, limits, { ifMatch, signal })]);
    }
  },
});

function showLimits(out: Output, limits: readonly Limits[]): void {
  out.table(
    [
      { title: "TARGET", text: ({ target }) => target },
      {
        title: "AT ONCE",
        text: ({ concurrency, defined }) => String(concurrency ?? defined.concurrency ?? "-"),
        align: "right",
        whole: true,
      },
      {
        title: "PER TEAM",
        text: ({ perTeam }) => String(perTeam ?? "-"),
        align: "right",
        whole: true,
      },
      {
        title: "RATE",
        text: ({ rate, defined }) => rate ?? defined.rate ?? "-",
        align: "right",
        whole: true,
      },
      { title: "RUNNING", text: ({ running }) => String(running), align: "right", whole: true },
      { title: "WAITING", text: ({ waiting }) => String(waiting), align: "right", whole: true },
      { title: "SET BY", text: ({ setBy }) => setBy ?? "" },
    ],
    limits,
    "There is no limit.",
  );
}

export const calendarCommands: readonly Command[] = [calendar, limit];
