import type { CalendarInterval } from "./calendar-interval.ts";
import type { CalendarRules } from "./calendar-rules.ts";
import type { Dst } from "./zone/clock-rule.ts";

/**
 * A resolved `when`, with everything needed to compute its occurrences. Instants are epoch
 * milliseconds.
 */
export type Cadence =
  | { kind: "once"; at: number }
  /** Occurrences at `firstAt + k × everyMs`, k ≥ 0. */
  | { kind: "interval"; everyMs: number; firstAt: number }
  /** The expression is in its normal form, the zone has its canonical name. */
  | { kind: "cron"; expression: string; timezone: string; dst?: Dst }
  | CalendarInterval
  /** An instant that several members share is one occurrence. */
  | { kind: "union"; of: readonly Cadence[] }
  | Calendared
  /** The occurrences from `startsAt` until before `endsAt`. */
  | { kind: "window"; of: Cadence; startsAt: number | null; endsAt: number | null }
  | Unreadable;

/**
 * A stored cadence that this runtime cannot read, such as one in a zone that it does not know. It
 * has no occurrences until it can be read.
 */
export interface Unreadable {
  kind: "unreadable";
  /** Its stored expression. */
  text: string;
  /** `timezone`, `dst` and `on` are the columns stored with the expression. */
  timezone: string;
  dst: string;
  on: "skip" | "next" | "previous" | null;
  reason: string;
}

/**
 * A calendar excludes days. With `skip`, occurrences on excluded days remain occurrences but do not
 * run. With `next` and `previous` they move to the nearest day that is not excluded.
 */
export interface Calendared {
  kind: "calendared";
  of: Cadence;
  timezone: string;
  on: "skip" | "next" | "previous";
  rules: CalendarRules;
}
