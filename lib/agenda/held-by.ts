import type { Tx } from "../db/connect.ts";
import { standingBy } from "../explain/holds-then.ts";
import { holdsOf } from "../schedule/holds.ts";
import type { AgendaRow } from "./window.ts";

/** The rows of a page, the held ones with their holds. The holds are read by one statement. */
export async function withHolds(tx: Tx, rows: readonly AgendaRow[]): Promise<AgendaRow[]> {
  const held = rows.filter(({ outcome }) => outcome === "held");
  if (held.length === 0) return [...rows];
  const holds = await holdsOf(tx, [...new Set(held.map(({ scheduleId }) => scheduleId))]);
  return rows.map((row) => {
    const own = row.outcome === "held" ? holds.get(row.scheduleId) : undefined;
    if (own === undefined) return row;
    return { ...row, heldBy: standingBy({ holds: own }, (row.dueAt ?? row.occurrence).getTime()) };
  });
}
