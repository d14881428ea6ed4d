import type { AgendaCounts, AgendaItem, AgendaOutcome, AgendaSchedules } from "../../../client/agenda.ts";
import { amountText } from "../../data/amounts.ts";
import { outcomeVerb } from "./outcome-words.ts";

/** The rows of the list that have arrived. */
export interface Listed {
  items: readonly AgendaItem[];
  hasMore: boolean;
}

/**
 * The headline of the agenda. The server counts by cadence, before any outcome is known, so the count may
 * be above that of the load.
 */
export function countsText(
  counts: AgendaCounts,
  { chosen, listed }: { chosen: string | undefined; listed: Listed | undefined },
): string {
  const { exact, occurrences, cadences } = counts;
  const runs = amountText({ count: occurrences, more: false }, "occurrence");
  const expressions = amountText({ count: cadences, more: false }, "expression");
  const all = `${exact ? "" : "about "}${runs} of ${expressions}, before holds and calendars`;
  if (chosen !== undefined) return `${chosen} · ${all}`;
  if (isOnlyCounted(counts, listed)) return `nothing is listed · ${all}`;
  return all;
}

/** The only expression of an agenda: `0 9 * * * Europe/Berlin`. */
export function expressionText(counts: AgendaCounts | undefined): string {
  if (counts === undefined) return "…";
  const [only] = counts.items;
  if (only === undefined) return "one without a run in this time";
  return [only.when ?? "single times", only.timezone].filter((part) => part !== null).join(" ");
}

/** Whether the list ends without a row although the expressions of live schedules give some. */
export function isOnlyCounted({ occurrences }: AgendaCounts, listed: Listed | undefined): boolean {
  return occurrences > 0 && listed !== undefined && listed.items.length === 0 && !listed.hasMore;
}

/** `58 runs of 13 schedules are held`: the server's count, which is of the whole window. */
export function outcomeText(
  { occurrences, schedules, more }: AgendaSchedules,
  outcome: AgendaOutcome,
): string {
  if (occurrences === 0)
    return `no run ${outcomeVerb(outcome, 1)}${more ? " of those that were looked at" : ""}`;
  const least = more ? "at least " : "";
  const runs = amountText({ count: occurrences, more: false }, "run");
  const of = amountText({ count: schedules, more: false }, "schedule");
  return `${least}${runs} of ${least}${of} ${outcomeVerb(outcome, occurrences)}`;
}
