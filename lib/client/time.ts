import type { JobSummary } from "./job.ts";
import type { Instant, InstantText, Json } from "./json.ts";
import type { QuarantineEntry } from "./quarantine.ts";
import type { Hold, ScheduleBody, Spec } from "./schedule.ts";
import type { Outage } from "./stats.ts";

export interface Occurrence {
  at: InstantText;
  /** The wall time in the schedule's zone. */
  wall: string;
  /** When the job is due, where `spread` or `slot` moves it. */
  due?: InstantText;
  /** The effect of a clock change or a calendar on it. */
  note: string | null;
}

export interface NextOccurrences {
  occurrences: InstantText[];
  details: (Occurrence & { held?: true })[];
  timezone: string;
  /** The current holds, if there are any. */
  holds?: Hold[];
  heldUntil?: InstantText | null;
}

export interface NextParams {
  /** 1 to 1,000; default 10. */
  n?: number | undefined;
  /** Occurrences strictly after this instant; default now. */
  from?: Instant | null | undefined;
}

/** A schedule that is not saved; a preview needs no target. */
export interface PreviewBody extends Omit<ScheduleBody, "target">, NextParams {
  target?: ScheduleBody["target"] | undefined;
  key?: string | undefined;
}

export interface Preview {
  occurrences: InstantText[];
  details: Occurrence[];
  timezone: string;
  cadence: string;
  cadenceText: string;
  warnings: string[];
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

export interface NearestOccurrence {
  at: InstantText;
  wall: string;
  note: string | null;
}

/**
 * The outcome of an instant, in one sentence and in fields. Fields that do not apply are absent.
 */
export interface Explanation {
  key: string;
  scheduleId: string;
  at: InstantText;
  /** The requested instant, where it differs from `at`: its due time, or up to a second away. */
  asked?: InstantText;
  wall: string;
  outcome: Outcome;
  reason?: string;
  sentence: string;
  /** Whether `at` is an occurrence of the version in force at that time. */
  occurrence: boolean;
  version: number | null;
  cadence: string | null;
  dueAt: InstantText | null;
  note?: string;
  job?: JobSummary;
  beside?: JobSummary[];
  late?: {
    byMs: number;
    because: "hold" | "lane" | "edit" | "tick" | "database" | "worker" | "target" | "backlog" | "unrecorded";
  };
  /** The outage that delayed or prevented it. */
  outage?: Pick<Outage, "what" | "from" | "to">;
  collapsedInto?: InstantText;
  behind?: InstantText;
  /** Why a part of Carillon has the schedule set aside now. */
  setAside?: Pick<QuarantineEntry, "consumer" | "reason" | "firstAt" | "tries" | "nextAt">[];
  heldBy?: (Omit<Hold, "until"> & { until: InstantText | null })[];
  passedOver?: {
    from: InstantText;
    to: InstantText;
    /** Null where the number is not known. */
    count: number | null;
    more: boolean;
    reason: string;
    notedAt: InstantText;
  };
  backlog?: { before: number };
  calendar?: { name: string; day: string; entry: string | null };
  movedTo?: InstantText | null;
  edit?: { version: number; change: ScheduleChange; by: string; at: InstantText };
  recheck?: { of: string; number: number; followed: number };
  nearest: { before: NearestOccurrence | null; after: NearestOccurrence | null };
}

export type ScheduleChange =
  | "created"
  | "replaced"
  | "patched"
  | "paused"
  | "resumed"
  | "deleted"
  | "restored"
  | "replanned";

/**
 * One field that differs. `before` and `after` are absent where the values are too large or secret.
 */
export interface Change {
  path: string;
  before?: Json;
  after?: Json;
}

export interface Version {
  version: number;
  change: ScheduleChange;
  at: InstantText;
  by: string;
  /** The schedule's fields without the payload; absent where only the state was changed. */
  spec?: Spec;
  /**
   * Why the stored fields cannot be read; absent where they can. Unreadable fields then show their
   * defaults.
   */
  unreadable?: string;
  changes: Change[];
  /** `ended: true` marks a hold that ended by itself, beside the version that was current then. */
  detail: Json;
}

/** The changes of a restore, before it is done. */
export interface RestorePreview {
  dryRun: true;
  key: string;
  /** The version of the schedule now; null if it is deleted: the restore makes it again. */
  version: number | null;
  fields: Change[];
  changes: { before: InstantText[]; after: InstantText[] };
}
