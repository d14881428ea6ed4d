import type { Edited, Json } from "../../client/main.ts";
import { puttable } from "../../client/puttable.ts";
import { tryPut } from "../apply/try-put.ts";
import { bulk, bulkOptions, isFiltered } from "../bulk.ts";
import { type Call, type Command, command } from "../command.ts";
import { dryRunOption, ifMatchOption, listOptions } from "../common-options.ts";
import { UsageFault } from "../fault.ts";
import { noteReach, pageSize, showCount, someOf } from "../listed.ts";
import { noteMoved } from "../output/moved-note.ts";
import { scheduleColumns, showEdit, showSchedule } from "../output/shown-schedule.ts";
import { bulkFilterFrom, scheduleFilterFrom, scheduleFilterOptions } from "../schedule-filter.ts";
import { bodyFrom, scheduleOptions } from "../schedule-flags.ts";

type Body = { [name: string]: Json };

const put = command({
  name: "put",
  group: "Schedules",
  summary: "Create a schedule, or replace it",
  usage: "<key>",
  about:
    "Fields that are not given get their defaults: to change single fields, use patch. Repeating a put changes nothing, unless `when` is relative (`in …`): its time starts again. --dry-run shows what would change; only the put itself checks whether this deployment allows the target.",
  words: { min: 0, max: 1 },
  options: {
    ...scheduleOptions,
    ...dryRunOption,
    ...ifMatchOption,
    create: { about: "Only if it does not exist yet" },
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
    const ifMatch = given.number("if-match", { min: 1 });
    const create = given.flag("create");
    if (given.flag("dry-run")) return tryPut(call, { key, body, ifMatch, create });
    const options = { ifMatch, ifNoneMatch: create ? ("*" as const) : undefined, signal };
    const path = ["v1", "schedules", key];
    const { status, body: edited } = await client.request<Edited>({ method: "PUT", path, body, options });
    showEdit(out, edited, status === 201 ? "Created" : "Replaced");
  },
});

const patch = command({
  name: "patch",
  group: "Schedules",
  summary: "Change single fields of a schedule, or of all that match a filter",
  usage: "[key]",
  about:
    "Fields that are not given stay. A `null` in a file restores the default. With --prefix and other filters all schedules that match are changed: it shows their number and asks; a script needs --yes. --dry-run also shows the next runs of the first ones, before and after.",
  words: { min: 0, max: 1 },
  options: {
    ...scheduleOptions,
    ...bulkOptions,
    "in-group": { value: "group", about: "Only schedules of this group" },
    "with-tag": { value: "tag", about: "Only schedules with this tag" },
    ...ifMatchOption,
  },
  examples: [
    `carillon patch report:weekly --when "0 10 * * MON"`,
    "carillon patch report:weekly --tag reports",
    "carillon patch --prefix crm: --spread 10m --dry-run",
  ],
  run: async (call) => {
    const { given, client, out, signal, words } = call;
    const body = await bodyFrom(call);
    if (Object.keys(body).length === 0) throw new UsageFault("Nothing to change: give at least one option.");
    const filter = { ...bulkFilterFrom(call), group: given.text("in-group"), tag: given.text("with-tag") };
    const [key] = words;
    if (key === undefined) return bulk(call, filter, { verb: "patch", patch: body });
    if (isFiltered(filter) || given.flag("all") || given.flag("dry-run"))
      throw new UsageFault("A key takes no filter, no --all and no --dry-run: name the key alone.");
    const options = { ifMatch: given.number("if-match", { min: 1 }), signal };
    const path = ["v1", "schedules", key];
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
  options: {
    body: {
      about:
        "As JSON with only the fields that put takes; credentials read `***`, and put then keeps the stored ones",
    },
  },
  examples: ["carillon get report:weekly", "carillon get report:weekly --body"],
  run: async ({ words, given, client, out, signal }) => {
    const schedule = await client.schedules.get(words[0] ?? "", { signal });
    if (given.flag("body")) out.json(puttable(schedule));
    else showSchedule(out, schedule);
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
    count: { about: "Only the number of schedules" },
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
    const filter = scheduleFilterFrom(call);
    const total = async () => {
      const found = await client.schedules.count({ ...filter, signal });
      noteMoved(out, filter.prefix, found.movedTo);
      return found;
    };
    if (given.flag("count")) return showCount(out, await total());
    const list = client.schedules.list({ ...filter, limit: pageSize(call), signal });
    const schedules = await someOf(call, list, total);
    out.table(scheduleColumns(out), schedules, "No schedule matches.");
    if (schedules.length > 0) return;
    if (filter.prefix !== undefined && !out.isJson) await total();
    await noteReach(call, filter.prefix);
  },
});

export const scheduleCommands: readonly Command[] = [put, patch, get, ls];

/** The key from the command line, or else from the file. */
function keyFrom({ words: [word] }: Call, body: Body): string {
  const { key } = body;
  if (word !== undefined) return word;
  if (typeof key === "string") return key;
  throw new UsageFault("A key is needed: carillon put <key> …, or `key` in the file.");
}
