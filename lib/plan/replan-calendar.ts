import type { Cadence } from "../cadence/cadence.ts";
import type { CalendarRules } from "../cadence/calendar-rules.ts";
import type { Tx } from "../db/connect.ts";
import { sqlState } from "../db/sql-state.ts";
import {
  endReplanRound,
  findReplanPlace,
  moveReplanPlace,
  nextByOlderRules,
  type ReplanPlace,
  rulesInForceFor,
} from "../schedule/calendar-replans.ts";
import type { EditContext } from "./edit.ts";
import type { EditDeps } from "./edit-transaction.ts";
import { type ReplanDecision, replan } from "./replan.ts";

export interface ReplanBounds {
  /** So many schedules at most. */
  most: number;
  timeIsUp: () => boolean;
  /** A schedule that fails keeps no other from its turn; its own comes again when the others are through. */
  note: (error: unknown) => void;
}

const pageMax = 100;

export interface ReplanDone {
  replanned: number;
  /** Nothing is left but what failed. */
  done: boolean;
}

/**
 * Plans schedules anew by the rules in force of their calendar, each in a transaction of its own, until none is left or a bound
 * is reached. It may be killed anywhere and run beside itself: who comes to a schedule that follows the rules leaves it alone.
 */
export async function replanCalendar(
  deps: EditDeps,
  calendarId: number,
  bounds: ReplanBounds,
): Promise<ReplanDone> {
  let replanned = 0;
  for (let left = bounds.most; left > 0 && !bounds.timeIsUp(); ) {
    const place = await findReplanPlace(deps.sql, calendarId);
    if (place === null) return { replanned, done: true };
    const page = await nextByOlderRules(deps.sql, place, Math.min(pageMax, left));
    if (page.length === 0) {
      await endReplanRound(deps.sql, place);
      return { replanned, done: true };
    }
    replanned += await replanPage(deps, place, page, bounds);
    left -= page.length;
  }
  return { replanned, done: false };
}

async function replanPage(
  deps: EditDeps,
  place: ReplanPlace,
  page: readonly { id: string; shard: number }[],
  { timeIsUp, note }: ReplanBounds,
): Promise<number> {
  let replanned = 0;
  let last: string | null = null;
  for (const found of page) {
    if (timeIsUp()) break;
    try {
      if ((await replan(deps, found, byRulesInForce, place.author)) !== null) replanned += 1;
    } catch (error) {
      if (!mayPass(error)) note(error);
    }
    last = found.id;
  }
  if (last !== null) await moveReplanPlace(deps.sql, place, last);
  return replanned;
}

/** Somebody had its locks: the next round tries again. */
function mayPass(error: unknown): boolean {
  const state = sqlState(error);
  return state === "deadlock" || state === "serialization_failure" || state === "lock_timeout";
}

/** The cadence as it was resolved, by other rules: an interval keeps its phase, and `in 3h` the instant it meant. */
async function byRulesInForce(tx: Tx, { current }: EditContext): Promise<ReplanDecision> {
  if (current.cadenceId === null) return null;
  const inForce = await rulesInForceFor(tx, current.cadenceId);
  if (inForce === null || inForce.followed) return null;
  const { id, versionId, rules, name, version } = inForce;
  const cadence = withRules(current.cadence, rules);
  return {
    spec: { body: current.body, cadence, calendar: { id, versionId, rules } },
    detail: { calendar: name, version },
  };
}

function withRules(cadence: Cadence, rules: CalendarRules): Cadence {
  if (cadence.kind === "window") return { ...cadence, of: withRules(cadence.of, rules) };
  if (cadence.kind === "calendared") return { ...cadence, rules };
  throw new Error(`A cadence of kind ${cadence.kind} has no calendar.`);
}
