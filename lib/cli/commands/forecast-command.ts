import type { Forecast } from "../../client/main.ts";
import { type Command, command } from "../command.ts";
import { instantFrom } from "../input.ts";
import type { Output } from "../output/output.ts";
import { printable } from "../output/style.ts";
import { type Column, grouped } from "../output/table.ts";
import { oneOf } from "../schedule-filter.ts";

const forecast = command({
  name: "forecast",
  group: "Operation",
  summary: "Show what runs next by the hour, the heaviest minutes, and how a spread would flatten them",
  usage: "",
  about:
    "Prints lines of up to an hour each. A `!` marks minutes with more runs than the workers have settled in any minute of the last day.",
  words: { min: 0, max: 0 },
  options: {
    from: { value: "instant", about: "The first minute, up to 32 days ahead; default: now" },
    minutes: { value: "n", about: "How many minutes, 1 to 1440; default: 60" },
    spread: { value: "duration", about: "Also show the runs with this spread, such as 10m" },
    by: { value: "what", about: "Name the largest contributors: prefix, tag, target or key" },
    prefix: { value: "prefix", about: "Only schedules whose keys begin with this" },
  },
  examples: [
    "carillon forecast",
    "carillon forecast --minutes 1440 --by prefix --timezone Europe/Berlin",
    "carillon forecast --spread 10m",
    `carillon forecast --from "in 7d" --minutes 1440 --json`,
  ],
  run: async (call) => {
    const { given, client, out, signal } = call;
    const by = oneOf(given.text("by"), ["prefix", "tag", "target", "key"] as const, "--by");
    const query = {
      from: instantFrom(call, given.text("from"), "--from"),
      minutes: given.number("minutes", { min: 1, max: 1_440 }),
      spread: given.text("spread"),
      by,
      prefix: given.text("prefix"),
    };
    showForecast(out, await client.forecast(query, { signal }), by);
  },
});

const barMax = 40;

/** A line of the table: some minutes together. */
interface Step {
  at: string;
  fires: number;
  /** The heaviest of its minutes, without and with the spread. */
  peak: number;
  spreadPeak: number;
  beyond: boolean;
}

/** The lengths of a line in minutes, so that a terminal shows all of them. */
const steps = [5, 15, 60] as const;
const linesMax = 24;

function showForecast(out: Output, answer: Forecast, by: string | undefined): void {
  if (out.isJson) {
    out.json(answer);
    return;
  }
  const { total, suggestion, capacity, exact, spread } = answer;
  const lines = stepsOf(out, answer);
  const most = Math.max(1, ...lines.map(({ fires }) => fires));
  const amount = (title: string, text: (step: Step) => string): Column<Step> => ({
    title,
    text,
    align: "right",
    whole: true,
  });
  out.table(
    [
      { title: `FROM (${out.times.zone})`, text: ({ at }) => out.times.wall(at).slice(0, 16), whole: true },
      amount("RUNS", ({ fires }) => grouped.format(fires)),
      amount("HEAVIEST MINUTE", ({ peak, beyond }) => `${grouped.format(peak)}${beyond ? " !" : ""}`),
      ...(spread === null
        ? []
        : [amount(`WITH ${spread.spread}`, ({ spreadPeak }) => grouped.format(spreadPeak))]),
      { title: "", text: ({ fires }) => "█".repeat(Math.ceil((fires / most) * barMax)) },
    ],
    lines.filter(({ fires }) => fires > 0),
    "Nothing runs in this time.",
  );
  if (total === 0) return;
  out.line();
  showHeaviest(out, answer);
  showContributors(out, answer, by);
  out.line(suggestion.text);
  if (spread !== null)
    out.line(
      `With a spread of ${spread.spread} the heaviest minute has ${exact ? "" : "about "}${grouped.format(spread.peak)} runs.${staysText(out, answer, spread)}`,
    );
  if (capacity !== null)
    out.line(
      `In their best minute of the last day, ${out.times.wall(capacity.at)}, the workers brought ${grouped.format(capacity.perMinute)} jobs to their end (succeeded or dead).`,
    );
  if (!exact) out.note("Some numbers are estimates.");
}

function stepsOf(out: Output, { minutes, spread }: Forecast): Step[] {
  const length = steps.find((each) => minutes.length / each <= linesMax) ?? 60;
  const all: Step[] = [];
  for (const [index, { at, fires, beyond }] of minutes.entries()) {
    const minute = Number(out.times.wall(at).slice(14, 16));
    const last = all.at(-1);
    const spreadFires = spread?.minutes[index]?.fires ?? 0;
    // Lines begin on the clock: at the full hour, or at a quarter of it.
    if (last === undefined || minute % length === 0)
      all.push({ at, fires, peak: fires, spreadPeak: spreadFires, beyond });
    else {
      last.fires += fires;
      last.peak = Math.max(last.peak, fires);
      last.spreadPeak = Math.max(last.spreadPeak, spreadFires);
      last.beyond ||= beyond;
    }
  }
  return all;
}

const kindWords = {
  cron: "",
  interval: "longer intervals",
  once: "once",
  release: "end of holds",
  made: "made already",
};

function showHeaviest(out: Output, { heaviest }: Forecast): void {
  for (const { at, fires, beyond, most, other } of heaviest.slice(0, 5)) {
    const parts = most.slice(0, 4).map(({ kind, when, owner, fires: some }) => {
      const what = when ?? `${kindWords[kind]}${owner === null ? "" : ` of ${printable(owner)}`}`;
      return `${what} ${grouped.format(some)}`;
    });
    const rest = other + most.slice(4).reduce((sum, { fires: some }) => sum + some, 0);
    if (rest > 0) parts.push(`others ${grouped.format(rest)}`);
    out.line(
      `${out.times.wall(at).slice(0, 16)}: ${grouped.format(fires)} runs${beyond ? " !" : ""} (${parts.join(", ")})`,
    );
  }
}

/** Why a longer spread may not help: the heaviest minute with it is as heavy as without. */
function staysText(out: Output, { minutes }: Forecast, spread: NonNullable<Forecast["spread"]>): string {
  const index = spread.minutes.findIndex(({ fires }) => fires === spread.peak);
  const minute = minutes[index];
  if (minute === undefined || minute.fires !== spread.peak) return "";
  return ` That is ${out.times.wall(minute.at).slice(0, 16)}, which no spread lowers: jobs that are made already and ends of holds stay where they are.`;
}

const allowed: Column<Forecast["by"][number]> = {
  title: "ITS LIMITS ALLOW",
  text: ({ perMinute }) => (perMinute === null ? "" : `${grouped.format(perMinute)} a minute`),
  whole: true,
};

function showContributors(out: Output, { by }: Forecast, what: string | undefined): void {
  if (what === undefined || by.length === 0) return;
  out.line();
  out.table(
    [
      { title: what.toUpperCase(), text: ({ name }) => name ?? "(none)" },
      { title: "RUNS", text: ({ fires }) => grouped.format(fires), align: "right", whole: true },
      ...(what === "target" ? [allowed] : []),
    ],
    by.slice(0, 10),
    "",
  );
  out.line();
}

export const forecastCommands: readonly Command[] = [forecast];
