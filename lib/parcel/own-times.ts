import type { ClaimedJob } from "./claimed-job.ts";

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

/**
 * Jobs that began and ended this near to the claim and the settle of their parcel are written with
 * the parcel's times: nearly all parcels then need no lists.
 */
export const nearMs = 50;
/** A jump of the worker's clock must not overflow a number of the database. */
const longestMs = 86_400_000;

export interface OwnTimes {
  startedMs: (number | null)[];
  endedMs: number[];
}

/**
 * How many milliseconds ago each job began and ended. Null if all of them did when their parcel was
 * claimed and is settled.
 */
export function ownTimes(measured: Measured | undefined): OwnTimes | null {
  if (measured === undefined) return null;
  const { claimedAt, ran } = measured;
  const now = measured.now();
  const isNear = ran.every(
    (each) => each === undefined || (each.from - claimedAt < nearMs && now - each.to < nearMs),
  );
  return isNear ? null : timesAgo(ran, now);
}

export function timesAgo(ran: Measured["ran"], now: number): OwnTimes {
  const ago = (instant: number) => Math.round(Math.min(Math.max(0, now - instant), longestMs));
  return {
    startedMs: ran.map((each) => (each === undefined ? null : ago(each.from))),
    endedMs: ran.map((each) => (each === undefined ? 0 : ago(each.to))),
  };
}

/** Jobs with their own times, as the settle of several parcels takes them. */
export function ownTimesOf(
  parcels: readonly { jobs: readonly ClaimedJob[]; measured: Measured | undefined }[],
): (OwnTimes & { jobs: ClaimedJob[] }) | null {
  if (parcels.every(({ measured }) => ownTimes(measured) === null)) return null;
  const times = parcels.map(({ jobs, measured }) =>
    timesAgo(measured?.ran ?? jobs.map(() => undefined), measured?.now() ?? 0),
  );
  return {
    jobs: parcels.flatMap(({ jobs }) => jobs),
    startedMs: times.flatMap(({ startedMs }) => startedMs),
    endedMs: times.flatMap(({ endedMs }) => endedMs),
  };
}
