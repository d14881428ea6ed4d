/** When the work of a target on one job began and ended, in milliseconds of the worker's clock. */
export interface Ran {
  from: number;
  to: number;
}

/** The times of a parcel's jobs, by the worker's clock. */
export interface Measured {
  /** When the worker had the claim. */
  claimedAt: number;
  /** In the order of the jobs; undefined for a job whose target was not reached. */
  ran: readonly (Ran | undefined)[];
  now: () => number;
}

/** Jobs of a parcel whose times differ by less share them: nearly all parcels then need no lists. */
const nearMs = 50;
/** A jump of the worker's clock must not overflow a number of the database. */
const longestMs = 86_400_000;

export interface OwnTimes {
  startedMs: (number | null)[];
  endedMs: number[];
}

/**
 * How many milliseconds ago each job began and ended. Null if all of them began when their parcel was
 * claimed, and ended now.
 */
export function ownTimes(measured: Measured | undefined): OwnTimes | null {
  if (measured === undefined) return null;
  const shared = sharedTimes(measured);
  if (shared?.startedMs === null && shared.endedMs === 0) return null;
  const { ran } = measured;
  const now = measured.now();
  return {
    startedMs: ran.map((each) => (each === undefined ? null : ago(each.from, now))),
    endedMs: ran.map((each) => (each === undefined ? 0 : ago(each.to, now))),
  };
}

/** How many milliseconds ago the jobs of a parcel began and ended. */
export interface SharedTimes {
  /** Null: they began when the parcel was claimed. */
  startedMs: number | null;
  endedMs: number;
}

const atOnce: SharedTimes = { startedMs: null, endedMs: 0 };

/**
 * The times of all jobs of a parcel, if each is within 50 ms of the others; else null. An end is late
 * by up to 50 ms, so that few parcels of one claim have different ends.
 */
export function sharedTimes(measured: Measured | undefined): SharedTimes | null {
  if (measured === undefined) return atOnce;
  const { claimedAt, ran, now } = measured;
  let [began, lastBegan] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let [firstEnded, ended] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const each of ran) {
    if (each === undefined) continue;
    began = Math.min(began, each.from);
    lastBegan = Math.max(lastBegan, each.from);
    firstEnded = Math.min(firstEnded, each.to);
    ended = Math.max(ended, each.to);
  }
  if (began === Number.POSITIVE_INFINITY) return atOnce;
  const isNearClaim = lastBegan - claimedAt < nearMs;
  if ((!isNearClaim && lastBegan - began >= nearMs) || ended - firstEnded >= nearMs) return null;
  const at = now();
  return {
    startedMs: isNearClaim ? null : ago(began, at),
    endedMs: Math.floor(ago(ended, at) / nearMs) * nearMs,
  };
}

const ago = (instant: number, now: number): number =>
  Math.round(Math.min(Math.max(0, now - instant), longestMs));
