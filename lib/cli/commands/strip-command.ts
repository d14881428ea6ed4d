import { Pages, type Strip, type StripItem } from "../../client/main.ts";
import { type Call, type Command, command } from "../command.ts";
import { listOptions } from "../common-options.ts";
import { UsageFault } from "../fault.ts";
import { instantFrom } from "../input.ts";
import { pageSize, someOf } from "../listed.ts";
import { stateColour } from "../output/style.ts";
import { measuredText } from "../times.ts";

const keysMax = 100;

export const stripCommand: Command = command({
  name: "strip",
  group: "Time",
  summary: "Show the occurrences of a schedule, each explained; or the last runs of many",
  usage: "<key>…",
  about:
    "With one key: the occurrences of the last 24 hours, or from --from to --to, also of a deleted schedule. With several keys: one line each, with a mark for each of the last 20 occurrences, the newest on the right.",
  words: { min: 1, max: keysMax },
  options: {
    from: { value: "instant", about: "From this instant, such as `2h ago`; default: a day before --to" },
    to: { value: "instant", about: "Before this instant; default: now" },
    ...listOptions,
  },
  examples: [`carillon strip report:weekly --from "20d ago"`, "carillon strip order:1:unpaid order:2:unpaid"],
  run: async (call) => {
    const { words, given } = call;
    const [from, to] = [given.text("from"), given.text("to")];
    if (words.length === 1) {
      const window = { from: instantFrom(call, from, "--from"), to: instantFrom(call, to, "--to") };
      await showStrip(call, words[0] ?? "", window);
    } else if (from !== undefined || to !== undefined)
      throw new UsageFault("--from and --to need a single key: several keys show their last occurrences.");
    else await showLast(call, words);
  },
});

type StripCall = Call<"from" | "to" | keyof typeof listOptions>;

async function showStrip(
  call: StripCall,
  key: string,
  window: { from: string | undefined; to: string | undefined },
): Promise<void> {
  const { client, out, signal } = call;
  let last: Strip | undefined;
  const list = new Pages<StripItem>(async (cursor) => {
    const limit = pageSize(call);
    last = await client.schedules.occurrences(key, { ...window, limit, cursor, signal });
    return last;
  });
  const items = await someOf(call, list);
  const { times } = out;
  out.table(
    [
      { title: `OCCURRENCE (${times.zone})`, text: ({ occurrence }) => times.wall(occurrence), whole: true },
      {
        title: "OUTCOME",
        text: ({ outcome }) => outcome,
        colour: ({ outcome }) => stateColour(outcome),
        whole: true,
      },
      { title: "LATE", text: ({ latenessMs }) => measuredText(latenessMs), align: "right", whole: true },
      { title: "TOOK", text: ({ durationMs }) => measuredText(durationMs), align: "right", whole: true },
      { title: "WHY", text: ({ sentence }) => times.inSentence(sentence) },
    ],
    items,
    "It has no occurrence in this time.",
  );
  const deleted = last?.deleted ?? null;
  if (deleted !== null && !out.isJson) out.note(`Deleted at ${times.both(deleted.at)} by ${deleted.by}.`);
}

/** One mark for each outcome; others are a question mark. */
const marks: Readonly<Record<string, string>> = {
  ran: "✓",
  dead: "✗",
  retrying: "↻",
  running: "▶",
  skipped: "–",
  held: "‖",
  cancelled: "×",
  waiting: "·",
  planned: "·",
  "not-planned-yet": "·",
};

async function showLast({ client, out, signal }: Call, keys: readonly string[]): Promise<void> {
  const { items } = await client.lastRuns({ keys: [...keys] }, { signal });
  out.table(
    [
      { title: "KEY", text: ({ key }) => key },
      {
        title: "LAST",
        text: ({ runs }) => runs.map(({ outcome }) => marks[outcome] ?? "?").join(""),
        whole: true,
      },
      {
        title: "NEWEST",
        text: ({ runs, scheduleId }) =>
          runs.at(-1)?.outcome ?? (scheduleId === null ? "no such schedule" : "none yet"),
        colour: ({ runs }) => stateColour(runs.at(-1)?.outcome ?? ""),
        whole: true,
      },
      { title: `AT (${out.times.zone})`, text: ({ runs }) => out.times.both(runs.at(-1)?.occurrence) },
      {
        title: "DELETED",
        text: ({ deleted }) => (deleted === null ? "" : `${out.times.wall(deleted.at)} by ${deleted.by}`),
      },
    ],
    items,
    "",
  );
}
