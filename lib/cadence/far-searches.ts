import { BoundedMap } from "../bounded-map.ts";
import type { Calendared } from "./cadence.ts";
import type { CalendarRules } from "./calendar-rules.ts";
import * as search from "./calendared.ts";
import { MS_PER_DAY } from "./civil.ts";
import { followsOtherZones } from "./zone-spans.ts";

/**
 * A calendar that leaves out nearly all that a cadence names is searched through year by year, for up to a hundred of them: some
 * milliseconds each time. What lies far away is remembered, so that a batch can be searched for before it takes a lock.
 */
const FAR_MS = 370 * MS_PER_DAY;

/** A search ends a hundred years after it begins: one that found nothing answers for a day. */
const NOTHING_MS = MS_PER_DAY;

const farMax = 2_000;

interface Far {
  after: number;
  found: number | null;
}

const farByRules = new WeakMap<CalendarRules, BoundedMap<string, Far>>();

/** As in calendared.ts. */
export function nextCalendared(c: Calendared, after: number, inner: search.Inner): number | null {
  if (c.on === "skip") return search.nextCalendared(c, after, inner);
  return remembered(c, after, () => search.nextCalendared(c, after, inner));
}

/** As in calendared.ts. */
export function nextCalendarRun(c: Calendared, after: number, inner: search.Inner): number | null {
  return remembered(c, after, () => search.nextCalendarRun(c, after, inner));
}

function remembered(c: Calendared, after: number, ask: () => number | null): number | null {
  if (followsOtherZones()) return ask();
  const known = farByRules.get(c.rules);
  const far = known?.get(keyOf(c));
  if (far !== undefined && answers(far, after)) return far.found;
  const found = ask();
  if (found !== null && found - after < FAR_MS) return found;
  const kept = known ?? new BoundedMap<string, Far>(farMax);
  farByRules.set(c.rules, kept.set(keyOf(c), { after, found }));
  return found;
}

/** The first occurrence after an instant is also the first after each later instant that lies before the occurrence. */
function answers({ after, found }: Far, asked: number): boolean {
  return asked >= after && asked < (found ?? after + NOTHING_MS);
}

function keyOf({ of, timezone, on }: Calendared): string {
  return JSON.stringify([of, timezone, on]);
}
