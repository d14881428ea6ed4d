import { firstRequest, isFull, isUnanswered, requestsInFlight, type Sent } from "./delivery.ts";
import type { Sending } from "./sending.ts";

/** Sends one request and returns the outcomes of its entries in the same order. */
export type SendRequest<Entry> = (batch: readonly Entry[]) => Promise<Sent[]>;

/** One caller's entries: the outcomes so far, and how many are still pending. */
interface Call {
  sending: Sending;
  sent: Sent[];
  left: number;
  resolve: (sent: Sent[]) => void;
  reject: (error: unknown) => void;
}

interface Waiting<Entry> {
  entry: Entry;
  bytes: number;
  call: Call;
  place: number;
}

/**
 * Gathers entries of several parcels for one destination into full requests: a request that is not
 * full waits while another is under way. A request costs the same with four messages as with ten.
 */
export function gathered<Entry extends { bytes: number }>(
  send: SendRequest<Entry>,
): (entries: readonly Entry[], sending: Sending) => Promise<Sent[]> {
  let waiting: Waiting<Entry>[] = [];
  let underWay = 0;
  const sendNext = () => {
    for (let first = waiting[0]; first !== undefined && underWay < requestsInFlight; first = waiting[0]) {
      const { over } = first.call.sending;
      if (over !== undefined) {
        leave(first.call, over);
        continue;
      }
      const batch = firstRequest(waiting);
      const isMore = batch.length < waiting.length;
      if (underWay > 0 && !isFull(batch) && !isMore) return;
      waiting.splice(0, batch.length);
      underWay += 1;
      void sendOne(batch);
    }
  };
  const leave = (left: Call, over: Sent) => {
    const own = waiting.filter(({ call }) => call === left);
    waiting = waiting.filter(({ call }) => call !== left);
    for (const { call, place } of own) note(call, place, over);
  };
  const sendOne = async (batch: readonly Waiting<Entry>[]) => {
    try {
      const sent = await send(batch.map(({ entry }) => entry));
      for (const [index, { call, place }] of batch.entries()) {
        const own = sent[index];
        if (own === undefined) call.reject(new Error("There is no outcome for an entry of a request."));
        else note(call, place, own);
      }
      const silence = sent.find(isUnanswered);
      if (silence !== undefined) for (const { call, place } of waiting.splice(0)) note(call, place, silence);
    } catch (error) {
      for (const { call } of batch) call.reject(error);
    }
    underWay -= 1;
    sendNext();
  };
  return (entries, sending) =>
    entries.length === 0
      ? Promise.resolve([])
      : new Promise((resolve, reject) => {
          const call: Call = { sending, sent: [], left: entries.length, resolve, reject };
          for (const [place, entry] of entries.entries())
            waiting.push({ entry, bytes: entry.bytes, call, place });
          sendNext();
        });
}

function note(call: Call, place: number, sent: Sent): void {
  call.sent[place] = sent;
  call.sending.heard([sent]);
  call.left -= 1;
  if (call.left === 0) call.resolve(call.sent);
}
