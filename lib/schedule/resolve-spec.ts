import { nextRunAfter, previousBefore } from "../cadence/cadence.ts";
import type { Cadence } from "../cadence/cadence-kinds.ts";
import { describeCalendarInterval } from "../cadence/describe-interval.ts";
import { mostWithin } from "../cadence/most-within.ts";
import { normalForm } from "../cadence/normal-form.ts";
import { mayBeRelative } from "../cadence/when/may-be-relative.ts";
import { parseWhen } from "../cadence/when/parse-when.ts";
import { type Fault, Refusal } from "../refusal.ts";
import { refusePulseCadence } from "./shape/pulse-shape.ts";
import { sameJson } from "./shape/same-json.ts";
import type { ScheduleBody } from "./shape/schedule-body.ts";
import { withWhen } from "./shape/schedule-shape.ts";
import { whenFault } from "./shape/timing-shape.ts";
import type { CalendarRef } from "./stored/cadence-columns.ts";
import type { StoredSchedule } from "./stored/stored-schedule.ts";
import { dueAt, firstDueAfter, firstOf, longestLag, pendingMax, timetableOf } from "./stored/timetable.ts";
import type { Spec } from "./stored/version-rows.ts";

/**
 * The fields that determine the cadence. If none of them changes, the cadence stays as it was
 * resolved. `delivery` is one of them, since the interval of a pulse begins at a whole second.
 */
const cadenceFields = ["when", "timezone", "startsAt", "endsAt", "calendar", "dst", "delivery"] as const;
export type CadenceBody = Pick<ScheduleBody, (typeof cadenceFields)[number]>;

export function hasSameCadence(a: CadenceBody, b: CadenceBody): boolean {
  return cadenceFields.every((name) => sameJson(a[name], b[name]));
}

/** The fields by which the intervals of a `when` begin. */
const phaseFields = ["when", "startsAt", "delivery"] as const;

/**
 * Whether a body has the intervals of another one, from the same beginning. An interval of the calendar
 * (`every 1 month`) also depends on its zone.
 */
function hasSamePhase(a: CadenceBody, b: CadenceBody, { kind }: Cadence): boolean {
  const fields = kind === "interval" ? phaseFields : ([...phaseFields, "timezone", "dst"] as const);
  return fields.every((name) => sameJson(a[name], b[name]));
}

/** True for a `when` that counts from now: each put of it means another instant. */
export function isRelative({ when, timezone }: Pick<ScheduleBody, "when" | "timezone">): boolean {
  if (!mayBeRelative(when)) return false;
  const parsed = parseWhen(when, { timezone, now: 0, key: "" });
  return parsed.ok && parsed.relative;
}

/**
 * The `when` resolved to a cadence, with its window and calendar. Throws a Refusal if it cannot be
 * planned.
 */
export async function resolveSpec(
  find: FindCalendar,
  key: string,
  body: ScheduleBody,
  now: Date,
  countFrom: Date = now,
): Promise<Spec> {
  const calendar = body.calendar === null ? null : await calendarNamed(find, body.calendar.name, body);
  return begunSpec({ body, cadence: cadenceCounted(key, body, { now, countFrom, calendar }), calendar }, now);
}

interface EditMeans {
  now: Date;
  /** Whether the cadence stays as it was resolved. */
  kept: boolean;
  /** Whether a relative `when` counts from now again. */
  counted: boolean;
  countFrom: Date | undefined;
}

/**
 * The spec after an edit. An unchanged cadence keeps its phase: an interval goes on counting from its
 * start. It does so too where only the end or the calendar changes.
 */
export async function editedSpec(
  find: FindCalendar,
  current: StoredSchedule,
  body: ScheduleBody,
  { now, kept, counted, countFrom }: EditMeans,
): Promise<Spec> {
  if (kept) return keptSpec(current, body, now);
  const base = baseOf(current.cadence);
  const isPhased = current.unread === null && !counted && hasSamePhase(body, current.body, base);
  if (!isPhased) return resolveSpec(find, current.key, body, now, countFrom);
  const calendar = body.calendar === null ? null : await calendarNamed(find, body.calendar.name, body);
  return begunSpec({ body, cadence: bounded(base, body, now, calendar), calendar }, now);
}

