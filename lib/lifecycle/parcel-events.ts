import type { LifecycleEvent } from "../config/lifecycle-events.ts";
import { errorText } from "../log/error-text.ts";
import type { ClaimedParcel } from "../parcel/claim.ts";
import type { Settlement } from "../parcel/settle.ts";
import { noteStarted } from "./outbox.ts";
import { type TellDeps, tellBus } from "./tell-bus.ts";

/**
 * The part of a worker that sends events to the bus at once. The tick sends the events that it
 * leaves.
 */
export interface ParcelEvents {
  /**
   * Never fails: a job is delivered whether its event is sent or not. Resolves when the bus has
   * answered.
   */
  started(parcel: ClaimedParcel): Promise<void>;
  /** Called after a settle; null for a job that its own transaction has settled. */
  settled(settlements: readonly (Settlement | null)[]): Promise<void>;
  /** Called after the lease of a dead worker was ended. */
  ended(): Promise<void>;
}

export function parcelEvents(deps: TellDeps, notify: readonly LifecycleEvent[]): ParcelEvents {
  const on = (event: LifecycleEvent) => notify.includes(event);
  // A worker sends about as many events as it has written, its own or those of other workers. So no
  // backlog grows while workers run.
  const tell = async (written: number) => {
    if (written > 0) await tellBus(deps, "fresh", Math.min(eventsMax, Math.ceil(written / 10) * 10));
  };
  const quietly = async (telling: () => Promise<void>) => {
    try {
      await telling();
    } catch (error) {
      deps.log.warn("lifecycle.left", { error: errorText(error) });
    }
  };
  return {
    started: async (parcel) => {
      if (!on("started")) return;
      await quietly(async () => {
        await noteStarted(deps.sql, parcel);
        await tell(parcel.jobs.length);
      });
    },
    settled: async (settlements) => {
      const written = settlements.flatMap(eventsOf).filter(on).length;
      if (written > 0) await quietly(() => tell(written));
    },
    ended: () => quietly(() => tell(10)),
  };
}

/** A parcel has up to 250 jobs, each with up to two events at once. */
const eventsMax = 500;

function eventsOf(settlement: Settlement | null): LifecycleEvent[] {
  switch (settlement?.kind) {
    case undefined:
    case "succeeded":
    case "again":
      return ["succeeded"];
    case "retry":
      return ["failed"];
    case "dead":
      return ["failed", "dead"];
    case "cancelled":
    case "back":
      return [];
  }
}
