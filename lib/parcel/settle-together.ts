import type { Sql } from "../db/connect.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import type { ClaimedParcel } from "./claim.ts";
import type { Notify } from "./settle.ts";

/** Whether it was settled with others; where it was not, nothing was written, and it is to be settled alone. */
export type SettleTogether = (parcel: Pick<ClaimedParcel, "id" | "fence">) => Promise<boolean>;

interface Waiting {
  id: string;
  fence: number;
  settled: (isSettled: boolean) => void;
}

/** Settles parcels whose jobs have all succeeded: those together that are through at the same moment, or while those before them are settled. */
export function settleTogether(deps: { sql: Sql; log: Log; notify: Notify }): SettleTogether {
  let waiting: Waiting[] = [];
  let isUnderWay = false;

  async function settleWaiting(): Promise<void> {
    const together = waiting;
    waiting = [];
    const settled = together.length === 1 ? new Set<string>() : await settleAll(deps, together);
    for (const each of together) each.settled(settled.has(each.id));
  }

  async function settleUntilNoneWaits(): Promise<void> {
    isUnderWay = true;
    // What was delivered in the same turn of the event loop comes along.
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0) await settleWaiting();
    isUnderWay = false;
  }

  return ({ id, fence }) =>
    new Promise((settled) => {
      waiting.push({ id, fence, settled });
      if (!isUnderWay) void settleUntilNoneWaits();
    });
}

/** The ids of those that are settled. Where the statement fails none is: each is settled alone then, and says why it cannot be. */
async function settleAll(
  { sql, log, notify }: { sql: Sql; log: Log; notify: Notify },
  parcels: readonly Waiting[],
): Promise<Set<string>> {
  const ids = parcels.map(({ id }) => id);
  const fences = parcels.map(({ fence }) => fence);
  try {
    const rows = await sql<{ id: string }[]>`
      select id from carillon.settle_parcels(${ids}::bigint[], ${fences}::int[], ${[...notify]}::text[]) id`;
    return new Set(rows.map(({ id }) => id));
  } catch (error) {
    log.warn("worker.settle-apart", { parcels: ids.join(", "), error: errorText(error) });
    return new Set();
  }
}
