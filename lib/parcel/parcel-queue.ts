import { SendMessageBatchCommand, type SQSClient } from "@aws-sdk/client-sqs";
import type { Timing } from "../clock.ts";
import { gotNoAnswer } from "../config/aws.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";

export type QueueClass = "fast" | "slow";

/**
 * The most jobs of one parcel: many cheap deliveries, or few that may take long. Parcels that a
 * tick packs for a slow target with quick jobs are larger: `carillon.parcel_jobs`.
 */
export const parcelMax: Readonly<Record<QueueClass, number>> = { fast: 250, slow: 10 };

/**
 * The most jobs of a slow parcel that are under way at once, however many it holds. The database
 * has the same number: `carillon.side_by_side()`.
 */
export const sideBySideMax = 10;

/** A parcel to be sent to its queue so that it arrives when it is ready. */
export interface OutgoingParcel {
  id: string;
  queue: QueueClass;
  waitMs: number;
  /**
   * The message group, if all jobs of the parcel are of one team; null if it has none, and undefined
   * if it has to be looked up. SQS delivers messages of other groups, and those without a group,
   * before those of a group that has most of the receivers.
   */
  group?: string | null | undefined;
}

export interface ParcelQueue {
  sqs: SQSClient;
  urls: Readonly<Record<QueueClass, string>>;
  log: Log;
  /** The clock by which waits are shortened that were computed a while ago. */
  timing: Timing;
  /** The longest delay of a message, if it is not SQS's. */
  delayMaxMs?: number | undefined;
  /** The time limit for sending; without it everything is sent. */
  time?: SendingTime | undefined;
}

/** Limits when a request may begin. The sweep sends messages that are left by then. */
export interface SendingTime {
  isUp: () => boolean;
  /** One hand-over begins no request after this many milliseconds. */
  mostMs: number;
}

/**
 * A message arrives this long before its parcel is ready, and up to a second more, since its delay
 * is in whole seconds: the worker waits out the rest. A longer lead would save more of a cold
 * start, but a waiting worker cannot work on parcels that are ready.
 */
export const leadMs = 100;
/** The longest delay of a message in SQS. */
export const delayMaxMs: number = 900_000;
const entriesMax = 10;
/**
 * The greatest id of the database. A query with a greater number would fail, and the message would
 * come again.
 */
const greatestId = 2n ** 63n - 1n;
export const requestsAtOnceMax = 8;

/** The body of a message: the parcel's id and nothing else. `v` allows for another form later. */
export function parcelMessage(id: string): string {
  return JSON.stringify({ v: 1, parcel: id });
}

/** The parcel's id in a message; null if Carillon did not write the message. */
export function parcelOfMessage(body: string): string | null {
  try {
    const message: unknown = JSON.parse(body);
    if (typeof message !== "object" || message === null || !("v" in message) || !("parcel" in message))
      return null;
    const { v, parcel } = message;
    if (v !== 1 || typeof parcel !== "string" || !/^[1-9]\d{0,18}$/.test(parcel)) return null;
    return BigInt(parcel) <= greatestId ? parcel : null;
  } catch {
    return null;
  }
}

export function delaySeconds(waitMs: number, mostMs: number = delayMaxMs): number {
  return Math.max(0, Math.min(mostMs / 1_000, Math.floor((waitMs - leadMs) / 1_000)));
}

export interface Sent {
  /** Ids of the parcels that arrived. */
  sent: string[];
  /** Ids of parcels whose request did not begin before the time was up. */
  left: string[];
}

/**
 * Sends parcels, ten messages to a batch, a few batches at once, and returns those that arrived. A
 * parcel that did not arrive stays unmarked in the database and is offered again by the sweep, so a
 * failure here is a warning and never an error.
 */
export async function sendParcels(queue: ParcelQueue, parcels: readonly OutgoingParcel[]): Promise<Sent> {
  const batches = (["fast", "slow"] as const).flatMap((name) => {
    const own = parcels.filter((parcel) => parcel.queue === name);
    return chunks(own, entriesMax).map((batch) => ({ name, batch }));
  });
  const sent: string[] = [];
  const left: string[] = [];
  const waiting = batches.values();
  const toldAt = queue.timing.now();
  let isAnswered = true;
  const sendNext = async () => {
    for (const { name, batch } of waiting) {
      if (!isAnswered) return;
      if (isTimeUp(queue, toldAt)) {
        left.push(...batch.map(({ id }) => id));
        continue;
      }
      // With thousands of parcels, the last are sent seconds after their waits were computed.
      const sinceMs = queue.timing.now() - toldAt;
      const waits = batch.map((parcel) => ({ ...parcel, waitMs: parcel.waitMs - sinceMs }));
      const arrived = await sendBatch(queue, name, waits);
      isAnswered &&= arrived !== null;
      sent.push(...(arrived ?? []));
    }
  };
  await Promise.all(Array.from({ length: Math.min(requestsAtOnceMax, batches.length) }, sendNext));
  return { sent, left };
}

function isTimeUp({ time, timing }: ParcelQueue, begunAt: number): boolean {
  return time !== undefined && (time.isUp() || timing.now() >= begunAt + time.mostMs);
}

/** Null if SQS did not answer: a further request would wait as long for nothing. */
async function sendBatch(
  queue: ParcelQueue,
  name: QueueClass,
  batch: readonly OutgoingParcel[],
): Promise<string[] | null> {
  try {
    const answer = await queue.sqs.send(
      new SendMessageBatchCommand({
        QueueUrl: queue.urls[name],
        Entries: batch.map(({ id, waitMs, group }) => ({
          Id: id,
          MessageBody: parcelMessage(id),
          DelaySeconds: delaySeconds(waitMs, queue.delayMaxMs),
          ...(typeof group === "string" ? { MessageGroupId: group } : {}),
        })),
      }),
    );
    for (const failed of answer.Failed ?? []) {
      queue.log.warn("parcel.refused", {
        parcel: failed.Id,
        queue: name,
        code: failed.Code,
        error: failed.Message,
      });
    }
    // Only entries listed as successful have arrived; an entry in neither list has not.
    return (answer.Successful ?? []).flatMap(({ Id }) => (Id === undefined ? [] : [Id]));
  } catch (error) {
    queue.log.warn("parcel.unsent", {
      queue: name,
      parcels: batch.length,
      error: errorText(error),
    });
    return gotNoAnswer(error) ? null : [];
  }
}

function chunks<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) =>
    items.slice(i * size, (i + 1) * size),
  );
}
