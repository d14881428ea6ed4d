import { isConflict, type Move } from "../../client/main.ts";
import { Missing, UsageFault } from "../fault.ts";
import { whyOutOfReach } from "./ask-destination.ts";
import { type Destination, drive, type Source } from "./drive.ts";
import type { Installation } from "./installations.ts";
import { arrivalOf, destinationOf, type Moving, movePrefix, type Outcome, sourceOf } from "./move-prefix.ts";

export interface Undone {
  /** The move back; null if the destination never had a schedule of the prefix. */
  back: Outcome | null;
  /** Schedules that the first move had stopped and not taken. */
  released: number;
  /** The address of a destination that was not asked, as the move has taken nothing. */
  unasked: string | null;
}

/** Without a destination only a move that has taken nothing can be undone. */
export type Undoing = Omit<Moving, "destination"> & { destination: Installation | null };

/**
 * Moves a prefix back to the installation that it has left. Each step is found done when the command
 * runs again after it was killed.
 */
export async function undoMove(undoing: Undoing): Promise<Undone> {
  const { source, destination, signal } = undoing;
  const first = await findFirst(undoing);
  const { taken } = (await source.client.moves.get(first.id, { signal })).progress;
  if (taken === 0 && (destination === null || (await whyOutOfReach(destination, signal)) !== null))
    return endHere(undoing, first);
  if (destination === null)
    throw new UsageFault(
      `The move has taken ${taken} schedules to ${first.peer}: name it with --to ${first.peer}.`,
    );
  return moveBack({ ...undoing, destination }, first);
}

async function findFirst({ prefix, source, destination, signal }: Undoing): Promise<Move> {
  const moves = await source.client.moves.list({ signal });
  const first = moves.find(
    (each) =>
      each.prefix === prefix &&
      each.direction === "out" &&
      (destination === null || each.peer === destination.url),
  );
  if (first !== undefined) return first;
  const to = destination === null ? "another installation" : destination.url;
  throw new Missing(`${source.url} has no move of ${JSON.stringify(prefix)} to ${to}.`);
}

/** Undoes a move that has taken nothing at its source alone. */
async function endHere({ source, signal }: Undoing, first: Move): Promise<Undone> {
  if (first.endedAt === null)
    await source.client.moves.step(first.id, { step: "end", abandon: true }, { signal });
  return { back: null, released: await release(source, first, signal), unasked: first.peer };
}

async function moveBack(moving: Moving, first: Move): Promise<Undone> {
  const { source, destination, signal } = moving;
  const isThere = await stop(moving, first);
  const back = isThere
    ? await movePrefix({ ...moving, source: destination, destination: source }, { finish: true })
    : null;
  const isLeft = back !== null && !back.isEnded;
  return { back, released: isLeft ? 0 : await release(source, first, signal), unasked: null };
}

/**
 * Ends the first move, with nothing on its way, at the source first: from then on no other command
 * takes schedules. False if it never reached the destination.
 */
async function stop(moving: Moving, { id, endedAt }: Move): Promise<boolean> {
  const { source, destination, signal } = moving;
  const arrival = await arrivalOf(destination, id, signal);
  const to = destinationOf(destination.client, id, signal);
  if (endedAt === null) await stopTaking(moving, { from: sourceOf(source.client, id, signal), to });
  if (arrival !== null && arrival.endedAt === null) await to.end();
  return arrival !== null;
}

/** Ends at most this often: each time another command has taken schedules meanwhile. */
const endsMax = 10;

async function stopTaking(
  { options }: Moving,
  { from, to }: { from: Source; to: Destination },
): Promise<void> {
  const nothingMore = { ...from, freeze: async () => ({ ids: [], stuck: [], next: null }) };
  for (let ends = 1; ; ends++) {
    await drive(nothingMore, to, options);
    try {
      await from.end({ abandon: true });
      return;
    } catch (error) {
      if (!isConflict(error) || ends === endsMax) throw error;
    }
  }
}

/** The hold of the move is on each schedule that it has stopped. */
async function release({ client }: Installation, { id, prefix }: Move, signal: AbortSignal): Promise<number> {
  const action = { verb: "resume", filter: { prefix }, owner: `move ${id}` } as const;
  let released = 0;
  for (let cursor: string | undefined; ; ) {
    const done = await client.schedules.changeMany(action, { cursor, signal });
    released += done.done;
    cursor = done.cursor;
    if (cursor === undefined) return released;
  }
}
