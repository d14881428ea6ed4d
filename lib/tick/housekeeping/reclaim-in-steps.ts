/** Rows checked in one step, which is a transaction, and steps per tick. */
const lookedMax = 1_000;
const stepsMax = 5;

/** The result of a step; none if another tick has the round. */
type Step = { looked: number; gone: number } | undefined;

/**
 * Continues a round through all rows of a table, and returns how many were deleted. A tick checks a
 * few thousand, however many there are; the next one continues, and an hour after the end of a
 * round a new one begins.
 */
export async function reclaimInSteps(
  timeIsUp: () => boolean,
  next: (lookedMax: number) => Promise<Step>,
): Promise<number> {
  let gone = 0;
  for (let step = 0; step < stepsMax && !timeIsUp(); step++) {
    const done = await next(lookedMax);
    gone += done?.gone ?? 0;
    if ((done?.looked ?? 0) < lookedMax) break;
  }
  return gone;
}
