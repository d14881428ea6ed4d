import {
  type CancelDone,
  type Edited,
  type HoldDone,
  isNotFound,
  type ScheduleFilter,
} from "../../client/main.ts";
import { WouldBeRefused } from "../../put-preview/would-be-refused.ts";
import { bulk, bulkOptions, isFiltered } from "../bulk.ts";
import { type Call, type Command, command } from "../command.ts";
import { ifMatchOption } from "../common-options.ts";
import { eachOf } from "../each.ts";
import { ServerFailed, UsageFault } from "../fault.ts";
import { instantFrom } from "../input.ts";
import { holdText, showEdit } from "../output/shown-schedule.ts";
import { printable } from "../output/style.ts";
import { counted } from "../output/table.ts";
import { bulkFilterFrom } from "../schedule-filter.ts";

const ownerOption = {
  owner: { value: "owner", about: "In this owner's name (needs an admin token)" },
} as const;
const labelOptions = {
  group: { value: "group", about: "The schedules of this group, also later ones" },
  tag: { value: "tag", about: "The schedules with this tag, also later ones" },
} as const;

const many =
  "With --prefix and other filters it acts on all schedules that match now: it shows their number and asks; a script needs --yes. With another filter, --group and --tag select schedules too.";

const pause = command({
  name: "pause",
  group: "Schedules",
  summary: "Hold a schedule, a group or a tag, or all that match a filter",
  usage: "[key]",
  about: many,
  words: { min: 0, max: 1 },
  options: {
    ...labelOptions,
    ...bulkOptions,
    ...ownerOption,
    ...ifMatchOption,
    reason: { value: "text", about: "The reason" },
    until: { value: "instant", about: "When the hold ends by itself" },
  },
  examples: [
    `carillon pause report:weekly --reason "under repair" --until "in 2h"`,
    "carillon pause --group order:1",
    `carillon pause --prefix crm: --reason "the CRM is migrated" --dry-run`,
  ],
  run: async (call) => {
    const { given } = call;
    const params = {
      reason: given.text("reason"),
      until: instantFrom(call, given.text("until"), "--until"),
      owner: given.text("owner"),
    };
    if (isBulk(call)) return bulk(call, filterFrom(call), { verb: "pause", ...params });
    await hold(call, "pause", params);
  },
});

const resume = command({
  name: "resume",
  group: "Schedules",
  summary: "Release your hold of a schedule, a group or a tag, or of all that match a filter",
  usage: "[key]",
  about: many,
  words: { min: 0, max: 1 },
  options: { ...labelOptions, ...bulkOptions, ...ownerOption, ...ifMatchOption },
  examples: [
    "carillon resume report:weekly",
    "carillon resume --group order:1",
    "carillon resume --prefix crm: --yes",
  ],
  run: async (call) => {
    const owner = call.given.text("owner");
    if (isBulk(call)) return bulk(call, filterFrom(call), { verb: "resume", owner });
    await hold(call, "resume", { owner });
  },
});

type FilterCall = Call<keyof typeof labelOptions | keyof typeof bulkOptions>;

/** Whether schedules are selected by a filter. A group or a tag alone is held as a whole. */
function isBulk(call: FilterCall): boolean {
  const { given, words } = call;
  const others = isFiltered(bulkFilterFrom(call)) || given.flag("all") || given.flag("dry-run");
  if (others && words.length > 0)
    throw new UsageFault("A key takes no filter, no --all and no --dry-run: name the key alone.");
  return others;
}

function filterFrom(call: FilterCall): ScheduleFilter {
  const { given } = call;
  return { ...bulkFilterFrom(call), group: given.text("group"), tag: given.text("tag") };
}

async function hold(
  call: Call<keyof typeof labelOptions | "if-match">,
  verb: "pause" | "resume",
  params: { reason?: string | undefined; until?: string | undefined; owner?: string | undefined },
): Promise<void> {
  const { given, client, out, signal } = call;
  const options = { ifMatch: given.number("if-match", { min: 1 }), signal };
  const subject = oneSubject(call);
  if (subject.label === null) {
    const edited: Edited = await client.schedules[verb](subject.name, params, options);
    showEdit(out, edited, verb === "pause" ? "Held" : "Released");
    return;
  }
  const labels = subject.label === "group" ? client.groups : client.tags;
  let done = 0;
  let last: HoldDone = { done: 0, hold: null };
  for (let cursor: string | undefined; ; cursor = last.cursor) {
    last = await labels[verb](subject.name, params, { cursor, signal });
    done += last.done;
    if (last.cursor === undefined) break;
    out.note(`${counted(done, "schedule")} so far`);
  }
  if (out.isJson) out.json({ ...last, done });
  else
    out.line(
      `${verb === "pause" ? "Held" : "Released"} the ${subject.label} ${printable(subject.name)}: ${counted(done, "schedule")} changed.`,
    );
  if (verb === "resume") await noteOtherHolds(call, { label: subject.label, name: subject.name });
}

