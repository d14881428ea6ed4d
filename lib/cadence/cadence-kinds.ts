import type { CalendarInterval } from "./calendar-interval.ts";
import type { CalendarRules } from "./calendar-rules.ts";
import type { Dst } from "./zone/clock-rule.ts";

/** A `when` resolved: everything that is needed to tell its occurrences. Instants are epoch milliseconds. */
export type Cadence =
  | { kind: "once"; at: number }
  /** Occurrences at `firstAt + k × everyMs`, k ≥ 0. */
  | { kind: "interval"; everyMs: number; firstAt: number }
  /** The expression in its normal form, the zone by its canonical name. */
  | { kind: "cron"; expression: string; timezone: string; dst?: Dst }
  | CalendarInterval
  /** An instant that several name occurs once. */
  | { kind: "union"; of: readonly Cadence[] }
  | Calendared
  /** From `startsAt` on, up to but without `endsAt`. */
  | { kind: "window"; of: Cadence; startsAt: number | null; endsAt: number | null }
  | Unreadable;

/** A stored cadence that this runtime cannot read, as one in a zone that it does not know. It has no occurrences until it can be read. */
export interface Unreadable {
  kind: "unreadable";
  /** Its stored expression. */
  text: string;
  /** As they are stored beside it. */
  timezone: string;
  dst: string;
  on: "skip" | "next" | "previous" | null;
  reason: string;
}

/**
 * A calendar excludes days. With `skip` the occurrences on them remain occurrences that do not run; with `next` and
 * `previous` they are moved to the nearest day that is not excluded.
 */
export interface Calendared {
  kind: "calendared";
  of: Cadence;
  timezone: string;
  on: "skip" | "next" | "previous";
  rules: CalendarRules;
}
