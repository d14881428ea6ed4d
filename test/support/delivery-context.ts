import type { DeliveryContext } from "../../lib/target/delivery.ts";

/** Of a worker that has time enough and cancels nothing. */
export function deliveryContext(parts: Partial<DeliveryContext> = {}): DeliveryContext {
  return {
    parcel: { id: "1", fence: 1 },
    slots: 10,
    signalOf: () => new AbortController().signal,
    timeLeftMs: () => 660_000,
    ...parts,
  };
}
