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
