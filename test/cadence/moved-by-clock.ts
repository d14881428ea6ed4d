import type { Calendared } from "../../lib/cadence/cadence-kinds.ts";
import { excludesDay } from "./arbitrary-rules.ts";
import { wallClock } from "./minute-scan.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Remembered, because repeated calls of Intl for the same instants would take most of the time. */
export function rememberedClock(timezone: string): (instant: number) => number {
  const shown = new Map<number, number>();
  const wallAt = wallClock(timezone);
  return (instant) => {
    const known = shown.get(instant) ?? wallAt(instant);
    shown.set(instant, known);
    return known;
  };
}

export const dayIn = (wall: number) => Math.floor(wall / DAY);

/**
 * The instant to which an occurrence moves, found by the clock of its zone; null if it is left out.
 */
export function movedByClock(
  { on, rules }: Calendared,
  wallAt: (instant: number) => number,
  at: number,
): number | null {
  const wall = wallAt(at);
  const day = dayIn(wall);
  if (!excludesDay(rules, day)) return at;
  const step = on === "next" ? 1 : -1;
  for (let days = 1; days <= 31; days += 1) {
    const target = day + step * days;
    if (excludesDay(rules, target) || !dayShown(wallAt, target)) continue;
    return firstShowing(wallAt, wall + step * days * DAY);
  }
  return null;
}

function dayShown(wallAt: (instant: number) => number, day: number): boolean {
  for (let at = day * DAY - 27 * HOUR; at < day * DAY + 51 * HOUR; at += HOUR) {
    if (dayIn(wallAt(at)) === day) return true;
  }
  return false;
}

/**
 * The first instant whose clock shows a wall time or, if none does, the first that shows a later
 * one.
 */
function firstShowing(wallAt: (instant: number) => number, wall: number): number {
  const offsets = new Set<number>();
  for (let at = wall - 27 * HOUR; at <= wall + 27 * HOUR; at += HOUR / 2) offsets.add(wallAt(at) - at);
  const shown = [...offsets].map((offset) => wall - offset).filter((at) => wallAt(at) === wall);
  if (shown.length > 0) return Math.min(...shown);
  let at = Math.floor((wall - 27 * HOUR) / MINUTE) * MINUTE;
  while (wallAt(at) < wall) at += MINUTE;
  return at;
}