/** A resolved cadence that begins now. Throws a Refusal if its spread or slot is too long. */
export function begunSpec({ body, cadence, calendar }: Spec, now: Date): Spec {
  refuseCrowdedLag(body, cadence);
  const first = longestLag(body) === 0 ? null : firstOf(cadence, now.getTime());
  return { body, cadence: countingFrom(cadence, first), calendar };
}

/**
 * The cadence of a body, whose relative time counts from `countFrom`: the moment of a command that
 * is applied later. An instant that is past by now runs at once, and late, instead of being
 * refused: the caller is not at fault.
 */
function cadenceCounted(
  key: string,
  body: ScheduleBody,
  { now, countFrom, calendar }: { now: Date; countFrom: Date; calendar: CalendarRef | null },
): Cadence {
  if (countFrom >= now || !isRelative(body)) return resolveCadence(key, body, now, calendar);
  return notBefore(resolveCadence(key, body, countFrom, calendar), now.getTime());
}

function notBefore(cadence: Cadence, now: number): Cadence {
  if (cadence.kind === "window") return { ...cadence, of: notBefore(cadence.of, now) };
  return cadence.kind === "once" && cadence.at < now ? { ...cadence, at: now } : cadence;
}

/**
 * With a spread or a slot, occurrences before the beginning of a cadence may be due after it. The
 * window of the cadence then starts at its first occurrence, so that no later read includes earlier
 * ones.
 */
function countingFrom(cadence: Cadence, first: number | null): Cadence {
  if (first === null) return cadence;
  if (cadence.kind !== "window") return { kind: "window", of: cadence, startsAt: first, endsAt: null };
  return { ...cadence, startsAt: Math.max(first, cadence.startsAt ?? first) };
}

/**
 * The current cadence with another body. The calendar stays at the version with which it was
 * resolved.
 */
export function keptSpec(current: StoredSchedule, body: ScheduleBody, now: Date): Spec {
  if (longestLag(body) > longestLag(current.body)) refuseCrowdedLag(body, current.cadence);
  const first = firstWithLaterDues(current, body, (current.heldSince ?? now).getTime());
  return { body, cadence: countingFrom(current.cadence, first), calendar: current.calendar };
}

/**
 * The first occurrence that is not due yet, if another spread or slot would bring back those before it:
 * they would be due later again, or together with it. Otherwise null.
 */
function firstWithLaterDues(current: StoredSchedule, body: ScheduleBody, now: number): number | null {
  const [before, after] = [timetableOf(current), timetableOf({ ...current, body })];
  if (before.lagMs === after.lagMs && before.slotMs === after.slotMs) return null;
  const first = firstDueAfter(before, now);
  const previous = first === null ? null : previousBefore(current.cadence, first);
  if (first === null || previous === null) return null;
  const due = dueAt(after, previous);
  return due > now || due === dueAt(after, first) ? first : null;
}

export function resolveCadence(
  key: string,
  body: CadenceBody,
  now: Date,
  calendar: CalendarRef | null,
): Cadence {
  const { startsAt } = windowOf(body);
  const { timezone, dst } = body;
  const parsed = parseWhen(body.when, { timezone, now: now.getTime(), key, startsAt, dst });
  if (!parsed.ok) {
    throw new Refusal("invalid", "The `when` cannot be planned.", [whenFault(parsed)]);
  }
  refusePulseCadence(body, parsed.cadence);
  const whole = body.delivery === "pulse" ? fromWholeSecond(parsed.cadence) : parsed.cadence;
  return bounded(whole, body, now, calendar);
}

/** A cadence within the window and the calendar of its body. Throws a Refusal if it never runs. */
function bounded(whole: Cadence, body: CadenceBody, now: Date, calendar: CalendarRef | null): Cadence {
  const { startsAt, endsAt } = windowOf(body);
  const byCalendar: Cadence =
    calendar === null
      ? whole
      : {
          kind: "calendared",
          of: whole,
          timezone: body.timezone,
          on: body.calendar?.on ?? "skip",
          rules: calendar.rules,
        };
  const cadence: Cadence =
    startsAt === null && endsAt === null ? byCalendar : { kind: "window", of: byCalendar, startsAt, endsAt };
  const first = firstOf(cadence, now.getTime());
  if (first === null || nextRunAfter(cadence, first - 1) === null) throw neverRuns(body, calendar);
  return cadence;
}

