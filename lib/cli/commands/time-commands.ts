import {
  type Explanation,
  isNotFound,
  type JobSummary,
  type Preview,
  type RestorePreview,
} from "../../client/main.ts";
import { type Call, type Command, command } from "../command.ts";
import { dryRunOption, fullOption, ifMatchOption, listOptions } from "../common-options.ts";
import { UsageFault } from "../fault.ts";
import { instantFrom } from "../input.ts";
import { pageSize, someOf } from "../listed.ts";
import type { Output } from "../output/output.ts";
import { reasonText } from "../output/reasons.ts";
import { changesText, versionText } from "../output/shown-changes.ts";
import { showEdit } from "../output/shown-schedule.ts";
import { showOccurrences } from "../output/shown-times.ts";
import { printable, stateColour } from "../output/style.ts";
import { timingFrom, whenOptions, zoneOf } from "../schedule-flags.ts";
import { measuredText, type Times } from "../times.ts";

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
  usage: "<key or job id>",
  about:
    "--at takes an instant as any command prints it. It means the run or the due time within a second of it.",
  words: { min: 1, max: 1 },
  options: { at: { value: "instant", about: "When it was due, or should have run; default: now" } },
  examples: [
    `carillon explain report:weekly --at "2026-11-23 09:00" --timezone Europe/Berlin`,
    `carillon explain report:weekly --at "2026-11-23 09:00:00 Europe/Berlin"`,
    `carillon explain report:weekly --at "2h ago"`,
    "carillon explain 1-1796115600000-c0",
  ],
  run: async (call) => {
    const { out, client, signal } = call;
    const { key, at } = await explainedFrom(call);
    showExplanation(out, await client.schedules.explain(key, at, { signal }));
  },
});

/** A job's id names its schedule and its occurrence. A key may look like one, so a missing job is a key. */
async function explainedFrom(call: Call<"at">): Promise<{ key: string; at: string }> {
  const { words, given, client, signal } = call;
  const [key = ""] = words;
  const at = instantFrom(call, given.text("at"), "--at");
  if (at === undefined && /^\d+-\d+-[a-z]\d+$/.test(key)) {
    try {
      const { key: of, occurrence } = await client.jobs.get(key, { signal });
      return { key: of, at: occurrence };
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  return { key, at: at ?? new Date(call.now()).toISOString() };
}

function showExplanation(out: Output, explanation: Explanation): void {
  if (out.isJson) {
    out.json(explanation);
    return;
  }
  const { job, beside = [], nearest, outcome, at, dueAt, reason, version } = explanation;
  const { times } = out;
  out.line(printable(times.inSentence(explanation.sentence)));
  out.facts([
    ["outcome", out.paint(outcome, stateColour(outcome))],
    ["asked", askedText(explanation, times)],
    [`at (${times.zone})`, times.both(at)],
    ["in UTC", at],
    ["on its clock", clockText(explanation, times)],
    ["due", dueAt === null || dueAt === at ? null : times.both(dueAt)],
    ["note", explanation.note],
    ["reason", reason === undefined || reason === job?.reason ? null : printable(reasonText(reason))],
    ...[...(job === undefined ? [] : [job]), ...beside].flatMap((each) => jobFacts(out, each)),
    ["version", version === null ? null : `${version}: ${explanation.cadence ?? "-"}`],
    ["before", nearest.before === null ? null : times.both(nearest.before.at)],
    ["after", nearest.after === null ? null : times.both(nearest.after.at)],
  ]);
}

function jobFacts(out: Output, { id, state, reason, error }: JobSummary): [string, string | null][] {
  return [
    ["job", `${id} ${out.paint(state, stateColour(state))}`],
    ["reason", reason === null ? null : printable(reasonText(reason))],
    ["error", error === null ? null : out.paint(printable(error), "red")],
  ];
}

/** Such as `10:10:14, which means the run 739 ms later`. */
function askedText({ asked, at }: Explanation, { wall }: Times): string | null {
  if (asked === undefined) return null;
  const ms = Date.parse(at) - Date.parse(asked);
  const distance = `${measuredText(Math.abs(ms))} ${ms > 0 ? "later" : "earlier"}`;
  return `${wall(asked)}, which means the run ${distance}`;
}

/** The clock of the schedule's zone; null where it is the shown one or that of UTC. */
function clockText({ wall, at }: Explanation, times: Times): string | null {
  const clock = wall.replace("T", " ");
  return clock.endsWith("+00:00") || clock.startsWith(times.wall(at)) ? null : clock;
}

const versions = command({
  name: "versions",
  group: "Time",
  summary: "List the versions of a schedule: author, time and changes",
  usage: "<key>",
  words: { min: 1, max: 1 },
  options: { ...fullOption, ...listOptions },
  examples: ["carillon versions report:weekly", "carillon versions report:weekly --full"],
  run: async (call) => {
    const { words, given, client, out, signal } = call;
    const list = client.schedules.versions(words[0] ?? "", { limit: pageSize(call), signal });
    out.table(
      [
        { title: "VERSION", text: ({ version }) => String(version), align: "right", whole: true },
        { title: `AT (${out.times.zone})`, text: ({ at }) => out.times.wall(at), whole: true },
        { title: "BY", text: ({ by }) => by },
        { title: "CHANGE", text: ({ change }) => change, whole: true },
        {
          title: "WHAT",
          text: (each) => versionText(each, { isFull: given.flag("full"), times: out.times }),
        },
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
  if (version === null) out.line(`Would make ${printable(key)} again: it is deleted.`);
  else out.line(`${verb} ${printable(key)} (version ${version}).`);
  for (const field of fields) out.line(`  ${printable(changesText([field], true))}`);
  const next = (instants: readonly string[]) => instants.map((at) => out.times.wall(at)).join(", ") || "none";
  out.line(`  next (${out.times.zone}): ${next(changes.before)}`);
  out.line(`  with it: ${next(changes.after)}`);
}

/** The version of a schedule now; null if it is deleted or never was. */
async function versionNow({ client, signal }: Call, key: string): Promise<number | null> {
  try {
    return (await client.schedules.get(key, { signal })).version;
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}

const restore = command({
  name: "restore",
  group: "Time",
  summary: "Restore an old version of a schedule. A deleted schedule is made again, without its holds",
  usage: "<key> <version>",
  missing: (key) => `carillon versions ${key} lists its versions, also if it was deleted.`,
  words: { min: 2, max: 2 },
  options: { ...ifMatchOption, ...dryRunOption },
  examples: ["carillon restore report:weekly 1", "carillon restore report:weekly 1 --dry-run"],
  run: async (call) => {
    const { words, given, client, out, signal } = call;
    const [key = "", version = ""] = words;
    if (!/^[1-9]\d{0,8}$/.test(version))
      throw new UsageFault("A version is a number: carillon versions <key>.");
    const options = { ifMatch: given.number("if-match", { min: 1 }), signal };
    if (given.flag("dry-run")) {
      showTried(out, await client.schedules.tryRestore(key, Number(version), options));
      return;
    }
    const before = await versionNow(call, key);
    const edited = await client.schedules.restore(key, Number(version), options);
    const restored = before === null ? "Made again" : "Restored";
    showEdit(out, edited, edited.version === before ? "Nothing to restore in" : restored);
  },
});

export const timeCommands: readonly Command[] = [next, preview, explain, versions, restore];
