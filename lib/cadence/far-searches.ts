import { AsyncLocalStorage } from "node:async_hooks";
import { BoundedMap } from "../bounded-map.ts";
import type { Calendared } from "./cadence-kinds.ts";
import type { CalendarRules } from "./calendar-rules.ts";
import * as search from "./calendared.ts";
import { MS_PER_DAY } from "./zone/civil.ts";
import { followsOtherZones } from "./zone/zone-spans.ts";

/**
 * A calendar that leaves out nearly all occurrences of a cadence is searched year by year, for up
 * to a hundred years: some milliseconds per search. Distant results are remembered, so that the
 * search can be made before a transaction takes its locks.
 */
const FAR_MS = 370 * MS_PER_DAY;

/** An answer "none within a hundred years" is reused for searches that begin up to a day later. */
const NOTHING_MS = MS_PER_DAY;

const cadencesMax = 2_000;
/**
 * The most results kept for a cadence. An edit shows the next five occurrences from before and from
 * after the edit.
 */
const searchesMax = 16;
const searchedAhead = 6;

interface Far {
  after: number;
  found: number | null;
}

/**
 * The result of a search backwards from `asked`. `found` is the last occurrence before each instant
 * after `found`, up to `upTo`.
 */
interface Back {
  found: number | null;
  asked: number;
  upTo: number;
}

/**
 * The most results of backward searches kept for a cadence. The check for ended schedules reads the
 * last thirty runs.
 */
const backMax = 32;

const backByRules = new WeakMap<CalendarRules, BoundedMap<string, Back[]>>();
const farByRules = new WeakMap<CalendarRules, BoundedMap<string, Far[]>>();

const underLocks = new AsyncLocalStorage<true>();

/** Thrown in place of a search that would be made while locks are held. */
export class FarSearch extends Error {
  override readonly name = "FarSearch";
  /** Makes this search and those that are likely to follow; their results are remembered. */
  readonly search: () => void;

  constructor(searchFor: () => void) {
    super("A calendar leaves out all occurrences of a cadence for more than a year.");
    this.search = searchFor;
  }
}

/**
 * Runs work that holds locks for which other transactions wait. In it, a search that goes beyond a
 * year throws `FarSearch`.
 */
export function withoutFarSearches<Result>(work: () => Promise<Result>): Promise<Result> {
  return underLocks.run(true, work);
}

/** As in calendared.ts; distant results are remembered. */
export function nextCalendared(c: Calendared, after: number, inner: search.Inner): number | null {
  if (c.on === "skip") return search.nextCalendared(c, after, inner);
  return remembered(c, after, search.nextCalendared, inner);
}

/** As in calendared.ts; distant results are remembered. */
export function nextCalendarRun(c: Calendared, after: number, inner: search.Inner): number | null {
  return remembered(c, after, search.nextCalendarRun, inner);
}

/** As in calendared.ts; distant results are remembered. */
export function previousCalendared(c: Calendared, before: number, inner: search.Inner): number | null {
  if (c.on === "skip") return search.previousCalendared(c, before, inner);
  return rememberedBefore(c, before, { previous: search.previousCalendared, next: nextCalendared, inner });
}

/** As in calendared.ts; distant results are remembered. */
export function previousCalendarRun(c: Calendared, before: number, inner: search.Inner): number | null {
  return rememberedBefore(c, before, { previous: search.previousCalendarRun, next: nextCalendarRun, inner });
}

interface Backwards {
  previous: Search;
  next: Search;
  inner: search.Inner;
}

/**
 * Most callers need the last occurrence before now, and now is later each time. So the next
 * occurrence is searched for as well: the result is valid until then. While locks are held, that
 * second search is left out.
 */
function rememberedBefore(
  c: Calendared,
  before: number,
  { previous, next, inner }: Backwards,
): number | null {
  if (followsOtherZones()) return previous(c, before, inner);
  const known = backByRules.get(c.rules)?.get(keyOf(c));
  const answer = known?.find(
    ({ found, asked, upTo }) => before > (found ?? asked - NOTHING_MS) && before <= upTo,
  );
  if (answer !== undefined) return answer.found;
  const found = previous(c, before, inner);
  if (found !== null && before - found < FAR_MS) return found;
  const upTo = underLocks.getStore() === true ? before : (next(c, before - 1, inner) ?? before + NOTHING_MS);
  const ofRules = backByRules.get(c.rules) ?? new BoundedMap<string, Back[]>(cadencesMax);
  const others = ofRules.get(keyOf(c)) ?? [];
  backByRules.set(
    c.rules,
    ofRules.set(keyOf(c), [{ found, asked: before, upTo }, ...others].slice(0, backMax)),
  );
  return found;
}

type Search = typeof search.nextCalendarRun;

function remembered(c: Calendared, after: number, next: Search, inner: search.Inner): number | null {
  if (followsOtherZones()) return next(c, after, inner);
  const far = farByRules.get(c.rules)?.get(keyOf(c));
  const known = far?.find((each) => answers(each, after));
  if (known !== undefined) return known.found;
  const found = next(c, after, underLocks.getStore() === true ? withinAYear(c, after, next, inner) : inner);
  if (found === null || found - after >= FAR_MS) remember(c, { after, found });
  return found;
}

/**
 * The first occurrence after an instant is also the first after each later instant before that
 * occurrence.
 */
function answers({ after, found }: Far, asked: number): boolean {
  return asked >= after && asked < (found ?? after + NOTHING_MS);
}

function withinAYear(c: Calendared, after: number, next: Search, inner: search.Inner): search.Inner {
  return {
    ...inner,
    nextAfter: (cadence, from) => {
      if (from > after + FAR_MS) throw new FarSearch(() => searchAhead(c, after, next, inner));
      return inner.nextAfter(cadence, from);
    },
  };
}

/**
 * Remembers near results too: otherwise the work, when repeated, would throw the same `FarSearch`
 * again.
 */
function searchAhead(c: Calendared, asked: number, next: Search, inner: search.Inner): void {
  let after: number | null = asked;
  for (let n = 0; n < searchedAhead && after !== null; n += 1) {
    const found = next(c, after, inner);
    remember(c, { after, found });
    after = found;
  }
}

function remember(c: Calendared, far: Far): void {
  const ofRules = farByRules.get(c.rules) ?? new BoundedMap<string, Far[]>(cadencesMax);
  const key = keyOf(c);
  const others = ofRules.get(key) ?? [];
  farByRules.set(c.rules, ofRules.set(key, [far, ...others].slice(0, searchesMax)));
}

function keyOf({ of, timezone, on }: Calendared): string {
  return JSON.stringify([of, timezone, on]);
}
