import type { JobSummary } from "./job.ts";
import type { Instant, InstantText, Json } from "./json.ts";
import type { QuarantineEntry } from "./quarantine.ts";
import type { Hold, ScheduleBody, Spec } from "./schedule.ts";

export interface Occurrence {
  at: InstantText;
  /** Its time on the clocks of the schedule's zone. */
  wall: string;
  /** Where a spread or a slot moves it. */
  due?: InstantText;
  /** What a clock change or a calendar did to it. */
  note: string | null;
}

export interface NextOccurrences {
  occurrences: InstantText[];
  details: (Occurrence & { held?: true })[];
  timezone: string;
  /** Where it is held now. */
  holds?: Hold[];
  heldUntil?: InstantText | null;
}

export interface NextParams {
  /** 1 to 1,000; 10 if left out. */
  n?: number | undefined;
  /** Strictly after this; now if left out. */
  from?: Instant | null | undefined;
}

/** A schedule that is not saved. No target is needed to tell times. */
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
  | "too-old"
  | "fired"
  | "unrecorded";

export interface NearestOccurrence {
  at: InstantText;
  wall: string;
  note: string | null;
}

/** What became of an instant, in one sentence and in fields; those that say nothing of this one are left out. */
export interface Explanation {
  key: string;
  scheduleId: string;
  at: InstantText;
  /** What was asked for, where that is only when the occurrence is due. */
  asked?: InstantText;
  wall: string;
  outcome: Outcome;
  reason?: string;
  sentence: string;
  /** Whether it is one of the version of its time. */
  occurrence: boolean;
  version: number | null;
  cadence: string | null;
  dueAt: InstantText | null;
  note?: string;
  job?: JobSummary;
  beside?: JobSummary[];
  late?: {
    byMs: number;
    because: "hold" | "lane" | "edit" | "tick" | "worker" | "backlog" | "unrecorded";
  };
  collapsedInto?: InstantText;
  behind?: InstantText;
  /** Why a part of Carillon has the schedule set aside now. */
  setAside?: Pick<QuarantineEntry, "consumer" | "reason" | "firstAt" | "tries" | "nextAt">[];
  heldBy?: (Omit<Hold, "until"> & { until: InstantText | null })[];
  passedOver?: {
    from: InstantText;
    to: InstantText;
    /** Null where it is not known how many there were. */
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

/** One thing that differs. Without `before` and `after` the values are too large or too secret to be shown. */
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
  /** What was asked, without the payload; missing where only the state was changed. */
  spec?: Spec;
  /** Why that cannot be read: fields that cannot be read have their defaults. Left out where it can. */
  unreadable?: string;
  changes: Change[];
  detail: Json;
}
