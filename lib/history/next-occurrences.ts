import { FURTHEST_MS } from "../cadence/bounds.ts";
import { nextRunAfter } from "../cadence/cadence.ts";
import type { Cadence } from "../cadence/cadence-kinds.ts";
import { countWithin } from "../cadence/count-within.ts";
import { type DescribedOccurrence, describeOccurrences } from "../cadence/occurrence-notes.ts";
import type { Tx } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import { type RunLimit, runLimitOf } from "../plan/fires-left.ts";
import { Refusal } from "../refusal.ts";
import { isHeldAt } from "../schedule/held.ts";
import { type Hold, holdsAfter, holdsOfOne } from "../schedule/holds.ts";
import { missingSchedule } from "../schedule/moved-away.ts";
import { findSchedule } from "../schedule/stored/stored-schedule.ts";
import { dueAt, occurrenceDueBy, type Timetable, timetableOf } from "../schedule/stored/timetable.ts";

/**
 * A coming occurrence. `due` is set if spread or slot moves it; `held` if it is due under a hold.
 */
export interface ComingOccurrence extends DescribedOccurrence {
  due: number | null;
  held: boolean;
}

export interface NextOccurrences {
  timezone: string;
  occurrences: ComingOccurrence[];
  /** The current holds, and when the last of them ends by itself. */
  holds: Hold[];
  heldUntil: Date | null;
}

/**
 * The coming occurrences of a saved schedule, strictly after `from`; by default those that are not
 * due yet. Held-back occurrences are included; occurrences beyond the limit of fires are not.
 */
export async function nextOccurrences(
  tx: Tx,
  { key, n, from }: { key: string; n: number; from?: number | undefined },
): Promise<NextOccurrences> {
  const stored = await findSchedule(tx, key);
  if (stored === null) throw await missingSchedule(tx, key);
  const now = await databaseClock(tx);
  const timetable = timetableOf(stored);
  const isHeld = isHeldAt(stored, now.getTime());
  const heldUntil = isHeld ? stored.heldUntil : null;
  const limit = await runLimitOf(tx, stored, now);
  const begin = occurrenceDueBy(timetable, now.getTime());
  const listed = comingAfter(timetable, {
    timezone: stored.body.timezone,
    after: limit === null ? (from ?? begin) : Math.max(from ?? begin, begin),
    n,
    limit,
  });
  const endsHeld =
    heldUntil === null ? Number.POSITIVE_INFINITY : occurrenceDueBy(timetable, heldUntil.getTime());
  return {
    timezone: stored.body.timezone,
    occurrences: listed.map((each) => ({ ...each, held: isHeld && each.at > begin && each.at <= endsHeld })),
    holds: isHeld ? holdsAfter(await holdsOfOne(tx, stored.id), {}, now) : [],
    heldUntil,
  };
}

/** The runs of a timetable strictly after an instant, as far as the limit allows. */
export function comingAfter(
  timetable: Timetable,
  {
    timezone,
    after,
    n,
    limit,
  }: { timezone: string; after: number; n: number; limit: Pick<RunLimit, "left" | "countFrom"> | null },
): Omit<ComingOccurrence, "held">[] {
  // Nothing is planned further ahead. Without a bound, a rare date such as 29 February would be
  // searched without end.
  const bounded: Cadence = {
    kind: "window",
    of: timetable.cadence,
    startsAt: null,
    endsAt: after + FURTHEST_MS,
  };
  const usable = limit === null ? n : limit.left - runsBefore(timetable.cadence, after, limit);
  const countFrom = limit?.countFrom ?? after;
  const found = usable <= 0 && after >= countFrom ? [] : describeOccurrences(bounded, { timezone, after, n });
  let counted = 0;
  const listed = found.filter(({ at }) => at <= countFrom || counted++ < usable);
  return listed.map((each) => {
    const due = dueAt(timetable, each.at);
    return { ...each, due: due === each.at ? null : due };
  });
}

/** Bounds the time for counting up to a `from` that is far ahead. */
const countedMax = 20_000;

/** Number of runs in `(countFrom, after]`, counted no further than the limit. */
function runsBefore(
  cadence: Cadence,
  after: number,
  { countFrom, left }: Pick<RunLimit, "left" | "countFrom">,
): number {
  if (after <= countFrom) return 0;
  const inner = cadence.kind === "window" ? cadence.of : cadence;
  if (inner.kind === "interval") return countWithin(cadence, countFrom, after, left).count;
  let count = 0;
  let at = nextRunAfter(cadence, countFrom);
  for (; at !== null && at <= after && count < left; at = nextRunAfter(cadence, at)) {
    if (count === countedMax) {
      throw new Refusal("impossible", "The occurrences cannot be computed from there.", [
        {
          path: "from",
          message: `is too far ahead: with \`maxFires\` at most ${countedMax} occurrences are counted up to it`,
        },
      ]);
    }
    count += 1;
  }
  return count;
}
