import { FewerFit } from "../quarantine/in-halves.ts";

/**
 * A transaction that may be divided does no further operation by itself after this time under its locks.
 * On a busy machine one of them took 0.1 s.
 */
export const underLocksMs = { divided: 300, allOrNothing: Number.POSITIVE_INFINITY } as const;

/** Rolls the transaction back, because it has kept claims and ticks waiting for long. */
class TooLongAtOnce extends FewerFit {
  override readonly name = "TooLongAtOnce";
}

/** How long a transaction may do operations one by one. */
export interface LockTime {
  now(): number;
  mostMs: number;
}

export const unlimited: LockTime = { now: () => 0, mostMs: Number.POSITIVE_INFINITY };

/** Throws if the time is used up. `done`: how many of the `of` operations of a wave are done. */
export type CheckTime = (done: number, of: number) => void;

/** The time counts from this call. `operations`: those of the transaction. */
export function lockTimeOf({ now, mostMs }: LockTime, operations: number): CheckTime {
  const since = now();
  return (done, of) => {
    if (now() - since <= mostMs) return;
    throw new TooLongAtOnce(
      `${of} operations that are done one by one take more than ${mostMs} ms.`,
      Math.max(1, Math.floor((operations * done) / of)),
    );
  };
}
