import type { AgendaCounts, AgendaItem, AgendaOutcome } from "../../../client/agenda.ts";
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
  { outcome, listed }: { outcome: AgendaOutcome | undefined; listed: Listed | undefined },
): string {
  const { exact, occurrences, cadences } = counts;
  const runs = amountText({ count: occurrences, more: false }, "occurrence");
  const expressions = amountText({ count: cadences, more: false }, "expression");
  const all = `${exact ? "" : "about "}${runs} of ${expressions}, before holds and calendars`;
  if (outcome !== undefined && listed !== undefined) return `${listedText(listed, outcome)} · ${all}`;
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

/** `58 runs of 13 schedules are held, all there are`. */
function listedText({ items, hasMore }: Listed, outcome: AgendaOutcome): string {
  if (items.length === 0)
    return `no run ${outcomeVerb(outcome, 1)}${hasMore ? " so far, still searching" : ""}`;
  const count = items.reduce((sum, { passedOver }) => sum + (passedOver?.count ?? 1), 0);
  const isLeast =
    hasMore || items.some(({ passedOver }) => passedOver?.more === true || passedOver?.count === null);
  const runs = amountText({ count, more: false }, "run");
  const schedules = new Set(items.map(({ scheduleId }) => scheduleId)).size;
  const of = amountText({ count: schedules, more: false }, "schedule");
  const amount = `${isLeast ? "at least " : ""}${runs} of ${hasMore ? "at least " : ""}${of} ${outcomeVerb(outcome, count)}`;
  return hasMore ? `${amount}, more below` : `${amount}, all there are`;
}
