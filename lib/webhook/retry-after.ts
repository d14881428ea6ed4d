const retryAfterMaxMs = 24 * 3_600_000;

/** The forms of a date in HTTP: today's, and the two that a receiver has to understand still. */
const httpDate =
  /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$|^[A-Z][a-z]{5,8}, \d\d-[A-Z][a-z]{2}-\d\d [\d:]{8} GMT$|^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4}$/;

/** How long a `Retry-After` asks to wait, from none to a day; null for one that says nothing. */
export function retryAfterMs(value: string | undefined, now: Date): number | null {
  const asked = value?.trim() ?? "";
  if (/^\d+$/.test(asked)) return bounded(Number(asked) * 1_000);
  if (!httpDate.test(asked)) return null;
  // The oldest form leaves out that it means GMT.
  const at = Date.parse(asked.endsWith("GMT") ? asked : `${asked} GMT`);
  return Number.isNaN(at) ? null : bounded(at - now.getTime());
}

function bounded(ms: number): number {
  return Math.min(Math.max(ms, 0), retryAfterMaxMs);
}
