import * as z from "zod";
import { ticksMax } from "../config/function-limits.ts";
import { shardCount } from "../plan/shard.ts";

/**
 * The share of one of a minute's ticks: every `of`th shard. Share 0 also does the work that is not
 * per shard.
 */
export interface TickShare {
  share: number;
  of: number;
}

/** One tick per minute does everything. */
export const wholeTick: TickShare = { share: 0, of: 1 };

const minuteMs = 60_000;

const sharedEvent = z
  .strictObject({
    /** Number of ticks started each minute. */
    ticks: z.int().min(1).max(ticksMax),
    /** The index of this tick, from 0. */
    tick: z.int().min(0),
    /** The minute; all ticks of one minute get the same. */
    time: z.iso.datetime({ offset: true }),
  })
  .refine(({ ticks, tick }) => tick < ticks, { path: ["tick"], error: "must be less than `ticks`" });

export type SharedTickEvent = z.input<typeof sharedEvent>;

/**
 * The share of an event; any other event means the whole tick. Shares rotate by one every minute,
 * so that another tick does the work of a tick that fails, even permanently, in the next minute.
 */
export function shareOf(event: unknown): TickShare {
  if (typeof event !== "object" || event === null || !("ticks" in event)) return wholeTick;
  const read = sharedEvent.safeParse(event);
  if (!read.success)
    throw new Error(
      `The tick's event is invalid: ${read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ")}`,
    );
  const { ticks, tick, time } = read.data;
  const minute = Math.floor(Date.parse(time) / minuteMs);
  return { share: (tick + minute) % ticks, of: ticks };
}

export function shardsOf({ share, of }: TickShare): number[] {
  return Array.from({ length: shardCount }, (_, shard) => shard).filter((shard) => shard % of === share);
}

/**
 * Each shard once, from a random one on, so that concurrent ticks do not wait for the same locks.
 */
export function inTurn(shards: readonly number[]): Iterator<number> & Iterable<number> {
  const first = Math.floor(Math.random() * shards.length);
  return [...shards.slice(first), ...shards.slice(0, first)].values();
}
