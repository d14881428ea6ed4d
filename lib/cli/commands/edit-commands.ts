import {
  type CancelDone,
  CarillonProblem,
  type Edited,
  type HoldDone,
  isNotFound,
  type OperationResult,
} from "../../client/main.ts";
import { type Call, type Command, command } from "../command.ts";
import { dryRunOption, ifMatchOption, yesOption } from "../common-options.ts";
import { eachOf } from "../each.ts";
import { PartlyDone, ServerFailed, UsageFault, WouldBeRefused } from "../fault.ts";
import { instantFrom } from "../input.ts";
import { holdText, scheduleColumns, showEdit } from "../output/shown-schedule.ts";
import { printable } from "../output/style.ts";
import { counted } from "../output/table.ts";

const ownerOption = {
  owner: { value: "owner", about: "In this owner's name (needs an admin token)" },
} as const;
const labelOptions = {
  group: { value: "group", about: "The schedules of this group, also later ones" },
  tag: { value: "tag", about: "The schedules with this tag, also later ones" },
} as const;

const pause = command({
  name: "pause",
  group: "Schedules",
  summary: "Hold a schedule, a group or a tag",
  usage: "[key]",
  words: { min: 0, max: 1 },
  options: {
    ...labelOptions,
    ...ownerOption,
    ...ifMatchOption,
    reason: { value: "text", about: "The reason" },
    until: { value: "instant", about: "When the hold ends by itself" },
  },
  examples: [
    `carillon pause report:weekly --reason "under repair" --until "in 2h"`,
    "carillon pause --group order:1",
  ],
  run: async (call) => {
    const { given } = call;
    const params = {
      reason: given.text("reason"),
      until: instantFrom(call, given.text("until"), "--until"),
      owner: given.text("owner"),
    };
    await hold(call, "pause", params);
  },
});

const resume = command({
  name: "resume",
  group: "Schedules",
  summary: "Release your hold",
  usage: "[key]",
  words: { min: 0, max: 1 },
  options: { ...labelOptions, ...ownerOption, ...ifMatchOption },
  examples: ["carillon resume report:weekly", "carillon resume --group order:1"],
  run: async (call) => hold(call, "resume", { owner: call.given.text("owner") }),
});

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
    throw new UsageFault("Name one: a key, --group <group>, or --tag <tag>.");
  return { label: group !== undefined ? "group" : tag !== undefined ? "tag" : null, name };
}

const rm = command({
  name: "rm",
  group: "Schedules",
  summary: "Delete schedules",
  usage: "[key]…",
  about:
    "Their waiting jobs are cancelled. With --prefix or --group many are deleted at once, after a confirmation.",
  words: { min: 0, max: 1_000 },
  options: {
    prefix: { value: "prefix", about: "All schedules whose keys begin with this" },
    group: { value: "group", about: "All schedules of this group" },
    ...ifMatchOption,
    ...yesOption,
    ...dryRunOption,
  },
  examples: [
    "carillon rm order:1",
    "carillon rm --prefix order: --dry-run",
    "carillon rm --prefix order: --yes",
  ],
  run: async (call) => {
    const { words, given, out } = call;
    const prefix = given.text("prefix");
    const group = given.text("group");
    if ([words.length > 0, prefix !== undefined, group !== undefined].filter(Boolean).length !== 1)
      throw new UsageFault("Name the schedules to delete: keys, --prefix <prefix>, or --group <group>.");
    if (words.length > 0) return removeKeys(call);
    if (given.flag("dry-run")) return showDoomed(call, { prefix, group });
    if (group !== undefined) return removeGroup(call, group);
    const keys: string[] = [];
    for await (const { key } of call.client.schedules.list({ prefix, limit: 100, signal: call.signal }))
      keys.push(key);
    if (keys.length === 0) {
      if (out.isJson) out.json({ done: 0 });
      else out.note("No schedule matches.");
      return;
    }
    await call.confirm(
      `Delete ${counted(keys.length, "schedule")} under ${JSON.stringify(prefix)}?`,
      given.flag("yes"),
    );
    await removeMany(call, keys);
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

async function showDoomed(
  { client, out, signal }: Call,
  filter: { prefix?: string | undefined; group?: string | undefined },
) {
  const doomed = [];
  for await (const schedule of client.schedules.list({ ...filter, limit: 100, signal }))
    doomed.push(schedule);
  out.table(scheduleColumns(out), doomed, "No schedule matches.");
  out.note(`${doomed.length} would be deleted.`);
}

async function removeMany({ client, out, signal }: Call, keys: readonly string[]): Promise<void> {
  const results = await client.batch(
    keys.map((key) => ({ delete: key })),
    { signal, onProgress: (done, of) => out.note(`${done} of ${of}`) },
  );
  // A schedule that is already gone counts as deleted.
  const failed = results.filter(({ status }) => status >= 400 && status !== 404);
  for (const { key, error } of failed)
    out.note(`${printable(key ?? "?")}: ${printable(error?.detail ?? "refused")}`);
  const done = results.filter(({ status }) => status === 204).length;
  if (out.isJson) out.json({ done, failed: failed.length });
  else out.line(`Deleted ${counted(done, "schedule")}.`);
  if (failed.length > 0) throw new PartlyDone(`${failed.length} could not be deleted.`, causeOf(failed));
}

/** A server failure decides the exit code before a refusal, because a retry may succeed. */
function causeOf(failed: readonly OperationResult[]): { cause?: CarillonProblem } {
  const decisive = failed.find(({ status }) => status >= 500) ?? failed[0];
  return decisive?.error === undefined ? {} : { cause: new CarillonProblem(decisive.error) };
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
