import type { JobRead } from "../job/read-job.ts";
import type { Outage } from "../parcel/outages.ts";
import type { FullLine } from "../plan/backlog-room.ts";
import type { RunLimit } from "../plan/fires-left.ts";
import type { WhyAside } from "../quarantine/entries.ts";
import type { Hold } from "../schedule/holds.ts";
import type { Json } from "../schedule/shape/json.ts";
import type { StoredSpec } from "../schedule/stored/stored-spec.ts";
import type { ScheduleChange } from "../schedule/stored/version-rows.ts";
import type { JobRequests } from "./requests.ts";

/** A version with the spec that it had. Instants are epoch milliseconds. */
export interface VersionFact extends StoredSpec {
  version: number;
  change: ScheduleChange;
  at: number;
  by: string;
  held: boolean;
  heldUntil: number | null;
  /** The audit's details of the change. */
  detail: Json;
}

export interface PassedFact {
  from: Date;
  to: Date;
  /** Null if unknown. */
  count: number | null;
  more: boolean;
  reason: string;
  notedAt: Date;
}

export interface TravelFact {
  inLane: boolean;
  /** The target whose limits, or whose share of the workers, make the job wait. */
  atTarget: string | null;
  /** How many jobs of one team may run there at once, if so many of its team do. */
  teamFull?: number | null;
  /** Null if not known yet. */
  startsAt: Date | null;
  owed: boolean;
  offers: number;
  queue: "fast" | "slow";
}

/** All facts in the database about one instant of a schedule. */
export interface Facts {
  key: string;
  at: number;
  now: number;
  createdAt: number;
  /** The versions around the instant, oldest first. */
  versions: readonly VersionFact[];
  job: JobRead | null;
  /** Jobs of the same instant outside the cadence. */
  beside: readonly JobRead[];
  /** The parcel of the waiting job; without a job, that of the waiting recheck. */
  travel: TravelFact | null;
  /** The rechecks of the same run, in order. */
  chain: readonly JobRead[];
  requests: JobRequests;
  /** Set if the version is a pulse. */
  pulse: PulseFact | null;
  passed: PassedFact | null;
  passedBefore: PassedFact | null;
  /** How many occurrences leave the backlog before this one, if it is in the backlog. */
  owedBefore: number | null;
  /** Set if the occurrence is in the backlog and its team has no room for more at its target. */
  fullLine: FullLine | null;
  /**
   * Why the schedule and the rows of its versions do not match, as after a partial restore. Null if
   * they match, or if the schedule is deleted.
   */
  versionsFault: string | null;
  /** The quarantine entries of the schedule, oldest first. */
  aside: readonly WhyAside[];
  /** The holds in the schedule's row, also those whose end the tick has not cleared yet. */
  holds: readonly Hold[];
  /** The outages from the due time until the job started, oldest first. */
  outages: readonly Outage[];
  heldSince: number | null;
  heldUntil: number | null;
  plannedUpTo: number;
  keptFrom: number;
  /** The limit of the schedule's coming runs; null for a deleted schedule. */
  limit: RunLimit | null;
  /** The cadence's jobs of neighbouring occurrences, oldest first. */
  around: readonly JobRead[];
}

export type Outcome =
  | "not-created"
  | "before-start"
  | "ran"
  | "running"
  | "waiting"
  | "retrying"
  | "dead"
  | "cancelled"
  | "skipped"
  | "held"
  | "backlog"
  | "not-planned-yet"
  | "planned"
  | "set-aside"
  | "withdrawn"
  | "moved"
  | "not-an-occurrence"
  | "after-end"
  | "deleted"
  | "moved-away"
  | "too-old"
  | "fired"
  | "unrecorded";

/**
 * Where the time was lost. `unrecorded`: before the times of parcels and the ledger of outages were
 * kept.
 */
export type LateCause =
  | "hold"
  | "lane"
  | "edit"
  | "tick"
  | "database"
  | "worker"
  | "target"
  | "backlog"
  | "unrecorded";

export interface HeldBy {
  owner: string;
  reason: string | null;
  since: Date;
  until: Date | null;
  group?: string;
  tag?: string;
}

/** The explanation as one sentence, and its facts as fields. */
export interface Verdict {
  outcome: Outcome;
  sentence: string;
  reason?: string;
  late?: { byMs: number; because: LateCause };
  /** The outage that delayed or prevented it. */
  outage?: Outage;
  collapsedInto?: Date;
  heldBy?: HeldBy[];
  passedOver?: PassedFact;
  backlog?: { before: number };
  calendar?: { name: string; day: string; entry: string | null };
  movedTo?: Date | null;
  edit?: { version: number; change: ScheduleChange; by: string; at: Date };
  behind?: Date;
  /** Current quarantine entries of the schedule; left out if the job has ended. */
  setAside?: WhyAside[];
  /** The job that requested the first recheck, the number of this one, and how many followed. */
  recheck?: { of: string; number: number; followed: number };
}

/** No occurrence of a pulse is recorded, only those that its shard or target passed over. */
export interface PulseFact {
  /** The ticks have made the parcels of its shard up to here. */
  pulsedTo: Date;
  passed: PulsesPassed | null;
}

export interface PulsesPassed {
  from: Date;
  to: Date;
  reason: string;
  notedAt: Date;
  /** The target whose pulses were passed over; null for all of the shard. */
  targetId: number | null;
  /** The team whose pulses were passed over; null for all teams. */
  teamId: number | null;
  /** Number of pulses passed over; null for all. */
  count: number | null;
}
