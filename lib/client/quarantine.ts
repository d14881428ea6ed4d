import type { InstantText } from "./json.ts";
import { listOf } from "./list.ts";
import type { ListOptions, Pages } from "./pages.ts";
import type { Send, WriteOptions } from "./transport.ts";

/** A row that a part of Carillon failed on, and that it tries again. */
export interface QuarantineEntry {
  /** The part that failed, such as `ended`. */
  consumer: string;
  /** The row's id in the words of its consumer. */
  item: string;
  scheduleId: string | null;
  /** Of the schedule that waits because of it, where there is one. */
  key: string | null;
  reason: string;
  firstAt: InstantText;
  lastAt: InstantText;
  tries: number;
  nextAt: InstantText;
}

export interface QuarantineFilter {
  consumer?: string | undefined;
  item?: string | undefined;
  key?: string | undefined;
  prefix?: string | undefined;
}

export interface QuarantineRetried {
  /** Entries that the next tick tries. */
  done: number;
  /** Stands there while there is more. */
  cursor?: string;
}

/** What is set aside, so that it keeps nothing else waiting. */
export class Quarantine {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /** By consumer and item. */
  list(params?: QuarantineFilter & ListOptions): Pages<QuarantineEntry> {
    return listOf(this.#send, ["v1", "quarantine"], params);
  }

  /** Up to 1,000 entries that match; with the cursor of the answer the next call goes on. */
  async retry(
    filter: QuarantineFilter = {},
    { cursor, ...options }: WriteOptions & { cursor?: string | undefined } = {},
  ): Promise<QuarantineRetried> {
    const path = ["v1", "quarantine:retry"];
    const request = { method: "POST", path, query: { cursor }, body: { filter }, options } as const;
    return (await this.#send<QuarantineRetried>(request)).body;
  }
}
