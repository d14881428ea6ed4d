import { requestMsMax } from "../config/aws.ts";
import { settleMs } from "./attempts.ts";
import { type Back, type Failure, isUnanswered, type Sent } from "./delivery.ts";

/**
 * With less time left than this no request begins: it could take so long that its messages could
 * not be settled any more, and all would be sent again.
 */
export const sendingMinMs: number = requestMsMax + settleMs;

/**
 * The requests of one call that sends to a service, for any number of queues or buses. None begins
 * when time is short, or after a request without an answer: each would wait as long, and all
 * together would exceed the time left.
 */
export class Sending {
  readonly #timeLeftMs: () => number;
  #silence: Failure | undefined;

  constructor(timeLeftMs: () => number) {
    this.#timeLeftMs = timeLeftMs;
  }

  /** The outcome of messages that are not sent yet. Undefined while requests may begin. */
  get over(): Failure | Back | undefined {
    if (this.#silence !== undefined) return this.#silence;
    return this.#timeLeftMs() < sendingMinMs ? { kind: "back" } : undefined;
  }

  heard(sent: readonly Sent[]): void {
    this.#silence ??= sent.find(isUnanswered);
  }
}
