import { nextAfter } from "./cadence.ts";
import type { Cadence } from "./cadence-kinds.ts";
import { calendarIntervalSearch } from "./calendar-interval.ts";
import { compiledCron } from "./cron/cron.ts";
import { before, type WhenContext } from "./parsed-when.ts";
import { MS_PER_DAY } from "./zone/civil.ts";
import { clockRule } from "./zone/clock-rule.ts";
import type { WallSearch } from "./zone/wall-search.ts";
import { dateText, timeText } from "./zone/wall-text.ts";
import { offsetChanges, zoneNamed } from "./zone/zone-spans.ts";
import { GAP_MAX_MS } from "./zone/zoned-search.ts";

const YEAR_MS = 366 * MS_PER_DAY;

/** Warnings about the instants of a cadence, seen from now or from its beginning. */
export function timeWarnings(cadence: Cadence, context: WhenContext): string[] {
  const begin = before(context);
  const warnings: string[] = [];
  if (cadence.kind === "interval" && cadence.everyMs < 60_000) {
    warnings.push("It runs more often than once a minute.");
  }
  if (cadence.kind === "once" && context.startsAt != null && cadence.at < context.startsAt) {
    warnings.push("It is before startsAt, so it never runs.");
  }
  const gap = nextGap(cadence, begin);
  if (gap !== null) warnings.push(gap);
  const next = nextAfter(cadence, begin);
  if (next !== null && next > begin + YEAR_MS) {
    const zone = zoneNamed(context.timezone);
    const day = dateText(next + zone.spanAt(next).offset);
    warnings.push(`The next run is over a year away, on ${day}.`);
  }
  return warnings;
}

/**
 * A warning about the first fixed time in the coming year that falls into a clock gap; null if
 * there is none.
 */
function nextGap(cadence: Cadence, begin: number): string | null {
  if (cadence.kind !== "cron" && cadence.kind !== "calendar-interval") return null;
  const { search, fixedTime } = searchOf(cadence);
  if (!fixedTime) return null;
  const { timezone, dst } = cadence;
  const changes = offsetChanges(timezone, begin, begin + YEAR_MS);
  for (const [index, { from, offset }] of changes.entries()) {
    const offsetBefore = changes[index - 1]?.offset ?? offset;
    const wall = search.atOrAfter(from + offsetBefore);
    if (wall === null || wall >= from + offset) continue;
    const runs = clockRule(fixedTime, dst).gap === "next" && offset - offsetBefore <= GAP_MAX_MS;
    return `${dateText(wall)} ${timeText(wall)} does not exist in ${timezone}; ${runs ? `it runs at ${timeText(from + offset)} then` : "it does not run then"}.`;
  }
  return null;
}

function searchOf(cadence: Extract<Cadence, { kind: "cron" | "calendar-interval" }>): {
  search: WallSearch;
  fixedTime: boolean;
} {
  if (cadence.kind === "calendar-interval") {
    return { search: calendarIntervalSearch(cadence), fixedTime: true };
  }
  const cron = compiledCron(cadence.expression);
  return { search: cron, fixedTime: cron.fixedTime };
}
