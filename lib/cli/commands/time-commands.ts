import type { Explanation, Json, Preview, RestorePreview, Version } from "../../client/main.ts";
import { type Command, command } from "../command.ts";
import { dryRunOption, ifMatchOption, listOptions } from "../common-options.ts";
import { UsageFault } from "../fault.ts";
import { instantFrom } from "../input.ts";
import { pageSize, someOf } from "../listed.ts";
import type { Output } from "../output/output.ts";
import { showEdit } from "../output/shown-schedule.ts";
import { showOccurrences } from "../output/shown-times.ts";
import { printable, stateColour } from "../output/style.ts";
import { timingFrom, whenOptions, zoneOf } from "../schedule-flags.ts";

const countOptions = {
  count: { value: "n", short: "n", about: "How many; default: 10" },
  from: { value: "instant", about: "Strictly after this instant; default: now" },
} as const;

const next = command({
  name: "next",
  group: "Time",
  summary: "Show when a schedule runs next",
  usage: "<key>",
  words: { min: 1, max: 1 },
  options: countOptions,
  examples: ["carillon next report:weekly -n 20", "carillon next report:weekly --from 2027-03-01T00:00:00Z"],
  run: async (call) => {
    const { words, given, client, out, signal } = call;
    const from = instantFrom(call, given.text("from"), "--from");
    const n = given.number("count", { min: 1, max: 1_000 });
    const times = await client.schedules.next(words[0] ?? "", { n, from }, { signal });
    showOccurrences(out, times, { alsoShown: zoneOf(call) !== undefined });
    if (!out.isJson && times.holds !== undefined)
      out.note(
        `It is held${times.heldUntil === null ? "" : ` until ${out.times.both(times.heldUntil)}`}: carillon get ${words[0]}`,
      );
  },
});

const { when: _, ...othersOfWhen } = whenOptions;

const preview = command({
  name: "preview",
  group: "Time",
  summary: "Show when a schedule would run, without saving it",
  usage: "<when>…",
  words: { min: 1, max: 20 },
  options: {
    ...othersOfWhen,
    ...countOptions,
    key: { value: "key", about: "The key from which `H` and --spread are computed" },
  },
  examples: [
    `carillon preview "0 9 * * 1-5" --timezone Europe/Berlin`,
    `carillon preview "30 2 * * *" --timezone Europe/Berlin --from 2027-03-27T12:00:00Z -n 3`,
    `carillon preview "every 5m" "at 2030-01-01T00:00" --timezone Asia/Tokyo`,
  ],
  run: async (call) => {
    const { words, given, client, out, signal } = call;
    const body = {
      ...timingFrom(call, words),
      key: given.text("key"),
      n: given.number("count", { min: 1, max: 1_000 }),
      from: instantFrom(call, given.text("from"), "--from"),
    };
    const path = ["v1", "preview"];
    const answer = await client.request<Preview>({
      method: "POST",
      path,
      body,
      changes: false,
      options: { signal },
    });
    if (out.isJson) out.json(answer.body);
    else {
      out.line(answer.body.cadenceText);
      showOccurrences(out, answer.body);
    }
  },
});

const explain = command({
  name: "explain",
  group: "Time",
  summary: "Explain why a schedule ran, ran late, or did not run",
  usage: "<key>",
  words: { min: 1, max: 1 },
  options: { at: { value: "instant", about: "When it ran, was due, or should have run; default: now" } },
  examples: [
    "carillon explain report:weekly --at 2026-11-23T08:00:00Z",
    `carillon explain report:weekly --at "2h ago"`,
  ],
  run: async (call) => {
    const { words, given, client, out, signal } = call;
    const at = instantFrom(call, given.text("at") ?? "now", "--at") ?? "";
    showExplanation(out, await client.schedules.explain(words[0] ?? "", at, { signal }));
  },
});

