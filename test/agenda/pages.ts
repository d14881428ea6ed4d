import { expect } from "vitest";
import { type AgendaPlace, agendaPlaceText, readAgenda, readAgendaPlace } from "../../lib/agenda/agenda.ts";
import type { AgendaOutcome } from "../../lib/agenda/outcomes.ts";
import type { AgendaFilter, AgendaRow } from "../../lib/agenda/window.ts";
import type { Sql } from "../../lib/db/connect.ts";

const pagesMax = 2_000;

/** All rows of an agenda, page by page. Fails if a page begins where an earlier one did. */
export async function agendaPages(
  sql: Sql,
  filter: AgendaFilter,
  [from, to]: readonly [Date, Date],
  limit: number,
  outcome?: AgendaOutcome,
): Promise<AgendaRow[]> {
  const rows: AgendaRow[] = [];
  const places = new Set<string>();
  let after: AgendaPlace | undefined;
  for (let page = 0; page < pagesMax; page++) {
    const window = { from: from.getTime(), to: to.getTime() };
    const read = await readAgenda(sql, { window, filter, outcome, after, limit });
    expect(read.items.length).toBeLessThanOrEqual(limit);
    rows.push(...read.items);
    if (read.next === undefined) return rows;
    const text = agendaPlaceText(read.next);
    expect(places).not.toContain(text);
    places.add(text);
    after = readAgendaPlace(text) ?? undefined;
    expect(after).toEqual(read.next);
  }
  throw new Error("The agenda does not end.");
}

/** Each row as `10:04:00 key skipped paused`. */
export const shown = (rows: readonly AgendaRow[]): string[] =>
  rows.map(({ occurrence, key, outcome, reason }) =>
    [occurrence.toISOString().slice(11, 19), key, outcome, reason].filter((each) => each !== null).join(" "),
  );
