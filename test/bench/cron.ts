import { CronExpressionParser } from "cron-parser";
import { Cron } from "croner";
import { nextAfter } from "../../lib/cadence/cadence.ts";
import type { Cadence } from "../../lib/cadence/cadence-kinds.ts";
import { type Figures, machine, median, number, type Options, perSecond, type Say } from "./report.ts";

interface Case {
  expression: string;
  timezone: string;
}

/** Simple expressions, some that search for days, and one that occurs every four years. */
const cases: readonly Case[] = [
  { expression: "* * * * *", timezone: "UTC" },
  { expression: "*/15 9-17 * * 1-5", timezone: "UTC" },
  { expression: "0 0 L * *", timezone: "UTC" },
  { expression: "*/5 * * * *", timezone: "America/New_York" },
  { expression: "30 2 * * *", timezone: "Europe/Berlin" },
  { expression: "0 9 * * 1-5", timezone: "Australia/Lord_Howe" },
  { expression: "0 0 29 2 *", timezone: "Europe/Berlin" },
];

/** The range is walked through repeatedly, so that every step is one that a schedule takes. */
const FROM = Date.UTC(2026, 0, 1);
const TO = Date.UTC(2046, 0, 1);

type Next = (after: number) => number | null;

interface CaseFigures extends Case {
  perSecond: number;
  croner: number;
  cronParser: number;
  timesCroner: number;
  timesCronParser: number;
}

export const does = "next instants per second on one core, beside croner and cron-parser; needs no database";

export const options = { runs: "3" };

/**
 * Next instants per second on one core: Carillon beside two libraries. Each step is a search from
 * an instant.
 */
export async function bench(options: Options, say: Say): Promise<Figures> {
  const runs = number(options, "runs");
  say(machine());
  const figures = cases.map((one): CaseFigures => {
    const ours = typical(runs, ourNext(one));
    const croner = typical(runs, cronerNext(one));
    const cronParser = typical(runs, cronParserNext(one));
    const timesCroner = rounded(ours / croner);
    const timesCronParser = rounded(ours / cronParser);
    say(
      `${one.expression.padEnd(18)} ${one.timezone.padEnd(20)} ${grouped(ours)}/s; croner ${grouped(croner)}/s (× ${timesCroner}), cron-parser ${grouped(cronParser)}/s (× ${timesCronParser})`,
    );
    return { ...one, perSecond: ours, croner, cronParser, timesCroner, timesCronParser };
  });
  const inUtc = figures.filter(({ timezone }) => timezone === "UTC").map((one) => one.perSecond);
  const withDst = figures.filter(({ timezone }) => timezone !== "UTC").map((one) => one.perSecond);
  say(
    `cron: at least ${grouped(Math.min(...inUtc))}/s in UTC, ${grouped(Math.min(...withDst))}/s where clocks change`,
  );
  return {
    perSecond: Math.min(...inUtc),
    perSecondWithDst: Math.min(...withDst),
    cases: figures,
    runs,
    machine: machine(),
  };
}

function ourNext({ expression, timezone }: Case): Next {
  const cadence: Cadence = { kind: "cron", expression, timezone };
  return (after) => nextAfter(cadence, after);
}

function cronerNext({ expression, timezone }: Case): Next {
  const cron = new Cron(expression, { timezone, paused: true });
  return (after) => cron.nextRun(new Date(after))?.getTime() ?? null;
}

function cronParserNext({ expression, timezone }: Case): Next {
  const cron = CronExpressionParser.parse(expression, { tz: timezone, currentDate: new Date(FROM) });
  return (after) => {
    cron.reset(new Date(after));
    return cron.next().getTime();
  };
}

const RUN_MS = 300;
/** Steps between two readings of the clock, which would otherwise be part of the measurement. */
const STEPS = 100;

/** The median of several runs, after one that lets the compiler optimise. */
function typical(runs: number, next: Next): number {
  measured(next);
  return median(Array.from({ length: runs }, () => measured(next)));
}

function measured(next: Next): number {
  let at = FROM;
  let steps = 0;
  const startedAt = performance.now();
  let ms = 0;
  while (ms < RUN_MS) {
    for (let step = 0; step < STEPS; step += 1) at = inRange(next(at));
    steps += STEPS;
    ms = performance.now() - startedAt;
  }
  return perSecond(steps, ms);
}

function inRange(at: number | null): number {
  return at === null || at > TO ? FROM : at;
}

function grouped(count: number): string {
  return count.toLocaleString("en");
}

function rounded(ratio: number): number {
  return Math.round(ratio * 10) / 10;
}
