import { type Carillon, isConflict, isNotFound, type Move, type MovedPart } from "../../client/main.ts";
import { askDestination } from "./ask-destination.ts";
import {
  type Destination,
  type Driven,
  type DriveOptions,
  drive,
  type Part,
  type Source,
  type Stuck,
} from "./drive.ts";
import type { Installation } from "./installations.ts";

export interface Moving {
  prefix: string;
  source: Installation;
  destination: Installation;
  options: DriveOptions;
  signal: AbortSignal;
}

export interface Outcome {
  move: Move;
  /** Schedules that this run has brought to the destination. */
  moved: number;
  /** Schedules of all runs: gone from the source, and here at the destination. */
  taken: number;
  arrived: number;
  left: Stuck[];
  isEnded: boolean;
}

/** Longer lists of schedules are taken in several requests. */
const takenMax = 200;
const pauseMs = 1_000;
/** Requests that began before the prefix was closed are over by then, whatever `--wait` says. */
const endMs = 60_000;

type CarriedPart = Part & Pick<MovedPart, "document" | "key">;

export function sourceOf(client: Carillon, id: string, signal: AbortSignal): Source {
  const { moves } = client;
  const options = { signal };
  return {
    freeze: (asked) => moves.step(id, { step: "freeze", ...asked }, options),
    take: async (schedules) => {
      const done = { taken: 0, stuck: [] as Stuck[] };
      for (let from = 0; from < schedules.length; from += takenMax) {
        const some = schedules.slice(from, from + takenMax);
        const { taken, stuck } = await moves.step(id, { step: "take", schedules: some }, options);
        done.taken += taken;
        done.stuck.push(...stuck);
      }
      return done;
    },
    parts: async () => {
      const { parts } = await moves.step(id, { step: "parts" }, options);
      return parts.map(
        (part): CarriedPart => ({ ...part, schedule: part.key === null ? null : { key: part.key } }),
      );
    },
    confirm: (parts) => moves.step(id, { step: "confirm", parts: [...parts] }, options),
    takeBack: (schedule) => moves.step(id, { step: "take-back", schedule }, options),
    close: () => moves.step(id, { step: "close" }, options),
    end: ({ abandon }) => moves.step(id, { step: "end", abandon }, options),
  };
}

export function destinationOf(client: Carillon, move: string, signal: AbortSignal): Destination {
  const { arrivals } = client;
  const options = { signal };
  return {
    bring: async (carried: readonly CarriedPart[]) => {
      const parts = carried.map(({ id, part, key, document }) => ({ id, part, key, document }));
      return (await arrivals.step(move, { step: "bring", parts }, options)).brought;
    },
    refuse: async (schedule) => (await arrivals.step(move, { step: "refuse", schedule }, options)).refused,
    end: () => arrivals.step(move, { step: "end" }, options),
  };
}

/**
 * Moves the schedules of a prefix that can be moved. With `finish` the prefix is closed when none is
 * left, and the move ends. Everything that a run has not done when it is killed, the next one finds.
 */
export async function movePrefix(moving: Moving, { finish }: { finish: boolean }): Promise<Outcome> {
  const { source, destination, options, signal } = moving;
  const move = await beginOrFind(moving);
  const to = destinationOf(destination.client, move.id, signal);
  if (move.endedAt !== null) {
    await to.end();
    return outcomeOf(moving, move, { moved: 0, left: new Map() });
  }
  const from = sourceOf(source.client, move.id, signal);
  const driven = await drive(from, to, options);
  if (!finish || driven.left.size > 0) return outcomeOf(moving, move, driven);
  await from.close();
  const last = await endClosed(moving, move, { from, to });
  return outcomeOf(moving, move, { moved: driven.moved + last.moved, left: last.left });
}

/**
 * A repeated request finds the move, also after its end: the run before may have been killed right
 * behind it. A move that the destination refuses to take in ends at the source, unless it has taken
 * schedules: an open move would be in the way of one to the right destination.
 */
async function beginOrFind({ prefix, source, destination, signal }: Moving): Promise<Move> {
  await askDestination(destination, signal);
  const move = await source.client.moves.begin({ prefix, to: destination.url }, { signal });
  try {
    await destination.client.arrivals.begin(move.id, { prefix, from: source.url }, { signal });
  } catch (error) {
    if (isConflict(error) && move.endedAt === null) await endUntouched(source, move, signal);
    throw error;
  }
  return move;
}

async function endUntouched({ client }: Installation, { id }: Move, signal: AbortSignal): Promise<void> {
  const { progress } = await client.moves.get(id, { signal });
  if (progress.taken === 0) await client.moves.step(id, { step: "end", abandon: true }, { signal });
}

/**
 * Moves what was made while the prefix was being closed, compares both sides, and ends the move. A
 * request that began before may still make a schedule: so the end may be refused for a moment.
 */
async function endClosed(
  moving: Moving,
  move: Move,
  { from, to }: { from: Source; to: Destination },
): Promise<Driven> {
  const { options } = moving;
  const until = options.now() + Math.max(options.waitMs, endMs);
  for (let moved = 0; ; ) {
    const driven = await drive(from, to, options);
    moved += driven.moved;
    if (driven.left.size > 0) return { ...driven, moved };
    await requireEqual(moving, move);
    try {
      await from.end({ abandon: false });
    } catch (error) {
      if (!isConflict(error) || options.now() >= until) throw error;
      await options.sleep(pauseMs);
      continue;
    }
    await to.end();
    return { ...driven, moved };
  }
}

async function requireEqual(moving: Moving, { id }: Move): Promise<void> {
  const { taken, arrived } = await countsOf(moving, id);
  if (taken === arrived) return;
  throw new Error(
    `${taken} schedules have left ${moving.source.url}, and ${arrived} have arrived at ${moving.destination.url}. The move ${id} has not been ended. Do not delete anything: report this as a fault of Carillon.`,
  );
}

async function countsOf({ source, destination, signal }: Moving, id: string) {
  const { progress } = await source.client.moves.get(id, { signal });
  const { arrived } = (await destination.client.arrivals.get(id, { signal })).progress;
  return { taken: progress.taken, arrived };
}

async function outcomeOf(moving: Moving, { id }: Move, { moved, left }: Driven): Promise<Outcome> {
  const move = await moving.source.client.moves.get(id, { signal: moving.signal });
  const counts = await countsOf(moving, id);
  return { move, moved, ...counts, left: [...left.values()], isEnded: move.endedAt !== null };
}

/** The move as the destination knows it; null if it does not. */
export async function arrivalOf({ client }: Installation, id: string, signal: AbortSignal) {
  try {
    return await client.arrivals.get(id, { signal });
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}
