import type {
  AgendaCounts,
  AgendaItem,
  AgendaOutcome,
  AgendaSchedules,
  AgendaWindow,
} from "../../../client/agenda.ts";
import { amountText, numberText, spanText } from "../../data/amounts.ts";
import { estimateText } from "../../data/load/planned-text.ts";
import { outcomeVerb, tenseOf } from "./outcome-words.ts";

/** The rows of the list that have arrived. */
export interface Listed {
  items: readonly AgendaItem[];
  hasMore: boolean;
}

/**
 * The headline of the agenda, without what calendars leave out. The server counts by cadence, before holds,
 * so the count may be above that of the load.
 */
export function countsText(
  counts: AgendaCounts,
  { chosen, listed }: { chosen: string | undefined; listed: Listed | undefined },
): string {
  const { exact, occurrences, leftOut, cadences } = counts;
  const runs = amountText({ count: occurrences - leftOut, more: false }, "occurrence");
  const expressions = amountText({ count: cadences, more: false }, "expression");
  const all = `${estimateText(exact)}${runs} of ${expressions}, before holds`;
  if (chosen !== undefined) return `${chosen} · ${all}`;
  if (isOnlyCounted(counts, listed)) return `nothing is listed · ${all}`;
  return all;
}

/** `113 are left out by calendars`: days that a calendar skips. */
export function leftOutText({ leftOut, exact }: AgendaCounts): string {
  return `${estimateText(exact)}${numberText(leftOut)} ${leftOut === 1 ? "is" : "are"} left out by calendars`;
}

/** How much later some of the runs may start; null where they all may at the time that is shown. */
export function movedRunsText(items: readonly AgendaItem[]): string | null {
  const moves = items.map(({ kind, occurrence, dueAt }) =>
    kind === "cadence" && dueAt !== null ? Date.parse(dueAt) - Date.parse(occurrence) : 0,
  );
  const most = moves.reduce((longest, ms) => Math.max(longest, ms), 0);
  return most === 0
    ? null
    : `A spread or slot moves some of these runs: they are due up to ${spanText(most)} after the time shown.`;
}

/** The only expression of an agenda: `0 9 * * * Europe/Berlin`. */
export function expressionText(counts: AgendaCounts | undefined): string {
  if (counts === undefined) return "…";
  const [only] = counts.items;
  if (only === undefined) return "one without a run in this time";
  return [only.when ?? "single times", only.timezone].filter((part) => part !== null).join(" ");
}

/** Whether the list ends without a row although the expressions of live schedules give some. */
export function isOnlyCounted({ occurrences, leftOut }: AgendaCounts, listed: Listed | undefined): boolean {
  return occurrences > leftOut && listed !== undefined && listed.items.length === 0 && !listed.hasMore;
}

/**
 * A count that ended early has not looked at all runs: the list of the same outcome may have more of them. Then
 * the rows are the least that there is.
 */
export function withListed(
  found: AgendaSchedules,
  outcome: AgendaOutcome | undefined,
  listed: Listed | undefined,
): AgendaSchedules {
  if (outcome === undefined || !found.more || listed === undefined) return found;
  if (listed.items.length <= found.occurrences) return found;
  const schedules = new Set(listed.items.map(({ key }) => key)).size;
  return { ...found, occurrences: listed.items.length, schedules: Math.max(schedules, found.schedules) };
}

/** `58 runs of 13 schedules are held`: the server's count, which is of the whole window. */
export function outcomeText(
  { asOf, occurrences, schedules, more }: AgendaSchedules,
  outcome: AgendaOutcome,
  window: AgendaWindow,
): string {
  const verb = outcomeVerb(outcome, occurrences, tenseOf(window, asOf));
  if (occurrences === 0) return more ? `of the runs that were looked at none ${verb}` : `no run ${verb}`;
  const least = more ? "at least " : "";
  const runs = amountText({ count: occurrences, more: false }, "run");
  const of = amountText({ count: schedules, more: false }, "schedule");
  return `${least}${runs} of ${least}${of} ${verb}`;
}
