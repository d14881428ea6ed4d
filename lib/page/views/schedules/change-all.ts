import type { Carillon } from "../../../client/carillon.ts";
import type { BulkAction, BulkDone } from "../../../client/schedule.ts";

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
