import { compiledCron } from "./cron.ts";

/** A `when` resolved: everything that is needed to tell its occurrences. Instants are epoch milliseconds. */
export type Cadence =
  | { kind: "once"; at: number }
  /** Occurrences at `firstAt + k × everyMs`, k ≥ 0. */
  | { kind: "interval"; everyMs: number; firstAt: number }
  /** The expression in its normal form, the zone by its canonical name. */
  | { kind: "cron"; expression: string; timezone: string };

/** The first occurrence strictly after an instant, or null when there is none any more. */
export function nextAfter(cadence: Cadence, after: number): number | null {
  switch (cadence.kind) {
    case "once":
      return cadence.at > after ? cadence.at : null;
    case "interval": {
      const { everyMs, firstAt } = cadence;
      return after < firstAt ? firstAt : firstAt + (Math.floor((after - firstAt) / everyMs) + 1) * everyMs;
    }
    case "cron":
      return compiledCron(cadence.expression, cadence.timezone).nextAfter(after);
  }
}

/** The last occurrence strictly before an instant, or null when there was none. */
export function previousBefore(cadence: Cadence, before: number): number | null {
  switch (cadence.kind) {
    case "once":
      return cadence.at < before ? cadence.at : null;
    case "interval": {
      const { everyMs, firstAt } = cadence;
      return before <= firstAt ? null : firstAt + (Math.ceil((before - firstAt) / everyMs) - 1) * everyMs;
    }
    case "cron":
      return compiledCron(cadence.expression, cadence.timezone).previousBefore(before);
  }
}

const COUNT_MAX = 10_000;

/** How many occurrences lie in `(after, upTo]`: exact up to `max`, and whether there are more than that. */
export function countWithin(
  cadence: Cadence,
  after: number,
  upTo: number,
  max: number = COUNT_MAX,
): { count: number; more: boolean } {
  if (cadence.kind === "interval") {
    const { everyMs, firstAt } = cadence;
    const upToIncluded = (instant: number) => Math.max(0, Math.floor((instant - firstAt) / everyMs) + 1);
    const all = Math.max(0, upToIncluded(upTo) - upToIncluded(after));
    return { count: Math.min(all, max), more: all > max };
  }
  let count = 0;
  let next = nextAfter(cadence, after);
  while (next !== null && next <= upTo) {
    if (count === max) return { count, more: true };
    count += 1;
    next = nextAfter(cadence, next);
  }
  return { count, more: false };
}
