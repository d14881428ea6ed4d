import type { SQSBatchResponse, SQSRecord } from "aws-lambda";
import { errorText } from "../log/error-text.ts";
import type { Metrics } from "../log/metrics.ts";
import type { ClaimedParcel } from "../parcel/claim.ts";
import { claimTogether } from "../parcel/claim-together.ts";
import { handOver } from "../parcel/hand-over.ts";
import { parcelOfMessage, type QueueClass } from "../parcel/parcel-queue.ts";
import { type SettleTogether, settleTogether } from "../parcel/settle-together.ts";
import { pageRoom } from "./deliver-in-pages.ts";
import { measuredWork } from "./measure-work.ts";
import { nextTurn } from "./next-turn.ts";
import { quickLeaseMs, startMinMs, workClaimed, workParcel } from "./work-parcel.ts";
import type { WorkerDeps } from "./worker-deps.ts";

/**
 * Works the parcels of a batch of messages side by side. Uncertain means failed: a message leaves
 * the queue only if its parcel certainly came to an end. A message that Carillon did not write is
 * logged and dropped, and harms no other.
 */
export async function workMessages(
  { metrics, ...deps }: WorkerDeps & { metrics?: Metrics | undefined },
  records: readonly SQSRecord[],
  timeLeftMs: () => number,
): Promise<SQSBatchResponse> {
  const measure = metrics === undefined ? undefined : measuredWork();
  const parcels = records.map(({ body }) => parcelOfMessage(body));
  const room = pageRoom();
  const together = {
    claims: await claims(deps, records, parcels, timeLeftMs),
    settle: settleTogether(deps),
  };
  const outcomes = await Promise.allSettled(
    records.map((record, index) =>
      workMessage({ ...deps, measure, room }, record, parcels[index] ?? null, together, timeLeftMs),
    ),
  );
  const [first] = records;
  if (measure !== undefined && first !== undefined)
    metrics?.write(measure.measured(), { queue: queueOf(deps, first) });
  const batchItemFailures = records.flatMap(({ messageId }, index) => {
    const outcome = outcomes[index];
    if (outcome?.status === "fulfilled") return [];
    deps.log.error("worker.failed", { message: messageId, error: errorText(outcome?.reason) });
    return [{ itemIdentifier: messageId }];
  });
  return { batchItemFailures };
}

interface Together {
  /**
   * Parcels that one statement could claim. The first message of a parcel takes the claim, since a
   * message may have come twice.
   */
  claims: Map<string, ClaimedParcel>;
  settle: SettleTogether;
}

async function workMessage(
  deps: WorkerDeps,
  record: SQSRecord,
  parcel: string | null,
  { claims, settle }: Together,
  timeLeftMs: () => number,
): Promise<void> {
  if (parcel === null) {
    deps.log.warn("parcel.odd-message", { message: record.messageId });
    return;
  }
  const queueClass = queueOf(deps, record);
  const next = nextTurn(deps.clock, queueClass);
  const going = { ...deps, next };
  const claimed = claims.get(parcel);
  claims.delete(parcel);
  try {
    await (claimed === undefined
      ? workParcel(going, parcel, queueClass, timeLeftMs)
      : workClaimed({ ...going, settleTogether: settle }, claimed, parcel, queueClass, timeLeftMs));
    for (let kept = next.take(); kept !== undefined; kept = next.take())
      await workParcel(going, kept.id, queueClass, timeLeftMs);
  } finally {
    // If the work failed, the kept parcel goes to another worker.
    const kept = next.take();
    if (kept !== undefined) await handOver(deps.sql, deps.queue, [kept]);
  }
}

/**
 * Claims the parcels of a batch of the fast queue together. A parcel that is not claimed here is
 * claimed when its own message is worked.
 */
async function claims(
  deps: WorkerDeps,
  [first]: readonly SQSRecord[],
  parcels: readonly (string | null)[],
  timeLeftMs: () => number,
): Promise<Together["claims"]> {
  const ids = [...new Set(parcels)].filter((id) => id !== null);
  if (ids.length < 2 || first === undefined || queueOf(deps, first) !== "fast" || timeLeftMs() < startMinMs)
    return new Map();
  try {
    return await claimTogether(deps.sql, ids, quickLeaseMs(timeLeftMs()));
  } catch (error) {
    deps.log.warn("worker.claim-apart", { parcels: ids.join(", "), error: errorText(error) });
    return new Map();
  }
}

/** The same code works both queues; the ARN of a message names its queue. */
function queueOf({ queue }: WorkerDeps, { eventSourceARN }: SQSRecord): QueueClass {
  const name = eventSourceARN.split(":").at(-1);
  return queue.urls.fast.endsWith(`/${name}`) ? "fast" : "slow";
}
