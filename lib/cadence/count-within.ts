import { nextAfter } from "./cadence.ts";
import type { Cadence } from "./cadence-kinds.ts";
import { compiledCron } from "./cron/cron.ts";
import { clockRule } from "./zone/clock-rule.ts";
import { zoneNamed } from "./zone/zone-spans.ts";
import { countInZone } from "./zone/zoned-search.ts";

const COUNT_MAX = 10_000;

export interface Counted {
  count: number;
  /** Whether there are more than `count`, which is the limit then. */
  more: boolean;
}

/**
 * Counts the occurrences in `(after, upTo]`, exactly up to `max`. Occurrences that a calendar skips
 * count. Intervals and crons are counted by arithmetic, since a tick counts the missed occurrences
 * of thousands of schedules while it holds the lock of their shard. Unions, calendar intervals and
 * calendars that move are counted one by one: 10,000 occurrences take about 100 ms.
 */
export function countWithin(cadence: Cadence, after: number, upTo: number, max: number = COUNT_MAX): Counted {
  switch (cadence.kind) {
    case "interval": {
      const { everyMs, firstAt } = cadence;
      const upToIncluded = (instant: number) => Math.max(0, Math.floor((instant - firstAt) / everyMs) + 1);
      return atMost(Math.max(0, upToIncluded(upTo) - upToIncluded(after)), max);
    }
    case "cron": {
      const cron = compiledCron(cadence.expression);
      const rule = clockRule(cron.fixedTime, cadence.dst);
      return atMost(countInZone(cron, rule, zoneNamed(cadence.timezone), { after, upTo, max }), max);
    }
    case "window": {
      const { of, startsAt, endsAt } = cadence;
      const from = startsAt === null ? after : Math.max(after, startsAt - 1);
      return countWithin(of, from, endsAt === null ? upTo : Math.min(upTo, endsAt - 1), max);
    }
    case "calendared":
      return cadence.on === "skip"
        ? countWithin(cadence.of, after, upTo, max)
        : walked(cadence, after, upTo, max);
    case "union":
      return merged(cadence.of, after, upTo, max);
    default:
      return walked(cadence, after, upTo, max);
  }
}

function atMost(all: number, max: number): Counted {
  return { count: Math.min(all, max), more: all > max };
}

function walked(cadence: Cadence, after: number, upTo: number, max: number): Counted {
  let count = 0;
  let next = nextAfter(cadence, after);
  while (next !== null && next <= upTo) {
    if (count === max) return { count, more: true };
    count += 1;
    next = nextAfter(cadence, next);
  }
  return { count, more: false };
}

/** Each member keeps its position, so a step searches only the members that have just occurred. */
function merged(members: readonly Cadence[], after: number, upTo: number, max: number): Counted {
  const coming = members.map((member) => ({ member, at: beyond(nextAfter(member, after)) }));
  for (let count = 0; ; count += 1) {
    const first = Math.min(...coming.map(({ at }) => at));
    if (first > upTo || first === Number.POSITIVE_INFINITY) return { count, more: false };
    if (count === max) return { count, more: true };
    for (const each of coming) if (each.at === first) each.at = beyond(nextAfter(each.member, first));
  }
}

const beyond = (at: number | null) => at ?? Number.POSITIVE_INFINITY;
