/**
 * For so long a transaction may wait for this program before it is reported: its locks are held meanwhile, and Postgres ends a transaction
 * that idles for ten seconds.
 */
export const ownTimeMax = 1_000;

/** How a transaction's time with no statement under way is counted: the program's own computing. */
export interface OwnTime {
  sent(): void;
  answered(): void;
  /** So far. */
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
