import { firstRequest, isFull, requestsInFlight, type Sent } from "./delivery.ts";

/** Sends one request, and says of each of its entries how it went, in the same order. */
export type SendRequest<Entry> = (batch: readonly Entry[]) => Promise<Sent[]>;

interface Waiting<Entry> {
  entry: Entry;
  bytes: number;
  resolve: (sent: Sent) => void;
  reject: (error: unknown) => void;
}

/**
 * What several parcels have for one destination at the same time goes in full requests: one that is not full waits while another is under
 * way. A request costs the same whether it holds four messages or ten.
 */
export function gathered<Entry extends { bytes: number }>(
  send: SendRequest<Entry>,
): (entries: readonly Entry[]) => Promise<Sent[]> {
  const waiting: Waiting<Entry>[] = [];
  let underWay = 0;
  const sendNext = () => {
    while (waiting.length > 0 && underWay < requestsInFlight) {
      const batch = firstRequest(waiting);
      const isMore = batch.length < waiting.length;
      if (underWay > 0 && !isFull(batch) && !isMore) return;
      waiting.splice(0, batch.length);
      underWay += 1;
      void sendOne(batch);
    }
  };
  const sendOne = async (batch: readonly Waiting<Entry>[]) => {
    try {
      const sent = await send(batch.map(({ entry }) => entry));
      for (const [index, { resolve, reject }] of batch.entries()) {
        const own = sent[index];
        if (own === undefined) reject(new Error("There is no outcome for an entry of a request."));
        else resolve(own);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    underWay -= 1;
    sendNext();
  };
  return (entries) => {
    const outcomes = entries.map(
      (entry) =>
        new Promise<Sent>((resolve, reject) => {
          waiting.push({ entry, bytes: entry.bytes, resolve, reject });
        }),
    );
    sendNext();
    return Promise.all(outcomes);
  };
}
