import type { Instant, InstantText } from "./json.ts";

export interface HoldFilter {
  scope?: "schedule" | "group" | "tag" | undefined;
  owner?: string | undefined;
  /** Holds of schedules with these keys, and of groups and tags with such a member. */
  prefix?: string | undefined;
  endsBefore?: Instant | undefined;
  /** True: the holds that ended in the last days instead. */
  ended?: boolean | undefined;
}

/** A hold of a schedule, a group or a tag, or the end of holds of many schedules. */
export interface BoardHold {
  /** `filter`: holds of single schedules that a resume by filter has released together. */
  scope: "schedule" | "group" | "tag" | "filter";
  /** The key of the schedule, the name of the group or tag, or the filter, such as `prefix crm:`. */
  name: string;
  /** Null for an ended hold whose owner the audit does not name. */
  owner: string | null;
  /** The hold of a group or tag covers members whose keys begin with this; null for all. */
  prefix: string | null;
  reason: string | null;
  since: InstantText | null;
  until: InstantText | null;
  secondsLeft: number | null;
  /**
   * Schedules that the hold covers, counted up to 1,000; of a larger hold those that it was put on.
   * While it is set on its schedules or taken off, those that are done so far; with the scope
   * `filter`, those that were released. Null for other ended holds, and where the hold covers more
   * keys than the token reaches.
   */
  members: number | null;
  state: "binding" | "ending" | "ended";
  endedAt: InstantText | null;
  endedBy: string | null;
  /**
   * Its maker reached the keys that begin with this; empty for all keys. Null for a hold that Carillon
   * has set by itself, and for an ended one.
   */
  reach: string | null;
  /** Whether the token of the request may release it. */
  releasable: boolean;
}
