import type { CanarySettings } from "../canary/canaries.ts";
import type { Acceptance } from "../command/acceptance.ts";
import type { Sql } from "../db/connect.ts";
import type { TellDeps } from "../lifecycle/tell-bus.ts";
import type { MadeParcel } from "../limit/target-limits.ts";
import type { Log } from "../log/log.ts";
import type { ParcelQueue } from "../parcel/parcel-queue.ts";
import type { Notify } from "../parcel/settle.ts";
import type { RolledUp } from "./rolled-up.ts";
import type { TickShare } from "./share.ts";

export interface TickDeps {
  sql: Sql;
  queue: ParcelQueue;
  log: Log;
  /** The bus that is told of jobs; without, what is to be told stays in the outbox. */
  bus?: Pick<TellDeps, "events" | "bus"> | undefined;
  /** Which commands of the SQL inbox are accepted; without it, the inbox is left alone. It may be loaded when the tick comes to the inbox. */
  acceptance?: Acceptance | (() => Promise<Acceptance>) | undefined;
  /** What the machine's time is, for what a batch computes; a test brings its own. */
  cpu?: (() => number) | undefined;
}

export interface TickSettings {
  /** Plan rows per transaction: larger is faster per row, smaller keeps edits of the shard waiting less. */
  batchMax: number;
  /** Shards worked on at once where it presses, each on a connection of its own. */
  lanes: number;
  /** Where less than this is planned, it presses. */
  pressingMs: number;
  retentionDays: number;
  /** Whether a day of jobs goes only when the archive has it. */
  archives: boolean;
  /** How long the audit is kept; null: for ever. */
  auditRetentionDays: number | null;
  /** Of what is owed from before, so many jobs are let in by one tick, and of each schedule so many in its turn. */
  backlogBudget: number;
  backlogPerTurn: number;
  /** How the runtime names its zone data, for example 2026b; null where it does not tell. */
  zoneData: string | null;
  /** What the bus is told of. */
  notify: Notify;
  /** The schedules that prove the way; null for none. */
  canary: CanarySettings | null;
  /** Which part of the minute's work is this tick's. */
  share: TickShare;
}

export interface Ticked {
  batches: number;
  jobs: number;
  parcels: number;
  finished: boolean;
  /** What has happened since a tick last told, whoever made it happen; of share 0 alone. */
  rolledUp?: RolledUp;
}

/** What the phases of one tick share. */
export interface Run extends TickDeps {
  settings: TickSettings;
  timeIsUp: () => boolean;
  total: Ticked;
  /** How many rows failed because a right, table or function is missing. */
  refused?: number;
  /** Made by this tick for targets with a rate. */
  rated: MadeParcel[];
  /** Keeps a failure for the end: it does not keep the other phases and shards from theirs. */
  note: (error: unknown) => void;
}
