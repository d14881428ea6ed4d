import type { Clock } from "../clock.ts";
import type { OutgoingParcel, QueueClass } from "../parcel/parcel-queue.ts";

/**
 * For so long an invocation goes on with those whose turn has come by what it settled: a message would take its way through the queue first, while their
 * place stands empty. Parcels of other targets wait for a worker meanwhile, and no longer than this.
 */
export const goOnMs = 2_000;

/** Whose turn has come by what a worker has settled, and whom it works itself. */
export interface NextTurn {
  /** Keeps one of these, if it may start now and there is time left; the others are to be handed over. */
  keep(outgoing: readonly OutgoingParcel[]): readonly OutgoingParcel[];
  /** The one that was kept, once. */
  take(): string | undefined;
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
      const id = kept?.id;
      kept = undefined;
      return id;
    },
  };
}
