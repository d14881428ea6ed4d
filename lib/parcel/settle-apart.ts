import { boundStatements } from "../db/bounded.ts";
import type { Sql } from "../db/connect.ts";
import { waitBriefly } from "../db/locks.ts";
import { isRefusedValue } from "../db/sql-state.ts";
import type { Log } from "../log/log.ts";
import { inHalves } from "../quarantine/in-halves.ts";
import type { ClaimedParcel } from "./claim.ts";
import { leaveParcel } from "./leave-parcel.ts";
import { type Measured, ownTimes } from "./own-times.ts";
import type { OutgoingParcel } from "./parcel-queue.ts";
import {
  attachDaysOf,
  type Notify,
  type Settled,
  type Settlement,
  type SettleRow,
  settledOf,
  settlementLists,
} from "./settle.ts";

type Settlements = readonly (Settlement | null)[];

export interface Unsettled {
  /** The position in the parcel. */
  place: number;
  /** Why it could not be written; undefined if the time was up before it was tried. */
  error?: unknown;
}

export interface SettledApart extends Settled {
  /** The settlements as they were written. */
  settlements: Settlements;
  unsettled: readonly Unsettled[];
}

export interface ApartDeps {
  sql: Sql;
  log: Log;
  notify: Notify;
  /** The result to write instead if the database refuses a value of a job's result. */
  bare: (place: number) => Settlement | null;
  timeIsUp: () => boolean;
  measured?: Measured | undefined;
}

/**
 * Settles the jobs of a parcel in halves, so that a job that cannot be written keeps no neighbour
 * from being settled. Such a job stays in the parcel. The parcel gives up its lanes and its place
 * at its target, and its lease ends: the next tick tries to take the job from it, sets the parcel
 * aside if that fails, and the job is delivered again once it can be written. A parcel without a
 * writable job is left unchanged.
 */
export async function settleApart(
  { sql, log, notify, bare, timeIsUp, measured }: ApartDeps,
  parcel: ClaimedParcel,
  /** Null for a job that its own transaction has settled. */
  settlements: Settlements,
): Promise<SettledApart> {
  const written = [...settlements];
  const outgoing: OutgoingParcel[] = [];
  let held = true;
  const settle = (places: readonly number[]) =>
    inHalves(
      places,
      async (part) => {
        const some = await settleSome(sql, parcel, onlyAt(part, written), { notify, measured });
        held &&= some.held;
        outgoing.push(...some.outgoing);
      },
      timeIsUp,
    );
  const places = settlements.flatMap((each, place) => (each === null ? [] : [place]));
  const first = await settle(places);
  const refused = first.failed.filter(({ error }) => isRefusedValue(error)).map(({ item }) => item);
  for (const place of refused) written[place] = bare(place);
  const second = await settle(refused);
  const failed = [...first.failed.filter(({ item }) => !refused.includes(item)), ...second.failed];
  const unsettled = [
    ...failed.map(({ item, error }) => ({ place: item, error })),
    ...[...first.left, ...second.left].map((place) => ({ place })),
  ];
  const isAnySettled = unsettled.length < places.length || places.length === 0;
  if (held && isAnySettled)
    outgoing.push(...(await leaveParcel({ sql, log }, parcel.id, parcel.fence, timeIsUp)));
  return { held, outgoing, settlements: written, unsettled };
}

const onlyAt = (places: readonly number[], settlements: Settlements): Settlements => {
  const wanted = new Set(places);
  return settlements.map((each, place) => (wanted.has(place) ? each : null));
};

/**
 * Waits only briefly for a locked job or a hanging statement, since it meets each job at fault
 * again and again: about sixteen parts of a parcel of 250 jobs contain the job.
 */
async function settleSome(
  sql: Sql,
  parcel: ClaimedParcel,
  settlements: Settlements,
  { notify, measured }: Pick<ApartDeps, "notify" | "measured">,
): Promise<Settled> {
  await attachDaysOf(sql, settlements);
  const rows = await sql.begin(async (tx) => {
    await waitBriefly(tx);
    await boundStatements(tx);
    return tx<SettleRow[]>`
      select settled, id, queue, coalesce(greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000), 0)::float8 as "waitMs"
      from carillon.settle_some(${parcel.id}, ${parcel.fence}, ${[...notify]}::text[], ${settlementLists(tx, parcel, settlements, ownTimes(measured))})`;
  });
  return settledOf(rows);
}
