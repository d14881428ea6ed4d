import { isOfTheDatabase } from "../db/passing-failure.ts";

/** A failure of something that all rows of a batch need, such as the lock of their shard: none of the rows is at fault. */
export class OfNoRow extends Error {
  override readonly name = "OfNoRow";
  override readonly cause: unknown;

  constructor(cause: unknown) {
    super("What all rows of a batch need has failed.");
    this.cause = cause;
  }
}

/**
 * Runs `work`. A failure before `work` has noted the locks that all rows of its batch need is thrown as the fault of no row; one of the database
 * as a whole as it is, since other batches would meet it too.
 */
export async function blameOnceLocked<T>(work: (noteLocked: () => void) => Promise<T>): Promise<T> {
  let isLocked = false;
  const noteLocked = () => {
    isLocked = true;
  };
  try {
    return await work(noteLocked);
  } catch (error) {
    throw isLocked || isOfTheDatabase(error) ? error : new OfNoRow(error);
  }
}

/** A batch has too many rows, and none of them is at fault: about so many fit. */
export class FewerFit extends Error {
  override readonly name: string = "FewerFit";
  readonly fit: number;

  constructor(message: string, fit: number) {
    super(message);
    this.fit = fit;
  }
}

/** Whether a row may be at fault: a lock that is not granted and a statement that takes too long may be one row's own. */
export function mayBeOfARow(error: unknown): boolean {
  return !(error instanceof OfNoRow) && !isOfTheDatabase(error);
}

export interface Halved<Item> {
  /** Items that failed when they were tried alone. */
  failed: { item: Item; error: unknown }[];
  /** Items that were not tried, since time was up. */
  left: Item[];
}

/**
 * Acts on all items at once, and where that fails on each half, until a failing item stands alone. One bad item of n costs about
 * 2 log₂ n further attempts. What one attempt does must come undone when it fails, as a transaction does. A failure that is
 * the database's own is thrown, and no item is blamed for it.
 */
export async function inHalves<Item>(
  items: readonly Item[],
  act: (items: readonly Item[]) => Promise<void>,
  timeIsUp: () => boolean,
): Promise<Halved<Item>> {
  const halved: Halved<Item> = { failed: [], left: [] };
  const open: (readonly Item[])[] = items.length === 0 ? [] : [items];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    if (timeIsUp()) {
      halved.left.push(...part);
      continue;
    }
    try {
      await act(part);
    } catch (error) {
      if (!mayBeOfARow(error)) throw error;
      const [item] = part;
      if (part.length === 1 && item !== undefined) halved.failed.push({ item, error });
      // The first part is done first, so that the order of the items is kept.
      else open.push(...inParts(part, error).reverse());
    }
  }
  return halved;
}

/** Cuts a failed batch into halves, or into parts of the size that the failure names: halving down to that size could use up the time of each try. */
function inParts<Item>(items: readonly Item[], error: unknown): (readonly Item[])[] {
  const half = Math.ceil(items.length / 2);
  const size = error instanceof FewerFit ? Math.max(1, Math.min(half, error.fit)) : half;
  return Array.from({ length: Math.ceil(items.length / size) }, (_, n) =>
    items.slice(n * size, (n + 1) * size),
  );
}
