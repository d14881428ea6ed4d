/**
 * Numbers in [0, 1) that are the same for the same seed (mulberry32), so that a run can be
 * repeated.
 */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface Dice {
  chance(share: number): boolean;
  /** A whole number, both ends included. */
  between(least: number, most: number): number;
  pick<Item>(items: readonly Item[]): Item;
}

export function diceOf(random: () => number): Dice {
  const between = (least: number, most: number) => least + Math.floor(random() * (most - least + 1));
  return {
    chance: (share) => random() < share,
    between,
    pick: (items) => {
      const item = items[between(0, items.length - 1)];
      if (item === undefined) throw new Error("There is nothing to pick from.");
      return item;
    },
  };
}
