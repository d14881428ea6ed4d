import type { Stats } from "../../client/main.ts";
import { type Command, command } from "../command.ts";
import type { Output } from "../output/output.ts";
import { type Column, grouped } from "../output/table.ts";
import { measuredText } from "../times.ts";

const stats = command({
  name: "stats",
  group: "Operation",
  summary: "Show current counts and those of the last minutes, hour and day",
  usage: "",
  about:
    "With --prefix, and for a token with a prefix, jobs count in the minute of their occurrence, and the counts of the day are left out.",
  words: { min: 0, max: 0 },
  options: { prefix: { value: "prefix", about: "Only keys that begin with this" } },
  examples: ["carillon stats", "carillon stats --prefix order:", "carillon stats --json"],
  run: async ({ given, client, out, signal }) =>
    showStats(out, await client.stats({ prefix: given.text("prefix"), signal })),
});

function showStats(out: Output, stats: Stats): void {
  if (out.isJson) {
    out.json(stats);
    return;
  }
  out.facts(factsOf(out, stats));
  out.line();
  const periods = [
    ["5 minutes", stats.lastMinutes],
    ["hour", stats.lastHour],
    ["day", stats.lastDay],
  ] as const;
  const known = periods.flatMap(([name, counts]) => (counts === null ? [] : [{ name, ...counts }]));
  const names = ["succeeded", "failed", "dead", "cancelled", "skipped", "missed"] as const;
  const made = { title: "MADE", text: ({ fired }: Period) => grouped.format(fired) };
  out.table(
    [
      { title: "LAST", text: ({ name }) => name, whole: true },
      ...[
        made,
        ...names.map((name) => ({
          title: name.toUpperCase(),
          text: (counts: Period) => grouped.format(counts[name]),
        })),
      ].map((column) => ({ ...column, align: "right" as const, whole: true })),
      ...lateColumns(({ lateness }: Period) => lateness),
    ],
    known,
    "There are more jobs in a minute than one answer reads.",
  );
  showPulses(
    out,
    known.flatMap(({ name, pulses }) => (pulses === null ? [] : [{ name, ...pulses }])),
  );
}

type Period = NonNullable<Stats["lastHour"]> & { name: string };

function factsOf(out: Output, stats: Stats): [string, string | null][] {
  const { schedules, jobs, oldestDue, plan, quarantine, freshness } = stats;
  const number = (value: number) => grouped.format(value);
  const amount = ({ count, more }: { count: number; more: boolean }) =>
    `${number(count)}${more ? " or more" : ""}`;
  const late = oldestDue === null ? "none" : `${measuredText(oldestDue.lateMs)} late`;
  const part = jobs.more ? " or more" : "";
  return [
    ["as of", out.times.wall(stats.asOf)],
    ["prefix", stats.prefix],
    ["schedules", schedulesText(schedules)],
    [
      "waiting",
      `${number(jobs.waiting)}${part}, of them ${number(jobs.due)} due, ${number(jobs.ahead)} made ahead (up to 3 minutes), ${number(jobs.held)} held, ${number(jobs.retrying)} retrying`,
    ],
    ["running", `${number(jobs.running)}${part}`],
    ["oldest due", oldestDue !== null && oldestDue.lateMs > 60_000 ? out.paint(late, "red") : late],
    ["backlog", amount(jobs.backlog)],
    ["dead", jobs.dead.count === 0 ? "0" : out.paint(amount(jobs.dead), "red")],
    ...asideFacts(out, quarantine),
    [
      "planned to",
      `${out.times.wall(plan.to)}${plan.lagMs > 0 ? `, ${measuredText(plan.lagMs)} behind` : ""}`,
    ],
    ["last tick", plan.lastTickAt === null ? "none yet" : out.times.both(plan.lastTickAt)],
    [
      "not rolled up",
      freshness?.pending.more === true
        ? out.paint(`${amount(freshness.pending)} rows: the last minutes have more`, "red")
        : null,
    ],
  ];
}

function schedulesText({ active, paused, ended, endedWithin, more }: Stats["schedules"]): string {
  const part = more ? " or more" : "";
  const about = endedWithin === 0 ? "" : "about ";
  const off = endedWithin === 0 ? "" : ` (±${grouped.format(endedWithin)})`;
  return `${about}${grouped.format(active)}${part} active, ${grouped.format(paused)}${part} paused, ${about}${grouped.format(ended)}${part} ended${off}`;
}

/** Prints no line while the quarantine is empty, which is the usual case. */
function asideFacts(out: Output, quarantine: Stats["quarantine"]): [string, string][] {
  if (quarantine === null || quarantine.count === 0 || quarantine.oldestAt === null) return [];
  const { count, more, oldestAt } = quarantine;
  const text = `${grouped.format(count)}${more ? " or more" : ""}, the oldest since ${out.times.wall(oldestAt)}`;
  return [["set aside", out.paint(text, "red")]];
}

type Pulses = NonNullable<Period["pulses"]> & { name: string };

/** Prints no table where no schedule has pulses. */
function showPulses(out: Output, periods: readonly Pulses[]): void {
  if (periods.every(({ taken, lost }) => taken === 0 && lost === 0)) return;
  out.line();
  out.table(
    [
      { title: "PULSES OF LAST", text: ({ name }) => name, whole: true },
      { title: "TAKEN", text: ({ taken }) => grouped.format(taken), align: "right", whole: true },
      {
        title: "LOST",
        text: ({ lost }) => grouped.format(lost),
        colour: ({ lost }) => (lost > 0 ? "red" : undefined),
        align: "right",
        whole: true,
      },
      ...lateColumns((pulses: Pulses) => pulses),
    ],
    periods,
    "",
  );
}

/** Lateness by three percentiles. */
function lateColumns<Row>(
  lateness: (row: Row) => Pick<Period["lateness"], "p50Ms" | "p95Ms" | "p99Ms">,
): Column<Row>[] {
  return (["p50Ms", "p95Ms", "p99Ms"] as const).map((name) => ({
    title: `LATE ${name.slice(0, 3)}`,
    text: (row) => measuredText(lateness(row)[name]),
    align: "right",
    whole: true,
  }));
}

export const statsCommands: readonly Command[] = [stats];
