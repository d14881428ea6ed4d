import type { InstantText } from "./json.ts";
import { listOf } from "./request/list.ts";
import type { ListOptions, Pages } from "./request/pages.ts";
import type { Answered, CallOptions, EditOptions, PutOptions, Send } from "./request/transport.ts";

export interface LimitsBody {
  /** How many jobs run at the same time. */
  concurrency?: number | null | undefined;
  /** How many of them may be of one team; at most `concurrency`, which it needs. */
  perTeam?: number | null | undefined;
  /** How many jobs start per unit of time, such as `10/s` or `100/m`. */
  rate?: string | null | undefined;
}

export interface Limits {
  /** Such as `webhook/api.example.com`. */
  target: string;
  concurrency: number | null;
  perTeam: number | null;
  rate: string | null;
  /** The limits in the handler's code. */
  defined: { concurrency: number | null; rate: string | null };
  setAt: InstantText | null;
  setBy: string | null;
  running: number;
  waiting: number;
}

/** Limits with their version, for `ifMatch`. */
export interface VersionedLimits extends Limits {
  version: number;
}

/** The limits of targets. */
export class TargetLimits {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  async get(target: string, options?: CallOptions): Promise<VersionedLimits> {
    return versioned(await this.#send<Limits>({ method: "GET", path: at(target), options }));
  }

  async put(target: string, body: LimitsBody, options?: PutOptions): Promise<VersionedLimits> {
    return versioned(await this.#send<Limits>({ method: "PUT", path: at(target), body, options }));
  }

  async delete(target: string, options?: EditOptions): Promise<void> {
    await this.#send({ method: "DELETE", path: at(target), options });
  }

  /** Ordered by target name. */
  list(params?: ListOptions): Pages<Limits> {
    return listOf(this.#send, ["v1", "limits"], params);
  }
}

function versioned({ body, version = 0 }: Answered<Limits>): VersionedLimits {
  return { ...body, version };
}

function at(target: string): string[] {
  return ["v1", "limits", target];
}
