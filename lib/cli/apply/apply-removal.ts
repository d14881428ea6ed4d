import type { Planned } from "./apply-plan.ts";

/** The removal of a schedule that no file contains any more. */
export function removal(key: string, version: number): Planned {
  return {
    change: "remove",
    key,
    from: null,
    changes: [],
    cadenceText: null,
    timezone: null,
    next: [],
    differences: [],
    warnings: [],
    faults: [],
    version,
    operation: { delete: { key }, ifMatch: version },
  };
}
