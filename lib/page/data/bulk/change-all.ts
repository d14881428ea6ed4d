import type { Carillon } from "../../../client/carillon.ts";
import type { BulkAction, BulkDone } from "../../../client/schedule.ts";
import { amountText, numberText } from "../amounts.ts";

/** Repeats a bulk action until none is left, and adds up what each call did. */
export async function changeAll(
  carillon: Carillon,
  action: BulkAction,
  onProgress: (done: number) => void,
): Promise<Omit<BulkDone, "cursor">> {
  const total = { done: 0, unchanged: 0, failed: 0, failures: [] as BulkDone["failures"] };
  let cursor: string | undefined;
  do {
    const part: BulkDone = await carillon.schedules.changeMany(action, { cursor });
    total.done += part.done;
    total.unchanged += part.unchanged;
    total.failed += part.failed;
    total.failures.push(...part.failures);
    cursor = part.cursor;
    onProgress(total.done);
  } while (cursor !== undefined);
  return total;
}

/** A sentence on what was done. */
export function doneText({ done, unchanged, ...rest }: Omit<BulkDone, "cursor">, word: string): string {
  const parts = [
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
