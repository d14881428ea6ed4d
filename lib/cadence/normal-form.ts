import type { Cadence } from "./cadence-kinds.ts";
import { formatDuration } from "./duration.ts";
import { isoInstant } from "./zone/civil.ts";

/**
 * A cadence as text: the `cadence` of responses. It is the same for all cadences with the same
 * meaning.
 */
export function normalForm(cadence: Cadence): string {
  switch (cadence.kind) {
    case "once":
      return `at ${isoInstant(cadence.at)}`;
    case "interval":
      return `every ${formatDuration(cadence.everyMs)}`;
    case "cron":
      return cadence.expression;
    case "calendar-interval":
      return `every ${cadence.every} ${cadence.unit}${cadence.every === 1 ? "" : "s"}`;
    case "union":
      return cadence.of.map(normalForm).join(" | ");
    case "calendared":
    case "window":
      return normalForm(cadence.of);
    case "unreadable":
      return cadence.text;
  }
}
