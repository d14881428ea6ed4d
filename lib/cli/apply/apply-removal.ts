import { nothing, type Planned } from "./apply-plan.ts";

/** The removal of a schedule that no file contains any more. */
export function removal(key: string, version: number): Planned {
  return {
    ...nothing,
    change: "remove",
    key,
    from: null,
    version,
    operation: { delete: { key }, ifMatch: version },
  };
}
