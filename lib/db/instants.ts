/** JavaScript, JSON and Postgres read and write the years between these two in the same way. */
export const earliestInstant = Date.parse("0100-01-01T00:00:00.000Z");
export const latestInstant = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * Reads an instant in the spelling of Postgres. An instant outside these years, `infinity`
 * included, is read as the nearest one inside: comparisons with an invalid `Date` are always false,
 * so loops would not end, and writing it throws.
 */
export function readInstant(text: string): Date {
  const at = new Date(text);
  const ms = at.getTime();
  // JavaScript reads the year 26 as 2026.
  const isEarly = text.startsWith("-") || text.startsWith("00") || text.endsWith("BC");
  if (!isEarly && ms >= earliestInstant && ms <= latestInstant) return at;
  return new Date(isEarly ? earliestInstant : latestInstant);
}

/** True for an instant that a caller cannot give: one at or beyond the limits. */
export function isOutermost(at: Date): boolean {
  return at.getTime() <= earliestInstant || at.getTime() >= latestInstant;
}
