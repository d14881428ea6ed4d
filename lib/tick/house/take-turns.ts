/** One kind of work that a tick looks after once its jobs are made. */
export interface Part<Work extends string> {
  /** Where there is none of it, the part is left out; always looked after without. */
  of?: Work;
  act: (timeIsUp: () => boolean) => Promise<unknown>;
  /** What it does may be work for parts after it, which the look did not see: then none of them is left out. */
  stirs?: true;
}

export interface Turns<Work extends string> {
  /** What the look has found; null where it failed, and there may be anything. */
  there: Readonly<Record<Work, boolean>> | null;
  /** Counts the minutes: in each, another part is the first. */
  minute: number;
  /** Milliseconds that only rise. */
  now: () => number;
  timeIsUp: () => boolean;
  note: (error: unknown) => void;
}

/** How long a part runs before the next one has its turn. Sending the parcels that it made may take as long again. */
export const sliceMs = 2_000;

/**
 * Calls the parts in their order, each for a slice of time, and those that had more to do again, in rounds, until nothing is left or
 * time is up. Before them, one part has a turn, another one each minute: a part of which a single statement takes all of a tick's time keeps
 * no other from its work for longer than there are parts.
 */
export async function takeTurns<Work extends string>(
  parts: readonly Part<Work>[],
  turns: Turns<Work>,
): Promise<void> {
  const { there, minute, timeIsUp } = turns;
  const first = parts[minute % parts.length];
  let stirred = there === null;
  const take = async (part: Part<Work>): Promise<boolean> => {
    if (part.of !== undefined && !stirred && there?.[part.of] === false) return false;
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
