import type { Clock } from "../clock.ts";
import { sideBySideMax } from "../parcel/parcel-queue.ts";
import type { Places } from "./places.ts";

/**
 * A parcel is packed to be through in a small part of this. Where its jobs take longer than they did, what has not started by then goes
 * back: others take it on, and what is done is written down.
 */
export const turnMs = 5_000;

/**
 * Works items a few at a time, each in one of the places; once the turn is over, no more of them start. Who has a place keeps it for one item after the
 * other: so of parcels that share the places one is through after the other.
 */
export async function sideBySide<Item>(
  items: readonly Item[],
  places: Places,
  clock: Clock,
  work: (item: Item, index: number) => Promise<void>,
): Promise<void> {
  const lanes = Math.min(places.count, sideBySideMax, items.length);
  const until = clock.now().getTime() + turnMs;
  const waiting = items.entries();
  let begun = 0;
  const lane = async () => {
    const taken = places.take();
    if (taken !== true && !(await taken)) return;
    try {
      for (const [index, item] of waiting) {
        // The first items always start once they have a place: else a parcel could go back and forth for ever. A parcel that is taken along with
        // another may go back with nothing begun: it is claimed with a place of its own later.
        if (begun >= lanes && clock.now().getTime() >= until) return;
        begun += 1;
        await work(item, index);
      }
    } finally {
      places.giveBack();
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
