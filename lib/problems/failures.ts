import type { Tx } from "../db/connect.ts";
import { groupJobs, type JobGroup } from "../history/error-groups.ts";
import { type NotedOutage, readOutages } from "../parcel/outages.ts";

/** Dead jobs by target and error. */
export interface DeadGroups {
  items: JobGroup[];
  /** Jobs and groups of all that were looked at, with those beyond the bound of the list. */
  all: { jobs: number; groups: number };
  /** There are more dead jobs than were looked at. */
  more: boolean;
}

/** Groups of dead jobs that are listed. */
export const groupsMax = 20;

/**
 * The newest dead jobs by target and error. Each team's largest group is taken first, so that many
 * groups of one team hide none of another's.
 */
export async function readDeadGroups(tx: Tx, prefix: string | null): Promise<DeadGroups> {
  const filter = prefix === null ? {} : { prefix };
  const { items, groups, looked, more } = await groupJobs(tx, {
    filter,
    state: "dead",
    by: "target,error",
    limit: groupsMax,
    byTeam: true,
  });
  return { items, all: { jobs: looked, groups }, more };
}

/** An outage that is over. */
export interface PastOutage extends NotedOutage {
  to: Date;
}

/** Outages that are read. A day with more has one about every quarter of an hour. */
const outagesMax = 100;

/** Outages that were over after an instant, and whether there are more than are read. */
export async function readPastOutages(tx: Tx, from: Date): Promise<{ items: PastOutage[]; more: boolean }> {
  const { items, next } = await readOutages(tx, { from, limit: outagesMax });
  return {
    items: items.flatMap(({ to, ...outage }) => (to === null ? [] : [{ ...outage, to }])),
    more: next !== undefined,
  };
}

export interface Losses {
  /** Occurrences that were missed, and the first minute in which one was. */
  missed: { count: number; since: Date | null };
  /** Pulses that were given up. */
  pulsesLost: { count: number; since: Date | null };
}

/** Counts the losses since an instant, from counts that have been rolled up. */
export async function readLosses(tx: Tx, from: Date): Promise<Losses> {
  const [row] = await tx<
    { missed: number; missedSince: Date | null; lost: number; lostSince: Date | null }[]
  >`
    select coalesce(sum(missed), 0)::float8 as missed, min(minute) filter (where missed > 0) as "missedSince",
      coalesce(sum(pulses_lost), 0)::float8 as lost, min(minute) filter (where pulses_lost > 0) as "lostSince"
    from carillon.minutes where minute >= ${from}`;
  return {
    missed: { count: row?.missed ?? 0, since: row?.missedSince ?? null },
    pulsesLost: { count: row?.lost ?? 0, since: row?.lostSince ?? null },
  };
}