/** The cadence without its window and calendar. */
export function baseOf(cadence: Cadence): Cadence {
  return cadence.kind === "window" || cadence.kind === "calendared" ? baseOf(cadence.of) : cadence;
}

function windowOf({ startsAt, endsAt }: CadenceBody): { startsAt: number | null; endsAt: number | null } {
  return {
    startsAt: startsAt === null ? null : Date.parse(startsAt),
    endsAt: endsAt === null ? null : Date.parse(endsAt),
  };
}

/** Pulses are scheduled in whole seconds. */
function fromWholeSecond(cadence: Cadence): Cadence {
  if (cadence.kind !== "interval") return cadence;
  return { ...cadence, firstAt: Math.ceil(cadence.firstAt / 1_000) * 1_000 };
}

/** The description of a schedule's `when` in plain English, and its warnings. */
export function wordsOf(
  { key, body, cadence, createdAt }: Pick<StoredSchedule, "key" | "body" | "cadence" | "createdAt">,
  now: Date,
): { cadenceText: string; warnings: string[] } {
  const { timezone, dst } = body;
  const startsAt = body.startsAt === null ? null : Date.parse(body.startsAt);
  const parse = (at: Date) => parseWhen(body.when, { timezone, now: at.getTime(), key, startsAt, dst });
  const parsed = parse(now);
  // An instant that is past has no warnings. A time that counted from now is described by its
  // resolved instant.
  const warnings = parsed.ok ? parsed.warnings : [];
  const resolved = resolvedText(cadence, timezone);
  if (resolved !== null) return { cadenceText: resolved, warnings };
  const told = parsed.ok ? parsed : parse(createdAt);
  return { cadenceText: told.ok ? told.description : normalForm(cadence), warnings };
}

function resolvedText(cadence: Cadence, timezone: string): string | null {
  switch (cadence.kind) {
    case "window":
    case "calendared":
      return resolvedText(cadence.of, timezone);
    case "once":
      return `once, ${normalForm(cadence)}`;
    case "calendar-interval":
      return `${describeCalendarInterval(cadence)}, ${timezone}`;
    default:
      return null;
  }
}

function neverRuns({ startsAt, endsAt }: CadenceBody, calendar: CalendarRef | null): Refusal {
  const bounds = [
    ...(startsAt === null ? [] : [`from ${startsAt}`]),
    ...(endsAt === null ? [] : [`before ${endsAt}`]),
    ...(calendar === null ? [] : ["on the days that its calendar allows"]),
  ];
  const fault: Fault = { path: "when", message: `never runs ${bounds.join(" and ") || "any more"}` };
  return new Refusal("invalid", "The `when` cannot be planned.", [fault]);
}

/**
 * Refuses a spread or slot by which thousands of occurrences could wait to be due, since every edit
 * plans all of them again.
 */
function refuseCrowdedLag(body: ScheduleBody, cadence: Cadence): void {
  const lag = longestLag(body);
  if (lag === 0 || mostWithin(cadence, lag) <= pendingMax) return;
  throw new Refusal("invalid", "The schedule is not understood.", [
    {
      path: body.slot === null ? "spread" : "slot",
      message: `is too long for this cadence: more than ${pendingMax} occurrences may wait to be due`,
    },
  ]);
}

export type FindCalendar = (name: string) => Promise<CalendarRef | null>;

async function calendarNamed(find: FindCalendar, name: string, body: ScheduleBody): Promise<CalendarRef> {
  const calendar = await find(name);
  if (calendar !== null) return calendar;
  const missing = new Refusal("impossible", "The calendar does not exist.", [
    { path: "calendar.name", message: `there is no calendar ${JSON.stringify(name)}` },
  ]);
  throw withWhen([missing], body);
}
