import type { ScheduleEntry } from "carillon";

/** The schedules of this project, on your machine and in AWS. */
export const schedules: readonly ScheduleEntry[] = [
  {
    key: "report:nightly",
    when: "30 2 * * *",
    timezone: "Europe/Berlin",
    target: { handler: "report" },
    payload: { days: 1 },
  },
  {
    key: "report:weekly",
    when: "0 9 * * MON",
    timezone: "Europe/Berlin",
    target: { handler: "report" },
    payload: { days: 7 },
  },
];
