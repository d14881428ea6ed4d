import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Told } from "./answer.ts";

/** A previewed change that waits for its confirmation. */
export interface Previewed {
  tool: string;
  /** The arguments as the agent gave them, without the token. */
  given: object;
  /** Makes exactly the previewed change. The token is the Idempotency-Key of its request. */
  act(token: string, signal: AbortSignal): Promise<Told>;
}

interface Kept extends Previewed {
  expiresAt: number;
  used: boolean;
}

/** A token that confirms nothing. */
export class NotConfirmable extends Error {
  override readonly name = "NotConfirmable";
}

/** Long enough for a person to read the preview, and short enough that what it shows still holds. */
export const confirmWithinMs = 10 * 60_000;

/** Previews hold payloads of up to 240 KB, so their number is bounded. */
export const previewsMax = 50;

/** The tokens of one session. They live in its memory: a token of another session is not known. */
export class Confirmations {
  readonly #kept = new Map<string, Kept>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  issue(previewed: Previewed): { confirm: string; expiresAt: string } {
    const token = randomUUID();
    const expiresAt = this.#now() + confirmWithinMs;
    this.#kept.set(token, { ...previewed, expiresAt, used: false });
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= previewsMax) break;
      this.#kept.delete(oldest);
    }
    return { confirm: token, expiresAt: new Date(expiresAt).toISOString() };
  }

  /**
   * The previewed change of a token, which is used by that. A token that is refused here stays as it
   * is.
   */
  take(token: string, tool: string, given: object): Previewed {
    const kept = this.#kept.get(token);
    const again = `Call ${tool} without confirm for a new preview.`;
    if (kept === undefined)
      throw new NotConfirmable(
        `confirm is not a token of this session, or ${previewsMax} later previews have displaced it. ${again}`,
      );
    if (kept.used) throw new NotConfirmable(`The token was used already: it confirms one call. ${again}`);
    if (this.#now() > kept.expiresAt)
      throw new NotConfirmable(
        `The token expired at ${new Date(kept.expiresAt).toISOString()}, ten minutes after its preview. ${again}`,
      );
    if (kept.tool !== tool)
      throw new NotConfirmable(`The token confirms a call of ${kept.tool}, not of ${tool}. ${again}`);
    if (!isDeepStrictEqual(kept.given, given))
      throw new NotConfirmable(
        `The token confirms other arguments than these: repeat those of the preview unchanged. ${again}`,
      );
    kept.used = true;
    return kept;
  }

  /** Makes a token usable again whose request had no answer: its repeat takes effect at most once. */
  giveBack(token: string): void {
    const kept = this.#kept.get(token);
    if (kept !== undefined) kept.used = false;
  }
}
