import type { JobKind, JobSummary } from "./job.ts";
import type { Instant, InstantText, Json } from "./json.ts";
import type { ListOptions, Page } from "./pages.ts";
import type { QuarantineEntry } from "./quarantine.ts";
import type { Hold, ScheduleBody, Spec } from "./schedule.ts";

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
  /** The requested instant, where it is the due time of `at`. */
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
  detail: Json;
}

/** A window of at most 32 days, and the schedules whose occurrences are meant. */
export interface AgendaWindow {
  from: Instant;
  to: Instant;
  prefix?: string | undefined;
  group?: string | undefined;
  tag?: string | undefined;
  /** A kind of target (`webhook`), or one target by its name (`webhook/api.example.com`). */
  target?: string | undefined;
}

interface Run {
  /** In the words of an explanation. */
  outcome: Outcome;
  reason: string | null;
  /** The id of its job; null while it has none. */
  job: string | null;
  latenessMs: number | null;
  durationMs: number | null;
}

/** An occurrence in a window, or a range of occurrences that got no job. */
export interface AgendaItem extends Run {
  occurrence: InstantText;
  /** Null for a range. */
  dueAt: InstantText | null;
  /** `occurrence` on the clocks of the requested zone. */
  wall: string;
  key: string;
  scheduleId: string;
  kind: JobKind;
  /** Set for a range: `occurrence` is its last one. */
  passedOver: { from: InstantText; to: InstantText; count: number | null; more: boolean } | null;
}

export interface AgendaPage extends Page<AgendaItem> {
  asOf: InstantText;
  timezone: string;
}

/** The occurrences of a window by cadence. */
export interface AgendaCounts {
  asOf: InstantText;
  occurrences: number;
  cadences: number;
  /** The cadences with most occurrences. Without `when`: schedules that run once. */
  items: { when: string | null; timezone: string | null; schedules: number; occurrences: number }[];
  exact: boolean;
}

export interface StripParams extends ListOptions {
  /** Default: a day before `to`. */
  from?: Instant | undefined;
  /** Default: now. */
  to?: Instant | undefined;
}

export interface StripItem extends Run {
  occurrence: InstantText;
  dueAt: InstantText | null;
  /** On the clocks of the schedule's zone. */
  wall: string;
  kind: JobKind;
  sentence: string;
  /** The effect of a clock change or a calendar. */
  note: string | null;
  version: number | null;
}

/** One page of a schedule's occurrences. */
export interface Strip extends Page<StripItem> {
  key: string;
  scheduleId: string;
  createdAt: InstantText;
  deleted: { at: InstantText; by: string } | null;
}

export interface LastRunsBody {
  /** Up to 100. */
  keys: string[];
  /** How many occurrences of each, up to 20. */
  n?: number;
}

export interface LastRun extends Run {
  occurrence: InstantText;
}

export interface LastRuns {
  asOf: InstantText;
  /** In the order of the keys. */
  items: {
    key: string;
    /** Null if no schedule has or had the key. */
    scheduleId: string | null;
    deleted: { at: InstantText; by: string } | null;
    /** Oldest first. */
    runs: LastRun[];
  }[];
}
