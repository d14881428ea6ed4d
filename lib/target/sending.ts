import { requestMsMax } from "../config/aws.ts";
import { settleMs } from "./attempts.ts";
import { type Back, type Failure, isUnanswered, type Sent } from "./delivery.ts";

/** With less time left than this no request begins: it could take so long that what was sent is not settled any more, and all is sent again. */
export const sendingMinMs: number = requestMsMax + settleMs;

/**
 * The requests of one call to its service, whatever queues or buses they go to. None begins when time is short, or after one that got no answer:
 * each would wait as long, and all together for longer than there is.
 */
export class Sending {
  readonly #timeLeftMs: () => number;
  #silence: Failure | undefined;

  constructor(timeLeftMs: () => number) {
    this.#timeLeftMs = timeLeftMs;
  }

  /** The outcome of messages that are not sent yet. Undefined while their requests may begin. */
  get over(): Failure | Back | undefined {
    if (this.#silence !== undefined) return this.#silence;
    return this.#timeLeftMs() < sendingMinMs ? { kind: "back" } : undefined;
  }

  heard(sent: readonly Sent[]): void {
    this.#silence ??= sent.find(isUnanswered);
  }
}
