import type { InstantText } from "./json.ts";

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
  /** Pulses, which have no jobs: `taken` by their targets, with their lateness, or `lost`. */
  pulses: Omit<Lateness, "jobs"> & { taken: number; lost: number };
}

/** Current counts, and those of the last hour and day; `asOf` is the time of counting. */
export interface Stats {
  asOf: InstantText;
  schedules: { total: number; active: number; paused: number };
  jobs: {
    waiting: number;
    due: number;
    held: number;
    running: number;
    retrying: number;
    backlog: Amount;
    dead: Amount;
  };
  /** The job that may start and has waited longest. */
  oldestDue: { readyAt: InstantText; lateMs: number } | null;
  parcels: Amount;
  /** Rows on which a part of Carillon failed and which it retries. */
  quarantine: Amount & { oldestAt: InstantText | null };
  /** The plan of every shard has become jobs up to `to`. */
  plan: { to: InstantText; lagMs: number; lastTickAt: InstantText | null };
  lastHour: Counts;
  lastDay: Counts;
}

/** One thing that needs attention. */
export interface Problem {
  kind:
    | "no-tick"
    | "plan-behind"
    | "no-worker"
    | "late-jobs"
    | "target-full"
    | "dead-jobs"
    | "missed"
    | "pulses-lost"
    | "dead-commands"
    | "inbox-errors"
    | "quarantine"
    | "old-holds";
  since: InstantText | null;
  count: Amount;
  text: string;
  /** One of the counted jobs, commands, rows or holds. */
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
