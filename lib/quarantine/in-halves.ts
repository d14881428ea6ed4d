import { isOfTheDatabase } from "../db/passing-failure.ts";

/**
 * A failure of something that all rows of a batch need, such as the lock of their shard. No row is
 * at fault.
 */
export class OfNoRow extends Error {
  override readonly name = "OfNoRow";
  override readonly cause: unknown;

  constructor(cause: unknown) {
    super("A step that all rows of a batch need has failed.");
    this.cause = cause;
  }
}

/**
 * Runs `work`, which calls `noteLocked` once it has the locks that all rows of the batch need. A
 * failure before that call is no row's fault, and is thrown as `OfNoRow`. A failure of the database
 * as a whole is thrown unchanged, because other batches would meet it too.
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

/** A batch has too many rows, and no row is at fault; about `fit` rows are possible. */
export class FewerFit extends Error {
  override readonly name: string = "FewerFit";
  readonly fit: number;
  /** The places of the rows in the order in which they should be cut into parts, if it is another one. */
  readonly order: readonly number[] | undefined;

  constructor(message: string, fit: number, order?: readonly number[]) {
    super(message);
    this.fit = fit;
    this.order = order;
  }
}

/**
 * Whether a row may be at fault. A lock that was not granted and a statement that took too long may
 * be caused by one row.
 */
export function mayBeOfARow(error: unknown): boolean {
  return !(error instanceof OfNoRow) && !isOfTheDatabase(error);
}

export interface Halved<Item> {
  /** Items that failed alone. */
  failed: { item: Item; error: unknown }[];
  /** Items not tried because time was up. */
  left: Item[];
}

/**
 * Acts on all items at once, and after a failure on each half, until a failing item is alone. One
 * bad item of n costs about 2 log₂ n further attempts. `act` must undo its work when it fails, as a
 * transaction does. A failure of the database itself is thrown, and no item is blamed for it.
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
      // The first part is pushed last, and so done first, which keeps the order of items.
      else open.push(...inParts(inOrder(part, error), error).reverse());
    }
  }
  return halved;
}

function inOrder<Item>(items: readonly Item[], error: unknown): readonly Item[] {
  const order = error instanceof FewerFit ? error.order : undefined;
  // A batch of which some rows were left out meanwhile is cut as it is.
  return order?.length === items.length ? order.flatMap((place) => items.slice(place, place + 1)) : items;
}

/**
 * Cuts a failed batch into halves, or into parts of the size that the failure names: halving down
 * to that size could use up the time of every attempt.
 */
export function inParts<Item>(items: readonly Item[], error: unknown): (readonly Item[])[] {
  const half = Math.ceil(items.length / 2);
  const size = error instanceof FewerFit ? Math.max(1, Math.min(half, error.fit)) : half;
  return Array.from({ length: Math.ceil(items.length / size) }, (_, n) =>
    items.slice(n * size, (n + 1) * size),
  );
}
