import type { Clock } from "../clock.ts";
import type { TargetPrefix } from "../config/target-settings.ts";
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

/** How pulses are sent. */
export interface PulseSending {
  send: SendPulses;
  /** The targets of pulses by number; may return more targets than requested. */
  targets: (ids: readonly number[]) => Promise<ReadonlyMap<number, PulseTarget>>;
  /** Targets of some keys: pulses of other keys are given up. Default: none. */
  prefixes?: readonly TargetPrefix[] | undefined;
}

export interface WorkerDeps {
  sql: Sql;
  queue: ParcelQueue;
  deliver: Deliver;
  clock: Clock;
  log: Log;
  random: () => number;
  /** The events that the bus receives. */
  notify: Notify;
  /** Sends events to the bus at once; without it the tick does. */
  events?: ParcelEvents | undefined;
  /**
   * Holds schedules at once when the settle of a slow parcel asks for it; without it the tick does.
   */
  holdWanted?: ((scheduleIds: readonly string[]) => Promise<void>) | undefined;
  /** Sends pulses; a worker without it takes none. */
  pulses?: PulseSending | undefined;
  /** Counts the work of an invocation; optional. */
  measure?: MeasuredWork | undefined;
  /**
   * Settles a parcel together with others that were claimed with it; without it each is settled
   * alone.
   */
  settleTogether?: SettleTogether | undefined;
  /**
   * Shared room for the heavy payloads of all parcels of the worker; without it each parcel has its
   * own.
   */
  room?: Places | undefined;
  /** Keeps one of the parcels that have their turn, to be worked next; without it all are sent. */
  next?: NextTurn | undefined;
  /** How many parcels of one slow target all workers may work at once; null for any number. */
  window: number | null;
}
