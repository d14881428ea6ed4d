/** JavaScript, JSON and Postgres write and read the years between these in the same way. */
export const earliestInstant = Date.parse("0100-01-01T00:00:00.000Z");
export const latestInstant = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * An instant as Postgres writes it. One outside these years, `infinity` among them, is read as the nearest within: an invalid `Date` compares as
 * false with every other, ends no loop, and throws where it is written.
 */
export function readInstant(text: string): Date {
  const at = new Date(text);
  const ms = at.getTime();
  // JavaScript takes the year 26 for 2026.
  const isEarly = text.startsWith("-") || text.startsWith("00") || text.endsWith("BC");
  if (!isEarly && ms >= earliestInstant && ms <= latestInstant) return at;
  return new Date(isEarly ? earliestInstant : latestInstant);
}

/** No caller can give such an instant. */
export function isOutermost(at: Date): boolean {
  return at.getTime() <= earliestInstant || at.getTime() >= latestInstant;
}
