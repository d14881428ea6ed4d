import type { DeliveryContext } from "../../lib/target/delivery.ts";
import { Places } from "../../lib/target/places.ts";
import { Stop } from "../../lib/target/stop.ts";

export const timeEnough = (): number => 660_000;

/** The context of a worker that has time enough and cancels nothing. */
export function deliveryContext(parts: Partial<DeliveryContext> = {}): DeliveryContext {
  return {
    parcel: { id: "1", fence: 1 },
    places: new Places(10),
    stopOf: () => new Stop(),
    timeLeftMs: timeEnough,
    ...parts,
  };
}
