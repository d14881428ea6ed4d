import type { Clock } from "../clock.ts";
import type { Sql } from "../db/connect.ts";
import { jobId } from "../job/job-id.ts";
import type { ParcelEvents } from "../lifecycle/parcel-events.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import { type Claimed, type ClaimedParcel, claimParcel } from "../parcel/claim.ts";
import { endLease } from "../parcel/end-lease.ts";
import { handOver } from "../parcel/hand-over.ts";
import { type ParcelQueue, type QueueClass, sendParcels } from "../parcel/parcel-queue.ts";
import { isPlainSuccess, type Notify, type Settlement, settleParcel } from "../parcel/settle.ts";
import type { SettleTogether } from "../parcel/settle-together.ts";
import type { Deliver } from "../target/delivery.ts";
import { logFailures } from "./log-failures.ts";
import type { MeasuredWork } from "./measure-work.ts";
import { settlement } from "./retry.ts";
import { settleSurely } from "./settle-surely.ts";
import { signsOfLife } from "./signs-of-life.ts";
import { type PulseSending, workPulses } from "./work-pulses.ts";

export interface WorkerDeps {
  sql: Sql;
  queue: ParcelQueue;
  deliver: Deliver;
  clock: Clock;
  log: Log;
  random: () => number;
  /** What the bus is told of. */
  notify: Notify;
  /** Who tells the bus at once; without, the tick does. */
  events?: ParcelEvents | undefined;
  /** Holds schedules at once that a slow parcel's settle wants held; without, the tick does. */
  holdWanted?: ((scheduleIds: readonly string[]) => Promise<void>) | undefined;
  /** Hands over pulses; without, a worker takes none. */
  pulses?: PulseSending | undefined;
  /** Adds up what an invocation does; without, nobody does. */
  measure?: MeasuredWork | undefined;
  /** Settles it with others that were claimed with it; without, each is settled alone. */
  settleTogether?: SettleTogether | undefined;
  /** Of the parcels of one slow target so many may be worked at once by all workers; null for any number. */
  window: number | null;
}

/** A message may come this much before its parcel is ready; one that comes earlier is sent again with its delay. */
const waitMaxMs = 5_000;
/** With less time left than this, nothing is claimed any more. */
export const startMinMs = 3_000;
/** With less time left than this, what follows a settle is left to the tick. */
const tellMinMs = 6_000;
/** The lease of quick deliveries outlives the invocation by this, so that it never ends under a worker that still runs. */
const leaseMarginMs = 2_000;
export const quickLeaseMs = (timeLeftMs: number): number => timeLeftMs + leaseMarginMs;
/** Work that may take long shows signs of life, so that its lease can be short and a crash is noticed soon. */
const slowLeaseMs = 30_000;

/**
 * Claims one parcel, delivers its jobs and settles them. Returns when the message may leave the queue: the parcel is
 * settled, or somebody else's, or the database knows when to offer it again. It throws where that is not proven.
 *
 * Where it has to wait for its turn at its target, or for its time, one of that target that could start is worked meanwhile, should nobody have
 * come for it yet.
 */
export async function workParcel(
  deps: WorkerDeps,
  parcelId: string,
  queueClass: QueueClass,
  timeLeftMs: () => number,
): Promise<void> {
  const meanwhile: Promise<void>[] = [];
  try {
    for (;;) {
      if (timeLeftMs() < startMinMs) return await sendBack(deps, parcelId, queueClass, 0);
      const claimed = await claim(deps, parcelId, queueClass, timeLeftMs());
      const insteadId = "insteadId" in claimed ? claimed.insteadId : undefined;
      if (insteadId !== undefined && timeLeftMs() >= startMinMs) {
        const other = workInstead(deps, insteadId, queueClass, timeLeftMs);
        // Heard at the end; until then its failure is nobody's.
        other.catch(() => {});
        meanwhile.push(other);
      }
      if (claimed.outcome !== "early")
        return await workClaimed(deps, claimed, parcelId, queueClass, timeLeftMs);
      if (claimed.waitMs > Math.min(waitMaxMs, timeLeftMs() - startMinMs))
        return await sendBack(deps, parcelId, queueClass, claimed.waitMs);
      await deps.clock.sleep(claimed.waitMs);
    }
  } finally {
    await Promise.all(meanwhile);
  }
}

