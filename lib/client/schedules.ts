import type { Strip, StripParams } from "./agenda.ts";
import type { BackfillDone, BackfillParams, Job, JobSummary } from "./job.ts";
import type { Instant, Json } from "./json.ts";
import { listOf } from "./request/list.ts";
import type { ListOptions, Pages } from "./request/pages.ts";
import type {
  CallOptions,
  EditOptions,
  PutOptions,
  Request,
  Send,
  WriteOptions,
} from "./request/transport.ts";
import type {
  BulkAction,
  BulkDone,
  BulkPreview,
  Edited,
  KeyedScheduleBody,
  PauseParams,
  ResumeParams,
  Schedule,
  ScheduleBody,
  ScheduleCount,
  ScheduleFilter,
  SchedulePatch,
  ScheduleSummary,
} from "./schedule.ts";
import type {
  Explanation,
  NextOccurrences,
  NextParams,
  Preview,
  PreviewBody,
  RestorePreview,
  Version,
} from "./time.ts";

/** The cursor of the call before. */
export interface BulkOptions extends WriteOptions {
  cursor?: string | undefined;
}

export class Schedules {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /**
   * Creates or replaces the schedule; an identical body changes nothing, unless its `when` is
   * relative.
   */
  put(key: string, body: ScheduleBody, options?: PutOptions): Promise<Edited> {
    return this.#edit({ method: "PUT", path: at(key), body, options });
  }

  /** An existing key is a conflict; without a key, Carillon makes one. */
  create(body: KeyedScheduleBody, options?: WriteOptions): Promise<Edited> {
    return this.#edit({ method: "POST", path: ["v1", "schedules"], body, options });
  }

  async get(key: string, options?: CallOptions): Promise<Schedule> {
    return (await this.#send<Schedule>({ method: "GET", path: at(key), options })).body;
  }

  patch(key: string, patch: SchedulePatch, options?: EditOptions): Promise<Edited> {
    return this.#edit({ method: "PATCH", path: at(key), body: patch, options });
  }

  async delete(key: string, options?: EditOptions): Promise<void> {
    await this.#send({ method: "DELETE", path: at(key), options });
  }

  pause(key: string, params: PauseParams = {}, options?: EditOptions): Promise<Edited> {
    return this.#edit({ method: "POST", path: at(key, "pause"), body: params, options });
  }

  resume(key: string, params: ResumeParams = {}, options?: EditOptions): Promise<Edited> {
    return this.#edit({ method: "POST", path: at(key, "resume"), body: params, options });
  }

  /**
   * Makes a job beside the cadence, due now. Without a payload it has the schedule's; null is a
   * payload.
   */
  async fire(key: string, params: { payload?: Json } = {}, options?: WriteOptions): Promise<Job> {
    return (await this.#send<Job>({ method: "POST", path: at(key, "fire"), body: params, options })).body;
  }

  async backfill(key: string, params: BackfillParams, options?: WriteOptions): Promise<BackfillDone> {
    const request: Request = { method: "POST", path: at(key, "backfill"), body: params, options };
    return (await this.#send<BackfillDone>(request)).body;
  }

  async next(key: string, params: NextParams = {}, options?: CallOptions): Promise<NextOccurrences> {
    const query = { n: params.n, from: params.from ?? undefined };
    return (await this.#send<NextOccurrences>({ method: "GET", path: at(key, "next"), query, options })).body;
  }

  /** Lists when a schedule would run if it were saved now; stores nothing. */
  async preview(body: PreviewBody, options?: CallOptions): Promise<Preview> {
    const request: Request = { method: "POST", path: ["v1", "preview"], body, changes: false, options };
    return (await this.#send<Preview>(request)).body;
  }

  /** The outcome of an instant, with the reason. */
  async explain(key: string, instant: Instant, options?: CallOptions): Promise<Explanation> {
    const request: Request = { method: "GET", path: at(key, "explain"), query: { at: instant }, options };
    return (await this.#send<Explanation>(request)).body;
  }

  /**
   * The occurrences in a window, oldest first, each explained; also of a deleted key. Without `to` up
   * to now, without `from` from a day before `to`.
   */
  async occurrences(key: string, { signal, timeout, ...params }: StripParams = {}): Promise<Strip> {
    const options = { signal, timeout };
    const request: Request = { method: "GET", path: at(key, "occurrences"), query: params, options };
    return (await this.#send<Strip>(request)).body;
  }

  /** Ordered by key, unless the filter says otherwise. */
  list(params?: ScheduleFilter & ListOptions): Pages<ScheduleSummary> {
    return listOf(this.#send, ["v1", "schedules"], params);
  }

  /** The number of schedules in a list; `more` is true where counting stopped at its limit. */
  async count({ signal, timeout, ...filter }: ScheduleFilter & CallOptions = {}): Promise<ScheduleCount> {
    const path = ["v1", "schedules:count"];
    const options = { signal, timeout };
    return (await this.#send<ScheduleCount>({ method: "GET", path, query: filter, options })).body;
  }

  /** Newest first. */
  jobs(key: string, params?: ListOptions): Pages<JobSummary> {
    return listOf(this.#send, at(key, "jobs"), params);
  }

  /** Newest first; of a deleted key, those of the schedule that had it last. */
  versions(key: string, params?: ListOptions): Pages<Version> {
    return listOf(this.#send, at(key, "versions"), params);
  }

  /**
   * Saves an old version's fields as the newest version. A deleted schedule is made again with them;
   * `ifNoneMatch: "*"` restores only a deleted one.
   */
  restore(key: string, version: number, options?: PutOptions): Promise<Edited> {
    const path = at(key, "versions", String(version), "restore");
    return this.#edit({ method: "POST", path, options });
  }

  /** Shows the changes of a restore; changes nothing. */
  async tryRestore(
    key: string,
    version: number,
    { ifMatch, ifNoneMatch, ...options }: CallOptions & Pick<PutOptions, "ifMatch" | "ifNoneMatch"> = {},
  ): Promise<RestorePreview> {
    const path = at(key, "versions", String(version), "restore");
    const query = { dryRun: true };
    return this.#post<RestorePreview>({
      method: "POST",
      path,
      query,
      options: { ...options, ifMatch, ifNoneMatch },
    });
  }

  /** Changes up to 10,000 matching schedules; the cursor of the answer continues with the next call. */
  changeMany({ verb, ...body }: BulkAction, { cursor, ...options }: BulkOptions = {}): Promise<BulkDone> {
    return this.#post<BulkDone>({ method: "POST", path: manyOf(verb), query: { cursor }, body, options });
  }

  /** Counts the schedules that `changeMany` would change, and shows the first; changes nothing. */
  tryMany({ verb, ...action }: BulkAction, options?: CallOptions): Promise<BulkPreview> {
    const body = { ...action, dryRun: true };
    return this.#post<BulkPreview>({ method: "POST", path: manyOf(verb), body, changes: false, options });
  }

  async #post<Body>(request: Request): Promise<Body> {
    return (await this.#send<Body>(request)).body;
  }

  async #edit(request: Request): Promise<Edited> {
    return (await this.#send<Edited>(request)).body;
  }
}

function at(key: string, ...rest: string[]): string[] {
  return ["v1", "schedules", key, ...rest];
}

const manyOf = (verb: BulkAction["verb"]) => ["v1", `schedules:${verb}`];
