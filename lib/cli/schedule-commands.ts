import { type Edited, isNotFound, type Json, type Preview, type Schedule } from "../client/main.ts";
import { type Call, type Command, command } from "./command.ts";
import { dryRunOption, ifMatchOption, listOptions } from "./common-options.ts";
import { UsageFault } from "./fault.ts";
import { pageSize, someOf } from "./listed.ts";
import { scheduleFilterFrom, scheduleFilterOptions } from "./schedule-filter.ts";
import { bodyFrom, scheduleOptions } from "./schedule-flags.ts";
import { scheduleColumns, showEdit, showSchedule } from "./shown-schedule.ts";
import { showOccurrences } from "./shown-times.ts";
import { printable } from "./style.ts";

type Body = { [name: string]: Json };

const put = command({
  name: "put",
  group: "Schedules",
  summary: "Create a schedule, or replace it",
  usage: "<key>",
  about:
    "What is not given has its default: to change some of a schedule, use patch. Putting the same again changes nothing, unless it says `in …`: that counts anew.",
  words: { min: 0, max: 1 },
  options: {
    ...scheduleOptions,
    ...dryRunOption,
    ...ifMatchOption,
    create: { about: "Only if there is none yet" },
  },
  examples: [
    `carillon put order:1 --when "in 3h" --queue orders --payload '{"orderId":1}'`,
    `carillon put report:weekly --when "0 9 * * MON" --timezone Europe/Berlin --queue reports`,
    `carillon put report:weekly --when "0 10 * * MON" --queue reports --dry-run`,
  ],
  run: async (call) => {
    const { given, client, out, signal } = call;
    const body = await bodyFrom(call);
    const key = keyFrom(call, body);
    if (given.flag("dry-run")) return tryPut(call, key, body);
    const ifNoneMatch = given.flag("create") ? ("*" as const) : undefined;
    const options = { ifMatch: given.number("if-match", { min: 1 }), ifNoneMatch, signal };
    const path = ["v1", "schedules", key];
    const { status, body: edited } = await client.request<Edited>({ method: "PUT", path, body, options });
    showEdit(out, edited, status === 201 ? "Created" : "Replaced");
  },
});

const patch = command({
  name: "patch",
  group: "Schedules",
  summary: "Change some of a schedule",
  usage: "<key>",
  about: "What is not given stays. A `null` in a file restores the default.",
  words: { min: 1, max: 1 },
  options: { ...scheduleOptions, ...ifMatchOption },
  examples: [
    `carillon patch report:weekly --when "0 10 * * MON"`,
    "carillon patch report:weekly --tag reports",
  ],
  run: async (call) => {
    const { given, client, out, signal, words } = call;
    const body = await bodyFrom(call);
    if (Object.keys(body).length === 0) throw new UsageFault("There is nothing to change: name what.");
    const options = { ifMatch: given.number("if-match", { min: 1 }), signal };
    const path = ["v1", "schedules", words[0] ?? ""];
    const { body: edited } = await client.request<Edited>({ method: "PATCH", path, body, options });
    showEdit(out, edited, "Changed");
  },
});

const get = command({
  name: "get",
  group: "Schedules",
  summary: "Show a schedule",
  usage: "<key>",
  words: { min: 1, max: 1 },
  options: {},
  examples: ["carillon get report:weekly", "carillon get report:weekly --json"],
  run: async ({ words, client, out, signal }) => {
    showSchedule(out, await client.schedules.get(words[0] ?? "", { signal }));
  },
});

const ls = command({
  name: "ls",
  group: "Schedules",
  summary: "List schedules",
  usage: "[prefix]",
  words: { min: 0, max: 1 },
  options: {
    ...scheduleFilterOptions,
    ...listOptions,
    count: { about: "Only how many there are" },
  },
  examples: [
    "carillon ls order:",
    "carillon ls --group order:1 --state paused",
    "carillon ls --tag reports --all --json",
    `carillon ls --next-from now --next-to "in 1h"`,
    "carillon ls --failing --count",
  ],
  run: async (call) => {
    const { given, client, out, signal } = call;
    if (given.flag("count")) {
      const { count, more } = await client.schedules.count({ ...scheduleFilterFrom(call), signal });
      if (out.isJson) out.json({ count, more });
      else out.line(`${count}${more ? " or more" : ""}`);
      return;
    }
    const list = client.schedules.list({ ...scheduleFilterFrom(call), limit: pageSize(call), signal });
    out.table(scheduleColumns(out), await someOf(call, list), "There is no such schedule.");
  },
});

export const scheduleCommands: readonly Command[] = [put, patch, get, ls];

/** On the command line, or in the file. */
function keyFrom({ words: [word] }: Call, body: Body): string {
  const { key } = body;
  if (word !== undefined) return word;
  if (typeof key === "string") return key;
  throw new UsageFault("A key is needed: carillon put <key> …, or `key` in the file.");
}

/** What a put would come to: refused as it would be, as far as that can be told without doing it. */
async function tryPut({ client, out, signal }: Call, key: string, body: Body): Promise<void> {
  const { paused: _, ...asked } = body;
  const wish = { ...asked, key, n: 5 };
  const path = ["v1", "preview"];
  const [{ body: preview }, saved] = await Promise.all([
    client.request<Preview>({ method: "POST", path, body: wish, changes: false, options: { signal } }),
    client.schedules.get(key, { signal }).catch((error: unknown) => {
      if (isNotFound(error)) return null;
      throw error;
    }),
  ]);
  const changes = saved === null ? [] : differences(saved, body);
  if (out.isJson) {
    out.json({ dryRun: true, key, creates: saved === null, changes, ...preview });
    return;
  }
  const verb =
    saved === null ? "Would create" : changes.length === 0 ? "Would leave as it is" : "Would change";
  out.line(`${verb} ${printable(key)}: ${preview.cadenceText}`);
  for (const { path: name, before, after } of changes)
    out.line(`  ${name}: ${printable(JSON.stringify(before))} → ${printable(JSON.stringify(after))}`);
  showOccurrences(out, preview);
}

/** Of what was given, what is not so yet. What would fall back to its default is not told. */
function differences(saved: Schedule, body: Body): { path: string; before: unknown; after: Json }[] {
  return Object.entries(body).flatMap(([path, after]) => {
    const before: unknown = Reflect.get(saved, path);
    return path === "key" || before === undefined || isWithin(after, before) ? [] : [{ path, before, after }];
  });
}

/** Whether all that is asked for stands there: objects come back with their defaults. */
function isWithin(asked: unknown, there: unknown): boolean {
  if (
    typeof asked !== "object" ||
    asked === null ||
    Array.isArray(asked) ||
    typeof there !== "object" ||
    there === null
  )
    return JSON.stringify(asked) === JSON.stringify(there);
  return Object.entries(asked).every(([name, value]) => isWithin(value, Reflect.get(there, name)));
}
