/**
 * Starts something so many times a second, evenly and whether or not what was started before has ended: whoever waits for answers
 * asks less when they are slow, and measures none of the slow ones.
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
