import { isRefusedValue } from "../db/sql-state.ts";
import { errorText } from "../log/error-text.ts";
import type { ClaimedParcel } from "../parcel/claim.ts";
import { type Settled, type Settlement, settleParcel } from "../parcel/settle.ts";
import { failed } from "../target/delivery.ts";
import { settlement } from "./retry.ts";
import { settleSurely } from "./settle-surely.ts";
import type { WorkerDeps } from "./work-jobs.ts";

type Settlements = readonly (Settlement | null)[];

interface Written extends Settled {
  /** As they were written down. */
  settlements: Settlements;
}

/**
 * Settles a parcel. Where the database does not take a value of one job's result, no neighbour is delivered again for it: the results
 * that carry values of a target are written down without them.
 */
export async function settleTaken(
  { sql, log, notify, random }: WorkerDeps,
  parcel: ClaimedParcel,
  settlements: Settlements,
): Promise<Written> {
  const settle = async (results: Settlements): Promise<Written> => ({
    ...(await settleSurely(log, parcel.id, () => settleParcel(sql, parcel, results, notify))),
    settlements: results,
  });
  try {
    return await settle(settlements);
  } catch (error) {
    if (!isRefusedValue(error)) throw error;
    log.error("worker.settle-bare", { parcel: parcel.id, error: errorText(error) });
    return settle(settlements.map((each, index) => bare(parcel.jobs[index], each, random)));
  }
}

const untold = "Its result could not be written down: the database did not take it.";

function bare(
  job: ClaimedParcel["jobs"][number] | undefined,
  each: Settlement | null,
  random: () => number,
): Settlement | null {
  if (job === undefined || each === null) return each;
  if (each.kind === "dead") return { ...each, error: untold, errorClass: undefined, stack: undefined };
  return each.kind === "again" || each.kind === "retry" ? settlement(job, failed(untold), random) : each;
}