async function workInstead(
  deps: WorkerDeps,
  parcelId: string,
  queueClass: QueueClass,
  timeLeftMs: () => number,
): Promise<void> {
  const claimed = await claim(deps, parcelId, queueClass, timeLeftMs());
  await workClaimed(deps, claimed, parcelId, queueClass, timeLeftMs);
}

export async function workClaimed(
  deps: WorkerDeps,
  claimed: Claimed,
  parcelId: string,
  queueClass: QueueClass,
  timeLeftMs: () => number,
): Promise<void> {
  if (claimed.outcome === "claimed") {
    return timeLeftMs() < startMinMs
      ? handBack(deps, claimed)
      : deliverAndSettle(deps, claimed, queueClass, timeLeftMs);
  }
  if (claimed.outcome === "pulses") return workPulses(deps, claimed, timeLeftMs);
  if (claimed.outcome === "ended") return takeOver(deps, parcelId);
}

async function claim(
  deps: WorkerDeps,
  parcelId: string,
  queueClass: QueueClass,
  timeLeftMs: number,
): Promise<Claimed> {
  const claimed =
    queueClass === "slow"
      ? await claimParcel(deps.sql, parcelId, slowLeaseMs, deps.window)
      : await claimParcel(deps.sql, parcelId, quickLeaseMs(timeLeftMs));
  await handOver(deps.sql, deps.queue, claimed.freed);
  return claimed;
}

/** Whoever had the parcel has died: its jobs go on in new ones. */
async function takeOver(deps: WorkerDeps, parcelId: string): Promise<void> {
  const { held, outgoing } = await endLease(deps.sql, parcelId, deps.notify);
  if (held) deps.log.warn("parcel.lease-ended", { parcel: parcelId });
  await handOver(deps.sql, deps.queue, outgoing);
  if (held) await deps.events?.ended();
}

/** A claim that took all the time there was: nothing has started, so the jobs go into a new parcel and no attempt is counted. */
async function handBack(deps: WorkerDeps, parcel: ClaimedParcel): Promise<void> {
  await settle(
    deps,
    parcel,
    parcel.jobs.map(() => ({ kind: "back" })),
  );
}

async function deliverAndSettle(
  deps: WorkerDeps,
  parcel: ClaimedParcel,
  queueClass: QueueClass,
  timeLeftMs: () => number,
): Promise<void> {
  const life = signsOfLife(deps, parcel, queueClass === "slow" ? slowLeaseMs : null);
  const { id, fence, slots } = parcel;
  const context = { parcel: { id, fence }, slots, signalOf: life.signalOf, timeLeftMs };
  const telling = deps.events?.started(parcel);
  const deliveries = await deps.deliver(parcel.jobs, context).finally(life.end);
  const settlements = parcel.jobs.map((job, index) => {
    const delivery = deliveries[index];
    if (delivery === undefined) throw new Error(`There is no outcome for job ${jobId(job)}.`);
    return settlement(job, delivery, deps.random);
  });
  await settle(deps, parcel, settlements);
  await telling;
  if (timeLeftMs() < tellMinMs) return;
  if (queueClass === "slow") await holdWanted(deps, parcel, settlements);
  await deps.events?.settled(settlements);
}

/** Jobs that are dead may be a reason to hold their schedules. They are settled: what fails here is no reason to do them again. */
async function holdWanted(
  deps: WorkerDeps,
  { jobs }: ClaimedParcel,
  settlements: readonly (Settlement | null)[],
): Promise<void> {
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
): Promise<void> {
  if (isPlainSuccess(parcel, settlements) && (await deps.settleTogether?.(parcel))) {
    deps.measure?.settled(parcel, settlements);
    return;
  }
  const { held, outgoing } = await settleSurely(deps.log, parcel.id, () =>
    settleParcel(deps.sql, parcel, settlements, deps.notify),
  );
  if (!held) {
    deps.log.warn("worker.lease-lost", { parcel: parcel.id });
    return;
  }
  logFailures(deps.log, parcel, settlements);
  deps.measure?.settled(parcel, settlements);
  await handOver(deps.sql, deps.queue, outgoing);
}

/** Puts the parcel's message back on its queue, one for one. */
async function sendBack(
  { queue }: WorkerDeps,
  id: string,
  queueClass: QueueClass,
  waitMs: number,
): Promise<void> {
  const sent = await sendParcels(queue, [{ id, queue: queueClass, waitMs }]);
  if (sent.length === 0) throw new Error(`Parcel ${id} could not be put back on its queue.`);
}
