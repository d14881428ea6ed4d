import type { Tx } from "../db/connect.ts";
import { findReplanPlace } from "./calendar-replans.ts";
import { hasTurns, leftToTurns } from "./calendar-turns.ts";
import { byOlderRules, referringAfter } from "./referring.ts";

/** Largest number of referring schedules that are counted. */
export const referringCountedMax = 10_000;

export interface Referring {
  /** Live schedules that refer to the calendar. */
  schedules: number;
  /** Schedules still planned by older rules. */
  pending: number;
  /** Whether there are more than were counted. */
  more: boolean;
}

/** Counts the schedules whose keys begin with the prefix, among the first that refer to the calendar. */
export async function countReferring(tx: Tx, calendarId: number, prefix = ""): Promise<Referring> {
  const [row] = await tx<{ schedules: number; looked: number }[]>`
    select count(*) filter (where starts_with(s.key, ${prefix}))::int as schedules, count(*)::int as looked
    from (${referringAfter(tx, { calendarId, after: "0" }, referringCountedMax + 1)}) s`;
  const { schedules = 0, looked = 0 } = row ?? {};
  return {
    schedules: Math.min(schedules, referringCountedMax),
    pending: await countPending(tx, calendarId, prefix),
    more: looked > referringCountedMax,
  };
}

/** Counts among the schedules that the turns of teams have left, or those before the walk. */
async function countPending(tx: Tx, calendarId: number, prefix: string): Promise<number> {
  const place = await findReplanPlace(tx, calendarId);
  if (place === null) return 0;
  const inTurns = place.listed === null && (await hasTurns(tx, calendarId));
  const left = inTurns
    ? leftToTurns(tx, calendarId, referringCountedMax)
    : referringAfter(tx, place, referringCountedMax);
  const [row] = await tx<{ pending: number }[]>`
    select count(*) filter (where r.older and starts_with(s.key, ${prefix}))::int as pending
    from (${left}) s cross join ${byOlderRules(tx, place.rulesId)}`;
  return row?.pending ?? 0;
}