function showExplanation(out: Output, explanation: Explanation): void {
  if (out.isJson) {
    out.json(explanation);
    return;
  }
  const { job, nearest, outcome } = explanation;
  out.line(printable(explanation.sentence));
  out.facts([
    ["outcome", out.paint(outcome, stateColour(outcome))],
    ["at", `${explanation.at}, on the clock ${explanation.wall.replace("T", " ")}`],
    ["note", explanation.note],
    ["job", job === undefined ? null : `${job.id} ${out.paint(job.state, stateColour(job.state))}`],
    ["error", job?.error === undefined || job.error === null ? null : printable(job.error)],
    [
      "version",
      explanation.version === null ? null : `${explanation.version}: ${explanation.cadence ?? "-"}`,
    ],
    ["before", nearest.before === null ? null : out.times.both(nearest.before.at)],
    ["after", nearest.after === null ? null : out.times.both(nearest.after.at)],
  ]);
}

const versions = command({
  name: "versions",
  group: "Time",
  summary: "List the versions of a schedule: author, time and changes",
  usage: "<key>",
  words: { min: 1, max: 1 },
  options: listOptions,
  examples: ["carillon versions report:weekly"],
  run: async (call) => {
    const { words, client, out, signal } = call;
    const list = client.schedules.versions(words[0] ?? "", { limit: pageSize(call), signal });
    out.table(
      [
        { title: "VERSION", text: ({ version }) => String(version), align: "right", whole: true },
        { title: `AT (${out.times.zone})`, text: ({ at }) => out.times.wall(at), whole: true },
        { title: "BY", text: ({ by }) => by },
        { title: "CHANGE", text: ({ change }) => change, whole: true },
        { title: "WHAT", text: changesText },
      ],
      await someOf(call, list),
      "There is no version.",
    );
  },
});

function showTried(out: Output, tried: RestorePreview): void {
  if (out.isJson) {
    out.json(tried);
    return;
  }
  const { key, version, fields, changes } = tried;
  const verb = fields.length === 0 ? "Would not change" : "Would change";
  out.line(`${verb} ${printable(key)} (version ${version}).`);
  for (const field of fields) out.line(`  ${printable(fieldText(field))}`);
  const next = (instants: readonly string[]) => instants.map((at) => out.times.wall(at)).join(", ") || "none";
  out.line(`  next (${out.times.zone}): ${next(changes.before)}`);
  out.line(`  with it: ${next(changes.after)}`);
}

/** The changed fields; for a hold, its owner, its end and its reason. */
function changesText({ change, changes, detail }: Version): string {
  if (changes.length === 0 && (change === "paused" || change === "resumed")) return holdText(change, detail);
  return changes.map(fieldText).join("; ");
}

function holdText(change: "paused" | "resumed", detail: Json): string {
  const { owner, reason, until, ended } = shapedHold(detail);
  const verb = change === "paused" ? "held by" : ended === true ? "end of the hold of" : "released by";
  const end = typeof until === "string" && change === "paused" ? ` until ${until}` : "";
  return `${verb} ${String(owner ?? "?")}${end}${typeof reason === "string" ? `: ${reason}` : ""}`;
}

function shapedHold(detail: Json): { [name: string]: Json | undefined } {
  return typeof detail === "object" && detail !== null && !Array.isArray(detail) ? detail : {};
}

function fieldText({ path, before, after }: Version["changes"][number]): string {
  return before === undefined && after === undefined
    ? path
    : `${path}: ${JSON.stringify(before ?? null)} → ${JSON.stringify(after ?? null)}`;
}

const restore = command({
  name: "restore",
  group: "Time",
  summary: "Restore an old version of a schedule",
  usage: "<key> <version>",
  words: { min: 2, max: 2 },
  options: { ...ifMatchOption, ...dryRunOption },
  examples: ["carillon restore report:weekly 1", "carillon restore report:weekly 1 --dry-run"],
  run: async ({ words: [key = "", version = ""], given, client, out, signal }) => {
    if (!/^[1-9]\d{0,8}$/.test(version))
      throw new UsageFault("A version is a number: carillon versions <key>.");
    const options = { ifMatch: given.number("if-match", { min: 1 }), signal };
    if (given.flag("dry-run")) {
      showTried(out, await client.schedules.tryRestore(key, Number(version), options));
      return;
    }
    showEdit(out, await client.schedules.restore(key, Number(version), options), "Restored");
  },
});

export const timeCommands: readonly Command[] = [next, preview, explain, versions, restore];
