import { jobId } from "../job/job-id.ts";
import { errorText } from "../log/error-text.ts";
import type { ClaimedParcel } from "../parcel/claim.ts";
import { claimCompany } from "../parcel/claim-together.ts";
import type { ClaimedJob } from "../parcel/claimed-job.ts";
import { handOver } from "../parcel/hand-over.ts";
import type { Measured, Ran } from "../parcel/own-times.ts";
import { type QueueClass, sideBySideMax } from "../parcel/parcel-queue.ts";
import { isPlainSuccess, type Settlement } from "../parcel/settle.ts";
import { settleTogether } from "../parcel/settle-together.ts";
import { Places } from "../target/places.ts";
import { turnMs } from "../target/side-by-side.ts";
import { deliverInPages } from "./deliver-in-pages.ts";
import { logFailures } from "./log-failures.ts";
import { settlement } from "./retry.ts";
import { type SettledJobs, settleTaken } from "./settle-taken.ts";
import { signsOfLife, workOver } from "./signs-of-life.ts";
import type { WorkerDeps } from "./worker-deps.ts";

/** With less time left than this, the work after a settle is left to the tick. */
const tellMinMs = 6_000;
/**
 * Work that may take long renews its lease, so that the lease can be short and a crash is noticed
 * soon.
 */
export const slowLeaseMs = 30_000;

export interface Work {
  queueClass: QueueClass;
  timeLeftMs: () => number;
}

interface Delivered {
  settlements: (Settlement | null)[];
  measured: Measured;
  /** Resolves when the bus has answered to the events of the start. */
  telling: Promise<void> | undefined;
}

/** Delivers the jobs of a claimed parcel and settles them. */
export async function workJobs(deps: WorkerDeps, claimed: ClaimedParcel, work: Work): Promise<void> {
  if (claimed.company > 0 && work.timeLeftMs() >= companyMinMs) return workWithCompany(deps, claimed, work);
  await settleDelivered(deps, claimed, await deliver(deps, claimed, work), work);
}

/** With less time left than this, no company is claimed: its jobs might not start any more. */
const companyMinMs = 40_000;
/** How long finished parcels wait for the others of their company, to be settled together. */
const gatherMs = 1_000;

/**
 * Works a parcel of quick jobs together with parcels that wait at its target or could start there;
 * its own jobs begin before those are claimed. One claim and one settle serve all of them. They
 * share the worker's places, so that a job that hangs keeps only one place. The claimed parcel is
 * settled when all have finished: its place at the target is theirs.
 */
async function workWithCompany(deps: WorkerDeps, claimed: ClaimedParcel, work: Work): Promise<void> {
  const places = new Places(sideBySideMax);
  // No `next`: the worker goes on with a kept parcel only after the claimed one is settled, which
  // comes last. Parcels that other settles let start must not wait for that, and are sent.
  const together = {
    ...deps,
    next: undefined,
    settleTogether: settleTogether({ ...deps, keep: deps.next?.keep }, 1),
  };
  const everyone = Promise.withResolvers<void>();
  // How many have not finished, of two: the claimed parcel, and its company as a whole.
  let left = 2;
  const through = () => {
    left -= 1;
    if (left === 0) everyone.resolve();
  };
  const workOne = async (parcel: ClaimedParcel, until: Promise<void>) => {
    const delivered = await deliver(together, parcel, work, { places, through, until });
    await settleDelivered(together, parcel, delivered, work);
  };
  const over = new AbortController();
  const workOthers = async () => {
    const company = await claimedCompany(deps, claimed);
    left += company.length;
    through();
    const aMoment = Promise.race([everyone.promise, deps.clock.sleep(gatherMs, over.signal)]);
    // A job without a place by then goes back, like a job that has not begun when its own parcel's
    // time is up.
    void deps.clock.sleep(turnMs, over.signal).then(() => places.close());
    // The same for a job without room for its payload: a handler may take ten minutes, and keeps
    // its page for as long.
    void deps.clock.sleep(turnMs, over.signal).then(() => deps.room?.close());
    return Promise.allSettled(company.map((parcel) => workOne(parcel, aMoment)));
  };
  const [own, others] = await Promise.all([
    Promise.allSettled([workOne(claimed, everyone.promise)]),
    workOthers(),
  ]);
  over.abort(workOver);
  for (const end of [...own, ...others]) if (end.status === "rejected") throw end.reason;
}

