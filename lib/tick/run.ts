import type { CanarySettings } from "../canary/canaries.ts";
import type { Acceptance } from "../command/acceptance.ts";
import type { Sql } from "../db/connect.ts";
import type { TellDeps } from "../lifecycle/tell-bus.ts";
import type { MadeParcel } from "../limit/target-limits.ts";
import type { Log } from "../log/log.ts";
import type { ParcelQueue } from "../parcel/parcel-queue.ts";
import type { Notify } from "../parcel/settle.ts";
import type { DatabaseReach } from "./database-reach.ts";
import type { RolledUp } from "./rolled-up.ts";
import type { TickShare } from "./share.ts";

export interface TickDeps {
  sql: Sql;
  queue: ParcelQueue;
  log: Log;
  /** The bus that gets the events; without it, events stay in the outbox. */
  bus?: Pick<TellDeps, "events" | "bus"> | undefined;
  /**
   * Rules for commands of the SQL inbox; without it, the inbox is skipped. A function loads it when
   * the tick reaches the inbox.
   */
  acceptance?: Acceptance | (() => Promise<Acceptance>) | undefined;
  /** Whether earlier ticks of this process reached the database; without it, that is not known. */
  reach?: DatabaseReach | undefined;
  /** Clock for measuring the computing of a batch; tests inject their own. */
  cpu?: (() => number) | undefined;
}

export interface TickSettings {
  /**
   * Plan rows per transaction: a larger batch costs less per row, a smaller one delays edits of the
   * shard less.
   */
  batchMax: number;
  /**
   * How far ahead jobs are made. Longer than the deployed ticks' horizon only where a clock leaps.
   */
  aheadMs: number;
  /** Shards fired concurrently when the plan is behind, each on its own connection. */
  lanes: number;
  /** The plan is behind if it reaches less than this ahead. */
  pressingMs: number;
  retentionDays: number;
  /** Whether a day of jobs is dropped only after it was archived. */
  archives: boolean;
  /** Retention of the audit; null keeps it for ever. */
  auditRetentionDays: number | null;
  /**
   * Backlog jobs that one tick admits, and the most of one schedule before the next schedule is
   * served.
   */
  backlogBudget: number;
  backlogPerTurn: number;
  /** The runtime's zone data release, for example 2026b; null if unknown. */
  zoneData: string | null;
  /** Events that the bus gets. */
  notify: Notify;
  /** The schedules that test the whole path; null for none. */
  canary: CanarySettings | null;
  /** The part of the minute's work that this tick does. */
  share: TickShare;
}

export interface Ticked {
  batches: number;
  jobs: number;
  parcels: number;
  finished: boolean;
  /** Counts since a tick last reported, of all parts of Carillon; set by share 0 only. */
  rolledUp?: RolledUp;
}

/** State that the phases of one tick share. */
export interface Run extends TickDeps {
  settings: TickSettings;
  timeIsUp: () => boolean;
  total: Ticked;
  /** Number of rows that failed because a right, table or function is missing. */
  refused?: number;
  /** Parcels that this tick made for targets with a rate. */
  rated: MadeParcel[];
  /** Collects a failure until the end, so that other phases and shards still run. */
  note: (error: unknown) => void;
}
