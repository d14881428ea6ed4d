import type { Outage } from "../../../client/stats.ts";
import type { AgendaSearch } from "../agenda/agenda-search.ts";

const minuteMs = 60_000;
/** The longest window of an agenda: 32 days. */
const windowMaxMs = 46_080 * minuteMs;

/**
 * Finds what did not run in an outage: `skipped` is the outcome of a missed occurrence. The window is in
 * whole minutes, as its fields show it, and of a longer outage it has the end.
 */
export function lostSearchOf({ from, to }: Pick<Outage, "from" | "to">, now: number): AgendaSearch {
  const end = Math.ceil((to === null ? now : Date.parse(to)) / minuteMs) * minuteMs;
  const begin = Math.floor(Date.parse(from) / minuteMs) * minuteMs;
  return {
    from: new Date(Math.max(begin, end - windowMaxMs)).toISOString(),
    to: new Date(end).toISOString(),
    outcome: "skipped",
  };
}
