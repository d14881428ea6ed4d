import type { JobSummary } from "./job.ts";
import type { DurationText, Instant, InstantText, Json } from "./json.ts";
import type { CatchUp, Labels, Policies, Retry } from "./policies.ts";
import type { ShownTarget, Target, TargetKind } from "./target.ts";

export type ScheduleState = "active" | "paused" | "ended";

export interface ClockChanges {
  gap?: "next" | "skip" | undefined;
  overlap?: "first" | "last" | "both" | undefined;
}

/** The fields of a schedule's times. */
export interface Timing {
  /** Such as `0 9 * * 1-5`, `every 5m`, `in 3h`, `at 2026-12-01T09:00`; a list combines several. */
  when: string | string[];
  /** An IANA name; default `UTC`. */
  timezone?: string | undefined;
  startsAt?: Instant | null | undefined;
  endsAt?: Instant | null | undefined;
  maxFires?: number | null | undefined;
  calendar?: { name: string; on?: "skip" | "next" | "previous" | undefined } | null | undefined;
  spread?: DurationText | undefined;
  slot?: DurationText | null | undefined;
  dst?: ClockChanges | null | undefined;
}

/** A schedule as it is sent; only `when` and `target` are required. */
export interface ScheduleBody extends Timing, Policies, Labels {
  target: Target;
  payload?: Json | undefined;
  /** True sets your own hold, false releases it; without it, holds are unchanged. */
  paused?: boolean | undefined;
}

export interface KeyedScheduleBody extends ScheduleBody {
  /** Carillon makes a key where it is left out. */
  key?: string | undefined;
}

/** A schedule of an app's own list: `carillon dev` applies it, and CDK deploys it. */
export interface ScheduleEntry extends ScheduleBody {
  key: string;
}

/** A merge patch (RFC 7396): fields that are left out stay, null restores the default. */
export type SchedulePatch = { [Name in keyof ScheduleBody]?: MergePatch<ScheduleBody[Name]> | null };

type MergePatch<Value> = Value extends Date | readonly unknown[]
  ? Value
  : Value extends object
    ? { [Name in keyof Value]?: MergePatch<Value[Name]> | null }
    : Value;

/** A hold; one of a group or a tag names it. */
export interface Hold {
  owner: string;
  reason: string | null;
  until: InstantText | null;
  since: InstantText;
  group?: string;
  tag?: string;
  /**
   * The maker of a current hold reached the keys that begin with this; empty for all keys. Null for a
   * hold that Carillon has set by itself.
   */
  reach?: string | null;
}

/** The fields of a schedule, with defaults filled in, without the payload. */
export interface Spec {
  when: string | string[];
  timezone: string;
  /** Null where the stored target cannot be read; `unreadable` then has the reason. */
  target: ShownTarget | null;
  group: string | null;
  serial: boolean;
  priority: "high" | "normal" | "low";
  tags: string[];
  description: string | null;
  startsAt: InstantText | null;
  endsAt: InstantText | null;
  maxFires: number | null;
  calendar: { name: string; on: "skip" | "next" | "previous" } | null;
  catchUp: CatchUp;
  deadline: DurationText | null;
  overlap: "allow" | "skip" | "queue";
  spread: DurationText;
  slot: DurationText | null;
  dst: ClockChanges | null;
  retry: Retry;
  timeout: DurationText;
  holdAfter: number | null;
  delivery: "ledger" | "pulse";
  deleteOnEnd: boolean;
}

/** A schedule in a list, without its payload. */
export interface ScheduleSummary extends Spec {
  id: string;
  key: string;
  state: ScheduleState;
  version: number;
  /** The `when` in its normal form, and in English. */
  cadence: string;
  cadenceText: string;
  /** The next occurrence that has not started. */
  nextAt: InstantText | null;
  holds: Hold[];
  checks: number;
  warnings: string[];
  /**
   * Why the stored schedule cannot be read; absent where it can. Unreadable fields then show their
   * defaults, and no new occurrence is planned.
   */
  unreadable?: string;
  createdAt: InstantText;
  createdBy: string;
  updatedAt: InstantText;
  updatedBy: string;
}

export interface Schedule extends ScheduleSummary {
  payload: Json;
  /** Null where no job has started yet. */
  lastJob: JobSummary | null;
}

/** A schedule after an edit, with its coming occurrences before and after. */
export interface Edited extends ScheduleSummary {
  payload: Json;
  changes: { before: InstantText[]; after: InstantText[] };
}

/** The filter of a list of schedules. */
export interface ScheduleFilter {
  prefix?: string | undefined;
  group?: string | undefined;
  tag?: string | undefined;
  state?: ScheduleState | undefined;
  /** A kind, or one target such as `webhook/api.example.com`. */
  target?: TargetKind | (string & {}) | undefined;
  /** The name of the token that created it. */
  createdBy?: string | undefined;
  /** The name of the calendar that it uses. */
  calendar?: string | undefined;
  /** Schedules with a dead job whose newest due job has not succeeded since. */
  failing?: true | undefined;
  /** Schedules whose next job is due at this instant or later. */
  nextFrom?: Instant | undefined;
  /** Schedules whose next job is due before this instant. */
  nextTo?: Instant | undefined;
}

/** A pause: its end, its reason and its owner. */
export interface PauseParams {
  reason?: string | null | undefined;
  until?: Instant | null | undefined;
  owner?: string | null | undefined;
}

export interface ResumeParams {
  owner?: string | null | undefined;
}

/** The schedules of a bulk action. An empty filter needs `keys` or `all`. */
export interface Selection {
  filter?: ScheduleFilter | undefined;
  /** Instead of a filter: these keys, up to 500. */
  keys?: string[] | undefined;
  /** With an empty filter: every schedule that the token reaches. */
  all?: true | undefined;
}

/** A bulk action: what to do, with which schedules, and why. */
export type BulkAction = Selection & { reason?: string | null | undefined } & (
    | ({ verb: "pause" } & Omit<PauseParams, "reason">)
    | ({ verb: "resume" } & ResumeParams)
    | { verb: "delete" }
    | { verb: "patch"; patch: SchedulePatch }
  );

/** Schedules of a filter's prefix that have moved to another installation: where, and how many. */
export interface MovedTo {
  to: string;
  schedules: number;
  /** Counting stopped at its limit. */
  more: boolean;
}

/** The result of one call of a bulk action; its cursor continues it. */
export interface BulkDone {
  done: number;
  /** Schedules that were already as requested, or no longer match. */
  unchanged: number;
  /** Schedules left unchanged: refused, locked, or not writable. */
  failed: number;
  /** The first of them. */
  failures: { key: string; status: number; detail: string }[];
  /** Only in the first answer, and absent where none has moved. */
  movedTo?: MovedTo[];
  cursor?: string;
}

/** The schedules that a bulk action would change. */
export interface BulkPreview {
  dryRun: true;
  count: number;
  /** Counting stopped at its limit. */
  more: boolean;
  /** The first schedules; for a patch with their next occurrences before and after. */
  samples: {
    key: string;
    changes?: { before: InstantText[]; after: InstantText[] };
    refused?: string;
  }[];
  /** For a pause and a resume: how many of them are paused, by any hold. */
  paused?: { count: number; more: boolean };
  /** Absent where none has moved. */
  movedTo?: MovedTo[];
}

/** The number of schedules in a list. */
export interface ScheduleCount {
  count: number;
  /** Counting stopped at its limit. */
  more: boolean;
  /** Absent where none has moved. */
  movedTo?: MovedTo[];
}
