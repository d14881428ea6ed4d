import type { Sql } from "../db/connect.ts";
import { handOver } from "../parcel/hand-over.ts";
import { lateMs, type OutgoingParcel, type ParcelQueue, requestsAtOnceMax } from "../parcel/parcel-queue.ts";

export interface ParcelSending {
  add(parcels: readonly OutgoingParcel[]): void;
  /** Resolves when all that was added has been sent. */
  finish(): Promise<void>;
}

/** What is ready sooner does not wait for what other shards have. */
const soonMs = 10_000;
/** So many are kept back at most: they hold up to a million jobs, and a tick that dies leaves them to the sweep. */
const keptMax = 4_000;
/** So few are one request, and not worth a second of the tick. */
const fewMax = 10;
/** The second is divided into so many moments at which is sent what arrives at the next one of a later second. */
const momentMs = 50;
const momentsASecond = 1_000 / momentMs;

/**
 * Sends the parcels of a tick, of all shards together. SQS delays by whole seconds, so a message that is sent at any time arrives up to a second
 * before its parcel is ready, and a worker has its hands full of what it waits for. So each is sent at that moment of a second at which it shall
 * arrive, which takes the tick a second more and the workers most of one less for each.
 */
export function parcelSending({
  sql,
  queue,
  timeIsUp,
  note,
}: {
  sql: Sql;
  queue: ParcelQueue;
  timeIsUp: () => boolean;
  /** A failure while other batches are fired must not stay a rejection that nobody awaits yet. */
  note: (error: unknown) => void;
}): ParcelSending {
  const sending: Promise<void>[] = [];
  let kept: Kept[] = [];
  const send = (parcels: readonly OutgoingParcel[]) => {
    if (parcels.length > 0) sending.push(handOver(sql, queue, parcels).catch(note));
  };
  const sendKept = () => {
    if (kept.length <= fewMax) {
      const at = queue.timing.now();
      send(inOrder(kept).map(({ parcel, readyAt }) => ({ ...parcel, waitMs: readyAt - at })));
      kept = [];
      return;
    }
    const timed = kept;
    kept = [];
    sending.push(sendAtTheirMoments({ sql, queue, timeIsUp }, timed).catch(note));
  };
  return {
    add: (parcels) => {
      const at = queue.timing.now();
      send(parcels.filter(({ waitMs }) => waitMs <= soonMs));
      for (const parcel of parcels)
        if (parcel.waitMs > soonMs) kept.push({ parcel, readyAt: at + parcel.waitMs });
      if (kept.length >= keptMax) sendKept();
    },
    finish: async () => {
      sendKept();
      await Promise.all(sending);
    },
  };
}

interface Kept {
  parcel: OutgoingParcel;
  readyAt: number;
}

/** What is kept back has time: between two lots the tick rests as long as one took, and leaves queue and database to others. */
const restMaxMs = 200;
/** Ten messages a request. */
const togetherMax = 10 * requestsAtOnceMax;

/** Moment by moment, those that are ready first ahead; what a moment has no time for is sent a second later. */
async function sendAtTheirMoments(
  { sql, queue, timeIsUp }: { sql: Sql; queue: ParcelQueue; timeIsUp: () => boolean },
  kept: readonly Kept[],
): Promise<void> {
  const { timing } = queue;
  const pause = async (ms: number) => {
    if (ms > 0 && !timeIsUp()) await timing.sleep(ms);
  };
  const left = Map.groupBy(inOrder(kept), (each) => momentOf(each) % momentsASecond);
  while (left.size > 0) {
    const { moment, waitMs } = nextOf(left.keys(), timing.now());
    await pause(waitMs);
    const own = left.get(moment) ?? [];
    const some = own.splice(0, togetherMax);
    if (own.length === 0) left.delete(moment);
    const now = timing.now();
    await handOver(
      sql,
      queue,
      some.map(({ parcel, readyAt }) => ({ ...parcel, waitMs: readyAt - now })),
    );
    if (left.size > 0) await pause(Math.min(timing.now() - now, restMaxMs));
  }
}

/** Parcels that are ready together stay in the order of their priorities, in which they came. */
function inOrder(kept: readonly Kept[]): Kept[] {
  return kept.toSorted((a, b) => momentOf(a) - momentOf(b));
}

/** When its message shall arrive: in the moment after this one, which is counted from no beginning in particular. */
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
