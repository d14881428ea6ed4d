import type { Cadence } from "./cadence.ts";
import { isoInstant } from "./civil.ts";
import { formatDuration } from "./duration.ts";

/** A cadence as text: the `cadence` of responses, the same for everything that means the same. */
export function normalForm(cadence: Cadence): string {
  switch (cadence.kind) {
    case "once":
      return `at ${isoInstant(cadence.at)}`;
    case "interval":
      return `every ${formatDuration(cadence.everyMs)}`;
    case "cron":
      return cadence.expression;
  }
}
