import type { Clock } from "../clock.ts";
import type { Sql } from "../db/connect.ts";
import type { ParcelEvents } from "../lifecycle/parcel-events.ts";
import type { Log } from "../log/log.ts";
import type { ParcelQueue } from "../parcel/parcel-queue.ts";
import type { Notify } from "../parcel/settle.ts";
import type { SettleTogether } from "../parcel/settle-together.ts";
import type { PulseTarget } from "../pulse/pulse-targets.ts";
import type { Deliver } from "../target/delivery.ts";
import type { Places } from "../target/places.ts";
import type { SendPulses } from "../target/send-pulses.ts";
import type { MeasuredWork } from "./measure-work.ts";
import type { NextTurn } from "./next-turn.ts";

/** How pulses are handed over. */
export interface PulseSending {
  send: SendPulses;
  /** Their targets by number; may know more than it was asked for. */
  targets: (ids: readonly number[]) => Promise<ReadonlyMap<number, PulseTarget>>;
}

export interface WorkerDeps {
  sql: Sql;
  queue: ParcelQueue;
  deliver: Deliver;
  clock: Clock;
  log: Log;
  random: () => number;
  /** What the bus is told of. */
  notify: Notify;
  /** Who tells the bus at once; without, the tick does. */
  events?: ParcelEvents | undefined;
  /** Holds schedules at once that a slow parcel's settle wants held; without, the tick does. */
  holdWanted?: ((scheduleIds: readonly string[]) => Promise<void>) | undefined;
  /** Hands over pulses; without, a worker takes none. */
  pulses?: PulseSending | undefined;
  /** Adds up what an invocation does; without, nobody does. */
  measure?: MeasuredWork | undefined;
  /** Settles it with others that were claimed with it; without, each is settled alone. */
  settleTogether?: SettleTogether | undefined;
  /** For the heavy payloads of all that it works at a time; without, each parcel has its own. */
  room?: Places | undefined;
  /** Keeps one of those whose turn has come, to work it next; without, all are handed over. */
  next?: NextTurn | undefined;
  /** Of the parcels of one slow target so many may be worked at once by all workers; null for any number. */
  window: number | null;
}
