/** One kind of housekeeping that a tick does after it has made its jobs. */
export interface Part<Work extends string> {
  /**
   * The kind of work that the check looks for; the part is skipped if there is none. Without it,
   * the part always runs.
   */
  of?: Work;
  act: (timeIsUp: () => boolean) => Promise<unknown>;
  /**
   * The part may cause work for later parts that the check did not see: none of them is skipped
   * then.
   */
  stirs?: true;
}

export interface Turns<Work extends string> {
  /** Whether the check found work of this kind. If it failed, there may be work of any kind. */
  isThere: (work: Work) => boolean;
  /** The number of the minute; it decides which part runs first. */
  minute: number;
  /** Milliseconds of a monotonic clock. */
  now: () => number;
  timeIsUp: () => boolean;
  note: (error: unknown) => void;
}

/**
 * How long a part runs before the next one. Sending the parcels that it made may take as long
 * again.
 */
export const sliceMs = 2_000;

/**
 * Calls the parts in order, each for a slice of time, and those with more work again in rounds,
 * until nothing is left or time is up. One part, a different one each minute, has an extra slice
 * first: so a part whose single statement uses all of a tick's time blocks another part for at most
 * as many minutes as there are parts.
 */
export async function takeTurns<Work extends string>(
  parts: readonly Part<Work>[],
  turns: Turns<Work>,
): Promise<void> {
  const { isThere, minute, timeIsUp } = turns;
  const first = parts[minute % parts.length];
  let stirred = false;
  const take = async (part: Part<Work>): Promise<boolean> => {
    if (part.of !== undefined && !stirred && !isThere(part.of)) return false;
    stirred ||= part.stirs === true;
    return takeSlice(part, turns);
  };
  if (first !== undefined) await take(first);
  for (let round = parts; round.length > 0; ) {
    const again: Part<Work>[] = [];
    for (const part of round) if (await take(part)) again.push(part);
    round = timeIsUp() ? [] : again;
  }
}

/** Returns whether the part had more to do when its slice ended. */
async function takeSlice<Work extends string>(
  { act }: Part<Work>,
  { now, timeIsUp, note }: Turns<Work>,
): Promise<boolean> {
  const until = now() + sliceMs;
  let cut = false;
  await act(() => {
    cut ||= now() > until;
    return cut || timeIsUp();
  }).catch(note);
  return cut;
}
