import type { CalendarInterval } from "./calendar-interval.ts";
import { civilFromDays, MS_PER_DAY } from "./zone/civil.ts";

/** `every 2 weeks at 09:00 from 2026-12-07` */
export function describeCalendarInterval({ every, unit, anchor, from }: CalendarInterval): string {
  const [day = "", time = ""] = new Date(anchor).toISOString().slice(0, -1).split("T");
  const period = every === 1 ? unit : `${every} ${unit}s`;
  const shorter = isCutShort(unit, anchor) ? ", on the last day of shorter months" : "";
  return `every ${period} at ${time.replace(/(?::00)?\.000$/, "")} ${from === 0 ? "from" : "counted from"} ${day}${shorter}`;
}

/** Whether some months, or for years some Februaries, lack the day of the anchor. */
function isCutShort(unit: CalendarInterval["unit"], anchor: number): boolean {
  const { month, day } = civilFromDays(Math.floor(anchor / MS_PER_DAY));
  return (unit === "month" && day > 28) || (unit === "year" && month === 2 && day === 29);
}
