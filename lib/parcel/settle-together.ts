import type { Sql } from "../db/connect.ts";
import { keptPlan } from "../db/statement.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import type { ClaimedParcel } from "./claim.ts";
import { handOver } from "./hand-over.ts";
import { leavePlaces } from "./leave-parcel.ts";
import { type Measured, sharedTimes } from "./own-times.ts";
import type { OutgoingParcel, ParcelQueue } from "./parcel-queue.ts";
import type { Notify } from "./settle.ts";

/**
 * True if the parcel was settled with others. If false nothing was written, and it has to be
 * settled alone.
 */
export type SettleTogether = (
  parcel: Pick<ClaimedParcel, "id" | "fence" | "jobs">,
  measured?: Measured,
) => Promise<boolean>;

interface SettleDeps {
  sql: Sql;
  queue: ParcelQueue;
  log: Log;
  notify: Notify;
  /**
   * Gets the parcels that have their turn. Keeps those that the worker goes on with itself, and
   * returns the others, to be sent.
   */
  keep?: ((turns: readonly OutgoingParcel[]) => readonly OutgoingParcel[]) | undefined;
}

interface Waiting extends Pick<ClaimedParcel, "id" | "fence" | "jobs"> {
  measured: Measured | undefined;
  settled: (isSettled: boolean) => void;
}

/**
 * Settles several parcels by one statement, if all jobs of each have succeeded: those that finish
 * at the same moment, or while earlier ones are being settled. Fewer than `fewest` are left to be
 * settled alone, and so is a parcel whose jobs ended at different times.
 */
export function settleTogether(deps: SettleDeps, fewest = 2): SettleTogether {
  let waiting: Waiting[] = [];
  let isUnderWay = false;

  async function settleWaiting(): Promise<void> {
    const together = waiting;
    waiting = [];
    const settled = together.length < fewest ? new Set<string>() : await settleAll(deps, together);
    for (const each of together) each.settled(settled.has(each.id));
  }

  async function settleUntilNoneWaits(): Promise<void> {
    isUnderWay = true;
    // Includes parcels that finish in the same turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0) await settleWaiting();
    isUnderWay = false;
  }

  return ({ id, fence, jobs }, measured) =>
    new Promise((settled) => {
      if (sharedTimes(measured) === null) return settled(false);
      waiting.push({ id, fence, jobs, measured, settled });
      if (!isUnderWay) void settleUntilNoneWaits();
    });
}

type Row = { settled: string; leftTarget: null } | { settled: null; leftTarget: number };

/**
 * The ids of the settled parcels. If the statement fails there are none: each parcel is settled
 * alone then, which reports its error.
 */
async function settleAll(deps: SettleDeps, parcels: readonly Waiting[]): Promise<Set<string>> {
  const { sql, log, notify } = deps;
  const ids = parcels.map(({ id }) => id);
  const fences = parcels.map(({ fence }) => fence);
  const times = parcels.map(({ measured }) => sharedTimes(measured));
  let rows: Row[];
  try {
    rows = await keptPlan(sql<Row[]>`
      select settled, left_target as "leftTarget"
      from carillon.settle_parcels(${ids}::bigint[], ${fences}::int[], ${[...notify]}::text[],
        ${times.map((each) => each?.startedMs ?? null)}::int[], ${times.map((each) => each?.endedMs ?? 0)}::int[])`);
  } catch (error) {
    log.warn("worker.settle-apart", { parcels: ids.join(", "), error: errorText(error) });
    return new Set();
  }
  for (const { leftTarget } of rows) if (leftTarget !== null) await handOverPlaces(deps, leftTarget);
  return new Set(rows.flatMap(({ settled }) => settled ?? []));
}

/**
 * Gives the free places of a target to waiting parcels, and sends these. A failure does not undo
 * the settle: the next tick gives the turns that are left.
 */
async function handOverPlaces(deps: SettleDeps, target: number): Promise<void> {
  const { sql, queue, log, keep } = deps;
  const turns = await leavePlaces(deps, target);
  try {
    await handOver(sql, queue, keep?.(turns) ?? turns);
  } catch (error) {
    log.warn("worker.turns-left", { target, error: errorText(error) });
  }
}
