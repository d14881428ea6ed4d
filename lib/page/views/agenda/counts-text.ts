import type { AgendaCounts, AgendaOutcome } from "../../../client/agenda.ts";
import { amountText } from "../../data/amounts.ts";
import { lookOf } from "../../data/outcomes.ts";

/** The rows of the list that have arrived. */
export interface Listed {
  rows: number;
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
  if (outcome !== undefined && listed !== undefined)
    return `${listedText(listed, lookOf(outcome).word)} · ${all}`;
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
  return occurrences > 0 && listed !== undefined && listed.rows === 0 && !listed.hasMore;
}

function listedText({ rows, hasMore }: Listed, word: string): string {
  if (rows === 0) return hasMore ? `still searching for “${word}”` : `no row with “${word}”`;
  const amount = `${amountText({ count: rows, more: false }, "row")} with “${word}”`;
  return hasMore ? `the first ${amount}, more below` : `${amount}, all there are`;
}
