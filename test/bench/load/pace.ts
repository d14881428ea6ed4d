/**
 * Starts something this many times a second, evenly and independently of earlier ones. A caller
 * that waits for answers sends fewer requests when they are slow, and so measures few of the slow
 * ones.
 */
export async function atRate(
  perSecond: number,
  { from, to }: { from: number; to: number },
  start: (n: number, plannedAt: number) => void,
): Promise<void> {
  const total = Math.floor(((to - from) / 1_000) * perSecond);
  for (let n = 0; n < total; ) {
    const plannedAt = from + (n * 1_000) / perSecond;
    const waitMs = plannedAt - Date.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    else start(n++, plannedAt);
  }
}
