import type { Instant, InstantText, Json } from "./json.ts";
import type { Change } from "./time.ts";

/** From where something was asked for. */
export interface Origin {
  via: "api" | "queue" | "sql" | "handler";
  token?: string;
  request?: string;
  ip?: string;
  agent?: string;
  /** When it was called, in SQL: it was applied later. */
  at?: InstantText;
}

/** One thing that was done. */
export interface AuditEntry {
  id: string;
  at: InstantText;
  actor: string;
  /** Such as `schedule.replaced`. */
  action: string;
  subject: string;
  /** Of the schedule or the calendar, after the change. */
  version: number | null;
  /** Of what is not one schedule: the keys that are concerned begin with it. */
  prefix: string | null;
  /** Null for what Carillon does by itself. */
  origin: Origin | null;
  /** Of a schedule: what differs. */
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
