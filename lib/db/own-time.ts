/**
 * The longest that a transaction may wait for this program before it is reported. Its locks are
 * held meanwhile, and Postgres ends a transaction after ten idle seconds.
 */
export const ownTimeMax = 1_000;

/**
 * Counts the time that a transaction spends without a running statement, on the program's own work.
 */
export interface OwnTime {
  sent(): void;
  answered(): void;
  /** The time counted until now. */
  ms(): number;
}

export function ownTime(now: () => number): OwnTime {
  let underWay = 0;
  let idleSince = now();
  let idle = 0;
  return {
    sent: () => {
      if (underWay === 0) idle += now() - idleSince;
      underWay += 1;
    },
    answered: () => {
      underWay -= 1;
      if (underWay === 0) idleSince = now();
    },
    ms: () => idle,
  };
}
