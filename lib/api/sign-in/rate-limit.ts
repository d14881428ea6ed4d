import { BoundedMap } from "../../bounded-map.ts";
import type { Clock } from "../../clock.ts";
import type { Environment } from "../../config/environment.ts";
import { parseRate, type Rate, rateForm } from "../../job/rate.ts";
import type { Allowance } from "../../token/allowance.ts";
import type { PresentedToken } from "../../token/token.ts";
import { Problem } from "../request/problem.ts";

export type TakeAllowance = (token: PresentedToken, rate: Rate, wanted: number) => Promise<Allowance>;

/**
 * The rate of tokens without a rate of their own; null without `API_RATE`, which means no limit.
 */
export function defaultRateFrom(env: Environment): Rate | null {
  const text = env["API_RATE"];
  if (text === undefined || text === "") return null;
  const rate = parseRate(text);
  if (rate === null)
    throw new Error(
      `The environment variable API_RATE is ${JSON.stringify(text)}; it is written ${rateForm}.`,
    );
  return rate;
}

/** Requests that a token may make at this function without another query to the database. */
interface Share {
  left: number;
  /** The size of the share that was requested. */
  wanted: number;
  takenAt: number;
  /** Until this time the token's rate is used up for all functions. */
  closedUntil: number;
}

/** The lifetime of a share. Unused requests expire, so that idle functions do not save them up. */
const shareMs = 1_000;

/** The most tokens in memory; a token that was dropped takes a new share with its next request. */
const rememberedMax = 1_000;

/**
 * Admits a request by the rate of its token, or throws 429. Functions do not share memory: the
 * database keeps the rest of each rate, and each function takes a share of it. A share begins with
 * one request and doubles while it is used up in time, up to a tenth of the rate. A busy function
 * therefore queries about ten times per unit of the rate, and an idle function withholds nothing
 * from others.
 */
export function makeRateLimit(
  take: TakeAllowance,
  { clock, byDefault }: { clock: Clock; byDefault: Rate | null },
): (token: PresentedToken) => Promise<void> {
  const shares = new BoundedMap<string, Share>(rememberedMax);
  return async (token) => {
    const rate = token.rate ?? byDefault;
    if (rate === null) return;
    const now = clock.now().getTime();
    const share = shares.get(token.id);
    if (share !== undefined && share.closedUntil > now) throw tooMany(share.closedUntil - now);
    const isFresh = share !== undefined && now - share.takenAt < shareMs;
    if (isFresh && share.left > 0) {
      share.left -= 1;
      return;
    }
    const wanted = isFresh ? Math.min(share.wanted * 2, Math.max(1, Math.floor(rate.count / 10))) : 1;
    const allowance = await take(token, rate, wanted);
    shares.delete(token.id);
    const closedUntil = "waitMs" in allowance ? now + allowance.waitMs : 0;
    shares.set(token.id, { left: Math.max(0, allowance.given - 1), wanted, takenAt: now, closedUntil });
    if ("waitMs" in allowance) throw tooMany(allowance.waitMs);
  };
}

function tooMany(waitMs: number): Problem {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  return new Problem("too-many", `The token's rate is used up; try again in ${seconds} s.`, {
    "retry-after": String(seconds),
  });
}
