import type { Sql } from "../db/connect.ts";
import { keptPlan } from "../db/statement.ts";
import type { SetAside } from "../quarantine/quarantine.ts";
import { defaults, wholeRetry } from "../schedule/stored/stored-body.ts";
import type { ClaimedJob } from "./claimed-job.ts";
import { lightPayload } from "./heavy-payloads.ts";
import type { OutgoingParcel, QueueClass } from "./parcel-queue.ts";

export interface ClaimedParcel {
  outcome: "claimed";
  id: string;
  fence: number;
  claimedAt: Date;
  jobs: ClaimedJob[];
  /** The most jobs of the parcel that may be under way at once. */
  slots: number;
  /**
   * How many waiting parcels of the same target may be delivered with this one, because the
   * target's jobs are quick.
   */
  company: number;
  /**
   * Parcels that this claim has given a turn in a lane or at a target, and parcels of jobs that
   * left this parcel for another queue or target.
   */
  freed: OutgoingParcel[];
  /** Parcels of jobs that left this one because the version of their schedule has no row. */
  setAside?: SetAside[];
}

/** The pulses of a shard at one second. The worker reads the schedules page by page. */
export interface ClaimedPulses {
  outcome: "pulses";
  id: string;
  fence: number;
  claimedAt: Date;
  shard: number;
  /** The due time, in seconds since 1970. */
  second: number;
  /** Only the pulses of these targets; null for all. */
  targets: number[] | null;
  /** Only the pulses of the teams from the first number to the last; null for all. */
  teams: PulseTeams | null;
  /** The pulses up to this position are done; null if none are. */
  after: PulsePlace | null;
  /** True at the last try: pulses that their targets do not take now are given up. */
  lastTry: boolean;
  freed: OutgoingParcel[];
}

/** Numbers of teams; 0 is that of schedules without a team. */
export interface PulseTeams {
  from: number;
  /** Null: no last one. */
  to: number | null;
}

/** A position in the pulses of a team at a second, which are sent in the order of interval and schedule. */
export interface PulsePlace {
  every: number;
  schedule: string;
}

/**
 * Why there is nothing to do: `early` (with the time to wait), `gone` (settled, merged, split or
 * never there), `leased` (another worker has it), `ended` (its lease has run out: the caller takes
 * the jobs back with `endLease`), `held` (it waits for a hold to end, or for its turn in a lane or
 * at its target), `empty` (nothing in it may start), `aside` (it cannot be claimed, and is in
 * quarantine until its next attempt).
 */
export interface NotClaimed {
  outcome: "early" | "gone" | "leased" | "ended" | "held" | "empty" | "aside";
  waitMs: number;
  /**
   * If the parcel has to wait, for its time or for its turn at its target: another parcel of that
   * target that could start and was unclaimed a moment ago.
   */
  insteadId?: string | undefined;
  freed: OutgoingParcel[];
  setAside?: SetAside[];
}

export type Claimed = ClaimedParcel | ClaimedPulses | NotClaimed;

/**
 * Null stands for the usual value: writing and reading these values is a tenth of the cost of a
 * claim of several parcels.
 */
type Usual = "kind" | "n" | "dueAt" | "attempt" | "plannedVersion";

type UsualOrNull = { [Name in Usual]: ClaimedJob[Name] | null };

export interface JobRow
  extends Omit<ClaimedJob, keyof JobDetails | Usual | "occurrence" | "isHeavy">,
    UsualOrNull {
  /**
   * In milliseconds since 1970: an instant as text takes three times as long to write and to read.
   */
  occurrence: number;
  isHeavy: true | null;
  more: Partial<{ [Name in keyof JobDetails]: JobDetails[Name] | null }> | null;
}

/** Values that differ from the default in few jobs. */
interface JobDetails {
  lane: string | null;
  team: number | null;
  checks: number;
  forgiven: number;
  origin: string | null;
  /** The stored value, of any form. */
  retry: unknown;
  timeout: unknown;
}

interface FreedDetails {
  waitMs: number | null;
  freedId: string | null;
  freedQueue: QueueClass | null;
  insteadId: string | null;
}

interface ClaimDetails {
  fence: number;
  claimedAt: string;
  slots: number | null;
  company: number | null;
}

