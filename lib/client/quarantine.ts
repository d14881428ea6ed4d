import type { InstantText } from "./json.ts";
import { listOf } from "./request/list.ts";
import type { ListOptions, Pages } from "./request/pages.ts";
import type { Send, WriteOptions } from "./request/transport.ts";

/** A row on which a part of Carillon failed and which it retries. */
export interface QuarantineEntry {
  /** The part that failed, such as `ended`. */
  consumer: string;
  /** The row's id, in the form that its consumer uses. */
  item: string;
  scheduleId: string | null;
  /** The key of the schedule that waits because of the row, if there is one. */
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
  /** Entries that the next tick retries. */
  done: number;
  /** Present while there are more entries. */
  cursor?: string;
}

/** The quarantine: rows set aside, so that other rows do not wait for them. */
export class Quarantine {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /** Ordered by consumer and item. */
  list(params?: QuarantineFilter & ListOptions): Pages<QuarantineEntry> {
    return listOf(this.#send, ["v1", "quarantine"], params);
  }

  /**
   * Makes up to 1,000 matching entries due; the cursor of the answer continues with the next call.
   */
  async retry(
    filter: QuarantineFilter = {},
    { cursor, ...options }: WriteOptions & { cursor?: string | undefined } = {},
  ): Promise<QuarantineRetried> {
    const path = ["v1", "quarantine:retry"];
    const request = { method: "POST", path, query: { cursor }, body: { filter }, options } as const;
    return (await this.#send<QuarantineRetried>(request)).body;
  }
}
