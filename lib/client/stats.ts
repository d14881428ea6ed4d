import type { Instant, InstantText } from "./json.ts";

/** `more` is true where counting stopped at the limit. */
export interface Amount {
  count: number;
  more: boolean;
}

/** The lateness of first attempts. */
export interface Lateness {
  jobs: number;
  p50Ms: number | null;
  p95Ms: number | null;
  p99Ms: number | null;
  maxMs: number | null;
}

/** Counts of a period. */
export interface Counts {
  from: InstantText;
  fired: number;
  succeeded: number;
  /** Failed attempts. */
  failed: number;
  dead: number;
  cancelled: number;
  skipped: number;
  missed: number;
  lateness: Lateness;
  /**
   * Pulses, which have no jobs: `taken` by their targets, with their lateness, or `lost`. Null with a
   * prefix.
   */
  pulses: (Omit<Lateness, "jobs"> & { taken: number; lost: number }) | null;
}

/**
 * How fresh the rolled-up counts are. Rows that are not rolled up yet (`pending`) are counted too, up
 * to a limit.
 */
export interface Freshness {
  rolledUpAt: InstantText | null;
  pending: Amount;
}

/**
 * Current counts, and those of the last minutes, hour and day; `asOf` is the time of counting. With a
 * prefix some parts are null.
 */
export interface Stats {
  asOf: InstantText;
  prefix: string | null;
  /** The minute in which a job counts; with a prefix that of its occurrence. */
  minutesOf: "settled" | "occurrence";
  freshness: Freshness | null;
  /** `ended` may be an estimate: `endedWithin` is 0 if it is exact. */
  schedules: {
    total: number;
    active: number;
    paused: number;
    ended: number;
    endedWithin: number;
    more: boolean;
  };
  jobs: {
    waiting: number;
    due: number;
    /** Made, up to three minutes before they are due. */
    ahead: number;
    held: number;
    running: number;
    retrying: number;
    backlog: Amount;
    dead: Amount;
    /** Only a part of the open jobs was looked at. */
    more: boolean;
  };
  /** The job that may start and has waited longest. */
  oldestDue: { readyAt: InstantText; lateMs: number } | null;
  parcels: Amount | null;
  /** Rows on which a part of Carillon failed and which it retries. */
  quarantine: (Amount & { oldestAt: InstantText | null }) | null;
  /** The plan of every shard has become jobs up to `to`. */
  plan: { to: InstantText; lagMs: number; lastTickAt: InstantText | null };
  lastMinutes: Counts | null;
  lastHour: Counts | null;
  lastDay: Counts | null;
}

export type SeriesStepLength = "1m" | "5m" | "15m" | "1h";

/** Without `from`: the hour before `to`. Without `to`: up to now. */
export interface SeriesFilter {
  from?: Instant | undefined;
  to?: Instant | undefined;
  step?: SeriesStepLength | undefined;
  key?: string | undefined;
  prefix?: string | undefined;
  group?: string | undefined;
  tag?: string | undefined;
  target?: string | undefined;
}

/** The outcomes of one step of time. */
export interface SeriesStep {
  at: InstantText;
  /** False for the step that was still running when it was counted. */
  over: boolean;
  /** Jobs made, up to three minutes before they are due. */
  made: number;
  succeeded: number;
  /** Failed attempts. */
  failed: number;
  /** Failed attempts that another one follows. */
  retried: number;
  dead: number;
  cancelled: number;
  skipped: number;
  missed: number;
  /** Jobs that are not settled yet; null if steps are of settling. */
  open: number | null;
  /** Attempts that ended, per minute. */
  perMinute: number;
  lateness: Lateness;
  /** Null if steps are of occurrences. */
  pulses: { taken: number; lost: number } | null;
}

/** Further parts of every page of a series. */
export interface SeriesHead {
  asOf: InstantText;
  /** The step in which a job counts: that of its settling, or with a filter that of its occurrence. */
  minutesOf: "settled" | "occurrence";
  step: SeriesStepLength;
  freshness: Freshness | null;
}

/** One thing that needs attention. */
export interface Problem {
  kind:
    | "no-tick"
    | "foreign-locks"
    | "plan-behind"
    | "no-worker"
    | "late-jobs"
    | "backlog-full"
    | "move-unfinished"
    | "target-full"
    | "dead-jobs"
    | "missed"
    | "pulses-lost"
    | "outages"
    | "dead-commands"
    | "inbox-errors"
    | "quarantine"
    | "old-holds";
  since: InstantText | null;
  count: Amount;
  text: string;
  /** One of the counted jobs, commands, rows, holds or schedules. */
  sample: string | null;
  /** The GET request that lists what was counted. */
  see: { path: string; query: Readonly<Record<string, string>> };
  /** The CLI command for it. */
  command: string;
}

/** Whether jobs run on time, and what needs attention, the worst first. */
export interface Problems {
  asOf: InstantText;
  verdict: "on-time" | "late" | "stopped";
  text: string;
  problems: Problem[];
}

/** The number of fires in each of the coming minutes, without pulses. */
export interface Forecast {
  asOf: InstantText;
  minutes: { at: InstantText; fires: number }[];
  total: number;
  heaviest: {
    at: InstantText;
    fires: number;
    /**
     * The cadences with the most fires. An entry without `when` stands for schedules that fire once
     * in this period.
     */
    most: { when: string | null; timezone: string | null; fires: number }[];
  }[];
  suggestion: {
    peak: number;
    average: number;
    withSpread: { spread: string; peak: number }[];
    text: string;
  };
  exact: boolean;
}

/** A time in which Carillon could not make or start jobs. */
export interface Outage {
  id: string;
  /** The part that was away. */
  what: "tick" | "database" | "fast-workers" | "slow-workers";
  from: InstantText;
  /** Null while it lasts. */
  to: InstantText | null;
  notedAt: InstantText;
  /** The GET request that lists the jobs of this time that started late. */
  see: { path: string; query: Record<string, string> };
  /** The CLI command for it. */
  command: string;
}

export interface OutageFilter {
  /** Outages that were not over at this instant. */
  from?: Instant | undefined;
  /** Outages that began before this instant. */
  to?: Instant | undefined;
}
