import type { InstantText } from "./json.ts";

/** `more`: counting stopped there, and there are more. */
export interface Amount {
  count: number;
  more: boolean;
}

/** How late jobs started at first. */
export interface Lateness {
  jobs: number;
  p50Ms: number | null;
  p95Ms: number | null;
  p99Ms: number | null;
  maxMs: number | null;
}

/** What happened from an instant on. */
export interface Counts {
  from: InstantText;
  fired: number;
  succeeded: number;
  /** Attempts, each counted. */
  failed: number;
  dead: number;
  cancelled: number;
  skipped: number;
  missed: number;
  lateness: Lateness;
  /** Those that leave no jobs: taken by their targets, and how late; given up. */
  pulses: Omit<Lateness, "jobs"> & { taken: number; lost: number };
}

/** How things stand, and what happened; `asOf` says when it was counted. */
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
  /** The job that may start and has waited longest for it. */
  oldestDue: { readyAt: InstantText; lateMs: number } | null;
  parcels: Amount;
  /** Rows that a part of Carillon failed on and tries again. */
  quarantine: Amount & { oldestAt: InstantText | null };
  /** Up to where every shard's plan has become jobs. */
  plan: { to: InstantText; lagMs: number; lastTickAt: InstantText | null };
  lastHour: Counts;
  lastDay: Counts;
}

/** How many fires each of the coming minutes has, pulses not among them. */
export interface Forecast {
  asOf: InstantText;
  minutes: { at: InstantText; fires: number }[];
  total: number;
  heaviest: {
    at: InstantText;
    fires: number;
    /** What contributes most; without a `when`: what fires once in this time. */
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
