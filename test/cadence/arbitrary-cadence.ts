import fc from "fast-check";
import type { CalendarInterval, Dst } from "../../lib/cadence/cadence.ts";
import type { Cadence } from "../../lib/cadence/cadence-kinds.ts";
import { parseWhen } from "../../lib/cadence/when/parse-when.ts";
import { arbitraryCron, arbitraryInstant } from "./arbitrary-cron.ts";
import { arbitraryNearAnyChange, arbitraryNearChange, arbitraryNightly } from "./clock-changes.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;

export interface Placed {
  cadence: Cadence;
  timezone: string;
  /** An instant near which the cadence occurs and, mostly, the clocks change. */
  at: number;
}

/** Rules for clock changes that override one part, both or none. */
export function arbitraryDst(): fc.Arbitrary<Dst | undefined> {
  return fc.option(
    fc.oneof(
      fc.record({ gap: arbitraryGap, overlap: arbitraryOverlap }),
      fc.record({ gap: arbitraryGap }),
      fc.record({ overlap: arbitraryOverlap }),
    ),
    { nil: undefined },
  );
}

const arbitraryGap = fc.constantFrom("next" as const, "skip" as const);
const arbitraryOverlap = fc.constantFrom("first" as const, "last" as const, "both" as const);

/**
 * Cadences of every kind but calendared, near a change of the clocks. All instants are on whole
 * minutes.
 */
export function arbitraryPlaced(): fc.Arbitrary<Placed> {
  const somewhere = fc.oneof(
    { weight: 6, arbitrary: arbitraryNearChange() },
    { weight: 3, arbitrary: arbitraryNearAnyChange() },
    {
      weight: 1,
      arbitrary: arbitraryInstant().chain((at) =>
        arbitraryNearAnyChange().map(({ timezone }) => ({ timezone, at })),
      ),
    },
  );
  return somewhere.chain(({ timezone, at }) =>
    fc
      .oneof(
        { weight: 3, arbitrary: arbitraryMember(timezone, at) },
        { weight: 1, arbitrary: arbitraryUnion(timezone, at) },
        {
          weight: 1,
          arbitrary: arbitraryWindow(
            fc.oneof(arbitraryMember(timezone, at), arbitraryUnion(timezone, at)),
            at,
          ),
        },
      )
      .map((cadence) => ({ cadence, timezone, at })),
  );
}

/** A union whose members have one rule for clock changes, as those of a schedule do. */
export function arbitraryUnion(timezone: string, at: number): fc.Arbitrary<Cadence> {
  return arbitraryDst().chain((dst) =>
    fc
      .array(arbitraryMember(timezone, at, fc.constant(dst)), { minLength: 2, maxLength: 4 })
      .map((of) => ({ kind: "union", of })),
  );
}

function arbitraryWindow(inner: fc.Arbitrary<Cadence>, at: number): fc.Arbitrary<Cadence> {
  const edge = fc.option(fc.integer({ min: -40 * 60, max: 40 * 60 }).map((minutes) => at + minutes * MINUTE));
  return fc
    .tuple(inner, edge, edge)
    .map(([of, startsAt, endsAt]) => ({ kind: "window", of, startsAt, endsAt }));
}

export function arbitraryMember(
  timezone: string,
  at: number,
  dst: fc.Arbitrary<Dst | undefined> = arbitraryDst(),
): fc.Arbitrary<Cadence> {
  const onMinute = at - (at % MINUTE);
  const around = fc.integer({ min: -36 * 60, max: 36 * 60 }).map((minutes) => onMinute + minutes * MINUTE);
  return fc.oneof(
    {
      weight: 3,
      arbitrary: fc
        .tuple(fc.oneof(arbitraryNightly(), arbitraryCron()), dst)
        .map(([expression, rule]) => cron(expression, timezone, rule)),
    },
    { weight: 3, arbitrary: arbitraryCalendarInterval(timezone, onMinute, dst) },
    { weight: 1, arbitrary: around.map((instant): Cadence => ({ kind: "once", at: instant })) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(around, fc.integer({ min: 20, max: 2_000 }))
        .map(([firstAt, minutes]): Cadence => ({ kind: "interval", everyMs: minutes * MINUTE, firstAt })),
    },
  );
}

function arbitraryCalendarInterval(
  timezone: string,
  at: number,
  dst: fc.Arbitrary<Dst | undefined>,
): fc.Arbitrary<CalendarInterval> {
  const midnight = Math.floor(at / DAY) * DAY;
  const anchor = fc
    .tuple(
      fc.integer({ min: -800, max: 3 }),
      fc.oneof(fc.constantFrom(0, 30, 60, 90, 119, 120, 150, 180), fc.integer({ min: 0, max: 1_439 })),
    )
    .map(([days, minutes]) => midnight + days * DAY + minutes * MINUTE);
  const every = fc.oneof(
    { weight: 3, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.integer({ min: 2, max: 5 }) },
  );
  const unit = fc.oneof(
    { weight: 3, arbitrary: fc.constant("day" as const) },
    { weight: 2, arbitrary: fc.constantFrom("week" as const, "month" as const, "year" as const) },
  );
  return fc
    .record({ every, unit, anchor, from: fc.constantFrom(0 as const, 1 as const), dst })
    .map(({ dst: rule, ...rest }) => ({
      kind: "calendar-interval",
      ...rest,
      timezone,
      ...(rule === undefined ? {} : { dst: rule }),
    }));
}

export function cron(expression: string, timezone: string, dst?: Dst): Cadence {
  const parsed = parseWhen(expression, { timezone, now: Date.UTC(2010, 0, 1), key: "a", dst: dst ?? null });
  if (!parsed.ok) throw new Error(`${expression}: ${parsed.message}`);
  return parsed.cadence;
}
