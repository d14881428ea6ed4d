/** An instant that a test gives; a text without a zone would be another one on each machine. */
export function instantOf(given: Date | string): Date {
  const instant = new Date(given);
  if (Number.isNaN(instant.getTime()))
    throw new Error(
      `"${String(given)}" is neither an instant such as 2027-03-28T00:00:00Z nor a duration such as 30d.`,
    );
  if (typeof given === "string" && !/(?:Z|[+-]\d\d:?\d\d)$/i.test(given))
    throw new Error(`"${given}" names no zone: write it with Z or an offset, as 2027-03-28T00:00:00Z.`);
  return instant;
}
