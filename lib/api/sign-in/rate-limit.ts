import { BoundedMap } from "../../bounded-map.ts";
import type { Clock } from "../../clock.ts";
import type { Environment } from "../../config/environment.ts";
import { parseRate, type Rate, rateForm } from "../../job/rate.ts";
import type { Allowance } from "../../token/allowance.ts";
import type { PresentedToken } from "../../token/token.ts";
import { Problem } from "../request/problem.ts";

export type TakeAllowance = (token: PresentedToken, rate: Rate, wanted: number) => Promise<Allowance>;

/** What a token without a rate of its own may do; without `API_RATE`, as much as it likes. */
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

/** What a token may do at this function for a moment ahead without asking the database. */
interface Share {
  left: number;
  /** So many were asked for. */
  wanted: number;
  takenAt: number;
  /** Until then nothing is left anywhere. */
  closedUntil: number;
}

/** A share is for so long: what is not used by then is lost, so that none is saved up at many functions. */
const shareMs = 1_000;

/** So many tokens are remembered; one that is forgotten takes its next share anew. */
const rememberedMax = 1_000;

/**
 * Lets a request in by the rate of its token, or says 429. Functions know nothing of each other: what is left stands in the database, from
 * which each takes a share. A share begins with one request and doubles while it is used up in time, to a tenth of the rate; so a busy
 * function asks about ten times in the rate's unit and an idle one keeps nothing from others.
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
