import type { Claim } from "./claims.ts";

/** So many times as fast as the real one goes the clock of the race. */
export const factor = 60;
const grainMs = 5 * factor;
/** So long, by the fast clock, a transaction that makes jobs may take. */
const makingMs = 500 * factor;
export interface JobRow {
  key: string;
  scheduleId: string;
  lane: string;
  dueAt: number;
  /** When it was inserted; it is seen a little later. */
  madeAt: number;
  /** By which transaction. */
  madeBy: string;
  state: string;
  reason: string | null;
  passedAt: number | null;
  /** Which transactions the one in which it passed saw the end of: as Postgres writes a snapshot. */
  seen: string | null;
  finishedAt: number | null;
}

export const isGrouped = (lane: string | undefined) => lane?.startsWith("grouped/") === true;

/** Everything that a tick came to in time has succeeded; of a serial group each after the one before had ended. */
export function judgeJobs(all: readonly JobRow[]): string[] {
  const jobs = all.filter(({ reason }) => reason !== "missed");
  const stuck = jobs
    .filter(({ state }) => state !== "succeeded")
    .map(({ key, dueAt, state }) => `${state}: ${key} at ${new Date(dueAt).toISOString()}`);
  const serial = [...Map.groupBy(jobs, ({ lane }) => lane)].filter(([lane]) => !isGrouped(lane));
  const outOfTurn = serial.flatMap(([lane, own]) =>
    own.flatMap(({ key, dueAt, passedAt, seen }, index) => {
      const start = passedAt ?? 0;
      // What a late tick made after that, or had not committed by then, could not be waited for.
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

/** A snapshot is written as the first transaction that may not have ended, the first that has not begun, and those between that have not ended: `10:20:11,14`. */
function isSeen(transaction: string, snapshot: string | null): boolean {
  const [from = "0", to = "0", open = ""] = snapshot?.split(":") ?? [];
  if (BigInt(transaction) < BigInt(from)) return true;
  return BigInt(transaction) < BigInt(to) && !open.split(",").includes(transaction);
}

/** No two live leases in a lane, whoever's they are. */
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
