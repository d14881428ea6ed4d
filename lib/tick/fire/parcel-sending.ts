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
  /** Parcels that are due far ahead are sent later, each at its moment. */
  add(parcels: readonly OutgoingParcel[]): void;
  /** Sends them at once. */
  send(parcels: readonly OutgoingParcel[]): void;
  /** All jobs are made. Resolves when everything has been sent, or the time for it is up. */
  finish(): Promise<void>;
}

export interface SendingDeps {
  sql: Sql;
  queue: ParcelQueue;
  timeIsUp: () => boolean;
  /** A failure while other batches are fired must not stay a rejection that nobody awaits yet. */
  note: (error: unknown) => void;
}

/** What is ready sooner is sent at once. A tick that keeps up makes what is due in two minutes. */
const soonMs = 60_000;
/** So many are kept back at most: they hold up to a million jobs, and a tick that dies leaves them to the sweep. */
const keptMax = 4_000;
/** So few are one request, and not worth a second of the tick. */
const fewMax = 10;
/** The second is divided into so many moments at which is sent what shall arrive at the next one of a later second. */
const momentMs = 50;
const momentsASecond = 1_000 / momentMs;
/** A message shall come so much after its parcel is ready rather than before. */
const lateMs = 60;
/** What is kept back has time: between two lots the tick rests as long as one took, and leaves queue and database to others. */
const restMaxMs = 200;
/** So long moments are waited for, and rests are taken; what is left then goes as fast as it can. */
const gentleMs = 15_000;
/** Counted from when all jobs are made, requests begin for so long: the housekeeping has the rest of the tick's time. */
const mostMs = 25_000;
/** Requests begin for at least this long, even after the tick's time: making the jobs may take all of it, each minute. */
const leastMs = 5_000;
/** Ten messages a request. */
const togetherMax = 10 * requestsAtOnceMax;

/**
 * Sends the parcels of a tick, of all shards together. SQS delays by whole seconds, so a message that is sent at any time arrives up to a second
 * before its parcel is ready, and a worker has its hands full of what it waits for. So what is far ahead is sent at that moment of a second at
 * which it shall arrive: it takes the tick a second more, or some where there is much, and the workers most of one less for each.
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

/** The time for sending has no end before it begins, when all jobs are made. */
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

/** Moment by moment, those that are ready first ahead; what a moment has no time for is sent a second later, or after all others. */
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

/** How long each had to wait was told when its batch was made. */
function waitingAt(kept: readonly Kept[], now: number): OutgoingParcel[] {
  return kept.map(({ parcel, readyAt }) => ({ ...parcel, waitMs: readyAt - now }));
}

/** Parcels that are ready together stay in the order of their priorities, in which they came. */
function inOrder(kept: readonly Kept[]): Kept[] {
  return kept.toSorted((a, b) => momentOf(a) - momentOf(b));
}

/** When its message is sent, some seconds ahead of the moment in which it shall arrive; counted from no beginning in particular. */
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