/** A resume releases only the caller's own hold, so others may still bind the same schedules. */
async function noteOtherHolds(
  { client, out, signal }: Call,
  { label, name }: { label: "group" | "tag"; name: string },
): Promise<void> {
  if (out.isJson) return;
  const labels = label === "group" ? client.groups : client.tags;
  try {
    const { holds } = await labels.get(name, { limit: 1, signal });
    for (const hold of holds.filter(({ progress }) => progress !== "releasing"))
      out.note(`Still held ${holdText(hold, out.times)} (an admin releases it with --owner ${hold.owner})`);
  } catch (error) {
    // It has no schedule, so no hold is left either.
    if (!isNotFound(error)) throw error;
  }
}

/** The subject of the command: exactly one key, group or tag. */
function oneSubject({ words: [key], given }: Call<keyof typeof labelOptions>): {
  label: "group" | "tag" | null;
  name: string;
} {
  const group = given.text("group");
  const tag = given.text("tag");
  const named = [key, group, tag].filter((each) => each !== undefined);
  const [name] = named;
  if (name === undefined || named.length > 1)
    throw new UsageFault(
      "Name one: a key, --group <group>, or --tag <tag>; or filters such as --prefix <prefix>.",
    );
  return { label: group !== undefined ? "group" : tag !== undefined ? "tag" : null, name };
}

const rm = command({
  name: "rm",
  alias: "delete",
  group: "Schedules",
  summary: "Delete schedules",
  usage: "[key]…",
  about:
    "Their waiting jobs are cancelled. With --prefix and other filters all that match are deleted: it shows their number and asks; a script needs --yes. --group alone also stops running jobs. `carillon delete` is the same.",
  words: { min: 0, max: 1_000 },
  options: {
    group: { value: "group", about: "All schedules of this group" },
    tag: { value: "tag", about: "All schedules with this tag" },
    ...bulkOptions,
    ...ifMatchOption,
  },
  examples: [
    "carillon rm order:1",
    "carillon rm --prefix order: --dry-run",
    "carillon rm --prefix order: --state ended --yes",
  ],
  run: async (call) => {
    const { words, given } = call;
    const filter = filterFrom(call);
    if (words.length > 0) {
      if (isFiltered(filter) || given.flag("all")) throw new UsageFault("Name keys, or filters, not both.");
      return removeKeys(call);
    }
    const { group, ...others } = filter;
    if (group !== undefined && !isFiltered(others) && !given.flag("dry-run")) return removeGroup(call, group);
    await bulk(call, filter, { verb: "delete" });
  },
});

async function removeKeys(call: Call<"if-match" | "dry-run">): Promise<void> {
  const { words, given, client, out, signal } = call;
  const ifMatch = given.number("if-match", { min: 1 });
  if (ifMatch !== undefined && words.length > 1) throw new UsageFault("--if-match is for one key.");
  await eachOf(call, async (key) => {
    if (given.flag("dry-run")) {
      const { version } = await client.schedules.get(key, { signal });
      if (ifMatch !== undefined && ifMatch !== version)
        throw new WouldBeRefused("conflict", `the schedule ${key} is at version ${version} (412)`);
      if (out.isJson) out.json({ dryRun: true, key, version });
      else out.line(`Would delete ${printable(key)} (version ${version}).`);
      return;
    }
    await client.schedules.delete(key, { ifMatch, signal });
    if (out.isJson) out.json({ deleted: key });
    else out.line(`Deleted ${printable(key)}.`);
  });
}

async function removeGroup(call: Call<"yes">, group: string): Promise<void> {
  const { client, out, signal } = call;
  await call.confirm(
    `Delete all schedules of the group ${JSON.stringify(group)} and cancel their jobs?`,
    call.given.flag("yes"),
  );
  const total: CancelDone = { done: 0, running: 0, failed: 0 };
  for (let cursor: string | undefined; ; ) {
    const part = await client.groups.cancel(group, {}, { cursor, signal });
    total.done += part.done;
    total.running += part.running;
    total.failed += part.failed;
    cursor = part.cursor;
    if (cursor === undefined) break;
    out.note(`${counted(total.done, "schedule")} so far`);
  }
  if (out.isJson) out.json(total);
  else
    out.line(
      `Deleted ${counted(total.done, "schedule")}; ${counted(total.running, "job")} running notified to stop.`,
    );
  if (total.failed > 0)
    throw new ServerFailed(
      `The server failed on ${counted(total.failed, "schedule")}, which are unchanged; its log names them.`,
    );
}

export const editCommands: readonly Command[] = [pause, resume, rm];
