import type { InstantText, Json } from "./json.ts";
import { listOf } from "./request/list.ts";
import type { ListOptions, Pages } from "./request/pages.ts";
import type { Fault, ProblemDocument } from "./request/problem.ts";
import type { CallOptions, Request, Send, WriteOptions } from "./request/transport.ts";

/** A command that came through the queue and was not applied. */
export interface DeadCommand {
  id: string;
  messageId: string;
  /** The command's position in its message, from 0. */
  place: number;
  commandId: string | null;
  at: InstantText | null;
  key: string | null;
  /**
   * The prefix of the keys that its queue reaches; null for all keys. A command for another key
   * cannot be retried.
   */
  queuePrefix: string | null;
  refusedAt: InstantText;
  error: ProblemDocument;
  /** The command as received, with credentials hidden. Lists omit payloads. */
  command: Json;
}

export interface RetriedCommand {
  key: string;
  change: "created" | "changed" | "unchanged" | "deleted" | "passed-over";
}

/** Commands from the queue that were not applied. */
export class Commands {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /** Newest first. */
  dead(params?: ListOptions & { prefix?: string | undefined }): Pages<DeadCommand> {
    return listOf(this.#send, at(), params);
  }

  async get(id: string, options?: CallOptions): Promise<DeadCommand> {
    return (await this.#send<DeadCommand>({ method: "GET", path: at(id), options })).body;
  }

  async retry(id: string, options?: WriteOptions): Promise<RetriedCommand> {
    const request: Request = { method: "POST", path: at(id, "retry"), options };
    return (await this.#send<RetriedCommand>(request)).body;
  }

  async delete(id: string, options?: WriteOptions): Promise<void> {
    await this.#send({ method: "DELETE", path: at(id), options });
  }
}

function at(...rest: string[]): string[] {
  return ["v1", "commands", "dead", ...rest];
}

/** A command of the SQL inbox that could not be applied. */
export interface InboxError {
  id: string;
  at: InstantText;
  refusedAt: InstantText;
  /** The login role that called the function. */
  caller: string;
  key: string | null;
  /**
   * With credentials hidden. Lists omit payloads, and have null where the command is still too
   * long.
   */
  command: Json;
  problem: string;
  errors: Fault[];
}

export interface InboxApplied {
  applied: number;
  refused: number;
  failed: number;
  /** True where commands are left for another request. */
  more: boolean;
}

/** Commands that callers write in SQL. */
export class Inbox {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /** Applies the commands now, instead of with the next tick. */
  async apply(options?: WriteOptions): Promise<InboxApplied> {
    return (await this.#send<InboxApplied>({ method: "POST", path: ["v1", "inbox:apply"], options })).body;
  }

  /** Newest first. */
  errors(params?: ListOptions & { prefix?: string | undefined }): Pages<InboxError> {
    return listOf(this.#send, ["v1", "inbox", "errors"], params);
  }

  async error(id: string, options?: CallOptions): Promise<InboxError> {
    return (await this.#send<InboxError>({ method: "GET", path: ["v1", "inbox", "errors", id], options }))
      .body;
  }

  /** Takes a refused command off the list. It is not applied. */
  async forget(id: string, options?: WriteOptions): Promise<void> {
    await this.#send({ method: "DELETE", path: ["v1", "inbox", "errors", id], options });
  }
}
