import type {
  CancelFilter,
  CancelledMany,
  EnqueueBody,
  Job,
  JobFilter,
  JobGroupFilter,
  JobGroups,
  JobSummary,
  JobsByState,
  JobsDryRun,
  RetriedMany,
  RetryFilter,
} from "./job.ts";
import { listOf } from "./request/list.ts";
import type { ListOptions, Pages } from "./request/pages.ts";
import type { CallOptions, Request, Send, WriteOptions } from "./request/transport.ts";

/** The most jobs of one call, the reason, and the cursor of the call before. */
export interface ManyOptions extends WriteOptions {
  limit?: number | undefined;
  reason?: string | undefined;
  cursor?: string | undefined;
}

export class Jobs {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  async get(id: string, options?: CallOptions): Promise<Job> {
    return (await this.#send<Job>({ method: "GET", path: ["v1", "jobs", id], options })).body;
  }

  /** Newest first. */
  list(params?: JobFilter & ListOptions): Pages<JobSummary> {
    return listOf(this.#send, ["v1", "jobs"], params);
  }

  /** The number of jobs in a list; `more` is true where counting stopped at its limit. */
  async count({
    signal,
    timeout,
    ...filter
  }: JobFilter & CallOptions = {}): Promise<{ count: number; more: boolean }> {
    const path = ["v1", "jobs:count"];
    const options = { signal, timeout };
    return (
      await this.#send<{ count: number; more: boolean }>({
        method: "GET",
        path,
        query: { ...filter },
        options,
      })
    ).body;
  }

  /** Failed jobs in groups of the same error, the largest first: one page. */
  async groups(params: JobGroupFilter & ListOptions = {}): Promise<JobGroups> {
    const { signal, timeout, ...query } = params;
    const options = { signal, timeout };
    return (
      await this.#send<JobGroups>({
        method: "GET",
        path: ["v1", "jobs:groups"],
        query: { ...query },
        options,
      })
    ).body;
  }

  /** Counts the jobs of calls of `retryMany` or `cancelMany` by their state, by the `entry` of the answers. */
  async states(entries: readonly string[], options?: CallOptions): Promise<JobsByState> {
    const query = { entry: entries.join(",") };
    return (await this.#send<JobsByState>({ method: "GET", path: ["v1", "jobs:states"], query, options }))
      .body;
  }

  /** A job without a lasting schedule. */
  enqueue(body: EnqueueBody, options?: WriteOptions): Promise<Job> {
    return this.#job({ method: "POST", path: ["v1", "jobs"], body, options });
  }

  /** A running job is notified to stop. */
  cancel(id: string, params: { reason?: string | undefined } = {}, options?: WriteOptions): Promise<Job> {
    return this.#job({ method: "POST", path: ["v1", "jobs", id, "cancel"], body: params, options });
  }

  retry(id: string, params: { reason?: string | undefined } = {}, options?: WriteOptions): Promise<Job> {
    return this.#job({ method: "POST", path: ["v1", "jobs", id, "retry"], body: params, options });
  }

  /** Retries up to `limit` matching jobs; the cursor of the answer continues with the next call. */
  retryMany(filter: RetryFilter, options: ManyOptions = {}): Promise<RetriedMany> {
    return this.#many<RetriedMany>("jobs:retry", filter, options);
  }

  cancelMany(filter: CancelFilter, options: ManyOptions = {}): Promise<CancelledMany> {
    return this.#many<CancelledMany>("jobs:cancel", filter, options);
  }

  /** Counts the jobs that `retryMany` would retry. */
  retryDryRun(filter: RetryFilter, options?: CallOptions): Promise<JobsDryRun> {
    return this.#dryRun("jobs:retry", filter, options);
  }

  /** Counts the jobs that `cancelMany` would cancel. */
  cancelDryRun(filter: CancelFilter, options?: CallOptions): Promise<JobsDryRun> {
    return this.#dryRun("jobs:cancel", filter, options);
  }

  async #dryRun(verb: string, filter: object, options?: CallOptions): Promise<JobsDryRun> {
    const request: Request = { method: "POST", path: ["v1", verb], body: { filter, dryRun: true }, options };
    return (await this.#send<JobsDryRun>(request)).body;
  }

  async #job(request: Request): Promise<Job> {
    return (await this.#send<Job>(request)).body;
  }

  async #many<Done>(verb: string, filter: object, params: ManyOptions): Promise<Done> {
    const { limit, reason, cursor, ...options } = params;
    const body = { filter, limit, reason };
    const request: Request = { method: "POST", path: ["v1", verb], query: { cursor }, body, options };
    return (await this.#send<Done>(request)).body;
  }
}
