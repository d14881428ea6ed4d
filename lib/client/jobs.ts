import type {
  CancelFilter,
  CancelledMany,
  EnqueueBody,
  Job,
  JobFilter,
  JobSummary,
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
