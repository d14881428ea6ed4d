/** Reads a month, such as `2026-12`, from an address. */
export function monthIn(search: Readonly<Record<string, unknown>>): { month?: string | undefined } {
  const month = search["month"];
  return typeof month === "string" && /^\d{4}-(0[1-9]|1[0-2])$/.test(month) ? { month } : {};
}

/** A month this many months later; the day does not matter. */
export function monthAfter(month: string, months: number): string {
  const date = new Date(`${month}-01T00:00:00Z`);
  date.setUTCMonth(date.getUTCMonth() + months);
  return date.toISOString().slice(0, 7);
}

const monthName = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });

export const monthText = (month: string) => monthName.format(new Date(`${month}-01T00:00:00Z`));

const dayMs = 86_400_000;

/** The days of a month as `2026-12-01`, and the number of days of the week before the first, from Monday. */
export function daysOf(month: string): { days: string[]; offset: number } {
  const first = new Date(`${month}-01T00:00:00Z`);
  const end = Date.parse(`${monthAfter(month, 1)}-01T00:00:00Z`);
  const days: string[] = [];
  for (let at = first.getTime(); at < end; at += dayMs) days.push(new Date(at).toISOString().slice(0, 10));
  return { days, offset: (first.getUTCDay() + 6) % 7 };
}

export const weekdayNames = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] as const;
