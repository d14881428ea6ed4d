import type { Clock } from "../clock.ts";
import type { OutgoingParcel, QueueClass } from "../parcel/parcel-queue.ts";

/**
 * How long an invocation goes on to take parcels that its own settles let start. A message for such
 * a parcel would have to pass the queue first, while its place at the target or in the lane stays
 * empty. Meanwhile parcels of other targets wait for a worker, so the invocation takes no more
 * after this time.
 */
export const goOnMs = 2_000;

/** A parcel that a worker's settle has let start, and that the worker takes itself. */
export interface NextTurn {
  /**
   * Keeps the first of these parcels that may start now, if there is time left; the others are to
   * be sent.
   */
  keep(outgoing: readonly OutgoingParcel[]): readonly OutgoingParcel[];
  /** Returns the kept parcel once. */
  take(): OutgoingParcel | undefined;
}

/**
 * If the worker dies with a kept parcel, the sweep offers it like any parcel whose message is lost.
 */
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
