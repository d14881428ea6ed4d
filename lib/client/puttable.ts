import type { Calendar, CalendarBody } from "./calendars.ts";
import type { Schedule } from "./schedule.ts";

/** Fields of an answer that a put does not take. */
export const readOnlyFields: ReadonlySet<string> = new Set([
  "id",
  "state",
  "version",
  "cadence",
  "cadenceText",
  "nextAt",
  "holds",
  "checks",
  "warnings",
  "unreadable",
  "createdAt",
  "createdBy",
  "updatedAt",
  "updatedBy",
  "lastJob",
  "changes",
]);

/** The fields of a schedule that a put takes; putting them back changes nothing. */
export function puttable(schedule: Schedule): object {
  return Object.fromEntries(Object.entries(schedule).filter(([name]) => !readOnlyFields.has(name)));
}

/** Fields of a calendar's answer that a put does not take. */
const calendarReadOnly: ReadonlySet<string> = new Set<Exclude<keyof Calendar, keyof CalendarBody>>([
  "name",
  "version",
  "createdAt",
  "createdBy",
  "updatedAt",
  "updatedBy",
  "schedules",
  "pending",
  "more",
]);

/** A calendar as a file has it, without the fields that only answers have. */
export function puttableCalendar(calendar: object): object {
  return Object.fromEntries(Object.entries(calendar).filter(([name]) => !calendarReadOnly.has(name)));
}
