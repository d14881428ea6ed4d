import type { Clock } from "../clock.ts";
import type { OutgoingParcel, QueueClass } from "../parcel/parcel-queue.ts";

/**
 * For so long an invocation goes on with what its settles let start: a message would take its way through the queue first, while a place at a target or in
 * a lane stands empty. Parcels of other targets wait for a worker meanwhile; it begins none of its own after that.
 */
export const goOnMs = 2_000;

/** What a worker's settle has let start, and the worker works itself. */
export interface NextTurn {
  /** Keeps the first of these that may start now, if there is time left; the others are to be handed over. */
  keep(outgoing: readonly OutgoingParcel[]): readonly OutgoingParcel[];
  /** The one that was kept, once. */
  take(): OutgoingParcel | undefined;
}

/** Should the worker die with the one it has kept, the sweep offers that one as it does any whose message is lost. */
export function nextTurn(clock: Clock, queueClass: QueueClass): NextTurn {
  const until = clock.now().getTime() + goOnMs;
  let kept: OutgoingParcel | undefined;
  return {
    keep: (outgoing) => {
      if (kept !== undefined || clock.now().getTime() >= until) return outgoing;
      kept = outgoing.find(({ queue, waitMs }) => queue === queueClass && waitMs === 0);
      return outgoing.filter((each) => each !== kept);
    },
    take: () => {
      const taken = kept;
      kept = undefined;
      return taken;
    },
  };
}
