import type { Cadence, Calendared } from "./cadence.ts";

/** How to ask the cadence that a calendar moves. */
export interface Inner {
  nextAfter(cadence: Cadence, after: number): number | null;
  previousBefore(cadence: Cadence, before: number): number | null;
}

export function nextCalendared(cadence: Calendared, after: number, inner: Inner): number | null {
  return inner.nextAfter(cadence.of, after);
}

export function previousCalendared(cadence: Calendared, before: number, inner: Inner): number | null {
  return inner.previousBefore(cadence.of, before);
}

export function isCalendarRun(_cadence: Calendared, _at: number): boolean {
  return true;
}

export function nextCalendarRun(cadence: Calendared, after: number, inner: Inner): number | null {
  return inner.nextAfter(cadence.of, after);
}

export function previousCalendarRun(cadence: Calendared, before: number, inner: Inner): number | null {
  return inner.previousBefore(cadence.of, before);
}
