import type * as z from "zod";
import type { Freshness } from "../../stats/fresh-tallies.ts";
import type { LedgerCounts, PrefixStats } from "../../stats/prefix-stats.ts";
import type { Counts, Stats } from "../../stats/stats.ts";
import type { freshness as freshnessShape, statsAnswer } from "./stats-shape.ts";

type Answer = z.input<typeof statsAnswer>;

export function statsView(stats: Stats): Answer {
  const { schedules, standing, freshness, lastMinutes, lastHour, lastDay } = stats;
  const { now, oldestDueAt, parcels, backlog, dead, quarantined } = standing;
  const { waiting, due, ahead, held, running, retrying } = standing;
  return {
    asOf: now.toISOString(),
    prefix: null,
    minutesOf: "settled",
    freshness: freshnessView(freshness),
    schedules: { ...schedules, more: false },
    jobs: { waiting, due, ahead, held, running, retrying, backlog, dead, more: false },
    oldestDue: oldestDueView(now, oldestDueAt),
    parcels,
    quarantine: { ...quarantined, oldestAt: quarantined.oldestAt?.toISOString() ?? null },
    plan: planView(standing),
    lastMinutes: countsView(lastMinutes),
    lastHour: countsView(lastHour),
    lastDay: countsView(lastDay),
  };
}

export function prefixStatsView(prefix: string, stats: PrefixStats): Answer {
  const { now, schedules, jobs, backlog, dead, lastMinutes, lastHour } = stats;
  const { oldestDueAt, more, ...open } = jobs;
  return {
    asOf: now.toISOString(),
    prefix,
    minutesOf: "occurrence",
    freshness: null,
    schedules,
    jobs: { ...open, backlog, dead, more },
    oldestDue: oldestDueView(now, oldestDueAt),
    parcels: null,
    quarantine: null,
    plan: planView(stats),
    lastMinutes: lastMinutes === null ? null : countsView(lastMinutes),
    lastHour: lastHour === null ? null : countsView(lastHour),
    lastDay: null,
  };
}

export function freshnessView({ rolledUpAt, pending }: Freshness): z.input<typeof freshnessShape> {
  return { rolledUpAt: rolledUpAt?.toISOString() ?? null, pending };
}

function oldestDueView(now: Date, oldestDueAt: Date | null): Answer["oldestDue"] {
  if (oldestDueAt === null) return null;
  return { readyAt: oldestDueAt.toISOString(), lateMs: now.getTime() - oldestDueAt.getTime() };
}

function planView({
  now,
  plannedTo,
  rolledUpAt,
}: Pick<PrefixStats, "now" | "plannedTo" | "rolledUpAt">): Answer["plan"] {
  return {
    to: plannedTo.toISOString(),
    lagMs: Math.max(0, now.getTime() - plannedTo.getTime()),
    lastTickAt: rolledUpAt?.toISOString() ?? null,
  };
}

function countsView({ from, ...counts }: Counts | LedgerCounts): NonNullable<Answer["lastHour"]> {
  return { from: from.toISOString(), ...counts };
}
