import type { ClaimedJob } from "../parcel/claim.ts";

/** How one delivery ended. A failure that trying again cannot mend gives up at once. */
export type Delivery = { kind: "done" } | { kind: "failed"; error: string; giveUp: boolean };

export const done: Delivery = { kind: "done" };

const errorLengthMax = 2_000;

export function failed(error: unknown, giveUp = false): Delivery {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  // The database takes no NUL, and nobody reads a message of megabytes.
  return { kind: "failed", error: text.replaceAll("\u0000", "").slice(0, errorLengthMax), giveUp };
}

/** Delivers jobs of one kind of target, and says of each how it went, in the same order. */
export type Deliver = (jobs: readonly ClaimedJob[]) => Promise<Delivery[]>;

const requestEntriesMax = 10;
const requestBytesMax = 250_000;

/** Splits entries into requests of at most ten and a quarter of a megabyte, as SQS and EventBridge take them. */
export function requests<Entry extends { bytes: number }>(entries: readonly Entry[]): Entry[][] {
  const batches: Entry[][] = [];
  let batch: Entry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    if (batch.length === requestEntriesMax || (batch.length > 0 && bytes + entry.bytes > requestBytesMax)) {
      batches.push(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(entry);
    bytes += entry.bytes;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

const requestsInFlight = 8;

/** Runs requests a few at a time. */
export async function eachRequest<Entry>(
  batches: readonly Entry[],
  send: (batch: Entry) => Promise<void>,
): Promise<void> {
  const waiting = batches.values();
  const lane = async () => {
    for (const batch of waiting) await send(batch);
  };
  await Promise.all(Array.from({ length: Math.min(requestsInFlight, batches.length) }, lane));
}
