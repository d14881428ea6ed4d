import type { JobRead } from "../job/read-job.ts";
import type { FullTarget } from "../plan/backlog-room.ts";
import type { WhyAside } from "../quarantine/entries.ts";
import type { Hold } from "../schedule/holds.ts";
import type { Json } from "../schedule/shape/json.ts";
import type { StoredSpec } from "../schedule/stored/stored-spec.ts";
import type { ScheduleChange } from "../schedule/stored/version-rows.ts";
import type { JobRequests } from "./requests.ts";

/** A version, with the spec that it had. Instants are epoch milliseconds. */
export interface VersionFact extends StoredSpec {
  version: number;
  change: ScheduleChange;
  at: number;
  by: string;
  held: boolean;
  heldUntil: number | null;
  /** What the audit says of the change. */
  detail: Json;
}

export interface PassedFact {
  from: Date;
  to: Date;
  /** Null where it is not known. */
  count: number | null;
  more: boolean;
  reason: string;
  notedAt: Date;
}

export interface TravelFact {
  inLane: boolean;
  /** The target whose limits, or whose share of the workers, keep it waiting. */
  atTarget: string | null;
  /** Null where that is not known yet. */
  startsAt: Date | null;
  owed: boolean;
  offers: number;
}

/** Everything the database tells about one instant of a schedule. */
export interface Facts {
  key: string;
  at: number;
  now: number;
  createdAt: number;
  /** Those around the instant, the oldest first. */
  versions: readonly VersionFact[];
  job: JobRead | null;
  /** Jobs of the same instant beside the cadence. */
  beside: readonly JobRead[];
  /** Of the job, or of the recheck where there is none, while it waits. */
  travel: TravelFact | null;
  /** The rechecks of the same run, the first one first. */
  chain: readonly JobRead[];
  requests: JobRequests;
  /** Of an occurrence of a version that is a pulse. */
  pulse: PulseFact | null;
  passed: PassedFact | null;
  passedBefore: PassedFact | null;
  /** So many occurrences are let in before this one, where it stands in the backlog. */
  owedBefore: number | null;
  /** The occurrence is in the backlog, and its target has no room for more of it. */
  fullTarget: FullTarget | null;
  /** Why the schedule and the rows of its versions are of different moments; null where they are of one, or it is deleted. */
  versionsFault: string | null;
  /** Why a part of Carillon has the schedule set aside now, the oldest first. */
  aside: readonly WhyAside[];
  /** The holds that stand now. */
  holds: readonly Hold[];
  heldSince: number | null;
  heldUntil: number | null;
  plannedUpTo: number;
  keptFrom: number;
  /** Of a limited schedule: how many more cadence jobs there may be now. */
  firesLeft: number | null;
  /** The cadence's jobs of neighbouring occurrences, the oldest first. */
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
  | "too-old"
  | "fired"
  | "unrecorded";

export type LateCause = "hold" | "lane" | "edit" | "tick" | "worker" | "backlog" | "unrecorded";

export interface HeldBy {
  owner: string;
  reason: string | null;
  since: Date;
  until: Date | null;
  group?: string;
  tag?: string;
}

/** What one sentence says, and in fields what it is made of. */
export interface Verdict {
  outcome: Outcome;
  sentence: string;
  reason?: string;
  late?: { byMs: number; because: LateCause };
  collapsedInto?: Date;
  heldBy?: HeldBy[];
  passedOver?: PassedFact;
  backlog?: { before: number };
  calendar?: { name: string; day: string; entry: string | null };
  movedTo?: Date | null;
  edit?: { version: number; change: ScheduleChange; by: string; at: Date };
  behind?: Date;
  /** What of the schedule is set aside now; left out of a job that has ended. */
  setAside?: WhyAside[];
  /** The job that asked for the first recheck, which one this is, and how many followed. */
  recheck?: { of: string; number: number; followed: number };
}

/** Of a pulse no occurrence is written down; what is, is what its shard or its target passed over. */
export interface PulseFact {
  /** Up to there the ticks have made the parcels of its shard. */
  pulsedTo: Date;
  passed: PulsesPassed | null;
}

export interface PulsesPassed {
  from: Date;
  to: Date;
  reason: string;
  notedAt: Date;
  /** Of its target alone; null for all of its shard. */
  targetId: number | null;
  /** So many of them; null where all. */
  count: number | null;
}
