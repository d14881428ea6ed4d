import type { OutageKind } from "../../parcel/outages.ts";
import type { Run } from "../run.ts";

interface Noted {
  what: OutageKind;
  from: Date;
  to: Date | null;
}

/**
 * Marks that this tick has fired, and keeps the ledger of outages: one statement, which finds
 * nothing in nearly all minutes. A failure leaves the mark to the next tick. `began` is when this tick
 * first read the database's clock; null if it could not.
 */
export async function noteTick({ sql, log, settings, reach, note }: Run, began: Date | null): Promise<void> {
  try {
    const noted = await sql<Noted[]>`
      select what, from_at as "from", to_at as "to"
      from carillon.note_tick(${reach?.failed === true}, make_interval(days => ${settings.retentionDays}), ${began}::timestamptz)`;
    if (reach !== undefined) reach.failed = false;
    for (const { what, from, to } of noted)
      log.warn(to === null ? "tick.outage" : "tick.outage-over", {
        what,
        from: from.toISOString(),
        ...(to === null ? {} : { to: to.toISOString() }),
      });
  } catch (error) {
    note(error);
  }
}
