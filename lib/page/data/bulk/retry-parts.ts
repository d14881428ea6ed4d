import type { RetriedMany } from "../../../client/job.ts";
import { type Amount, amountText, countText, numberText } from "../amounts.ts";

/** The most that one call retries. */
const callMax = 10_000;
/** A part this large takes a second or less, so that its progress is seen. */
const partMin = 500;
/** Each call is an entry of the audit, and the states of the jobs of this many entries are followed. */
export const entriesMax = 20;

/** How many jobs a call retries: few at a time, and all of them in as many calls as can be followed. */
export function partOf({ count, more }: Amount): number {
  return more ? callMax : Math.min(callMax, Math.max(partMin, Math.ceil(count / entriesMax)));
}

interface Retried {
  done: number;
  failed: number;
  isStopped: boolean;
}

interface Retrying {
  /** As the server counted them. */
  counted: Amount;
  call(options: { cursor: string | undefined; limit: number }): Promise<RetriedMany>;
  onPart(done: number, entry: string | null): void;
  isStopped(): boolean;
}

/** Retries jobs call by call, until none is left or the reader stops it. */
export async function retryInParts({ counted, call, onPart, isStopped }: Retrying): Promise<Retried> {
  const total = { done: 0, failed: 0 };
  const limit = partOf(counted);
  let cursor: string | undefined;
  do {
    const part = await call({ cursor, limit });
    total.done += part.done;
    total.failed += part.failed;
    cursor = part.cursor;
    onPart(total.done, part.entry);
  } while (cursor !== undefined && !isStopped());
  return { ...total, isStopped: cursor !== undefined };
}

/** `2,400 of 9,812 retried`. */
export const progressText = (done: number, counted: Amount): string =>
  `${numberText(done)} of ${countText(counted)} retried`;

/** Sentences on what was retried, and on what was not. */
export function retriedText({ done, failed, isStopped }: Retried, counted: Amount): string {
  const parts = [
    isStopped
      ? `Stopped: ${progressText(done, counted)}. The other jobs are as they were.`
      : `${amountText({ count: done, more: false }, "job is", "jobs are")} retried.`,
    failed === 0 ? null : `${numberText(failed)} could not be: their rows are locked or cannot be written.`,
  ];
  return parts.filter((part) => part !== null).join(" ");
}
