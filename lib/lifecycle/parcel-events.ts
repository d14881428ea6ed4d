import type { LifecycleEvent } from "../config/lifecycle-events.ts";
import { errorText } from "../log/error-text.ts";
import type { ClaimedParcel } from "../parcel/claim.ts";
import type { Settlement } from "../parcel/settle.ts";
import { noteStarted } from "./outbox.ts";
import { type TellDeps, tellBus } from "./tell-bus.ts";

/** The part of a worker that tells the bus at once of what it has just done. What it does not come to tell, the tick tells. */
export interface ParcelEvents {
  /** Never fails: a job is worked whether or not anybody hears of it. Ends when the bus has answered. */
  started(parcel: ClaimedParcel): Promise<void>;
  /** After a settle: null where the job's own transaction has settled it. */
  settled(settlements: readonly (Settlement | null)[]): Promise<void>;
  /** After a lease was ended in place of a worker that has died. */
  ended(): Promise<void>;
}

export function parcelEvents(deps: TellDeps, notify: readonly LifecycleEvent[]): ParcelEvents {
  const on = (event: LifecycleEvent) => notify.includes(event);
  // Whoever writes some tells as many, of whomever they are: so none stays behind while there are workers.
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
