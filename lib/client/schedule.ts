import type { JobSummary } from "./job.ts";
import type { DurationText, Instant, InstantText, Json } from "./json.ts";
import type { CatchUp, Labels, Policies, Retry } from "./policies.ts";
import type { ShownTarget, Target, TargetKind } from "./target.ts";

export type ScheduleState = "active" | "paused" | "ended";

export interface ClockChanges {
  gap?: "next" | "skip" | undefined;
  overlap?: "first" | "last" | "both" | undefined;
}

/** What says when a schedule runs. */
export interface Timing {
  /** Such as `0 9 * * 1-5`, `every 5m`, `in 3h`, `at 2026-12-01T09:00`; a list unites several. */
  when: string | string[];
  /** IANA name; `UTC` if left out. */
  timezone?: string | undefined;
  startsAt?: Instant | null | undefined;
  endsAt?: Instant | null | undefined;
  maxFires?: number | null | undefined;
  calendar?: { name: string; on?: "skip" | "next" | "previous" | undefined } | null | undefined;
  spread?: DurationText | undefined;
  slot?: DurationText | null | undefined;
  dst?: ClockChanges | null | undefined;
}

/** What is asked for; only `when` and `target` are required. */
export interface ScheduleBody extends Timing, Policies, Labels {
  target: Target;
  payload?: Json | undefined;
  /** True sets your own hold, false lets it go; left out, no hold is touched. */
  paused?: boolean | undefined;
}

export interface KeyedScheduleBody extends ScheduleBody {
  /** One is made where it is left out. */
  key?: string | undefined;
}

/** A merge patch (RFC 7396): what is not named stays, null restores the default. */
export type SchedulePatch = { [Name in keyof ScheduleBody]?: MergePatch<ScheduleBody[Name]> | null };

type MergePatch<Value> = Value extends Date | readonly unknown[]
  ? Value
  : Value extends object
    ? { [Name in keyof Value]?: MergePatch<Value[Name]> | null }
    : Value;

/** A hold that was set on a group or a tag says on which. */
export interface Hold {
  owner: string;
  reason: string | null;
  until: InstantText | null;
  since: InstantText;
  group?: string;
  tag?: string;
}

/** What was asked for, every default filled in, without the payload. */
export interface Spec {
  when: string | string[];
  timezone: string;
  /** Null where the stored one cannot be read, as `unreadable` tells then. */
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

/** A schedule as it stands in a list: without its payload. */
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
  /** Why what is stored cannot be read: fields that cannot be read have their defaults then, and nothing new is planned. Left out where it can. */
  unreadable?: string;
  createdAt: InstantText;
  createdBy: string;
  updatedAt: InstantText;
  updatedBy: string;
}

export interface Schedule extends ScheduleSummary {
  payload: Json;
  /** Null where none has started yet. */
  lastJob: JobSummary | null;
}

/** The schedule as it is after an edit, and what the edit has changed in what is to come. */
export interface Edited extends ScheduleSummary {
  payload: Json;
  changes: { before: InstantText[]; after: InstantText[] };
}

/** What a list of schedules is narrowed by. */
export interface ScheduleFilter {
  prefix?: string | undefined;
  group?: string | undefined;
  tag?: string | undefined;
  state?: ScheduleState | undefined;
  /** A kind, or one by its name, such as `webhook/api.example.com`. */
  target?: TargetKind | (string & {}) | undefined;
  /** The token that created it, by its name. */
  createdBy?: string | undefined;
  /** A job of it is dead, and the newest that was due has not succeeded since. */
  failing?: true | undefined;
  /** Its next occurrence is not before this … */
  nextFrom?: Instant | undefined;
  /** … and before this. */
  nextTo?: Instant | undefined;
}

/** A pause: for how long, why, and in whose name. */
export interface PauseParams {
  reason?: string | null | undefined;
  until?: Instant | null | undefined;
  owner?: string | null | undefined;
}

export interface ResumeParams {
  owner?: string | null | undefined;
}
