import type { InstantText } from "./json.ts";
import { listOf } from "./request/list.ts";
import type { ListOptions, Pages } from "./request/pages.ts";
import type { CallOptions, Send } from "./request/transport.ts";

export interface ZoneUpdate {
  version: string;
  from: string | null;
  startedAt: InstantText;
  finishedAt: InstantText | null;
  zones: string[];
  checked: number;
  moved: number;
}

export interface ZoneRelease {
  /** The release that the plan uses; null until the first tick. */
  version: string | null;
  /** The release of the runtime that answered. */
  runtime: string | null;
  /** Newest first. */
  updates: ZoneUpdate[];
}

/** A schedule that an update moved, with its coming occurrences before and after. */
export interface ZoneMove {
  key: string;
  timezone: string;
  before: InstantText[];
  after: InstantText[];
}

export class ZoneData {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  async get(options?: CallOptions): Promise<ZoneRelease> {
    return (await this.#send<ZoneRelease>({ method: "GET", path: ["v1", "zone-data"], options })).body;
  }

  /** Newest first. */
  moves(version: string, params?: ListOptions): Pages<ZoneMove> {
    return listOf(this.#send, ["v1", "zone-data", version, "moves"], params);
  }
}
