/** The longest wait that a receiver may ask for. */
export const retryAfterMaxMs = 24 * 3_600_000;

/**
 * The forms of a date in HTTP: the present one, and two obsolete ones that a recipient must accept.
 */
const httpDate =
  /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$|^[A-Z][a-z]{5,8}, \d\d-[A-Z][a-z]{2}-\d\d [\d:]{8} GMT$|^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4}$/;

/** The wait that a `Retry-After` asks for, from none to a day; null if it cannot be read. */
export function retryAfterMs(value: string | undefined, now: Date): number | null {
  const asked = value?.trim() ?? "";
  if (/^\d+$/.test(asked)) return bounded(Number(asked) * 1_000);
  if (!httpDate.test(asked)) return null;
  // The oldest form leaves out GMT.
  const at = Date.parse(asked.endsWith("GMT") ? asked : `${asked} GMT`);
  return Number.isNaN(at) ? null : bounded(at - now.getTime());
}

function bounded(ms: number): number {
  return Math.min(Math.max(ms, 0), retryAfterMaxMs);
}