interface PulsesRow {
  outcome: "pulses";
  more: Pick<ClaimedPulses, "fence" | "shard" | "second" | "targets" | "lastTry"> & {
    claimedAt: string;
    teamFrom: number | null;
    teamTo: number | null;
    every: number | null;
    schedule: string | null;
  };
}

type ClaimRow =
  | (JobRow & { outcome: "job" })
  | PulsesRow
  | { outcome: "claimed"; more: ClaimDetails }
  | { outcome: "set-aside"; more: Omit<SetAside, "nextAt"> & { nextAt: string } }
  | { outcome: "freed" | NotClaimed["outcome"]; more: Partial<FreedDetails> | null };

export async function claimParcel(
  sql: Sql,
  id: string,
  leaseMs: number,
  /** How many parcels of one target may be under way at once; null for any number. */
  window: number | null = null,
): Promise<Claimed> {
  const rows = await keptPlan(sql<ClaimRow[]>`
    select outcome, date_part('epoch', occurrence) * 1000 as occurrence, schedule_id as "scheduleId", kind, n, nullif(due_at, occurrence) as "dueAt",
      attempt, planned_version as "plannedVersion", version, key, group_key as group, target, ${lightPayload(sql)}, more
    from carillon.claim_parcel(${id}, ${Math.ceil(leaseMs)}, ${window})`);
  const jobs: ClaimedJob[] = [];
  const freed: OutgoingParcel[] = [];
  const setAside: SetAside[] = [];
  let answer: Exclude<ClaimRow, { outcome: "job" | "set-aside" } | PulsesRow> | undefined;
  for (const row of rows) {
    if (row.outcome === "pulses") return claimedPulses(id, row);
    if (row.outcome === "job") {
      jobs.push(claimedJob(row));
      continue;
    }
    if (row.outcome === "set-aside") {
      setAside.push({ ...row.more, nextAt: new Date(row.more.nextAt) });
      continue;
    }
    if (row.outcome !== "claimed") freed.push(...freedBy(row.more));
    if (row.outcome !== "freed") answer = row;
  }
  const aside = setAside.length === 0 ? {} : { setAside };
  if (answer === undefined || answer.outcome === "freed")
    throw new Error(`Claiming parcel ${id} returned no outcome.`);
  if (answer.outcome !== "claimed")
    return {
      outcome: answer.outcome,
      waitMs: answer.more?.waitMs ?? 0,
      insteadId: answer.more?.insteadId ?? undefined,
      freed,
      ...aside,
    };
  const { fence, claimedAt, slots, company } = answer.more;
  return {
    outcome: "claimed",
    id,
    fence,
    claimedAt: new Date(claimedAt),
    jobs,
    slots: slots ?? jobs.length,
    company: company ?? 0,
    freed,
    ...aside,
  };
}

function claimedPulses(id: string, { more }: PulsesRow): ClaimedPulses {
  const { claimedAt, teamFrom, teamTo, every, schedule, ...pulses } = more;
  const teams = teamFrom === null ? null : { from: teamFrom, to: teamTo };
  const after = every === null || schedule === null ? null : { every, schedule };
  return { outcome: "pulses", id, ...pulses, teams, claimedAt: new Date(claimedAt), after, freed: [] };
}

function freedBy(more: Partial<FreedDetails> | null): OutgoingParcel[] {
  const { freedId = null, freedQueue = null, waitMs } = more ?? {};
  return freedId === null || freedQueue === null
    ? []
    : [{ id: freedId, queue: freedQueue, waitMs: waitMs ?? 0 }];
}

export function claimedJob(row: JobRow): ClaimedJob {
  const { more } = row;
  const occurrence = new Date(Math.round(row.occurrence));
  return {
    occurrence,
    scheduleId: row.scheduleId,
    kind: row.kind ?? "cadence",
    n: row.n ?? 0,
    dueAt: row.dueAt ?? occurrence,
    attempt: row.attempt ?? 0,
    plannedVersion: row.plannedVersion ?? row.version,
    version: row.version,
    key: row.key,
    group: row.group,
    target: row.target,
    payload: row.payload,
    lane: more?.lane ?? null,
    team: more?.team ?? null,
    checks: more?.checks ?? 0,
    forgiven: more?.forgiven ?? 0,
    origin: more?.origin ?? null,
    retry: wholeRetry(more?.retry),
    timeout: typeof more?.timeout === "string" ? more.timeout : defaults.timeout,
    ...(row.isHeavy === true ? { isHeavy: true as const } : {}),
  };
}
