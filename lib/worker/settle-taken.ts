import { isRefusedValue } from "../db/sql-state.ts";
import { jobId } from "../job/job-id.ts";
import { errorText } from "../log/error-text.ts";
import type { ClaimedParcel } from "../parcel/claim.ts";
import type { ClaimedJob } from "../parcel/claimed-job.ts";
import type { Measured } from "../parcel/own-times.ts";
import { type Settled, type Settlement, settleParcel } from "../parcel/settle.ts";
import { settleApart, type Unsettled } from "../parcel/settle-apart.ts";
import { mayBeOfARow } from "../quarantine/in-halves.ts";
import { failed } from "../target/delivery.ts";
import { settlement } from "./retry.ts";
import { settleSurely } from "./settle-surely.ts";
import type { WorkerDeps } from "./worker-deps.ts";

type Settlements = readonly (Settlement | null)[];

/** Settled jobs, and their settlements. */
export interface SettledJobs {
  jobs: ClaimedJob[];
  settlements: Settlements;
}

/**
 * With less time left than this, no further part is tried: the jobs of the remaining parts are
 * delivered again when the lease has ended.
 */
const partMinMs = 4_000;
/**
 * The longest time for all parts. A parcel with a job whose row is locked or hangs has about
 * sixteen parts that fail.
 */
const partsMaxMs = 20_000;

/**
 * Settles a parcel. If that fails and one job may be at fault, the jobs are settled in halves: a
 * job whose result has a value that the database refuses is written without the values of its
 * target, a job that cannot be written at all stays unsettled, and the others are not delivered
 * again.
 */
export async function settleTaken(
  deps: WorkerDeps,
  parcel: ClaimedParcel,
  settlements: Settlements,
  { timeLeftMs, measured }: { timeLeftMs: () => number; measured?: Measured | undefined },
): Promise<Settled & SettledJobs> {
  const { sql, log, notify, random, clock } = deps;
  try {
    const settled = await settleSurely(log, parcel.id, () =>
      settleParcel(sql, parcel, settlements, notify, measured),
    );
    return { ...settled, jobs: parcel.jobs, settlements };
  } catch (cause) {
    const mayBeValue = isRefusedValue(cause);
    if (!mayBeValue && !mayBeOfARow(cause)) throw cause;
    log.error("worker.settle-halves", { parcel: parcel.id, error: errorText(cause) });
    const until = clock.now().getTime() + partsMaxMs;
    const timeIsUp = () => timeLeftMs() < partMinMs || clock.now().getTime() > until;
    const bare = (place: number) => bareOf(parcel.jobs[place], settlements[place] ?? null, random);
    const apart = await settleApart({ sql, log, notify, bare, timeIsUp, measured }, parcel, settlements);
    const tried = settlements.filter((each) => each !== null).length;
    if (tried > 0 && apart.unsettled.length === tried) throw cause;
    logUnsettled(deps, parcel, apart.unsettled);
    const left = new Set(apart.unsettled.map(({ place }) => place));
    const isSettled = (_: unknown, place: number) => !left.has(place);
    const jobs = parcel.jobs.filter(isSettled);
    return {
      held: apart.held,
      outgoing: apart.outgoing,
      jobs,
      settlements: apart.settlements.filter(isSettled),
    };
  }
}

function logUnsettled(
  { log }: WorkerDeps,
  { id, jobs }: ClaimedParcel,
  unsettled: readonly Unsettled[],
): void {
  for (const { place, error = "there was no time left" } of unsettled) {
    const job = jobs[place];
    if (job !== undefined)
      log.error("job.unsettled", { job: jobId(job), key: job.key, parcel: id, error: errorText(error) });
  }
}

const untold = "Its result could not be stored: the database refused it.";

function bareOf(
  job: ClaimedParcel["jobs"][number] | undefined,
  each: Settlement | null,
  random: () => number,
): Settlement | null {
  if (job === undefined || each === null) return each;
  if (each.kind === "dead") return { ...each, error: untold, errorClass: undefined, stack: undefined };
  return each.kind === "again" || each.kind === "retry" ? settlement(job, failed(untold), random) : each;
}
