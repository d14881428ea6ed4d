import type { Json } from "./json.ts";
import type { RetryPolicy } from "./retry-shape.ts";
import type { Target } from "./target-shape.ts";

/** `ledger`: a durable job for each occurrence. `pulse`: no row and no write where it fires. */
export type Delivery = "ledger" | "pulse";

export type Priority = "high" | "normal" | "low";

/** What a caller asks for, every default filled in. */
export interface ScheduleBody {
  /** Several are united: an instant that more than one of them names occurs once. */
  when: string | string[];
  /** Canonical IANA name. */
  timezone: string;
  target: Target;
  payload: Json;
  group: string | null;
  /** The jobs of its group's serial schedules run one at a time, in the order in which they are due. */
  serial: boolean;
  /** Among what is ready, what is handed over first. */
  priority: Priority;
  tags: string[];
  description: string | null;
  /** Instants as JavaScript writes them: nothing before the first, nothing at or after the second. */
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
  /** So many jobs in a row that are dead put it on hold. */
  holdAfter: number | null;
  delivery: Delivery;
  /** It goes by itself when it has ended. */
  deleteOnEnd: boolean;
  /** True sets the caller's own hold, left out touches none; a request of this request, never stored. */
  paused?: boolean;
}
