import type { Instant, InstantText, Json } from "./json.ts";
import type { Change } from "./time.ts";

/** Who did what, and from where. */
export interface AuditEntry {
  id: string;
  at: InstantText;
  actor: string;
  action: string;
  subject: string;
  detail: Json;
  changes?: Change[];
  origin?: { [name: string]: Json } | null;
}

export interface AuditFilter {
  subject?: string | undefined;
  prefix?: string | undefined;
  actor?: string | undefined;
  action?: string | undefined;
  from?: Instant | undefined;
  to?: Instant | undefined;
}
