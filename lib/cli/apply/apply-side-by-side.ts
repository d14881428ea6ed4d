import { isRateLimited } from "../../client/main.ts";
import type { Call } from "../command.ts";

const atOnce = 8;
const waitMs = 1_000;

/**
 * Runs an action for each item, several at once, with results in the order of the items. It slows
 * down when the API answers 429.
 */
export async function sideBySide<Item, Done>(
  { signal, pause }: Pick<Call, "signal" | "pause">,
  items: readonly Item[],
  each: (item: Item) => Promise<Done>,
  onDone: (done: number) => void,
): Promise<Done[]> {
  const results: Done[] = [];
  let next = 0;
  let done = 0;
  const patiently = async (item: Item): Promise<Done> => {
    for (;;) {
      signal.throwIfAborted();
      try {
        return await each(item);
      } catch (error) {
        if (!isRateLimited(error)) {
          next = items.length;
          throw error;
        }
        await pause(error.retryAfterMs ?? waitMs);
      }
    }
  };
  const worker = async () => {
    for (let at = next++; at < items.length; at = next++) {
      const item = items[at];
      if (item === undefined) continue;
      results[at] = await patiently(item);
      done += 1;
      onDone(done);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return results;
}
