import { SendMessageBatchCommand, type SQSClient } from "@aws-sdk/client-sqs";
import type { Timing } from "../clock.ts";
import { gotNoAnswer } from "../config/aws.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";

export type QueueClass = "fast" | "slow";

/**
 * Jobs of so many together travel in one parcel: many cheap deliveries, few that may take long. What a tick packs for a slow target whose
 * jobs are known to be quick is larger: `carillon.parcel_jobs`.
 */
export const parcelMax: Readonly<Record<QueueClass, number>> = { fast: 250, slow: 10 };

/** Of a slow parcel so many jobs are under way at once at most, however many it holds: `carillon.side_by_side()`. */
export const sideBySideMax = 10;

/** A parcel to be handed to its queue so that it arrives when it is ready. */
export interface OutgoingParcel {
  id: string;
  queue: QueueClass;
  waitMs: number;
}

export interface ParcelQueue {
  sqs: SQSClient;
  urls: Readonly<Record<QueueClass, string>>;
  log: Log;
  /** By it, waits that were told a while ago are shortened. */
  timing: Timing;
  /** How long may be sent; without, until everything is sent. */
  time?: SendingTime | undefined;
}

/** Bounds when a request may begin. The sweep sends messages that are left by then. */
export interface SendingTime {
  isUp: () => boolean;
  /** One hand-over begins no request after this many milliseconds. */
  mostMs: number;
}

/**
 * A message arrives this long before its parcel is ready, and up to a second more, for its delay is in whole seconds: the worker waits out the
 * rest. Longer would spare more of a cold start; but a worker that waits has no hands for what is ready.
 */
export const leadMs = 100;
const delaySecondsMax = 900;
export const delayMaxMs: number = delaySecondsMax * 1_000;
const entriesMax = 10;
/** The database takes no greater number for an id: asked for one it would fail, and the message would come again. */
const greatestId = 2n ** 63n - 1n;
export const requestsAtOnceMax = 8;

/** What travels through SQS: the parcel's id and nothing else. `v` is there for the day it changes. */
export function parcelMessage(id: string): string {
  return JSON.stringify({ v: 1, parcel: id });
}

/** The parcel's id in a message, or null for anything that Carillon did not write. */
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

export function delaySeconds(waitMs: number): number {
  return Math.max(0, Math.min(delaySecondsMax, Math.floor((waitMs - leadMs) / 1_000)));
}

export interface Sent {
  /** Ids of the parcels that arrived. */
  sent: string[];
  /** Ids of those whose request did not begin before the time was up. */
  left: string[];
}

/**
 * Sends parcels, ten messages to a batch, a few batches at once, and says which arrived. What did not arrive stays unmarked
 * in the database and is offered again by the sweep, so a failure here is a warning and never an error.
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
      // Of thousands, the last ones go seconds after their waits were told.
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

/** Null where SQS did not answer: a further request would wait as long for nothing. */
async function sendBatch(
  queue: ParcelQueue,
  name: QueueClass,
  batch: readonly OutgoingParcel[],
): Promise<string[] | null> {
  try {
    const answer = await queue.sqs.send(
      new SendMessageBatchCommand({
        QueueUrl: queue.urls[name],
        Entries: batch.map(({ id, waitMs }) => ({
          Id: id,
          MessageBody: parcelMessage(id),
          DelaySeconds: delaySeconds(waitMs),
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
    // Only what is named as successful has arrived; an entry that is in neither list has not.
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
