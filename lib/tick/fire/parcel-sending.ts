import type { Sql } from "../../db/connect.ts";
import { handOver } from "../../parcel/hand-over.ts";
import {
  leadMs,
  type OutgoingParcel,
  type ParcelQueue,
  requestsAtOnceMax,
  type SendingTime,
} from "../../parcel/parcel-queue.ts";

export interface ParcelSending {
  /** Adds parcels; those ready far ahead are sent later, each at its moment. */
  add(parcels: readonly OutgoingParcel[]): void;
  /** Sends parcels at once. */
  send(parcels: readonly OutgoingParcel[]): void;
  /** Called when all jobs are made. Resolves when everything is sent, or the time for it is up. */
  finish(): Promise<void>;
}

export interface SendingDeps {
  sql: Sql;
  queue: ParcelQueue;
  timeIsUp: () => boolean;
  /** A failure while other batches are fired is noted at once, to avoid an unhandled rejection. */
  note: (error: unknown) => void;
}

/**
 * Parcels that are ready in less than this time are sent at once. A tick on schedule makes jobs
 * that are due in two minutes.
 */
const soonMs = 60_000;
/**
 * Most parcels kept back. They have up to a million jobs, and the sweep sends them if the tick
 * dies.
 */
const keptMax = 4_000;
/** Up to this many are one request, and not worth an extra second of the tick. */
const fewMax = 10;
/**
 * A second is divided into moments of this length. A message sent at a moment arrives at the same
 * moment of a later second.
 */
const momentMs = 50;
const momentsASecond = 1_000 / momentMs;
/** A message should arrive this long after its parcel is ready, rather than before. */
const lateMs = 60;
/**
 * Parcels kept back have time: between two lots the tick rests as long as the lot took, at most
 * this long, to leave queue and database to others.
 */
const restMaxMs = 200;
/**
 * For this long, the sender waits for moments and rests. After it, the remaining parcels are sent
 * without waits.
 */
const gentleMs = 15_000;
/**
 * Requests begin for at most this long after all jobs are made; the housekeeping has the rest of
 * the tick's time.
 */
const mostMs = 25_000;
/**
 * Requests begin for at least this long, even after the tick's time: making the jobs may take all
 * of it, every minute.
 */
const leastMs = 5_000;
/** One request has ten messages. */
const togetherMax = 10 * requestsAtOnceMax;

/**
 * Sends the parcels of a tick, of all shards together. SQS delays by whole seconds, so a message
 * sent at any time arrives up to a second before its parcel is ready, and a worker spends that
 * second waiting. Parcels that are ready far ahead are therefore sent at the moment of a second at
 * which they should arrive. This costs the tick a second, or a few if there are many, and saves the
 * workers most of a second per parcel.
 */
export function parcelSending(deps: SendingDeps): ParcelSending {
  const { sql, note } = deps;
  const { time, begin } = timeOnceMade(deps);
  const queue = { ...deps.queue, time };
  const sending: Promise<unknown>[] = [];
  let kept: Kept[] = [];
  const send = (parcels: readonly OutgoingParcel[]) => {
    if (parcels.length > 0) sending.push(handOver(sql, queue, parcels).catch(note));
  };
  const sendKept = () => {
    const own = inOrder(kept);
    kept = [];
    if (own.length <= fewMax) send(waitingAt(own, queue.timing.now()));
    else sending.push(sendAtTheirMoments({ ...deps, queue }, own).catch(note));
  };
  return {
    send,
    add: (parcels) => {
      const at = queue.timing.now();
      send(parcels.filter(({ waitMs }) => waitMs <= soonMs));
      for (const parcel of parcels)
        if (parcel.waitMs > soonMs) kept.push({ parcel, readyAt: at + parcel.waitMs });
      if (kept.length >= keptMax) sendKept();
    },
    finish: async () => {
      begin();
      sendKept();
      await Promise.all(sending);
    },
  };
}

/** The time for sending begins when all jobs are made, and has no limit before. */
function timeOnceMade({ queue: { timing }, timeIsUp }: SendingDeps): {
  time: SendingTime;
  begin: () => void;
} {
  let begunAt = Number.POSITIVE_INFINITY;
  const isUp = () => {
    const sinceMs = timing.now() - begunAt;
    return sinceMs >= mostMs || (sinceMs >= leastMs && timeIsUp());
  };
  const begin = () => {
    begunAt = timing.now();
  };
  return { time: { isUp, mostMs: Number.POSITIVE_INFINITY }, begin };
}

interface Kept {
  parcel: OutgoingParcel;
  readyAt: number;
}

/**
 * Sends moment by moment, and within a moment the earliest ready first. Parcels that do not fit
 * into a moment are sent a second later, or after all others.
 */
async function sendAtTheirMoments(
  { sql, queue, timeIsUp }: SendingDeps,
  kept: readonly Kept[],
): Promise<void> {
  const { timing } = queue;
  const left = Map.groupBy(kept, (each) => momentOf(each) % momentsASecond);
  const until = timing.now() + gentleMs;
  const isGentle = () => timing.now() < until && !timeIsUp();
  while (left.size > 0 && isGentle()) {
    const { moment, waitMs } = nextOf(left.keys(), timing.now());
    if (waitMs > 0) await timing.sleep(waitMs);
    const own = left.get(moment) ?? [];
    const some = own.splice(0, togetherMax);
    if (own.length === 0) left.delete(moment);
    const now = timing.now();
    await handOver(sql, queue, waitingAt(some, now - leadMs - lateMs));
    if (left.size > 0 && isGentle()) await timing.sleep(Math.min(timing.now() - now, restMaxMs));
  }
  const rest = inOrder([...left.values()].flat());
  if (rest.length > 0) await handOver(sql, queue, waitingAt(rest, timing.now()));
}

/** The wait of each parcel is counted from when its batch was made. */
function waitingAt(kept: readonly Kept[], now: number): OutgoingParcel[] {
  return kept.map(({ parcel, readyAt }) => ({ ...parcel, waitMs: readyAt - now }));
}

/** Parcels that are ready together keep the order of their priorities. */
function inOrder(kept: readonly Kept[]): Kept[] {
  return kept.toSorted((a, b) => momentOf(a) - momentOf(b));
}

/**
 * The moment at which the message is sent, some seconds before it should arrive. Counted from an
 * arbitrary start.
 */
function momentOf({ readyAt }: Kept): number {
  return Math.floor((readyAt + lateMs) / momentMs) - 1;
}

function nextOf(moments: Iterable<number>, now: number): { moment: number; waitMs: number } {
  const waits = [...moments].map((moment) => {
    const sinceBegin = (now + 1_000 - moment * momentMs) % 1_000;
    return { moment, waitMs: sinceBegin < momentMs ? 0 : 1_000 - sinceBegin };
  });
  const [first] = waits.toSorted((a, b) => a.waitMs - b.waitMs);
  if (first === undefined) throw new Error("No moment is left.");
  return first;
}
