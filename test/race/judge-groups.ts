import type { Claim } from "./claims.ts";

/** The speed of the race's clock, as a multiple of the real one. */
export const factor = 60;
const grainMs = 5 * factor;
/** The longest transaction that makes jobs, by the fast clock. */
const makingMs = 500 * factor;
export interface JobRow {
  key: string;
  scheduleId: string;
  lane: string;
  dueAt: number;
  /** The time of its insert; it becomes visible a little later. */
  madeAt: number;
  /** The id of the transaction that inserted it. */
  madeBy: string;
  state: string;
  reason: string | null;
  passedAt: number | null;
  /**
   * The snapshot of the transaction in which it passed the lane, in Postgres's text form: it tells
   * which transactions had ended.
   */
  seen: string | null;
  finishedAt: number | null;
}

export const isGrouped = (lane: string | undefined) => lane?.startsWith("grouped/") === true;

/**
 * Every job that was made in time has succeeded; in a serial group each started after the one
 * before had ended.
 */
export function judgeJobs(all: readonly JobRow[]): string[] {
  const jobs = all.filter(({ reason }) => reason !== "missed");
  const stuck = jobs
    .filter(({ state }) => state !== "succeeded")
    .map(({ key, dueAt, state }) => `${state}: ${key} at ${new Date(dueAt).toISOString()}`);
  const serial = [...Map.groupBy(jobs, ({ lane }) => lane)].filter(([lane]) => !isGrouped(lane));
  const outOfTurn = serial.flatMap(([lane, own]) =>
    own.flatMap(({ key, dueAt, passedAt, seen }, index) => {
      const start = passedAt ?? 0;
      // A job that a late tick made after the start, or had not committed by then, could not be
      // waited for.
      const overtaken = own
        .slice(0, index)
        .filter(
          ({ madeAt, madeBy, finishedAt }) =>
            madeAt < start - makingMs &&
            isSeen(madeBy, seen) &&
            (finishedAt ?? Number.POSITIVE_INFINITY) > start,
        );
      return overtaken.map(
        (before) => `out of turn in ${lane}: ${key} at ${new Date(dueAt).toISOString()} before ${before.key}`,
      );
    }),
  );
  return [...stuck, ...outOfTurn];
}

/**
 * A snapshot's text has the first transaction that may still run, the first that has not begun, and
 * those between that still run: `10:20:11,14`.
 */
function isSeen(transaction: string, snapshot: string | null): boolean {
  const [from = "0", to = "0", open = ""] = snapshot?.split(":") ?? [];
  if (BigInt(transaction) < BigInt(from)) return true;
  return BigInt(transaction) < BigInt(to) && !open.split(",").includes(transaction);
}

/** No two leases of one lane overlap. */
export function judgeLeases(claims: readonly Claim[], laneOf: ReadonlyMap<string, string>): string[] {
  const leases = claims.flatMap(({ parcel, fence, claimedAt, leaseUntil, settleSentAt, jobs }) => {
    const lanes = jobs.flatMap(({ scheduleId }) => laneOf.get(scheduleId) ?? []);
    const until = Math.min(leaseUntil, settleSentAt ?? leaseUntil);
    return [...new Set(lanes)].map((lane) => ({
      lane,
      name: `${parcel}/${fence}`,
      from: claimedAt,
      until,
      jobs: lanes.filter((each) => each === lane).length,
    }));
  });
  return [...Map.groupBy(leases, ({ lane }) => lane)].flatMap(([lane, own]) => {
    const sorted = own.sort((a, b) => a.from - b.from);
    return sorted.flatMap((lease, index) => [
      ...(lease.jobs > 1 && !isGrouped(lane) ? [`${lease.jobs} at once in ${lane}`] : []),
      ...sorted
        .slice(0, index)
        .filter(({ until }) => lease.from < until - grainMs)
        .map(({ name }) => `two live leases in ${lane}: ${lease.name} was claimed while ${name} ran`),
    ]);
  });
}

export function judgeOnce(claims: readonly Claim[]): string[] {
  const taken = claims.flatMap(({ settled, done }) => (settled === "held" ? [...done] : []));
  return [...Map.groupBy(taken, (name) => name)]
    .filter(([, times]) => times.length > 1)
    .map(([name, times]) => `doubled: ${name} was settled ${times.length} times`);
}
