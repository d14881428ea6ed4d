import type { JobSummary } from "./job.ts";
import type { InstantText } from "./json.ts";
import { listOf } from "./request/list.ts";
import type { ListOptions, Pages } from "./request/pages.ts";
import type { CallOptions, Request, Send, WriteOptions } from "./request/transport.ts";
import type { PauseParams, ResumeParams, ScheduleSummary } from "./schedule.ts";

/** A hold of a group or a tag, and its progress through the members. */
export interface SharedHold {
  owner: string;
  reason: string | null;
  until: InstantText | null;
  since: InstantText;
  /** The hold covers members whose keys begin with this; null for all. */
  prefix: string | null;
  progress: "set" | "setting" | "releasing";
  /**
   * Schedules that the hold covers, counted up to 1,000; of a larger hold those that it was put on.
   * While it is `setting` or `releasing`, those that it was put on, or taken off, so far. Null where
   * the hold covers more keys than the token reaches.
   */
  members: number | null;
  /** Whether the token of the request may release it. */
  releasable: boolean;
}

/** A group in the list of groups. */
export interface ListedGroup {
  group: string;
  /** Its schedules, counted up to 100; of a token with a prefix, those under it. */
  schedules: number;
  moreSchedules: boolean;
  /** The key of the first of these schedules. */
  sample: string;
}

export interface GroupFilter {
  /** Groups whose names begin with it. */
  prefix?: string | undefined;
}

export interface Members {
  holds: SharedHold[];
  schedules: ScheduleSummary[];
  /** Jobs that are not settled, earliest due first. */
  jobs: JobSummary[];
  moreJobs: boolean;
  /** The cursor of the schedules. */
  cursor?: string;
}

/**
 * How many members this call has changed. A cursor means that members are left, and the same call
 * with it continues at once.
 */
export interface HoldDone {
  done: number;
  hold: SharedHold | null;
  cursor?: string;
}

export interface CancelDone {
  /** Schedules that are deleted. */
  done: number;
  /** Running jobs of these schedules; their workers are notified to stop. */
  running: number;
  /** Members left unchanged because their row is locked or cannot be written. */
  failed: number;
  cursor?: string;
}

interface GoOn extends WriteOptions {
  cursor?: string | undefined;
}

/** The schedules of a group, or those with a tag. */
export class LabelledSchedules<Shown> {
  readonly #send: Send;
  readonly #label: "groups" | "tags";

  constructor(send: Send, label: "groups" | "tags") {
    this.#send = send;
    this.#label = label;
  }

  async get(
    name: string,
    { limit, cursor, ...options }: CallOptions & { limit?: number; cursor?: string } = {},
  ): Promise<Members & Shown> {
    const request: Request = { method: "GET", path: this.#at(name), query: { limit, cursor }, options };
    return (await this.#send<Members & Shown>(request)).body;
  }

  /** The hold also covers members that are added later. */
  pause(name: string, params: PauseParams = {}, options: GoOn = {}): Promise<HoldDone> {
    return this.#change<HoldDone>(name, "pause", params, options);
  }

  resume(name: string, params: ResumeParams = {}, options: GoOn = {}): Promise<HoldDone> {
    return this.#change<HoldDone>(name, "resume", params, options);
  }

  /** Deletes the schedules and cancels their jobs. */
  cancel(name: string, params: { reason?: string | null } = {}, options: GoOn = {}): Promise<CancelDone> {
    return this.#change<CancelDone>(name, "cancel", params, options);
  }

  async #change<Done>(name: string, verb: string, body: object, { cursor, ...options }: GoOn): Promise<Done> {
    const path = [...this.#at(name), verb];
    return (await this.#send<Done>({ method: "POST", path, query: { cursor }, body, options })).body;
  }

  #at(name: string): string[] {
    return ["v1", this.#label, name];
  }
}

export class Groups extends LabelledSchedules<{ group: string }> {
  readonly #send: Send;

  constructor(send: Send) {
    super(send, "groups");
    this.#send = send;
  }

  /** The groups that have a schedule, ordered by name. */
  list(params?: GroupFilter & ListOptions): Pages<ListedGroup> {
    return listOf(this.#send, ["v1", "groups"], params);
  }
}
