import { type AgendaFilter, type AgendaOutcome, agendaOutcomes } from "../../../client/agenda.ts";
import { choiceIn, textsIn } from "../../data/search-texts.ts";

/** The window and its filter in the address. Instants are absolute, so that a link shows the same. */
export interface AgendaSearch {
  from?: string | undefined;
  to?: string | undefined;
  prefix?: string | undefined;
  tag?: string | undefined;
  group?: string | undefined;
  target?: string | undefined;
  outcome?: AgendaOutcome | undefined;
  /** One expression, by the name that the counts have of it. */
  rule?: string | undefined;
  /** One row for each expression instead of one for each occurrence. */
  rows?: "expressions" | undefined;
}

export function readAgendaSearch(search: Record<string, unknown>): AgendaSearch {
  const rows = choiceIn(search, "rows", ["expressions"]);
  const outcome = choiceIn(search, "outcome", agendaOutcomes);
  return {
    ...textsIn(search, ["from", "to", "prefix", "tag", "group", "target", "rule"]),
    ...(outcome === undefined ? {} : { outcome }),
    ...(rows === undefined ? {} : { rows }),
  };
}

const minuteMs = 60_000;
const defaultMs = 60 * minuteMs;

/** Without a window in the address: the coming hour, from the begun minute on. */
export function windowOf({ from, to, rows: _, ...filter }: AgendaSearch, now: number): AgendaFilter {
  const begin = from ?? new Date(Math.floor(now / minuteMs) * minuteMs).toISOString();
  return { ...filter, from: begin, to: to ?? new Date(Date.parse(begin) + defaultMs).toISOString() };
}
