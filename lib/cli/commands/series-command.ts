import type { SeriesHead, SeriesStep, SeriesStepLength } from "../../client/main.ts";
import { type Call, command } from "../command.ts";
import { UsageFault } from "../fault.ts";
import { instantFrom } from "../input.ts";
import { durationMs } from "../instants.ts";
import { ownerOptions, ownersFrom } from "../job-filter-options.ts";
import type { Output } from "../output/output.ts";
import { type Column, grouped } from "../output/table.ts";
import { oneOf } from "../schedule-filter.ts";
import { measuredText } from "../times.ts";

const options = {
  ...ownerOptions,
  last: {
    value: "duration",
    about: "How far back, such as 6h; default: 1h; without a filter two days at most",
  },
  from: { value: "instant", about: "From this instant, such as `2h ago`, in place of --last" },
  to: { value: "instant", about: "Before this instant; default: now" },
  step: { value: "step", about: "1m, 5m, 15m or 1h; by default the shortest that gives at most 100 lines" },
} as const;

const stepLengths: readonly (readonly [SeriesStepLength, number])[] = [
  ["1m", 60_000],
  ["5m", 300_000],
  ["15m", 900_000],
  ["1h", 3_600_000],
];

const linesMost = 100;
const pageSize = 1_440;

export const seriesCommand = command({
  name: "series",
  group: "Operation",
  summary: "Show outcomes, lateness and throughput minute by minute",
  usage: "",
  about:
    "Without a filter a job counts when it was settled. With one, and for a token with a prefix, it counts at its occurrence.",
  words: { min: 0, max: 0 },
  options,
  examples: [
    "carillon series",
    "carillon series --prefix order: --last 6h",
    "carillon series --target webhook/api.example.com --from 2026-12-01T08:00:00Z --step 5m",
  ],
  run: async (call) => {
    const { client, out, signal } = call;
    const range = rangeOf(call);
    const steps: SeriesStep[] = [];
    let head: SeriesHead | undefined;
    const params = { ...ownersFrom(call), ...range, limit: pageSize, signal };
    for await (const { items, cursor: _, ...rest } of client.series(params).pages()) {
      head ??= rest;
      steps.push(...items);
    }
    steps.reverse();
    out.table(columnsOf(out, steps), steps, "No step of this time is counted: counts are kept for two days.");
    const begun = steps[0];
    if (
      begun !== undefined &&
      head !== undefined &&
      Date.parse(begun.at) - Date.parse(range.from) >= lengthOf(head)
    )
      out.note(limitOf(out, begun, head));
    if (!out.isJson && head !== undefined) out.note(legendOf(out, head));
  },
});

function rangeOf(call: Call<keyof typeof options>) {
  const { given } = call;
  const [last, begin] = [given.text("last"), given.text("from")];
  if (last !== undefined && begin !== undefined)
    throw new UsageFault("--last and --from both say where to begin: give one of them.");
  const lastMs = durationMs(last ?? "1h");
  if (lastMs === undefined)
    throw new UsageFault(`--last takes a duration such as 90m, 6h or 1d; not ${JSON.stringify(last)}.`);
  const to = instantFrom(call, given.text("to"), "--to");
  const end = to === undefined ? call.now() : Date.parse(to);
  const from = instantFrom(call, begin, "--from") ?? new Date(end - lastMs).toISOString();
  const names = stepLengths.map(([name]) => name);
  const shortest = stepLengths.find(([, ms]) => (end - Date.parse(from)) / ms <= linesMost) ?? ["1h"];
  return { from, to, step: oneOf(given.text("step"), names, "--step") ?? shortest[0] };
}

function columnsOf(out: Output, steps: readonly SeriesStep[]): Column<SeriesStep>[] {
  const most = Math.max(1, ...steps.map(sizeOf));
  const counts = ["made", "succeeded", "retried", "dead", "cancelled", "skipped", "missed"] as const;
  return [
    {
      title: `STEP (${out.times.zone})`,
      text: ({ at, over }) => `${out.times.wall(at).slice(0, 16)}${over ? "" : "…"}`,
      whole: true,
    },
    { title: "", text: (step) => barOf(step, most), colour: colourOf, narrowest: barLength },
    ...counts.map((name) => ({
      title: name.toUpperCase(),
      text: (step: SeriesStep) => grouped.format(step[name]),
      align: "right" as const,
      whole: true,
    })),
    {
      title: "TRIES A MINUTE",
      text: ({ perMinute }) => grouped.format(perMinute),
      align: "right",
      whole: true,
    },
    ...(["p50Ms", "p99Ms", "maxMs"] as const).map((name) => ({
      title: `LATE ${name.slice(0, 3)}`,
      text: ({ lateness }: SeriesStep) => measuredText(lateness[name]),
      align: "right" as const,
      whole: true,
    })),
  ];
}

const barLength = 20;

/** The parts of a bar, each with a shape of its own. */
const parts = [
  ["█", ({ succeeded }: SeriesStep) => succeeded],
  ["▒", ({ open }: SeriesStep) => open ?? 0],
  ["×", ({ dead }: SeriesStep) => dead],
  ["·", ({ skipped, missed, cancelled }: SeriesStep) => skipped + missed + cancelled],
] as const;

function sizeOf(step: SeriesStep): number {
  return parts.reduce((sum, [, count]) => sum + count(step), 0);
}

/** A part that is there at all has at least one character. */
function barOf(step: SeriesStep, most: number): string {
  return parts
    .map(([mark, count]) => mark.repeat(Math.ceil((count(step) / most) * barLength)))
    .join("")
    .slice(0, barLength + parts.length);
}

function colourOf({ dead, missed, retried }: SeriesStep) {
  if (dead > 0 || missed > 0) return "red";
  return retried > 0 ? "yellow" : "green";
}

const lengthOf = ({ step }: SeriesHead) => stepLengths.find(([name]) => name === step)?.[1] ?? 0;

/** Why the first step is later than was asked for. */
function limitOf(out: Output, { at }: SeriesStep, { minutesOf }: SeriesHead): string {
  const first = out.times.wall(at).slice(0, 16);
  return minutesOf === "settled"
    ? `Counts by minute are kept for two days: the first step shown is that of ${first}. With a filter, such as --target, jobs are counted as far back as they are kept.`
    : `Nothing older is recorded: the first step shown is that of ${first}.`;
}

function legendOf(out: Output, { asOf, minutesOf }: SeriesHead): string {
  const counted =
    minutesOf === "settled"
      ? "A job counts when it was settled."
      : "A job counts at its occurrence; ▒ is not settled yet.";
  return `As of ${out.times.wall(asOf)}. ${counted} █ succeeded, × dead, · cancelled, skipped or missed; … still running. Tries are attempts, also those that are retried.`;
}
