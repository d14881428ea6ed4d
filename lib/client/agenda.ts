import type { JobKind } from "./job.ts";
import type { Instant, InstantText } from "./json.ts";
import type { ListOptions, Page } from "./request/pages.ts";
import type { Hold } from "./schedule.ts";
import type { Outcome } from "./time.ts";

/** A window of at most 32 days, and the schedules whose occurrences are meant. */
export interface AgendaWindow {
  from: Instant;
  to: Instant;
  prefix?: string | undefined;
  group?: string | undefined;
  tag?: string | undefined;
  /** A kind of target (`webhook`), or one target by its name (`webhook/api.example.com`). */
  target?: string | undefined;
  /** One cadence, by the `rule` that the counts have of it. */
  rule?: string | undefined;
}

/** The outcomes that items of an agenda can have; those that are asked for most come first. */
export const agendaOutcomes = [
  "held",
  "planned",
  "ran",
  "skipped",
  "dead",
  "retrying",
  "running",
  "waiting",
  "backlog",
  "cancelled",
  "not-planned-yet",
  "set-aside",
  "unrecorded",
] as const satisfies readonly Outcome[];

export type AgendaOutcome = (typeof agendaOutcomes)[number];

/** The window of a list, which also takes an outcome. */
export interface AgendaFilter extends AgendaWindow {
  outcome?: AgendaOutcome | undefined;
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
  /** For a coming occurrence that a calendar has moved to another day: from where. */
  note: string | null;
  /** For a held occurrence: the holds that it is due under. Left out if they were released meanwhile. */
  heldBy?: Hold[];
}

export interface AgendaPage extends Page<AgendaItem> {
  asOf: InstantText;
  timezone: string;
}

/** The occurrences of a window by cadence. */
export interface AgendaCounts {
  asOf: InstantText;
  occurrences: number;
  /** How many of the occurrences are on days that a calendar skips: these do not run. */
  leftOut: number;
  cadences: number;
  /** The cadences with most runs. Without `when`: schedules that run once. */
  items: {
    /** The name of the cadence, which the filter `rule` takes. */
    rule: string;
    when: string | null;
    timezone: string | null;
    calendar: { name: string; on: "skip" | "next" | "previous" } | null;
    /** The key of one of the schedules. */
    sample: string | null;
    schedules: number;
    occurrences: number;
    leftOut: number;
  }[];
  exact: boolean;
}

/** The occurrences of a window that have one outcome, by schedule. */
export interface AgendaSchedules {
  asOf: InstantText;
  occurrences: number;
  schedules: number;
  /** Counting stopped: both numbers are at least so high. */
  more: boolean;
  /** Up to 100, in the order of their first occurrences. */
  items: {
    key: string;
    scheduleId: string;
    occurrences: number;
    first: InstantText;
    last: InstantText;
    /** With the outcome `held`: the holds of the first occurrence. */
    heldBy?: Hold[];
  }[];
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
