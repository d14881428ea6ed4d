import type { Clock } from "../clock.ts";
import { sideBySideMax } from "../parcel/parcel-queue.ts";
import type { Places } from "./places.ts";

/**
 * How long a worker goes on starting jobs of one parcel. A parcel is packed to take a small part of
 * this time. If its jobs take longer than before, jobs that have not started by then go back to be
 * claimed by other workers, and the others are settled.
 */
export const turnMs = 5_000;

/**
 * Works items a few at a time, each in one of the places. After `turnMs` no more of them start. A
 * place is kept for one item after the other, so that parcels that share the places finish one
 * after the other.
 */
export async function sideBySide<Item>(
  items: readonly Item[],
  places: Places,
  clock: Clock,
  work: (item: Item, index: number) => Promise<void>,
): Promise<void> {
  const atOnce = Math.min(places.count, sideBySideMax, items.length);
  const until = clock.now().getTime() + turnMs;
  const waiting = items.entries();
  let begun = 0;
  const workWaiting = async () => {
    const taken = places.take();
    if (taken !== true && !(await taken)) return;
    try {
      for (const [index, item] of waiting) {
        // The first items always start once they have a place: otherwise a parcel could go back and
        // forth for ever. A parcel that was claimed to accompany another may go back without a
        // start: it is claimed with a place of its own later.
        if (begun >= atOnce && clock.now().getTime() >= until) return;
        begun += 1;
        await work(item, index);
      }
    } finally {
      places.giveBack();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, workWaiting));
}
