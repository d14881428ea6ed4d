/** The start time of tests: an ordinary moment, always the same. */
export const monday = "2026-03-02T10:00:00.000Z";

export const second = 1_000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;

/** An instant of the tests' Monday, or this long after its start at ten o'clock. */
export function at(time: string | number): Date {
  return new Date(typeof time === "number" ? Date.parse(monday) + time : `${monday.slice(0, 10)}T${time}Z`);
}
