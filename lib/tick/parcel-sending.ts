import type { Sql } from "../db/connect.ts";
import { handOver } from "../parcel/hand-over.ts";
import type { OutgoingParcel, ParcelQueue } from "../parcel/parcel-queue.ts";

export interface ParcelSending {
  add(parcels: readonly OutgoingParcel[]): void;
  /** Resolves when all that was added has been sent. */
  finish(): Promise<void>;
}

/** What is ready sooner does not wait for what other shards have. */
const soonMs = 10_000;
/** So many are kept back at most: they hold up to a million jobs, and a tick that dies leaves them to the sweep. */
const keptMax = 4_000;
/** The jobs of one parcel are due within this, and a wait is told no more exactly. */
const spanMs = 250;

/**
 * Sends the parcels of a tick, of all shards together, the earliest first. A worker takes ten messages and is busy until the last of them
 * was ready: sent shard by shard, messages of one second come in any order, each ten of them span the whole second, and four workers are
 * behind with no more than forty parcels a second. In order ten of them span as long as ten parcels take to fall due.
 */
export function parcelSending(
  { sql, queue }: { sql: Sql; queue: ParcelQueue },
  /** A failure while other batches are fired must not stay a rejection that nobody awaits yet. */
  note: (error: unknown) => void,
  now: () => number = () => performance.now(),
): ParcelSending {
  const sending: Promise<void>[] = [];
  let kept: Kept[] = [];
  const send = (parcels: readonly OutgoingParcel[]) => {
    if (parcels.length > 0) sending.push(handOver(sql, queue, parcels).catch(note));
  };
  const sendKept = () => {
    const at = now();
    // Parcels that are ready together stay in the order of their priorities, in which they came.
    const ordered = kept.toSorted((a, b) => spanOf(a) - spanOf(b));
    kept = [];
    // How long a parcel has to wait was told when its batch was made.
    send(ordered.map(({ parcel, readyAt }) => ({ ...parcel, waitMs: readyAt - at })));
  };
  return {
    add: (parcels) => {
      const at = now();
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

function spanOf({ readyAt }: Kept): number {
  return Math.round(readyAt / spanMs);
}
