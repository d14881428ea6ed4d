import type { Instant, InstantText, Json } from "./json.ts";
import type { Change } from "./time.ts";

/** The origin of a change. */
export interface Origin {
  via: "api" | "queue" | "sql" | "handler";
  token?: string;
  /** The prefix of the token: tokens of other prefixes may have its name. */
  prefix?: string;
  request?: string;
  ip?: string;
  agent?: string;
  /** When the function was called in SQL; the command was applied later. */
  at?: InstantText;
}

/** One recorded change. */
export interface AuditEntry {
  id: string;
  at: InstantText;
  actor: string;
  /** Such as `schedule.replaced`. */
  action: string;
  subject: string;
  /** The version of the schedule or the calendar after the change. */
  version: number | null;
  /** For subjects that cover several schedules: the prefix of their keys. */
  prefix: string | null;
  /** Null for changes that Carillon makes by itself. */
  origin: Origin | null;
  /** For a schedule: the fields that differ. */
  changes: Change[];
  detail: Json;
}

export interface AuditFilter {
  subject?: string | undefined;
  prefix?: string | undefined;
  actor?: string | undefined;
  action?: string | undefined;
  from?: Instant | undefined;
  to?: Instant | undefined;
}