/** A failed claim is no harm: the others are claimed later, and the parcel is worked alone. */
async function claimedCompany({ sql, log }: WorkerDeps, claimed: ClaimedParcel): Promise<ClaimedParcel[]> {
  try {
    return await claimCompany(sql, claimed, slowLeaseMs);
  } catch (error) {
    log.warn("worker.company-left", { parcel: claimed.id, error: errorText(error) });
    return [];
  }
}

/**
 * The company of a parcel that the same worker works: `through` reports that its own jobs have
 * finished, and `until` delays its settle.
 */
interface Company {
  places: Places;
  through: () => void;
  until: Promise<void>;
}

export async function deliver(
  deps: WorkerDeps,
  parcel: ClaimedParcel,
  { queueClass, timeLeftMs }: Work,
  company?: Company,
): Promise<Delivered> {
  const life = signsOfLife(deps, parcel, queueClass === "slow" ? slowLeaseMs : null);
  const { id, fence, slots } = parcel;
  const places = company?.places ?? new Places(slots);
  const ran = new Map<ClaimedJob, Ran>();
  const worked = (job: ClaimedJob, own: Ran) => void ran.set(job, own);
  const context = { parcel: { id, fence }, places, stopOf: life.stopOf, timeLeftMs, worked };
  const telling = deps.events?.started(parcel);
  const now = () => deps.clock.now().getTime();
  const claimedAt = now();
  try {
    const delivering = deliverInPages(deps, parcel, context, queueClass === "slow");
    const deliveries = await delivering.finally(company?.through);
    await company?.until;
    const settlements = parcel.jobs.map((job, index) => {
      const delivery = deliveries[index];
      if (delivery === undefined) throw new Error(`There is no outcome for job ${jobId(job)}.`);
      return settlement(job, delivery, deps.random);
    });
    return {
      settlements,
      measured: { claimedAt, ran: parcel.jobs.map((job) => ran.get(job)), now },
      telling,
    };
  } finally {
    life.end();
  }
}

async function settleDelivered(
  deps: WorkerDeps,
  parcel: ClaimedParcel,
  { settlements, measured, telling }: Delivered,
  { queueClass, timeLeftMs }: Work,
): Promise<void> {
  const settled = await settle(deps, parcel, settlements, { timeLeftMs, measured });
  await telling;
  if (timeLeftMs() < tellMinMs) return;
  if (queueClass === "slow") await holdWanted(deps, settled);
  await deps.events?.settled(settled.settlements);
}

/**
 * Holds schedules whose dead jobs ask for it. The jobs are settled, so a failure here must not
 * repeat them.
 */
export async function holdWanted(deps: WorkerDeps, { jobs, settlements }: SettledJobs): Promise<void> {
  const dead = jobs.filter((_, index) => settlements[index]?.kind === "dead");
  if (dead.length === 0) return;
  try {
    await deps.holdWanted?.([...new Set(dead.map(({ scheduleId }) => scheduleId))]);
  } catch (error) {
    deps.log.warn("lifecycle.holds-left", { error: errorText(error) });
  }
}

async function settle(
  deps: WorkerDeps,
  parcel: ClaimedParcel,
  settlements: readonly (Settlement | null)[],
  work: { timeLeftMs: () => number; measured?: Measured },
): Promise<SettledJobs> {
  if (isPlainSuccess(parcel, settlements) && (await deps.settleTogether?.(parcel, work.measured))) {
    deps.measure?.settled(parcel, settlements);
    return { jobs: parcel.jobs, settlements };
  }
  const { held, outgoing, ...settled } = await settleTaken(deps, parcel, settlements, work);
  if (!held) {
    deps.log.warn("worker.lease-lost", { parcel: parcel.id });
    return settled;
  }
  logFailures(deps.log, { id: parcel.id, ...settled });
  deps.measure?.settled({ ...parcel, jobs: settled.jobs }, settled.settlements);
  await handOver(deps.sql, deps.queue, deps.next?.keep(outgoing) ?? outgoing);
  return settled;
}

/**
 * Hands a parcel back whose claim took all the time left: nothing has started, so the jobs go into
 * a new parcel and no attempt is counted.
 */
export async function handBack(
  deps: WorkerDeps,
  parcel: ClaimedParcel,
  timeLeftMs: () => number,
): Promise<void> {
  const back = parcel.jobs.map(() => ({ kind: "back" }) as const);
  await settle(deps, parcel, back, { timeLeftMs });
}
