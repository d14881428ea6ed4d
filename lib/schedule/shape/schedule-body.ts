import type { Json } from "./json.ts";
import type { RetryPolicy } from "./retry-shape.ts";
import type { Target } from "./target-shape.ts";

/** `ledger`: a durable job for each occurrence. `pulse`: no row and no write for a fire. */
export type Delivery = "ledger" | "pulse";

export type Priority = "high" | "normal" | "low";

/** A schedule's body, with every default filled in. */
export interface ScheduleBody {
  /**
   * A list is the union of its entries: an instant that more than one of them names occurs once.
   */
  when: string | string[];
  /** Canonical IANA name. */
  timezone: string;
  target: Target;
  payload: Json;
  group: string | null;
  /**
   * The jobs of all serial schedules of the group run one at a time, in the order in which they are
   * due.
   */
  serial: boolean;
  /** Ready jobs of a higher priority are handed over first. */
  priority: Priority;
  tags: string[];
  description: string | null;
  /**
   * `startsAt` and `endsAt` are instants as JavaScript writes them. No occurrence is before
   * `startsAt`, and none at or after `endsAt`.
   */
  startsAt: string | null;
  endsAt: string | null;
  maxFires: number | null;
  calendar: { name: string; on: "skip" | "next" | "previous" } | null;
  catchUp: { policy: "latest" | "all" | "skip"; within: string | null; limit: number };
  deadline: string | null;
  overlap: "allow" | "skip" | "queue";
  spread: string;
  slot: string | null;
  dst: { gap?: "next" | "skip" | undefined; overlap?: "first" | "last" | "both" | undefined } | null;
  retry: RetryPolicy;
  timeout: string;
  /** The number of dead jobs in a row after which the schedule is put on hold. */
  holdAfter: number | null;
  delivery: Delivery;
  /** The schedule is deleted when it has ended. */
  deleteOnEnd: boolean;
  /**
   * True sets the caller's own hold; left out, no hold changes. Part of the request only, never
   * stored.
   */
  paused?: boolean;
}
