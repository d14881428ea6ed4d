import type { Carillon } from "../../../client/carillon.ts";
import type { BulkAction, BulkDone } from "../../../client/schedule.ts";
import { type Amount, amountText, countText, numberText } from "../amounts.ts";

/** The sum of all calls of a bulk action. */
export interface Changed extends Sum {
  /** The reader ended it between two calls. */
  isStopped: boolean;
}

interface Changing {
  action: BulkAction;
  onPart(done: number): void;
  isStopped(): boolean;
}

type Sum = Omit<BulkDone, "cursor">;

export const noneChanged = (): Sum => ({ done: 0, unchanged: 0, failed: 0, failures: [] });

export function addPart(total: Sum, part: Sum): void {
  total.done += part.done;
  total.unchanged += part.unchanged;
  total.failed += part.failed;
  total.failures.push(...part.failures);
}

/** Repeats a bulk action until none is left or the reader stops it, and adds up what each call did. */
export async function changeAll(
  carillon: Carillon,
  { action, onPart, isStopped }: Changing,
): Promise<Changed> {
  const total = noneChanged();
  let cursor: string | undefined;
  do {
    const part: BulkDone = await carillon.schedules.changeMany(action, { cursor });
    addPart(total, part);
    cursor = part.cursor;
    onPart(total.done);
  } while (cursor !== undefined && !isStopped());
  return { ...total, isStopped: cursor !== undefined };
}

/** `1,000 of 3,000 schedules are held`, with the share for a bar where the server counted to the end. */
export function changingText(done: number, counted: Amount, word: string) {
  const share = counted.more ? undefined : { done, of: counted.count };
  return { text: `${numberText(done)} of ${countText(counted)} schedules are ${word} …`, share };
}

/** Begins the sentences on an action that the reader ended. */
export const stoppedText = "Stopped before the end: schedules that are not counted here are as they were.";

/** A sentence on what was done. */
export function doneText({ done, unchanged, isStopped, ...rest }: Changed, word: string): string {
  const parts = [
    isStopped ? stoppedText : null,
    `${amountText({ count: done, more: false }, "schedule is", "schedules are")} ${word}.`,
    unchanged === 0 ? null : `${amountText({ count: unchanged, more: false }, "was", "were")} so already.`,
    failedText(rest),
  ];
  return parts.filter((part) => part !== null).join(" ");
}

/** A sentence on what was refused, with the first of these schedules; null if nothing was. */
export function failedText({ failed, failures }: Pick<BulkDone, "failed" | "failures">): string | null {
  const [first] = failures;
  if (failed === 0) return null;
  return `${numberText(failed)} could not be${first === undefined ? "" : `, such as ${first.key}: ${first.detail}`}.`;
}
