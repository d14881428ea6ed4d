import type { Stats } from "../../client/main.ts";
import { type Command, command } from "../command.ts";
import type { Output } from "../output/output.ts";
import type { Column } from "../output/table.ts";
import { measuredText } from "../times.ts";

const stats = command({
  name: "stats",
  group: "Operation",
  summary: "Show current counts and those of the last hour and day",
  usage: "",
  words: { min: 0, max: 0 },
  options: {},
  examples: ["carillon stats", "carillon stats --json"],
  run: async ({ client, out, signal }) => showStats(out, await client.stats({ signal })),
});

const grouped = new Intl.NumberFormat("en-GB");

function showStats(out: Output, stats: Stats): void {
  if (out.isJson) {
    out.json(stats);
    return;
  }
  const { schedules, jobs, oldestDue, plan, quarantine } = stats;
  const number = (value: number) => grouped.format(value);
  const amount = ({ count, more }: Stats["parcels"]) => `${number(count)}${more ? " or more" : ""}`;
  const late = oldestDue === null ? "none" : `${measuredText(oldestDue.lateMs)} late`;
  out.facts([
    ["as of", out.times.wall(stats.asOf)],
    ["schedules", schedulesText(schedules)],
    [
      "waiting",
      `${number(jobs.waiting)}, of them ${number(jobs.due)} due, ${number(jobs.ahead)} made ahead (up to 3 minutes), ${number(jobs.held)} held, ${number(jobs.retrying)} retrying`,
    ],
    ["running", number(jobs.running)],
    ["oldest due", oldestDue !== null && oldestDue.lateMs > 60_000 ? out.paint(late, "red") : late],
    ["backlog", amount(jobs.backlog)],
    ["dead", jobs.dead.count === 0 ? "0" : out.paint(amount(jobs.dead), "red")],
    ...asideFacts(out, quarantine),
    [
      "planned to",
      `${out.times.wall(plan.to)}${plan.lagMs > 0 ? `, ${measuredText(plan.lagMs)} behind` : ""}`,
    ],
    ["last tick", plan.lastTickAt === null ? "none yet" : out.times.both(plan.lastTickAt)],
  ]);
  out.line();
  const periods = [
    ["hour", stats.lastHour],
    ["day", stats.lastDay],
  ] as const;
  const names = ["fired", "succeeded", "failed", "dead", "cancelled", "skipped", "missed"] as const;
  out.table(
    [
      { title: "LAST", text: ([name]) => name, whole: true },
      ...names.map((name) => ({
        // A job counts when it is made, before it is due.
        title: name === "fired" ? "MADE" : name.toUpperCase(),
        text: ([, counts]: (typeof periods)[number]) => number(counts[name]),
        align: "right" as const,
        whole: true,
      })),
      ...lateColumns(([, { lateness }]: (typeof periods)[number]) => lateness),
    ],
    periods,
    "",
  );
  showPulses(
    out,
    periods.map(([name, { pulses }]) => ({ name, ...pulses })),
  );
}

function schedulesText({ active, paused, ended, endedWithin }: Stats["schedules"]): string {
  const about = endedWithin === 0 ? "" : "about ";
  const off = endedWithin === 0 ? "" : ` (±${grouped.format(endedWithin)})`;
  return `${about}${grouped.format(active)} active, ${grouped.format(paused)} paused, ${about}${grouped.format(ended)} ended${off}`;
}

/** Prints no line while the quarantine is empty, which is the usual case. */
function asideFacts(out: Output, { count, more, oldestAt }: Stats["quarantine"]): [string, string][] {
  if (count === 0 || oldestAt === null) return [];
  const text = `${grouped.format(count)}${more ? " or more" : ""}, the oldest since ${out.times.wall(oldestAt)}`;
  return [["set aside", out.paint(text, "red")]];
}

type Pulses = Stats["lastDay"]["pulses"] & { name: string };

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
  lateness: (row: Row) => Pick<Stats["lastDay"]["lateness"], "p50Ms" | "p95Ms" | "p99Ms">,
): Column<Row>[] {
  return (["p50Ms", "p95Ms", "p99Ms"] as const).map((name) => ({
    title: `LATE ${name.slice(0, 3)}`,
    text: (row) => measuredText(lateness(row)[name]),
    align: "right",
    whole: true,
  }));
}

export const statsCommands: readonly Command[] = [stats];
