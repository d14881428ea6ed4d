import { errorText } from "../log/error-text.ts";
import { type Claimed, claimParcel } from "../parcel/claim.ts";
import { setClaimAside } from "../parcel/claims-aside.ts";
import { endLease } from "../parcel/end-lease.ts";
import { handOver } from "../parcel/hand-over.ts";
import { type QueueClass, sendParcels } from "../parcel/parcel-queue.ts";
import { splitParcel } from "../parcel/split-parcel.ts";
import { mayBeOfARow } from "../quarantine/in-halves.ts";
import { logSetAside } from "../quarantine/quarantine.ts";
import { handBack, slowLeaseMs, workJobs } from "./work-jobs.ts";
import { workPulses } from "./work-pulses.ts";
import type { WorkerDeps } from "./worker-deps.ts";

/**
 * A message may come this much before its parcel is ready; an earlier one is sent again with a
 * delay.
 */
const waitMaxMs = 5_000;
/** With less time left than this, nothing more is claimed. */
export const startMinMs = 3_000;
/**
 * The lease of quick deliveries outlives the invocation by this, so that it never ends under a
 * running worker.
 */
const leaseMarginMs = 2_000;
export const quickLeaseMs = (timeLeftMs: number): number => timeLeftMs + leaseMarginMs;

/**
 * Claims one parcel, delivers its jobs and settles them. Returns when the message may leave the
 * queue: the parcel is settled, or another worker has it, or the database knows when to offer it
 * again. Throws if this is not certain.
 *
 * If the parcel has to wait, for its turn at its target or for its time, an unclaimed parcel of
 * that target that could start is worked meanwhile.
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
      const claimed = await claim(deps, parcelId, queueClass, timeLeftMs);
      const insteadId = "insteadId" in claimed ? claimed.insteadId : undefined;
      if (insteadId !== undefined && timeLeftMs() >= startMinMs) {
        // A parcel that the other one lets start must not wait for the one that is worked here
        // afterwards.
        const isLast = claimed.outcome !== "early" && meanwhile.length === 0;
        const other = workInstead(
          isLast ? deps : { ...deps, next: undefined },
          insteadId,
          queueClass,
          timeLeftMs,
        );
        // Awaited in `finally`. The empty handler avoids an unhandled rejection until then.
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
  const claimed = await claim(deps, parcelId, queueClass, timeLeftMs);
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
      ? handBack(deps, claimed, timeLeftMs)
      : workJobs(deps, claimed, { queueClass, timeLeftMs });
  }
  if (claimed.outcome === "pulses") return workPulses(deps, claimed, timeLeftMs);
  if (claimed.outcome === "ended") return takeOver(deps, parcelId, timeLeftMs);
}

async function claim(
  deps: WorkerDeps,
  parcelId: string,
  queueClass: QueueClass,
  timeLeftMs: () => number,
): Promise<Claimed> {
  try {
    const claimed =
      queueClass === "slow"
        ? await claimParcel(deps.sql, parcelId, slowLeaseMs, deps.window)
        : await claimParcel(deps.sql, parcelId, quickLeaseMs(timeLeftMs()));
    if ("setAside" in claimed) logSetAside(deps.log, "claim", claimed.setAside);
    await handOver(deps.sql, deps.queue, claimed.freed);
    return claimed;
  } catch (error) {
    if (mayBeOfARow(error) && (await isKeptForLater(deps, parcelId, error, timeLeftMs)))
      return { outcome: "aside", waitMs: 0, freed: [] };
    throw error;
  }
}

/**
 * One job may keep its whole parcel from being claimed: the parcel is split, and the message comes
 * again for the jobs that stay in it. A parcel that cannot be split is set aside, and its message
 * can leave the queue.
 */
async function isKeptForLater(
  { sql, queue, log }: WorkerDeps,
  parcelId: string,
  cause: unknown,
  timeLeftMs: () => number,
): Promise<boolean> {
  try {
    const parts = await splitParcel(sql, parcelId, () => timeLeftMs() < startMinMs);
    if (parts.length === 0) return await setClaimAside({ sql, log }, parcelId, cause);
    log.warn("parcel.split", { parcel: parcelId, parts: parts.length, error: errorText(cause) });
    await handOver(sql, queue, parts);
  } catch (error) {
    log.warn("parcel.split-failed", { parcel: parcelId, error: errorText(error) });
  }
  return false;
}

/**
 * The worker of the parcel has died: its jobs move into new parcels. The sweep of the next tick
 * tries those again that cannot be moved.
 */
async function takeOver(deps: WorkerDeps, parcelId: string, timeLeftMs: () => number): Promise<void> {
  const { held, outgoing, error } = await endLease(
    deps,
    parcelId,
    deps.notify,
    () => timeLeftMs() < startMinMs,
  );
  if (held) deps.log.warn("parcel.lease-ended", { parcel: parcelId });
  if (error !== undefined) deps.log.warn("parcel.lease-left", { parcel: parcelId, error: errorText(error) });
  await handOver(deps.sql, deps.queue, outgoing);
  if (held) await deps.events?.ended();
}

/** Puts the parcel's message back on its queue, one for one. */
async function sendBack(
  { queue }: WorkerDeps,
  id: string,
  queueClass: QueueClass,
  waitMs: number,
): Promise<void> {
  const { sent } = await sendParcels(queue, [{ id, queue: queueClass, waitMs }]);
  if (sent.length === 0) throw new Error(`Parcel ${id} could not be put back on its queue.`);
}
