import * as z from "zod";
import { ticksMax } from "../config/function-limits.ts";
import { shardCount } from "../plan/shard.ts";

/** What one of the ticks of a minute has to do: every `of`th shard, and share 0 what is there once, beside the shards. */
export interface TickShare {
  share: number;
  of: number;
}

/** Where one tick a minute does everything. */
export const wholeTick: TickShare = { share: 0, of: 1 };

const minuteMs = 60_000;

const sharedEvent = z
  .strictObject({
    /** So many are started each minute. */
    ticks: z.int().min(1).max(ticksMax),
    /** Which of them this is, from 0. */
    tick: z.int().min(0),
    /** For which minute; all of one minute are told the same. */
    time: z.iso.datetime({ offset: true }),
  })
  .refine(({ ticks, tick }) => tick < ticks, { path: ["tick"], error: "must be less than `ticks`" });

export type SharedTickEvent = z.input<typeof sharedEvent>;

/**
 * The share that an event asks for; any event but our own means everything. Shares move on by one from minute to minute: whichever tick
 * does not come, be it for good, what it would have done is done by another in the next minute.
 */
export function shareOf(event: unknown): TickShare {
  if (typeof event !== "object" || event === null || !("ticks" in event)) return wholeTick;
  const read = sharedEvent.safeParse(event);
  if (!read.success)
    throw new Error(
      `The tick's event is not understood: ${read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ")}`,
    );
  const { ticks, tick, time } = read.data;
  const minute = Math.floor(Date.parse(time) / minuteMs);
  return { share: (tick + minute) % ticks, of: ticks };
}

export function shardsOf({ share, of }: TickShare): number[] {
  return Array.from({ length: shardCount }, (_, shard) => shard).filter((shard) => shard % of === share);
}

/** Each once, from a random one on, so that ticks side by side do not queue for the same locks. */
export function inTurn(shards: readonly number[]): Iterator<number> & Iterable<number> {
  const first = Math.floor(Math.random() * shards.length);
  return [...shards.slice(first), ...shards.slice(0, first)].values();
}
